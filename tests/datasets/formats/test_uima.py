"""UIMA CAS in XML and in JSON. The files are written after the references of UIMA (“XMI CAS Serialization Reference”) and the
specification of JSON CAS."""

import io
import json
import re
import sys
import zipfile
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import settings as trials
from hypothesis import strategies as st

from annotation_service.apart import Unreadable
from annotation_service.file_formats import Beginning
from annotation_service.inputs import Refused
from datasets.formats import uima
from datasets.formats.cas_reading import documents
from datasets.formats.dataset_format import DatasetSource, Export, WrittenEntity, WrittenItem, WrittenRelation
from datasets.formats.uima import CAS_JSON, XMI
from datasets.tokenising import offsets_of

BOTH = [XMI, CAS_JSON]
TEXT = "😀 the pump leaks"
NAMESPACES = """xmlns:xmi="http://www.omg.org/XMI" xmlns:cas="http:///uima/cas.ecore" xmlns:tcas="http:///uima/tcas.ecore"
 xmlns:seg="http:///de/tudarmstadt/ukp/dkpro/core/api/segmentation/type.ecore"
 xmlns:meta="http:///de/tudarmstadt/ukp/dkpro/core/api/metadata/type.ecore"
 xmlns:ner="http:///de/tudarmstadt/ukp/dkpro/core/api/ner/type.ecore"
 xmlns:dep="http:///de/tudarmstadt/ukp/dkpro/core/api/syntax/type/dependency.ecore"
 xmlns:pos="http:///de/tudarmstadt/ukp/dkpro/core/api/lexmorph/type/pos.ecore"
 xmlns:custom="http:///webanno/custom.ecore" xmi:version="2.0"
"""
ENTITIES = """<custom:Span xmi:id="8" sofa="1" begin="7" end="11" label="Pump"/>
<custom:Span xmi:id="9" sofa="1" begin="12" end="17" label="State"/>"""
RELATION = '<custom:Link xmi:id="10" sofa="1" begin="12" end="17" Dependent="9" Governor="8" label="has"/>'


def xmi(content, text=TEXT, members="3 4 5 6 7 8 9 10 11 12"):
    """A document in XMI; its members are the ids that are there."""
    members = " ".join(id for id in members.split() if f'xmi:id="{id}"' in content)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<xmi:XMI {NAMESPACES}><cas:NULL xmi:id="0"/>{content}'
        f'<cas:Sofa xmi:id="1" sofaNum="1" sofaID="_InitialView" mimeType="text" sofaString="{text}"/>'
        f'<cas:View sofa="1" members="{members}"/></xmi:XMI>'
    ).encode()


