"""The table of a project's items in a browser: filtered, chosen and given to somebody, without the mouse."""

import pytest
from playwright.sync_api import expect

from tests import factories
from tests.annotations.own_work import work
from tests.e2e.test_axe import serious
from tests.e2e.waiting import settled
from work.models import Flag

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

TEXT = "".join(f"{'valve' if n % 4 == 0 else 'pump'} no {n} is leaking\n" for n in range(1, 401))


@pytest.mark.database
def test_300_filtered_items_are_given_to_somebody_with_keys_alone(page, sign_in, alice, carol, dave):
    project = factories.project(by=alice, annotators=[carol, dave], text=TEXT, annotators_per_item=1)
    work(project, dave, {1: "done", 2: "begun"})
    Flag.put(project.dataset.items()[0], dave, kind="issue")
    sign_in(page, alice)
    page.goto(f"/projects/{project.pk}/")
    page.get_by_role("link", name="Items", exact=True).click()
    row, bar, dialog = page.locator("#items tbody tr"), page.locator("#selection"), page.locator("#dialog")
    expect(row).to_have_count(50)
    settled(page)
    assert not serious(page)
    # Who has the first item, since when, and the way to their marks.
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("just now")
    expect(dialog.get_by_role("link", name="Read the marks of dave")).to_be_visible()
    assert not serious(page)
    page.keyboard.press("Escape")
    # A range on this page, then all that match.
    page.keyboard.press("/")
    page.keyboard.type("pump")
    expect(page.locator(".matching")).to_contain_text("300 items")
    settled(page)
    page.keyboard.press("ArrowDown")
    for key in (" ", "ArrowDown", "ArrowDown", "Shift+Space"):
        page.keyboard.press(key)
    expect(bar).to_contain_text("3 selected")
    page.keyboard.press("a")
    expect(bar).to_contain_text("50 selected")
    page.keyboard.press("a")
    expect(bar).to_contain_text("300 selected")
    had = project.items_for(carol).filter(search_text__contains="pump").count()
    page.keyboard.press("g")
    expect(dialog).to_contain_text("Give 300 items to")
    settled(page)
    page.keyboard.press("Tab")  # from the manager to carol
    page.keyboard.press("Space")
    expect(dialog.get_by_role("row", name="Given now")).to_contain_text(str(300 - had))
    expect(dialog.get_by_role("row", name="Had already")).to_contain_text(str(had))
    assert not serious(page)
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text(f"{300 - had} items given to carol")
    expect(dialog).to_be_hidden()
    expect(bar).to_be_hidden()
    settled(page)
    assert project.items_for(carol).filter(search_text__contains="pump").count() == 300
    # The table shows it, and its address is shared.
    expect(row.nth(1).locator(".people")).to_have_attribute("title", "begun: dave; untouched: carol")
    page.get_by_label("Whose").select_option("dave")
    page.get_by_label("State").select_option("Done by somebody")
    expect(row).to_have_count(1)
    assert "state=done" in page.url
    page.reload()
    expect(row).to_have_count(1)
    page.get_by_label("Go to item").fill("77")
    page.keyboard.press("Enter")
    page.wait_for_url("**#item-77")
    expect(page.locator("#item-77")).to_be_in_viewport()


def test_what_was_given_and_taken_by_hand_is_undone(page, sign_in, alice, carol, dave):
    people = [carol, dave, factories.user("erin")]  # among two, one of them would have every item with a valve
    project = factories.project(by=alice, annotators=people, text=TEXT, annotators_per_item=1)
    before = {person: set(project.items_for(person)) for person in people}
    sign_in(page, alice)
    page.goto(f"/projects/{project.pk}/items/?q=valve")
    settled(page)
    bar, dialog = page.locator("#selection"), page.locator("#dialog")
    of_carol = page.locator("#items tbody tr", has=page.locator("[title*=carol]"))

    def do_by_hand(verb, agree):
        page.get_by_label("Select all items on this page").check()
        bar.get_by_role("button", name="Select all 100 that match").click()
        bar.get_by_role("button", name=verb).click()
        dialog.get_by_label("carol").check()
        expect(dialog.get_by_role("row", name="now")).to_be_visible()
        dialog.get_by_role("button", name=agree, exact=True).click()
        expect(dialog).to_be_hidden()

    def undo():
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".toast").last).to_contain_text("Undone: ")
        expect(page.get_by_role("button", name="Undo")).to_have_count(0)
        settled(page)
        assert {person: set(project.items_for(person)) for person in people} == before

    own = project.items_for(carol).filter(search_text__contains="valve").count()
    do_by_hand("Give to…", "Give")
    expect(page.get_by_text(f"{100 - own} items given to carol. Had already: {own}.").first).to_be_visible()
    expect(of_carol).to_have_count(50)
    assert not serious(page)
    undo()
    expect(of_carol).not_to_have_count(50)
    do_by_hand("Take from…", "Take away")
    expect(page.get_by_text(f"{own} items taken from carol.").first).to_be_visible()
    expect(of_carol).to_have_count(0)
    undo()
    expect(of_carol).not_to_have_count(0)


def test_the_buttons_of_the_details_stay_in_sight_however_many_have_the_item(page, sign_in, alice):
    people = [factories.user(f"person{number:02}") for number in range(31)]
    project = factories.project(by=alice, annotators=people, text=TEXT)
    for person in people:
        work(project, person, {1: "done"})
    work(project, people[3], {2: "begun"})
    sign_in(page, alice)
    page.goto(f"/projects/{project.pk}/items/")
    dialog = page.locator("#dialog")
    for width in (1400, 360):
        page.set_viewport_size({"width": width, "height": 800})
        page.locator("#item-1 .row-link").click()
        expect(dialog.get_by_role("link", name="Read the marks of")).to_have_count(31)
        expect(dialog.get_by_role("link", name="Open in the dataset")).to_be_in_viewport(ratio=1)
        expect(dialog.get_by_role("link", name="Read the marks of person00")).to_be_in_viewport(ratio=1)
        page.keyboard.press("Escape")
        page.locator("#item-2 .row-link").click()
        expect(dialog.get_by_role("link", name="Read the marks of")).to_have_count(1)
        expect(dialog.get_by_text("person30")).to_be_hidden()
        dialog.get_by_text("30 people have not touched it").click()
        expect(dialog.get_by_text("person30")).to_be_visible()
        assert not serious(page)
        page.keyboard.press("Escape")
