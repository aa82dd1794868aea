import json
from io import StringIO

import pytest
from django.core.management import call_command

from ontologies.models import Ontology, OntologyItem
from tests import factories


def run(*args, **options):
    output, errors = StringIO(), StringIO()
    try:
        call_command(*args, **options, stdout=output, stderr=errors)
        code = 0
    except SystemExit as stop:
        code = stop.code
    return code, output.getvalue(), errors.getvalue()


@pytest.fixture
def labels(tmp_path):
    path = tmp_path / "labels.json"
    path.write_text(json.dumps(factories.ENTITIES))
    return path


def test_import_prints_the_id_as_the_last_line(alice, labels):
    code, output, errors = run("import_ontology", str(labels), kind="entity", name="Labels", owner="alice")
    ontology = Ontology.objects.get()
    assert (code, errors) == (0, "")
    assert output.splitlines()[-1] == str(ontology.pk)
    assert ontology.owner == alice and ontology.name == "Labels" and ontology.row_count == 7


def test_example_terms_that_are_left_out_are_counted(alice, tmp_path):
    path = tmp_path / "labels.json"
    path.write_text(json.dumps([{"name": "A", "example_terms": ["x", " x", "  ", "y"], "children": [{"name": "B"}]}]))
    _, output, _ = run("import_ontology", str(path), kind="entity", name="Labels", owner="alice")
    told = "“Labels”: 2 items. 2 example terms are left out: repeated at the same label, or empty."
    assert output.splitlines()[0] == told


def test_import_counts_what_is_taken_off(alice, tmp_path):
    path = tmp_path / "labels.json"
    below = [{"name": "B"}, {"name": "C", "active": False, "children": [{"name": "D"}]}]
    path.write_text(json.dumps([{"name": "A", "active": False, "children": below}, {"name": "E"}]))
    code, output, _ = run("import_ontology", str(path), kind="entity", name="Labels", owner="alice")
    assert code == 0 and "2 items that are on below one that is off were taken off." in output
    assert [item.name for item in OntologyItem.objects.filter(level__gt=0, active=True)] == ["E"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"owner": "nobody"}, "There is no active user “nobody”."),
        ({"name": "a\x07b"}, "control characters"),
        ({"name": " "}, "A name is needed."),
        ({"owner": "a\ud800"}, "surrogate"),
    ],
)
def test_import_refuses_with_the_reason(alice, labels, options, words):
    given = {"kind": "entity", "name": "x", "owner": "alice"} | options
    code, output, errors = run("import_ontology", str(labels), **given)
    assert (code, output) == (1, "")
    assert words in errors
    assert not Ontology.objects.exists()


@pytest.mark.parametrize(
    ("content", "first", "last"),
    [
        (json.dumps([{}] * 150).encode(), "item 1: “name” is missing.", "The first 100 of 150 problems."),
        ('[\n{"name": "é"}]'.encode("latin-1"), "line 2: Byte 0xe9 is not UTF-8.", "save it as UTF-8."),
        (b"[" * 5_000_000, "line 1, column 201: This is nested too deep", "are allowed."),
    ],
)
def test_import_says_what_is_wrong_with_a_file(alice, tmp_path, content, first, last):
    path = tmp_path / "x.json"
    path.write_bytes(content)
    code, output, errors = run("import_ontology", str(path), kind="entity", name="x", owner="alice")
    lines = errors.splitlines()
    assert (code, output) == (1, "") and len(lines) in (1, 101)
    assert lines[0].startswith(f"{path}: {first}") and lines[-1].endswith(last), lines
    assert not Ontology.objects.exists()


def test_check_trees_counts_sound_trees(alice):
    factories.ontology(owner=alice)
    factories.ontology(owner=alice, kind="relation")
    assert run("check_trees") == (0, "2 ontologies, 10 items: all sound\n", "")


def test_check_trees_names_an_unsound_tree(alice):
    factories.ontology(owner=alice, name="Sound")
    broken = factories.ontology(owner=alice, name="Broken")
    item = broken.items().last()
    OntologyItem.objects.filter(pk=item.pk).update(lft=item.lft + 100, rght=item.rght + 100)
    code, output, _ = run("check_trees")
    OntologyItem.objects.filter(pk=item.pk).update(lft=item.lft, rght=item.rght)
    assert code == 1
    assert output.count("\n") == 1 and output.startswith(f"{broken.pk} “Broken”: the positions")


def test_a_file_that_is_not_there_or_beyond_the_limit_is_not_read(alice, labels, settings):
    path = labels.with_name("missing.json")
    code, _, errors = run("import_ontology", str(path), kind="entity", name="x", owner="alice")
    assert code == 1 and errors.startswith(f"{path}: The file cannot be read")
    settings.MAX_ONTOLOGY_BYTES = 10
    code, _, errors = run("import_ontology", str(labels), kind="entity", name="Labels", owner="alice")
    assert code == 1 and "the limit is" in errors
