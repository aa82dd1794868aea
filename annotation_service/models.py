import time
import unicodedata
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import IO, Any, ClassVar, NamedTuple

from django.conf import settings
from django.contrib.auth import models as auth_models
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Q, QuerySet
from django.db.models.signals import pre_save
from django.dispatch import receiver
from django.utils import timezone

from .db import Trouble, store, trouble, write
from .events import Event
from .inputs import Refused, can_be_seen
from .lookalikes import drawn, mixed_scripts
from .words import listed

PROJECT_MANAGERS = "Project managers"
WORKER_SIGN = "worker-alive"


_LONGER_THAN_NAMES = 1000


def fold(text: str) -> str:
    """A user name or mail address as it is compared: without case, in any script. Of what is longer than any of them only the
    beginning: anybody may send it, and normalising a million accents takes half an hour."""
    text = text[:_LONGER_THAN_NAMES]
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).strip()


def skeleton(name: str) -> str:
    """What names that look alike share, in any case: of “I”, “l” and “1” the capital one is alike before it is made small."""
    return drawn(fold(drawn(name)))[:MAX_SKELETON]


MAX_SKELETON = 300
SAVE_ONE_BY_ONE = "Save people one by one: the folded names have to follow."


class People(QuerySet["User"]):
    def bulk_create(self, objs: Iterable[Any], *args: Any, **options: Any) -> list[Any]:
        if options.get("update_conflicts"):
            raise TypeError(SAVE_ONE_BY_ONE)
        objs = list(objs)
        for person in objs:
            person.fold_names()
        return super().bulk_create(objs, *args, **options)

    def update(self, **values: Any) -> int:
        if not User.NAMES.isdisjoint(values):
            raise TypeError(SAVE_ONE_BY_ONE)
        return super().update(**values)


class UserManager(auth_models.UserManager["User"]):
    use_in_migrations = False

    def get_queryset(self) -> People:
        return People(self.model, using=self._db)

    def with_name(self, name: str) -> QuerySet["User"]:
        return self.filter(username_folded=fold(name))

    def with_address(self, address: str) -> QuerySet["User"]:
        """Who has a mail address, as the main one or as a further one of those that allauth keeps."""
        folded = fold(address)
        # The rows of allauth have no folded column: those that are not in small ASCII letters are compared here.
        further = self.filter(Q(emailaddress__email=folded) | Q(emailaddress__email__regex=r"[^ -@\[-~]"))
        rows = further.values_list("pk", "emailaddress__email")
        return self.filter(Q(email_folded=folded) | Q(pk__in={pk for pk, email in rows if fold(email) == folded}))

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.with_name(username or "").get()


class User(auth_models.AbstractUser):
    """A person. Two people cannot differ by the case of their user name or mail address only.

    SQLite and PostgreSQL fold case differently, so the folded texts are stored in unique columns. Names are stored as typed.
    """

    NAMES = frozenset({"username", "email"})
    MAX_FOLDED_ADDRESS = 500

    username_folded = models.CharField(max_length=300, unique=True, editable=False)
    # Null for names that looked like others before this was asked.
    username_skeleton = models.CharField(max_length=MAX_SKELETON, unique=True, null=True, editable=False)  # noqa: DJ001
    # Null without an address: many people may have none.
    email_folded = models.CharField(max_length=MAX_FOLDED_ADDRESS, unique=True, null=True, editable=False)  # noqa: DJ001
    # What was chosen of `COMFORT`.
    comfort = models.JSONField(default=dict, editable=False)
    # Since when nothing says who they were: see `annotation_service.leaving`.
    anonymised_at = models.DateTimeField(null=True, editable=False)
    # What a bundle calls somebody who has no account here: an author of what came with it, who can never sign in.
    imported_as = models.CharField(max_length=150, blank=True, editable=False)

    objects: ClassVar[UserManager] = UserManager()

    def fold_names(self) -> None:
        self.username_folded, self.email_folded = fold(self.username), fold(self.email) or None
        if self.has_new_name():
            self.username_skeleton = None if self.imported_as else skeleton(self.username)

    def has_new_name(self) -> bool:
        return not (self.pk and User.objects.filter(pk=self.pk, username=self.username).exists())

    def looks_like_another(self) -> bool:
        return User.objects.filter(username_skeleton=skeleton(self.username)).exclude(pk=self.pk).exists()

    def save(self, *args: Any, **options: Any) -> None:
        fields = options.get("update_fields")
        if fields is None or not self.NAMES.isdisjoint(fields):
            self.validate_names()
            self.fold_names()
            if fields is not None:
                options["update_fields"] = {*fields, "username_folded", "username_skeleton", "email_folded"}
        super().save(*args, **options)

    def validate_unique(self, exclude: Collection[str] | None = None) -> None:
        super().validate_unique(exclude)
        self.validate_names(exclude or ())

    def validate_names(self, exclude: Collection[str] = ()) -> None:
        checks = {"username": self.wrong_name, "email": self.wrong_address}
        if wrong := {field: why for field, check in checks.items() if field not in exclude and (why := check())}:
            raise ValidationError(wrong)

    def wrong_name(self) -> str:
        """Why nobody can have this user name, or why this person cannot; empty if they can, or have it."""
        if not self.has_new_name():
            return ""
        if User.objects.with_name(self.username).exclude(pk=self.pk).exists():
            return "A user with that username already exists."
        if self.anonymised_at or self.imported_as:
            return ""
        if not all(map(can_be_seen, self.username)):
            return "A user name cannot contain spaces or characters that nobody can see."
        if not any(map(str.isalpha, self.username)):
            return "A user name needs a letter."
        if scripts := mixed_scripts(self.username):
            return (
                f"This user name mixes letters of scripts that look alike: {listed(scripts)}. Write it in one of them."
            )
        if self.looks_like_another():
            return "This user name looks like one that somebody else has. Choose another one."
        return ""

    def wrong_address(self) -> str:
        # Signs such as “㌖” are folded to several letters.
        if len(fold(self.email)) > self.MAX_FOLDED_ADDRESS:
            return "This email address is too long."
        taken = self.email and User.objects.with_address(self.email).exclude(pk=self.pk).exists()
        return "A user is already registered with this email address." if taken else ""

    def choose_comfort(self, name: str, value: str) -> None:
        check_choice(name, value)
        with write():
            self.refresh_from_db(fields=["comfort"], from_queryset=User.objects.select_for_update(no_key=True))
            store(self, comfort={**self.comfort, name: value})


