"""Files in the JSON of other programs: how a test reads and writes them, and what it compares."""

import json
from io import BytesIO

from hypothesis import strategies as st

from annotation_service.file_formats import Beginning
from annotation_service.inputs import Refused
from datasets.formats.dataset_format import DatasetSource, Export, WrittenEntity, WrittenItem, WrittenRelation
from datasets.tokenising import offsets_of

OWN = [{"original": "a b", "tokens": ["a", "b"], "entities": [{"id": "e1", "start": 0, "end": 0, "label": "X"}]}]
NOT_OURS = {
    "prose": "It broke down. The text: [0, 4] was “fine”.\n" * 20,
    "CSV": "text,label,start_offset\nengine,PER,3\n",
    "Markdown": "# text\n\n- [entities](spans)\n```json\n{}\n```\n",
    "source code": 'def tokens(text):\n    return {"text": text, "label": [[0, 4, "PER"]]}\n',
    "own JSON": json.dumps(OWN),
    "own JSON Lines": json.dumps(OWN[0]),
    "other JSON": json.dumps([{"name": "text", "label": "PER", "tokens": 5, "data": [1, 2], "annotations": {}}]),
    "a configuration": json.dumps({"data": {"text": "x"}, "label": ["a"], "tokens": ["x"]}, indent=2),
    "a table": '{"text": "It broke", "label": "bad"}\n{"text": "fine", "label": "good"}\n',
    "empty": "",
    "cut": '[{"te',
}


def lines(*values):
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


def seen(format, text, name=""):
    return format.seen_in(Beginning(text.encode() if isinstance(text, str) else text, name))


def source(data, **chosen):
    return DatasetSource(BytesIO(data.encode() if isinstance(data, str) else data), chosen=chosen)


def read(format, data, **chosen):
    """The values of the items, and what is left out."""
    file = source(data, **chosen)
    pieces = list(format.read(file))
    assert [str(piece.refused) for piece in pieces if piece.refused] == []
    return [piece.value for piece in pieces if piece.length], file.left_out


def refusals(format, data):
    return [str(piece.refused) for piece in format.read(source(data)) if piece.refused]


def written(format, items, title="Work orders", **more):
    """The files, and the export."""
    export = Export(title, items, **more)
    files = {}
    for name, piece in format.write(export):
        files.setdefault(name, []).append(piece)
    return {name: "".join(pieces) for name, pieces in files.items()}, export


def item(text="Anna met Bob in Paris", entities=(), relations=(), number=1, external_id="", **extra_fields):
    """Of words with spaces between. Entities are (label, first word, last word), relations (label, index, index)."""
    tokens = text.split()
    marks = [WrittenEntity(f"m{at}", *mark) for at, mark in enumerate(entities)]
    ends = [WrittenRelation(label, f"m{source}", f"m{target}") for label, source, target in relations]
    return WrittenItem(number, external_id, text, tokens, offsets_of(tokens, text), extra_fields, marks, ends)


def of_written(item):
    """What is compared: characters and labels of entities, and relations between these."""
    places = {each.id: (*item.characters(each), each.label) for each in item.entities}
    relations = sorted((each.label, places[each.source], places[each.target]) for each in item.relations)
    return item.text, item.external_id, item.extra_fields, sorted(places.values()), relations


def of_read(value):
    spans = offsets_of(value["tokens"], value["original"])
    places = {e["id"]: (spans[e["start"]][0], spans[e["end"]][1], e["label"]) for e in value["entities"]}
    ends = [(r["label"], places[r["source_id"]], places[r["target_id"]]) for r in value["relations"]]
    fields = value.get("external_id", ""), value.get("extra_fields", {})
    return value["original"], *fields, sorted(places.values()), sorted(ends)


LABELS = st.sampled_from(["PER", "Object/Pump, hydraulic", "Größe", "B-side", "標籤/子"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("aü😀\n", max_size=3), st.lists, max_leaves=4
)
NAMES = st.sampled_from(["site", "text", "id", "external_id", "label", "Comments", "extra_fields", "meta", "tokens"])


@st.composite
def items(draw):
    words = draw(st.lists(st.text("aZ9ü😀.-“", min_size=1, max_size=4), min_size=1, max_size=6))
    spaces = draw(st.lists(st.sampled_from([" ", "  ", "\n"]), min_size=len(words), max_size=len(words)))
    text = "".join(word + space for word, space in zip(words, spaces, strict=True))
    places = st.integers(0, len(words) - 1)
    marks = sorted(draw(st.sets(st.tuples(places, places, LABELS), max_size=5)))
    entities = [WrittenEntity(f"m{at}", label, min(a, b), max(a, b)) for at, (a, b, label) in enumerate(marks)]
    entities = list({(each.label, each.start, each.end): each for each in entities}.values())
    relations = []
    if len(entities) > 1:
        pairs = st.tuples(LABELS, st.permutations([each.id for each in entities]).map(lambda ids: tuple(ids[:2])))
        relations = [WrittenRelation(label, *ends) for label, ends in draw(st.sets(pairs, max_size=4))]
    return WrittenItem(
        1,
        draw(st.sampled_from(["", "WO-1", "7"])),
        text,
        words,
        offsets_of(words, text),
        draw(st.dictionaries(NAMES, VALUES, max_size=3)),
        entities,
        relations,
    )


def mutated(data):
    """The bytes with some of them changed, left out or repeated."""
    positions = st.lists(
        st.tuples(
            st.integers(0, len(data) - 1), st.sampled_from([b"", b'"', b"[", b"}", b"-1", b"\xff", b"null", b"\\"])
        ),
        max_size=4,
    )

    def change(places):
        changed = data
        for position, put in places:
            changed = changed[:position] + put + changed[position + 1 :]
        return changed

    return positions.map(change)


def swapped(value):
    """A JSON document in which some values have another type."""
    others = st.sampled_from([None, True, -1, 1.5, "x", [], {}, [[]], [1], [None], {"start": "x"}, 10**18])

    def strategy(value):
        if isinstance(value, dict):
            return st.fixed_dictionaries({name: strategy(each) | others for name, each in value.items()})
        if isinstance(value, list):
            return st.tuples(*[strategy(each) | others for each in value]).map(list)
        return st.just(value) | others

    return strategy(value)


def only_refuses(format, data):
    """Read whatever it is, to the end: nothing but `Refused` is raised, and nothing at all by looking at it."""
    seen(format, data)
    format.settings(Beginning(data))
    try:
        for piece in format.read(source(data)):
            assert piece.refused is None or isinstance(piece.refused, Refused)
    except Refused:
        pass
