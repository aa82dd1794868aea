"""The table of what labels may do with each other: its cells against the rules, its lines in trees of any size."""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from ontologies.labels import Label, Labels
from resources.entity_constraints import EntityConstraints
from resources.matrix import MOST_SHOWN, SHOWN_AT_FIRST, Branches, lines
from resources.relation_constraints import RelationConstraints
from resources.rules import Rules
from tests.soak import amount

from .test_rules import NAMES, _worlds, entity_rules, lineage, relation_rules

ENTITIES, RELATIONS = EntityConstraints(), RelationConstraints()
RULES = Rules(
    [
        *entity_rules(("Activity", "Object State"), ("Object", "", "Object State"), ("Thermostat", "", "")),
        *relation_rules(("hasPart", "Object", "Sensor"), ("hasPart", "Motor", "")),
    ]
)


@pytest.mark.parametrize(
    ("row", "column", "state", "is_own", "words"),
    [
        (
            "Activity",
            "Object",
            "excluded",
            True,
            "rule 1 of “Maintenance rules” excludes “Object” for every “Activity”",
        ),
        (
            "Object",
            "Activity",
            "excluded",
            True,
            "rule 1 of “Maintenance rules” excludes “Object” for every “Activity”",
        ),
        ("Replace", "Object", "excluded", False, "“Replace” cannot share words with “Object”: rule 1"),
        ("Activity", "Motor", "excluded", False, "rule 1"),
        (
            "Object",
            "State",
            "inside",
            True,
            "“State” may stand inside “Object”: rule 2 lists “State” for every “Object”.",
        ),
        ("Object", "Broken", "inside", False, "rule 2 lists “State” for every “Object”"),
        ("Motor", "State", "inside", False, "“State” may stand inside “Motor”: rule 2"),
        ("Thermostat", "State", "outside", True, "every “Thermostat” can contain nothing"),
        ("Object", "Object", "inside", True, "rule 2"),
        ("State", "Object", "free", False, "no rule limits what “State” can contain"),
    ],
)
def test_cells_of_entities(row, column, state, is_own, words):
    cell = ENTITIES.cell(RULES, lineage(row), lineage(column))
    assert (cell.state, cell.is_own) == (state, is_own)
    assert words in ENTITIES.cell_in_words(cell, NAMES.get)


@pytest.mark.parametrize(
    ("row", "relation", "column", "state", "is_own", "words"),
    [
        ("Object", "hasPart", "Sensor", "leads", True, "may lead from “Object” to “Sensor”: rule 1 lists “Sensor”"),
        ("Sensor", "hasPart", "Thermostat", "leads", False, "rule 1 lists “Sensor” for every “Object”"),
        ("Object", "hasPart", "State", "barred", True, "leads from every “Object” only to “Sensor”"),
        ("Motor", "hasPart", "Sensor", "barred", True, "leads from every “Motor” nowhere"),
        ("State", "hasPart", "Sensor", "barred", False, "none for this source"),
        ("State", "hasPatient", "Sensor", "leads", False, "no rule limits “hasPatient”"),
    ],
)
def test_cells_of_relations(row, relation, column, state, is_own, words):
    cell = RELATIONS.cell(RULES, lineage(row), lineage(column), lineage(relation))
    assert (cell.state, cell.is_own) == (state, is_own)
    assert words in RELATIONS.cell_in_words(cell, NAMES.get)


@settings(max_examples=amount(30, 2000))
@given(_worlds())
def test_cells_say_what_the_rules_say(world):
    parents, entities, relations = world
    rules, lines_of = Rules([*entities, *relations]), {}
    for label in range(len(parents)):
        lines_of[label] = (label, *(lines_of[parents[label]] if parents[label] is not None else ()))
    for a, one in lines_of.items():
        for other in lines_of.values():
            cell = ENTITIES.cell(rules, one, other)
            excluded = rules.against_coexisting(one, other)
            barred = rules.against_nesting(one, other)
            assert cell.state == (
                "excluded" if excluded else "outside" if barred else "inside" if cell.rule else "free"
            )
            if cell.is_own:
                assert ENTITIES.cell(rules, one[:1], other[:1]).rule == cell.rule
            assert ENTITIES.cell_in_words(cell, str)
            for line in lines_of.values():
                found = RELATIONS.cell(rules, one, other, line)
                assert (found.state == "barred") == (rules.against_relating(one, line, other) is not None)
                assert RELATIONS.cell_in_words(found, str)
                assert not found.is_own or (found.rule.domain, found.rule.relation) == (a, line[0])


