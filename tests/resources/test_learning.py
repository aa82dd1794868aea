"""Rules learned from marks, against the same written down mark by mark."""

from collections import Counter

import hypothesis.strategies as st
from hypothesis import given, settings

from resources.proposals import ENOUGH, RARE, Observed, can_contain, relating
from resources.rules import Rules
from tests.soak import amount

from .test_matrix import ENTITIES, RELATIONS
from .test_rules import KEYS, NAMES, lineage


def observed(*, nested=(), long=(), related=()):
    """Marks by the names of their labels: (outer, inner, how many), (label, how many), (source, relation, target, how many)."""

    def keyed(rows):
        found = Counter()
        for *names, count in rows:
            keys = tuple(KEYS[name] for name in names)
            found[keys if len(keys) > 1 else keys[0]] += count
        return found

    return Observed({KEYS[name]: lineage(name) for name in KEYS}, keyed(long), keyed(nested), keyed(related))


def shown(proposals):
    """By (relation and) domain: the labels with their counts, rare ones in brackets; a question mark if it is not likely."""
    found = {}
    for each in proposals:
        names = [f"{NAMES[x.label]} {x.times}" if x.is_usual else f"({NAMES[x.label]} {x.times})" for x in each.listed]
        head = " ".join(NAMES[label] for label in (each.relation, each.domain) if label)
        found[head] = ", ".join(names) + ("" if each.is_likely else "?")
    return found


def test_what_stands_inside_a_type_becomes_its_rule_and_what_is_rare_an_exception():
    marks = observed(
        long=[("Object", 120), ("Thermostat", 15), ("Motor", 3), ("Activity", 40), ("State", 4)],
        nested=[
            ("Object", "Sensor", 60),
            ("Motor", "Thermostat", 38),
            ("Object", "State", 20),
            ("Object", "Replace", 1),
        ],
    )
    assert shown(can_contain(marks, 1)) == {"Object": "Object 98, State 20, (Activity 1)", "Activity": "", "State": "?"}
    assert shown(can_contain(marks, 3)) == {
        "Object": "Sensor 98, State 20, (Replace 1)",
        "Sensor": "",  # narrower than what it inherits; of Motor too few are known
        "Activity": "",
        "State": "?",
    }
    rules = Rules(ENTITIES.learned(each, each.usual) for each in can_contain(marks, 1))
    assert ENTITIES.broken(marks, rules) == 1


def test_what_a_relation_connects_becomes_its_rules():
    marks = observed(
        related=[
            ("Object", "hasPart", "Sensor", 30),
            ("Motor", "hasPart", "Motor", 20),
            ("State", "hasPart", "Object", 1),
            ("Replace", "hasParticipant", "Object", 12),
            ("Activity", "hasVictim", "State", 11),
            ("Activity", "hasPatient", "Object", 2),
        ]
    )
    assert shown(relating(marks, 1)) == {
        "hasPart Object": "Object 50",
        "hasPart State": "Object 1?",
        "hasParticipant Activity": "Object 14, State 11",
    }
    assert shown(relating(marks, 9)) == {
        "hasPart Object": "Sensor 30, Motor 20",
        "hasPart Motor": "Motor 20",
        "hasPart State": "Object 1?",
        "hasParticipant Activity": "Object 14, State 11",
        "hasParticipant Replace": "Object 12",
        "hasPatient Activity": "State 11, Object 2",
        "hasVictim Activity": "State 11",
    }
    rules = Rules(RELATIONS.learned(each, each.usual) for each in relating(marks, 1) if each.is_likely)
    assert RELATIONS.broken(marks, rules) == 1


# --- A second implementation, over single marks ----------------------------------------------------------------------------