def packed(files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return data.getvalue()


def written(format, items):
    files = {}
    export = Export("a dataset", items)
    for name, piece in format.write(export):
        files[name] = files.get(name, "") + piece
    return files, export


def in_this_process(function, path, extension):
    """As `read_apart`, without its processes, which take half a second each."""
    try:
        for value in documents(path, extension):
            yield json.loads(json.dumps(value))
    except Exception as error:
        raise Unreadable(str(error)) from error


def read(format, data, **options):
    source = DatasetSource(io.BytesIO(data), **options)
    with mock.patch.object(uima, "read_apart", in_this_process):
        return list(format.read(source)), source


def only(format, data):
    (element,), source = read(format, data)
    assert element.refused is None, element.refused
    return element.value, source


def marks_of(value):
    """The entities as their tokens and labels, and the relations between them."""
    places = {entity["id"]: (entity["start"], entity["end"], entity["label"]) for entity in value["entities"]}
    ends = {(each["label"], places[each["source_id"]], places[each["target_id"]]) for each in value["relations"]}
    return set(places.values()), ends


# --- Out and in again ----------------------------------------------------------------------------------------------------------

names = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"], exclude_characters="/"), min_size=1)
labels = st.lists(names.map(str.strip).filter(bool), min_size=1, max_size=3).map("/".join)
words = st.text(st.sampled_from("aé😀e\u0301<&\"'\u200d👍🏽字\ud7ff.-"), min_size=1, max_size=4).filter(
    lambda word: not word.isspace()
)


@st.composite
def items(draw):
    tokens = draw(st.lists(words, min_size=1, max_size=6))
    original = draw(st.sampled_from([" ", "", "\n", "  \t", "\r\n", "\u2028"])).join(tokens)
    if draw(st.booleans()):
        original = "something else"
    places = st.tuples(st.integers(0, len(tokens) - 1), st.integers(0, len(tokens) - 1), labels)
    found = {(min(a, b), max(a, b), label) for a, b, label in draw(st.lists(places, max_size=5))}
    entities = [WrittenEntity(f"e{n}", label, start, end) for n, (start, end, label) in enumerate(sorted(found))]
    relations = []
    if len(entities) > 1:
        ids = st.sampled_from([entity.id for entity in entities])
        pairs = draw(st.sets(st.tuples(labels, ids, ids).filter(lambda each: each[1] != each[2]), max_size=4))
        relations = [WrittenRelation(*each) for each in sorted(pairs)]
    external_id = draw(st.one_of(st.just(""), names.map(str.strip)))
    return WrittenItem(1, external_id, original, tokens, offsets_of(tokens, original), {}, entities, relations)


@pytest.mark.parametrize("format", BOTH, ids=lambda format: format.name)
@trials(max_examples=40, deadline=None)
@given(st.lists(items(), min_size=1, max_size=3))
def test_all_marks_come_back_from_where_they_were_written(format, all_items):
    for number, item in enumerate(all_items, 1):
        item.number = number
    files, _ = written(format, all_items)
    elements, source = read(format, packed(files))
    assert [element.refused for element in elements] == [None] * len(all_items)
    for item, element in zip(all_items, elements, strict=True):
        value = element.value
        places = {entity.id: (entity.start, entity.end, entity.label) for entity in item.entities}
        ends = {(each.label, places[each.source], places[each.target]) for each in item.relations}
        assert value["original"] == item.text
        assert value["tokens"] == item.tokens
        assert value.get("external_id", "") == item.external_id
        assert marks_of(value) == (set(places.values()), ends)
    assert not source.left_out


def pump():
    tokens = ["😀", "pump", "leaks"]
    entities = [WrittenEntity("a", "Object/Pump, hydraulic", 1, 1), WrittenEntity("b", "State", 1, 2, True)]
    return WrittenItem(
        1, "WO 1", "😀 pump leaks", tokens, [(0, 1), (2, 6), (7, 12)], {}, entities, [WrittenRelation("has", "b", "a")]
    )


@pytest.mark.parametrize("format", BOTH, ids=lambda format: format.name)
def test_files_are_read_in_a_process_of_its_own(format):
    files, _ = written(format, [pump()])
    (element,) = format.read(DatasetSource(io.BytesIO(packed(files))))
    assert element.place == f"00001.{'xmi' if format is XMI else 'cas.json'}"
    assert marks_of(element.value) == (
        {(1, 1, "Object/Pump, hydraulic"), (1, 2, "State")},
        {("has", (1, 2, "State"), (1, 1, "Object/Pump, hydraulic"))},
    )
    with pytest.raises(Refused, match="at most 20 MB"):
        list(format.read(DatasetSource(io.BytesIO(b" " * 20_000_001))))


def test_an_emoji_counts_twice_in_what_is_written():
    files, _ = written(XMI, [pump()])
    assert 'begin="3" end="7" label="Object/Pump, hydraulic"' in files["00001.xmi"]
    files, _ = written(CAS_JSON, [pump()])
    structures = json.loads(files["00001.cas.json"])["%FEATURE_STRUCTURES"]
    assert {(each["begin"], each["end"]) for each in structures if "Entity" in each["%TYPE"]} == {(3, 7), (3, 13)}


def test_what_inception_asks_for_is_written():
    files, _ = written(XMI, [pump()])
    assert list(files) == ["TypeSystem.xml", "00001.xmi"]
    for name in ("webanno.custom.Relation", "uima.tcas.DocumentAnnotation", "Governor", "segmentation.type.Sentence"):
        assert name in files["TypeSystem.xml"]
    assert 'documentTitle="WO 1"' in files["00001.xmi"]
    files, _ = written(XMI, [WrittenItem(1, "", "a", ["a"], [(0, 1)])])
    assert "documentTitle" not in files["00001.xmi"]


def test_a_sentence_is_written_for_each_line_that_is_not_blank():
    item = WrittenItem(1, "", " one\n\n two three\n", ["one", "two", "three"], [(1, 4), (7, 10), (11, 16)])
    files, _ = written(CAS_JSON, [item])
    structures = json.loads(files["00001.cas.json"])["%FEATURE_STRUCTURES"]
    sentences = [(each["begin"], each["end"]) for each in structures if each["%TYPE"].endswith("Sentence")]
    assert sentences == [(1, 4), (7, 16)]


def test_losses_are_told():
    item = WrittenItem(1, "", "not it", ["a\x0bb"], None, {"site": "north"}, [WrittenEntity("a", "X", 0, 0)])
    files, export = written(XMI, [item])
    assert export.losses() == [
        "1 of 1 item is written as their tokens, which are not in the original",
        "1 of 1 item is written with “�” for characters that XML does not take",
        "1 of 1 item is written without their extra fields",
    ]
    value, _ = only(XMI, packed(files))
    assert value["tokens"] == ["a�b"]
    files, export = written(CAS_JSON, [item])
    assert len(export.losses()) == 2
    assert only(CAS_JSON, packed(files))[0]["tokens"] == ["a\x0bb"]


# --- What is read --------------------------------------------------------------------------------------------------------------


def test_places_behind_an_emoji_are_one_less():
    value, source = only(XMI, xmi(ENTITIES + RELATION))
    assert value["tokens"] == ["😀", "the", "pump", "leaks"]
    assert marks_of(value) == ({(2, 2, "Pump"), (3, 3, "State")}, {("has", (2, 2, "Pump"), (3, 3, "State"))})
    assert source.left_out == {}


def test_a_place_inside_of_an_emoji_or_outside_of_the_text_is_left_out():
    bad = '<custom:Span xmi:id="8" sofa="1" begin="1" end="4"/><custom:Span xmi:id="9" sofa="1" begin="3" end="99"/>'
    value, source = only(XMI, xmi(bad))
    assert value["entities"] == []
    assert source.left_out == {"entities outside of their text": 2}


def test_tokens_of_the_file_are_kept_and_blank_ones_are_not():
    spans = [(0, 2), (3, 11), (11, 12), (5, 6), (12, 17)]
    tokens = "".join(f'<seg:Token xmi:id="{3 + n}" sofa="1" begin="{a}" end="{b}"/>' for n, (a, b) in enumerate(spans))
    assert only(XMI, xmi(tokens))[0]["tokens"] == ["😀", "the pump", "leaks"]


def test_tokens_are_cut_where_a_mark_begins():
    token = '<seg:Token xmi:id="3" sofa="1" begin="3" end="17"/>'
    value, _ = only(XMI, xmi(token + ENTITIES))
    assert value["tokens"] == ["the ", "pump", " ", "leaks"]
    assert marks_of(value)[0] == {(1, 1, "Pump"), (3, 3, "State")}


@pytest.mark.parametrize(
    ("annotation", "label"),
    [
        ('ner:NamedEntity value="PER" identifier="http://x/Q1"', "PER"),
        ('ner:NamedEntity identifier="http://x/Q1"', "http://x/Q1"),
        ('ner:NamedEntity value=" "', "NamedEntity"),
        ('custom:Span label="Object/Pump" comment="see"', "Object/Pump"),
        ('custom:Span category="Pump"', "Pump"),
        ('custom:Span comment="see"', "Span"),
        ('custom:Span type="Pump"', "Pump"),
        ('custom:Span source="by hand" label="Pump"', "Pump"),
        ('custom:Span source="1" target="0" label="Pump"', "Pump"),
    ],
)
def test_the_label_is_a_feature_or_else_the_type(annotation, label):
    type, _, features = annotation.partition(" ")
    value, _ = only(XMI, xmi(f'<{type} xmi:id="8" sofa="1" begin="7" end="11" {features}/>'))
    assert [entity["label"] for entity in value["entities"]] == [label]


def test_grammar_is_left_out_and_counted():
    content = (
        '<pos:POS_NOUN xmi:id="3" sofa="1" begin="3" end="6" PosValue="NN"/>'
        '<seg:Lemma xmi:id="4" sofa="1" begin="3" end="6" value="the"/>'
        '<dep:Dependency xmi:id="5" sofa="1" begin="3" end="6" Governor="3" Dependent="4" DependencyType="det"/>'
        '<tcas:DocumentAnnotation xmi:id="6" sofa="1" begin="0" end="17" language="en"/>'
        '<custom:Span xmi:id="8" sofa="1" begin="7" end="11" label="Pump" comment="see"/>'
    )
    value, source = only(XMI, xmi(content))
    assert marks_of(value) == ({(2, 2, "Pump")}, set())
    assert source.left_out == {"annotations of grammar and layout": 3, "texts besides the label": 1}


def test_a_relation_without_an_end_is_left_out():
    lonely = '<custom:Link xmi:id="11" sofa="1" begin="12" end="17" Dependent="9" label="has"/>'
    value, source = only(XMI, xmi(ENTITIES + RELATION + lonely))
    assert len(value["relations"]) == 1
    assert source.left_out == {"relations that lack an end": 1}


def test_the_title_of_a_document_is_its_id():
    meta = '<meta:DocumentMetaData xmi:id="3" sofa="1" begin="0" end="17" documentId="ann" documentTitle="a.txt"/>'
    assert only(XMI, xmi(meta))[0]["external_id"] == "a.txt"
    assert only(XMI, xmi(meta.replace('documentTitle="a.txt"', "")))[0]["external_id"] == "ann"


def json_cas(**changes):
    mark = {"%ID": 2, "%TYPE": "custom.Span", "@sofa": 1, "begin": 3, "end": 6, "label": "Article"}
    sofa = {"%ID": 1, "%TYPE": "uima.cas.Sofa", "sofaNum": 1, "sofaID": "_InitialView", "sofaString": TEXT}
    document = {
        "%TYPES": {"custom.Span": {"%SUPER_TYPE": "uima.tcas.Annotation", "label": {"%RANGE": "uima.cas.String"}}},
        "%FEATURE_STRUCTURES": [sofa, mark],
        "%VIEWS": {"_InitialView": {"%SOFA": 1, "%MEMBERS": [2]}},
    }
    for place in (sofa, mark, document):
        place |= {key: value for key, value in changes.items() if key in place}
    return json.dumps(document).encode()


def test_relations_of_json_are_known_by_their_types_whatever_their_ends_are_called():
    document = json.loads(json_cas())
    ends = {"target": {"%RANGE": "custom.Span"}, "first": {"%RANGE": "custom.Span"}}
    document["%TYPES"]["custom.Link"] = {"%SUPER_TYPE": "uima.tcas.Annotation", **ends}
    document["%FEATURE_STRUCTURES"] += [
        {"%ID": 3, "%TYPE": "custom.Span", "@sofa": 1, "begin": 7, "end": 11, "label": "Pump"},
        {"%ID": 4, "%TYPE": "custom.Link", "@sofa": 1, "begin": 7, "end": 11, "@target": 2, "@first": 3},
    ]
    document["%VIEWS"]["_InitialView"]["%MEMBERS"] = [2, 3, 4]
    value, _ = only(CAS_JSON, json.dumps(document).encode())
    assert marks_of(value)[1] == {("Link", (2, 2, "Pump"), (1, 1, "Article"))}


@pytest.mark.parametrize(
    "encode", [str.encode, lambda text: text.encode("utf-8-sig"), lambda text: text.encode("utf-16")]
)
def test_encodings_of_unicode_are_read(encode):
    for format, data in ((XMI, xmi(ENTITIES).replace(b"\n", b"\r\n")), (CAS_JSON, json_cas())):
        assert only(format, encode(data.decode()))[0]["original"] == TEXT


def test_xml_1_1_is_read_and_a_wrong_encoding_is_not_believed():
    for declared in ('version="1.1" encoding="UTF-8"', 'version="1.0" encoding="cp1251"'):
        data = xmi(ENTITIES).replace(b'version="1.0" encoding="UTF-8"', declared.encode(), 1)
        assert only(XMI, data)[0]["original"] == TEXT


def test_what_is_too_large_for_an_item_is_cut_into_its_sentences(settings):
    settings.MAX_ITEM_CHARACTERS = 15
    sentences = "".join(
        f'<seg:Sentence xmi:id="{id}" sofa="1" begin="{start}" end="{end}"/>'
        for id, start, end in ((3, 0, 11), (4, 12, 17))
    )
    meta = '<meta:DocumentMetaData xmi:id="5" sofa="1" begin="0" end="17" documentTitle="a"/>'
    within = """<custom:Span xmi:id="6" sofa="1" begin="3" end="6" label="Article"/>
    <custom:Link xmi:id="11" sofa="1" begin="3" end="6" Governor="6" Dependent="8" label="of"/>"""
    across = '<custom:Span xmi:id="7" sofa="1" begin="7" end="17" label="Event"/>'
    elements, source = read(XMI, xmi(sentences + meta + within + across + ENTITIES + RELATION))
    assert [(each.place, each.value["original"], each.value["external_id"]) for each in elements] == [
        ("document 1, sentence 1", "😀 the pump", "a#1"),
        ("document 1, sentence 2", "leaks", "a#2"),
    ]
    assert marks_of(elements[0].value) == (
        {(1, 1, "Article"), (2, 2, "Pump")},
        {("of", (1, 1, "Article"), (2, 2, "Pump"))},
    )
    assert marks_of(elements[1].value) == ({(0, 0, "State")}, set())
    assert source.left_out == {"entities outside of their text": 1, "relations that lack an end": 1}
    settings.MAX_ITEM_CHARACTERS, settings.MAX_ITEM_TOKENS = 1000, 3
    assert len(read(XMI, xmi(sentences))[0]) == 2


def test_entities_that_reach_beyond_a_large_document_are_counted(settings):
    settings.MAX_ITEM_CHARACTERS = 1000
    count = 5000
    spans = "".join(
        f'<seg:Sentence xmi:id="{10 + n}" sofa="1" begin="{5 * n}" end="{5 * n + 4}"/>'
        f'<custom:Span xmi:id="{100_000 + n}" sofa="1" begin="{5 * n}" end="99999999"/>'
        for n in range(count)
    )
    members = " ".join(str(start + n) for start in (10, 100_000) for n in range(count))
    data = re.sub(b'members="[^"]*"', f'members="{members}"'.encode(), xmi(spans, "word " * count))
    elements, source = read(XMI, data)
    assert len(elements) == count
    assert source.left_out["entities outside of their text"] == count


# --- What is refused -----------------------------------------------------------------------------------------------------------


def refusal(format, data):
    (element,), _ = read(format, data)
    assert element.value is None
    return str(element.refused)


BOMB = '<!DOCTYPE x [<!ENTITY a "b">]>'
SPY = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]>'


