import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation_service.inputs import Refused
from ontologies import colors
from ontologies.checks import likely_mistakes
from tests import factories


def distance(first, second):
    """How different two colours look (OKLab)."""

    def lab(color):
        lightness, chroma, hue = colors.to_oklch(color)
        return lightness, chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))

    return math.dist(lab(first), lab(second))


def test_neighbours_at_the_top_level_look_different():
    first = [colors.top_level(i) for i in range(13)]
    nearest = min(distance(a, b) for i, a in enumerate(first) for b in first[:i])
    assert nearest > 0.02
    assert all(distance(a, b) > 0.12 for a, b in itertools.pairwise(first))


def test_the_first_eight_top_level_colours_are_far_apart():
    first = [colors.top_level(i) for i in range(8)]
    assert min(distance(a, b) for i, a in enumerate(first) for b in first[:i]) > 0.05


def test_the_first_top_level_colours_are_equally_light():
    lightness = [colors.to_oklch(colors.top_level(i))[0] for i in range(colors.RING)]
    assert max(lightness) - min(lightness) < 0.02


def test_as_many_automatic_colours_can_be_told_apart_as_it_says():
    tops = [colors.top_level(i) for i in range(colors.SEPARATE_TOPS)]
    assert min(distance(a, b) for a, b in itertools.combinations(tops, 2)) > colors.JUST_NOTICEABLE
    for top in tops:
        below = [colors.child_of(top, i) for i in range(colors.SEPARATE_CHILDREN)]
        assert min(distance(a, b) for a, b in itertools.combinations(below, 2)) > colors.JUST_NOTICEABLE


def test_a_new_child_is_given_all_colours_of_children_before_one_is_repeated(monkeypatch):
    parent = colors.top_level(0)
    monkeypatch.setattr(colors, "SEPARATE_TOPS", 1)
    below = [colors.child_of(parent, i) for i in range(colors.SEPARATE_CHILDREN)]
    assert colors.free_child_of(parent, 0, below[:-1]) == below[-1]
    assert colors.free_child_of(None, 0, [colors.top_level(0)]) == colors.top_level(0)


@pytest.mark.parametrize("index", range(20))
def test_a_child_resembles_its_parent_more_than_the_next_branch(index):
    parent = colors.top_level(index)
    for place in range(6):
        child = colors.child_of(parent, place)
        assert child != parent
        assert distance(child, parent) < distance(child, colors.top_level(index + 1))


@pytest.mark.parametrize("depth", [1, 5, 50])
def test_deep_branches_do_not_fade_into_the_page(depth):
    color = colors.top_level(3)
    for _ in range(depth):
        color = colors.child_of(color, 1)
    assert colors.HEX.fullmatch(color)
    assert 0.5 < colors.to_oklch(color)[0] < 0.85


def test_a_new_ontology_is_coloured_by_branches(alice):
    items = list(factories.ontology(owner=alice).items())
    tops = [item for item in items if item.level == 1]
    assert [item.color for item in tops] == [colors.top_level(i) for i in range(3)]
    assert items[1].color == colors.child_of(items[0].color, 0)
    assert items[3].color == colors.child_of(items[0].color, 1)


@pytest.mark.parametrize(
    "color", ["#000000", "#FFFFFF", "#808080", "#FF0000", "#0000FF", "#FFFF00", colors.top_level(7)]
)
def test_sixty_children_of_any_colour_have_colours_of_their_own(color):
    assert len({colors.child_of(color, i) for i in range(60)}) == 60


def test_siblings_do_not_share_a_colour_whatever_happened_before(alice):
    ontology = factories.ontology(
        owner=alice, items=[{"name": "T", "children": [{"name": f"C{i}"} for i in range(30)]}]
    )
    top, first = ontology.items()[:2]
    first.recolor(colors.child_of(top.color, 30), by=alice)
    top.recolor(colors.top_level(5), by=alice)
    factories.item(ontology, "C4").recolor(colors.child_of(colors.top_level(5), 32), by=alice)
    for i in range(29):
        ontology.add_item(f"D{i}", parent=top, by=alice)
    shown = [item.color for item in ontology.items() if item.level == 2]
    assert len(shown) == len(set(shown)) == 59
    ontology.items()[0].recolor(colors.top_level(1), by=alice)
    assert ontology.add_item("Second", by=alice).color not in {colors.top_level(1)}


def test_a_document_with_some_colours_gives_the_others_free_ones(alice):
    document = [
        {"name": "A"},
        {"name": "B", "color": colors.top_level(0)},
        {"name": "C", "color": colors.top_level(2)},
        {"name": "D"},
    ]
    shown = [item.color for item in factories.ontology(owner=alice, items=document).items()]
    assert len(set(shown)) == 4


@pytest.mark.parametrize(
    ("color", "name"),
    [
        ("#FF0000", "red"),
        ("#FFA500", "light orange"),
        ("#8B4513", "dark brown"),
        ("#FFFF00", "yellow"),
        ("#808000", "olive"),
        ("#008000", "dark green"),
        ("#008080", "dark teal"),
        ("#000080", "dark blue"),
        ("#87CEEB", "light blue"),
        ("#800080", "dark purple"),
        ("#FFC0CB", "light pink"),
        ("#000000", "black"),
        ("#808080", "grey"),
        ("#FFFFFF", "white"),
    ],
)
def test_a_colour_has_a_name_in_plain_words(color, name):
    assert colors.name_of(color) == name


@given(
    some=st.lists(st.sampled_from([colors.top_level(0), colors.child_of(colors.top_level(0), 3), "#339D6E", "#349C6D"]))
)
def test_what_looks_alike_is_found_in_groups(some):
    groups = colors.alike(some)
    like = {frozenset(pair) for pair in itertools.combinations(range(len(some)), 2)}
    like = {pair for pair in like if distance(*(some[place] for place in pair)) < colors.JUST_NOTICEABLE}
    assert {frozenset(pair) for group in groups for pair in itertools.combinations(group, 2)} == like


def test_siblings_that_look_alike_get_colours_of_their_own_in_one_step(alice):
    green = colors.top_level(0)
    below = [{"name": f"C{i}", "color": green, "children": [{"name": "Leaf"}]} for i in range(40)]
    ontology = factories.ontology(owner=alice, items=[{"name": "T", "children": [*below, {"name": "Other"}]}])
    before = {item.name: item.color for item in ontology.items().exclude(name="Leaf")}
    (check,) = (each for each in likely_mistakes(ontology.labels()) if each.kind == "similar_colors")
    assert len(check.labels) == 40
    assert ontology.separate_colors([label.uid for label in check.labels], by=alice) == 78  # the first keeps its own
    assert "similar_colors" not in [each.kind for each in likely_mistakes(ontology.labels())]
    after = {item.name: item.color for item in ontology.items().exclude(name="Leaf")}
    assert [name for name in before if before[name] == after[name]] == ["T", "C0", "Other"]
    ontology.undo(by=alice)
    assert {item.name: item.color for item in ontology.items().exclude(name="Leaf")} == before


def test_only_siblings_get_colours_of_their_own(alice):
    ontology = factories.ontology(owner=alice)
    for uids in ([], ["unknown"], [item.uid for item in ontology.items()]):
        with pytest.raises(Refused, match="not beside each other any more"):
            ontology.separate_colors(uids, by=alice)
