"""brat standoff as it is read and written, alone and in a zip archive. The files are written after
https://brat.nlplab.org/standoff.html and https://brat.nlplab.org/configuration.html."""

import io
import re
import tracemalloc
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation_service import file_formats
from annotation_service.file_formats import Beginning
from annotation_service.inputs import Refused
from datasets.formats.archives import ARCHIVE
from datasets.formats.brat import BRAT, labels_of_conf, read_document
from datasets.formats.dataset_format import (
    DatasetSource,
    Export,
    WrittenEntity,
    WrittenItem,
    WrittenLabel,
    WrittenRelation,
)
from datasets.tokenising import offsets_of

TEXT = "Alice met Bob in Paris.\nThe old oak door was open.\n"
MARKS = "T1\tPerson 0 5\tAlice\nT2\tPerson 10 13\tBob\nR1\tMeets Arg1:T1 Arg2:T2\t\n"


@pytest.fixture(autouse=True)
def formats(monkeypatch):
    monkeypatch.setattr(file_formats, "FORMATS", [ARCHIVE, BRAT])


def packed(files, **options):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content, **options)
    return target.getvalue()


def read(files, **options):
    data = files if isinstance(files, bytes) else packed(files)
    source = DatasetSource(io.BytesIO(data), "corpus.zip", **options)
    return list(ARCHIVE.read(source)), source


def document(text, marks, conf=""):
    """Of the only text: its entities by characters and its relations, and what was left out."""
    source = DatasetSource(io.BytesIO(marks.encode()), "a.ann")
    value = read_document(source, text, labels_of_conf(conf))
    return *by_characters(value), source.left_out


def by_characters(value):
    spans = offsets_of(value["tokens"], value["original"])
    entities = {
        each["id"]: (spans[each["start"]][0], spans[each["end"]][1], each["label"]) for each in value["entities"]
    }
    relations = {
        (each["label"], entities[each["source_id"]], entities[each["target_id"]]) for each in value["relations"]
    }
    return sorted(entities.values()), relations


def item(number, original, tokens, entities=(), relations=(), external_id="", **more):
    return WrittenItem(
        number,
        external_id,
        original,
        tokens,
        offsets_of(tokens, original),
        entities=[WrittenEntity(*each) for each in entities],
        relations=[WrittenRelation(*each) for each in relations],
        **more,
    )


def label(fullname):
    return WrittenLabel(fullname, fullname.count("/") + 1, "#11aa22", "")


def written(items, entity=(), relation=()):
    """The files, and the export, which knows what was lost."""
    labels = {"entity": list(map(label, entity)), "relation": list(map(label, relation))}
    export = Export("Corpus", items, labels)
    files = {}
    for name, piece in BRAT.write(export):
        assert name == list(files)[-1] if name in files else True  # those of one file follow each other
        files[name] = files.get(name, "") + piece
    return files, export


# --- Reading -------------------------------------------------------------------------------------------------------------------


def test_entities_and_relations_are_read_by_their_characters():
    (found,), source = read({"docs/a.txt": TEXT, "docs/a.ann": MARKS})
    assert found.place == "docs/a.txt"
    assert found.value["original"] == TEXT and found.value["external_id"] == "docs/a"
    alice, bob = (0, 5, "Person"), (10, 13, "Person")
    assert by_characters(found.value) == ([alice, bob], {("Meets", alice, bob)})
    assert source.left_out == {}


def test_characters_are_code_points():
    assert document("😀 e\u0301a x", "T1\tA 2 5\te\u0301a\nT2\tB 0 1\t😀\n")[0] == [(0, 1, "B"), (2, 5, "A")]