@pytest.mark.parametrize("head", [BOMB, SPY])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_no_document_type_is_taken_in_any_encoding(head, encoding):
    text = xmi("", "&a;").decode().replace("<xmi:XMI", f"{head}<xmi:XMI", 1)
    why = refusal(XMI, text.replace("UTF-8", encoding).encode(encoding))
    assert "is not taken" in why or "UnicodeDecodeError" in why


def test_a_feature_never_becomes_code(tmp_path):
    trap = tmp_path / "trap"
    name = f"a=__import__('pathlib').Path({str(trap)!r}).touch(), b"
    span = {"%SUPER_TYPE": "uima.tcas.Annotation", name: {"%RANGE": "uima.cas.String"}}
    why = refusal(CAS_JSON, json_cas(**{"%TYPES": {"custom.Span": span}}))
    assert why.startswith("document 1: A feature of a type cannot be called “a=__import__")
    assert not trap.exists()


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_what_is_no_text_is_refused(text):
    assert refusal(CAS_JSON, json_cas(label=text)) == "document 1: NUL and halves of surrogate pairs are not text."
    assert refusal(CAS_JSON, json_cas(sofaString=text))


def test_xml_is_read_in_the_encoding_that_it_declares():
    data = xmi("", "größer").decode().replace('"UTF-8"', '"ISO-8859-1"').encode("iso-8859-1")
    assert only(XMI, data)[0]["original"] == "größer"


