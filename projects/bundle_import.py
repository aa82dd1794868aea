"""A bundle becomes a project: all of it is read and checked first, then stored in one transaction.

Its files are read once, from the first item to the last, and little of them is in memory. Whoever made something is an account
that the importer has matched, or becomes a named author: a user without an account, who can never sign in.
"""

import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from heapq import merge
from io import SEEK_END
from itertools import count, zip_longest
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.db.models import DateTimeField, Model
from django.utils import timezone

from annotation_service import words
from annotation_service.accounts import sure_addresses
from annotation_service.db import store, write
from annotation_service.inputs import Refused, blocks, check_size, clean_description, clean_title, decode
from annotation_service.json_input import parse_json
from annotation_service.json_input.lists import Element, Elements
from annotation_service.models import Job, User, fold
from annotation_service.schemas import Checker, load
from datasets.cleaned import key_of
from datasets.importing.document import Progress, no_progress
from datasets.importing.items import ItemBuilder
from datasets.kinds import DatasetKind
from datasets.models import MARKS, Annotation, Dataset, Entity, Item, Layer, Mark, Rejection, Relation
from datasets.models.item import folded
from datasets.models.marks import relabel
from ontologies.documents import NewLabel, read_ontology, read_time
from ontologies.models import Ontology, OntologyItem
from resources.documents import read as read_rows
from resources.models import FORMATS, PreannotationSet
from resources.spans import TokenSpan, crowded, crowded_token
from work.models import Answer, Batch, Comment, Flag, Source

from . import roles
from .assignment.rule import NUMBERS, AssignmentRule
from .bundle import FORMAT, PROJECT_FIELDS, VERSION, ProjectReading, Reading, parts
from .bundle_rows import BundleRows
from .models import Assignment, FormerMember, Invitation, ItemCounts, Membership, Project, Withheld, clean_guidelines

SCHEMA = Path(__file__).parent / "schemas" / "bundle.json"
OWN_FILES = ("manifest", "dataset", "items", "batches", "annotations", "entity_ontology", "relation_ontology", *FORMATS)
MOST_NAME = 250  # folded
MOST_FILES, TAIL_BYTES = 50, 140_000
MOST_UNPACKED = 20  # times the limit of a file
MOST_LONGER = 4  # times a limit of what comes in: things have more fields here
# Labels, people and the like have numbers from here until they are stored. Some stand in texts, where keys take their places one
# after the other: so none is like a key.
FIRST = 10**12
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)
_LABEL = re.compile(r"(-\d+)?:([0-9a-f]{8})")  # of an entity behind its tokens, else of a relation


@contextmanager
def within(place: str) -> Iterator[None]:
    """Name a file, or an entry of one, in what is refused of it."""
    try:
        yield
    except Refused as error:
        problems = [replace(each, place=", ".join(filter(None, (place, each.place)))) for each in error.problems]
        raise Refused(problems, error.total, at_least=error.at_least) from error
    except _DAMAGED as error:
        raise Refused("This is damaged, or is something else.", place=place) from error


@cache
def _checker(schema: Path, definition: str) -> Checker:
    return Checker({"$ref": f"#/$defs/{definition}", "$defs": load(SCHEMA)["$defs"] | load(schema)["$defs"]})


def check(value: Any, definition: str, schema: Path = SCHEMA) -> Any:
    for path, text in _checker(schema, definition).problems(value):
        raise Refused(text, place=path)
    return value


@cache
def _columns(model: type[Model]) -> list[tuple[str, bool, bool]]:
    """The names of its fields, and whether they are times or people."""
    fields = model._meta.concrete_fields
    return [(each.name, isinstance(each, DateTimeField), each.related_model is User) for each in fields]


def once(said: set[Any], *what: Any) -> None:
    """Refuse what was said before."""
    if what in said:
        raise Refused("This stands here twice: a mark, its id, or an entry about the same.")
    said.add(what)


# --- Reading -----------------------------------------------------------------------------------------------------------


@dataclass
class ReadMarks:
    """Those of an annotation that is being read: the numbers of its entities by their ids, and what all of them say."""

    annotation: int
    entities: dict[str, int] = field(default_factory=dict)
    said: set[Any] = field(default_factory=set)


@dataclass
class ReadItem:
    """An item that is being read, by the number of its row."""

    number: int
    tokens: list[str]
    given: ReadMarks | None = None
    said: set[Any] = field(default_factory=set)