def test_what_has_no_place_is_counted_by_its_name():
    marks = (
        "T1\tPerson 0 5\tAlice\nT2\tThing 24 27;36 40\tThe door\nT3\tMeet 6 9\tmet\nE1\tMeet:T3 Who:T1\nA1\tSure T1\n"
        "M1\tNegation E1\nN1\tReference T1 Wikipedia:1\tAlice\n*\tEquiv T1 T3\n#1\tAnnotatorNotes T1\tAh\n"
        "R1\tOwns Arg1:T1 Arg2:T2\nR2\tIn Arg1:E1 Arg2:T1\n"
    )
    entities, relations, left_out = document(TEXT, marks)
    assert (entities, relations) == ([(0, 5, "Person"), (6, 9, "Meet")], set())
    assert left_out == {
        "discontinuous entities": 1,
        "events": 1,
        "attributes": 2,
        "normalisations": 1,
        "equivalences": 1,
        "notes": 1,
        "relations that lack an end": 2,
    }


@pytest.mark.parametrize("places", ["17 23;24 27", "17 27", "17 22;22 23;24 27"])
@pytest.mark.parametrize("covered", ["Paris. The", "Paris.The"])
def test_fragments_with_white_space_alone_between_them_are_one_entity(places, covered):
    assert document(TEXT, f"T1\tX {places}\t{covered}\n")[0] == [(17, 27, "X")]


@pytest.mark.parametrize("places", ["24 27;17 23", "0 9;6 9", "0 5;10 13"])
def test_other_fragments_are_not(places):
    assert document(TEXT, f"T1\tX {places}\n")[::2] == ([], {"discontinuous entities": 1})


def test_fragments_that_are_each_all_of_the_text_take_no_memory():
    marks = f"T1\tX {';'.join(['0 99001'] * 3000)}\tzz\n"
    tracemalloc.start()
    assert document(" " * 99_000 + "a", marks)[::2] == ([], {"discontinuous entities": 1})
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 20_000_000


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_crlf_is_one_character_or_two_and_a_byte_order_mark_none_or_one_whichever_fits(line_end, width, mark):
    at = TEXT.index("The") + (width - 1) + len(mark)
    files = {
        "a.txt": mark + TEXT.replace("\n", line_end),
        "a.ann": f"T1\tX {at} {at + 3}\tThe\nT2\tY {22 + len(mark)} {23 + len(mark)}\t.\n",
    }
    (found,), _ = read(files)
    assert found.value["original"] == TEXT
    assert by_characters(found.value)[0] == [(22, 23, "Y"), (24, 27, "X")]


def test_a_changed_text_is_told_with_file_and_line_and_the_next_is_read():
    files = {"a.txt": TEXT, "a.ann": f"{MARKS}T3\tX 1 5\tAlic\n", "b.txt": TEXT, "b.ann": MARKS}
    (first, second), _ = read(files)
    assert first.refused.problems[0].place == first.place == "a.txt, a.ann, line 4"
    assert "Was it changed?" in str(first.refused)
    assert second.value["entities"]


def test_a_line_without_its_text_is_taken():
    assert document(TEXT, "T1\tPerson 0 5\n")[0] == [(0, 5, "Person")]


def test_many_marks_on_long_places_are_read():
    assert document("ab " * 33_000, "".join(f"T{number}\tX 0 {99_000 - number}\n" for number in range(20_000)))[0]


@pytest.mark.parametrize(
    "line",
    [
        "Alice",
        "T1 Person 0 5 Alice",
        "T1\tPerson\tAlice",
        "T1\tPerson 0 x\tAlice",
        "R1\tMeets T1 T2",
        "T1\tP 0 9999999999\tA",
    ],
)
def test_what_is_no_mark_is_told_with_its_line(line):
    with pytest.raises(Refused, match="was expected here") as error:
        document(TEXT, f"\n{line}\n")
    assert error.value.problems[0].place == "line 2"


def test_an_id_that_is_there_twice_is_counted():
    assert document(TEXT, "T1\tA 0 5\tAlice\nT1\tB 10 13\tBob\n")[2] == {"entities that have the id of another one": 1}


def test_marks_have_a_limit(settings):
    settings.MAX_ITEM_MARKS = 3
    line = "T{0}\tX 0 5\tAlice\n"
    assert document(TEXT, "".join(map(line.format, range(3))))[0]
    with pytest.raises(Refused, match="at most 3 entities or relations"):
        document(TEXT, "".join(map(line.format, range(5))))


