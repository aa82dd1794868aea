import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

from django.core.management.base import CommandParser
from django.db.models import Model

from annotation_service.inputs import Refused
from annotation_service.management.base import ServiceCommand
from datasets import exports
from datasets.models import Dataset
from ontologies.models import Ontology
from projects import bundle
from projects.models import Project
from resources.models import ConstraintSet, PreannotationSet, ResourceSet

M = TypeVar("M", bound=Model)


class Command(ServiceCommand):
    help = "Write a resource or dataset as JSON, or a project as its bundle, to a file or to stdout."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("what", choices=list(WRITERS))
        parser.add_argument("id", type=int)
        parser.add_argument("--output", type=Path, metavar="FILE")

    def run(self, **options: Any) -> None:
        write = WRITERS[options["what"]]
        output: Path | None = options["output"]
        if output is None:
            write(options["id"], sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return
        try:
            with _replacing(output) as target:
                write(options["id"], target)
        except OSError as error:
            raise Refused(f"The file cannot be written: {error.strerror or error}.", place=str(output)) from error


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file that takes the place of the path only when it is complete."""
    with tempfile.NamedTemporaryFile(dir=path.absolute().parent, delete=False) as target:
        try:
            yield target
        except BaseException:
            os.unlink(target.name)
            raise
    os.chmod(target.name, 0o644)
    os.replace(target.name, path)


def _ontology(pk: int, target: IO[bytes]) -> None:
    target.write(_get(Ontology, pk).as_json().encode())


def _dataset(pk: int, target: IO[bytes]) -> None:
    dataset = _get(Dataset, pk)
    exports.JSON.write(dataset, dataset.items(), target)


def _constraints(pk: int, target: IO[bytes]) -> None:
    _resource(_get(ConstraintSet, pk), target)


def _preannotations(pk: int, target: IO[bytes]) -> None:
    _resource(_get(PreannotationSet, pk), target)


def _resource(resource: ResourceSet, target: IO[bytes]) -> None:
    for chunk in resource.json_document():
        target.write(chunk.encode())


def _project(pk: int, target: IO[bytes]) -> None:
    bundle.write(_get(Project, pk), target)


def _get(model: type[M], pk: int) -> M:
    if found := model._default_manager.filter(pk=pk).first():
        return found
    raise Refused(f"There is no {model._meta.verbose_name} with the id {pk}.")


WRITERS = {
    "ontology": _ontology,
    "constraints": _constraints,
    "preannotations": _preannotations,
    "dataset": _dataset,
    "project": _project,
}
