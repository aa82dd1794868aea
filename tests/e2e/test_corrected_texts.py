"""A manager corrects a text that an annotator has open: what they did is on the words that they saw, or is still before them."""

import pytest
from playwright.sync_api import expect

from datasets.models import Annotation, Entity, TextCorrection
from datasets.models.correction import cut_anew
from tests import factories
from tests.e2e.desk import Desk
from tests.e2e.test_unsaved import CHANGES, cut, tab_of
from tests.e2e.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

WORDS = "one two three four five six seven eight nine ten eleven"
CORRECTED = "zero one two four five sixth seven eight nine ten eleven"


@pytest.fixture
def project(alice, carol):
    return factories.project(by=alice, annotators=[carol], text=f"{WORDS}\nanother pump\n")


@pytest.fixture
def correct(project, alice):
    """``correct(text)``: a manager corrects the text of the first item."""

    def correct(text):
        item = project.dataset.items()[0]
        TextCorrection.make(item, cut_anew(item, text), by=alice, was_version=item.text_version)

    return correct


def marked(desk: Desk, number: int = 1) -> list[str]:
    """The words that are marked in the database."""
    tokens = desk.item(number).tokens
    return [" ".join(tokens[start : end + 1]) for start, end, _ in desk.stored(number)]


def shown(desk: Desk) -> list[str]:
    """The words under each name of a mark on the screen, as the names say them."""
    return sorted(name.get_attribute("data-uid") for name in desk.page.locator(".mark-name").all())


def text(desk: Desk) -> str:
    return " ".join(desk.page.locator(".text .tok").all_text_contents())


def go_online(page) -> None:
    page.unroute(CHANGES)
    page.evaluate("dispatchEvent(new Event('online'))")


def unsaved(desk: Desk) -> list[str]:
    return [entry.split(":")[0] for entry in desk.page.locator("#not-saved li").all_text_contents()]


def mark_ten(desk: Desk) -> None:
    cut(desk.page)
    for token in range(10):
        desk.mark(token, "state")
    expect(desk.page.locator("#saved")).to_have_text("10 not saved yet, trying again")


STAY = ["eight", "five", "four", "nine", "one", "seven", "ten", "two"]
GO = ["“three” as State", "“six” as State"]


def test_ten_saves_that_wait_are_on_their_words_or_before_their_person(desk, alice, correct, problems):
    problems.expect("ERR_FAILED", "422")
    mark_ten(desk)
    correct(CORRECTED)
    go_online(desk.page)
    expect(desk.page.locator(".toast", has_text=f"The text of this item was corrected by {alice}.")).to_be_visible()
    assert text(desk) == CORRECTED
    assert sorted(marked(desk)) == STAY
    assert len(desk.names()) == len(STAY)
    assert unsaved(desk) == GO
    desk.page.reload()
    desk.ready(1)
    assert unsaved(desk) == GO  # it is not gone with the page
    desk.page.locator("#not-saved button").click()
    expect(desk.page.locator("#not-saved")).to_be_hidden()


def test_the_same_when_the_page_is_loaded_again_while_they_wait(desk, correct, problems):
    problems.expect("ERR_FAILED", "422")
    mark_ten(desk)
    correct(CORRECTED)
    desk.page.reload()
    desk.ready(1)
    expect(desk.page.locator("#saved")).to_have_text("10 not saved yet, trying again")
    assert desk.names() == []  # nothing is shown on other words
    go_online(desk.page)
    expect(desk.page.locator(".mark-name")).to_have_count(len(STAY))
    assert sorted(marked(desk)) == STAY
    assert unsaved(desk) == GO


def test_whoever_returns_to_an_item_sees_its_new_text(desk, alice, correct):
    desk.mark(3, "state")
    desk.saved()
    desk.token(5).click()
    desk.press("Escape")
    correct(CORRECTED)
    desk.return_to()
    expect(desk.page.locator(".toast")).to_contain_text(f"The text of this item was corrected by {alice}.")
    assert text(desk) == CORRECTED
    desk.mark(5, "activ")
    assert desk.stored() == [(3, 3, "State"), (5, 5, "Activity")]
    assert marked(desk) == ["four", "sixth"]


