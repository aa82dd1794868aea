"""The papers name every module and no file that is gone, and the commands of the README run as they are written."""

import re
import shlex
import tomllib

import pytest
from django.core.management import call_command

from annotation_service.file_formats import FORMATS
from datasets.formats.dataset_format import DatasetFormat
from datasets.formats.uima import INSTALL
from datasets.models import Dataset
from ontologies.label_files import OntologyFormat
from ontologies.models import Ontology
from projects.models import Project
from resources.models import ConstraintSet
from tests.databases import HERE, ON_SQLITE_ALONE
from tests.test_imports import APPS, ROOT

README = ROOT / "README.md"
PAGE = ROOT / "docs" / "architecture.md"
IN_EVERY_APP = {"__init__.py", "urls.py", "apps.py", "admin.py", "forms.py", "jobs.py", "views.py"}


def files_named(page):
    """In the lists of modules a path begins in the folder of the app, everywhere else at the top."""
    app = ""
    for line in page.read_text().splitlines():
        if line.startswith("#"):
            app = ""
        elif heading := re.fullmatch(r"`(\w+)/`", line):
            app = heading[1]
        in_list = bool(app) and line.startswith("- ")
        for path in re.findall(r"`([\w/.]+\.(?:py|js|html|toml))`", line):
            if in_list or "/" in path:
                yield ROOT / app / path if in_list else ROOT / path


def test_files_that_are_named_are_there():
    pages = (PAGE, ROOT / "CONTRIBUTING.md", README)
    named = [path for page in pages for path in files_named(page)]
    assert named and [path for path in named if not path.is_file()] == []


def test_every_module_is_named():
    named = set(files_named(PAGE))
    for app in APPS:
        for path in (ROOT / app).rglob("*.py"):
            if not {"migrations", "commands"} & set(path.parts) and path.name not in IN_EVERY_APP:
                assert path in named, f"{path.relative_to(ROOT)} is missing in {PAGE.name}"


def test_modules_that_are_asked_on_sqlite_alone_are_there():
    named = [HERE / app / f"test_{module}.py" for app, modules in ON_SQLITE_ALONE.items() for module in modules]
    assert [path for path in named if not path.is_file()] == []


# An item of the demo that ben has not begun.
BENS = [("engine", "B-PhysicalObject/DrivingObject"), ("overheating", "O"), ("under", "O"), ("load", "O")]
FILES = {
    "labels.json": '[{"name": "Activity"}, {"name": "PhysicalObject", "children": [{"name": "Pump"}]}]',
    "lines.txt": "replace the pump\ncheck the oil\n",
    "orders.json": '[{"original": "the pump", "tokens": ["the", "pump"], "entities": []}]',
    "more.jsonl": '{"original": "a b", "tokens": ["a", "b"], "entities": [], "external_id": "x1"}\n',
    "news.conll": "Pumps O\nin O\nKöln B-LOC\n\nBen B-PER\nlaughs O\n".encode("cp1252"),
    "calls.csv": "message,topic\nit leaks again,leak\nno light,power\n",
    "ben.conll": "".join(f"{word} {tag}\n" for word, tag in BENS),
    "terms.ttl": "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
    '<http://example.org/pump> a skos:Concept ; skos:prefLabel "Pump"@en, "Bomba"@pt .\n',
    "terms.csv": "path,description\nPump,für Öl\n".encode("cp1252"),
    "rules.json": '[{"domain": "Activity", "excludes": ["PhysicalObject"]}]',
}
# What the numbers of the commands stand for.
NUMBERED = {
    r"--entity-ontology|export ontology": Ontology,
    r"--into|--dataset|export dataset": Dataset,
    r"--constraints": ConstraintSet,
    r"project|gold|graph|check_constraints": Project,
}


@pytest.mark.django_db
def test_the_commands_for_the_shell_run_as_they_are_written(settings, tmp_path, monkeypatch):
    settings.VAR_DIR = tmp_path
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    call_command("demo")
    # In a new database the first of each has the number 1; in that of the tests PostgreSQL goes on counting.
    skipped = {model: model.objects.latest("pk").pk - model.objects.count() for model in NUMBERED.values()}
    section = README.read_text().split("## From the shell")[1].split("\n## ")[0].replace("\\\n", "")
    commands = re.findall(r"^ +\.venv/bin/python manage.py (.*)$", section, re.M)
    assert len(commands) == 24
    for command in commands:
        for option, model in NUMBERED.items():
            for start, number in re.findall(rf"((?:{option}) )(\d+)", command):
                command = command.replace(start + number, f"{start}{int(number) + skipped[model]}")
        call_command(*shlex.split(command))
    assert (tmp_path / "pumps.zip").stat().st_size > 1000


@pytest.mark.parametrize(("kind", "heading"), [(DatasetFormat, "datasets"), (OntologyFormat, "ontologies")])
def test_the_tables_of_formats_say_what_the_registry_says(kind, heading):
    table = (
        README.read_text().split(f"| {heading} | what has no place in it |\n|---|---|---|---|\n")[1].split("\n\n")[0]
    )
    formats = sorted((each for each in FORMATS if isinstance(each, kind)), key=lambda each: each.title.casefold())
    rows = [f"| {each.title} | `{each.name}` | {', '.join(each.ways)} | {each.loses} |" for each in formats]
    assert table.splitlines() == rows


def test_the_library_for_uima_is_the_one_of_the_extra():
    (wanted,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["uima"]
    install = f"pip install '{wanted}'"
    assert install in README.read_text() and install in INSTALL