@receiver(pre_save, sender=User)
def fold_as_loaded(instance: User, raw: bool, **more: Any) -> None:
    """Fixtures are stored without `User.save`."""
    if raw:
        instance.fold_names()
        if instance.looks_like_another():
            instance.username_skeleton = None


# --- How texts and their marks are shown to somebody who annotates: what there is to choose from --------------------------------


class ComfortChoice(NamedTuple):
    values: tuple[str, ...]
    default: str


COMFORT = {
    "size": ComfortChoice(("s", "m", "l", "xl"), "m"),
    "spacing": ComfortChoice(("tight", "normal", "wide"), "normal"),
    "names": ComfortChoice(("cut", "lower"), "cut"),  # of labels, where they are longer than the words they mark
    "arcs": ComfortChoice(("all", "selected", "off"), "all"),
    "strength": ComfortChoice(("soft", "normal", "strong"), "normal"),
    "sureness": ComfortChoice(("0", "25", "50", "75", "90"), "0"),  # percent, of suggestions that are shown
    "on_page": ComfortChoice(("1", "5", "10", "20"), "1"),  # items
}


def with_defaults(chosen: Mapping[str, str]) -> dict[str, str]:
    """A value for each choice. What is not there any more is as if it had not been chosen."""
    values = ((name, chosen.get(name), choice) for name, choice in COMFORT.items())
    return {name: value if value in choice.values else choice.default for name, value, choice in values}


def check_choice(name: str, value: str) -> None:
    if name not in COMFORT:
        raise Refused(f"There is no such choice. There are: {', '.join(COMFORT)}.")
    if value not in COMFORT[name].values:
        raise Refused(f"This is no value of “{name}”. It can be {', '.join(COMFORT[name].values)}.")


# --- Mails ---------------------------------------------------------------------------------------------------------------


class Mail(models.Model):
    """A message that would have been sent. It may hold a link that lets its reader in: see `MailAdmin`."""

    to = models.TextField()
    subject = models.TextField()
    body = models.TextField()
    # Whom it names, whoever gets it.
    about = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    sent_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.subject}, to {self.to}"


# --- Jobs ----------------------------------------------------------------------------------------------------------------


JOB_DONE = Event("job.done", "Long work in the project has ended: it is done or has failed.")


class Overtaken(Exception):
    """The job is not this worker's any more: another one took it up, or somebody else ended it."""


