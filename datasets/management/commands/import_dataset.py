import os
from argparse import ArgumentTypeError
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.core.files import File
from django.core.management.base import CommandParser

from annotation_service import access, jobs
from annotation_service.file_formats import Beginning
from annotation_service.inputs import ENCODINGS, Refused, check_text, clean_title
from annotation_service.management.base import ServiceCommand, add_owner, blueprint, errors_of, progress_bar, user
from annotation_service.models import User
from datasets.formats import detect, format_named, kind_of, readable
from datasets.formats.own import TEXT
from datasets.importing.options import DECISIONS, REFUSE
from datasets.kinds import DatasetKind
from datasets.models import Dataset, Upload
from datasets.preprocessing import OPERATIONS
from resources.models import ConstraintSet

_CLEAN_UP = [name for name in OPERATIONS if name != "tokeniser"]
_OF_A_NEW_ONE = ["name", "entity_ontology", "relation_ontology", *_CLEAN_UP]
_DECISIONS = {name: decision for name, decision in DECISIONS.items() if decision.what}
_AS_GIVEN = ("entity_ontology", "relation_ontology", *_DECISIONS)


class Command(ServiceCommand):
    help = (
        "Create a dataset blueprint from a file, or add the file's items to a dataset. Prints its id as the last line."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        target = parser.add_mutually_exclusive_group()
        target.add_argument(
            "--kind", choices=DatasetKind.values, help="the kind of the new dataset (default: as the file)"
        )
        target.add_argument("--into", type=int, metavar="DATASET", help="id of the dataset to add to instead")
        parser.add_argument("--name", help="the name of the new dataset; by default the file's")
        add_owner(parser)
        parser.add_argument(
            "--format",
            choices=["auto", *(format.name for format in readable())],
            default="auto",
            help="by default what the file looks like; “manage.py formats” lists them",
        )
        parser.add_argument(
            "--encoding", choices=[name for name in ENCODINGS if name], default="", help="if not Unicode"
        )
        parser.add_argument(
            "--setting",
            action="append",
            default=[],
            type=_setting,
            metavar="NAME=VALUE",
            help="what else can be chosen about the format, as its page offers it; may be given many times",
        )
        parser.add_argument("--entity-ontology", type=int, metavar="ID")
        parser.add_argument("--relation-ontology", type=int, metavar="ID")
        parser.add_argument(
            "--make-ontologies", action="store_true", help="make new ontologies of the labels that occur in the file"
        )
        parser.add_argument(
            "--constraints",
            type=int,
            action="append",
            default=[],
            metavar="ID",
            help="a constraint set that the marks are checked against; may be given twice, for entities and for relations",
        )
        parser.add_argument(
            "--whose",
            default="",
            help="in a project: the marks come as “accepted” or “suggested” ones, or become those of a member, @USER",
        )
        for name, each in _DECISIONS.items():
            what = f"what to do about {each.what}{each.which} (default: %(default)s)"
            parser.add_argument(f"--{name}", choices=each.values, default=each.default, help=what)
        for name, operation in sorted(OPERATIONS.items()):
            parser.add_argument(f"--{name.replace('_', '-')}", **operation.option)

    def run(self, **options: Any) -> None:
        path, owner = options["file"], user(options["owner"])
        dataset = None if options["into"] is None else _dataset(options["into"], by=owner)
        with errors_of(path):
            wanted = _upload_options(options, dataset)
        kind = DatasetKind(wanted["kind"])
        _check(options, kind)
        wanted |= _constraints(options["constraints"], kind, dataset)
        with errors_of(path):
            with path.open("rb") as file:
                upload = Upload.begin(File(file, _shown_name(path)), by=owner, options=wanted, dataset=dataset)
            made = []
            try:
                if options["make_ontologies"]:
                    made = upload.make_ontologies()
                with progress_bar(self.stderr) as progress:
                    dataset = upload.store(progress)
            except BaseException as error:
                if isinstance(error, Refused):
                    self.advice = [*_advice(upload, options)]
                upload.discard()
                for ontology in made:
                    ontology.erase()
                raise
        if dataset.project_id:
            jobs.finish(target__project=dataset.project_id)  # what the new items started
        self.stdout.write(f"“{dataset}”: {upload.found.in_words()}.")
        self.stdout.write(str(dataset.pk))


def _advice(upload: Upload, options: dict[str, Any]) -> Iterator[str]:
    upload.refresh_from_db()
    for name, count in upload.found.doubtful().items():
        if count and options[name] == REFUSE:
            yield f"To take {_DECISIONS[name].what} as they are, add --{name} keep."


def _dataset(pk: int, by: User) -> Dataset:
    dataset = Dataset.objects.select_related("project").filter(pk=pk).first()
    if dataset is None:
        raise Refused(f"There is no dataset {pk}.")
    if not access.can_edit(by, dataset):
        raise Refused(f"“{by}” may not add items to “{dataset}”.")
    return dataset


def _check(options: dict[str, Any], kind: DatasetKind) -> None:
    """Refuse what would have no effect."""
    if options["into"] is not None:
        _refuse_any(options, _OF_A_NEW_ONE, "for a new dataset; an addition takes what its dataset has")
    if kind != DatasetKind.STANDARD:
        items = f"the items of a {kind.label.lower()} stay as they come"
        _refuse_any(options, _CLEAN_UP, f"for a standard dataset; {items}")
    for of in ("entity", "relation"):
        if options[f"{of}_ontology"] is not None and of not in kind.label_kinds:
            raise Refused(f"A {kind.label.lower()} has no {of} labels, so it takes no {of} ontology.")
    for name, each in _DECISIONS.items():
        if each.counted and options[name] != REFUSE and not kind.label_kinds:
            raise Refused(f"A {kind.label.lower()} has no marks, so --{name} is not for it.")


def _constraints(keys: list[int], kind: DatasetKind, dataset: Dataset | None) -> dict[str, int]:
    """The upload options for constraint sets."""
    if keys and dataset and dataset.project:
        raise Refused(f"“{dataset}” obeys the constraints of the project “{dataset.project}”, so it takes no others.")
    chosen: dict[str, int] = {}
    for each in (blueprint(ConstraintSet, pk) for pk in keys):
        if each.row_model.marks not in kind.label_kinds:
            raise Refused(
                f"A {kind.label.lower()} has no {each.row_model.marks} labels, so it takes no {each.kind_in_words}."
            )
        if chosen.setdefault(each.format, each.pk) != each.pk:
            raise Refused(f"Two of the constraint sets are {each.kind_in_words}: give one of each kind.")
    return chosen


def _refuse_any(options: dict[str, Any], names: Iterable[str], why: str) -> None:
    if given := [name for name in names if options[name]]:
        raise Refused(f"--{given[0].replace('_', '-')} is {why}.")


def _shown_name(path: Path) -> str:
    """The name of the file, which need not be UTF-8: what is not is shown as “�”."""
    return os.fsencode(path.name).decode("utf-8", "replace")


def _setting(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise ArgumentTypeError(f"NAME=VALUE was expected, not “{text}”")
    return name, value


def _upload_options(options: dict[str, Any], dataset: Dataset | None) -> dict[str, Any]:
    path = options["file"]
    name = Path(_shown_name(path)).stem if options["name"] is None else options["name"]
    chosen = {name: options[name] for name in OPERATIONS}
    check_text("".join(value for value in chosen.values() if isinstance(value, str)))
    start = Beginning.of(path, path.name, options["encoding"])
    if options["format"] != "auto":
        format = format_named(options["format"])
    elif (found := detect(start)).format is None and not found.recognised.format:
        raise Refused(str(found.recognised))
    elif DatasetKind.STANDARD in (options["kind"], dataset and dataset.is_blueprint and dataset.kind):
        if found.format != TEXT:
            raise Refused(f"{found.recognised} To take it as lines of text all the same, add --format {TEXT.name}.")
        format = TEXT
    elif found.format:
        format = found.format
    else:
        raise Refused(str(found.recognised))
    kind = dataset.kind if dataset else options["kind"] or kind_of(start, format)
    if dataset and dataset.project_id and format != TEXT:  # which may become of a wider kind
        kind = dataset.copy_options(kind_of(start, format))["kind"]
    return {
        "kind": kind,
        "format": format.name,
        "encoding": options["encoding"],
        "reading": dict(options["setting"]),
        "whose": options["whose"],
        **({"file_kind": kind_of(start, format)} if dataset and dataset.project_id else {}),
        "name": clean_title(name) if dataset is None else name,
        **chosen,
        **{name: options[name] for name in _AS_GIVEN},
    }
