import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation_service.inputs import Refused
from ontologies import colors
from ontologies.checks import likely_mistakes
from tests import factories
from tests.soak import amount


def distance(first, second):
    """How different two colours look (OKLab)."""

    def place(color):
        lightness, chroma, hue = colors.to_oklch(color)
        return lightness, chroma * cos(hue), chroma * math.sin(math.radians(hue))

    return math.dist(place(first), place(second))


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


def lab(color):
    """CIELAB, D65."""
    red, green, blue = (colors._LINEAR[int(color[i : i + 2], 16)] for i in (1, 3, 5))
    xyz = (
        (0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047,
        0.2126729 * red + 0.7151522 * green + 0.0721750 * blue,
        (0.0193339 * red + 0.1191920 * green + 0.9503041 * blue) / 1.08883,
    )
    x, y, z = (t ** (1 / 3) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116 for t in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def ciede2000(one, other):
    """As Sharma, Wu and Dalal write it (2005)."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    stretch = 1 + 0.5 * (1 - math.sqrt(mean**7 / (mean**7 + 25**7)))
    a1, a2 = a1 * stretch, a2 * stretch
    c1, c2 = math.hypot(a1, b1), math.hypot(a2, b2)
    h1, h2 = math.degrees(math.atan2(b1, a1)) % 360, math.degrees(math.atan2(b2, a2)) % 360
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0
    hue = h1 + ((h2 - h1 + 180) % 360 - 180) / 2  # halfway on the shorter way
    light, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    t = 1 - 0.17 * cos(hue - 30) + 0.24 * cos(2 * hue) + 0.32 * cos(3 * hue + 6) - 0.2 * cos(4 * hue - 63)
    blue = 60 * math.exp(-(((hue - 275) / 25) ** 2))
    rotation = -math.sin(math.radians(blue)) * 2 * math.sqrt(chroma**7 / (chroma**7 + 25**7))
    by_light = (l2 - l1) / (1 + 0.015 * (light - 50) ** 2 / math.sqrt(20 + (light - 50) ** 2))
    by_chroma = (c2 - c1) / (1 + 0.045 * chroma)
    by_hue = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2)) / (1 + 0.015 * chroma * t)
    return math.sqrt(by_light**2 + by_chroma**2 + by_hue**2 + rotation * by_chroma * by_hue)


def cos(degrees):
    return math.cos(math.radians(degrees))


def test_the_second_opinion_is_right():
    """The first and the seventh pair of Sharma, Wu and Dalal, and one across the wheel."""
    assert ciede2000((50, 2.6772, -79.7751), (50, 0, -82.7485)) == pytest.approx(2.0425, abs=1e-4)
    assert ciede2000((50, 0, 0), (50, -1, 2)) == pytest.approx(2.3669, abs=1e-4)
    assert ciede2000((50, 2.5, 0), (58, 24, 15)) == pytest.approx(19.4535, abs=1e-4)


GROUNDS = "#FFFFFF", "#FAFAF8", "#1D2023", "#15171A"  # of pages and panels, light and dark


def check_apart(shades):
    """By two measures; and from the page in both themes."""
    places = [lab(color) for color in shades]
    for (one, here), (other, there) in itertools.combinations(zip(shades, places, strict=True), 2):
        assert distance(one, other) >= colors.APART > colors.JUST_NOTICEABLE
        assert ciede2000(here, there) > 2.3
    assert all(distance(color, ground) > 0.09 for color in shades for ground in GROUNDS)


def test_all_automatic_colours_of_two_hundred_siblings_can_be_told_apart():
    tops = [colors.top_level(i) for i in range(colors.SEPARATE)]
    assert colors.SEPARATE == 200
    check_apart(tops)
    for parent in (*tops[:3], tops[40], tops[-1], "#000000", "#FFFFFF", "#808080", "#FFFF00", "#0000FF"):
        check_apart([colors.child_of(parent, i) for i in range(colors.SEPARATE)])


@settings(max_examples=amount(20, 500))
@given(
    parent=st.none() | st.integers(0, 2**24 - 1).map("#{:06X}".format),
    size=st.integers(2, 200),
    strange=st.lists(st.integers(0, 2**24 - 1).map("#{:06X}".format), max_size=3),
)
def test_new_siblings_can_be_told_apart_one_after_the_other(parent, size, strange):
    """Also from those that somebody gave colours of their own, while there are others."""
    shades = list(strange)
    for index in range(min(size, 150)):
        shades.append(colors.free_child_of(parent, index, set(shades)))
    own = shades[len(strange) :]
    assert all(distance(a, b) >= colors.APART for a, b in itertools.product(own, strange))
    check_apart(own)


@pytest.mark.parametrize("size", [2, 40, 120, 200])
def test_labels_of_a_document_can_be_told_apart_at_the_top_and_below(alice, size):
    names = [{"name": f"L{n}"} for n in range(size)]
    items = factories.ontology(owner=alice, items=[*names[1:], {"name": "L0", "children": names}]).items()
    for level in (1, 2):
        check_apart([item.color for item in items if item.level == level])


def test_a_new_child_is_given_all_colours_of_children_before_one_is_repeated():
    parent = colors.top_level(0)
    below = [colors.child_of(parent, i) for i in range(colors.SEPARATE)]
    assert colors.free_child_of(parent, 0, {*below[:-1]}) == below[-1]
    assert colors.free_child_of(parent, 0, {*below}) == below[0]
    assert colors.free_child_of(parent, colors.SEPARATE, {*below}) == below[0]


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