class BundleReader:
    """What is in a bundle. Raises `Refused` with the file and the entry of what is wrong."""

    def __init__(self, file: IO[bytes]) -> None:
        with within(""):
            self.archive = _opened(file)
        with within("manifest.json"):
            self.manifest = self._read_manifest()
        self.resources: dict[str, Any] = self.manifest["resources"]
        self.people = {name: number for number, name in enumerate(self.manifest["people"], start=FIRST)}
        self.members = {member["user"] for member in self.manifest["members"]}
        others = [(part.name, part.reading) for part in parts if isinstance(part.reading, Reading)]
        self.readings = [("annotations.json", ANNOTATIONS), *others]
        models = [model for _, reading in self.readings for model in reading.models]
        own = (Membership, FormerMember, Item, Assignment, Withheld, Batch, Source)
        self.rows = BundleRows(dict.fromkeys((*own, *models)))
        self.ontologies: dict[str, list[NewLabel]] = {}
        self.labels: dict[tuple[str, str], int] = {}  # by the kind with the full name, and with the id
        self.batches: dict[int | None, int | None] = {None: None}
        self.sources: dict[str | None, int | None] = {None: None}
        self.items = self.tokens = 0
        self.storing: list[Callable[[Project], None]] = []  # what is not about items

    def _read_manifest(self) -> Any:
        manifest = parse_json(self.text("manifest.json", settings.MAX_ONTOLOGY_BYTES))
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise Refused("This is not the manifest of a bundle of this service.")
        if (version := manifest.get("version")) != VERSION:
            text = f"This bundle has the version {version}; a project is made of version {VERSION}. Download it anew."
            raise Refused(text, place="$.version")
        check(manifest, "manifest")
        for names in (manifest["people"], [each["user"] for each in manifest["members"] + manifest["former_members"]]):
            if (
                len({fold(name) for name in names}) < len(names)
                or max(map(len, map(fold, names)), default=0) > MOST_NAME
            ):
                raise Refused("Somebody stands in it twice, or has a name that is too long.", place="$.people")
        return manifest

    def file(self, name: str) -> IO[bytes]:
        if name not in self.archive.namelist():
            raise Refused("This file is missing.")
        return self.archive.open(name)

    def text(self, name: str, limit: int) -> str:
        with self.file(name) as file:
            check_size(self.archive.getinfo(name).file_size, limit)
            return decode(file.read())

    # --- What entries name ---

    def person(self, name: str | None) -> int | None:
        if name is not None and name not in self.people:
            raise Refused(f"“{words.cut(name, 60)}” is not among the people of the manifest.")
        return None if name is None else self.people[name]

    def label(self, kind: str, name: str) -> int:
        if (kind, name) not in self.labels:
            raise Refused(f"“{words.cut(name, 200)}” is not a label of {kind}_ontology.json.")
        return self.labels[kind, name]

    def add(self, model: type[Model], entry: Mapping[str, Any], **more: Any) -> int:
        """A row of what an entry says of fields of the model, and of more; returns its number."""
        for name, is_time, is_person in _columns(model):
            if name in entry and name not in more:
                value = entry[name]
                more[name] = value and read_time(value) if is_time else self.person(value) if is_person else value
        return self.rows.add(model, more)

    # --- The files ---

    def read(self, matched: Mapping[str, User], manager: User, progress: Progress) -> None:
        with within("manifest.json"):
            self._read_members(matched, manager)
            self._read_sources()
        for kind in MARKS:
            if f"{kind}_ontology" in self.resources:
                with within(f"{kind}_ontology.json"):
                    self._read_labels(kind)
        for entry in self._entries("batches.json", "batch"):
            with within(entry.name):
                self._read_batch(entry.value)
        self._read_items(progress)
        for part in parts:
            if isinstance(part.reading, ProjectReading) and part.name in self.archive.namelist():
                entries = self._entries(part.name, part.reading.definition, part.reading.schema)
                self.storing.append(part.reading.read(self, entries))
        self.rows.write()

    def _read_members(self, matched: Mapping[str, User], manager: User) -> None:
        """Whoever is invited finds what was theirs in the project again when they accept."""
        for member in self.manifest["members"]:
            account, role = matched.get(member["user"]), roles.clean_role(member["role"])
            if account in (None, manager):
                self.add(Membership, member, project=FIRST, role=roles.MANAGER if account else role)
            else:
                self.add(FormerMember, member, project=FIRST, left_at=timezone.now())
        for member in self.manifest["former_members"]:
            if matched.get(member["user"]) != manager:
                self.add(FormerMember, member, project=FIRST)

    def _read_labels(self, kind: str) -> None:
        text, above = self.text(f"{kind}_ontology.json", MOST_LONGER * settings.MAX_ONTOLOGY_BYTES), list[str]()
        off_by = self.resources[f"{kind}_ontology"]["off_by"]
        first = FIRST + sum(map(len, self.ontologies.values()))
        self.ontologies[kind] = read_ontology(text, kind)
        for number, new in enumerate(self.ontologies[kind], start=first):
            above[new.level - 1 :] = [new.name]
            self.labels[kind, "/".join(above)] = self.labels[kind, f"#{new.uid}"] = number
            new.off_by = "" if new.active else off_by.get(new.uid, "")

    def _read_sources(self) -> None:
        for entry in self.manifest.get("sources", ()):
            name = clean_title(entry["name"])
            if name in self.sources or (name in Source.NAMES.values()) != (name == Source.NAMES.get(entry["kind"])):
                raise Refused("A source of suggestions has a name that it cannot have.", place="$.sources")
            self.sources[name] = self.add(Source, entry, dataset=FIRST)

    def _read_batch(self, entry: dict[str, Any]) -> None:
        if entry["id"] in self.batches:
            raise Refused("Two batches have the same id.")
        more = {"person": self.person(entry["annotator"]), "label": entry["label_id"], "dataset": FIRST}
        self.batches[entry["id"]] = self.add(Batch, entry, search_text=folded(entry["words"]), **more)

    def _entries(self, name: str, definition: str = "", schema: Path = SCHEMA) -> Iterator[Element]:
        """Those of a list, each with the name of its place."""
        with within(name), self.file(name) as file:
            for element in Elements(blocks(file), MOST_LONGER * settings.MAX_ITEM_JSON_CHARACTERS):
                if element.refused:
                    raise element.refused
                with within(f"entry {element.number}"):
                    value = check(element.value, definition, schema) if definition else element.value
                yield element._replace(value=value, name=f"{name}, entry {element.number}")

    def _read_items(self, progress: Progress) -> None:
        """All files about items go hand in hand: of each item first the item itself."""
        pairs = zip_longest(self._entries("dataset.json"), self._entries("items.json", "item"))
        streams: list[Iterable[Any]] = [((number, 0, pair) for number, pair in enumerate(pairs, start=1))]
        for order, (name, reading) in enumerate(self.readings, start=1):
            streams.append(_numbered(order, self._entries(name, reading.definition, reading.schema)))
        builder, position, ids, item = ItemBuilder(DatasetKind.RICH, {}), -1, set[Any](), ReadItem(0, [])
        for number, order, found in merge(*streams, key=itemgetter(0, 1)):
            if order:
                with within(found.name):
                    if number != self.items:
                        raise Refused("There is no such item, or these entries are not in the order of the items.")
                    self.readings[order - 1][1].read(self, item, found.value)
                continue
            text, entry = found
            if not text or not entry or number > settings.MAX_DATASET_ITEMS:
                raise Refused("There are too many items, or not as many as in items.json.", place="dataset.json")
            with within(text.name):
                if entry.value["position"] <= position:
                    raise Refused("The positions of the items in items.json do not go up.")
                position, item = entry.value["position"], self._read_item(builder, text, entry.value, ids)
                self._read_given(item, text.value, entry.value)
            self.items, self.tokens = number, self.tokens + len(item.tokens)
            if number % 500 == 0:
                progress(number, self.manifest["counts"]["items"], "reading")

    def _read_item(self, builder: ItemBuilder, text: Element, entry: dict[str, Any], ids: set[Any]) -> ReadItem:
        value = check(text.value, "given_marks")
        bare = {name: value[name] for name in value if name not in ("entities", "relations")}
        new, flaws = builder.build(bare, "", text.length)
        for path, why in flaws:
            raise Refused(why, place=path)
        assert new
        offsets = entry["offsets"] and [list(map(int, pair)) for pair in entry["offsets"]]  # 1.0 is an integer, too
        places = [0, *(end for pair in offsets or () for end in pair), len(new.original)]
        if sorted(places) != places or (offsets is not None and len(offsets) != len(new.tokens)):
            raise Refused("The places in items.json are not those of its tokens.")
        if new.external_id:
            once(ids, new.external_id)
        cleaned = new._replace(found=offsets).cleaned(" ".join(new.tokens))
        told = {name: getattr(new, name) for name in ("original", "tokens", "external_id", "extra_fields")}
        more = {"token_count": len(new.tokens), "search_text": cleaned.casefold(), "dataset": FIRST, "offsets": offsets}
        return ReadItem(self.add(Item, entry | told, **more), new.tokens)

    def _read_given(self, item: ReadItem, value: dict[str, Any], entry: dict[str, Any]) -> None:
        """The marks that an item came with, and to whom it is given."""
        for name, model in (("given_to", Assignment), ("taken_from", Withheld)):
            for pair in {each["annotator"]: each for each in entry[name]}.values():
                self.add(model, pair, item=item.number)
        given = entry["given"] or {"entities": [], "relations": []}
        marks = {name: value.get(name) or [] for name in ("entities", "relations")}
        if any(len(marks[name]) != len(given[name]) for name in marks):
            raise Refused("There is not an entry in items.json for each mark that came with the item.")
        if not entry["given"]:
            return
        item.given = ReadMarks(self.add(Annotation, given, item=item.number, layer=Layer.GIVEN))
        at = given["started_at"] or self.manifest["project"]["created_at"]
        came = {"origin": "given", "batch": None, "created_at": at, "updated_at": at}
        both = ([mark | came | told for mark, told in zip(marks[name], given[name], strict=True)] for name in marks)
        self.read_marks(item, item.given, *both)

    def read_marks(self, item: ReadItem, marks: ReadMarks, entities: list[Any], relations: list[Any]) -> None:
        spans = [TokenSpan(int(each["start"]), int(each["end"])) for each in entities]
        for each, span in zip(entities, spans, strict=True):
            if not span.start <= span.end < len(item.tokens):
                tokens = words.plural(len(item.tokens), "token,tokens")
                raise Refused(f"The item has {tokens}; {span.start} to {span.end} is not a span of them.")
            place = {"words_key": key_of(item.tokens[span.start : span.end + 1])}
            marks.entities[each["id"]] = self._add_mark(Entity, marks, each, span, place)
        shown = [span for each, span in zip(entities, spans, strict=True) if each["status"] != Mark.Status.REJECTED]
        if crowded_token(shown) is not None:
            raise Refused(crowded())
        for each in relations:
            ends = {name: marks.entities.get(each[f"{name}_id"]) for name in ("source", "target")}
            if None in ends.values() or ends["source"] == ends["target"]:
                raise Refused("A relation does not connect two marks of its item.")
            self._add_mark(Relation, marks, each, (*ends.values(),), ends)

    def _add_mark(
        self, model: type[Entity | Relation], marks: ReadMarks, entry: dict[str, Any], said: Any, place: dict[str, Any]
    ) -> int:
        if entry["batch"] not in self.batches:
            raise Refused(f"There is no batch with the id {entry['batch']}.")
        if (source := entry.get("suggested_by")) not in self.sources:
            raise Refused(f"“{words.cut(str(source), 60)}” is not among the sources of the manifest.")
        label = self.label(model.kind, entry["label"])
        once(marks.said, model, said, label)
        once(marks.said, model, entry["id"])
        about = {"annotation": marks.annotation, "label": label, "batch": self.batches[entry["batch"]]}
        about["suggested_by"] = self.sources[source]
        return self.add(model, entry, uid=entry["id"], **about, **place)

    def read_annotation(self, item: ReadItem, entry: dict[str, Any]) -> None:
        """An entry of ``annotations.json``."""
        annotator, is_said = self.person(entry["annotator"]), bool(entry["flags"] or entry["comments"])
        if annotator is None and (is_said or not item.given):
            raise Refused("This is about nobody.")
        once(item.said, "annotator", annotator)
        marks = item.given if annotator is None else None
        if annotator and (not is_said or any(entry[name] for name in ("started_at", "entities", "rejected"))):
            marks = ReadMarks(self.add(Annotation, entry, item=item.number, revision=2))  # above that of the given one
        if marks:
            self.read_marks(item, marks, entry["entities"], entry["relations"])
            for what in entry["rejected"]:
                self.add(Rejection, {}, annotation=marks.annotation, what=_LABEL.sub(self._number_of, what))
        for flag in {each["kind"]: each for each in entry["flags"]}.values():
            self.add(Flag, flag, item=item.number, person=annotator)
        for comment in entry["comments"]:
            self._read_comment(comment, item=item.number, person=annotator)

    def _number_of(self, found: re.Match[str]) -> str:
        return f"{found[1] or ''}:{self.label('entity' if found[1] else 'relation', f'#{found[2]}')}"

    def _read_comment(self, entry: dict[str, Any], **about: Any) -> None:
        last = [entry, *entry["answers"]][-1]
        about |= {"last_by": self.person(last["author"]), "last_at": read_time(last["written_at"])}
        about |= {"kind": "" if entry["about"] == "item" else entry["about"], "uid": entry["mark_id"] or ""}
        number = self.add(Comment, entry, words=entry["words"] or "", **about)
        for answer in entry["answers"]:
            self.add(Answer, answer, comment=number)


