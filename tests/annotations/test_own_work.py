"""What the annotator did: their marks as a list, and their last days at a glance."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.models import Annotation
from tests import factories
from tests.annotations.own_work import batch_of, label_of, mark, work
from tests.queries import queries_of
from work import glance as glancing
from work import own_marks
from work.glance import BREAK, glance, worked

TEXT = "replace pump\nleft PUMP leaking\nvalve stuck again\ndon't start the pump engine\noil low\n"
NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)  # a Wednesday


@pytest.fixture
def project(alice, carol, dave):
    return factories.project(by=alice, annotators=[carol, dave], text=TEXT)


@pytest.fixture
def listed(project, as_carol):
    """``listed("?q=pump")``: the words, labels and items of carol's list."""

    def listed(query=""):
        page = as_carol.get(f"/projects/{project.pk}/annotate/marks/{query}").text
        links = re.findall(r'class="row-link"[^>]*>(.*?)</a>', page, re.DOTALL)
        words = [" ".join(re.sub("<[^>]*>", "", link).split()) for link in links]
        labels = re.findall(r'<span class="label[^>]*>([^<]*)</span>', page)
        items = re.findall(r'<td class="num faint">(\d+)</td>', page)
        return list(zip(words, labels, map(int, items), strict=True))

    return listed


# --- Marks ---------------------------------------------------------------------------------------------------------------


def test_ones_own_accepted_marks_the_newest_first(project, carol, dave, listed):
    assert listed() == []
    mark(project, carol, 1, "PhysicalObject", 1, 1)
    mark(project, carol, 3, "State", 1, 2)
    mark(project, dave, 2, "State")
    work(project, carol, {5: "suggested"})
    assert listed() == [("stuck again", "State", 3), ("pump", "PhysicalObject", 1)]
    assert listed("?sort=number") == [("pump", "PhysicalObject", 1), ("stuck again", "State", 3)]
    assert listed("?sort=when") == [("pump", "PhysicalObject", 1), ("stuck again", "State", 3)]
    project.dataset.remove(project.dataset.items().filter(position=0), by=carol)
    assert listed() == [("stuck again", "State", 3)]


def test_words_are_found_in_any_case_and_as_a_part(project, carol, listed):
    mark(project, carol, 1, "Activity", 0, 1)
    mark(project, carol, 2, "PhysicalObject", 1, 1)
    mark(project, carol, 2, "State", 2, 2)
    mark(project, carol, 4, "State", 0, 0)
    assert {words for words, *_ in listed("?q=Pump")} == {"replace pump", "PUMP"}
    assert [words for words, *_ in listed("?q=DON%27T")] == ["don&#x27;t"]
    assert listed("?q=leaking+pump") == []  # the words of one mark, not of the item


def test_labels_with_those_below_them(project, carol, listed):
    mark(project, carol, 1, "Thermostat", 1, 1)
    mark(project, carol, 2, "PhysicalObject", 1, 1)
    mark(project, carol, 3, "State")
    uid = label_of(project, "PhysicalObject").uid
    assert [label for _, label, _ in listed(f"?label={uid}")] == ["PhysicalObject", "Thermostat"]
    assert [label for _, label, _ in listed("?label=thermo")] == ["Thermostat"]
    assert listed("?label=State&q=pump") == []


def test_relations_are_found_by_the_words_at_their_ends(project, carol, dave, listed, as_carol):
    names = ("hasPart", "hasParticipant")
    labels = [project.relation_ontology.items().get(name=name) for name in names]
    for person, number in ((carol, 1), (carol, 2), (carol, 3), (dave, 2)):
        first, second = mark(project, person, number, "Activity"), mark(project, person, number, "State", 1, 1)
        made = first.annotation.add_relation(
            uid=f"r{number}", label=labels[number == 3], source=second.uid, target=first.uid
        )
    page = as_carol.get(f"/projects/{project.pk}/annotate/marks/?kind=relation").text
    assert f'/annotate/{made.annotation.item_id}/#r2"' in page
    pumps = [("PUMP → left", names[0], 2), ("pump → replace", names[0], 1)]
    assert listed("?kind=relation") == [("stuck → valve", names[1], 3), *pumps]
    assert listed("?kind=relation&q=pump") == pumps
    assert listed("?kind=relation&q=LEFT") == listed("?kind=relation&q=left") == pumps[:1]
    assert listed(f"?kind=relation&label={labels[1].uid}") == [("stuck → valve", names[1], 3)]
    assert listed(f"?kind=relation&sort=number&q=pump&label={labels[0].uid}") == pumps[::-1]
    assert len(listed("?kind=nothing")) == 6  # entities


def test_each_leads_to_its_item_with_the_mark_selected(project, carol, as_carol):
    made = mark(project, carol, 3)
    page = as_carol.get(f"/projects/{project.pk}/annotate/marks/").text
    assert f'href="/projects/{project.pk}/annotate/{made.annotation.item_id}/#{made.uid}"' in page


