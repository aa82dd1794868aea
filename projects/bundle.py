"""The project bundle: everything of a project in one zip file.

``manifest.json`` says what is in it, with counts, and what was left out and why. Beside it there are one file for each resource
and dataset, in its download format, ``batches.json``: what somebody had done on many items at once, and ``annotations.json``:
every annotator's work on every item, and the suggestions there. Apps above add theirs.
"""

import json
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import IO, Any, NamedTuple

from django.db.models import Exists, F, OuterRef, Q, QuerySet, TextField, Value
from django.db.models.functions import Cast, Coalesce
from django.utils import timezone
from django.utils.text import slugify

from annotation_service.db import Written, snapshot
from annotation_service.json_input import json_array, to_json
from annotation_service.models import User
from annotation_service.words import plural
from datasets import exports
from datasets.cleaned import CleanedText
from datasets.importing.document import Progress, no_progress
from datasets.kinds import DatasetKind
from datasets.models import GIVEN, Annotation, Entity, Item, Layer, Mark, Relation, TextCorrection
from datasets.portions import by_tokens
from ontologies.documents import write_time
from ontologies.models import Ontology
from work.models import Answer, Batch, Comment, Flag

from .models import Project
from .progress import given_marks
from .violation_report import ViolationReport


class BundleFile(NamedTuple):
    """A file that an app above puts into bundles: ``content`` returns a document, or objects for a list, and adds to the
    counts of the manifest. It may not write."""

    name: str
    content: Callable[[Project, dict[str, int]], dict[str, Any] | Iterator[dict[str, Any]]]
    notes: Mapping[str, str] = {}


more_files: list[BundleFile] = []

PROJECT_FIELDS = (
    "name",
    "description",
    "task",
    "guidelines",
    "annotators_per_item",
    "overlap",
    "calibration",
    "history",
    "counted",
)

Key = tuple[int, int, int]  # the position and the key of an item, and the key of the person whose work it is about
_ABOUT = ("item__position", "item_id", "person_id")
_WORDS = ("author_id", "text", Written("written_at"), Written("edited_at"))


def file_name(project: Project) -> str:
    return f"{slugify(project.name) or 'project'}-{timezone.now():%Y-%m-%d}.zip"


def write(project: Project, target: IO[bytes], progress: Progress = no_progress) -> dict[str, Any]:
    """Write the bundle into a binary file and return its manifest. Everything is read in one snapshot."""
    with snapshot(), zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        dataset = project.dataset
        ontologies = {o.kind: o for o in project.ontology_set.all()}
        counts = {"items": dataset.items().count()}
        for kind, ontology in ontologies.items():
            _write_all(archive, f"{kind}_ontology.json", iter([ontology.as_json()]))
            counts[f"{kind}_labels"] = len(ontology.labels())
        for resource in project.resources():
            _write_all(archive, f"{resource.format}.json", resource.json_document())
            counts[resource.format] = resource.row_count
        _write_all(archive, "dataset.json", exports.json_document(dataset))
        if DatasetKind(dataset.kind).has_entities:
            counts |= given_marks(dataset)
        counts |= dict.fromkeys(("annotations", "annotations_done", "entities", "relations"), 0)
        counts |= dict.fromkeys(("suggested_entities", "suggested_relations", "flags", "comments", "open_comments"), 0)
        _write_all(archive, "batches.json", json_array(map(to_json, _batches(project, ontologies, counts))))
        annotations = _annotations(project, ontologies, counts, progress)
        _write_all(archive, "annotations.json", json_array(map(to_json, annotations)))
        for file in more_files:
            content = file.content(project, counts)
            is_list = not isinstance(content, dict)
            _write_all(archive, file.name, json_array(map(to_json, content)) if is_list else iter([to_json(content)]))
        manifest = _manifest(project, counts, archive.namelist())
        _write_all(archive, "manifest.json", iter([json.dumps(manifest, ensure_ascii=False, indent=2) + "\n"]))
    return manifest


def in_words(manifest: dict[str, Any]) -> str:
    counts = manifest["counts"]
    return (
        f"{plural(counts['items'], 'item,items')}, {plural(counts['annotations'], 'annotation,annotations')} with"
        f" {plural(counts['entities'], 'entity,entities')} and {plural(counts['relations'], 'relation,relations')}"
    )