def test_one_damaged_file_of_an_archive_leaves_the_others():
    files = {"TypeSystem.xml": "<x/>", "1.xmi": xmi(ENTITIES), "2.xmi": b"<xmi:XMI", "3.XMI": xmi(""), "4.txt": b"x"}
    elements, _ = read(XMI, packed({**files, "__MACOSX/._1.xmi": b"\0"}))
    assert [(each.place, each.refused is None) for each in elements] == [
        ("1.xmi", True),
        ("2.xmi", False),
        ("3.XMI", True),
    ]
    assert str(elements[1].refused).startswith("2.xmi: It is damaged, or is something else (ParseError")


@pytest.mark.parametrize("format", BOTH, ids=lambda format: format.name)
def test_without_the_library_the_extra_is_named(format, monkeypatch):
    monkeypatch.setitem(sys.modules, "cassis", None)
    with pytest.raises(Refused, match=r"To read UIMA CAS takes one more library on the server: pip install '"):
        list(format.read(DatasetSource(io.BytesIO(b""))))
    with pytest.raises(Refused, match=r"To write UIMA CAS takes one more library"):
        list(format.write(Export("a dataset", [])))
    assert format.seen_in(Beginning(xmi("") if format is XMI else json_cas())) is not None


GOOD = {
    "xmi": xmi('<seg:Token xmi:id="3" sofa="1" begin="3" end="6"/>' + ENTITIES + RELATION),
    "casjson": json_cas(),
    "zip": packed({"TypeSystem.xml": "<x/>", "1.xmi": xmi(ENTITIES)}),
}


