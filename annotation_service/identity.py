"""Signing in by an identity provider, through OpenID Connect by allauth: which account somebody has here, and what they may do.

Loaded only where a provider is set up, for it takes libraries that are left out otherwise. What the provider says is believed as
it comes from there, over a connection that nobody else can answer on; nothing of it is kept but whose account it is.
"""

import logging
from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import count
from typing import Any
from unicodedata import normalize

from allauth.account.internal.decorators import login_not_required
from allauth.account.models import EmailAddress
from allauth.account.utils import get_next_redirect_url
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter, get_adapter
from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.providers.base.constants import AuthError, AuthProcess
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.views import callback
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import Group
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_GET, require_POST

from . import attempts
from .accounts import sure_addresses
from .db import store, write
from .models import PROJECT_MANAGERS, User

# What groups are taken away there ends here at the next sign-in, so that this cannot be far away.
SESSION_SECONDS = 12 * 3600
PROVIDER = "oidc"  # as `SOCIALACCOUNT_PROVIDERS` calls the only one
logger = logging.getLogger(__name__)

# A provider that cannot be reached, and answers of any shape: allauth reads them as if they were right.
UNUSABLE = (OSError, LookupError, TypeError, ValueError, AttributeError, ImproperlyConfigured)


class ProviderAdapter(DefaultSocialAccountAdapter):
    def populate_user(self, request: HttpRequest, sociallogin: Any, data: dict[str, Any]) -> User:
        """Keep aside what the provider says. Stored is only a sign of who says it of whom: with another provider in its place,
        nobody is taken for somebody else."""
        said = sociallogin.account.extra_data
        token, more = said["id_token"], said["userinfo"]
        if token["sub"] != more["sub"]:
            raise OAuth2Error("The token is of somebody else than what is said about the person.")
        sociallogin.claims = {**token, **more, "iss": token["iss"], "email": data.get("email") or ""}
        sociallogin.account.uid = sha256(f"{token['iss']} {token['sub']}".encode()).hexdigest()
        sociallogin.account.extra_data = {"issuer": token["iss"]}
        return sociallogin.user

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Find or make the account, which allauth then signs in unless it is switched off, and follow the groups."""
        claims = sociallogin.claims
        try:
            with write():
                if not sociallogin.is_existing:
                    person = _with_sure_address(claims) or _new_person(request, claims)
                    sociallogin.user = sociallogin.account.user = person
                    sociallogin.account.save()
                _follow_groups(sociallogin.user, claims)
        except (ValidationError, IntegrityError) as error:
            # Somebody was quicker, such as the same person in another tab.
            raise ImmediateHttpResponse(_failed(request, "crossed", 409)) from error

    def on_authentication_error(
        self, request: HttpRequest, provider: Any, error: Any = None, exception: Any = None, extra_context: Any = None
    ) -> None:
        """Instead of the pages of allauth: ours, with the reason."""
        state = (extra_context or {}).get("state")
        if error == AuthError.CANCELLED:
            answer = _failed(request, "cancelled", 403, state)
        elif state is None:
            answer = _failed(request, "unknown", 403)
        else:
            why = exception or request.GET.get("error", "")[:100]
            logger.error("%s refused a sign-in: %s", settings.OIDC_ISSUER, why)
            answer = _failed(request, "broken", 502, state)
        raise ImmediateHttpResponse(answer)


def _failed(request: HttpRequest, why: str, status: int, state: dict[str, Any] | None = None) -> HttpResponse:
    context = {"why": why, "next": (state or {}).get("next")}
    return render(request, "account/provider_error.html", context, status=status)


def _is_sure(claims: dict[str, Any]) -> bool:
    """Whether the provider vouches for the address; some say it as a text."""
    return claims.get("email_verified") in (True, "true")


def _with_sure_address(claims: dict[str, Any]) -> User | None:
    """Whose address it is, if that is sure there and here: whoever typed another's address here gets no visit by that. Somebody
    whom the provider knows as another one already is left alone: there the address is a new person's."""
    address = claims["email"]
    if not (address and _is_sure(claims)):
        return None
    known = SocialAccount.objects.filter(extra_data__issuer=claims["iss"]).values("user")
    people = User.objects.with_address(address).exclude(pk__in=known)
    return next((person for person in people if address.lower() in sure_addresses(person)), None)