def test_labels_with_long_full_names_have_a_limit(settings):
    settings.MAX_ITEM_JSON_CHARACTERS = 300
    conf = f"[entities]\n{'A' * 160}\n\tX\n"
    assert document(TEXT, "T1\tX 0 5\tAlice\n", conf)[0]
    with pytest.raises(Refused, match="too long"):
        document(TEXT, "T1\tX 0 5\tAlice\nT2\tX 10 13\tBob\n", conf)


def test_a_text_without_marks_has_none_and_marks_without_a_text_are_told():
    (first, second), _ = read({"a.txt": TEXT, "b.ann": MARKS})
    assert first.value["entities"] == first.value["relations"] == []
    assert second.refused.problems[0].text == "The text of these marks is missing: b.txt."
    assert second.refused.problems[0].place == "b.ann"


def test_marks_alone_are_recognised_and_refused():
    seen = BRAT.seen_in(Beginning(MARKS.encode()))
    assert seen == "marks without their text, labels Person"
    with pytest.raises(Refused, match="into a zip archive"):
        list(BRAT.read(DatasetSource(io.BytesIO(MARKS.encode()))))


@pytest.mark.parametrize(
    "data",
    [
        MARKS.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + MARKS.encode(),
        MARKS.encode("utf-16"),
        f"#1\tAnnotatorNotes T1\tHm\n{MARKS}*\tEquiv T1 T2\nE1\tMeet:T1\n".encode(),
    ],
)
def test_marks_are_recognised_however_they_are_written(data):
    assert BRAT.seen_in(Beginning(data))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"Alice met Bob.\n",
        b'{"id": "T1"}\n',
        b"T1,Person 0 5,Alice\n",
        b"T1\tPerson\tAlice\n",
        b"#1\tAnnotatorNotes T1\tHm\n",
        MARKS.encode() + b"and more\n",
        b"# Title\n\nText\n",
        b"EU\tNNP\tB-ORG\nTim\tNNP\tB-PER\n",
        bytes(range(256)),
    ],
)
def test_other_files_are_not_taken(data):
    assert BRAT.seen_in(Beginning(data)) is None


# --- annotation.conf -----------------------------------------------------------------------------------------------------------

CONF = """\
# A comment
[entities]
!Object
\tPump
\t\tGear-pump | Gear pump | GP
\tValve
-----
Person
[relations]
<ENTITY>=Object|Person
Part-of\tArg1:<ENTITY>, Arg2:<ENTITY>
<OVERLAP>\tArg1:<ANY>, Arg2:<ANY>, <OVL-TYPE>:<ANY>
Same\tArg1:Pump, Arg2:Pump, <REL-TYPE>:symmetric-transitive
Near\tArg1:Pump, Arg2:Pump, <REL-TYPE>:symmetric
[events]
Repair\tTheme:Object
    Oiling Theme:Object
    Painting Theme:Object
[attributes]
Sure\tArg:<EVENT>
"""


def test_the_tree_of_a_configuration_gives_the_full_names():
    found = labels_of_conf(CONF)
    assert list(found["entity"].values()) == [
        "Object",
        "Object/Pump",
        "Object/Pump/Gear-pump",
        "Object/Valve",
        "Person",
        "Repair",
        "Repair/Oiling",
        "Repair/Painting",
    ]
    assert found["relation"] == {"Part-of": "Part-of", "Near": "Near"}


def test_marks_get_the_full_names_of_the_topmost_configuration():
    files = {
        "x/y/a.txt": "a pump",
        "x/y/a.ann": "T1\tPump 2 6\tpump\nT2\tOther 0 1\ta\n",
        "x/y/annotation.conf": "[entities]\nWrong\n\tPump\n",
        "x/annotation.conf": CONF,
    }
    (found,), _ = read(files)
    assert by_characters(found.value)[0] == [(0, 1, "Other"), (2, 6, "Object/Pump")]