def test_what_is_done_next_in_an_older_text_is_on_its_words_and_then_the_new_one_is_seen(desk, correct):
    correct(CORRECTED)
    desk.mark(8, "state")
    expect(desk.page.locator(".toast", has_text="was corrected by")).to_be_visible()
    assert marked(desk) == ["nine"] and text(desk) == CORRECTED


def test_an_item_is_not_done_before_its_new_text_is_seen(desk, correct, problems):
    problems.expect("422")
    desk.at_hand(2)
    correct(CORRECTED)
    desk.press("Control+Enter")
    desk.ready(2)
    expect(desk.page.locator("#not-saved")).to_be_visible()
    assert unsaved(desk) == ["Done"]
    assert not Annotation.objects.filter(done_at__isnull=False).exists()
    desk.page.locator("#not-saved").get_by_role("link", name="item 1").click()
    desk.ready(1)
    assert text(desk) == CORRECTED
    desk.press("Control+Enter")
    desk.ready(2)


def test_undo_and_redo_are_about_the_words_that_they_were_about(desk, correct):
    desk.mark(3, "state")  # four
    desk.mark(8, "activ")  # nine
    desk.saved()
    desk.token(8).click()
    desk.press("Delete")
    assert marked(desk) == ["four"]
    correct("zero one two three four five six seven eight nine ten eleven")
    desk.return_to()
    expect(desk.page.locator(".toast", has_text="was corrected by")).to_be_visible()
    desk.press("Control+z")
    assert marked(desk) == ["four", "nine"]
    desk.press("Control+z", "Control+z")
    assert marked(desk) == []
    desk.press("Control+y", "Control+y")
    assert marked(desk) == ["four", "nine"]


def test_what_was_done_to_words_that_are_gone_cannot_be_undone(desk, correct):
    desk.mark(2, "state")
    desk.saved()
    desk.token(2).click()
    desk.press("Delete")
    assert marked(desk) == []
    correct(CORRECTED)
    desk.return_to()
    expect(desk.page.locator(".toast")).to_contain_text("2 changes to words that are gone cannot be undone any more.")
    expect(desk.page.locator("#undo")).to_be_disabled()
    assert not Entity.objects.exists()


def test_a_step_that_is_taken_back_on_a_page_of_its_own_is_about_its_words(desk, correct):
    desk.mark(8, "state")
    desk.saved()
    desk.token(8).click()
    desk.press("Delete")
    desk.saved()
    desk.page.locator("#next").click()
    desk.ready(2)
    correct(CORRECTED)
    desk.press("Control+z")
    desk.ready(1)
    assert marked(desk) == ["nine"]


def test_another_item_of_the_page_and_its_search_are_about_the_new_text(desk, carol, alice, correct):
    carol.choose_comfort(name="on_page", value="5")
    desk.open(2)
    desk.open(1)
    desk.press("F3")
    desk.page.keyboard.type("eleven")
    expect(desk.page.locator("#find output")).to_have_text("1 of 1")
    correct("eleven and eleven")
    desk.return_to()
    expect(desk.page.locator("#find output")).to_have_text("1 of 2")
    desk.press("Escape")
    expect(desk.page.locator(".toast", has_text=f"was corrected by {alice}")).to_be_visible()


def test_what_a_closed_tab_left_is_told_on_the_page_of_another_item(desk, correct, problems):
    problems.expect("ERR_FAILED", "422")
    cut(desk.page)
    desk.mark(2, "state")
    desk.mark(3, "activ")
    expect(desk.page.locator("#saved")).to_have_text("2 not saved yet, trying again")
    correct(CORRECTED)
    other = tab_of(desk)
    desk.page.close()
    other.open(2)
    expect(other.page.locator("#not-saved li")).to_have_text("“three” as State: item 1")
    until(lambda: marked(other) == ["four"], "The other one is not saved")
    other.page.locator("#not-saved a").click()
    other.ready(1)
    assert unsaved(other) == ["“three” as State"]
