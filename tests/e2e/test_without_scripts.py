"""With scripts switched off: every page says what still works, and that works."""

import pytest
from playwright.sync_api import expect

from tests import factories

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

NOTE = "JavaScript is switched off in this browser"


def test_people_sign_in_read_and_download(page_without_scripts, alice, carol):
    page, project = page_without_scripts, factories.project(by=alice, annotators=[carol])
    page.goto("/accounts/login/")
    note = page.locator(".no-scripts")
    expect(note).to_contain_text(f"{NOTE}. Pages can be read, forms sent and files downloaded.")
    page.get_by_label("User name").fill("alice")
    page.get_by_label("Password", exact=True).fill("a-long-password")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Hello alice")).to_be_visible()
    for name in ("Ontologies", "Constraints", "Datasets", "Projects"):
        page.get_by_role("link", name=name, exact=True).click()
        expect(page.locator("h1")).to_have_text(name)
        expect(note).to_be_visible()
    page.goto(f"/datasets/{project.dataset.pk}/")
    page.get_by_placeholder("Search in the texts").fill("thermostat")
    page.keyboard.press("Enter")
    expect(page.locator(".items tbody tr")).to_have_count(1)
    page.locator(".page-head summary", has_text="Download").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Text the originals").click()
    assert download.value.suggested_filename == "work-orders.txt"
    expect(page.get_by_role("checkbox")).to_have_count(0)  # nothing would happen


def test_the_editor_and_the_workspace_say_what_they_need(page_without_scripts, sign_in, alice, carol):
    page, project = page_without_scripts, factories.project(by=alice, annotators=[carol])
    sign_in(page, carol)
    page.goto(f"/projects/{project.pk}/annotate/{project.dataset.items()[0].pk}/")
    note = page.locator(".no-scripts")
    expect(note).to_contain_text(f"{NOTE}, and annotating needs it.")
    expect(page.get_by_text("all saved")).to_be_hidden()
    note.get_by_role("link", name="project").click()
    page.get_by_role("link", name="entity labels").first.click()
    expect(note).to_contain_text("Labels cannot be changed here without it.")
    expect(page.get_by_role("button", name="History")).to_be_hidden()
    note.get_by_role("link", name="codebook").click()
    expect(page.locator(".entry")).to_have_count(7)
    page.get_by_label("Labels", exact=True).select_option("PhysicalObject")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".entry")).to_have_count(4)
    expect(page.get_by_role("button", name="Print")).to_be_hidden()


def test_a_new_project_is_one_form(page_without_scripts, sign_in, alice):
    page = page_without_scripts
    dataset, ontology = factories.dataset(owner=alice), factories.ontology(owner=alice)
    sign_in(page, alice)
    page.goto("/projects/new/")
    page.get_by_label("Name").fill("Plain")
    page.get_by_label("Dataset", exact=True).select_option(str(dataset.pk))
    page.get_by_label("Entity ontology").select_option(str(ontology.pk))
    page.get_by_role("button", name="Create project").click()
    expect(page.get_by_role("heading", name="Plain")).to_be_visible()
