"""Gold as it leaves the service: in download formats, as a dataset of its own, and in the bundle with what led to it."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import IO, Any, NamedTuple

from annotation_service.access import can_create
from annotation_service.blueprints import Right
from annotation_service.db import Written, among, write
from annotation_service.inputs import Refused
from annotation_service.json_input import json_array, to_json
from annotation_service.models import Job, User
from datasets.exports import DOWNLOAD_FORMATS, DownloadFormat
from datasets.importing.document import Progress
from datasets.models import Annotation, Dataset, Layer
from ontologies.documents import write_time
from projects import bundle
from projects.models import Project

from .comparison import AnyMark, EntityMark
from .models import GoldDecision, Verdict

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
    people: Mapping[int, str]

    def entity(self, mark: EntityMark) -> dict[str, Any]:
        return {"start": mark.start, "end": mark.end, "label": self.labels.get(mark.label)}

    def mark(self, mark: AnyMark) -> dict[str, Any]:
        if isinstance(mark, EntityMark):
            return {"kind": "entity", **self.entity(mark)}
        ends = {"source": self.entity(mark.source), "target": self.entity(mark.target)}
        return {"kind": "relation", **ends, "label": self.labels.get(mark.label)}

    def who(self, people: Collection[int]) -> list[str | None]:
        """Those with a name first, the dataset last."""
        return sorted((self.people.get(each) for each in people), key=lambda name: (name is None, name or ""))


def _entries(project: Project, counts: bundle.Counts, progress: Progress) -> Iterator[dict[str, Any]]:
    counts |= dict.fromkeys(("gold", "gold_decided", *(f"gold_{each}" for each in LISTS)), 0)
    names = _Names(bundle.names_of(project.ontology_set.all()), dict(User.objects.values_list("pk", "username")))
    for numbers, items in bundle.in_portions(project, progress):
        golds = Annotation.objects.filter(layer=Layer.GOLD, item__in=items.order_by().values("pk"))
        rows = golds.order_by("item__position").values_list(
            "pk", "item__position", "item__external_id", Written("done_at")
        )
        found = list(rows)
        if not found:
            continue
        marks, decisions = bundle.marks_in(golds, names.labels), _decisions([pk for pk, *_ in found])
        for pk, position, external_id, done_at in found:
            entry = {
                "item_id": numbers[position],
                "external_id": external_id or None,
                "done_at": done_at,
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
    for decision in GoldDecision.objects.filter(annotation__in=among(golds)).order_by("pk").select_related("by"):
        found[decision.annotation_id].append((decision, verdicts[decision.pk]))
    return found


def _written(decision: GoldDecision, verdicts: Sequence[Verdict], names: _Names) -> dict[str, Any]:
    return {
        "by": decision.by.get_username(),
        "at": write_time(decision.at),
        "kind": decision.kind,
        "reason": decision.reason,
        "undone_at": decision.undone_at and write_time(decision.undone_at),
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


def _gold(project: Project, counts: bundle.Counts, progress: Progress) -> Iterator[str]:
    return json_array(map(to_json, _entries(project, counts, progress)))


bundle.parts.append(bundle.Part("gold.json", _gold, NOTES))
