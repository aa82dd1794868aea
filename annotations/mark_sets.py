"""A whole set of marks that is sent for an item, such as by a program: it becomes the marks of an annotation by the fewest
changes, or nothing is changed."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any

from django.db.transaction import atomic

from annotation_service.inputs import Problems, Refused
from annotation_service.words import number
from datasets.models import MARKS, Annotation, Entity, Mark, Relation
from ontologies.models import Ontology

MAX_CHANGES = 150  # at once, in half a second: the item is locked meanwhile, and with SQLite everything
ROUNDS = 5  # a mark may take the place that another one is about to leave
Sent = list[dict[str, Any]]
Step = tuple[str, Callable[[], object]]  # the place in what was sent, and what is done for it


def put_marks(
    annotation: Annotation, entities: Sent, relations: Sent, done: bool | None = None, text_version: int | None = None
) -> None:
    """Let these be the accepted marks of an annotation, whose item is locked. What is suggested stays so, unless it is sent too.

    A mark is known by its id or, where no such id is there, by what it says: then it keeps the id that it has. Raises `Refused`
    with all that is wrong, each at its place.
    """
    if text_version not in (None, annotation.item.text_version):
        raise Refused("The text of this item was corrected meanwhile. Read it again.", place="$.text_version")
    if done is False:
        annotation.reopen()
    MarkSet(annotation).put({"entity": _accepted(entities), "relation": _accepted(relations)})
    if done:
        annotation.finish()


def _accepted(marks: Sent) -> Sent:
    """Marks can be sent as they were read, with those that are suggested or rejected."""
    return [mark for mark in marks if mark.get("status", Mark.Status.ACCEPTED) == Mark.Status.ACCEPTED]


class MarkSet:
    def __init__(self, annotation: Annotation) -> None:
        self.annotation, self.item, self.problems = annotation, annotation.item, Problems()
        ontologies = Ontology.objects.filter(project=annotation.item.dataset.project_id)
        self.labels = {each.kind: each.labels() for each in ontologies}
        self.uids: dict[str, str] = {}
        """Under which each sent entity is stored."""

    def put(self, sent: Mapping[str, Sent]) -> None:
        there = {kind: self._there(kind) for kind in MARKS}
        wanted = {}
        for kind in MARKS:  # entities first: they may be the ends of relations
            wanted[kind] = self._read(kind, sent[kind], there[kind])
            self._stop()
        gone = [step for kind in reversed(MARKS) for step in self._removals(kind, there[kind], wanted[kind])]
        steps = {kind: list(self._changes(kind, there[kind], wanted[kind])) for kind in MARKS}
        if count := len(gone) + sum(map(len, steps.values())):
            self.annotation.check_open()
        if count > MAX_CHANGES:
            raise Refused(f"These are {number(count)} changes; at most {number(MAX_CHANGES)} are made at once.")
        for some in (gone, *steps.values()):
            self._carry_out(some)
            self._stop()

    def _stop(self) -> None:
        if self.problems.total:
            raise Refused(self.problems.first, self.problems.total)

    # --- What was sent ---

    def _there(self, kind: str) -> dict[str, Mark]:
        marks: Any = self.annotation.marks(MARKS[kind]).exclude(status=Mark.Status.REJECTED)
        return {mark.uid: mark for mark in (marks.select_related("source", "target") if kind == "relation" else marks)}

    def _read(self, kind: str, sent: Sent, there: Mapping[str, Mark]) -> dict[str, tuple[str, int, tuple[Any, ...]]]:
        """Each mark by the uid under which it is or will be stored, with its place in what was sent, label and place in the
        text."""
        said = {(mark.label_id, mark.place): uid for uid, mark in there.items()}
        ids = {mark["id"] for mark in sent}
        found: dict[str, tuple[str, int, tuple[Any, ...]]] = {}
        says: dict[Any, str] = {}
        for count, mark in enumerate(sent):
            place, uid = f"$.{'entities' if kind == 'entity' else 'relations'}[{count}]", mark["id"]
            try:
                label = self._label(kind, mark["label"])
                what = label, self._entity(mark) if kind == "entity" else self._relation(mark)
            except Refused as error:
                self.problems.add(place, str(error))
                continue
            if uid not in there and said.get(what, uid) not in ids:
                uid = said[what]
            if uid in found or what in says:
                self.problems.add(place, "This id comes twice." if uid in found else "This mark comes twice.")
            found[uid], says[what] = (place, *what), uid
            if kind == "entity":
                self.uids[mark["id"]] = uid
        return found

    def _label(self, kind: str, name: str) -> int:
        """By its uid or its full name."""
        labels = self.labels.get(kind)
        label = labels and (labels.by_uid.get(name) or labels.by_fullname.get(name))
        if label:
            return label.pk
        raise Refused(f"The project has no label “{name[:100]}” for {MARKS[kind].noun}s.")

    def _entity(self, mark: dict[str, Any]) -> tuple[int, int]:
        if "start" in mark and "end" in mark:
            span = self.annotation.span(mark["start"], mark["end"])
            return span["start"], span["end"]
        place = (mark.get("start_char"), mark.get("end_char"))
        if None in place:
            raise Refused("Say where it is: by “start” and “end”, or by “start_char” and “end_char”.")
        starts, ends = self._borders
        if place[0] in starts and place[1] in ends and starts[place[0]] <= ends[place[1]]:
            return starts[place[0]], ends[place[1]]
        raise Refused(f"The characters {place[0]} to {place[1]} are not whole tokens.")

    @cached_property
    def _borders(self) -> tuple[dict[int, int], dict[int, int]]:
        """The tokens that begin and end at characters of the original."""
        if self.item.offsets is None:
            raise Refused("The tokens of this item do not occur in its original: say where marks are by tokens.")
        return tuple({span[side]: token for token, span in enumerate(self.item.offsets)} for side in (0, 1))  # type: ignore[return-value]

    def _relation(self, mark: dict[str, Any]) -> tuple[str, str]:
        for name in ("source_id", "target_id"):
            if mark[name] not in self.uids:
                raise Refused(f"There is no entity “{mark[name][:100]}” in what was sent.")
        return self.uids[mark["source_id"]], self.uids[mark["target_id"]]

    # --- What is done ---

    def _removals(self, kind: str, there: Mapping[str, Mark], wanted: Mapping[str, Any]) -> Iterator[Step]:
        for uid, mark in there.items():
            if uid not in wanted and mark.status == Mark.Status.ACCEPTED:
                yield f"{kind} “{uid}”", partial(self._remove, MARKS[kind], uid)

    def _remove(self, model: type[Mark], uid: str) -> None:
        for mark in self.annotation.marks(model).filter(uid=uid):  # a relation may have gone with its end
            mark.remove()

    def _changes(self, kind: str, there: Mapping[str, Mark], wanted: Mapping[str, Any]) -> Iterator[Step]:
        for uid, (place, label, where) in wanted.items():
            mark = there.get(uid)
            if not mark or (mark.label_id, mark.place, mark.status) != (label, where, Mark.Status.ACCEPTED):
                yield place, partial(self._put, kind, uid, label, where)

    def _put(self, kind: str, uid: str, label_pk: int, where: tuple[Any, ...]) -> None:
        label = self.annotation.label(kind, self.labels[kind].by_pk[label_pk].uid)
        mark: Any = self.annotation.marks(MARKS[kind]).filter(uid=uid).first()
        if mark is None:
            add: Any = self.annotation.add_entity if kind == "entity" else self.annotation.add_relation
            add(uid=uid, label=label, **dict(zip(MARKS[kind].place_fields, where, strict=True)))
            return
        mark.relabel(label)  # with its own label, it is accepted
        if isinstance(mark, Entity):
            mark.resize(*where)
        elif isinstance(mark, Relation):
            mark.reverse(*where)

    def _carry_out(self, steps: list[Step]) -> None:
        """Some may have to wait for others; what is refused in the end is a problem."""
        refused: list[tuple[Step, Refused]] = []
        for _ in range(ROUNDS):
            refused = []
            for place, do in steps:
                try:
                    with atomic():
                        do()
                except Refused as error:
                    refused.append(((place, do), error))
            if len(refused) in (0, len(steps)):
                break
            steps = [step for step, _ in refused]
        for (place, _), why in refused:
            self.problems.add(place, str(why))