def test_what_is_cut_is_told(project, carol, as_carol, monkeypatch):
    for number in (1, 2, 4):
        mark(project, carol, number, "State", 1, 1)
    url = f"/projects/{project.pk}/annotate/marks/"
    monkeypatch.setattr(own_marks, "LOOKED_AT", 2)
    assert "were looked through" in as_carol.get(f"{url}?q=pump").text
    monkeypatch.setattr(own_marks, "LOOKED_AT", 3)
    assert "were looked through" not in as_carol.get(f"{url}?q=pump").text


@pytest.mark.parametrize("looked_at", [own_marks.LOOKED_AT, 5])
def test_every_search_in_every_order(alice, carol, dave, monkeypatch, looked_at):
    """Compared with plain Python. Where more items have the words than are looked at, the first ones in the order are."""
    project, beside = (
        factories.project(by=alice, name=name, annotators=[carol, dave], text="pump a oil\nvalve b pump\n" * 10)
        for name in ("One", "Other")
    )
    now = datetime(2026, 11, 18, tzinfo=UTC)
    for number in (13, 2, 7, 4, 20, 18, 5):
        for start, name in ((0, "State"), (2, "Thermostat"), (1, "State")):
            mark(project, carol, number, name, start, start)
        changed_at = None if number == 7 else now + timedelta(hours=number // 3)
        Annotation.objects.filter(item__position=number - 1, annotator=carol).update(changed_at=changed_at)
    for number in (9, 10):  # not begun: what came with the item is not hers, what a batch put there is
        mark(project, carol, number)
    unbegun = Annotation.objects.filter(item__dataset=project.dataset, item__position__in=(8, 9), annotator=carol)
    own_marks.Entity.objects.filter(annotation=unbegun[0]).update(batch=batch_of(project, carol))
    unbegun.update(started_at=None, changed_at=None)
    mark(project, dave, 4)
    mark(beside, carol, 4)
    project.dataset.remove(project.dataset.items().filter(position=3), by=alice)
    project.refresh_from_db()
    marks = own_marks.Entity.objects.select_related("annotation__item", "label")
    own = marks.filter(annotation__annotator=carol, annotation__item__in=project.dataset.items()).exclude(
        annotation__started_at=None, batch=None
    )
    monkeypatch.setattr(own_marks, "LOOKED_AT", looked_at)

    def place(mark, by):
        item, changed = mark.annotation.item.position, mark.annotation.changed_at
        return (
            (item, mark.start, mark.end, mark.pk)
            if by == "number"
            else (changed or datetime.min.replace(tzinfo=UTC), item, mark.pk)
        )

    for q in ("", "pump"):
        for label in ("", "Thermostat"):
            for sort in ("when", "-when", "number", "-number"):
                asked = {"q": q, "label": label, "sort": sort}
                shown = own_marks.OwnMarks(
                    dataset=project.dataset, person=carol, ontologies=list(project.ontology_set.all()), **asked
                )
                wanted = [
                    mark.pk
                    for mark in sorted(own, key=lambda mark: place(mark, sort.strip("-")), reverse=sort.startswith("-"))
                    if q in mark.annotation.item.tokens[mark.start] and label in ("", mark.label.name)
                ]
                found = [mark.pk for mark, _, _ in shown.page(None).object_list]
                assert found == wanted if not shown.is_cut else found and found == wanted[: len(found)], asked


def test_queries_do_not_grow_with_the_marks(project, carol, as_carol):
    def count(path):
        return len(queries_of(as_carol.get, f"/projects/{project.pk}/annotate/{path}"))

    paths = ("marks/", "marks/?q=pump", "marks/?label=State", "marks/?kind=relation", "work/")
    mark(project, carol, 1, "State", 1, 1)
    for path in paths:  # reads the labels
        count(path)
    before = {path: count(path) for path in paths}
    for number in (1, 2, 4):
        mark(project, carol, number, "Activity", 1, 1)
    assert {path: count(path) for path in paths} == before


# --- At a glance ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def at_noon(monkeypatch):
    monkeypatch.setattr(glancing.timezone, "now", lambda: NOON)


def done_at(project, person, moments):
    for number, moment in moments.items():
        work(project, person, {number: "done"})
        own = Annotation.objects.filter(item=project.dataset.items()[number - 1], annotator=person)
        own.update(started_at=moment, done_at=moment, changed_at=moment)
        own.get().entity_set.update(updated_at=moment)


def test_days_are_those_of_where_the_person_is(project, carol, dave):
    late = datetime(2026, 11, 17, 23, 30, tzinfo=UTC)
    done_at(project, carol, {1: NOON, 2: late, 3: NOON - timedelta(days=3), 4: NOON - timedelta(days=20)})
    done_at(project, dave, {1: NOON})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(glancing.timezone, "now", lambda: NOON)
        seen = glance(project.dataset, carol, ZoneInfo("UTC"))
        assert (seen.today, seen.week, seen.worked_on) == (1, 2, 3)
        assert [day.done for day in seen.days][-4:] == [1, 0, 1, 1]
        assert glance(project.dataset, carol, ZoneInfo("Europe/Berlin")).today == 2


def test_what_is_reopened_does_not_count_any_more(project, carol):
    work(project, carol, {1: "done", 2: "done"})
    assert glance(project.dataset, carol, ZoneInfo("UTC")).today == 2
    Annotation.start(project.dataset.items()[0], carol).reopen()
    assert glance(project.dataset, carol, ZoneInfo("UTC")).today == 1


def test_the_pace_leaves_breaks_out(project, carol, at_noon, monkeypatch):
    start = NOON - timedelta(hours=3)
    later = start + timedelta(hours=1)
    minutes = timedelta(minutes=1)
    done_at(
        project, carol, {1: start, 2: start + 4 * minutes, 3: start + 8 * minutes, 4: later, 5: later + 4 * minutes}
    )
    assert glance(project.dataset, carol, ZoneInfo("UTC")).pace is None  # too little to tell
    monkeypatch.setattr(glancing, "SHORTEST", 10 * minutes)
    pace = glance(project.dataset, carol, ZoneInfo("UTC")).pace
    assert (pace.minutes, pace.items, pace.marks) == (12, 5, 5)
    assert (pace.items_an_hour, pace.marks_an_hour) == (25, 25)


def test_the_pace_is_that_of_the_items_worked_on_last(project, carol, at_noon, monkeypatch):
    monkeypatch.setattr(glancing, "SHORTEST", timedelta())
    monkeypatch.setattr(glancing, "MOST_ITEMS", 2)
    minutes = timedelta(minutes=1)
    done_at(project, carol, {1: NOON - 60 * minutes, 2: NOON - 4 * minutes, 3: NOON - minutes})
    pace = glance(project.dataset, carol, ZoneInfo("UTC")).pace
    assert (pace.minutes, pace.items, pace.marks) == (3, 2, 2)


def test_other_projects_and_removed_items_do_not_count(project, alice, carol, at_noon, monkeypatch):
    monkeypatch.setattr(glancing, "SHORTEST", timedelta())
    monkeypatch.setattr(glancing, "MOST_ITEMS", 2)
    minutes = timedelta(minutes=1)
    other = factories.project(by=alice, name="Other", annotators=[carol], text="one\ntwo\nthree\n")
    done_at(project, carol, {1: NOON - 9 * minutes, 2: NOON - 7 * minutes, 3: NOON - 3 * minutes})
    done_at(other, carol, {number: NOON - number * minutes for number in (1, 2, 3)})
    project.dataset.remove(project.dataset.items().filter(position=2), by=alice)
    project.refresh_from_db()
    seen = glance(project.dataset, carol, ZoneInfo("UTC"))
    assert (seen.today, seen.pace.minutes, seen.pace.items, seen.pace.marks) == (2, 2, 2, 2)
    assert glance(other.dataset, carol, ZoneInfo("UTC")).today == 3


def test_a_batch_says_nothing_about_the_pace(project, carol, monkeypatch):
    monkeypatch.setattr(glancing, "SHORTEST", timedelta())
    work(project, carol, {1: "done", 2: "done"})
    second = Annotation.objects.get(item=project.dataset.items()[1], annotator=carol)
    second.entity_set.update(batch=batch_of(project, carol))
    assert glance(project.dataset, carol, ZoneInfo("UTC")).pace.marks == 1


def test_what_came_with_an_item_says_nothing_about_the_pace(project, carol, monkeypatch):
    monkeypatch.setattr(glancing, "SHORTEST", timedelta())
    work(project, carol, {1: "done", 2: "done"})
    second = Annotation.objects.get(item=project.dataset.items()[1], annotator=carol)
    second.entity_set.update(origin="given", updated_at=second.started_at - timedelta(minutes=2))
    pace = glance(project.dataset, carol, ZoneInfo("UTC")).pace
    assert pace.marks == 1 and pace.time < timedelta(minutes=1)


@given(st.lists(st.integers(0, 10_000), max_size=30))
def test_work_is_never_longer_than_the_day(seconds):
    moments = [NOON + timedelta(seconds=each) for each in sorted(seconds)]
    time = worked(moments)
    assert timedelta() <= time <= max(moments, default=NOON) - min(moments, default=NOON)
    # A break does not count, however long it is.
    assert worked([*moments, NOON + timedelta(seconds=10_000) + BREAK * 2]) == time


def test_the_part_names_the_zone_and_forgives_nonsense(project, carol, as_carol):
    url = f"/projects/{project.pk}/annotate/work/"
    assert "Days are those of Europe/Berlin" in as_carol.get(f"{url}?zone=Europe/Berlin").text
    for zone in ("", "Nowhere/Never", "../etc/passwd", "x" * 200, "/"):
        assert "Days are those of UTC" in as_carol.get(url, {"zone": zone}).text, zone
    work(project, carol, {1: "done"})
    assert "<b>1</b> <span>done today</span>" in as_carol.get(url).text