@pytest.mark.parametrize("kind", GOOD)
@trials(max_examples=100, deadline=None)
@given(st.data())
def test_a_damaged_file_raises_nothing_but_a_refusal(kind, data):
    damaged = bytearray(GOOD[kind])
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(damaged)))
        end = start + data.draw(st.sampled_from([0, 1, 1, 3, 40]))
        damaged[start:end] = data.draw(
            st.one_of(st.binary(max_size=3), st.sampled_from([b'"', b"9", b"-1", b"null", b"[1]"]))
        )
    format = CAS_JSON if kind == "casjson" else XMI
    try:
        for element in read(format, bytes(damaged))[0]:
            assert (element.value is None) == (element.refused is not None)
    except Refused as refused:
        assert str(refused)


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=2), st.just([1]), st.just({}), st.just(1.5)
)


@trials(max_examples=100, deadline=None)
@given(st.sampled_from(["%ID", "%TYPE", "@sofa", "begin", "end", "label", "sofaNum", "sofaID", "sofaString"]), VALUES)
def test_any_value_in_json_is_read_or_refused(key, value):
    elements, _ = read(CAS_JSON, json_cas(**{key: value}))
    assert all((element.value is None) == (element.refused is not None) for element in elements)


# --- What is recognised --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change", [str.encode, lambda text: text.encode("utf-8-sig"), lambda text: text.encode("utf-16")]
)
def test_both_are_recognised_and_told_apart(change):
    start = Beginning(change(xmi(ENTITIES + RELATION).decode().replace("\n", "\r\n")))
    assert (XMI.seen_in(start), CAS_JSON.seen_in(start)) == ("Span, Link", None)
    start = Beginning(change(json.dumps(json.loads(json_cas()), indent=2)))
    assert (XMI.seen_in(start), CAS_JSON.seen_in(start)) == (None, "Span")


