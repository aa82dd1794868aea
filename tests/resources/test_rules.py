"""What constraints mean, case by case, and against a second, naive implementation."""

from itertools import count

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from resources.rules import EntityRule, RelationRule, Rules, SetName
from tests.resource_sets import PlacedLabel, broken_between
from tests.soak import amount

SET = SetName(7, "Maintenance rules")
TREE = {
    "Object": None,
    "Sensor": "Object",
    "Thermostat": "Sensor",
    "Motor": "Object",
    "Activity": None,
    "Replace": "Activity",
    "State": None,
    "Broken": "State",
    "hasPart": None,
    "hasParticipant": None,
    "hasPatient": "hasParticipant",
    "hasVictim": "hasPatient",
}
KEYS = dict(zip(TREE, count(100)))
NAMES = {key: name for name, key in KEYS.items()}


def lineage(name, tree=TREE, keys=KEYS):
    line = []
    while name is not None:
        line.append(keys[name])
        name = tree[name]
    return tuple(line)


def entity_rules(*rows):
    """Rows are (domain, excludes) or (domain, excludes, can_contain), with names separated by spaces."""
    return [
        EntityRule(SET, position, KEYS[domain], _keys(excludes), None if not contents else _keys(contents[0]))
        for position, (domain, excludes, *contents) in enumerate(rows)
    ]


def relation_rules(*rows):
    return [
        RelationRule(SET, position, KEYS[relation], KEYS[domain], _keys(ends))
        for position, (relation, domain, ends) in enumerate(rows)
    ]


def _keys(names):
    return tuple(KEYS[name] for name in names.split())


def span(start, end, name):
    return PlacedLabel(start, end, lineage(name))


OBJECTS = entity_rules(("Object", "Activity State"), ("State", "Object"), ("Thermostat", "Motor"))


@pytest.mark.parametrize(
    ("one", "other", "position"),
    [
        ("Object", "Activity", 0),
        ("Activity", "Object", 0),  # symmetric
        ("Thermostat", "Activity", 0),  # a subtype of the domain
        ("Object", "Replace", 0),  # a subtype of what is excluded
        ("Thermostat", "Replace", 0),
        ("Replace", "Thermostat", 0),
        ("Object", "State", 0),  # two rows say so: the first counts
        ("Broken", "Motor", 0),
        ("Thermostat", "Motor", 2),  # adds up along the tree
        ("Motor", "Thermostat", 2),
        ("Sensor", "Motor", None),  # a rule of a subtype does not reach the type above
        ("Object", "Motor", None),
        ("Object", "Object", None),
        ("Activity", "State", None),
        ("Activity", "Replace", None),
        ("Activity", "Activity", None),
    ],
)
def test_excludes(one, other, position):
    found = Rules(OBJECTS).against_coexisting(lineage(one), lineage(other))
    assert (found and found.row.position) == position


@pytest.mark.parametrize(
    ("row", "one", "other", "allowed"),
    [
        (("Activity", "Activity"), "Activity", "Activity", False),  # the domain itself
        (("Activity", "Activity"), "Activity", "Replace", False),
        (("Activity", "Activity"), "Replace", "Replace", False),
        (("Replace", "Activity"), "Replace", "Activity", False),  # an ancestor
        (("Replace", "Activity"), "Replace", "Replace", False),
        (("Replace", "Activity"), "Activity", "Activity", True),
        (("Activity", "Replace"), "Activity", "Replace", False),  # a descendant
        (("Activity", "Replace"), "Replace", "Replace", False),
        (("Activity", "Replace"), "Activity", "Activity", True),
        (("Activity", ""), "Activity", "Object", True),  # no type at all
    ],
)
def test_excludes_within_one_branch(row, one, other, allowed):
    rules = Rules(entity_rules(row))
    assert (rules.against_coexisting(lineage(one), lineage(other)) is None) == allowed
    assert (rules.against_coexisting(lineage(other), lineage(one)) is None) == allowed


CONTAINERS = entity_rules(
    ("Object", "", "Sensor State"), ("Thermostat", "", ""), ("Motor", ""), ("Activity", "", "Object")
)


@pytest.mark.parametrize(
    ("outer", "inner", "position"),
    [
        ("Object", "Sensor", None),  # listed
        ("Object", "Thermostat", None),  # a subtype of what is listed
        ("Object", "Broken", None),
        ("Object", "Activity", 0),  # not listed
        ("Object", "Object", 0),
        ("Object", "Motor", 0),
        ("Sensor", "State", None),  # inherited from the type above
        ("Sensor", "Activity", 0),
        ("Motor", "Activity", 0),  # its own row sets no limit: inherited
        ("Motor", "State", None),
        ("Thermostat", "State", 1),  # the nearest decides, and its empty list means nothing
        ("Thermostat", "Thermostat", 1),
        ("State", "Object", None),  # absent everywhere: no limit
        ("State", "Activity", None),
        ("Activity", "Thermostat", None),
        ("Replace", "Motor", None),
        ("Replace", "State", 3),
        ("Replace", "Replace", 3),
    ],
)
def test_can_contain(outer, inner, position):
    found = Rules(CONTAINERS).against_nesting(lineage(outer), lineage(inner))
    assert (found and found.row.position) == position