@st.composite
def _marked(draw):
    size = draw(st.integers(1, 8))
    parents = [draw(st.none() | st.integers(0, label - 1)) if label else None for label in range(size)]
    labels, often = st.integers(0, size - 1), st.integers(1, 60)
    nested = draw(st.lists(st.tuples(labels, labels, often), max_size=8))
    long = draw(st.lists(st.tuples(labels, often), max_size=5))
    related = draw(st.lists(st.tuples(labels, labels, labels, often), max_size=8))
    return (
        parents,
        [(one, other) for one, other, count in nested for _ in range(count)],
        [label for label, count in long for _ in range(count)],
        [(one, label, other) for one, label, other, count in related for _ in range(count)],
    )


def _line(parents, label):
    return () if label is None else (label, *_line(parents, parents[label]))


class Naive:
    def __init__(self, parents, depth):
        self.parents, self.depth = parents, depth

    def is_a(self, label, type_):
        return type_ in _line(self.parents, label)

    def level(self, label):
        return len(_line(self.parents, label))

    def by_level(self):
        return sorted((x for x in range(len(self.parents)) if self.level(x) <= self.depth), key=self.level)

    def listed(self, found):
        """The labels at or above the depth of which one was found, none below another one; how often, whether usual."""
        known = {next(x for x in _line(self.parents, label) if self.level(x) <= self.depth) for label in found}
        tops = {label for label in known if not any(self.is_a(label, x) for x in known if x != label)}
        counts = {top: sum(self.is_a(label, top) for label in found) for top in tops}
        return {label: (count, count >= RARE * len(found)) for label, count in counts.items()}

    def rules(self, met, pairs):
        """Of each domain: how many have been met, and what is listed."""
        found = {}
        for domain in self.by_level():
            number = sum(self.is_a(label, domain) for label in met)
            listed = self.listed([other for one, other in pairs if self.is_a(one, domain)])
            above = next((x for x in _line(self.parents, domain)[1:] if x in found), None)
            if number and (above is None or (number >= ENOUGH and usual(listed) != usual(found[above][1]))):
                found[domain] = number, listed
        return found


def usual(listed):
    return {label for label, (_, is_usual) in listed.items() if is_usual}


def plain(proposals):
    return {
        (each.relation, each.domain): (each.met, {x.label: (x.times, x.is_usual) for x in each.listed})
        for each in proposals
    }


@settings(max_examples=amount(60, 3000))
@given(_marked(), st.integers(1, 4))
def test_the_proposals_are_what_a_naive_reading_of_the_marks_says(marked, depth):
    parents, nested, long, related = marked
    long = long + [outer for outer, _ in nested]
    lines = {label: _line(parents, label) for label in range(len(parents))}
    marks = Observed(lines, Counter(long), Counter(nested), Counter(related))
    naive = Naive(parents, depth)

    contents = can_contain(marks, depth)
    assert plain(contents) == {(None, domain): rule for domain, rule in naive.rules(long, nested).items()}
    expected = {}
    for relation in naive.by_level():
        of_it = [(one, other) for one, label, other in related if naive.is_a(label, relation)]
        rules = naive.rules([one for one, _ in of_it], of_it)
        above = next((x for x in _line(parents, relation)[1:] if x in expected), None)
        content = {(domain, frozenset(usual(listed))) for domain, (_, listed) in rules.items()}
        of_above = above is not None and {(d, frozenset(usual(listed))) for d, (_, listed) in expected[above].items()}
        if of_it and (above is None or (len(of_it) >= ENOUGH and content != of_above)):
            expected[relation] = rules
    relations = relating(marks, depth)
    assert plain(relations) == {(r, domain): rule for r, rules in expected.items() for domain, rule in rules.items()}

    for proposals, kind in ((contents, ENTITIES), (relations, RELATIONS)):
        everything = Rules(kind.learned(each, [x.label for x in each.listed]) for each in proposals)
        assert kind.broken(marks, everything) == 0
        rules = Rules(kind.learned(each, each.usual) for each in proposals if each.is_likely)
        broken = (
            [rules.against_nesting(lines[one], lines[other]) for one, other in nested]
            if kind is ENTITIES
            else [rules.against_relating(*(lines[label] for label in labels)) for labels in related]
        )
        assert kind.broken(marks, rules) == sum(each is not None for each in broken)
