"""Any valid document survives upload, copy, download and upload again; every offset leads to its token."""

import json
from dataclasses import asdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datasets import exports
from datasets.kinds import DatasetKind
from datasets.preprocessing import Preprocessing
from datasets.tokenising import TOKENISERS
from tests import factories
from tests.soak import amount

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
TOKEN = TEXT.filter(bool)
# PostgreSQL writes whole numbers as such: 6.1e16 comes back with all its digits, more than a double can tell apart.
FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda value: not (value.is_integer() and 2**53 <= abs(value) < 2**63)
)
SCALAR = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | FLOATS
EXTRA_FIELDS = st.dictionaries(
    TEXT,
    st.recursive(SCALAR | TEXT, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)),
    max_size=3,
)
ENTITY_LABELS = ["PhysicalObject", "PhysicalObject/SensingObject/Thermostat", "Activity", "State"]
RELATION_LABELS = ["hasPart", "hasParticipant", "hasParticipant/hasPatient"]


@st.composite
def rich_items(draw):
    """The tokens come from the original, with something between them or not, or from anywhere."""
    tokens = draw(st.lists(TOKEN, min_size=1, max_size=6))
    between = draw(st.lists(st.sampled_from(["", " ", "\n", "\u2028", "😀"]) | TEXT, min_size=7, max_size=7))
    original = "".join(f"{gap}{token}" for gap, token in zip(between, [*tokens, ""], strict=False))
    item = {"original": draw(st.just(original) | TEXT), "tokens": tokens}
    if external_id := draw(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=200)):
        item["external_id"] = external_id
    if extra_fields := draw(EXTRA_FIELDS):
        item["extra_fields"] = extra_fields
    return item


@st.composite
def documents(draw, kind):
    items = draw(st.lists(rich_items(), min_size=1, max_size=5, unique_by=lambda i: i.get("external_id", id(i))))
    for item in items:
        if kind.has_entities:
            last = len(item["tokens"]) - 1
            spans = st.tuples(st.integers(0, last), st.integers(0, last), st.sampled_from(ENTITY_LABELS))
            marks = draw(st.lists(spans.map(lambda s: (*sorted(s[:2]), s[2])), max_size=5, unique=True))
            item["entities"] = [{"start": start, "end": end, "label": label} for start, end, label in marks]
        if kind.has_relations:
            count = len(item["entities"])
            uids = draw(st.lists(TOKEN, min_size=count, max_size=count, unique=True))
            item["entities"] = [{"id": uid, **e} for uid, e in zip(uids, item["entities"], strict=True)]
            ends = st.tuples(*[st.sampled_from(uids or [""])] * 2, st.sampled_from(RELATION_LABELS))
            relations = (
                draw(st.lists(ends.filter(lambda e: e[0] != e[1]), max_size=4, unique=True)) if count > 1 else []
            )
            item["relations"] = [{"source_id": s, "target_id": t, "label": label} for s, t, label in relations]
    return items


def downloaded(dataset):
    return "".join(exports.json_document(dataset))


def check_offsets(dataset):
    preprocessing = Preprocessing(**dataset.preprocessing)
    for item in dataset.items():
        if item.offsets is None:
            assert not occur(item.tokens, item.original)
            continue
        assert [preprocessing.clean(item.original[start:end]) for start, end in item.offsets] == item.tokens
        edges = [edge for span in item.offsets for edge in span]
        assert edges == sorted(edges)


def occur(tokens, text):
    for token in tokens:
        if token not in text:
            return False
        text = text.partition(token)[2]
    return True


@pytest.fixture
def ontologies(alice):
    return {f"{kind}_ontology": factories.ontology(owner=alice, kind=kind).pk for kind in ("entity", "relation")}


@pytest.mark.soak
@pytest.mark.parametrize("kind", [DatasetKind.RICH, DatasetKind.PREANNOTATED_ENTITY, DatasetKind.PREANNOTATED_RELATION])
@pytest.mark.parametrize("format", ["json", "jsonl"])
@settings(
    max_examples=amount(6, 400), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(st.data())
def test_a_document_survives(alice, ontologies, kind, format, data):
    document = data.draw(documents(kind))
    written = {"ensure_ascii": data.draw(st.booleans())}
    if format == "json":
        text = json.dumps(document, indent=data.draw(st.sampled_from([None, 2])), **written)
    else:
        text = "".join(f"{json.dumps(item, **written)}\n" for item in document)
    options = {"kind": kind, "name": "Any", **ontologies}
    first = factories.upload(text, by=alice, options=options | {"format": format}).store()
    assert json.loads(downloaded(first)) == document
    check_offsets(first)
    copy = first.copy_to(by=alice)
    assert downloaded(copy) == downloaded(first)
    check_offsets(copy)
    again = factories.upload(downloaded(copy), by=alice, options=options | {"format": "json"}).store()
    assert downloaded(again) == downloaded(first)
    lines = "".join(exports.json_lines_document(again))
    assert [json.loads(line) for line in lines.split("\n")[:-1]] == document


PREPROCESSING = st.builds(
    Preprocessing,
    lowercase=st.booleans(),
    remove_characters=st.sampled_from(["", "*", "aeİ😀", "\u0301 -"]),
    remove_duplicates=st.sampled_from(["", "identical", "spacing"]),
    tokeniser=st.sampled_from(list(TOKENISERS)),
)


def left(lines, how):
    """The lines that become items."""
    cleaned = [how.clean(line) for line in lines]
    seen = [" ".join(text.split()) if how.remove_duplicates == "spacing" else text for text in cleaned]
    return [
        line
        for number, line in enumerate(lines)
        if cleaned[number].split() and not (how.remove_duplicates and seen[number] in seen[:number])
    ]


@pytest.mark.soak
@settings(
    max_examples=amount(25, 1000), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(lines=st.lists(TEXT | st.sampled_from(["a b", "A  b", "İstanbul", "ΟΔΟΣ ς", "\u2028"])), how=PREPROCESSING)
def test_text_survives(alice, lines, how):
    lines = ["x y", *(line.replace("\r", "").replace("\n", "") for line in lines)]
    options = {"kind": "standard", "format": "text", "name": "Any", **asdict(how)}

    def items(dataset):
        return list(dataset.items().values_list("original", "tokens", "offsets"))

    first = factories.upload("\n".join(lines), by=alice, options=options).store()
    assert [original for original, _, _ in items(first)] == left(lines, how)
    check_offsets(first)
    copy = first.copy_to(by=alice)
    again = factories.upload("".join(exports.text_document(copy)), by=alice, options=options).store()
    assert items(again) == items(copy) == items(first)
    assert "".join(exports.text_document(again)) == "".join(exports.text_document(first))
    rich = factories.upload(
        downloaded(first), by=alice, options={"kind": "rich", "format": "json", "name": "Any"}
    ).store()
    assert downloaded(rich) == downloaded(first)
