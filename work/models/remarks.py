"""What people say about items and marks: flags, and comments with their answers. None of it begins an item."""

from django.conf import settings
from django.db import models
from django.db.models import Index, Q, UniqueConstraint
from django.utils import timezone

from annotation_service import limits, words
from annotation_service.db import store, write
from annotation_service.inputs import Refused, check_text, clean_prose
from annotation_service.models import User
from datasets.models.annotation import Annotation
from datasets.models.item import Item
from datasets.models.marks import MARKS, Entity

SHOWN_WORDS = 200


class Flag(models.Model):
    """What somebody sees in an item that others should know, with a word of why. Its verbs expect that the item is locked."""

    class Kind(models.TextChoices):
        ISSUE = "issue"
        UNCERTAIN = "uncertain"
        QUALITY = "quality"

    item = models.ForeignKey(Item, on_delete=models.RESTRICT, db_index=False)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT)
    kind = models.CharField(max_length=9, choices=Kind)
    why = models.CharField(max_length=limits.MAX_FLAG_REASON_CHARACTERS, blank=True)
    set_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "datasets_flag"
        constraints = [UniqueConstraint(fields=["item", "person", "kind"], name="flag_once")]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: item {self.item_id} by {self.person}"

    @classmethod
    def put(cls, item: Item, person: User, *, kind: str, why: str = "") -> None:
        """Set a flag or, if it is set, say why."""
        if kind not in cls.Kind.values:
            raise Refused(f"A flag is one of these: {', '.join(cls.Kind.values)}.")
        why = " ".join(clean_prose(why, limits.MAX_FLAG_REASON_CHARACTERS).split())
        cls.objects.update_or_create(item=item, person=person, kind=kind, defaults={"why": why})

    @classmethod
    def take_away(cls, item: Item, person: User, *, kind: str) -> None:
        """Taken away twice, it is gone once."""
        cls.objects.filter(item=item, person=person, kind=kind).delete()


class Words(models.Model):
    """What somebody has written. They may change it or take it back until somebody answers."""

    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    text = models.TextField()
    written_at = models.DateTimeField(default=timezone.now)
    edited_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return words.cut(self.text, 60)


class CommentQuerySet(models.QuerySet["Comment"]):
    def open(self) -> "CommentQuerySet":
        return self.filter(resolved_at=None)

    def with_words(self) -> "CommentQuerySet":
        """With all that is shown of them: the answers, too."""
        answers = models.Prefetch(
            "answer_set", Answer.objects.select_related("author").order_by("pk"), to_attr="answers"
        )
        return self.select_related("author", "person", "resolved_by").prefetch_related(answers)