def _write_all(archive: zipfile.ZipFile, name: str, chunks: Iterator[str]) -> None:
    entry = zipfile.ZipInfo(name, timezone.localtime().timetuple()[:6])  # by its name alone it would be of 1980
    entry.compress_type, entry._compresslevel = archive.compression, archive.compresslevel  # type: ignore[attr-defined]
    with archive.open(entry, "w", force_zip64=True) as target:
        while part := "".join(islice(chunks, 500)):
            target.write(part.encode())


def _manifest(project: Project, counts: dict[str, int], files: list[str]) -> dict[str, Any]:
    removed = Item.with_removed.filter(dataset__project=project).exclude(removed_at=None)
    left_out = []
    if count := removed.count():
        left_out.append({"what": "items", "count": count, "why": "They were removed from the dataset."})
    begun = Annotation.objects.filter(annotator__isnull=False, started_at__isnull=False)
    if count := begun.filter(item__in=removed).count():
        left_out.append({"what": "annotations", "count": count, "why": "Their items were removed from the dataset."})
    for what, said in (("flags", Flag), ("comments", Comment)):
        if count := said._default_manager.filter(item__in=removed).count():
            left_out.append({"what": what, "count": count, "why": "Their items were removed from the dataset."})
    if count := TextCorrection.objects.filter(item__dataset__project=project).count():
        why = "The items have their texts of now; those of before are in the service alone."
        left_out.append({"what": "corrections of texts", "count": count, "why": why})
    return {
        "format": "annotation service project bundle",
        "version": 2,
        "created_at": write_time(timezone.now()),
        "project": {
            **{name: getattr(project, name) for name in PROJECT_FIELDS},
            "created_at": write_time(project.created_at),
        },
        "members": [
            {"user": member.user.get_username(), "role": member.role}
            for member in project.membership_set.select_related("user").order_by("pk")
        ],
        "files": [*files, "manifest.json"],
        "counts": counts,
        "violations": _violations(project),
        "ignoring_case": [each.format for each in project.preannotation_sets() if each.ignore_case],
        "left_out": left_out,
        "notes": {
            "item_id": "the item's number in dataset.json, counted from 1",
            "start, end": "token indices counted from 0, both inclusive",
            "start_char, end_char": "code points into the item's original, end exclusive; null if a token does not occur in it",
            "text": "the item's original from start_char to end_char; without these the tokens",
            "tokens": "what annotators read and marked: the text, cut into tokens and, if its dataset was cleaned up, cleaned",
            "label": "full name in the ontology of this bundle",
            "started_at": "null where somebody has not begun an item, and a batch of theirs or the history has put marks on it",
            "origin": "where a mark comes from: the dataset (given), a person, a preannotation, a propagation, or a suggestion"
            " from what was marked before (history)",
            "annotators_per_item": "how many annotators each item is given to; null: everybody gets every item. Otherwise overlap"
            " is the percentage of items that go to everybody nevertheless; calibration is how many items at the beginning do",
            "history": "whose marks of before are suggested again: one's own, everybody's, or nobody's if it is empty",
            "counted": "whose marks annotators see counted by label: everybody's, or their own if it is empty",
            "batch": "the id of the batch that last made a mark or decided about it, in batches.json, even if the mark was"
            " changed by itself since; null where none did",
            "annotator": "null where an object holds what preannotations suggest on an item; what came with the dataset"
            " stands in dataset.json, an end of a suggested relation, too",
            "flags, comments": "what is said about the annotator's work on the item, by the annotator and by managers; started_at"
            " is null where there is nothing else. mark_id is the id of the mark that a comment is about, null for the whole"
            " item; the words of the mark stay when it is removed. A comment is open while resolved_at is null",
            "ignoring_case": "the preannotations whose forms occur in texts in any case",
            "suggested_entities, suggested_relations": "those where the annotator is null; entities and relations are the others",
            "violations": "how often marks break a constraint: those of the dataset, where the annotator is null, and accepted"
            " ones; position is that of the constraint in its file, counted from 0, and null where a relation has constraints,"
            " but none for its source",
            **{name: note for file in more_files for name, note in file.notes.items()},
        },
    }


