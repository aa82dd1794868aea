"""When the database is away or the disk is full: it is said where people look, and nothing that they did is lost."""

from unittest import mock

import pytest
from playwright.sync_api import expect

from annotation_service import accounts
from datasets.models import Annotation, Entity
from ontologies.models import Ontology
from tests import factories, faults

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]
FULL = "There is no room left on the server’s disk"


def break_down(*args, **values):
    """As when the connection was lost after the request had begun to write: nobody knows what was stored."""
    Entity.objects.filter(pk=0).delete()
    faults.lose()
    Entity.objects.count()


@pytest.mark.database
@pytest.mark.parametrize(
    ("fault", "status", "said"),
    [
        (faults.fill, "507", "2 not saved yet: no room left on the server, trying again"),
        (break_down, "503", "2 not saved yet, trying again"),
    ],
    ids=["full", "lost"],
)
def test_marks_wait_until_they_can_be_stored(desk, page, problems, fault, status, said):
    problems.expect(status)
    with mock.patch.object(Annotation, "start", side_effect=lambda *args: fault()):
        desk.mark(0, "state")
        desk.mark(1, "thermo")
        expect(page.locator("#saved")).to_have_text(said)
        expect(page.locator(".mark-name")).to_have_count(2)
        assert not Entity.objects.exists()
    expect(page.locator("#saved")).to_have_text("✓ all saved")
    assert [start for start, *_ in desk.stored()] == [0, 1]


def test_a_form_for_which_there_was_no_room_is_sent_again(page, sign_in, alice, problems):
    problems.expect("507")
    sign_in(page, alice)
    page.goto("/ontologies/new/")
    page.get_by_label("Name").fill("Pumps & <valves>")
    page.get_by_label("Description").fill("Two\nlines")
    with mock.patch.object(Ontology, "create", side_effect=lambda **values: faults.fill()):
        page.locator("main form button.primary").click()
        expect(page.locator("main")).to_contain_text(FULL)
        page.get_by_role("button", name="Send it again").click()
        expect(page.locator("main")).to_contain_text(FULL)
    page.get_by_role("button", name="Send it again").click()
    expect(page.locator("h1")).to_have_text("Pumps & <valves>")
    assert Ontology.objects.get().description == "Two\nlines"


def test_a_dialog_keeps_what_was_typed(page, sign_in, alice, problems):
    problems.expect("507")
    ontology = factories.ontology(owner=alice)
    sign_in(page, alice)
    page.goto(f"/ontologies/{ontology.pk}/")
    page.locator("details.menu", has=page.get_by_text("Rename or describe")).locator("summary").click()
    page.get_by_text("Rename or describe").click()
    name = page.locator("#dialog [name=name]")
    name.fill("Pumps")
    with mock.patch.object(Ontology, "edit", side_effect=lambda *args, **values: faults.fill()):
        name.press("Enter")
        expect(page.locator(".toast.error")).to_contain_text(FULL)
        expect(name).to_have_value("Pumps")
        expect(page.locator("#dialog .button.primary")).to_be_enabled()  # until then the form is being sent
    name.press("Enter")
    expect(page.locator("h1")).to_contain_text("Pumps")


def test_a_page_comes_by_itself_when_the_database_is_back(page, sign_in, alice, problems):
    problems.expect("503")
    sign_in(page, alice)
    with mock.patch.object(accounts, "first", side_effect=lambda *args: break_down()):
        page.goto("/ontologies/")
        expect(page.locator("h1")).to_have_text("One moment")
    expect(page.locator("h1")).to_have_text("Ontologies")
