import io
import json
import zipfile

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command

from annotation_service.models import PROJECT_MANAGERS, User
from datasets.models import Annotation, Dataset, Entity
from ontologies.label_files import DOWNLOADS
from projects.models import Project
from resources.models import ConstraintSet
from tests import factories
from tests.resource_sets import broken_places
from work.evidence import LearnedFrom
from work.models import Source
from work.views import Lesson


def create(**options):
    call_command("create_project", **options)


def test_a_project_is_created_and_its_id_is_the_last_line(alice, carol, capsys):
    dataset, ontology = factories.dataset(owner=alice), factories.ontology(owner=alice)
    create(name="Pumps", manager="alice", dataset=dataset.pk, entity_ontology=ontology.pk, annotator=["carol"])
    project = Project.objects.get()
    assert capsys.readouterr().out.splitlines()[-1] == str(project.pk)
    assert project.membership_set.filter(user=carol).exists()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"manager": "whoever"}, "no active user “whoever”"),
        ({"annotator": ["carol", "whoever"]}, "no active user “whoever”"),
        ({"dataset": 999}, "no dataset blueprint with the id 999"),
        ({"entity_ontology": 999}, "no ontology blueprint with the id 999"),
        ({"relation_ontology": 999}, "no ontology blueprint with the id 999"),
        ({"name": "a\tb"}, "A name cannot contain"),
    ],
)
def test_what_is_wrong_is_said_on_stderr_and_nothing_is_stored(alice, carol, capsys, change, reason):
    dataset, ontology = factories.dataset(owner=alice), factories.ontology(owner=alice)
    options = {"name": "P", "manager": "alice", "dataset": dataset.pk, "entity_ontology": ontology.pk} | change
    with pytest.raises(SystemExit) as caught:
        create(**options)
    assert caught.value.code == 1
    assert reason in capsys.readouterr().err
    assert not Project.objects.exists()


def test_everything_can_be_exported(alice, tmp_path, capfdbinary):
    project = factories.project(by=alice)
    ontology = project.entity_ontology
    call_command("export", "ontology", ontology.pk, output=tmp_path / "ontology.json")
    assert json.loads((tmp_path / "ontology.json").read_text()) == json.loads(ontology.as_json())
    call_command("export", "dataset", project.dataset.pk)
    assert len(json.loads(capfdbinary.readouterr().out)) == 3
    call_command("export", "project", project.pk, output=tmp_path / "project.zip")
    with zipfile.ZipFile(tmp_path / "project.zip") as archive:
        assert "manifest.json" in archive.namelist()


@pytest.mark.parametrize("format", DOWNLOADS, ids=lambda format: format.name)
def test_an_ontology_is_written_in_every_format_that_can_be_downloaded(alice, tmp_path, capsys, format):
    ontology = factories.ontology(owner=alice)
    call_command("export", "ontology", ontology.pk, format=format.name, output=tmp_path / "labels")
    assert (tmp_path / "labels").read_bytes() == format.write(ontology).encode() != b""
    told = f"{format.label} has no place for {format.loses}." if format.loses else ""
    assert capsys.readouterr().err.strip() == told


@pytest.mark.parametrize(("what", "offered"), [("ontology", "skos"), ("project", "brat"), ("gold", "jsonl")])
def test_a_format_that_is_not_written_is_refused_with_those_that_are(alice, capsys, what, offered):
    project = factories.project(by=alice)
    thing = project.entity_ontology if what == "ontology" else project
    with pytest.raises(SystemExit):
        call_command("export", what, thing.pk, format="webanno")
    said = capsys.readouterr().err
    assert f"What is written of {what} is one of these: " in said and offered in said


def test_an_export_that_fails_leaves_the_old_file(alice, tmp_path, capsys):
    target = tmp_path / "out.json"
    target.write_text("old")
    with pytest.raises(SystemExit) as caught:
        call_command("export", "project", 999, output=target)
    assert caught.value.code == 1
    assert "no project with the id 999" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]
    assert target.read_text() == "old"


def test_the_demo_is_made_once_with_secret_passwords(db, settings, tmp_path, capsys):
    settings.VAR_DIR = tmp_path
    Group.objects.get_or_create(name=PROJECT_MANAGERS)
    call_command("demo")
    accounts = tmp_path / "demo_accounts.txt"
    assert accounts.stat().st_mode & 0o077 == 0
    passwords = dict(line.split() for line in accounts.read_text().splitlines())
    assert set(passwords) == {"admin", "manager", "anna", "ben", "cleo", "dan"}
    assert all(User.objects.get(username=name).check_password(password) for name, password in passwords.items())
    told = capsys.readouterr().out
    assert str(accounts) in told
    assert not any(password in told for password in passwords.values())
    assert Annotation.objects.filter(done_at__isnull=False).count() == 12
    project = Project.objects.get(name="Haul trucks")
    assert {each.kind for each in ConstraintSet.objects.filter(project=project)} == {"entity", "relation"}
    (broken,) = broken_places(project)  # a manager sees what the report of them is like
    assert (broken.violation.kind, broken.annotation.item_id) == ("excludes", project.dataset.items()[3].pk)
    figures = Source.objects.get(name="parts tagger").figures().values()
    assert [sum(each) for each in zip(*figures, strict=True)] == [14, 2, 0, 2, 10]
    pairs = Project.objects.get(name="Conveyors")
    assert pairs.dataset.item_count == 20 + 6  # two of the night shift's eight were there
    elsewhere = Dataset.objects.get(name="Shift log", owner__username="manager", project=None)
    assert (elsewhere.item_count, elsewhere.uploads.get().found.left_out) == (6, 2)
    labels = Entity.objects.filter(annotation__item__dataset=elsewhere).values_list("label__name", flat=True)
    assert set(labels) == {"PhysicalObject", "Activity", "State"} and len(labels) == 19
    assert elsewhere.uploads.get().read_as == "CoNLL, 3 labels called otherwise here, 1 label left out"
    call_command("demo")
    assert Project.objects.count() == 2


def test_rules_can_be_learned_in_the_demo(db, settings, tmp_path):
    settings.VAR_DIR = tmp_path
    call_command("demo", stdout=io.StringIO())
    project = Project.objects.get(name="Haul trucks")
    for rules in project.constraintset_set.all():
        lesson = Lesson(rules, project.dataset, LearnedFrom.DONE, 1)
        assert len(lesson.proposals) >= 3 and lesson.total >= 5, rules


def test_the_demo_shows_its_passwords_on_a_terminal_only(db, settings, tmp_path):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    settings.VAR_DIR = tmp_path
    Group.objects.get_or_create(name=PROJECT_MANAGERS)
    terminal = Terminal()
    call_command("demo", stdout=terminal)
    assert (tmp_path / "demo_accounts.txt").read_text() in terminal.getvalue()