class Comment(Words):
    """What is said about one person's work on an item, or about a mark of theirs, and what becomes of it.

    The words of the mark stay when it goes. `last_by` and `last_at` tell of the last words, the answers included.
    """

    item = models.ForeignKey(Item, on_delete=models.RESTRICT, db_index=False)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT)
    kind = models.CharField(max_length=8, blank=True)  # of the mark, if it is about one
    uid = models.CharField(max_length=limits.MAX_MARK_ID_CHARACTERS, blank=True)
    words = models.CharField(max_length=SHOWN_WORDS, blank=True)
    last_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    last_at = models.DateTimeField(default=timezone.now)
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )

    objects = CommentQuerySet.as_manager()

    class Meta:
        db_table = "datasets_comment"
        indexes = [Index(fields=["item", "person"], name="comment_item_person")]

    @property
    def is_open(self) -> bool:
        return self.resolved_at is None

    @property
    def is_unanswered(self) -> bool:
        return self.last_at == self.written_at

    @classmethod
    def begin(cls, item: Item, person: User, *, by: User, text: str, kind: str = "", uid: str = "") -> "Comment":
        """Say something about somebody's work on an item, which the caller has locked, or about a mark of theirs. Sent twice, it
        is stored once."""
        text = clean_words(text)
        said = _words_of_mark(item, person, kind, uid) if uid else ""
        comments = cls.objects.filter(item=item, person=person)
        if same := comments.open().filter(author=by, text=text, uid=uid, answer=None).first():
            return same
        if comments.count() >= limits.MAX_ITEM_COMMENTS:
            raise Refused(f"There are {words.number(limits.MAX_ITEM_COMMENTS)} comments on this item already.")
        about = {"kind": kind, "uid": uid, "words": said} if uid else {}
        now = timezone.now()
        return cls.objects.create(
            item=item, person=person, author=by, last_by=by, text=text, written_at=now, last_at=now, **about
        )

    def answer(self, text: str, *, by: User) -> None:
        """Add to it. It is open again, if it was resolved: nobody would read the answer. Sent twice, it is stored once."""
        text = clean_words(text)
        with write():
            comment = self._locked()
            last = comment.last_words()
            if isinstance(last, Answer) and (last.author_id, last.text) == (by.pk, text):
                return
            if comment.answer_set.count() >= limits.MAX_COMMENT_ANSWERS:
                raise Refused("This has many answers already. Begin a new comment.")
            answer = Answer.objects.create(comment=comment, author=by, text=text)
            store(comment, last_by=by, last_at=answer.written_at, resolved_at=None, resolved_by=None)

    def reply(self, text: str, *, resolves: bool, by: User) -> None:
        """Answer it, resolve it, or both at once."""
        if text.strip() or not resolves:
            self.answer(text, by=by)
        if resolves:
            self.resolve(by=by)

    def edit(self, text: str, *, by: User, answer: int | None = None) -> None:
        """Change what one has written, the comment itself or an answer to it."""
        text = clean_words(text)
        with write():
            own = self._locked().own_words(by, answer)
            if own.text != text:
                store(own, text=text, edited_at=timezone.now())

    def take_back(self, *, by: User, answer: int | None = None) -> None:
        """Delete what one has written; taken back twice, it is gone once."""
        with write():
            comment = self._locked()
            if answer and not comment.answer_set.filter(pk=answer):
                return
            comment.own_words(by, answer).delete()
            if answer:
                last = comment.last_words()
                store(comment, last_by_id=last.author_id, last_at=last.written_at)

    def resolve(self, *, by: User) -> None:
        with write():
            comment = self._locked()
            if comment.is_open:
                store(comment, resolved_at=timezone.now(), resolved_by=by)

    def reopen(self) -> None:
        with write():
            store(self._locked(), resolved_at=None, resolved_by=None)

    def last_words(self) -> "Comment | Answer":
        return self.answer_set.order_by("-pk").first() or self

    def own_words(self, by: User, answer: int | None) -> "Comment | Answer":
        """What somebody may change of it."""
        own = self.answer_set.filter(pk=answer).first() if answer else self
        if own is None or own.author_id != by.pk:
            raise Refused("Only who has written this can change it.")
        if own != self.last_words():
            raise Refused("This has been answered meanwhile: it stays as it is.")
        return own

    def _locked(self) -> "Comment":
        """Read again; its item is locked, as long as it is there."""
        Item.with_removed.select_for_update(no_key=True).filter(pk=self.item_id).values_list("pk").first()
        if comment := Comment.objects.filter(pk=self.pk).first():
            return comment
        raise Refused("This comment is not there any more.")


class Answer(Words):
    comment = models.ForeignKey(Comment, on_delete=models.RESTRICT)

    class Meta:
        db_table = "datasets_answer"


def clean_words(text: str) -> str:
    if cleaned := clean_prose(text, settings.MAX_COMMENT_CHARACTERS):
        return cleaned
    raise Refused("There is nothing in it: write something first.")


def talked_about(person: User) -> Q:
    """The items on which somebody has flags, or comments on their work. Quicker than to look for these on each item."""
    said = [model._default_manager.filter(person=person).values("item") for model in (Flag, Comment)]
    return Q(pk__in=said[0]) | Q(pk__in=said[1])


def _words_of_mark(item: Item, person: User, kind: str, uid: str) -> str:
    check_text(uid)
    annotation = Annotation.visible_to(person, item)
    if annotation is None or kind not in MARKS:
        raise Refused("This mark is not there any more. Reload the page.")
    mark = annotation.mark(MARKS[kind], uid)
    if isinstance(mark, Entity):
        return words.cut(item.cleaned.between(*mark.place), SHOWN_WORDS)
    source, target = (words.cut(item.cleaned.between(*end.place), 60) for end in mark.ends())
    return words.cut(f"{source} {mark.label.name} {target}", SHOWN_WORDS)
