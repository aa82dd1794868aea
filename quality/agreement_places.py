"""Where marks differ: items, with how two voices differ there."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import date, timedelta
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef
from django.http import QueryDict

from annotation_service.inputs import whole_number
from datasets.item_lists import NOTHING
from datasets.models import Annotation, Item
from projects.models import Project

from .comparison import Likeness, Paired, compare
from .counting import RELATION, differing, items_with
from .review_list import KINDS
from .voices import Said, Trees, said, voice_named, voices_in

PLACES = 5
"""So many are shown of an item; the item itself has more."""


class ShownDifference(NamedTuple):
    """What each of two voices says at a place, by their names."""

    sides: list[tuple[str, Said | None]]
    note: str


class Places:
    """What an address asks for: a kind of difference, two voices by their names, their labels, a week. A label stands for those
    below it, too, and 0 for no mark. What names nobody, or no label, is nowhere."""

    def __init__(self, project: Project, data: QueryDict, names: Mapping[int, str]) -> None:
        self.project, self.names = project, names
        self.trees = Trees(project.ontology_set.all())
        self.kind, self.week = data.get("kind", ""), data.get("week", "")
        self.one, self.other = data.get("one", ""), data.get("other", "")
        self.label, self.other_label = data.get("label", ""), data.get("other_label", "")
        person, other = voice_named(names, self.one), voice_named(names, self.other)
        self.asked: dict[str, Any] = {"kind": self.kind, "person": person, "other": other}
        self.asked |= {"labels": self._labels(self.label), "other_labels": self._labels(self.other_label)}
        self.is_sound = (person is not None or not self.one) and (other is not None or not self.other)

    def _labels(self, text: str) -> Collection[int] | None:
        if not text:
            return None
        key = whole_number(text)
        return {0} if key == 0 else {pk for pk in self.trees.labels if key in self.trees.path(pk)}

    def items(self) -> Any:
        asked = dict(self.asked)
        found = self.project.all_items().filter(
            items_with(label=asked.pop("labels"), **asked) if self.is_sound else NOTHING
        )
        if not self.week:
            return found
        try:
            year, _, week = self.week.partition("-W")
            first = date.fromisocalendar(int(year), int(week), 1)
        except ValueError:
            return found.filter(NOTHING)
        done = Annotation.objects.filter(item=OuterRef("pk"), done_at__date__gte=first)
        return found.filter(Exists(done.filter(done_at__date__lt=first + timedelta(days=7))))

    def in_words(self) -> str:
        people = " and ".join(filter(None, (self.one, self.other)))
        labels = " and ".join(self._label_in_words(text) for text in (self.label, self.other_label) if text)
        parts = (KINDS.get(self.kind, self.kind), f"of {people}" if people else "", labels, self.week)
        return ", ".join(filter(None, parts))

    def _label_in_words(self, text: str) -> str:
        label = self.trees.labels.get(whole_number(text) or 0)
        return f"“{label.fullname}”" if label else "no mark" if text == "0" else text

    def shown(self, items: Collection[Item]) -> Iterator[tuple[Item, list[ShownDifference]]]:
        """Some of the differences in each."""
        pairs: dict[int, set[tuple[int, int]]] = defaultdict(set)
        rows = differing(**self.asked).filter(item__in=[item.pk for item in items]).order_by()
        for item, *pair in rows.values_list("item", "one", "other").distinct():
            if len(pairs[item]) < PLACES:
                pairs[item].add((pair[0], pair[1]))
        given = self.project.given_voice
        voices = voices_in(list(pairs), given=given, gold=True) if pairs else {}
        for item in items:
            marked = dict(voices.get(item.pk, ()))
            known = [
                pair for pair in sorted(pairs[item.pk]) if marked.keys() >= {*pair} and self.names.keys() >= {*pair}
            ]
            yield item, [each for pair in known for each in self._differences(item, marked, pair)][:PLACES]

    def _differences(self, item: Item, marked: Any, pair: tuple[int, int]) -> Iterator[ShownDifference]:
        one, other = sorted(pair, key=list(self.names).index)
        if other == self.asked["person"] or one == self.asked["other"]:
            one, other = other, one
        compared = compare(marked[one], marked[other], self.trees.apart)
        for each in (*compared.entities, *compared.relations):
            if each.likeness != Likeness.SAME and self._is_asked(each):
                shown = [said(item, self.trees, mark) if mark else None for mark in (each.one, each.other)]
                sides = list(zip((self.names[one], self.names[other]), shown, strict=True))
                yield ShownDifference(sides, "the ends differ" if each.likeness == Likeness.ENDS else "")

    def _is_asked(self, pair: Paired) -> bool:
        kind = RELATION if (pair.one or pair.other).is_relation else pair.likeness
        labels = [mark.label if mark else 0 for mark in (pair.one, pair.other)]
        is_ordered = self.asked["person"] is not None or self.asked["other"] is not None
        ways = [labels] if is_ordered else [labels, labels[::-1]]
        wanted = (self.asked["labels"], self.asked["other_labels"])
        fits = any(all(w is None or label in w for w, label in zip(wanted, way, strict=True)) for way in ways)
        return fits and self.kind in ("", kind)