def _numbered(order: int, entries: Iterable[Element]) -> Iterator[tuple[int, int, Element]]:
    return ((entry.value["item_id"], order, entry) for entry in entries)


MODELS = (Annotation, Entity, Relation, Rejection, Flag, Comment, Answer)
ANNOTATIONS = Reading(SCHEMA, "annotation", MODELS, BundleReader.read_annotation)


def _opened(file: IO[bytes]) -> zipfile.ZipFile:
    """What is to be known of it before anything is unpacked."""
    file.seek(max(0, file.seek(0, SEEK_END) - TAIL_BYTES))
    if file.read().count(b"PK\1\2") > MOST_FILES:  # the list of them, which would be read as a whole, is at the end
        raise Refused("This archive has more files than a bundle.")
    archive, known = zipfile.ZipFile(file), {f"{name}.json" for name in OWN_FILES} | {part.name for part in parts}
    for name in archive.namelist():
        if name not in known:
            raise Refused(f"“{words.cut(name, 60)}” does not belong into a bundle, or is there twice.")
        known.remove(name)
    check_size(sum(each.file_size for each in archive.infolist()), MOST_UNPACKED * settings.MAX_FILE_BYTES)
    return archive


# --- Storing -----------------------------------------------------------------------------------------------------------


def import_bundle(
    file: IO[bytes],
    *,
    manager: User,
    people: Mapping[str, User] | None = None,
    progress: Progress = no_progress,
    job: Job | None = None,
) -> Project:
    """The new project of a manager. ``people`` are the accounts of some who are named in the bundle: of the manager, and of
    members. What they did becomes theirs, and they are invited. All others become named authors."""
    reader, matched = BundleReader(file), people or {}
    names = {name for name, account in matched.items() if account != manager}
    if len(set(matched.values())) < len(matched) or matched.keys() - reader.people.keys() or names - reader.members:
        raise Refused(
            "Members of the project in the bundle are matched, each with another account; here is somebody else."
        )
    with reader.rows.waiting():
        reader.read(matched, manager, progress)
        progress(reader.items, reader.items, "saving")
        with write():
            project = _store(reader, manager, matched)
            if job:
                job.finish(url=project.get_absolute_url(), text=f"The project “{project}” is ready.")
    return project


