"""Texts are annotated from empty through the screen, as somebody who knows it does: how many actions a mark takes, and whether
what is exported equals the gold marks."""

from statistics import mean

import pytest

from tests import gold
from tests.e2e.hand import Skilled
from tests.projects.test_bundle import read
from tests.soak import amount

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def said(marks: dict) -> tuple[list, list]:
    """What the marks of an item say, whatever their ids are."""
    entities = {mark["id"]: (mark["start"], mark["end"], mark["label"]) for mark in marks["entities"]}
    relations = [
        (entities[each["source_id"]], entities[each["target_id"]], each["label"]) for each in marks["relations"]
    ]
    return sorted(entities.values()), sorted(relations)


def test_what_is_marked_by_hand_is_what_is_exported(page, sign_in, alice, carol, capsys):
    items = gold.read("items")[:: amount(60, 1)]
    project = gold.project(by=alice, annotators=[carol], items=gold.without_marks(items))
    sign_in(page, carol)
    hand = Skilled(page)
    hand.annotate_all(project, items)
    rows = read(project)["annotations.json"]
    assert [said(row) for row in rows] == [said(item) for item in items]
    assert all(row["done_at"] for row in rows)
    with capsys.disabled():
        print(f"\nGold marks of {len(items)} items by hand, actions for each:", end="")
        print(*(f" {kind} {mean(each):.2f} ({len(each)})" for kind, each in hand.actions.items()), sep=",")
