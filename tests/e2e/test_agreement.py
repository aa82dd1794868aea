"""The pages about agreement in a browser: what is told later, the ways to places, and that everybody can read them."""

import random

import pytest
from playwright.sync_api import Page, expect

from tests import factories
from tests.e2e.test_axe import serious
from tests.quality.conftest import say

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]
LABELS = ("PhysicalObject", "SensingObject", "Thermostat", "DrivingObject", "Activity", "State")


@pytest.fixture
def project(alice, carol, dave):
    people = [carol, dave, factories.user("erin"), factories.user("frank")]
    text = "".join(f"left air conditioner thermostat {n} not working since monday\n" for n in range(12))
    project = factories.project(by=alice, annotators=people, text=text, calibration=5)
    rng = random.Random(5)
    for item in project.dataset.items():
        for person in people:
            marks = [f"{LABELS[n if rng.random() < 0.8 else rng.randrange(6)]} {n}" for n in range(6)]
            say(item, person, *marks, f"hasPart: {marks[0]} > {marks[1]}")
    return project


def test_from_the_figures_to_their_places(live_server, page: Page, sign_in, alice, project):
    sign_in(page, alice)
    for part in ("labels/", "confusion/", "weeks/", "calibration/", "places/?kind=label", ""):
        page.goto(f"{live_server.url}/projects/{project.pk}/agreement/{part}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert serious(page) == []
    page.get_by_role("link", name="Tree credit").click()
    page.get_by_title("carol and dave, 12 items").first.click()
    expect(page.get_by_role("heading", name="Where marks differ")).to_be_visible()
    expect(page.get_by_role("combobox", name="One")).to_have_value("carol")
    page.get_by_role("row").nth(1).get_by_role("link").click()
    expect(page).to_have_url(f"{live_server.url}/projects/{project.pk}/review/{project.dataset.items()[0].pk}/")