def _new_person(request: HttpRequest, claims: dict[str, Any]) -> User:
    first_name, last_name = (_plain(claims.get(name))[:150] for name in ("given_name", "family_name"))
    name = next(name for name in _names(claims) if not User(username=name).wrong_name())
    person = User(username=name, first_name=first_name, last_name=last_name, email=claims["email"])
    if person.wrong_address():
        messages.warning(
            request,
            f"Another account has the address {person.email}, so this new one has none. If that account is yours, ask your"
            " administrator which of the two to keep.",
        )
        person.email = ""
    person.set_unusable_password()
    person.save()
    if person.email:
        EmailAddress.objects.create(user=person, email=person.email, primary=True, verified=_is_sure(claims))
    return person


def _names(claims: dict[str, Any]) -> Iterator[str]:
    """What the provider calls somebody, without what follows an “@”, or numbered; where that has no letter or mixes scripts, a
    user. No account is found by these, for anybody may have chosen them there."""
    called = _plain(claims.get("preferred_username") or claims["email"])[:1000].partition("@")[0]
    stem = "".join(char for char in normalize("NFC", called) if char.isalnum() or char in ".+-_")[:100]
    yield stem
    yield from (f"{stem}{number}" for number in range(2, 100))
    yield from (f"user{number}" for number in count(User.objects.count()))


def _plain(said: Any) -> str:
    return said.replace("\0", "") if isinstance(said, str) else ""


def _follow_groups(person: User, claims: dict[str, Any]) -> None:
    """Give what the groups of the provider stand for, and take it away. Superusers are made and unmade here alone."""
    said = claims.get(settings.OIDC_GROUPS_CLAIM) or []
    groups = {said} if isinstance(said, str) else set(said)
    if settings.OIDC_MANAGERS:
        managers, _ = Group.objects.get_or_create(name=PROJECT_MANAGERS)
        (person.groups.remove if groups.isdisjoint(settings.OIDC_MANAGERS) else person.groups.add)(managers)
    if settings.OIDC_STAFF and not person.is_superuser:
        store(person, is_staff=not groups.isdisjoint(settings.OIDC_STAFF))


@login_not_required
@require_POST
def to_provider(request: HttpRequest) -> HttpResponse:
    """The page that leads on to the provider: a redirect would be a form that is sent elsewhere, which no page of ours may do."""
    attempts.count(request, [("provider_sign_in", None)])
    provider = get_adapter().get_provider(request, PROVIDER)
    there = _asked(request, lambda: provider.redirect(request, AuthProcess.LOGIN, get_next_redirect_url(request)))
    return render(request, "account/to_provider.html", {"url": there["Location"]}) if "Location" in there else there


@login_not_required
@require_GET
def from_provider(request: HttpRequest, provider_id: str) -> HttpResponse:
    answer = _asked(request, lambda: callback(request, provider_id))
    if answer.status_code == 302 and request.user.is_authenticated:
        request.session.set_expiry(SESSION_SECONDS)
    return answer


def _asked(request: HttpRequest, ask: Callable[[], HttpResponse]) -> HttpResponse:
    try:
        return ask()
    except UNUSABLE:
        logger.exception("%s could not be asked who somebody is", settings.OIDC_ISSUER)
        return _failed(request, "broken", 502)


urlpatterns = [
    path("sign-in/", to_provider, name="provider_sign_in"),
    path("callback/", from_provider, {"provider_id": PROVIDER}, name="openid_connect_callback"),  # as allauth calls it
]