def _store(reader: BundleReader, manager: User, matched: Mapping[str, User]) -> Project:
    project = _new_project(reader.manifest["project"], manager)
    own = {"owner": manager, "project": project}
    ontologies = {
        kind: Ontology.objects.create(kind=kind, **own, **_described(reader.resources[f"{kind}_ontology"]))
        for kind in reader.ontologies
    }
    for kind, ontology in ontologies.items():
        ontology.tree.create(reader.ontologies[kind])
    for format in FORMATS:
        if format in reader.resources:
            with within(f"{format}.json"):
                _store_set(reader, format, ontologies, own)
    dataset = _new_dataset(reader, ontologies, own)
    keys = [pk for each in ontologies.values() for pk in each.items().values_list("pk", flat=True)]
    labels = dict(zip(count(FIRST), keys, strict=False))
    authors = _authors(project, [name for name in reader.people if name not in matched])
    users = {number: (matched.get(name) or authors[name]).pk for name, number in reader.people.items()}
    reader.rows.store({OntologyItem: labels, User: users, Dataset: {FIRST: dataset.pk}, Project: {FIRST: project.pk}})
    for _, reading in reader.readings:
        for model in reading.models:
            if "what" in {field.name for field in model._meta.concrete_fields}:
                relabel(model._default_manager.filter(annotation__item__dataset=dataset), labels)
        if reading.stored:
            reading.stored(dataset, users)
    for store_more in reader.storing:
        store_more(project)
    Membership.objects.get_or_create(project=project, user=manager, defaults={"role": roles.MANAGER})
    for member in reader.manifest["members"]:
        if (account := matched.get(member["user"], manager)) != manager:
            _invite(project, account, member["role"], manager)
    if archived_at := reader.manifest["project"]["archived_at"]:
        store(project, archived_at=read_time(archived_at))
    return project


