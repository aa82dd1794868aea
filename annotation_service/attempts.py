"""How often somebody may try to sign in, and have mails sent: counted in the cache at the rates of allauth, answered with 429.

A failed sign-in counts three times: for the name at the address, so that a person who fails pauses alone; for the address,
whoever is tried from there; and for the name, wherever it is tried. The last one does not hold at an address where the person has
signed in before, so that strangers who try a name do not keep its owner out. What is refused is not counted.
"""

import logging
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from math import ceil
from typing import Any

from allauth.account import app_settings
from allauth.account.models import EmailAddress
from allauth.account.signals import password_reset, user_logged_in
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.core.internal import ratelimit
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from . import words
from .db import execute, write
from .models import User, fold

APP = "allauth.account"
USUAL_ADDRESS_SECONDS = 90 * 24 * 3600  # after the last sign-in there
Limit = tuple[str, str | None]  # of ACCOUNT_RATE_LIMITS, and what it counts unless that is the network address

logger = logging.getLogger(__name__)


@dataclass
class Attempt:
    """What was counted under these keys at this time, in seconds."""

    keys: list[tuple[str, ratelimit.Rate]]
    at: float

    def rollback(self) -> None:
        with _alone():
            for key, rate in self.keys:
                cache.set(key, [at for at in cache.get(key, []) if at != self.at], rate.duration)


def sign_in(request: HttpRequest, login: str) -> Attempt:
    """Count an attempt, which allauth takes back if it succeeds."""
    limits: list[Limit] = [("login_failed", _here(request, login)), ("login_failed_at_address", None)]
    person = User.objects.with_name(login).first() or User.objects.with_address(login).first()
    if not (person and cache.get(_usual(request, person))):
        limits.append(("login_failed_for_name", fold(login)))
    return count(request, limits)


def count(request: HttpRequest, limits: Iterable[Limit]) -> Attempt:
    """Count an attempt for each limit or, if one of them is reached, for none: then the answer is 429.

    allauth's own function takes a lock for each limit and refuses whoever does not get it within a second.
    """
    attempt = Attempt(_keys(request, limits), time.time())
    if not (wait := _wait(attempt.keys)):  # whoever is refused on and on holds up nobody who writes
        with _alone():
            wait = _wait(attempt.keys)
            for key, rate in attempt.keys if not wait else ():
                cache.set(key, [attempt.at, *_times(key, rate)][: rate.amount], rate.duration)
    if wait:
        raise ImmediateHttpResponse(too_many(request, wait))
    return attempt


def too_many(request: HttpRequest, wait: int = 0) -> HttpResponse:
    """The answer 429. For limits that it keeps itself allauth asks for it without the time to wait."""
    if not wait:
        signed_in = request.user.is_authenticated
        own = [
            (name, "") for name, rates in app_settings.RATE_LIMITS.items() if signed_in or "user" not in (rates or "")
        ]
        wait = _wait(_keys(request, own)) or 1
    when = words.plural(wait, "second") if wait < 60 else words.plural(ceil(wait / 60), "minute")
    if request.htmx or not request.accepts("text/html"):  # type: ignore[attr-defined]
        answer = HttpResponse(f"Too many attempts. Try again in {when}.", "text/plain", 429)
    else:
        answer = render(request, "429.html", {"when": when}, status=429)
    answer["Retry-After"] = str(wait)
    return answer


@receiver([user_logged_in, password_reset])
def remember_address(request: HttpRequest, user: User, **more: Any) -> None:
    cache.set(_usual(request, user), True, USUAL_ADDRESS_SECONDS)


@receiver(password_reset)
def forget_failures(request: HttpRequest, user: User, **more: Any) -> None:
    further = EmailAddress.objects.filter(user=user).values_list("email", flat=True)
    limits = [("login_failed", _here(request, login)) for login in (user.username, user.email, *further)]
    with _alone():
        cache.delete_many([key for key, rate in _keys(request, limits)])


def warn_of_proxy(request: HttpRequest, address: str) -> None:
    """Once a day, say that everybody seems to come from one address, which is a proxy's."""
    proxied = "X-Forwarded-For" in request.headers and not settings.ALLAUTH_TRUSTED_PROXY_COUNT
    if proxied and ip_address(address).is_private and cache.add("proxy-warning", True, 24 * 3600):
        logger.warning(
            "Requests come through a proxy at %s, and BEHIND_PROXY is not set: people are taken for one, and the attempts of "
            "one to sign in count for all. If the proxy is yours, set BEHIND_PROXY=1.",
            address,
        )


@contextmanager
def _alone() -> Iterator[None]:
    with write():
        if connection.vendor == "postgresql":
            execute("SELECT pg_advisory_xact_lock(hashtext('attempts'))")
        yield


def _keys(request: HttpRequest, limits: Iterable[Limit]) -> list[tuple[str, ratelimit.Rate]]:
    """Where the times of attempts are in the cache, the newest first; with the rate that they have to keep to."""
    return [
        (ratelimit.get_cache_key(request, app=APP, action=action, rate=rate, key=key), rate)
        for action, key in limits
        for rate in ratelimit.get_rates(app=APP, action=action)
    ]


def _wait(keys: Collection[tuple[str, ratelimit.Rate]]) -> int:
    """The seconds until there is room under all keys, for each as often as it is there; 0 if there is."""
    wait, often = 0.0, Counter(key for key, _ in keys)
    for key, rate in dict(keys).items():
        times, before = _times(key, rate), max(0, rate.amount - often[key])
        if len(times) > before:
            wait = max(wait, times[before] + rate.duration - time.time())
    return ceil(wait)


def _times(key: str, rate: ratelimit.Rate) -> list[float]:
    """When attempts were counted. Times in the future, after a clock was set back, become now, and pass as others do."""
    times, now = cache.get(key, []), time.time()
    if times and times[0] > now:
        times = [min(at, now) for at in times]
        cache.set(key, times, rate.duration)
    return times


def _here(request: HttpRequest, login: str) -> str:
    return f"{fold(login)} {ratelimit.get_ip(request)}"


def _usual(request: HttpRequest, user: User) -> str:
    return f"usual-address:{user.pk}:{ratelimit.get_ip(request)}"
