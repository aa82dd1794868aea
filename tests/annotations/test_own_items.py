"""A person's own items, compared with plain Python for every filter in every order."""

from itertools import product

import pytest
from django.http import QueryDict
from django.utils import timezone

from annotations.own_lists import own_items
from datasets import item_lists as listing
from datasets.models import Annotation, Item
from projects.assignment.assigned import Withheld
from tests import factories
from tests.annotations.own_work import label_of, mark, work
from tests.soak import amount
from work.models import Batch, Flag
from work.models.item_work import count_some

WORDS = ("pump leaking", "Pump", "valve stuck again", "oil", "pump and valve", "check filter", "left pump", "oil")
ITEMS = 40


@pytest.fixture
def project(alice, carol, dave):
    project = factories.project(
        by=alice, annotators=[carol, dave], text="".join(f"{WORDS[n % 8]} {n % 3}\n" for n in range(ITEMS))
    )
    states = {number: ("done", "begun", "suggested")[number % 3] for number in range(1, ITEMS, 2)}
    work(project, carol, states)
    work(project, dave, dict.fromkeys(range(2, ITEMS, 5), "done"))
    for number in (4, 10, 16):
        mark(project, carol, number, "Thermostat", start=1, end=1)
    Annotation.prepare(project.dataset.items()[21], carol)
    Annotation.objects.filter(item__position__in=(6, 12), annotator=carol).update(changed_at=timezone.now())
    Annotation.start(project.dataset.items()[4], carol).entity_set.update(status="suggested")
    for number in (5, 6, 7, 30):
        Flag.put(project.dataset.items()[number - 1], carol, kind="issue")
    count_some(60)
    mark(project, carol, 8, start=1, end=1)  # not counted yet
    project.dataset.remove(project.dataset.items().filter(position__in=(2, 10)), by=alice)
    project.refresh_from_db()
    return project


class Naive:
    """What there is to find, read once."""

    def __init__(self, project, person, later=()):
        annotations = Annotation.objects.prefetch_related("entity_set__label")
        self.own = {each.item_id: each for each in annotations.filter(annotator=person)}
        self.came = {each.item_id: each for each in annotations.filter(annotator=None)}
        self.flagged = set(Flag.objects.filter(person=person).values_list("item", flat=True))
        withheld = Withheld.objects.filter(annotator=person).values("item")
        self.items, self.later = list(project.dataset.items().exclude(pk__in=withheld)), later

    def keys(self, *, q="", state="", has="", label="", sort=""):
        items = [item for item in self.items if self.matches(item, q, state, has, label)]
        value = VALUES[sort.removeprefix("-")]
        items.sort(key=lambda item: value(item, self.own.get(item.pk)), reverse=sort.startswith("-"))
        return [item.pk for item in items]

    def matches(self, item, q, state, has, label):
        mine = self.own.get(item.pk)
        started, done = bool(mine and mine.started_at), bool(mine and mine.done_at)
        labels = {m.label.name for status in ("accepted", "suggested") for m in marks(mine, status)}
        states = {"undone": not done, "untouched": not started, "begun": started and not done, "done": done, "": True}
        things = {
            "marks": bool(marks(mine, "accepted")),
            "suggestions": bool(marks(mine or self.came.get(item.pk), "suggested")),
            "flags": item.pk in self.flagged,
            "later": item.pk in self.later and not done,
            "": True,
        }
        return q.casefold() in item.search_text and states[state] and things[has] and (label in labels or not label)


def marks(annotation, status):
    return [m for m in annotation.entity_set.all() if m.status == status] if annotation else []


