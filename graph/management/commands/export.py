import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

from django.core.management.base import CommandParser
from django.db.models import Model

from annotation_service.inputs import Refused
from annotation_service.management.base import ServiceCommand
from datasets import exports
from datasets.models import Dataset
from graph.exports import GRAPH_FORMATS, write_graph
from graph.models import Graph
from graph.voices import source_named, sources_of
from ontologies.label_files import DOWNLOADS, OntologyFormat
from ontologies.models import Ontology
from projects import bundle, work_export
from projects.models import Project
from projects.work_export import ALL, GOLD
from quality.gold_files import write_gold
from resources.models import ConstraintSet, PreannotationSet, ResourceSet


class Command(ServiceCommand):
    help = (
        "Write a resource, a dataset or gold as JSON, or a project as its bundle, to a file or to stdout; with --format an"
        " ontology, a dataset, gold or the work in a project in another format, and what that loses to stderr. The graph of a"
        " project is written as JSON or in a format of graphs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("what", choices=list(WRITERS))
        parser.add_argument("id", type=int)
        parser.add_argument("--output", type=Path, metavar="FILE")
        parser.add_argument("--format", metavar="NAME", help="“manage.py formats” lists them")
        parser.add_argument(
            "--whose", default=ALL, help="whose marks of a project: all (default; a zip archive), given, gold, or @USER"
        )
        parser.add_argument("--done", action="store_true", help="only items that their person is done with")
        parser.add_argument("--suggested", action="store_true", help="suggestions that nobody has decided about, too")
        parser.add_argument(
            "--source", help="whose graph: gold (default where there is any), given, all, or a user name"
        )
        parser.add_argument("--agreed", type=int, metavar="N", help="of --source all, what so many people agree about")

    def run(self, **options: Any) -> None:
        model, write = WRITERS[options["what"]]
        output: Path | None = options["output"]
        thing = model._default_manager.filter(pk=options["id"]).first()
        if thing is None:
            raise Refused(f"There is no {model._meta.verbose_name} with the id {options['id']}.")
        if options["format"] or options["what"] == "graph":
            write = self.in_format(options)
        chosen = [name for name in ("whose", "done", "suggested") if options[name] not in (ALL, False)]
        if chosen and (options["what"] == "graph" or not (model is Project and options["format"])):
            raise Refused("This is for the work in a project, and for --format.", place=f"--{chosen[0]}")
        chosen = [name for name in ("source", "agreed") if options[name] is not None]
        if chosen and options["what"] != "graph":
            raise Refused("This is for the graph of a project.", place=f"--{chosen[0]}")
        if output is None:
            write(thing, sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return
        try:
            with _replacing(output) as target:
                write(thing, target)
        except OSError as error:
            raise Refused(f"The file cannot be written: {error.strerror or error}.", place=str(output)) from error

    def in_format(self, options: dict[str, Any]) -> Callable[[Any, IO[bytes]], object]:
        """What writes it in another format, and tells what is lost."""
        what = options["what"]
        name = options["format"] or "json"
        known = _names_of_formats(what)
        if not known:
            raise Refused("With --format an ontology, a dataset, gold or the work in a project is written.")
        if name not in known:
            raise Refused(f"What is written of {what} is one of these: {', '.join(known)}.", place="--format")
        if what == "ontology":
            return partial(self._write_labels, format=next(each for each in DOWNLOADS if each.name == name))
        if what == "graph":
            return partial(self._write_graph, source=options["source"], agreed=options["agreed"], format=name)
        if name in OWN_FORMATS:
            if what == "gold":
                return lambda project, target: write_gold(project, OWN_FORMATS[name], target)
            return lambda dataset, target: OWN_FORMATS[name].write(dataset, dataset.items(), target)

        def write(thing: Any, target: IO[bytes]) -> None:
            if what == "dataset":
                losses = exports.write_dataset(thing, name, target)
            else:
                losses = work_export.write_work(thing, options | ({"whose": GOLD} if what == "gold" else {}), target)
            for loss in losses:
                self.stderr.write(f"{loss}.")

        return write

    def _write_labels(self, ontology: Ontology, target: IO[bytes], *, format: OntologyFormat) -> None:
        assert format.write
        target.write(format.write(ontology).encode())
        if format.loses:
            self.stderr.write(f"{format.label} has no place for {format.loses}.")

    def _write_graph(
        self, project: Project, target: IO[bytes], *, source: str | None, agreed: int | None, format: str
    ) -> None:
        chosen = source_named(project, source or sources_of(project)[0][0], 1 if agreed is None else agreed)
        write_graph(graph := Graph.of(project), chosen, format, target)
        if not graph.nodetotal_set.filter(voice=chosen.voice).exists():
            self.stderr.write(f"There are no marks of this source: {chosen}.")


def _names_of_formats(what: str) -> list[str]:
    if what == "graph":
        return list(GRAPH_FORMATS)
    if what == "ontology":
        return [format.name for format in DOWNLOADS]
    others = [format.name for format in exports.formats_out()] if what in ("dataset", "gold", "project") else []
    own = {"dataset": [*OWN_FORMATS], "gold": [name for name, format in OWN_FORMATS.items() if format.has_marks]}
    return own.get(what, []) + others


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


OWN_FORMATS = {"json": exports.JSON, "jsonl": exports.JSON_LINES, "text": exports.TEXT}
WRITERS: dict[str, tuple[type[Model], Callable[[Any, IO[bytes]], object]]] = {
    "ontology": (Ontology, lambda ontology, target: target.write(ontology.as_json().encode())),
    "constraints": (ConstraintSet, _write_document),
    "preannotations": (PreannotationSet, _write_document),
    "dataset": (Dataset, lambda dataset, target: exports.JSON.write(dataset, dataset.items(), target)),
    "project": (Project, bundle.write),
    "graph": (Project, bundle.write),  # of the project; the graph is always written in a format
    "gold": (Project, lambda project, target: write_gold(project, exports.JSON, target)),
}
