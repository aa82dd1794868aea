"""How many actions marks take under a tree of 220 labels with long names, by keys alone and by mouse alone."""

import pytest

from tests import gold
from tests.e2e.practised import PractisedKeys, PractisedMouse
from tests.e2e.test_gold import said
from tests.projects.test_bundle import read
from tests.soak import amount

pytestmark = [pytest.mark.e2e, pytest.mark.soak, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("hands", [PractisedKeys, PractisedMouse])
def test_what_is_marked_by_practised_hands_is_what_is_exported(page, sign_in, alice, carol, hands):
    items = gold.work_orders()[: amount(4, 40)]
    project = gold.project_of_work_orders(items, by=alice, annotators=[carol])
    sign_in(page, carol)
    hands(page).annotate_all(project, items)
    rows = read(project)["annotations.json"]
    assert [said(row) for row in rows] == [said(item) for item in items]
    assert all(row["done_at"] for row in rows)
