"""A new project in steps: what was entered stays, and it is made once."""

import re

import pytest
from playwright.sync_api import Page, expect

from projects.models import Project
from tests import factories
from tests.e2e.typists import as_people_type
from tests.e2e.waiting import settled

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

GUIDELINES = "Mark every pump.⏎Ask."


@pytest.fixture
def start(page, sign_in, alice, carol):
    factories.ontology(owner=alice, name="Labels")
    factories.ontology(owner=alice, name="Other labels")
    factories.dataset(owner=alice, name="Orders")
    sign_in(page, alice)
    page.goto("/projects/")
    page.goto("/projects/new/")
    settled(page)


def choose(page: Page) -> None:
    page.goto("/projects/new/#step-dataset")
    page.locator("[name=dataset]").select_option(label=page.locator("[name=dataset] option").nth(1).inner_text())
    settled(page)
    page.locator("#step-dataset").get_by_role("link", name="Next").click()
    page.locator("[name=entity_ontology]").select_option(index=2)
    page.locator(".step-list").get_by_role("link", name="People").click()
    page.locator("[name=annotators]").fill("carol")


def is_as_entered(page: Page, chosen: str) -> None:
    expect(page.locator("[name=guidelines]")).to_have_value(GUIDELINES.replace("⏎", "\n"))
    expect(page.locator("[name=name]")).to_have_value("Pumps")
    expect(page.locator("[name=annotators]")).to_have_value("carol")
    expect(page.locator("[name=dataset] option:checked")).to_have_text(re.compile("Orders"))
    expect(page.locator("[name=entity_ontology]")).to_have_value(chosen)


@as_people_type(speed=60, latency=150)
def test_what_was_entered_stays_over_steps_and_reloads_and_is_made_once(start, page, typist, problems):
    problems.expect("ERR_INTERNET_DISCONNECTED", "htmx:", "net::")
    expect(page.locator("[name=name]")).to_be_focused()
    page.keyboard.type("Pumps", delay=30)
    page.locator("[name=guidelines]").focus()
    typist.type(GUIDELINES)
    typist.mend()
    choose(page)
    chosen = page.locator("[name=entity_ontology]").input_value()
    page.go_back()
    page.go_forward()
    is_as_entered(page, chosen)
    page.wait_for_timeout(400)
    page.reload()
    expect(page.locator(".draft-note")).to_contain_text("was brought back")
    settled(page)
    is_as_entered(page, chosen)
    page.locator(".step-list").get_by_role("link", name="Review").click()
    expect(page.locator("#review")).to_contain_text("carol")
    page.reload()
    expect(page.locator("#review")).to_contain_text("carol")
    page.locator("#create-project").click()
    page.wait_for_url(re.compile(r"/projects/\d+/"))
    project = Project.objects.get()
    assert page.url.endswith(f"/projects/{project.pk}/")  # without the step
    assert project.guidelines.replace("\r\n", "\n") == GUIDELINES.replace("⏎", "\n")
    settled(page)

    page.go_back()
    settled(page)
    page.wait_for_timeout(300)
    expect(page.locator("[name=guidelines]")).to_have_value("")
    expect(page.locator("[name=name]")).to_have_value("")
    expect(page.locator(".draft-note")).to_have_count(0)
    assert Project.objects.count() == 1


def test_a_refused_project_says_so_and_keeps_its_draft(start, page, problems):
    problems.expect("422")
    page.keyboard.type("Pumps")
    page.locator("[name=guidelines]").fill("Mark.")
    page.goto("/projects/new/#step-review")
    page.locator("#create-project").click()
    expect(page.locator("#link-dataset.bad")).to_have_count(1)
    page.goto("/projects/")
    page.goto("/projects/new/")
    expect(page.locator(".draft-note")).to_contain_text("was brought back")
    expect(page.locator("[name=guidelines]")).to_have_value("Mark.")
