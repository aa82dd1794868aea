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
APPS = ("annotation_service", "ontologies", "resources", "datasets", "work", "projects", "annotations")
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
            if "migrations" not in path.parts:
                assert not re.search(r"\bget_model\(|\bimport_module\(|\b__import__\(", path.read_text()), path


CONVENTIONS = {"access", "admin", "apps", "forms", "jobs", "management", "models", "urls", "views"}
NAMED_ONCE = ("annotation_service", "ontologies", "resources", "projects", "annotations")


def modules():
    """All but migrations and commands: every module of commands has its `Command`."""
    for app in APPS:
        for path in (ROOT / app).rglob("*.py"):
            if not {"migrations", "commands"} & {*path.parts}:
                yield app, path


def told_twice(names, apps):
    """Which names of these apps stand for more than one thing, given the apps and names of all."""
    used = Counter(name for _, name in names)
    return {name for app, name in names if app in apps and used[name] > 1}


def test_a_class_has_a_name_of_its_own():
    """One name means one thing."""
    names = [(app, name) for app, path in modules() for name in re.findall(r"^class (\w+)", path.read_text(), re.M)]
    assert not told_twice(names, NAMED_ONCE)


def test_a_module_has_a_name_of_its_own():
    """A package is named by its folder."""
    names = [(app, path.parent.name if path.stem == "__init__" else path.stem) for app, path in modules()]
    assert not told_twice([each for each in names if each[1] not in CONVENTIONS], ("projects", "annotations"))
