"""The contracts about imports in `pyproject.toml`, and that they notice what they are for."""

import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
APPS = (
    "annotation_service",
    "ontologies",
    "resources",
    "datasets",
    "work",
    "projects",
    "annotations",
    "quality",
    "graph",
    "api",
)
IN_A_FUNCTION = "\n\ndef later():\n    {}\n"
FOR_TYPES_ONLY = "\n\nfrom typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    {}\n"


def lint(folder, *options):
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run(
        [sys.executable, "-c", code, "--no-logo", "--no-cache", *options], cwd=folder, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The code of the apps, to be spoilt."""
    folder = tmp_path_factory.mktemp("code")
    shutil.copy(ROOT / "pyproject.toml", folder)
    for app in APPS:
        shutil.copytree(ROOT / app, folder / app, ignore=lambda _, names: {n for n in names if n == "__pycache__"})
    return folder


def test_the_contracts_are_kept():
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("place", ["{}", IN_A_FUNCTION, FOR_TYPES_ONLY], ids=["plain", "in a function", "for types"])
@pytest.mark.parametrize(
    ("contract", "module", "line", "found"),
    [
        (
            "layers",
            "annotation_service/words.py",
            "import projects.models",
            "annotation_service is not allowed to import",
        ),
        (
            "layers",
            "ontologies/colors.py",
            "from resources import documents",
            "ontologies is not allowed to import resources",
        ),
        ("layers", "datasets/kinds.py", "import annotations.urls", "datasets is not allowed to import annotations"),
        (
            "cycles",
            "annotation_service/inputs.py",
            "from . import jobs",
            "No cycles are allowed in annotation_service.",
        ),
        ("cycles", "projects/models.py", "from . import bundle", "No cycles are allowed in projects."),
    ],
)
def test_an_import_that_goes_up_or_round_is_found(copy, contract, module, line, found, place):
    before = (copy / module).read_text()
    (copy / module).write_text(f"{before}\n{place.format(line)}\n")
    try:
        done = lint(copy, "--contract", contract)
    finally:
        (copy / module).write_text(before)
    assert done.returncode == 1
    assert found in done.stdout


def test_no_model_is_fetched_by_its_name():
    """What is fetched that way is an import that no contract sees. Migrations must."""
    for app in APPS:
        for path in (ROOT / app).rglob("*.py"):
            # What is read apart is named for another process.
            if "migrations" not in path.parts and path.name != "apart.py":
                assert not re.search(r"\bget_model\(|\bimport_module\(|\b__import__\(", path.read_text()), path


CONVENTIONS = {"__init__.py", "access.py", "admin.py", "forms.py", "jobs.py", "models.py", "urls.py", "views.py"}


def of_our_apps():
    for app in APPS:
        for path in (ROOT / app).rglob("*.py"):
            if not {"migrations", "commands", "templatetags"} & {*path.parts}:
                yield app, path


def repeated(named, apps):
    """The names in these apps that stand for more than one thing anywhere."""
    used = Counter(name for _, name in named)
    return sorted({name for app, name in named if app in apps and used[name] > 1})


def test_a_class_has_a_name_of_its_own():
    """One name means one thing; every module of commands has its `Command`."""
    named = [(app, name) for app, path in of_our_apps() for name in re.findall(r"^class (\w+)", path.read_text(), re.M)]
    assert repeated(named, APPS) == []


def test_a_module_has_a_name_of_its_own():
    """But for those that Django's conventions name, and those named after their model."""
    named = [(app, path.name) for app, path in of_our_apps() if path.name not in CONVENTIONS | {"item.py"}]
    assert repeated(named, ("datasets", "work", "projects", "annotations")) == []
