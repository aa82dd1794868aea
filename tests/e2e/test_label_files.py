"""Ontologies from files: what a file is, is seen beside the form; a table over an ontology is looked at, then applied."""

import pytest
from playwright.sync_api import expect

from ontologies.models import Ontology
from tests import factories
from tests.ontologies.test_label_files import OWL_XML

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def test_a_file_is_recognised_beside_the_form_and_read_in_the_chosen_language(page, sign_in, alice):
    sign_in(page, alice)
    page.goto("/ontologies/new/")
    page.get_by_text("Upload a file").click()
    page.set_input_files("[name=file]", {"name": "pumps.owl", "mimeType": "text/xml", "buffer": OWL_XML.encode()})
    seen = page.locator("#recognised")
    expect(seen).to_contain_text(
        "This is OWL: 4 classes, 2 object properties, labels in en and pt. 4 items will be created."
    )
    page.get_by_text("Relations", exact=True).click()
    expect(seen).to_contain_text("2 items will be created")
    page.get_by_text("Entities", exact=True).click()
    expect(seen).to_contain_text("4 items will be created")
    page.get_by_label("Language").select_option("pt")
    expect(page.get_by_label("Language")).to_have_value("pt")
    page.get_by_role("button", name="Create ontology").click()
    expect(page.get_by_role("treeitem", name="Bomba")).to_be_visible()
    expect(page.locator("body")).to_contain_text("Left out: restrictions (1)")


def test_what_is_pasted_is_recognised_while_it_is_typed(page, sign_in, alice):
    sign_in(page, alice)
    page.goto("/ontologies/new/")
    page.get_by_text("Paste a list").click()
    page.locator("#id_text").fill("name,parent\nPump,\nPiston pump,Pump\n")
    expect(page.locator("#recognised")).to_contain_text(
        "This is a table (CSV): the columns name and parent. 2 items will"
    )
    page.get_by_label("Parent").select_option("none")
    expect(page.get_by_label("Parent")).to_have_value("")
    page.locator("#id_text").fill("Pump\n  Piston pump\n")
    expect(page.locator("#recognised")).to_contain_text("This is a list of names: 2 lines. 2 items will be created.")
    page.get_by_label("Name", exact=False).first.fill("Pumps")
    page.get_by_role("button", name="Create ontology").click()
    expect(page.get_by_role("treeitem", name="Piston pump")).to_be_visible()


def test_a_table_is_seen_applied_and_undone(page, problems, sign_in, alice):
    problems.expect("422")  # it is shown again
    ontology = factories.ontology(owner=alice, name="Maintenance")
    first, second, *_ = ontology.labels()
    table = f"id,path,description\n{first.uid},Thing,Things that can be touched.\n{second.uid},Thing/Sensor,Feels\n"
    table += ",Thing/Tool,\nffffffff,X,\n"
    sign_in(page, alice)
    page.goto(f"/ontologies/{ontology.pk}/")
    page.get_by_label("More actions").click()
    page.get_by_role("button", name="Upload over it…").click()
    page.set_input_files("#dialog [name=file]", {"name": "x.csv", "mimeType": "text/csv", "buffer": table.encode()})
    seen = page.locator("#foreseen")
    expect(seen).to_contain_text(
        "1 added, 2 renamed, 1 described anew, 5 labels are not in the file and stay as they are."
    )
    expect(seen).to_contain_text("The id ffffffff is not in this ontology.")
    ontology.add_item("Tool", by=alice, parent=ontology.items()[0])
    page.get_by_role("button", name="Apply").click()
    expect(seen).to_contain_text("This has changed meanwhile")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("#dialog")).to_be_hidden()
    expect(page.get_by_role("treeitem", name="Sensor", exact=False).first).to_be_visible()
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("treeitem", name="PhysicalObject")).to_be_visible()
    assert Ontology.objects.get().labels()[1].name == "SensingObject"
