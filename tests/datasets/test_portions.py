"""Many rows, some at a time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets import portions
from datasets.portions import by_texts, by_tokens
from tests import factories


@given(st.lists(st.integers(0, 9)), st.integers(1, 5), st.integers(1, 20))
def test_portions_are_neither_long_nor_heavy_and_together_everything(rows, most, heaviest):
    found = list(portions.portions(rows, lambda row: row, most=most, heaviest=heaviest))
    assert [row for portion in found for row in portion] == rows
    assert all(0 < len(portion) <= most and sum(portion[:-1]) < heaviest for portion in found)
    assert all(len(portion) == most or sum(portion) >= heaviest for portion in found[:-1])


@pytest.fixture
def dataset(alice):
    return factories.dataset(owner=alice, text="a b\nc d e f\ng\nh i\nj k l\n")


def test_items_with_long_texts_come_by_themselves(dataset, monkeypatch):
    monkeypatch.setattr(portions, "MOST_CHARACTERS", 4)
    texts = [[text for (text,) in portion] for portion in by_texts(dataset.items(), "original")]
    assert texts == [["a b", "c d e f"], ["g", "h i"], ["j k l"]]


@pytest.mark.parametrize("most", [2, 100])
def test_items_with_many_tokens_come_by_themselves(dataset, monkeypatch, most):
    monkeypatch.setattr(portions, "MOST_TOKENS", 3)
    monkeypatch.setattr(portions, "MOST_ITEMS", most)
    found = list(by_tokens(dataset.items()))
    assert [position for portion in found for position in portion] == [0, 1, 2, 3, 4]
    assert all(len(portion) <= 2 for portion in found)
