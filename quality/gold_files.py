"""Gold as it leaves the service: in download formats, as a dataset of its own, and in the bundle with what led to it."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from annotation_service.access import can_create
from annotation_service.blueprints import Right
from annotation_service.db import Written, among, write
from annotation_service.inputs import Refused
from annotation_service.json_input import json_array, to_json
from annotation_service.models import Job, User
from datasets.exports import DOWNLOAD_FORMATS, DownloadFormat
from datasets.importing.document import Progress
from datasets.models import Annotation, Dataset, Entity, Layer, Relation
from ontologies.documents import write_time
from projects import bundle
from projects.bundle_import import BundleReader, ReadItem, ReadMarks, once
from projects.models import Project

from .comparison import AnyMark, EntityMark, RelationMark
from .models import GoldDecision, Overruled, ReviewAssignment, Verdict

FORMATS = [format for format in DOWNLOAD_FORMATS if format.has_marks]


def write_gold(project: Project, format: DownloadFormat, target: IO[bytes]) -> None:
    """The decided items of a project, with gold in the place of the marks that came with them."""
    format.write(project.dataset, project.dataset.decided_items(), target, Layer.GOLD)


def make_dataset(project: Project, *, by: User, name: str, job: Job | None = None) -> Dataset:
    """The same as a new blueprint of somebody."""
    with write():
        source = project.locked_as_it_is()
        if not can_create(by) or Right.KEEP not in source.rights_of(by):
            raise Refused("You do not manage this project any more.")
        for own in (*source.ontology_set.order_by("kind"), source.dataset):
            own.locked()  # before the items, as everybody does
        source.lock_items()  # marks and their relations are copied as of one moment
        made = source.dataset.copy_gold(by=by, name=name)
        if job:
            job.finish(url=made.get_absolute_url(), text=f"The dataset “{made}” is yours.")
    return made


# --- In the bundle -------------------------------------------------------------------------------------------------------

LISTS = ("entities", "relations", "decisions")
NOTES = {
    "gold.json": "what was decided about items; done_at is null where that is not finished. Of the verdicts about a mark the last"
    " counts whose decision was not undone. A relation is there if each of its ends has become one mark",
    "agreed": "of the project: whose marks are taken over as gold without asking, all who are done with an item, most, or at"
    " least agreed_least of them; if given_voice is true, what came with the dataset is one of them",
    "verdicts": "taken tells whether the mark belongs into the gold, people who had made it, null being the dataset; those with"
    " one place were decided together. A label is null that was deleted since",
}


class _Names(NamedTuple):
    labels: Mapping[int, str]
    people: bundle.BundlePeople

    def entity(self, mark: EntityMark) -> dict[str, Any]:
        return {"start": mark.start, "end": mark.end, "label": self.labels.get(mark.label)}

    def mark(self, mark: AnyMark) -> dict[str, Any]:
        if isinstance(mark, EntityMark):
            return {"kind": "entity", **self.entity(mark)}
        ends = {"source": self.entity(mark.source), "target": self.entity(mark.target)}
        return {"kind": "relation", **ends, "label": self.labels.get(mark.label)}

    def who(self, people: Collection[int]) -> list[str | None]:
        """Those with a name first, the dataset last."""
        return sorted((self.people[each or None] for each in people), key=lambda name: (name is None, name or ""))


def _entries(
    project: Project, counts: bundle.Counts, progress: Progress, people: bundle.BundlePeople
) -> Iterator[dict[str, Any]]:
    counts |= dict.fromkeys(("gold", "gold_decided", *(f"gold_{each}" for each in LISTS)), 0)
    names = _Names(bundle.names_of(project.ontology_set.all()), people)
    for numbers, items in bundle.in_portions(project, progress):
        golds = Annotation.objects.filter(layer=Layer.GOLD, item__in=items.order_by().values("pk"))
        rows = golds.order_by("item__position").values_list(
            "pk", "item__position", "item__external_id", Written("done_at"), Written("changed_at")
        )
        found = list(rows)
        if not found:
            continue
        marks, decisions = bundle.marks_in(golds, names.labels), _decisions([pk for pk, *_ in found])
        for pk, position, external_id, done_at, changed_at in found:
            entry = {
                "item_id": numbers[position],
                "external_id": external_id or None,
                "done_at": done_at,
                "changed_at": changed_at,
                **marks[pk],
                "decisions": [_written(decision, said, names) for decision, said in decisions[pk]],
            }
            counts["gold"] += 1
            counts["gold_decided"] += done_at is not None
            for each in LISTS:
                counts[f"gold_{each}"] += len(entry[each])
            yield entry


def _decisions(golds: Collection[int]) -> dict[int, list[tuple[GoldDecision, list[Verdict]]]]:
    """The decisions about each gold in their order, with their verdicts."""
    verdicts: dict[int, list[Verdict]] = defaultdict(list)
    for verdict in Verdict.objects.filter(annotation__in=among(golds)).order_by("decision", "pk"):
        verdicts[verdict.decision_id].append(verdict)
    found: dict[int, list[tuple[GoldDecision, list[Verdict]]]] = defaultdict(list)
    made = GoldDecision.objects.filter(annotation__in=among(golds)).order_by("pk")
    for decision in made.prefetch_related("overruled"):
        found[decision.annotation_id].append((decision, verdicts[decision.pk]))
    return found


def _written(decision: GoldDecision, verdicts: Sequence[Verdict], names: _Names) -> dict[str, Any]:
    return {
        "by": names.people[decision.by_id],
        "at": write_time(decision.at),
        "kind": decision.kind,
        "reason": decision.reason,
        "undone_at": decision.undone_at and write_time(decision.undone_at),
        "overruled": names.who([each.person_id for each in decision.overruled.all()]),
        "verdicts": [
            {
                **names.mark(verdict.mark),
                "place": verdict.place,
                "taken": verdict.is_taken,
                "people": names.who(verdict.people),
            }
            for verdict in verdicts
        ],
    }


def _gold(project: Project, counts: bundle.Counts, progress: Progress, people: bundle.BundlePeople) -> Iterator[str]:
    return json_array(map(to_json, _entries(project, counts, progress, people)))


def _reviewers(project: Project, _: bundle.Counts, progress: Progress, people: bundle.BundlePeople) -> Iterator[str]:
    def entries() -> Iterator[dict[str, Any]]:
        for numbers, items in bundle.in_portions(project, progress):
            for position, person in items.exclude(review=None).values_list("position", "review__person"):
                yield {"item_id": numbers[position], "reviewer": people[person]}

    return json_array(map(to_json, entries()))


def _read_reviewer(reader: BundleReader, item: ReadItem, entry: dict[str, Any]) -> None:
    once(item.said, "reviewer")
    reader.add(ReviewAssignment, {}, item=item.number, person=reader.person(entry["reviewer"]))


def _read_gold(reader: BundleReader, item: ReadItem, entry: dict[str, Any]) -> None:
    once(item.said, "gold")
    marks = ReadMarks(reader.add(Annotation, entry, item=item.number, layer=Layer.GOLD))
    reader.read_marks(item, marks, entry["entities"], entry["relations"])
    for said in entry["decisions"]:
        of = {"annotation": marks.annotation}
        of["decision"] = reader.add(GoldDecision, said, **of)
        for person in said["overruled"]:
            reader.add(Overruled, {}, person=reader.person(person), **of)
        for verdict in said["verdicts"]:
            voices = [reader.person(each) or 0 for each in verdict["people"]]
            what, is_taken = str(_read_mark(reader, verdict)), verdict["taken"]
            reader.add(Verdict, {}, place=verdict["place"], what=what, is_taken=is_taken, people=voices, **of)


def _read_mark(reader: BundleReader, said: dict[str, Any]) -> Any:
    """A label that was deleted has the number 0, which no label has."""
    kind = "relation" if "source" in said else "entity"
    label = reader.label(kind, said["label"]) if said["label"] is not None else 0
    if kind == "entity":
        return EntityMark(int(said["start"]), int(said["end"]), label)
    return RelationMark(_read_mark(reader, said["source"]), _read_mark(reader, said["target"]), label)


def _name_voices(dataset: Dataset, people: Mapping[int, int]) -> None:
    """Give verdicts the keys of people in the place of the numbers that these had."""
    last, verdicts = 0, Verdict.objects.filter(annotation__item__dataset=dataset).order_by("pk")
    while some := list(verdicts.filter(pk__gt=last).only("people")[:1000]):
        for verdict in some:
            verdict.people = [people.get(who, who) for who in verdict.people]
        Verdict.objects.bulk_update(some, ["people"])
        last = some[-1].pk


SCHEMA = Path(__file__).parent / "schemas" / "bundle.json"
MODELS = (Annotation, Entity, Relation, GoldDecision, Overruled, Verdict)
bundle.parts += [
    bundle.Part("gold.json", _gold, NOTES, bundle.Reading(SCHEMA, "gold", MODELS, _read_gold, _name_voices)),
    bundle.Part(
        "reviewers.json", _reviewers, {}, bundle.Reading(SCHEMA, "reviewer", (ReviewAssignment,), _read_reviewer)
    ),
]
