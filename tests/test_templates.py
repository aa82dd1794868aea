"""What holds for every template."""

import re

import pytest

from tests.test_imports import ROOT

TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
MARKUP = re.compile(r"<p hidden>.*?</p>|<[^>]*>|{%.*?%}|{{.*?}}|{#.*?#}", re.DOTALL)


def test_lines_are_short_enough_to_be_reviewed():
    lines = ((path, number, line) for path in TEMPLATES for number, line in enumerate(path.open(), 1))
    assert [(path.relative_to(ROOT), number) for path, number, line in lines if len(line.rstrip("\n")) > 160] == []


@pytest.mark.parametrize("role", ["manager", "reviewer", "observer"])
def test_what_roles_are_called_is_said_by_their_registry(role):
    """Project managers are a group of its own, and annotators all who annotate, whatever their role."""
    written = re.compile(rf"(?<!project )\b{role}s?\b", re.IGNORECASE)
    assert [path for path in TEMPLATES if written.search(MARKUP.sub("", path.read_text()))] == []
