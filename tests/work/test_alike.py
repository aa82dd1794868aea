"""Where something alike stands, found once more in the simplest way."""

from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st

from ontologies.labels import Label
from resources.matching import EntityForm
from tests.soak import amount
from work.alike.asked import Asked, ReadText
from work.alike.places import Finder, SeenEntity, SeenItem, SeenRelation

A, B, R = (Label(pk, f"u{pk}", name, name, "", True, 1, None, "", []) for pk, name in ((1, "A"), (2, "B"), (3, "R")))
LABELS = {label.pk: label for label in (A, B, R)}

words = st.lists(st.sampled_from("abA"), min_size=1, max_size=8)
statuses = st.sampled_from(["suggested", "accepted", "rejected"])


class Check:
    """A and B cannot share a token, and nothing leads from B."""

    def between(self, one, other):
        broken = one.label != other.label and one.start <= other.end and other.start <= one.end
        return [SimpleNamespace(rule_in_words=lambda name_of: "A excludes B")] if broken else []

    def against(self, source, label, target):
        return SimpleNamespace(rule_in_words=lambda name_of: "not from B") if source == B.pk else None

    def name_of(self, label):
        return LABELS[label].name


@st.composite
def worlds(draw):
    """Tokens, marks as (label, start, end, status) that are sound, relations between them, and rejected spans."""
    tokens = draw(words)
    places = st.integers(0, len(tokens) - 1)
    marks = {}
    for label, start, length, status in draw(
        st.lists(st.tuples(st.sampled_from([A.pk, B.pk]), places, st.integers(0, 1), statuses), max_size=6)
    ):
        marks[label, start, min(start + length, len(tokens) - 1)] = status
    spans = list(marks)
    relations = {}
    if len(spans) > 1:
        pairs = st.tuples(st.sampled_from(spans), st.sampled_from(spans)).filter(lambda pair: pair[0] != pair[1])
        relations = dict(draw(st.lists(st.tuples(pairs, statuses), max_size=3)))
    rejected = draw(st.sets(st.tuples(st.sampled_from([A.pk, B.pk]), places, places), max_size=2))
    unticked = draw(st.sets(st.integers(0, 4), max_size=2))
    return tokens, marks, relations, rejected, unticked


@st.composite
def questions(draw, world):
    """About something in the text: a mark, a relation, or any tokens."""
    tokens, marks, relations, *_ = world
    place = st.builds(
        lambda label, start, length: (label, start, min(start + length, len(tokens) - 1)),
        st.sampled_from([A.pk, B.pk]),
        st.integers(0, len(tokens) - 1),
        st.integers(0, 1),
    )
    entities = st.one_of(place, st.sampled_from([*marks])) if marks else place
    pairs = st.tuples(entities, entities)
    if draw(st.booleans()):
        kind, found = "entity", [draw(entities)]
    else:
        pairs = st.one_of(pairs, st.sampled_from([*relations])) if relations else pairs
        kind, found = "relation", draw(pairs.filter(lambda pair: pair[0] != pair[1]))
    ends = tuple(EntityForm(tuple(tokens[start : end + 1]), label) for label, start, end in found)
    return Asked(
        verb=draw(st.sampled_from(["propagate", "propagate", "accept", "reject"])),
        kind=kind,
        label=LABELS[ends[0].label] if kind == "entity" else R,
        forms=ends,
        offset=found[-1][1] - found[0][1],
        ignore_case=draw(st.booleans()),
        where=draw(st.sampled_from(["label", "any"])),
        new_ends=draw(st.booleans()),
        labels=LABELS,
    )


worlds_and_questions = worlds().flatmap(lambda world: st.tuples(st.just(world), questions(world)))


def state_of(marks, relations, rejected):
    entities = {key: SeenEntity(n, *key, status) for n, (key, status) in enumerate(marks.items(), start=1)}
    related = [
        SeenRelation(n, R.pk, entities[source], entities[target], status)
        for n, ((source, target), status) in enumerate(relations.items(), start=1)
    ]
    state = SeenItem(rejected={f"{start}-{end}:{label}" for label, start, end in rejected})
    for entity in entities.values():
        state.entities.add(entity)
    for relation in related:
        state.relate(relation)
    return state