VALUES = {
    "": lambda item, mine: item.position,
    "number": lambda item, mine: item.position,
    "length": lambda item, mine: len(item.search_text),
    "marks": lambda item, mine: len(marks(mine, "accepted")),
    "changed": lambda item, mine: mine.changed_at.timestamp() if mine and mine.changed_at else 0,
}
FILTERS = [
    *(
        {"state": state, "has": has}
        for state, has in product(("", "undone", "untouched", "begun", "done"), ("", "marks"))
    ),
    *({"has": has} for has in ("suggestions", "flags", "later")),
    *({"q": q, "state": state} for q, state in product(("PUMP", "oil 1", "nowhere"), ("", "undone", "done"))),
    {"label": "Thermostat"},
    {"label": "Thermostat", "state": "begun", "q": "pump"},
    {"q": "pump", "has": "suggestions"},
]
ORDERS = [way + name for name in ("number", "length", "marks", "changed") for way in ("", "-")]


def shown(project, person, asked, later=()):
    data = QueryDict(mutable=True)
    data.update(asked)
    return own_items(project, person, data, later=later)


@pytest.mark.soak
@pytest.mark.parametrize("is_all", [True, False])
def test_every_filter_in_every_order(project, carol, alice, is_all, monkeypatch):
    """In the short form every filter in two or three orders, and every order with nine filters."""
    if not is_all:
        monkeypatch.setattr(listing, "FEW_LABELS", 0)
        Withheld.insert([(carol.pk, project.dataset.items()[number].pk) for number in (1, 17, 18)], by=alice)
    everything = list(project.dataset.items())
    later = [everything[5].pk, everything[1].pk]
    naive = Naive(project, carol, later)
    for asked, sort in list(product(FILTERS, ORDERS))[:: amount(3, 1)]:
        case = {**asked, "sort": sort}
        found, expected = shown(project, carol, case, later), naive.keys(**case)
        assert list(found.keys()) == expected, case
        assert [item.pk for item in found.page(None, Item.objects.all()).object_list] == expected[:50], case
        assert set(found.matching().values_list("pk", flat=True)) == set(expected), case
        for item in everything[3::15]:
            place = expected.index(item.pk) + 1 if item.pk in expected else None
            assert (found.place(item), found.count()) == (place, len(expected)), case
            before, after = found.around(item)
            if place:
                assert (list(before), list(after)) == (expected[: place - 1][::-1], expected[place:]), case
            else:  # it stands where it would if it matched
                assert [*list(before)[::-1], *after] == expected, case


@pytest.mark.parametrize("sort", ORDERS)
def test_from_a_removed_item_the_way_goes_on_at_its_place(project, carol, sort):
    removed = Item.with_removed.filter(dataset=project.dataset, removed_at__isnull=False).first()
    before, after = shown(project, carol, {"sort": sort, "q": "e"}).around(removed)
    assert removed.pk not in [*before, *after]
    project.dataset.restore(project.dataset.bin().filter(pk=removed.pk))
    project = type(project).objects.get(pk=project.pk)
    expected = Naive(project, carol).keys(sort=sort, q="e")
    if removed.pk in expected:
        place = expected.index(removed.pk)
        assert (list(before), list(after)) == (expected[:place][::-1], expected[place + 1 :])


def test_work_in_another_project_is_not_listed(project, carol, alice):
    other = factories.project(by=alice, name="Other", annotators=[carol], text="pump\n" * 3)
    mark(other, carol, 2)
    work(other, carol, {1: "done"})
    for case in ({"has": "marks"}, {"state": "done"}, {"label": "Thermostat"}, {}):
        for sort in ORDERS:
            keys = shown(project, carol, {**case, "sort": sort}).keys()
            assert set(keys) <= set(project.dataset.items().values_list("pk", flat=True)), (case, sort)


def test_places_of_a_batch(project, carol):
    batch = Batch.objects.create(dataset=project.dataset, person=carol, verb="propagate", kind="entity")
    for number in (11, 4):
        annotation = Annotation.start(project.dataset.items()[number - 1], carol)
        annotation.entity_set.create(uid="b", label=label_of(project, "State"), start=1, end=1, batch=batch)
    found = shown(project, carol, {"batch": str(batch.pk)})
    assert list(found.keys()) == sorted(project.dataset.items()[n - 1].pk for n in (4, 11))