class JobState(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Job(models.Model):
    """Work that is too long for a request: done by a worker, watched through its row.

    ``target`` holds the arguments of the kind's function, ``result`` where its outcome is: ``{"url": …}`` for a page,
    ``{"file": …, "name": …}`` for a download.
    """

    # A running job whose worker has not been heard of for so long is taken up again. Longer than the longest write,
    # because the heartbeat waits for its turn to write, too.
    STALE = timedelta(seconds=60)
    # After so long without a heartbeat its page warns that the worker may be gone.
    QUIET = timedelta(seconds=10)
    # A worker shows its sign every 5 seconds.
    SIGN_SECONDS = 15
    MAX_ATTEMPTS = 3

    kind = models.CharField(max_length=40)
    title = models.CharField(max_length=250)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    target = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=JobState, default=JobState.QUEUED)
    phase = models.CharField(max_length=40, blank=True)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    attempts = models.PositiveSmallIntegerField(default=0)
    cancel_requested = models.BooleanField(default=False)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)
    result = models.JSONField(default=dict, blank=True)
    errors = models.JSONField(default=dict, blank=True)

    class Meta:
        indexes = [models.Index(fields=["state", "id"])]

    def __str__(self) -> str:
        return self.title

    @property
    def is_over(self) -> bool:
        return self.state in {JobState.DONE, JobState.FAILED, JobState.CANCELLED}

    @property
    def has_no_worker(self) -> bool:
        """Whether nobody is there to do it: none to take it up, or the one that had it is gone. A sign that lies far in the
        future is an old one: after a clock was set back, a worker that is there soon shows another."""
        now = timezone.now()
        if self.state == JobState.RUNNING and self.heartbeat_at:
            return abs(now - self.heartbeat_at) > self.STALE
        # The sign never expires: it would be deleted on reading, which fails when the disk is full.
        if self.state != JobState.QUEUED or abs(cache.get(WORKER_SIGN, 0) - time.time()) <= self.SIGN_SECONDS:
            return False
        some = timedelta(seconds=self.SIGN_SECONDS)
        return not Job.objects.filter(state=JobState.RUNNING, heartbeat_at__range=(now - some, now + some)).exists()

    @property
    def silent_for(self) -> int:
        """The seconds since the last sign of its worker, if these are so many that it may be gone."""
        if self.state != JobState.RUNNING or not self.heartbeat_at:
            return 0
        silence = timezone.now() - self.heartbeat_at
        return int(silence.total_seconds()) if silence > self.QUIET else 0

    def request_cancel(self) -> None:
        Job.objects.filter(pk=self.pk, state=JobState.QUEUED).update(
            state=JobState.CANCELLED, finished_at=timezone.now()
        )
        Job.objects.filter(pk=self.pk, state=JobState.RUNNING).update(cancel_requested=True)

    def finish(self, **result: Any) -> None:
        """Store the outcome. Called inside the transaction that writes the work, so that neither is there alone.

        Raises `Overtaken`, which takes the work back, if another worker has taken the job up in the meantime.
        """
        # Stored and read again, or neither: who fails after it was stored deletes the file that the row names.
        with transaction.atomic(savepoint=False):
            if not self.end(JobState.DONE, result=result):
                raise Overtaken

    def end(self, state: JobState, **values: Any) -> bool:
        """Store how it ended; returns whether it was still the job of the worker that has claimed it."""
        with write():
            ended = self.still_claimed().update(state=state, finished_at=timezone.now(), **values)
            self.refresh_from_db()
            if ended and state != JobState.CANCELLED:
                JOB_DONE.happened(self.target.get("project"), self._told)
        return bool(ended)

    def _told(self) -> dict[str, Any]:
        return {"job": self.pk, "kind": self.kind, "title": self.title, "state": self.state, "user": self.by.username}

    def put_back(self) -> None:
        """Let a worker take it up at once, unless it was ended or taken up by another meanwhile."""
        self.still_claimed().update(state=JobState.QUEUED)

    def still_claimed(self) -> "QuerySet[Job]":
        """Its row, while it is the job of the worker that has claimed it; else nothing."""
        return Job.objects.filter(pk=self.pk, state=JobState.RUNNING, attempts=self.attempts)


@contextmanager
def new_file() -> Iterator[tuple[str, IO[bytes]]]:
    """The name of a new file in ``UPLOAD_DIR``, where the workers find it, and the file; deleted again if the work fails.

    If the database is lost, a row that names it may have been stored: then it stays, and is cleaned up in time.
    """
    path = kept_file(uuid.uuid4().hex)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("wb") as target:
            yield path.name, target
    except BaseException as error:
        if trouble(error) is not Trouble.LOST:
            path.unlink(missing_ok=True)
        raise


def kept_file(name: str) -> Path:
    return Path(settings.UPLOAD_DIR) / name


def start_job(kind: str, *, title: str, by: User, target: dict[str, Any]) -> Job:
    return Job.objects.create(kind=kind, title=title[:250], by=by, target=target)


def start_once(kind: str, *, title: str, by: User, target: dict[str, Any]) -> Job:
    """One like it that waits will do. Locked, it cannot begin before what the caller stores is there."""
    waiting = Job.objects.filter(kind=kind, state=JobState.QUEUED, target=target).select_for_update(of=("self",))
    return waiting.first() or start_job(kind, title=title, by=by, target=target)
