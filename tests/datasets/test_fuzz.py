"""Documents with random damage: whatever comes in, it is read or refused in words, and nothing else happens."""

import json
import random
import tracemalloc

import pytest

from annotation_service.file_formats import Beginning
from datasets.formats import detect
from datasets.kinds import DatasetKind
from datasets.preprocessing import Preprocessing
from tests import factories
from tests.soak import SOAK, amount

from .documents import Ontologies, document, reader

NASTY = [
    None,
    True,
    0,
    -1,
    1.0,
    1e308,
    2**63,
    "",
    "e1",
    "\0",
    "\ud800",
    "\u2028",
    "State",
    [],
    [[]],
    {},
    {"id": "e1"},
    {"start": 0, "end": 0, "label": "State"},
    float("nan"),
    float("inf"),
    "x" * 300,
]
PIECES = [
    b"[",
    b"]",
    b"{",
    b"}",
    b'"',
    b",",
    b":",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"\r",
    b"\n",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
]
PIECES += [
    b"NaN",
    b"null",
    b"1e999",
    b"\xe2\x80\xa8",
    b"/*",
    b"[" * 300,
    b'{"a":' * 300,
    "é😀".encode(),
    b'"start": 1,',
    b" ",
]


def damaged_value(rng, value):
    """The value with one of its parts removed, repeated, or replaced by something nasty."""
    holder, way = value, None
    for _ in range(rng.randint(1, 6)):
        ways = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else []
        if not ways:
            break
        last, way = holder, rng.choice(list(ways))
        holder = holder[way]
    if way is None:
        return rng.choice(NASTY)
    match rng.randrange(4):
        case 0:
            del last[way]
        case 1 if isinstance(last, list):
            last.append(last[way])
        case 2 if isinstance(last, dict):
            last[rng.choice(["id", "entities", "relations", "label", "Label", ""])] = last.pop(way)
        case _:
            last[way] = rng.choice(NASTY)
    return value


def damaged_bytes(rng, data):
    """The bytes with pieces cut out, put in, repeated or exchanged."""
    for _ in range(rng.randint(1, 3)):
        start = rng.randrange(len(data) + 1)
        end = min(len(data), start + rng.choice([0, 1, 1, 2, 8, 40, 400]))
        middle = rng.choice([b"", data[start:end] * 2, rng.choice(PIECES), rng.randbytes(rng.randint(1, 4))])
        data = data[:start] + middle + data[end:]
    return data if rng.random() < 0.9 else data[: rng.randrange(len(data) + 1)]


def damaged(rng, kind, format):
    if format == "text":
        return damaged_bytes(
            rng, b"Replace \xc3\xa9ngine oil.\r\n\r\nleft  thermostat\tnot\nworking\n" * rng.randint(1, 3)
        )
    value = document(kind) * rng.choice([1, 1, 2])
    value = json.loads(json.dumps(value))
    if rng.random() < 0.6:
        value = damaged_value(rng, value)
    written = {"ensure_ascii": rng.random() < 0.5}
    if format == "jsonl" and isinstance(value, list):
        text = "".join(f"{json.dumps(line, **written)}\n" for line in value)
    else:
        text = json.dumps(value, indent=rng.choice([None, 1]), **written)
    data = text.encode("utf-8", "surrogatepass")
    return data if rng.random() < 0.4 else damaged_bytes(rng, data)


def check_good(item, options):
    """What is read can be stored, and means something."""
    assert item.tokens and all(item.tokens)
    json.dumps(item, ensure_ascii=False, allow_nan=False).encode()
    assert "\0" not in item.original + item.external_id + "".join(item.tokens)
    assert "\\u0000" not in json.dumps(item.extra_fields).replace("\\\\", "")
    if item.offsets is not None and options.kind != DatasetKind.STANDARD:
        assert [item.original[start:end] for start, end in item.offsets] == item.tokens
    uids = {entity.uid for entity in item.entities}
    assert len(uids) == len(item.entities)
    assert len({(e.label, e.start, e.end) for e in item.entities}) == len(item.entities)
    assert all(0 <= e.start <= e.end < len(item.tokens) for e in item.entities)
    assert all(r.source in uids and r.target in uids and r.source != r.target for r in item.relations)


@pytest.mark.soak
def test_damaged_documents_are_read_or_refused(alice, monkeypatch):
    ontologies = Ontologies(factories.ontology(owner=alice), factories.ontology(owner=alice, kind="relation"))
    seed = random.randrange(2**32) if SOAK else 7
    print("seed", seed)  # shown if the test fails
    rng = random.Random(seed)
    good = bad = 0
    tracemalloc.start()
    for _ in range(amount(300, 5000)):
        kind = rng.choice(list(DatasetKind))
        format = "text" if kind == DatasetKind.STANDARD else rng.choice(["json", "json", "jsonl"])
        data = damaged(rng, kind, format)
        monkeypatch.setattr("annotation_service.inputs.BLOCK_BYTES", rng.choice([5, 64, 1 << 18]))
        detect(Beginning(data))
        preprocessing = Preprocessing(tokeniser=rng.choice(["whitespace", "punkt"]), lowercase=rng.random() < 0.5)
        options = ontologies.options(kind, format, preprocessing=preprocessing)
        report = reader(data, options).check()
        if report.is_good:
            good += 1
            items = list(reader(data, options))
            assert len(items) == report.items > 0
            for item in items:
                check_good(item, options)
        else:
            bad += 1
            assert all(problem.text and len(str(problem)) < 800 for problem in report.problems.first)
            assert report.problems.total >= len(report.problems.first)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert good > bad / 20 and bad > good  # the damage is neither harmless nor total
    assert peak < 20_000_000
