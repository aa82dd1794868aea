"""The assignment of a project is changed half-way, with a look at who gains and loses what, and changed back."""

import re

import pytest
from playwright.sync_api import Page, expect

from datasets.models import Annotation
from projects.assignment.rule import AssignmentRule
from projects.models import Project
from tests import factories
from tests.e2e.test_axe import serious

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def test_the_assignment_is_changed_half_way(page: Page, sign_in, alice, carol, dave):
    project = factories.project(by=alice, annotators=[carol, dave], text="".join(f"item {n}\n" for n in range(10)))
    for item in project.all_items()[:6]:
        Annotation.start(item, carol).finish()
    sign_in(page, alice)
    page.goto(f"/projects/{project.pk}/")
    card = page.locator("#assignment")
    expect(card.get_by_text("Everybody gets every item.")).to_be_visible()
    card.get_by_role("button", name="Change the assignment").click()
    dialog = page.locator("#dialog")
    dialog.get_by_label("Annotators per item").fill("1")
    expect(dialog.get_by_role("row", name="carol 10 6 −4 6")).to_be_visible()
    expect(dialog.get_by_role("row", name="dave 10 4 −6 0")).to_be_visible()
    dialog.get_by_label("Sample for everybody").fill("100")
    expect(dialog.get_by_text("A whole number from 0 to 99 was expected.")).to_be_visible()
    dialog.get_by_label("Sample for everybody").fill("20")
    expect(dialog.get_by_text("20 % of the items go to everybody, each of the others to 1 annotator.")).to_be_visible()
    assert not serious(page)
    dialog.get_by_role("button", name="Assign").click()
    expect(page.get_by_text("What was begun has stayed where it was.")).to_be_visible()
    expect(card.get_by_role("row", name="carol 7 0 6")).to_be_visible()
    assert Project.objects.get().rule == AssignmentRule(1, overlap=20)
    card.get_by_role("button", name="Change back…").click()
    expect(dialog.get_by_role("row", name="dave 5 10 +5 0")).to_be_visible()
    dialog.get_by_role("button", name="Assign").click()
    expect(card.get_by_role("row", name="dave 10 0 0")).to_be_visible()


def test_before_items_are_given_or_evened_out_it_is_named_who_loses_how_many(page: Page, sign_in, alice, carol, dave):
    text = "".join(f"item {n}\n" for n in range(48))  # on one page
    people = [carol, dave, *(factories.user(f"person{n:02}") for n in range(10))]
    project = factories.project(by=alice, annotators=people, text=text, annotators_per_item=1)
    for item in project.items_for(dave)[:2]:
        Annotation.start(item, dave)
    sign_in(page, alice)
    page.goto(f"/projects/{project.pk}/items/")
    page.locator("#rows thead [type=checkbox]").check()
    page.get_by_role("button", name="Give to…").click()
    dialog = page.locator("#dialog")
    dialog.get_by_label("carol").check()
    losses = dialog.get_by_role("list", name="Who loses items").get_by_role("listitem")
    expect(losses).to_have_count(11)
    expect(losses.last).to_have_text(re.compile(r"and \d+ others?"))
    lost = [int(re.search(r"loses (\d+) of", line).group(1)) for line in losses.all_text_contents()[:10]]
    assert lost == sorted(lost, reverse=True) and lost[-1] > 0
    assert not serious(page)
    dialog.get_by_label("carol").uncheck()
    expect(losses).to_have_count(0)
    dialog.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Take from…").click()
    dialog.get_by_label("dave").check()
    expect(losses.first).to_have_text(re.compile(r"dave loses 2 of 4 items; the 2 begun\s+stay"))
    dialog.get_by_role("button", name="Take away").click()
    expect(page.locator("#toasts")).to_contain_text("2 items taken from dave.")
