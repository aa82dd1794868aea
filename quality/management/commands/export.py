import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from django.core.management.base import CommandParser
from django.db.models import Model

from annotation_service.inputs import Refused
from annotation_service.management.base import ServiceCommand
from datasets import exports
from datasets.models import Dataset
from ontologies.models import Ontology
from projects import bundle
from projects.models import Project
from quality.gold_files import write_gold
from resources.models import ConstraintSet, PreannotationSet, ResourceSet


class Command(ServiceCommand):
    help = "Write a resource, a dataset or gold as JSON, or a project as its bundle, to a file or to stdout."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("what", choices=list(WRITERS))
        parser.add_argument("id", type=int)
        parser.add_argument("--output", type=Path, metavar="FILE")

    def run(self, **options: Any) -> None:
        model, write = WRITERS[options["what"]]
        output: Path | None = options["output"]
        thing = model._default_manager.filter(pk=options["id"]).first()
        if thing is None:
            raise Refused(f"There is no {model._meta.verbose_name} with the id {options['id']}.")
        if output is None:
            write(thing, sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return
        try:
            with _replacing(output) as target:
                write(thing, target)
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


def _write_document(resource_set: ResourceSet, target: IO[bytes]) -> None:
    target.writelines(chunk.encode() for chunk in resource_set.json_document())


WRITERS: dict[str, tuple[type[Model], Callable[[Any, IO[bytes]], object]]] = {
    "ontology": (Ontology, lambda ontology, target: target.write(ontology.as_json().encode())),
    "constraints": (ConstraintSet, _write_document),
    "preannotations": (PreannotationSet, _write_document),
    "dataset": (Dataset, lambda dataset, target: exports.JSON.write(dataset, dataset.items(), target)),
    "project": (Project, bundle.write),
    "gold": (Project, lambda project, target: write_gold(project, exports.JSON, target)),
}
