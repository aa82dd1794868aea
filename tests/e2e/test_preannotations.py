"""A preannotation set in the browser: from a file to a table that is edited by keys, taken back and downloaded."""

import pytest
from playwright.sync_api import expect

from resources.models import PreannotationSet
from tests import factories
from tests.e2e.waiting import all_saved, settled
from tests.resource_sets import document_of, make

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

TABLE = "surface_form;label\npump;PhysicalObject\nreplace;Replace\nworn;State\n"


@pytest.fixture(autouse=True)
def switched_on(settings):
    settings.PREANNOTATION_RESOURCES = True


def test_from_a_file_to_an_edited_table_and_back(page, sign_in, alice):
    factories.ontology(owner=alice, name="Maintenance entities")
    sign_in(page, alice)
    page.goto("/")
    page.get_by_role("link", name="Preannotations").click()
    page.get_by_role("link", name="New preannotations").first.click()
    page.get_by_label("Name").fill("Lexicon")
    page.get_by_label("Entity labels of").select_option(label="Maintenance entities")
    page.get_by_text("Upload a file").click()
    page.locator("input[type=file]").set_input_files(
        {"name": "lexicon.csv", "mimeType": "text/csv", "buffer": TABLE.encode("utf-8-sig")}
    )
    page.get_by_role("button", name="Check only").click()
    expect(page.locator("#report")).to_contain_text("3 preannotations can be stored")
    page.get_by_role("button", name="Create preannotations").click()
    expect(page.locator("#facts")).to_contain_text("3 preannotations")
    rows, dialog = page.locator("#rows tbody tr"), page.locator("#dialog")

    page.get_by_role("button", name="pump").click()
    field = page.get_by_role("textbox", name="Form", exact=True)
    expect(field).to_be_focused()
    field.fill("oil pump")
    field.press("Escape")
    expect(page.get_by_role("button", name="pump", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    field.fill("fuel pump")
    field.press("Enter")
    expect(page.get_by_role("button", name="fuel pump")).to_be_focused()
    expect(page.get_by_role("button", name="Undo change")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(field).to_have_value("replace")
    field.fill("exchange")
    page.get_by_role("heading", name="Lexicon").click()  # leaving it saves it
    expect(page.get_by_role("button", name="exchange")).to_be_visible()

    rows.nth(2).get_by_role("button", name="State").click()
    dialog.get_by_role("searchbox").fill("thermo")
    dialog.get_by_role("searchbox").press("Enter")
    expect(dialog).not_to_be_visible()
    expect(rows.nth(2)).to_contain_text("Thermostat")

    page.keyboard.press("n")
    expect(field).to_be_focused()
    page.keyboard.type("check")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("heading", name="Label of “check”")).to_be_visible()
    dialog.get_by_role("searchbox").fill("activity")
    dialog.get_by_role("searchbox").press("Enter")
    expect(dialog.get_by_role("button", name="Add Enter")).to_be_focused()
    page.keyboard.press("Enter")
    expect(rows).to_have_count(4)
    expect(field).to_be_focused()
    page.keyboard.type("clean")
    page.keyboard.press("Enter")
    expect(rows).to_have_count(5)
    page.keyboard.press("Escape")
    expect(dialog).not_to_be_visible()

    page.get_by_role("button", name="fuel pump").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Delete")
    expect(dialog.get_by_role("heading", name="Remove 2 rows?")).to_be_visible()
    dialog.get_by_role("button", name="Remove").click()
    expect(rows).to_have_count(3)
    page.keyboard.press("Control+z")
    expect(rows).to_have_count(5)
    page.get_by_role("searchbox").fill("CLEAN")
    expect(rows).to_have_count(1)
    settled(page)
    page.locator("summary", has_text="Download").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Table").click()
    text = download.value.path().read_bytes().decode()
    assert text.splitlines()[1:3] == ["fuel pump,PhysicalObject", "exchange,Activity/Replace"]
    assert text.splitlines()[3:] == ["worn,PhysicalObject/SensingObject/Thermostat", "check,Activity", "clean,Activity"]
    assert "".join(PreannotationSet.objects.get().csv_document()) == text


def test_what_a_file_suggests_is_accepted_or_rejected_for_good(page, other_page, sign_in, alice, carol):
    project = factories.project(by=alice, annotators=[carol], text="the pump drives another pump\n")
    sign_in(page, alice)
    page.goto("/preannotations/new/")
    page.get_by_label("Name").fill("Lexicon")
    page.get_by_label("Entity labels of").select_option(index=1)
    page.get_by_text("Upload a file").click()
    document = b'[{"surface_form": "pump", "label": "PhysicalObject"}]'
    page.locator("input[type=file]").set_input_files(
        {"name": "lexicon.json", "mimeType": "application/json", "buffer": document}
    )
    page.get_by_role("button", name="Create preannotations").click()
    page.get_by_role("button", name="Use in a project").click()
    page.get_by_role("button", name="Add to Pumps").click()
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("heading", name="Pumps")).to_be_visible()

    sign_in(other_page, carol)
    desk = f"/projects/{project.pk}/annotate/{project.dataset.items().get().pk}/"
    marks = other_page.locator(".mark-name")
    other_page.goto(desk)
    expect(marks).to_have_text(["PhysicalObject ?"] * 2)
    for key in ("Tab", "Space", "Tab"):
        other_page.keyboard.press(key)
    other_page.get_by_role("button", name="Reject Del").click()
    expect(marks).to_have_text(["PhysicalObject"])
    all_saved(other_page)

    project.match_preannotations(by=alice)
    other_page.goto(desk)
    expect(marks).to_have_text(["PhysicalObject"])
    page.goto(project.preannotation_sets().get().get_absolute_url())
    page.get_by_role("link", name="How they fare").click()
    expect(page.locator("#rows tbody tr").last).to_contain_text("pump")
    expect(page.locator("#rows tbody tr").last.locator("td.num")).to_have_text(["2", "1", "1", "–"])


def test_what_somebody_else_changed_meanwhile_is_shown_beside_what_was_typed(page, sign_in, alice, labels, problems):
    problems.expect("409")
    lexicon = make("entity_preannotations", owner=alice, **labels)
    sign_in(page, alice)
    page.goto(lexicon.get_absolute_url())
    page.get_by_role("button", name="Ölpumpe").click()
    field = page.get_by_role("textbox", name="Form", exact=True)
    expect(field).to_be_focused()
    lexicon.change_row(lexicon.rows().last().pk, {"surface_form": "theirs"}, by=alice)
    field.fill("mine")
    field.press("Enter")
    expect(page.get_by_role("alert")).to_have_text(
        "Somebody changed this meanwhile, to “theirs”. Save again to replace it."
    )
    expect(field).to_have_value("mine")
    field.press("Enter")
    expect(page.get_by_role("button", name="mine")).to_be_visible()
    assert document_of(lexicon)[-1]["surface_form"] == "mine"
