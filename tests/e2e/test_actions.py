"""How many actions marks take, by mouse only and by keys only, in ten sentences of nested entities and relations,
in the short form in four of them."""

from itertools import product
from statistics import mean

import pytest
from playwright.sync_api import expect

from tests import gold
from tests.e2e.desk import arrived
from tests.e2e.hand import Hand, Keys, Mouse
from tests.e2e.test_gold import said
from tests.projects.test_bundle import read
from tests.soak import amount

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def is_nested(item: dict) -> bool:
    pairs = product(item["entities"], repeat=2)
    return any(one != other and one["start"] <= other["start"] and other["end"] <= one["end"] for one, other in pairs)


def has_choice(item: dict) -> bool:
    """Several relations may lead from a transport to a place."""
    return any(relation["label"].startswith("locatedAt/") for relation in item["relations"])


NESTED = [item for item in gold.read("items") if is_nested(item) and len(item["relations"]) > 2]
TEN = [item for item in NESTED if has_choice(item)][:3] + [item for item in NESTED if not has_choice(item)][::8][:7]
SENTENCES = TEN[:: amount(3, 1)]


@pytest.fixture
def work(page, sign_in, alice, carol):
    """``work(hand)``: somebody annotates the sentences; returns how many actions each relation took where one label is
    allowed, and where several are."""
    project = gold.project(by=alice, annotators=[carol], items=gold.without_marks(SENTENCES))
    sign_in(page, carol)

    def work(hand: Hand) -> tuple[list[int], list[int]]:
        for number, item in enumerate(SENTENCES, 1):
            arrived(page, number)
            hand.annotate(item)
            page.keyboard.press("Control+Enter")
        expect(page.get_by_role("heading", name="Everything is done")).to_be_visible()
        assert [said(row) for row in read(project)["annotations.json"]] == [said(item) for item in SENTENCES]
        among = [relation["label"].startswith("locatedAt/") for item in SENTENCES for relation in item["relations"]]
        actions = list(zip(among, hand.actions["relation"], strict=True))
        return tuple([count for is_among, count in actions if is_among == several] for several in (False, True))

    page.goto(f"/projects/{project.pk}/annotate/")
    return work


def test_by_mouse_an_entity_takes_two_actions_and_a_relation_one_or_two(page, work):
    page.set_viewport_size({"width": 1400, "height": 1100})  # all labels are in sight
    hand = Mouse(page)
    arrived(page, 1)
    hand.open_tree()
    alone, among = work(hand)
    assert set(hand.actions["entity"]) == {2}  # select, choose
    assert set(alone) == {1}  # from mark to mark
    assert set(among) == {2}  # and choose


def test_by_keys_an_entity_takes_arrows_and_few_letters_and_a_relation_its_number(page, work, capsys):
    hand = Keys(page)
    alone, among = work(hand)
    assert mean(hand.actions["entity"]) < 3 and max(hand.actions["entity"]) <= 4  # some letters and Enter
    assert set(alone) == {2}  # r and the number of the target
    assert max(among) <= 4  # and a digit, or a letter and Enter
    with capsys.disabled():
        steps = ", ".join(
            f"{count / len(hand.actions[kind]):.1f} steps to each {kind}" for kind, count in hand.steps.items()
        )
        print(
            f"\nBy keys: {mean(hand.actions['entity']):.2f} for each entity, {mean(alone):.2f} for each relation; {steps}"
        )
