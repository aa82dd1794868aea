"""A project from its first step to the bin and back, in a browser."""

import re

import pytest
from playwright.sync_api import Page, expect

from projects.models import Project
from tests.datasets import marked
from tests.e2e.test_axe import serious
from tests.e2e.waiting import settled
from tests.resource_sets import make

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]
RULES = [{"domain": "PhysicalObject", "excludes": [], "can_contain": ["State"]}]


def step(page: Page, name: str):
    page.get_by_role("navigation", name="Steps").get_by_role("link", name=name).click()
    return page.locator(".step:visible")


def make_in_steps(page: Page, dataset, entities) -> None:
    """Back and forth: a mistake is told when its step is left, and what was typed stays."""
    page.goto("/projects/new/")
    expect(page.locator(".step:visible")).to_have_count(1)
    step(page, "People").get_by_label("Annotators", exact=False).first.fill("carol, nobody")
    step(page, "Task").get_by_label("Entities and relations").check()
    page.get_by_label("Name").press("Enter")  # leads to the next step, and makes nothing
    held = []
    page.route("**/*fresh=1*", lambda route: held.append(route))
    with page.expect_request("**/*fresh=1*"):
        page.get_by_label("Dataset", exact=True).select_option(str(dataset.pk))
    for waiting in (page.get_by_label("Entity constraints"), page.locator("#create-project")):
        expect(waiting).to_be_disabled()  # what is chosen or sent now would miss the answer
    held[0].continue_()
    page.unroute("**/*fresh=1*")
    expect(page.locator("#create-project")).to_be_enabled()
    expect(page.locator("#link-people")).to_contain_text("something is wrong")
    expect(page.locator("#errors-name")).to_contain_text("This field is required")
    page.get_by_role("link", name="Next").locator("visible=true").click()
    expect(page.get_by_label("Entity ontology")).to_have_value(str(entities.pk))
    step(page, "Constraints").get_by_label("Entity constraints").select_option(index=1)
    expect(page.get_by_text("Marks of the dataset break these constraints 1 time.")).to_be_visible()
    step(page, "Given marks").get_by_label("Accepted", exact=False).check()
    review = step(page, "Review")
    expect(review).to_contain_text("Something is to be put right first: Task, Constraints, People")
    expect(review).to_contain_text("no account with the user name “nobody”")
    assert not serious(page)
    review.get_by_role("link", name="Constraints").first.click()
    page.get_by_label("Keep these marks as they are").check()
    page.go_back()  # to the review, and from there to the step before it
    step(page, "People").get_by_label("Annotators", exact=False).first.fill("carol")
    step(page, "Task").get_by_label("Name").fill("Pumps")
    review = step(page, "Review")
    expect(review).to_contain_text("accepted")
    expect(review).not_to_contain_text("put right")
    review.get_by_role("button", name="Create project").click()
    expect(page.get_by_role("heading", name="Pumps")).to_be_visible()
    expect(page.get_by_text("1 violation of 1 rule")).to_be_visible()


def test_a_project_is_made_in_steps_archived_restored_duplicated_deleted_and_brought_back(
    page: Page, sign_in, alice, carol
):
    dataset = marked.dataset(owner=alice)
    entities, _ = dataset.given_ontologies()
    make("entity_constraints", owner=alice, entities=entities, relations=None, document=RULES, name="Rules")
    sign_in(page, alice)
    make_in_steps(page, dataset, entities)
    project = Project.objects.get()
    assert project.dataset.given_status == "accepted" and project.constraint_sets().count() == 1

    page.get_by_role("link", name="Settings").click()
    page.get_by_role("button", name="Archive").click()
    expect(page.get_by_text("This project was archived")).to_be_visible()
    expect(page.get_by_label("Guidelines")).to_have_count(0)
    page.goto("/projects/")
    expect(page.get_by_role("link", name="Pumps")).to_have_count(0)
    page.get_by_role("link", name="Archived").click()
    page.get_by_role("link", name="Pumps").click()
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_text("is no longer archived")).to_be_visible()

    page.get_by_label("Guidelines").fill("Think first.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Duplicate…").click()
    page.get_by_label("The people").check()
    page.get_by_label("everybody’s marks").check()
    page.get_by_role("dialog").get_by_role("button", name="Duplicate").click()
    expect(page.get_by_role("heading", name="Pumps (copy)")).to_be_visible()
    expect(page.get_by_text("Think first.")).to_be_visible()
    page.get_by_role("link", name="Settings").click()
    expect(page.get_by_role("button", name="Delete…")).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Delete…").click()
    page.get_by_label("Type the project’s name").fill("Pumps (copy)")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("is in the bin")).to_be_visible()
    page.get_by_role("link", name=re.compile("^Bin")).click()
    expect(page.get_by_role("button", name="Restore Pumps (copy)")).to_be_visible()
    settled(page)
    assert not serious(page)
    page.get_by_role("button", name="Restore Pumps (copy)").click()
    expect(page.get_by_role("heading", name="Pumps (copy)")).to_be_visible()