def test_the_full_names_of_a_configuration_have_a_limit(settings):
    settings.MAX_ONTOLOGY_BYTES = 1000
    conf = "[entities]\n" + "".join("\t" * level + "abc\n" for level in range(30))
    with pytest.raises(Refused, match="too long"):
        labels_of_conf(conf)
    assert read({"a.txt": TEXT, "annotation.conf": "#" * 1000})[0]
    with pytest.raises(Refused, match="limit") as error:
        read({"a.txt": TEXT, "annotation.conf": "#" * 1001})
    assert error.value.problems[0].place == "annotation.conf"


# --- Writing and reading back --------------------------------------------------------------------------------------------------


def test_a_text_and_its_marks_are_written_with_the_tree_of_labels():
    entities = [("x", "Object/Pump, hydraulic", 1, 2), ("y", "Object", 2, 2)]
    files, export = written(
        [item(1, "a big\npump", ["a", "big", "pump"], entities, [("part of", "x", "y")], "00001")],
        ["Object", "Object/Pump, hydraulic", "Pump__hydraulic"],
        ["part of"],
    )
    assert files["00001.txt"] == "a big\npump"
    assert files["00001.ann"] == (
        "T1\tPump__hydraulic 2 5;6 10\tbig pump\nT2\tObject 6 10\tpump\nR1\tpart_of Arg1:T1 Arg2:T2\n"
    )
    assert files["annotation.conf"] == (
        "[entities]\nObject\n\t# name: Pump, hydraulic\n\tPump__hydraulic\n# name: Pump__hydraulic\nPump__hydraulic_2\n"
        "[relations]\n<OVERLAP>\tArg1:<ANY>, Arg2:<ANY>, <OVL-TYPE>:<ANY>\n# name: part of\npart_of\tArg1:<ANY>, Arg2:<ANY>\n"
        "[events]\n[attributes]\n"
    )
    assert "Pump__hydraulic | Object/Pump, hydraulic\n" in files["visual.conf"]
    assert "Object\tbgColor:#11aa22\n" in files["visual.conf"] and "part_of\tcolor:#11aa22\n" in files["visual.conf"]
    assert export.losses() == []


def test_labels_come_back_from_the_configuration_in_order():
    entity = ["A", "A/B c", "A/B c/D", "A/B_c", "Ä/D", "-", "水/泵", "a|<b>/c"]
    names = [*dict.fromkeys(name for each in entity for name in (each.split("/")[0], each))]
    relation = ["A", "A/is [part] of", "#1"]
    files, _ = written([], names, relation)
    found = labels_of_conf(files["annotation.conf"])
    assert [list(found[kind].values()) for kind in ("entity", "relation")] == [names, relation]
    types = [type for kind in found.values() for type in kind]
    assert len({*types}) == len(types)
    assert all(re.fullmatch("[A-Za-z0-9_][A-Za-z0-9_-]*", type) for type in types)
    assert not re.search("[<>|]", files["visual.conf"].split("[drawing]")[0].replace(" | ", ""))


def test_many_labels_that_become_one_type_are_told_apart_quickly():
    names = [f"{chr(0x4E00 + index // 100)}{chr(0x4E00 + index % 100)}" for index in range(10_000)]
    files, _ = written([], names)
    assert [*labels_of_conf(files["annotation.conf"])["entity"].values()] == names


def test_files_are_called_by_clean_external_ids_each_once():
    ids = ["doc-1.x", "00004", "a b", "", "DOC-1.X", "../x", ".hidden", "README", "x" * 101]
    files, _ = written([item(number, "a", ["a"], external_id=id) for number, id in enumerate(ids, 1)])
    texts = [name[:-4] for name in files if name.endswith(".txt")]
    assert texts == ["doc-1.x", "00004", "00003", "00004_", "DOC-1.X_", "00006", "00007", "00008", "00009"]
    assert all(files[f"{name}.ann"] == "" for name in texts)
    assert len(read(files)[0]) == len(ids)


