"""Webhooks: addresses elsewhere that are told what happens in a project, as Standard Webhooks (standardwebhooks.com) have it.

What is to be told is stored in the transaction in which it happens: nothing is told that did not come about, and nothing is
forgotten. `api.sending` sends it after the commit, at least once; receivers know by its id what they have had.
"""

import secrets
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from datetime import timedelta
from hashlib import sha256
from hmac import digest
from ipaddress import IPv6Address, ip_address, ip_network
from random import uniform
from re import fullmatch
from typing import Any, Self
from urllib.parse import urlsplit

from django.conf import settings
from django.db import models
from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from annotation_service.db import store, write
from annotation_service.events import EVENTS, Data, Event, listeners
from annotation_service.inputs import Refused
from annotation_service.json_input import to_json
from annotation_service.models import User
from projects.assignment import item_counts
from projects.models import GO_WITH_PROJECTS, Project

PROJECT_DONE = Event("project.done", "All items of the project are done, as its progress counts them.")
PING = "ping"
# Of what an event is about, the addresses for programs: see `api.operations`, which this module comes before.
RESOURCES = {
    "project": "/api/v1/projects/{project}",
    "item": "/api/v1/datasets/{dataset}/items/{item}",
    "ontology": "/api/v1/ontologies/{ontology}",
    "job": "/api/v1/jobs/{job}",
}
# When it is tried again what was not taken: as Standard Webhooks advise, three days in all.
RETRIES = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    *(timedelta(hours=hours) for hours in (2, 5, 10, 14, 20, 24)),
)
MAX_ADDRESS, MAX_REASON = 500, 200  # characters
GONE = 410
# Addresses of IPv6 that stand for those of IPv4: by way of a translator or tunnel they lead anywhere.
_TRANSLATED = [ip_network(each) for each in ("64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16")]
_RELAY = ip_network("192.88.99.0/24")  # once led from IPv4 to IPv6


def is_public(address: str) -> bool:
    """Whether an IP address is one of the internet, not of this machine or of a network that others cannot reach."""
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address):
        if ip.is_site_local or any(ip in network for network in _TRANSLATED):
            return False
        ip = ip.ipv4_mapped or ip
    return ip.is_global and ip not in _RELAY and not (ip.is_multicast or ip.is_reserved or ip.is_unspecified)


def clean_address(url: str) -> str:
    """Refuse what cannot be an address of a receiver. Where its name leads is seen when something is sent."""
    url = url.strip()
    schemes = ("https", "http") if settings.WEBHOOK_PRIVATE_ADDRESSES else ("https",)
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host = ""
    if not fullmatch(rf"[!-~]{{1,{MAX_ADDRESS}}}", url) or not fullmatch(r"[\w.:-]{1,253}", host):
        raise Refused(
            f"This is no address such as https://example.org/hook, of {MAX_ADDRESS} characters at most.", place="url"
        )
    if parts.scheme not in schemes:
        raise Refused(f"An address begins with {' or '.join(f'{scheme}://' for scheme in schemes)}.", place="url")
    if "@" in parts.netloc or parts.fragment:
        raise Refused("An address has no name, password or “#” in it: the signature tells who sends.", place="url")
    if fullmatch(r"[\d.]+|.*:.*", host) and not settings.WEBHOOK_PRIVATE_ADDRESSES:
        with suppress(ValueError):
            if is_public(host):
                return url
        raise Refused("This address is a private one. An administrator can allow these.", place="url")
    return url


def clean_events(names: Iterable[str]) -> list[str]:
    chosen = sorted(set(names) & EVENTS.keys())
    if not chosen or len(chosen) < len(set(names)):
        raise Refused(f"Choose some of these events: {', '.join(sorted(EVENTS))}.", place="events")
    return chosen