@pytest.mark.parametrize(
    ("one", "other", "kinds"),
    [
        ((0, 4, "Object"), (5, 6, "Activity"), []),  # side by side
        ((0, 4, "Object"), (4, 6, "Activity"), ["excludes"]),  # they overlap
        ((4, 6, "Activity"), (0, 4, "Object"), ["excludes"]),
        ((0, 4, "Object"), (0, 4, "Activity"), ["excludes"]),  # equal spans are not nested
        ((0, 4, "Object"), (1, 2, "Activity"), ["excludes", "can_contain"]),
        ((1, 2, "Activity"), (0, 4, "Object"), ["excludes", "can_contain"]),
        ((0, 4, "Object"), (0, 3, "Activity"), ["excludes", "can_contain"]),  # with the same first token
        ((0, 4, "Object"), (4, 4, "Activity"), ["excludes", "can_contain"]),  # with the same last token
        ((0, 4, "Activity"), (1, 2, "Object"), ["excludes"]),  # it may contain what it may not share words with
        ((0, 4, "Motor"), (1, 2, "Motor"), ["can_contain"]),
        ((0, 4, "Motor"), (0, 4, "Object"), []),
        ((0, 4, "Motor"), (3, 5, "Motor"), []),  # overlapping is not nested
        ((0, 4, "Activity"), (1, 2, "Replace"), []),
        ((0, 0, "Motor"), (0, 0, "Replace"), ["excludes"]),
    ],
)
def test_between_two_entities(one, other, kinds):
    rules = Rules(entity_rules(("Object", "Activity", "Sensor")))
    assert [found.kind for found in broken_between(rules, span(*one), span(*other))] == kinds


RELATING = relation_rules(
    ("hasPart", "Object", "Sensor Motor"),
    ("hasPart", "Sensor", ""),
    ("hasParticipant", "Activity", "Object"),
    ("hasPatient", "Activity", "Motor State"),
)


@pytest.mark.parametrize(
    ("source", "relation", "target", "position"),
    [
        ("Object", "hasPart", "Sensor", None),
        ("Object", "hasPart", "Thermostat", None),  # a subtype in the range
        ("Motor", "hasPart", "Motor", None),  # a subtype of the domain
        ("Object", "hasPart", "Object", 0),  # the type above what is listed
        ("Object", "hasPart", "Activity", 0),
        ("Motor", "hasPart", "State", 0),
        ("Sensor", "hasPart", "Motor", 1),  # the nearest domain wins, and lists nothing
        ("Thermostat", "hasPart", "Sensor", 1),
        ("Activity", "hasPart", "Sensor", "none"),  # a domain without a rule
        ("State", "hasPart", "Motor", "none"),
        ("Activity", "hasParticipant", "Thermostat", None),
        ("Replace", "hasParticipant", "Object", None),
        ("Replace", "hasParticipant", "State", 2),
        ("Replace", "hasPatient", "Motor", None),  # its own rules replace those of the relation above
        ("Replace", "hasPatient", "Broken", None),
        ("Replace", "hasPatient", "Sensor", 3),
        ("Object", "hasPatient", "Motor", "none"),
        ("Replace", "hasVictim", "Motor", None),  # inherited from the nearest relation that has any
        ("Replace", "hasVictim", "Sensor", 3),
        ("Object", "hasVictim", "Motor", "none"),
    ],
)
def test_relations(source, relation, target, position):
    found = Rules(RELATING).against_relating(lineage(source), lineage(relation), lineage(target))
    if found is None or found.row is None:
        assert ("none" if found else None) == position
    else:
        assert found.row.position == position


def test_a_relation_without_rules_is_free():
    rules = Rules(relation_rules(("hasPatient", "Activity", "Motor")))
    assert rules.against_relating(lineage("State"), lineage("hasPart"), lineage("State")) is None
    assert rules.against_relating(lineage("State"), lineage("hasParticipant"), lineage("State")) is None
    assert Rules([]).against_coexisting(lineage("State"), lineage("State")) is None


@pytest.mark.parametrize(
    ("rows", "marks", "sentence"),
    [
        (
            entity_rules(("Motor", ""), ("Object", "State Activity")),
            ((0, 0, "Replace"), (0, 0, "Thermostat")),
            "“Replace” cannot share words with “Thermostat”: rule 2 of “Maintenance rules” excludes “Activity” for every"
            " “Object”.",
        ),
        (
            entity_rules(("Object", "", "Sensor State")),
            ((0, 3, "Motor"), (1, 1, "Activity")),
            "“Activity” cannot stand inside “Motor”: by rule 1 of “Maintenance rules” every “Object” can contain only"
            " “Sensor” and “State”.",
        ),
        (
            entity_rules(("Object", "", "")),
            ((1, 1, "Activity"), (0, 3, "Motor")),
            "“Activity” cannot stand inside “Motor”: by rule 1 of “Maintenance rules” every “Object” can contain nothing.",
        ),
    ],
)
def test_sentences_about_entities(rows, marks, sentence):
    (found,) = broken_between(Rules(rows), *(span(*mark) for mark in marks))
    assert found.in_words(NAMES.get) == sentence


