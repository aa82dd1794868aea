"""Signing in and up through allauth, mails, and the two rows that every request reads: the session and its person.

allauth compares names as the database does, and SQLite lowers ASCII only: people are looked up by their folded names instead.
"""

import logging
from collections.abc import Sequence
from smtplib import SMTPRecipientsRefused, SMTPResponseException
from threading import Thread
from typing import Any

from allauth.account import auth_backends, forms
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from allauth.core import context
from allauth.core.exceptions import ImmediateHttpResponse
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.forms import BaseUserCreationForm
from django.contrib.sessions.backends import db
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.mail.backends import console, smtp
from django.db import IntegrityError
from django.db.models import QuerySet
from django.forms import Form
from django.http import HttpRequest
from django.shortcuts import redirect
from django.utils import timezone

from . import attempts
from .db import first, trouble
from .models import Mail, User, fold

logger = logging.getLogger(__name__)

WRONG_SIGN_IN = "The name, the address or the password is not correct. Capital letters count in the password."

# Written out: composed by the ORM, the two take 0.6 ms more, and saving a mark takes 2.4 ms in all.
_USER = "SELECT * FROM annotation_service_user WHERE id = %(pk)s"
_SESSION = "SELECT * FROM django_session WHERE session_key = %(key)s"


class SessionStore(db.SessionStore):
    def _get_session_from_db(self) -> Session | None:
        session = first(Session, _SESSION, {"key": self.session_key})
        if session and session.expire_date > timezone.now():
            return session
        self._session_key = None  # as Django does: the key of an ended session is not used again
        return None

    def save(self, must_create: bool = False) -> None:
        """Django takes every error for a session that was deleted meanwhile, and answers that the request was bad."""
        try:
            super().save(must_create)
        except UpdateError as error:
            if (cause := error.__context__) and trouble(cause):
                raise cause from cause.__cause__
            raise


class AuthenticationBackend(auth_backends.AuthenticationBackend):
    def get_user(self, user_id: int) -> User | None:
        user = first(User, _USER, {"pk": user_id})
        return user if user and self.user_can_authenticate(user) else None

    def _authenticate_by_username(self, username: str, password: str) -> User | None:
        return self._check_password(User.objects.with_name(username).first(), password)

    def _authenticate_by_email(self, email: str, password: str) -> User | None:
        return self._check_password(User.objects.with_address(email).first(), password)


class MailBackend(smtp.EmailBackend):
    """Sends after the answer: neither the time that a mail server takes nor its failure tells who has an account."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        Thread(target=self._send_now, args=[email_messages], daemon=False).start()  # for which a stop waits
        return len(email_messages)

    def _send_now(self, email_messages: Sequence[EmailMessage]) -> None:
        try:
            super().send_messages(email_messages)
        except (OSError, ValueError) as error:
            logger.error("No mail could be sent through %s: %s", self.host, error)

    def _send(self, email_message: EmailMessage) -> bool:
        """One of them. If the server refuses it, the others go all the same."""
        try:
            return super()._send(email_message)  # type: ignore[misc]
        except (SMTPResponseException, SMTPRecipientsRefused) as error:
            logger.error("%s refused a mail: %s", self.host, error)
            return False


class KeepingBackend(console.EmailBackend):
    """Where no mail server is set up: shows mails on the terminal, and keeps them for administrators, in Django admin."""

    KEPT = 200

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        for message in email_messages:
            said = {"subject": str(message.subject), "body": str(message.body)}
            Mail.objects.create(to=", ".join(message.to), about=getattr(message, "about", None), **said)
        newest = Mail.objects.order_by("-pk").values_list("pk", flat=True)
        Mail.objects.filter(pk__lte=next(iter(newest[self.KEPT : self.KEPT + 1]), 0)).delete()
        return super().send_messages(email_messages) or 0


class AccountAdapter(DefaultAccountAdapter):
    error_messages = {
        **DefaultAccountAdapter.error_messages,
        "username_password_mismatch": WRONG_SIGN_IN,
        "email_password_mismatch": WRONG_SIGN_IN,
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return settings.OPEN_REGISTRATION

    def clean_username(self, username: str, shallow: bool = False) -> str:
        username = super().clean_username(username, shallow)
        if why := not shallow and User(username=username).wrong_name():
            raise ValidationError(why)
        return username

    def validate_unique_email(self, email: str) -> str:
        if why := User(email=email).wrong_address():
            raise ValidationError(why)
        return email

    def save_user(self, request: HttpRequest, user: User, form: Form, commit: bool = True) -> User:
        super().save_user(request, user, form, commit=False)
        user.email = form["email"].value().strip()  # as typed: allauth lowers it
        try:
            user.save()
        except (ValidationError, IntegrityError) as error:
            messages.error(request, "Somebody else has just taken this name or address. Choose another one.")
            raise ImmediateHttpResponse(redirect("account_signup")) from error
        return user

    def render_mail(
        self, template_prefix: str, email: Any, context: dict[str, Any], headers: Any = None
    ) -> EmailMessage:
        message = super().render_mail(template_prefix, email, context, headers)
        message.about = context.get("user")  # for `KeepingBackend`
        return message

    def send_password_reset_mail(self, user: User, email: str, context: dict[str, Any]) -> None:
        """Write to an address of the person as it is stored, not to what was typed: another mailbox may have an address that is
        folded alike. A further address that they have not confirmed may be another person's, so the first one is taken."""
        confirmed = EmailAddress.objects.filter(user=user, verified=True).values_list("email", flat=True)
        own = (address for address in (user.email, *confirmed) if fold(address) == fold(email))
        if to := next(own, user.email):
            said = {
                "asked_from": self.get_client_ip(context["request"]),
                "days": settings.PASSWORD_RESET_TIMEOUT // (24 * 3600),
            }
            super().send_password_reset_mail(user, to, context | said)

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        self._login_failed_rl_usage = attempts.sign_in(request, credentials["username"])

    def get_client_ip(self, request: HttpRequest) -> str:
        address = super().get_client_ip(request)
        attempts.warn_of_proxy(request, address)
        return address