def test_what_is_lost_is_told():
    made, suggested = ("x", "A", 0, 0), ("y", "A", 1, 1, True)
    items = [
        item(1, "a b", ["a", "b"], [made, suggested], [("r", "x", "y", True)], extra_fields={"page": 1}),
        item(2, "c", ["d", "e"], [made], external_id="two"),
    ]
    files, export = written(items, ["A"], ["r"])
    assert files["two.txt"] == "d e"
    assert export.losses() == [
        "1 of 2 items is given the name of a file as external id",
        "1 of 2 items is written without extra fields",
        "1 of 2 items is written as their tokens, which are not in the original",
        "1 of 3 entities is suggested and written like the others",
        "1 of 1 relation is suggested and written like the others",
    ]


TOKEN = st.text("ab😀\u0301é\u200d水.,\ufeff", min_size=1, max_size=4)
NAMES = st.text("aB c_-,.|<>#!水\u0301é", min_size=1, max_size=4).map(str.strip).filter(bool)
FULLNAMES = st.lists(st.lists(NAMES, min_size=1, max_size=3).map("/".join), min_size=1, max_size=6, unique=True)


def with_those_above(names):
    """In tree order."""
    parts = {tuple(name.split("/")[: level + 1]) for name in names for level in range(name.count("/") + 1)}
    return ["/".join(each) for each in sorted(parts)]


@st.composite
def datasets(draw):
    entity, relation = (with_those_above(draw(FULLNAMES)) for _ in range(2))
    items = []
    for number in range(1, draw(st.integers(1, 3)) + 1):
        tokens = draw(st.lists(TOKEN, min_size=1, max_size=8))
        spaces = st.sampled_from(["", " ", "\n", "\n\n", " \n ", "\r\n", "\r", "\x85\u2028"])
        original = "".join(token + draw(spaces) for token in tokens)
        at = st.integers(0, len(tokens) - 1)
        spans = st.tuples(at, at).map(sorted)
        marks = draw(st.lists(st.tuples(spans, st.sampled_from(entity)), max_size=6, unique_by=str))
        entities = [(f"e{index}", label, *span) for index, (span, label) in enumerate(marks)]
        ids = st.sampled_from([each[0] for each in entities]) if entities else st.nothing()
        ends = st.tuples(st.sampled_from(relation), ids, ids).filter(lambda each: each[1] != each[2])
        relations = draw(st.lists(ends, max_size=4, unique=True)) if len(entities) > 1 else []
        items.append(item(number, original, tokens, entities, relations))
    return items, entity, relation


@given(datasets())
def test_entities_and_relations_come_back_as_they_were(dataset):
    items, entity, relation = dataset
    files, _ = written(items, entity, relation)
    found, source = read({name: text.encode() for name, text in files.items()})
    for each, one in zip(items, found, strict=True):
        where = {mark.id: (*each.characters(mark), mark.label) for mark in each.entities}
        relations = {(mark.label, where[mark.source], where[mark.target]) for mark in each.relations}
        assert one.refused is None
        entities, back = by_characters(one.value)
        crlf = each.text.count("\r\n")
        if not crlf:
            assert one.value["original"] == each.text.replace("\r", " ")
        assert (entities, back) == (sorted(where.values()), relations)
    assert source.left_out == {}


@given(st.lists(st.tuples(st.integers(0, 10_000), st.binary(max_size=4)), max_size=4), st.integers(0, 3))
def test_damaged_files_are_refused_and_nothing_else(damages, cut):
    files = {"a.txt": TEXT.encode(), "a.ann": MARKS.encode(), "annotation.conf": CONF.encode(), "visual.conf": b""}
    name = list(files)[cut]
    content = bytearray(files[name])
    for at, bytes_ in damages:
        at %= len(content) + 1
        content[at : at + len(bytes_)] = bytes_
    try:
        read({**files, name: bytes(content)})
    except Refused as error:
        assert error.problems[0].text


@given(st.text("TREAMN#*\t\n 0123:;ab", max_size=60))
def test_any_lines_of_marks_are_read_or_refused(marks):
    BRAT.seen_in(Beginning(marks.encode()))
    try:
        document(TEXT, marks)
    except Refused as error:
        assert error.problems[0].text


@given(st.text("[entiislao] \t\n!#<>|=-: nme", max_size=80))
def test_any_configuration_is_read(text):
    labels_of_conf("[entities]\n" + text)
