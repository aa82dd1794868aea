import pytest
from django.contrib.auth.models import Group
from django.db.models.functions import Lower

from annotation_service import paging
from annotation_service.paging import Column, Page, order, sort_columns
from tests import factories

COLUMNS = [
    Column("name", "Name", Lower("name")),
    Column("changed", "Changed", "updated_at", big_first=True),
]


@pytest.fixture
def groups(db):
    Group.objects.all().delete()
    Group.objects.bulk_create(Group(name=f"group {number:02}") for number in range(1, 24))
    return Group.objects.order_by("name")


def names(page):
    return [group.name for group in page.object_list]


@pytest.mark.parametrize("options", [{}, {"count": 23}, {"scan": True}])
@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_every_way_to_get_a_page_gives_the_same_rows(groups, number, options):
    page = Page.of(groups, str(number), size=5, **options)
    assert names(page) == [f"group {n:02}" for n in range(1, 24)][(number - 1) * 5 : number * 5]
    assert (page.paginator.count, page.paginator.num_pages) == (23, 5)
    assert (page.start_index(), page.end_index()) == ((number - 1) * 5 + 1, min(number * 5, 23))
    assert (page.has_previous(), page.has_next()) == (number > 1, number < 5)


@pytest.mark.parametrize(
    ("wanted", "number"),
    [(None, 1), ("", 1), ("0", 1), ("-1", 1), ("x", 1), ("1.5", 1), ("²", 1), ("6", 5), ("9" * 5000, 5), ("٣", 1)],
)
def test_an_odd_page_number_shows_the_first_page_and_one_beyond_the_end_the_last(groups, wanted, number):
    assert Page.of(groups, wanted, size=5).number == number


@pytest.mark.parametrize("options", [{}, {"count": 0}, {"scan": True}])
def test_a_list_without_rows_has_one_empty_page(groups, options):
    page = Page.of(groups.filter(name="none"), "3", **options)
    assert (page.number, page.paginator.num_pages, page.paginator.count, page.object_list) == (1, 1, 0, [])


def test_a_known_count_saves_the_counting(groups, django_assert_num_queries):
    with django_assert_num_queries(1):
        Page.of(groups, "5", size=5, count=23)


def test_columns_rise_or_fall_at_the_first_click_and_turn_at_the_next():
    name, changed = sort_columns("name", COLUMNS)
    assert (name.direction, name.next) == ("ascending", "-name")
    assert (changed.direction, changed.next) == ("", "-changed")
    name, changed = sort_columns("-changed", COLUMNS)
    assert (changed.direction, changed.next) == ("descending", "changed")
    assert name.next == "name"


@pytest.mark.parametrize("wanted", [None, "", "-", "password", "name;drop", "--name"])
def test_an_unknown_sorting_is_the_default(wanted):
    assert sort_columns(wanted, COLUMNS) == sort_columns("-changed", COLUMNS)


def test_names_are_sorted_without_regard_to_case(groups):
    Group.objects.create(name="Group 01b")
    ordered = Group.objects.order_by(*order(sort_columns("name", COLUMNS[:1], default="name")))
    assert list(ordered.values_list("name", flat=True))[:3] == ["group 01", "Group 01b", "group 02"]


def test_a_search_counts_only_when_many_rows_follow_its_page(alice, django_assert_num_queries, monkeypatch):
    monkeypatch.setattr(paging, "AHEAD", 20)
    rows = factories.dataset(owner=alice, text="".join(f"line {n}\n" for n in range(60))).items()
    for number, queries, shown in (("1", 2, 25), ("2", 1, 25), ("3", 1, 10), ("99", 3, 10), (None, 2, 25)):
        with django_assert_num_queries(queries):
            page = Page.of(rows, number, scan=True)
        assert (page.paginator.count, len(page.object_list)) == (60, shown)
    with django_assert_num_queries(1):
        assert Page.of(rows.filter(search_text="line 7"), None, scan=True).paginator.count == 1
    with django_assert_num_queries(1):
        assert Page.of(rows.filter(search_text="nothing"), None, scan=True).object_list == []
