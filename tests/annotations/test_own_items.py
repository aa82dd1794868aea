"""A person's own items, compared with plain Python for every filter in every order."""

from itertools import product

import pytest
from django.http import QueryDict
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from annotations.finding import own_items
from datasets.models import Annotation, Item
from projects.assignment.assigned import Withheld
from tests import factories
from tests.annotations.own_work import label_of, mark, work
from work.kept import LEAST, Memory
from work.models import Batch, Flag
from work.models.figures import count_some
from work.own_way import Way

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
        if sort == "-changed":  # of two changed at the same moment, the later one comes first here
            times = {item: value(item, self.own.get(item.pk)) for item in items}
            items.sort(key=lambda item: (times[item], item.position if times[item] else -item.position), reverse=True)
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


@pytest.mark.parametrize("kind", ["all", "some", "few marks are looked at"])
def test_every_filter_in_every_order(project, carol, alice, kind, monkeypatch):
    if kind == "some":
        Withheld.insert([(carol.pk, project.dataset.items()[number].pk) for number in (1, 17, 18)], by=alice)
    if kind == "few marks are looked at":
        monkeypatch.setattr("work.own_way.FEW", 0)
        monkeypatch.setattr("work.own_items.FEW_MARKS", 0)
    everything = list(project.dataset.items())
    later = [everything[5].pk, everything[1].pk]
    naive = Naive(project, carol, later)
    for asked, sort in product(FILTERS, ORDERS):
        case = {**asked, "sort": sort}
        found, expected = shown(project, carol, case, later), naive.keys(**case)
        assert list(found.keys()) == expected, case
        assert list(found.page(None).object_list) == expected[:50], case
        assert set(found.matching().values_list("pk", flat=True)) == set(expected), case
        for item in everything[3::15]:
            place = expected.index(item.pk) + 1 if item.pk in expected else None
            assert found.place_and_count(item) == (place, len(expected)), case
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


def test_what_is_kept_is_read_again_when_the_items_change(project, carol, alice):
    def both():
        current = type(project).objects.get(pk=project.pk)
        for case in ({"sort": "length"}, {"q": "pump", "sort": "-number"}, {"state": "undone"}):
            assert list(shown(current, carol, case).keys()) == Naive(current, carol).keys(**case), case

    both()
    project.dataset.remove(project.dataset.items().filter(position__in=(4, 16)), by=alice)
    both()
    project.dataset.restore(project.dataset.bin())
    both()
    options = {"format": "text", **project.dataset.import_options}
    factories.upload(
        "a further pump, longer than all others\n", by=alice, options=options, dataset=project.dataset
    ).store()
    both()


def test_work_in_another_project_is_not_listed(project, carol, alice):
    other = factories.project(by=alice, name="Other", annotators=[carol], text="pump\n" * 3)
    mark(other, carol, 2)
    work(other, carol, {1: "done"})
    for case in ({"has": "marks"}, {"state": "done"}, {"label": "Thermostat"}, {}):
        for sort in ORDERS:
            keys = shown(project, carol, {**case, "sort": sort}).keys()
            assert set(keys) <= set(project.dataset.items().values_list("pk", flat=True)), (case, sort)


def test_what_is_kept_is_bound_by_the_number_of_items_and_of_entries():
    kept, made = Memory(3 * LEAST), []

    def get(key, items, version=1):
        def make():
            made.append(key)
            return range(items)

        return kept.get(key, version, make)

    def asked_again(*keys):
        made.clear()
        for key, items in keys:
            get(key, items)
        return made

    assert asked_again(("a", LEAST), ("b", 2 * LEAST), ("a", LEAST), ("b", 2 * LEAST)) == ["a", "b"]
    assert asked_again(("c", LEAST), ("b", 2 * LEAST), ("a", LEAST)) == ["c", "a"]  # what was asked for last stays
    assert asked_again(("d", 9 * LEAST), ("d", 9 * LEAST), ("c", LEAST)) == ["d", "c"]  # the newest, too
    assert asked_again(*((n, 0) for n in range(4)), (0, 0)) == [0, 1, 2, 3, 0]
    assert len(get("e", 5)) == 5
    assert len(get("e", 6, version=2)) == 6


def test_places_of_a_batch(project, carol):
    batch = Batch.objects.create(dataset=project.dataset, person=carol, verb="propagate", kind="entity")
    for number in (11, 4):
        annotation = Annotation.start(project.dataset.items()[number - 1], carol)
        annotation.entity_set.create(uid="b", label=label_of(project, "State"), start=1, end=1, batch=batch)
    found = shown(project, carol, {"batch": str(batch.pk)})
    assert list(found.keys()) == sorted(project.dataset.items()[n - 1].pk for n in (4, 11))


@given(st.lists(st.integers(0, 30), unique=True), st.integers(0, 30), st.integers(-40, 40), st.integers(-40, 40))
def test_a_way_is_the_list_of_its_keys(keys, known, start, end):
    way = Way(set(keys), keys[:known], lambda: keys)
    assert way[start:end] == keys[start:end] and way[start:] == keys[start:] and way[:end] == keys[:end]
    assert len(way) == len(keys) and all((key in way) == (key in keys) for key in range(31))
    for place, key in enumerate(keys):
        assert way[place] == key and way[place - len(keys)] == key and way.index(key) == place


def test_a_page_of_the_first_keys_puts_no_others_in_order():
    way = Way({1, 2, 3, 4}, [3, 1, 2], lambda: pytest.fail("nobody asked for the others"))
    assert way[0:3] == [3, 1, 2] and way[1] == 1 and way.index(2) == 2 and len(way) == 4 and 4 in way
