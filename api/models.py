"""Tokens of programs, and what was answered to requests that programs may send twice."""

import secrets
from contextlib import suppress
from datetime import timedelta
from hashlib import sha256
from typing import Self

from django.conf import settings
from django.db import DatabaseError, models
from django.db.models import Q, UniqueConstraint
from django.utils import timezone

from annotation_service import limits
from annotation_service.db import write
from annotation_service.inputs import Refused, clean_title
from annotation_service.leaving import leavings
from annotation_service.models import User
from projects.models import GO_WITH_PROJECTS


class Scope(models.TextChoices):
    """What a token is for, each with what those before it are for."""

    READ = "read", "Read"
    ANNOTATE = "annotate", "Read, annotate and review"
    MANAGE = "manage", "All that its person may do"

    def includes(self, other: "Scope") -> bool:
        order = list(Scope)
        return order.index(other) <= order.index(self)


class TokenQuerySet(models.QuerySet["Token"]):
    def usable(self) -> Self:
        """Those that let in now: deactivated people's tokens, revoked and expired ones do not."""
        lasts = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
        return self.filter(lasts, revoked_at=None, user__is_active=True)


class Token(models.Model):
    """Lets a program in as a person, for no more than a scope says and, with a project, in that project alone.

    Only a hash is stored of what the program shows. It begins with a prefix, so that programs that look for leaked secrets know
    it, and its first letters are kept, so that people can tell their tokens apart.
    """

    PREFIX = "ans_"
    SHOWN = 10  # characters, with the prefix
    # How exact the time of the last use is: each request would write otherwise.
    USED = timedelta(minutes=5)
    MOST = 100  # of a person

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=limits.MAX_NAME_CHARACTERS)
    scope = models.CharField(max_length=8, choices=Scope, default=Scope.READ)
    project = models.ForeignKey("projects.Project", null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    begins_with = models.CharField(max_length=SHOWN, editable=False)
    token_hash = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    used_at = models.DateTimeField(null=True, editable=False)
    revoked_at = models.DateTimeField(null=True, editable=False)

    objects = TokenQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def make(cls, user: User, name: str, **fields: object) -> tuple["Token", str]:
        """A new token, and what the program has to show: nobody can find that out again."""
        secret = cls.PREFIX + secrets.token_urlsafe(32)
        with write():
            if cls.objects.usable().filter(user=user).count() >= cls.MOST:
                raise Refused(f"You have {cls.MOST} tokens. Revoke those that are not needed any more.")
            token = cls(user=user, name=clean_title(name), begins_with=secret[: cls.SHOWN], **fields)
            token.token_hash = hashed(secret)
            token.save()
        return token, secret

    @classmethod
    def of(cls, secret: str) -> "Token | None":
        """The token that a program shows, if it lets in now."""
        found = cls.objects.usable().select_related("user").filter(token_hash=hashed(secret)).first()
        now = timezone.now()
        if found and (found.used_at is None or abs(now - found.used_at) > cls.USED):
            with suppress(DatabaseError), write():  # without room for it, reading works on
                cls.objects.filter(pk=found.pk).update(used_at=now)
        return found

    def revoke(self) -> None:
        Token.objects.filter(pk=self.pk, revoked_at=None).update(revoked_at=timezone.now())

    @property
    def state(self) -> str:
        if self.revoked_at:
            return "revoked"
        return "expired" if self.expires_at and self.expires_at <= timezone.now() else "in use"


def hashed(secret: str) -> str:
    """Of what has 256 random bits, so that there is nothing to be guessed, and no salt is needed."""
    return sha256(secret.encode()).hexdigest()


GO_WITH_PROJECTS.append(Token)
leavings.append(lambda person, addresses: Token.objects.filter(user=person).delete() and None)


class KeptAnswer(models.Model):
    """What was answered to a request with an ``Idempotency-Key``: sent again within a day, it is answered so again.

    It is stored in the transaction in which the work is. Of work that goes on in a job, the job is kept.
    """

    KEPT = timedelta(hours=24)
    MAX_KEY = 200

    # Whether or not its token is there still, an answer goes after a day.
    token = models.ForeignKey(Token, on_delete=models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False)
    key = models.CharField(max_length=MAX_KEY)
    # Of the method, the address and the body.
    digest = models.CharField(max_length=64)
    answer = models.JSONField(default=dict)
    at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        constraints = [UniqueConstraint(fields=["token", "key"], name="kept_answer_once")]

    def __str__(self) -> str:
        return self.key


from .webhooks import Delivery, Webhook  # noqa: E402, F401 - models of a module of their own