def _described(said: dict[str, Any]) -> dict[str, Any]:
    about = {"name": clean_title(said["name"]), "description": clean_description(said["description"])}
    return {**about, "created_at": read_time(said["created_at"])}


def _new_project(said: dict[str, Any], manager: User) -> Project:
    with within("manifest.json, $.project"):
        AssignmentRule(**{name: said[name] for name in NUMBERS}).check()
        words_of = {**_described(said), "guidelines": clean_guidelines(said["guidelines"])}
    project = Project.objects.create(created_by=manager, **{name: said[name] for name in PROJECT_FIELDS} | words_of)
    ItemCounts.objects.create(project=project)
    return project


def _store_set(reader: BundleReader, format: str, ontologies: Mapping[str, Ontology], own: dict[str, Any]) -> None:
    (model, kind), said, more = FORMATS[format], reader.resources[format], dict[str, Any]()
    rows = model.row_models[kind]
    if issubclass(model, PreannotationSet):
        matched = {"matched_version": 0 if said["is_matched"] else None}
        more = {"ignore_case": format in reader.manifest["ignoring_case"], **matched}
    theirs = {of: ontologies[of] for of in MARKS if of in ontologies and (of == "entity" or rows.relation_field)}
    names = {of: ontology.label_names() for of, ontology in theirs.items()}
    text = reader.text(f"{format}.json", MOST_LONGER * settings.MAX_RESOURCE_BYTES)
    if rows.marks not in names:
        raise Refused(f"There is no {rows.marks} ontology.")
    read, _ = read_rows(text, format, names, rows.from_entry, keep_inactive=True)
    more |= {f"{of}_ontology": ontology for of, ontology in theirs.items()}
    rows.store(model._default_manager.create(kind=kind, **own, **more, **_described(said)), read)


