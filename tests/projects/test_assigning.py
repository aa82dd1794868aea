"""The assignment on the screen: the card, the preview of another rule, storing it, and the way back."""

import re
from functools import partial

import pytest
from django.urls import reverse

from annotation_service import jobs
from annotation_service.models import Job
from datasets.models import Annotation, Entity
from projects import all_alike
from projects.assignment.giving import AssignsItems
from projects.assignment.rule import AssignmentRule
from projects.models import Assignment, Project
from tests import factories
from tests.queries import queries_of

TEXT = "".join(f"item {n}\n" for n in range(10))


@pytest.fixture
def project(alice, carol, dave):
    return factories.project(by=alice, annotators=[carol, dave], text=TEXT)


def rows(page):
    """The tables of a page as text, row by row."""
    found = re.findall(r"<tr>(.*?)</tr>", page, flags=re.S)
    return [re.sub(r"<[^>]+>", " ", row).split() for row in found]


def address(project):
    return f"/projects/{project.pk}/assignment/"


def test_the_card_says_the_rule_and_how_far_everybody_is(as_alice, as_carol, project, carol):
    project.set_rule(AssignmentRule(calibration=2), by=project.created_by)
    Annotation.start(project.all_items()[0], carol).finish()
    page = as_alice.get(project.get_absolute_url()).text
    card = page[page.index('id="assignment"') :]
    assert "Everybody gets every item. The first 2 items are for everybody" in card
    assert ["carol", "10", "0", "1", "1", "left"] in rows(card) and ["dave", "10", "0", "0", "2", "left"] in rows(card)
    for address in (project.get_absolute_url(), reverse("annotations:items", args=[project.pk])):
        own = as_carol.get(address).text
        assert "First comes the calibration set: 1 item is left for you to do." in own
    assert "calibration set" in as_carol.get(next_item(project, 1)).text
    Annotation.start(project.all_items()[1], carol).finish()
    assert "calibration" not in as_carol.get(project.get_absolute_url()).text
    assert "calibration set" not in as_carol.get(next_item(project, 2)).text


def next_item(project, position):
    return reverse("annotations:item", args=[project.pk, project.all_items()[position].pk])


def test_the_preview_follows_what_is_filled_in_and_stores_nothing(as_alice, project, carol):
    Annotation.start(project.all_items()[0], carol)
    assert ["carol", "10", "10", "–", "1"] in rows(as_alice.get(address(project)).text)
    asked = {"annotators_per_item": "1", "overlap": "20", "calibration": ""}
    preview = as_alice.get(address(project), asked, headers={"hx-target": "foreseen"}).text
    assert "20 % of the items go to everybody, each of the others to 1 annotator." in preview and "<form" not in preview
    assert ["carol", "10", "6", "−4", "1"] in rows(preview) and ["dave", "10", "6", "−4", "0"] in rows(preview)
    assert Project.objects.get().rule == AssignmentRule()
    wrong = as_alice.get(address(project), {**asked, "overlap": "100"}, headers={"hx-target": "foreseen"})
    assert "A whole number from 0 to 99 was expected." in wrong.text


def test_the_preview_counts_the_marks_that_go_with_items_not_begun(as_alice, project, alice, carol):
    body = {"verb": "propagate", "kind": "entity", "form": {"tokens": ["item"]}}
    body["form"]["label"] = project.entity_ontology.items().get(name="State").uid
    for person in (alice, carol):
        all_alike.apply(project, person, body)
    Annotation.start(project.all_items()[0], carol)
    asked = {"annotators_per_item": "1", "overlap": "", "calibration": ""}
    preview = as_alice.get(address(project), asked, headers={"hx-target": "foreseen"}).text
    lost = {
        row[0]: int(row[-1]) for row in rows(preview.split("Shared items")[0]) if row[0] in ("alice", "carol", "dave")
    }
    assert lost == {"alice": 10, "carol": 5, "dave": 0} and "Deleted: <b>15 marks</b>" in preview
    as_alice.post(address(project), asked)
    assert Entity.objects.filter(annotation__annotator__isnull=False).count() == 20 - 15
    again = as_alice.get(address(project), asked, headers={"hx-target": "foreseen"}).text
    assert "deleted" not in again.lower()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"annotators_per_item": "0"}, "A whole number from 1 to 100 was expected."),
        ({"overlap": "10"}, "Everybody gets every item: say how many"),
        ({"calibration": "501"}, "A whole number from 0 to 500 was expected."),
        ({"calibration": "x"}, "A whole number from 0 to 500 was expected."),
    ],
)
def test_what_makes_no_sense_is_said_and_stays_as_it_was_typed(as_alice, project, values, said):
    answer = as_alice.post(address(project), {"annotators_per_item": "", "overlap": "", "calibration": "", **values})
    assert answer.status_code == 422 and said in answer.text
    assert all(f'value="{value}"' in answer.text for value in values.values())
    assert Project.objects.get().rule == AssignmentRule()


def test_the_rule_is_stored_and_changed_back(as_alice, project):
    sent = {"annotators_per_item": "1", "overlap": "", "calibration": "3"}
    assert as_alice.post(address(project), sent).headers["HX-Redirect"] == project.get_absolute_url()
    assert Project.objects.get().rule == AssignmentRule(1, calibration=3) and Assignment.objects.count() == 7
    page = as_alice.get(project.get_absolute_url()).text
    back = re.search(r'hx-get="([^"]+)"[^>]*>Change back…', page)[1].replace("&amp;", "&")
    dialog = as_alice.get(back).text
    assert "<b>Everybody gets every item.</b>" in dialog and ["carol", "7", "10", "+3", "0"] in rows(dialog)


def test_queries_do_not_grow_with_items_or_people(alice, as_alice):
    def count(items, people):
        everybody = [factories.user(f"{items}-{n}") for n in range(people)]
        text = "".join(f"item {n}\n" for n in range(items))
        project = factories.project(by=alice, annotators=everybody, text=text)
        for number in range(0, items, 2):
            Annotation.start(project.dataset.items()[number], everybody[0])
        sent = {"annotators_per_item": "1", "overlap": "50", "calibration": ""}
        chosen = {"all": 1, "count": items, "people": [each.pk for each in everybody[1:]]}
        hands = [f"/projects/{project.pk}/items/{verb}/" for verb in ("give", "take")]
        steps = [
            lambda: as_alice.get(address(project), sent, headers={"hx-target": "foreseen"}),
            lambda: as_alice.post(address(project), sent),
            *(partial(as_alice.post, path, chosen | more) for path in hands for more in ({}, {"agree": 1})),
        ]
        as_alice.get(f"/projects/{project.pk}/items/")  # counts what is new
        counts = []
        for step in steps:
            counts.append(len(queries_of(step)))
        return counts

    few, many = count(4, 2), count(40, 8)
    assert few == many and max(many) <= 50


def test_many_items_are_assigned_by_a_job(as_alice, project, monkeypatch):
    monkeypatch.setattr(AssignsItems, "PORTION", 4)
    sent = {"annotators_per_item": "1", "overlap": "", "calibration": ""}
    answer = as_alice.post(address(project), sent)
    job = Job.objects.get()
    assert answer.headers["HX-Redirect"] == f"/jobs/{job.pk}/" and not Assignment.objects.exists()
    jobs.finish(kind="assign")
    assert Assignment.objects.count() == 10 and Project.objects.get().rule == AssignmentRule(1)
    done = as_alice.get(f"/jobs/{job.pk}/", follow=True)
    assert done.redirect_chain == [(project.get_absolute_url(), 302)]
    assert "Each item goes to 1 annotator. What was begun has stayed" in done.text
