"""The figures of a project, by hand; the command, the file in the bundle, and the job."""

import io
import json
import re
import zipfile

import pytest
from django.core.management import call_command

from annotation_service import jobs
from annotation_service.models import Job, JobState, start_job
from datasets.models import Annotation
from projects import bundle
from quality.agreement import Agreement, Changed, make_report, report_of, yes_and_no
from quality.models import AgreementReport, MarkDifference
from quality.voices import names_for, voice_named
from tests import factories
from tests.quality.conftest import label, say


@pytest.fixture
def marked(project, items, carol, dave, erin):
    """Three tokens, six and seven; carol and dave have done two of the texts, erin one."""
    first, second, _ = items
    say(first, carol, "Thermostat 0", "State 2")
    say(first, dave, "SensingObject 0", "State 1-2")
    say(second, carol, "Thermostat 1-3", "State 4-5", "hasPart: State 4-5 > Thermostat 1-3")
    say(second, dave, "Thermostat 1-3", "State 4-5", "hasPart: State 4-5 > Thermostat 1-3", "Activity 0")
    say(second, erin, "State 4-5", "hasPart: State 4-5 > Thermostat 1-3")
    return project


def agreement(project):
    make_report(project)
    found = Agreement.now(project)
    assert found.as_json() == json.loads(json.dumps(found.as_json()))
    return found


def of_label(rows, project, name):
    return rows[label(project, name).pk]


def test_figures_by_hand(marked, carol, dave, erin):
    found = agreement(marked)
    assert list(found.people.pairs) == [(carol.pk, dave.pk), (carol.pk, erin.pk), (dave.pk, erin.pk)]
    row = found.people.pairs[carol.pk, dave.pk]
    exact, overlap, tree, spans = (row.measure(name) for name in ("exact", "overlap", "tree", "spans"))
    assert row.items == 2
    assert (exact.precision, exact.recall, exact.f1) == (2 / 5, 2 / 4, 4 / 9)
    assert (overlap.precision, overlap.recall) == (3 / 5, 3 / 4)
    assert spans == (3, 4, 5)
    # Thermostat stands at depth 3 below SensingObject, at depth 2.
    assert tree.both == pytest.approx(2 + 2 * 2 / (3 + 2))
    assert row.measure("relations") == (1, 1, 1)
    # Of 9 tokens, 7 are marked by both and 2 by dave alone: the texts have 3 and 6.
    assert yes_and_no(row.figures) == (7, 0, 2, 0)
    total = found.people.total
    assert total.items == 2
    assert total.measure("exact")[1:] == (4 + 2 + 3, 5 + 2 + 2)


def test_figures_of_labels_and_branches(marked):
    found = agreement(marked).people
    by_chance = (7 * 8 + 14 * 13) / 21**2
    state, thermostat = (of_label(found.labels, marked, name) for name in ("State", "Thermostat"))
    # State: the same in three pairs of the second text; of carol and dave in the first, on other words.
    assert (state.measure("exact"), state.measure("overlap").both) == ((3, 4, 4), 4)
    assert thermostat.measure("exact") == (3, 4, 3)
    assert thermostat.measure("tree").both == pytest.approx(3 + 0.8 / 2)
    sensing = of_label(found.branches, marked, "SensingObject")
    assert sensing.measure("exact") == (4, 4, 4)  # in the branch, both mean the same thing
    assert of_label(found.branches, marked, "PhysicalObject").measure("exact") == (4, 4, 4)
    assert "State" not in [found.trees.labels[pk].name for pk in found.branches]
    # Of all pairs there are 3 + 3 * 6 tokens: 1 and 3 * 2 that both call State, one that dave alone does.
    assert yes_and_no(state.figures) == (7, 0, 1, 13)
    assert state.kappa == pytest.approx((20 / 21 - by_chance) / (1 - by_chance))
    has_part = of_label(found.labels, marked, "hasPart")
    assert has_part.measure("relations") == (3, 3, 3)
    activity = label(marked, "Activity").pk
    different = [
        (label(marked, "Thermostat").pk, label(marked, "SensingObject").pk, 1),
        (0, activity, 1),
        (activity, 0, 1),
    ]
    assert set(found.counted("confused")) >= set(different)


def test_relations_are_compared_also_given_their_ends(project, items, carol, dave):
    say(items[1], carol, "hasPart: State 4-5 > Thermostat 1-3", "hasPart: Activity 0 > State 4-5")
    say(items[1], dave, "hasPart: State 4 > Thermostat 1-3", "hasPart: State 4 > Activity 6")
    row = agreement(project).people.total
    assert row.measure("relations") == (0, 2, 2)
    assert row.measure("ends") == (1, 1, 1)


def test_gold_is_compared_with_each(marked, items, carol, dave, erin):
    second = items[1]
    factories.gold(second, (label(marked, "Thermostat"), 1, 3), (label(marked, "State"), 4, 5)).finish()
    found = agreement(marked).gold
    assert {found.names[other]: row.measure("exact") for (_, other), row in found.pairs.items()} == {
        "carol": (2, 2, 2),
        "dave": (2, 2, 3),
        "erin": (2, 2, 2),
    }
    assert found.total.items == 1
    assert of_label(found.labels, marked, "Activity").measure("exact") == (0, 0, 1)