def test_archives_are_recognised_by_the_names_in_them():
    archives = {name: packed({"TypeSystem.xml": "<x/>", name: "x" * 300}) for name in ("a.XMI", "1.cas.json", "a.txt")}
    seen = {name: [format.seen_in(Beginning(data[:-90])) for format in BOTH] for name, data in archives.items()}
    assert seen == {
        "a.XMI": ["in a zip archive", None],
        "1.cas.json": [None, "in a zip archive"],
        "a.txt": [None, None],
    }


def test_one_with_a_document_type_is_recognised_to_be_refused():
    for head in (BOMB, SPY, "<!-- by hand -->\n"):
        assert XMI.seen_in(Beginning(xmi("").replace(b"<xmi:XMI", head.encode() + b"<xmi:XMI", 1))) == ""


@pytest.mark.parametrize(
    "other",
    [
        b"",
        b"Save it as <xmi:XMI xmlns:cas='http:///uima/cas.ecore'>.",
        b"# XMI\n\n    <xmi:XMI xmlns:cas='http:///uima/cas.ecore'>",
        b'<?xml version="1.0"?><xmi:XMI xmlns:xmi="http://www.omg.org/XMI" xmlns:uml="http://schema.omg.org/spec/UML"/>',
        b'<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>',
        b'{"text": "a \\"%TYPES\\": b"}',
        b'[{"%TYPES": {}}]',
        b'{"entities": [], "%TYPES": {}}',
        b"a,b\n1,2\n",
        b"PK\x03\x04",
        b"PK\x05\x06" + bytes(18),
    ],
)
def test_nothing_else_is_taken_for_either(other):
    assert [format.seen_in(Beginning(other)) for format in BOTH] == [None, None]


@trials(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(GOOD)), st.integers(0, 2000), st.binary(max_size=20))
def test_a_beginning_may_be_cut_anywhere(kind, length, rubbish):
    for format in BOTH:
        format.seen_in(Beginning(GOOD[kind][:length] + rubbish))
