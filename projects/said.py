"""What is said about items, as the bundle has it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import QuerySet

from annotation_service.db import Written
from datasets.models import Item
from work.models import Answer, Comment, Flag

Key = tuple[int, int, int]  # the position and the key of an item, and the key of the person whose work it is about
_ABOUT = ("item__position", "item_id", "person_id")
_WORDS = ("author_id", "text", Written("written_at"), Written("edited_at"))


def said_about(items: QuerySet[Item], people: Mapping[int, str]) -> dict[Key, dict[str, list[dict[str, Any]]]]:
    """The flags, and the comments with their answers, in the order in which they came."""
    said: dict[Any, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: {"flags": [], "comments": []})
    keys = items.order_by().values("pk")
    flags = Flag.objects.filter(item__in=keys).order_by("pk")
    for *key, kind, why, set_at in flags.values_list(*_ABOUT, "kind", "why", Written("set_at")):
        said[tuple(key)]["flags"].append({"kind": kind, "why": why, "set_at": set_at})
    answers = defaultdict(list)
    for comment, *words in (
        Answer.objects.filter(comment__item__in=keys).order_by("pk").values_list("comment_id", *_WORDS)
    ):
        answers[comment].append(_words(words, people))
    comments = Comment.objects.filter(item__in=keys).order_by("pk")
    fields = ("pk", "kind", "uid", "words", Written("resolved_at"), "resolved_by_id")
    for *row, pk, kind, uid, shown, resolved_at, resolver in comments.values_list(*_ABOUT, *_WORDS, *fields):
        comment = {
            "about": kind or "item",
            "mark_id": uid or None,
            "words": shown or None,
            **_words(row[len(_ABOUT) :], people),
            "resolved_at": resolved_at,
            "resolved_by": people.get(resolver),
            "answers": answers[pk],
        }
        said[tuple(row[: len(_ABOUT)])]["comments"].append(comment)
    return dict(said)


def _words(values: Sequence[Any], people: Mapping[int, str]) -> dict[str, Any]:
    author, text, written_at, edited_at = values
    return {"author": people[author], "text": text, "written_at": written_at, "edited_at": edited_at}