def _violations(project: Project) -> list[dict[str, Any]]:
    """What breaks the constraints, counted per rule and annotator."""
    report, files = (
        ViolationReport(project, now=True),
        {each.pk: f"{each.format}.json" for each in project.constraint_sets()},
    )
    return [
        {
            "rule": rule.kind,
            "file": files[rule.set],
            "position": rule.position,
            "label": report.fullnames[rule.relation] if rule.relation else None,
            "annotator": report.people[person] if person else None,
            "count": count,
        }
        for rule, people in report.by_rule().items()
        for person, count in people.items()
    ]


def _annotations(
    project: Project, ontologies: dict[str, Ontology], counts: dict[str, int], progress: Progress
) -> Iterator[dict[str, Any]]:
    """The entries of ``annotations.json``, on each item the suggestions first; counts what goes into it."""
    names = {label.pk: label.fullname for o in ontologies.values() for label in o.labels()}
    people = dict(User.objects.values_list("pk", "username"))
    items_of_project, number = project.all_items(), 0
    ours = Annotation.objects.filter(
        Q(layer=Layer.OWN) | Q(layer=Layer.GIVEN) & (_suggested(Entity) | _suggested(Relation)),
        item__dataset=project.dataset,
        item__removed_at=None,
    ).order_by("item__position", F("annotator").asc(nulls_first=True))
    for positions in by_tokens(items_of_project):
        progress(number, counts["items"], "writing")
        numbers = {position: number + place for place, position in enumerate(positions, start=1)}
        number += len(positions)
        places = positions[0], positions[-1]
        annotations = ours.filter(item__position__range=places)
        items = items_of_project.filter(position__range=places)
        said, external_ids = _said_about(items, people), dict(items.values_list("pk", "external_id"))
        texts = _texts(annotations)
        entities = _marks(Entity, annotations, names, {"start": "start", "end": "end"})
        relations = _marks(Relation, annotations, names, {"source_id": "source__uid", "target_id": "target__uid"})
        rows = annotations.values_list(
            "item__position", "item_id", "annotator_id", "pk", Written("started_at"), Written("done_at")
        )
        begun = {row[:3]: row[3:] for row in rows}
        for key in sorted(begun.keys() | said.keys(), key=lambda key: (key[0], key[2] or 0)):
            position, item, annotator = key
            pk, started_at, done_at = begun.get(key, (None, None, None))
            annotation = {
                "item_id": numbers[position],
                "external_id": external_ids[item] or None,
                "annotator": people.get(annotator),
                "started_at": started_at,
                "done_at": done_at,
                "entities": [texts[item].with_place(entity) for entity in entities.get(pk, ())],
                "relations": relations.get(pk, []),
                **said.get(key, {"flags": [], "comments": []}),
            }
            made = "" if annotator else "suggested_"
            counts["annotations"] += started_at is not None and annotator is not None
            counts["annotations_done"] += done_at is not None
            counts[f"{made}entities"] += len(annotation["entities"])
            counts[f"{made}relations"] += len(annotation["relations"])
            counts["flags"] += len(annotation["flags"])
            counts["comments"] += len(annotation["comments"])
            counts["open_comments"] += sum(comment["resolved_at"] is None for comment in annotation["comments"])
            yield annotation


def _batches(project: Project, ontologies: dict[str, Ontology], counts: dict[str, int]) -> Iterator[dict[str, Any]]:
    """What people had done on many items at once. The label is null if it was deleted since."""
    names = {(kind, label.uid): label.fullname for kind, o in ontologies.items() for label in o.labels()}
    counts["batches"] = 0
    for batch in Batch.objects.filter(dataset__project=project).select_related("person").order_by("pk"):
        counts["batches"] += 1
        yield {
            "id": batch.pk,
            "annotator": batch.person.get_username(),
            **{name: getattr(batch, name) for name in ("verb", "kind", "words", "made", "left_out", "kept")},
            "label": names.get((batch.kind, batch.label)),
            "created_at": write_time(batch.created_at),
            "undone_at": batch.undone_at and write_time(batch.undone_at),
        }