@pytest.mark.parametrize(
    ("marks", "sentence"),
    [
        (
            ("Motor", "hasPart", "State"),
            "“hasPart” cannot lead from “Motor” to “State”: by rule 1 of “Maintenance rules” it leads from every “Object” only to"
            " “Sensor” and “Motor”.",
        ),
        (
            ("Thermostat", "hasPart", "Motor"),
            "“hasPart” cannot lead from “Thermostat” to “Motor”: by rule 2 of “Maintenance rules” it leads from every “Sensor”"
            " nowhere.",
        ),
        (
            ("State", "hasVictim", "Motor"),
            "“hasVictim” cannot lead from “State”: “Maintenance rules” has rules for it, but none for this source.",
        ),
    ],
)
def test_sentences_about_relations(marks, sentence):
    found = Rules(RELATING).against_relating(*map(lineage, marks))
    assert found.in_words(NAMES.get) == sentence


# --- A second implementation, by the words of the rules, over all labels one by one -----------------------------------------


@st.composite
def _worlds(draw):
    """Parents of labels 0 to n, rows of entity and of relation rules over them, without a domain twice."""
    size = draw(st.integers(1, 9))
    parents = [draw(st.none() | st.integers(0, label - 1)) if label else None for label in range(size)]
    labels = st.integers(0, size - 1)
    lists = st.lists(labels, unique=True, max_size=4).map(tuple)
    domains = draw(st.lists(labels, unique=True, max_size=6))
    entities = [EntityRule(SET, i, d, draw(lists), draw(st.none() | lists)) for i, d in enumerate(domains)]
    pairs = draw(st.lists(st.tuples(labels, labels), unique=True, max_size=6))
    relations = [RelationRule(SET, i, r, d, draw(lists)) for i, (r, d) in enumerate(pairs)]
    return parents, entities, relations


def _is_a(parents, label, type_):
    return label is not None and (label == type_ or _is_a(parents, parents[label], type_))


def _nearest(parents, label, having):
    while label is not None and label not in having:
        label = parents[label]
    return label


@settings(max_examples=amount(100, 5000))
@given(_worlds())
def test_the_rules_are_what_a_naive_reading_of_the_rows_says(world):
    parents, entities, relations = world
    labels = range(len(parents))
    lines = [tuple(above for above in reversed(labels) if _is_a(parents, label, above)) for label in labels]
    rules = Rules([*entities, *relations])
    for a in labels:
        for b in labels:
            first = next(
                (
                    row.position
                    for row in entities
                    for x in row.excludes
                    if (_is_a(parents, a, row.domain) and _is_a(parents, b, x))
                    or (_is_a(parents, b, row.domain) and _is_a(parents, a, x))
                ),
                None,
            )
            found = rules.against_coexisting(lines[a], lines[b])
            assert (found and found.row.position) == first
            assert found is None or found.in_words(str)
            limits = {row.domain: row for row in entities if row.can_contain is not None}
            limit = limits.get(_nearest(parents, a, limits))
            allowed = limit is None or any(_is_a(parents, b, x) for x in limit.can_contain)
            assert (rules.against_nesting(lines[a], lines[b]) is None) == allowed
            for r in labels:
                having = {row.relation for row in relations}
                of_relation = {row.domain: row for row in relations if row.relation == _nearest(parents, r, having)}
                rule = of_relation.get(_nearest(parents, a, of_relation))
                allowed = not of_relation or (rule is not None and any(_is_a(parents, b, x) for x in rule.range))
                assert (rules.against_relating(lines[a], lines[r], lines[b]) is None) == allowed


@given(_worlds(), st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 8)), min_size=2, max_size=2))
def test_pairs_are_judged_by_the_tokens_that_they_have(world, marks):
    parents, entities, _ = world
    rules, lines = Rules(entities), {}
    for label in range(len(parents)):
        lines[label] = (label, *(lines[parents[label]] if parents[label] is not None else ()))
    one, other = (PlacedLabel(start, start + more, lines[label % len(parents)]) for start, more, label in marks)
    tokens = [set(range(each.start, each.end + 1)) for each in (one, other)]
    expected = set()
    if tokens[0] & tokens[1] and rules.against_coexisting(one.label, other.label):
        expected.add("excludes")
    if tokens[0] > tokens[1] and rules.against_nesting(one.label, other.label):
        expected.add("can_contain")
    if tokens[1] > tokens[0] and rules.against_nesting(other.label, one.label):
        expected.add("can_contain")
    for pair in ((one, other), (other, one)):
        assert {found.kind for found in broken_between(rules, *pair)} == expected