def naive(asked, tokens, marks, relations, rejected, unticked):
    """The spans of all places in order, each with whether a rule forbids it."""

    def same(form, start, end):
        found, wanted = tokens[start : end + 1], list(form.tokens)
        if asked.ignore_case:
            found, wanted = [t.casefold() for t in found], [t.casefold() for t in wanted]
        return end < len(tokens) and found == wanted

    def spans(form):
        length = len(form.tokens)
        return [(n, n + length - 1) for n in range(len(tokens)) if same(form, n, n + length - 1)]

    def forbids(new, others):
        label, start, end = new
        accepted = [key for key, status in others.items() if status == "accepted"]
        return any(key[0] != label and key[1] <= end and key[2] >= start for key in accepted)

    def can_stand(form, span):
        key = (form.label, *span)
        status = marks.get(key)
        if status == "accepted":
            return True
        if status == "rejected" or key in rejected:
            return False
        for (label, start, end), other in marks.items():
            meets = start <= span[1] and end >= span[0] and (label, start, end) != key
            if meets and other != "rejected" and (asked.where == "any" or label == form.label):
                return False
        return True

    found = []
    if asked.is_entity:
        [form] = asked.forms
        if asked.verb == "propagate":
            last, apart = -1, []
            for span in spans(form):
                if span[0] > last:
                    apart.append(span)
                    last = span[1]
            candidates = [(span,) for span in apart]
        else:
            mine = sorted(key[1:] for key, status in marks.items() if key[0] == form.label and status == "suggested")
            candidates = [(span,) for span in mine if same(form, *span)]
    elif asked.verb == "propagate":
        first, second = asked.forms
        candidates = [
            (one, other) for one in spans(first) for other in spans(second) if other[0] - one[0] == asked.offset
        ]
    else:
        first, second = asked.forms
        candidates = sorted(
            (source[1:], target[1:])
            for (source, target), status in relations.items()
            if status == "suggested"
            and (source[0], target[0]) == (first.label, second.label)
            and same(first, *source[1:])
            and same(second, *target[1:])
        )
    for place in candidates:
        keys = [(form.label, *span) for form, span in zip(asked.forms, place, strict=True)]
        if asked.verb == "propagate":
            if not all(can_stand(form, span) for form, span in zip(asked.forms, place, strict=True)):
                continue
            if asked.is_entity and marks.get(keys[0]) == "accepted":
                continue
            if not asked.is_entity:
                if not asked.new_ends and not all(key in marks and marks[key] != "made" for key in keys):
                    continue
                known = relations.get(tuple(keys))
                if known in ("accepted", "rejected"):
                    continue
                if (
                    asked.where == "any"
                    and known is None
                    and relations.get(tuple(keys[::-1]), "rejected") != "rejected"
                ):
                    continue
        number = len(found)
        if asked.verb == "reject" or number in unticked:
            found.append((place, False))
            continue
        after = dict(marks)
        broken = False
        for key in keys:
            if after.get(key) != "accepted":
                broken = broken or forbids(key, after)
                after[key] = "accepted"
        broken = broken or (not asked.is_entity and keys[0][0] == B.pk)
        found.append((place, broken))
        if not broken:
            marks.update(after)
            if not asked.is_entity:
                relations[tuple(keys)] = "accepted"
    return found


@settings(max_examples=amount(300, 5000))
@given(worlds_and_questions)
def test_the_places_are_those_of_a_simpler_search(world_and_question):
    world, asked = world_and_question
    tokens, marks, relations, rejected, unticked = world
    state = state_of(marks, relations, rejected)
    number = iter(range(1000))
    ticks = {}

    def is_ticked(place):
        return ticks.setdefault(place.key, next(number) not in unticked)

    found = [
        (place.spans, bool(place.against))
        for place in Finder(asked, Check()).places(1, ReadText(tokens, 1), state, is_ticked)
    ]
    if asked.verb == "reject":
        unticked = set()
    assert found == naive(asked, tokens, marks, relations, rejected, unticked)