def _new_dataset(reader: BundleReader, ontologies: Mapping[str, Ontology], own: dict[str, Any]) -> Dataset:
    said, kind = reader.resources["dataset"], DatasetKind(reader.resources["dataset"]["kind"])
    if missing := set(kind.label_kinds) - ontologies.keys():
        raise Refused(f"There is no {missing.pop()} ontology for its marks.", place="dataset.json")
    its = {f"{of}_ontology": ontologies[of] for of in kind.label_kinds}
    its |= {name: said[name] for name in ("kind", "preprocessing", "given_status")}
    return Dataset.objects.create(item_count=reader.items, token_count=reader.tokens, **own, **its, **_described(said))


def _authors(project: Project, names: Sequence[str]) -> dict[str, User]:
    """A named author for each. The name of an account has no spaces: nobody can have that of an author."""
    rest = {"is_active": False, "password": make_password(None)}
    where = f"(imported, project {project.pk})"
    called = [name if len(name) <= 100 else f"{name[:90]}… {number}" for number, name in enumerate(names)]
    authors = (User(username=f"{n} {where}", imported_as=name, **rest) for n, name in zip(called, names, strict=True))
    return {author.imported_as: author for author in User.objects.bulk_create(authors)}


def _invite(project: Project, account: User, role: str, manager: User) -> None:
    addresses = sure_addresses(account)
    if not addresses:
        raise Refused(f"“{account}” has no mail address that is known to be theirs, so nobody can invite them.")
    address = account.email if account.email.lower() in addresses else min(addresses)
    Invitation.make(project, role=role, by=manager, address=address)