def test_items_done_without_marks_count(project, items, carol, dave):
    say(items[0], carol)
    say(items[0], dave)
    found = agreement(project)
    assert (found.items, found.people.total.items) == (1, 1)
    assert found.people.total.measure("exact").f1 is None and found.people.total.kappa is None
    assert found.alpha is None


def test_labels_that_move_need_no_count(marked, alice, settings):
    settings.ONTOLOGY_MOVE_ITEMS = True
    before = agreement(marked)
    thermostat = label(marked, "Thermostat")
    assert not any(Changed.since(marked, report_of(marked)))
    thermostat.rename("Switch", by=alice)
    assert not any(Changed.since(marked, report_of(marked)))
    thermostat.refresh_from_db()
    thermostat.ontology.refresh_from_db()
    thermostat.move(by=alice, before=label(marked, "State"))
    assert Changed.since(marked, report_of(marked)) == (0, True)
    after = agreement(marked)
    assert before.people.total.measure("tree").both > after.people.total.measure("tree").both == 2 + 2 + 3 - 1


def test_changes_are_told(marked, items, carol, alice):
    agreement(marked)
    Annotation.objects.get(item=items[1], annotator=carol).reopen()
    assert Changed.since(marked, report_of(marked)) == (1, False)
    agreement(marked)
    assert not any(Changed.since(marked, report_of(marked)))
    marked.dataset.remove(marked.dataset.items().filter(position=0), by=alice)
    assert Changed.since(marked, report_of(marked)).items == 1


# --- The command, the bundle and the job ----------------------------------------------------------------------------------


def command(*arguments):
    out = io.StringIO()
    call_command("agreement", *map(str, arguments), stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_the_command_prints_a_table_or_json(marked):
    printed = command(marked.pk)
    assert re.search("carol +dave +2 +0.40 +0.50 +0.44", printed), printed
    assert "PhysicalObject/SensingObject/Thermostat" in printed
    found = json.loads(command(marked.pk, "--json"))
    pair = found["pairs"][0]
    assert (pair["people"], pair["items"]) == (["carol", "dave"], 2)
    assert pair["entities"]["exact"] == {"precision": 0.4, "recall": 0.5, "f1": 4 / 9, "interval": None}
    assert pair["relations"]["f1"] == pair["relations"]["given_matched_ends"]["f1"] == 1
    assert -1 <= found["alpha"] <= 1 and found["gold"]["total"]["entities"]["exact"]["f1"] is None


def test_the_command_has_nothing_to_print_of_an_empty_project(project):
    assert "0 items" in command(project.pk)
    assert json.loads(command(project.pk, "--json"))["pairs"] == []


@pytest.mark.parametrize("is_fresh", [True, False])
def test_the_bundle_has_it_as_of_now(marked, items, dave, is_fresh):
    make_report(marked)
    if not is_fresh:
        say(items[0], dave, "Thermostat 0", "State 2")
    differences = MarkDifference.objects.count()
    target = io.BytesIO()
    bundle.write(marked, target)
    found = json.loads(zipfile.ZipFile(target).read("agreement.json"))
    assert found["pairs"][0]["entities"]["exact"]["f1"] == (4 / 9 if is_fresh else 8 / 9)
    assert MarkDifference.objects.count() == differences  # nothing was written
    assert found == Agreement.now(marked).as_json()


def test_the_job_keeps_a_report(marked, alice):
    job = start_job("agreement", title="t", by=alice, target={"project": marked.pk})
    jobs.run(jobs.claim())
    job.refresh_from_db()
    assert job.state == JobState.DONE, job.errors
    assert job.result["url"] == f"/projects/{marked.pk}/agreement/"
    assert AgreementReport.objects.count() == 1


def test_a_job_that_is_cancelled_leaves_the_report_as_it_was(marked, items, carol, dave, alice):
    make_report(marked)
    before = report_of(marked).figures
    say(items[2], carol, "State 0")
    say(items[2], dave, "State 0")
    start_job("agreement", title="t", by=alice, target={"project": marked.pk})
    job = jobs.claim()
    Job.objects.filter(pk=job.pk).update(cancel_requested=True)
    job.refresh_from_db()
    jobs.run(job)
    job.refresh_from_db()
    assert (job.state, report_of(marked).figures) == (JobState.CANCELLED, before)
    assert Changed.since(marked, report_of(marked)).items == 1


# --- Names ----------------------------------------------------------------------------------------------------------------


def test_everybody_who_has_annotated_is_named_in_order(marked):
    assert list(names_for(marked).values()) == ["the gold", "the dataset", "alice", "carol", "dave", "erin"]
    assert voice_named(names_for(marked), "carol") and voice_named(names_for(marked), "nobody") is None