class Webhook(models.Model):
    """An address that is told what happens in a project."""

    MOST = 20  # of a project

    project = models.ForeignKey("projects.Project", on_delete=models.RESTRICT, related_name="webhooks")
    url = models.CharField(max_length=MAX_ADDRESS)
    # Readable: what is sent is signed with it, and receivers are given it.
    secret = models.CharField(max_length=80, editable=False)
    events = models.JSONField(default=list)
    is_on = models.BooleanField(default=True)
    # Why the service has switched it off.
    off_reason = models.CharField(max_length=MAX_REASON, blank=True)
    # Whether the project was done when it was looked at last, or when this was made or switched on.
    saw_done = models.BooleanField(default=False, editable=False)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    deliveries: Any  # the manager of its rows

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.url

    @classmethod
    def make(cls, project: Project, *, url: str, events: Iterable[str], by: User) -> Self:
        fields = {"url": clean_address(url), "events": clean_events(events), "secret": new_secret()}
        with write():
            if project.locked().webhooks.count() >= cls.MOST:
                raise Refused(f"A project has {cls.MOST} webhooks at most.")
            return cls.objects.create(project=project, created_by=by, saw_done=_is_done(project.pk), **fields)

    def change(self, *, url: str | None = None, events: Iterable[str] | None = None, is_on: bool | None = None) -> None:
        """What is given. Switched on again, it is sent what still waits, and nothing that happened meanwhile."""
        values: dict[str, Any] = {} if url is None else {"url": clean_address(url)}
        values |= {} if events is None else {"events": clean_events(events)}
        values |= {} if is_on is None else {"is_on": is_on, "off_reason": ""}
        if is_on and not self.is_on:
            values["saw_done"] = _is_done(self.project_id)
        if values:
            store(self, **values)

    def renew_secret(self) -> None:
        store(self, secret=new_secret())

    def switch_off(self, reason: str) -> None:
        """For a reason that people are told."""
        store(self, is_on=False, off_reason=reason)

    def ping(self) -> "Delivery":
        """Send an event that tells nothing."""
        with write():
            held = Webhook.objects.select_for_update(no_key=True).filter(pk=self.pk).first()
            if held is None or not held.is_on:
                raise Refused("This webhook is switched off. Switch it on first.")
            [delivery] = tell([held], PING, {})
        return delivery

    def check_on(self) -> None:
        if not self.is_on:
            raise Refused("This webhook is switched off. Switch it on first.")

    def erase(self) -> None:
        with write():
            # Whoever stores something for it meanwhile has the row locked, too, and then finds none.
            Webhook.objects.select_for_update().filter(pk=self.pk).first()
            self.deliveries.all()._raw_delete(self._state.db)
            self.delete()

    def signature(self, message_id: str, timestamp: int, body: str) -> str:
        key = b64decode(self.secret.removeprefix(SECRET_PREFIX))
        return "v1," + b64encode(digest(key, f"{message_id}.{timestamp}.{body}".encode(), sha256)).decode()


SECRET_PREFIX = "whsec_"


def new_secret() -> str:
    return SECRET_PREFIX + b64encode(secrets.token_bytes(32)).decode()


