from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from annotation_service.file_formats import Beginning, FileSource
from annotation_service.inputs import ENCODINGS
from annotation_service.management.base import ServiceCommand, add_owner, opened, user
from ontologies.documents import notes_on
from ontologies.label_files import ONTOLOGY_FORMATS, format_of, left_out
from ontologies.models import Ontology, OntologyKind


class Command(ServiceCommand):
    help = "Create an ontology blueprint from a file. Prints its id as the last line."

    formats = {format.name: format for format in ONTOLOGY_FORMATS}

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--kind", required=True, choices=OntologyKind.values)
        parser.add_argument("--name", required=True)
        parser.add_argument("--format", choices=["auto", *self.formats], default="auto", help="else seen from the file")
        parser.add_argument(
            "--encoding", choices=list(ENCODINGS), default="", metavar="NAME", help="if it is no Unicode"
        )
        parser.add_argument("--language", metavar="TAG", help="of the labels, where a file has several, such as pt")
        add_owner(parser)

    def run(self, **options: Any) -> None:
        path, kind, owner = options["file"], options["kind"], user(options["owner"])
        encoding, language = options["encoding"], options["language"]
        with opened(path, settings.MAX_ONTOLOGY_BYTES) as file:
            start = Beginning.of(path, path.name, encoding)
            format = self.formats.get(options["format"]) or format_of(start)[0]
            chosen = {choice.name: choice.default for choice in format.settings(start)}
            source = FileSource(file, path.name, encoding, chosen | ({"language": language} if language else {}))
            items = format.read(source, kind)
        ontology = Ontology.create(kind=kind, name=options["name"], owner=owner, items=items)
        self.stdout.write(f"“{ontology}”: {ontology.content_in_words()}.{notes_on(items)}")
        if left := left_out(source).strip():
            self.stdout.write(left)
        self.stdout.write(str(ontology.pk))