def _suggested(model: type[Mark]) -> Exists:
    """Whether an annotation has marks that preannotations suggest."""
    return Exists(model._default_manager.filter(annotation=OuterRef("pk"), origin=Mark.Origin.PREANNOTATION))


def _texts(annotations: QuerySet[Annotation]) -> "dict[int, _Text]":
    tokens, offsets = (
        Cast("tokens", TextField()),
        Coalesce(Cast("offsets", TextField()), Value("null"), output_field=TextField()),
    )
    items = Item.objects.filter(annotation__in=annotations.order_by()).distinct().order_by("pk")
    rows = items.values_list("pk", "original", tokens, offsets)
    # Parsed at once, and without a list for each token: a bundle of 10,000 items is there in 0.5 instead of 0.65 s.
    lists = iter(json.loads(f"[{','.join(f'{row[-2]},{_flat(row[-1])}' for row in rows)}]"))
    return {pk: _Text(original, next(lists), next(lists)) for pk, original, *_ in rows}


def _flat(offsets: str) -> str:
    """The JSON of offsets without the inner brackets."""
    return "null" if offsets == "null" else f"[{offsets.replace('[', '').replace(']', '')}]"


class _Text:
    """An item's text, to find the places of its marks in; ``ends`` are where each token starts and ends, one after the other.
    ``text`` of a mark is what the item came with, ``tokens`` what was marked; where a token is not in the original, all there is
    are the tokens."""

    def __init__(self, original: str, tokens: list[str], ends: list[int] | None) -> None:
        self.original, self.tokens, self.ends = original, tokens, ends

    def with_place(self, entity: dict[str, Any]) -> dict[str, Any]:
        first, last = entity["start"], entity["end"]
        if self.ends is None:
            start = end = None
            text = CleanedText.of(self.original, self.tokens, None).between(first, last)
        else:
            start, end = self.ends[2 * first], self.ends[2 * last + 1]
            text = self.original[start:end]
        chars = {"start_char": start, "end_char": end, "text": text, "tokens": self.tokens[first : last + 1]}
        return {"id": entity["id"], "start": first, "end": last, **chars, **entity}


def _marks(
    model: type[Mark], annotations: QuerySet[Annotation], names: dict[int, str], place: dict[str, str]
) -> dict[int, list[dict[str, Any]]]:
    """The marks of each annotation; ``place`` are their fields beside those that all marks have.

    They are read as plain values: model instances with their dates and JSON would take three times as long.
    """
    times = {name: Written(name) for name in ("created_at", "updated_at")}
    fields: dict[str, Any] = {"id": "uid", **place, "label": "label_id", "status": "status", **times}
    fields |= {"origin": "origin", "batch": "batch_id"}
    groups: dict[int, list[dict[str, Any]]] = {}
    rows = model._default_manager.filter(~GIVEN, annotation__in=annotations.order_by()).order_by("pk")
    for annotation, *values in rows.values_list("annotation_id", *fields.values()):
        mark = dict(zip(fields, values, strict=True))
        mark["label"] = names[mark["label"]]
        groups.setdefault(annotation, []).append(mark)
    return groups


def _said_about(items: QuerySet[Item], people: Mapping[int, str]) -> dict[Key, dict[str, list[dict[str, Any]]]]:
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
        answers[comment].append(_written_words(words, people))
    comments = Comment.objects.filter(item__in=keys).order_by("pk")
    fields = ("pk", "kind", "uid", "words", Written("resolved_at"), "resolved_by_id")
    for *row, pk, kind, uid, shown, resolved_at, resolver in comments.values_list(*_ABOUT, *_WORDS, *fields):
        comment = {
            "about": kind or "item",
            "mark_id": uid or None,
            "words": shown or None,
            **_written_words(row[len(_ABOUT) :], people),
            "resolved_at": resolved_at,
            "resolved_by": people.get(resolver),
            "answers": answers[pk],
        }
        said[tuple(row[: len(_ABOUT)])]["comments"].append(comment)
    return dict(said)


def _written_words(values: Sequence[Any], people: Mapping[int, str]) -> dict[str, Any]:
    author, text, written_at, edited_at = values
    return {"author": people[author], "text": text, "written_at": written_at, "edited_at": edited_at}