# --- Lines ---------------------------------------------------------------------------------------------------------------


def tree(*parents):
    """Labels with the keys 0, 1, …, below the labels with these keys."""
    children = {}
    for key, parent in enumerate(parents):
        children.setdefault(parent, []).append(key)
    labels = Labels()

    def add(key, level, parent):
        labels.append(Label(key, f"u{key}", str(key), str(key), "#000000", True, level, parent, "", []))
        for child in children.get(key, ()):
            add(child, level + 1, f"u{key}")

    for key in children.get(None, ()):
        add(key, 1, None)
    return labels


def wide(tops, below):
    """So many labels at the top, each with so many below it."""
    return tree(*[None] * tops, *(top for top in range(tops) for _ in range(below)))


def keys(shown):
    return [line.label.pk for line in shown]


def test_what_rules_name_is_shown_with_the_types_above_it():
    labels = tree(None, 0, 1, 1, 0, None, 5, None)
    shown = lines(labels, {2, 5}, Branches())
    assert keys(shown) == [0, 1, 2, 5]
    assert [line.lineage for line in shown] == [(0,), (1, 0), (2, 1, 0), (5,)]
    assert [(line.children, line.shown, line.more) for line in shown] == [(2, 1, 1), (2, 1, 1), (0, 0, 0), (1, 0, 0)]
    for text, expected in (
        ("*", [0, 1, 2, 5, 7]),
        ("u0,u5", [0, 1, 2, 5, 6]),  # rules name nothing below the second
        ("u0*", [0, 1, 2, 4, 5]),
        ("-u1", [0, 1, 5]),
        ("-u0,u1*", [0, 5]),
        ("u0'\0,*-,--u1,gone", [0, 1, 2, 5]),
    ):
        assert keys(lines(labels, {2, 5}, Branches.read(text))) == expected
    closed = lines(labels, {2, 3, 5}, Branches(closed=frozenset({"u0"})))
    assert (keys(closed), [line.hidden for line in closed]) == ([0, 5], [2, 0])


def test_a_large_tree_begins_with_its_upper_levels_and_never_fills_the_screen():
    labels = wide(30, 10)
    everything = {label.pk for label in labels}
    shown = lines(labels, everything, Branches())
    assert (len(shown), shown.left_out) == (SHOWN_AT_FIRST, 0)
    assert sum(line.hidden for line in shown) == 290
    # Opening one branch closes no other.
    assert set(keys(lines(labels, everything, Branches.read("u29")))) == {*keys(shown), *range(320, 330)}
    opened = lines(labels, everything, Branches.read(",".join(label.uid for label in labels)))
    assert (len(opened), opened.left_out) == (MOST_SHOWN, 230)


uids = st.frozensets(st.integers(0, 700).map("u{}".format))


@settings(max_examples=amount(40, 1000))
@given(st.integers(0, 130), st.integers(0, 4), st.sets(st.integers(0, 700)), st.builds(Branches, uids, uids, uids))
def test_lines_of_any_tree(tops, below, named, branches):
    labels = wide(tops, below)
    assert Branches.read(str(branches)) == branches
    named &= {label.pk for label in labels}
    shown = lines(labels, named, branches)
    found = keys(shown)
    assert len(found) <= MOST_SHOWN and found == [label.pk for label in labels if label.pk in set(found)]
    in_tree = named
    assert len(in_tree & set(found)) + sum(line.hidden for line in shown) <= len(in_tree)
    for line in shown:
        assert all(above in found for above in line.lineage)
        assert not (line.shown and line.label.uid in branches.closed)