class Delivery(models.Model):
    """An event on its way to one receiver, or how that ended."""

    # Longer than an attempt takes: if its worker is gone, another one tries again.
    CLAIMED = timedelta(minutes=2)
    KEPT = timedelta(days=30)

    # As that of its webhook: with the project it is deleted.
    project = models.ForeignKey("projects.Project", on_delete=models.RESTRICT, related_name="+")
    webhook = models.ForeignKey(Webhook, on_delete=models.RESTRICT, related_name="deliveries")
    event = models.CharField(max_length=40)
    message_id = models.CharField(max_length=40, unique=True)
    # As it is signed and sent.
    body = models.TextField()
    attempts = models.PositiveSmallIntegerField(default=0)
    # When it is tried next; null, if it is not.
    next_at = models.DateTimeField(null=True, blank=True, default=timezone.now)
    delivered_at = models.DateTimeField(null=True, blank=True)
    # Of the last answer; null, if there was none.
    code = models.PositiveSmallIntegerField(null=True, blank=True)
    error = models.CharField(max_length=MAX_REASON, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-pk"]
        verbose_name_plural = "deliveries"
        indexes = [models.Index(fields=["webhook", "next_at"], condition=Q(next_at__isnull=False), name="delivery_due")]

    def __str__(self) -> str:
        return f"{self.event} to {self.webhook}"

    @property
    def state(self) -> str:
        if self.next_at:
            return "waiting"
        return "delivered" if self.delivered_at else "failed"

    @classmethod
    def claim(cls, besides: Collection[int] = ()) -> Self | None:
        """What is due longest, now this worker's for a while, or None; without that to some webhooks. Reads first: an idle
        worker takes no lock."""
        now = timezone.now()
        due = cls.objects.filter(next_at__lte=now).select_related("webhook").order_by("next_at", "pk")
        # However much waits for those that are switched off or rest, it is not looked at.
        first = due.filter(webhook=OuterRef("pk")).values("next_at")[:1]
        able = Webhook.objects.filter(is_on=True, project__deleted_at=None).exclude(pk__in=besides)
        waiting = able.annotate(due=Subquery(first)).filter(due__isnull=False).order_by("due", "pk")
        while (webhook := waiting.first()) and (delivery := due.filter(webhook=webhook).first()):
            claim = {"next_at": now + cls.CLAIMED, "attempts": F("attempts") + 1}
            if cls.objects.filter(pk=delivery.pk, next_at=delivery.next_at).update(**claim):
                delivery.refresh_from_db(fields=list(claim))
                return delivery
        return None

    def end(self, code: int | None, error: str = "") -> None:
        """Store how an attempt ended, unless it was put on its way anew meanwhile. What is not taken in the end switches its
        webhook off, if that has taken nothing else since."""
        took = code is not None and 200 <= code < 300
        values: dict[str, Any] = {"code": code, "error": "" if took else error[:MAX_REASON], "next_at": None}
        if took:
            values["delivered_at"] = timezone.now()
        elif code != GONE and self.attempts <= len(RETRIES):
            values["next_at"] = timezone.now() + RETRIES[self.attempts - 1] * uniform(1, 1.1)
        with write():
            # Before it, as `erase` does.
            Webhook.objects.select_for_update(no_key=True).filter(pk=self.webhook_id).first()
            if not Delivery.objects.filter(pk=self.pk, next_at=self.next_at).update(**values):
                return
            if code == GONE:
                self.webhook.switch_off("The receiver answered with 410: it wants no more.")
            elif not took and not values["next_at"] and not self._others_since().exists():
                attempts = len(RETRIES) + 1
                self.webhook.switch_off(f"The receiver has taken nothing for {attempts} attempts in three days.")

    def _others_since(self) -> "QuerySet[Delivery]":
        return Delivery.objects.filter(webhook=self.webhook_id, delivered_at__gt=self.created_at)

    def send_again(self) -> None:
        """With the same id, and with all attempts."""
        self.webhook.check_on()
        store(self, next_at=timezone.now(), attempts=0, delivered_at=None)


def tell(webhooks: Sequence[Webhook], event: str, about: dict[str, Any]) -> list[Delivery]:
    """Store what the webhooks of a project are to be sent, in the transaction in which it happens."""
    about = {"project": webhooks[0].project_id, **about}
    urls = {name: address.format(**about) for name, address in RESOURCES.items() if name in about}
    now = timezone.now().isoformat().replace("+00:00", "Z")
    body = to_json({"type": event, "timestamp": now, "data": {**about, "urls": urls}})
    return Delivery.objects.bulk_create(
        Delivery(
            project_id=webhook.project_id,
            webhook=webhook,
            event=event,
            message_id=f"msg_{secrets.token_urlsafe(18)}",
            body=body,
        )
        for webhook in webhooks
    )


def listen(event: str, project: int, data: Data) -> None:
    """One query for an event of a project that tells nobody. Nothing new is told of archived projects."""
    active = Webhook.objects.filter(project=project, project__archived_at=None, project__deleted_at=None, is_on=True)
    locked = active.select_for_update(of=("self",), no_key=True)
    if wanting := [webhook for webhook in locked if event in webhook.events]:
        tell(wanting, event, data())


def _is_done(project: int) -> bool:
    """By the figures that pages show."""
    item_counts.refresh([project])
    found = Project.objects.filter(pk=project).values_list("dataset__item_count", "itemcounts__done")
    return any(0 < items <= (done or 0) for items, done in found)


def look_at_projects() -> None:
    """Tell of the projects that are done since they were looked at last: an item may also be the last one because others were
    removed, or people have left."""
    active = Webhook.objects.filter(is_on=True, project__archived_at=None, project__deleted_at=None)
    for webhook in active.filter(project__itemcounts__isnull=False):
        is_done = _is_done(webhook.project_id)
        if is_done == webhook.saw_done:
            continue
        with write():
            seen = Webhook.objects.filter(pk=webhook.pk, saw_done=webhook.saw_done).update(saw_done=is_done)
            if seen and is_done and PROJECT_DONE.name in webhook.events:
                tell([webhook], PROJECT_DONE.name, {"items": webhook.project.dataset.item_count})


listeners.append(listen)
GO_WITH_PROJECTS += [Delivery, Webhook]
