"""The papers for developers name every module, and no file that is gone."""

import re

from tests.test_imports import APPS, ROOT

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
    pages = (PAGE, ROOT / "CONTRIBUTING.md", ROOT / "README.md")
    named = [path for page in pages for path in files_named(page)]
    assert named and [path for path in named if not path.is_file()] == []


def test_every_module_is_named():
    named = set(files_named(PAGE))
    for app in APPS:
        for path in (ROOT / app).rglob("*.py"):
            if not {"migrations", "commands"} & set(path.parts) and path.name not in IN_EVERY_APP:
                assert path in named, f"{path.relative_to(ROOT)} is missing in {PAGE.name}"