class LoginForm(forms.LoginForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["login"].widget.attrs["autofocus"] = True


class ResetPasswordForm(forms.ResetPasswordForm):
    def clean_email(self) -> str:
        email = super().clean_email()
        attempts.count(context.request, [("reset_mail", fold(email)), ("reset_mail_at_address", None)])
        users = User.objects.with_address(email).filter(is_active=True)
        self.users = list(users.exclude(pk__in=_signs_in_elsewhere(users).values("pk")))
        return email


class SetPasswordForm(forms.SetPasswordForm):
    def clean(self) -> dict[str, Any]:
        if _signs_in_elsewhere(User.objects.filter(pk=self.user.pk)).exists():
            raise ValidationError(f"You sign in by {settings.OIDC_NAME}, and need no password here.")
        return super().clean()


def _signs_in_elsewhere(people: QuerySet[User]) -> QuerySet[User]:
    """Those for whom a provider decides whether they still may: they get no other way in. Superusers may need one."""
    if not settings.OIDC_ISSUER:
        return people.none()
    return people.filter(socialaccount__isnull=False, is_superuser=False)


class InvitedForm(BaseUserCreationForm):
    """The account of somebody who was invited: to an address, which is confirmed by that, or by a link that anybody may have."""

    class Meta:
        model = User
        fields = ("username", "email")
        labels = {"username": "User name", "email": "E-mail address"}
        help_texts = {
            "username": "Others in the project see it.",
            "email": "To choose a new password if you forget yours.",
        }

    def __init__(self, *args: Any, address: str = "", **options: Any) -> None:
        super().__init__(*args, **options)
        self.is_confirmed = bool(address)
        if address:
            del self.fields["email"]
            self.instance.email = address

    def clean_username(self) -> str:
        return AccountAdapter().clean_username(self.cleaned_data["username"])

    def save(self, commit: bool = True) -> User:
        person = super().save(commit)
        if commit and person.email:
            email = person.email.lower()
            EmailAddress.objects.create(user=person, email=email, primary=True, verified=self.is_confirmed)
        return person


def sure_addresses(person: User) -> set[str]:
    """The mail addresses that are known to be somebody's, confirmed by them or entered by an administrator: in small letters, but
    not folded, for “straße.de” is another domain than “strasse.de”.

    Of an entered one allauth makes a row when somebody asks for a new password. What people type, and then have as the address of
    their account, is the primary one.
    """
    typed = EmailAddress.objects.filter(user=person).values_list("email", "verified", "primary")
    confirmed = {email.lower() for email, is_verified, _ in typed if is_verified}
    is_entered = fold(person.email) not in {"", *(fold(email) for email, _, is_primary in typed if is_primary)}
    return confirmed | {person.email.lower()} if is_entered else confirmed


class AddEmailForm(forms.AddEmailForm):
    def clean_email(self) -> str:
        return AccountAdapter().validate_unique_email(super().clean_email())
