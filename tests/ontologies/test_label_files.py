"""Ontologies in files of other programs: what a file is taken for, what is read of it, what a download keeps."""

import json
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import RDF, SKOS, Graph, Literal

from annotation_service.file_formats import Beginning, FileSource
from annotation_service.inputs import Refused, clean_description, clean_name
from ontologies.documents import NewLabel, clean_example_terms
from ontologies.label_files import DOWNLOADS, ONTOLOGY_FORMATS, format_of
from ontologies.models import Ontology
from ontologies.pasted_lists import ROLES, written_terms
from tests import factories
from tests.soak import amount

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
FORMATS = {format.name: format for format in ONTOLOGY_FORMATS}


def read(data, kind="entity", *, name="", format="", encoding="", **chosen):
    """The labels of a file, and what of it was left out."""
    data = data.encode() if isinstance(data, str) else data
    format = FORMATS[format] if format else format_of(Beginning(data, name, encoding))[0]
    source = FileSource(BytesIO(data), name, encoding, chosen)
    return format.read(source, kind), source.left_out


def tree(items):
    return [(item.level, item.name) for item in items]


# --- What a file is ----------------------------------------------------------------------------------------------------

TURTLE = """# A comment
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix : <http://example.org/pumps#> .

:scheme a skos:ConceptScheme ; skos:prefLabel "Pumps"@en .
:pump a skos:Concept ; skos:prefLabel "Pump"@en , "Pumpe"@de ; skos:altLabel "lifter"@en , "Heber"@de ;
  skos:definition "Moves fluids."@en ; skos:topConceptOf :scheme ; skos:related :valve .
:piston a skos:Concept ; skos:prefLabel "Piston pump"@en ; skos:broader :pump ; skos:notation "0.10" .
:screw a skos:Concept ; skos:prefLabel "Screw pump"@en ; skos:notation "0.9" .
:pump skos:narrower :screw .
:valve a skos:Concept ; skos:prefLabel "Ventil"@de .
"""
OWL_XML = """<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [
    <!ENTITY owl "http://www.w3.org/2002/07/owl#" >
    <!ENTITY p "http://example.org/pumps#" >
]>
<rdf:RDF xmlns="http://example.org/pumps#" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
     xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xmlns:owl="http://www.w3.org/2002/07/owl#">
  <owl:Ontology rdf:about="http://example.org/pumps"/>
  <owl:ObjectProperty rdf:about="&p;hasPart"/>
  <owl:ObjectProperty rdf:about="&p;hasSeal"><rdfs:subPropertyOf rdf:resource="&p;hasPart"/></owl:ObjectProperty>
  <owl:Class rdf:about="&p;Pump">
    <rdfs:label xml:lang="en">Pump</rdfs:label><rdfs:label xml:lang="pt">Bomba</rdfs:label>
    <rdfs:comment>Moves fluids.</rdfs:comment>
    <rdfs:subClassOf rdf:resource="&owl;Thing"/>
    <rdfs:subClassOf>
      <owl:Restriction><owl:onProperty rdf:resource="&p;hasPart"/><owl:someValuesFrom rdf:resource="&p;Seal"/></owl:Restriction>
    </rdfs:subClassOf>
  </owl:Class>
  <owl:Class rdf:about="&p;PistonPump"><rdfs:subClassOf rdf:resource="&p;Pump"/>
    <rdfs:subClassOf rdf:resource="&p;Machine"/></owl:Class>
  <owl:Class rdf:about="&p;Machine"/>
  <owl:Class rdf:about="&p;Seal"/>
  <owl:NamedIndividual rdf:about="&p;p101"/>
</rdf:RDF>
"""


@pytest.mark.parametrize(
    ("data", "name", "said"),
    [
        (TURTLE, "", "This is SKOS: 4 concepts, labels in en and de."),
        (TURTLE.replace("\n", "\r\n"), "a.ttl", "This is SKOS: 4 concepts, labels in en and de."),
        (OWL_XML, "pumps.owl", "This is OWL: 4 classes, 2 object properties, labels in en and pt."),
        ("<http://x/a> a <http://www.w3.org/2002/07/owl#Class> .", "", "This is OWL: 1 class."),
        ("name,parent\nA,\nB,A", "", "This is a table (CSV): the columns name and parent."),
        ("name\tparent\nA\t\nB\tA", "", "This is a table (TSV): the columns name and parent."),
        ("Begriff;Sinn\nA;b", "x.csv", "This is a table (CSV): the columns Begriff and Sinn."),
        ('[{"name": "A"}]', "", "This is JSON: 1 name."),
        ("A\n  B\n", "", "This is a list of names: 2 lines."),
        ("Pump, red\nPump, blue", "", "This is a list of names: 2 lines."),
    ],
)
def test_a_file_is_recognised_by_what_is_in_it(data, name, said):
    assert format_of(Beginning(data.encode(), name))[1] == said
    assert format_of(Beginning(data.encode("utf-8-sig"), name))[1] == said
    assert format_of(Beginning(data.encode("utf-16"), name))[1] == said


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"%PDF-1.7 x", "This is a PDF."),
        (b"PK\x03\x04" + b"\0" * 26 + b"word/document.xml", "a Word document (DOCX)"),
        (b"\0\1\2\3", "not a text file"),
        (b" \n", "empty"),
        (b"<html><body>x</body></html>", "in none of the formats"),
    ],
)
def test_what_cannot_be_read_is_told_for_what_it_is(data, said):
    with pytest.raises(Refused, match=said.replace("(", r"\(").replace(")", r"\)")):
        format_of(Beginning(data))


@pytest.mark.parametrize(
    "text",
    [
        "# Pumps\n\nA list of `@prefix` lines:\n\n    @prefix : <http://x> .\n",
        "<!DOCTYPE html>\n<html><body>skos:Concept owl:Class</body></html>",
        "def f(a):\n    return a.Class\n",
        '{"@prefix": "http://www.w3.org/2004/02/skos/core#"}',
        "The owl:Class of all skos:Concept.",
    ],
)
def test_other_texts_are_no_vocabularies(text):
    assert FORMATS["skos"].seen_in(Beginning(text.encode())) is None
    assert FORMATS["owl"].seen_in(Beginning(text.encode())) is None


# --- SKOS and OWL ------------------------------------------------------------------------------------------------------


def test_concepts_become_labels_in_the_order_of_their_notations():
    items, left = read(TURTLE)
    assert tree(items) == [(1, "Pump"), (2, "Screw pump"), (2, "Piston pump"), (1, "Ventil")]
    assert (items[0].description, items[0].example_terms) == ("Moves fluids.", ["lifter"])
    assert left == {"related concepts": 1, "names in other languages": 2}


def test_labels_are_read_in_the_chosen_language():
    items, _ = read(TURTLE, language="de")
    assert tree(items) == [(1, "Pumpe"), (2, "Screw pump"), (2, "Piston pump"), (1, "Ventil")]
    assert items[0].example_terms == ["Heber"]
    (choice,) = FORMATS["skos"].settings(Beginning(TURTLE.encode()))
    assert (choice.choices, choice.default) == ({"de": "de", "en": "en"}, "en")
    (choice,) = FORMATS["skos"].settings(Beginning(TURTLE.replace("@en", "").encode()))
    assert choice.default == "de"


def test_classes_become_entity_labels_and_properties_relation_labels():
    items, left = read(OWL_XML)
    assert tree(items) == [(1, "Pump"), (1, "Machine"), (2, "PistonPump"), (1, "Seal")]
    assert items[0].description == "Moves fluids."
    assert left == {
        "restrictions": 1,
        "individuals": 1,
        "object properties": 2,
        "the place of “PistonPump” below “Pump”": 1,
        "names in other languages": 1,
    }
    items, left = read(OWL_XML, "relation")
    assert tree(items) == [(1, "hasPart"), (2, "hasSeal")] and left["classes"] == 4


def test_a_class_without_a_name_in_the_language_has_that_of_its_address():
    text = """@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    <http://x/Pump%20set> a owl:Class ; rdfs:label "Bomba"@pt . <http://x/b> a owl:Class ; rdfs:label "Valve" ."""
    assert tree(read(text)[0]) == [(1, "Pump set"), (1, "Valve")]
    assert tree(read(text, language="pt")[0]) == [(1, "Bomba"), (1, "Valve")]


def of_concepts(*lines):
    head = "@prefix : <http://x/> .\n@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
    return head + "\n".join(lines)


def test_circles_are_broken_and_counted():
    items, left = read(of_concepts(":a skos:broader :b .", ":b skos:broader :a .", ":c skos:broader :c , :a ."))
    assert sorted(tree(items)) == [(1, "b"), (2, "a"), (3, "c")]
    assert left == {"places of labels below themselves": 1}


def test_names_that_no_label_can_have_are_changed_and_counted():
    text = of_concepts(
        ':a a skos:Concept ; skos:prefLabel "km/h" .',
        ':b a skos:Concept ; skos:prefLabel "Same\\n  name" .',
        ':c a skos:Concept ; skos:prefLabel "Same name" .',
        f':d a skos:Concept ; skos:prefLabel "{"x" * 201}" .',
        f':e a skos:Concept ; skos:prefLabel "{"x" * 200}" .',
        f':f a skos:Concept ; skos:prefLabel "{"x" * 200}" .',
    )
    items, left = read(text)
    names = [item.name for item in items]
    assert names[:3] == ["km∕h", "Same name", "Same name (c)"]
    assert [len(name) for name in names[3:]] == [200, 200, 194] and len({*names}) == 6
    assert left == {"signs “/” in names, which are “∕” now": 1, "ends of names": 1}


def test_what_a_label_has_no_place_for_is_counted():
    text = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix : <http://x/> .
    :a a skos:Concept ; skos:prefLabel "A"@en , "B"@en , "C"@de ; skos:hiddenLabel "x" ; skos:example "y" ;
      skos:definition "one"@en , "eins"@de ; skos:scopeNote "more"@en . [ a skos:Concept ; skos:prefLabel "D" ] ."""
    items, left = read(text)
    assert tree(items) == [(1, "A")] and items[0].description == "one"
    assert left == {
        "further names": 1,
        "names in other languages": 1,
        "further descriptions": 2,
        "hidden names": 1,
        "examples": 1,
        "concepts without an address": 1,
    }


def test_deprecated_classes_and_those_without_an_address_are_left_out():
    text = """@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    @prefix : <http://x/> . :a a owl:Class . :b a owl:Class ; owl:deprecated true . :c rdfs:subClassOf :a , :b .
    :c owl:equivalentClass [ a owl:Class ; owl:unionOf ( :a :b ) ] ."""
    items, left = read(text)
    assert tree(items) == [(1, "a"), (2, "c")]
    assert left == {"deprecated labels": 1, "equivalences": 1}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TURTLE + "\n:a ; skos:broader .", "Line 13 is not Turtle"),
        (TURTLE + "\n:a skos:broader", "ends within a statement"),
        (OWL_XML.replace("</rdf:RDF>", ""), "is not XML"),
        (OWL_XML.replace('http://example.org/pumps#" >', '&owl;x" >'), "The entity “p” is no address"),
        (OWL_XML.replace('p "http', 'p SYSTEM "file:///etc/passwd'), "The entity “p” is no address"),
        (OWL_XML.replace("rdf:RDF [", 'rdf:RDF SYSTEM "http://x/y.dtd" ['), "another file"),
        (OWL_XML.replace("]>", "".join(f'<!ENTITY e{i} "a">' for i in range(99)) + "]>"), "more than 100 entities"),
        ("@prefix owl: <http://www.w3.org/2002/07/owl#> . <a> a owl:Ontology .", "There are no classes in it"),
        ('<?xml version="1.0"?><Ontology xmlns="http://www.w3.org/2002/07/owl#"></Ontology>', "This is OWL/XML"),
        (of_concepts(*(f":c{i} skos:broader :c{i + 1} ." for i in range(201))), "at most 200 levels"),
    ],
)
def test_what_is_wrong_with_a_vocabulary_is_told(text, said):
    with pytest.raises(Refused, match=said):
        read(text)


def test_no_more_labels_are_taken_than_an_ontology_may_have(settings):
    settings.MAX_ONTOLOGY_ITEMS = 3
    with pytest.raises(Refused, match="at most 3 items"):
        read(TURTLE)


@settings(max_examples=amount(5, 500), deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from([TURTLE, OWL_XML]), st.sampled_from(["skos", "owl"]))
def test_a_damaged_vocabulary_is_refused_or_read(rng, text, format):
    try:
        read(damaged(text.encode(), rng), format=format)
    except Refused as refused:
        assert refused.problems[0].text


def damaged(data, rng):
    data = bytearray(data)
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(data))
        data[at : at + rng.randrange(20)] = rng.choice([b"", b"\xff", b"<", b'"', b"&x;", b"[", b",", b"\0", b"\\"])
    return bytes(data)


# --- Tables ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "level 1,level 2,level 3\nA,,\n,B,\n,,C\n,D,\nE,,",
        "level 1;level 2;level 3\nA;B;C\nA;D;\nE;;",
        "Level 3\tLevel 1\tLevel 2\nC\tA\tB\n\tA\tD\n\tE\t",
        "path,description\nA/B/C,\nA/D,\nE,",
    ],
)
def test_a_table_may_have_a_column_for_each_level(text):
    assert tree(read(text)[0]) == [(1, "A"), (2, "B"), (3, "C"), (2, "D"), (1, "E")]


def test_the_columns_of_a_table_can_be_chosen():
    text = "Begriff;Sinn\nA;x"
    assert read(text, name="a.csv")[0][0].description == ""
    assert read(text, name="a.csv", column_description="Sinn")[0][0].description == "x"
    choices = {choice.name: choice for choice in FORMATS["csv"].settings(Beginning(text.encode(), "a.csv"))}
    assert choices["column_name"].default == "Begriff" and choices["column_description"].default == ""
    assert "column_uid" not in choices


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("level 1,level 2,level 3\nA,,C", "line 2", "missing on a level above"),
        ("level 1,level 2\n,B", "line 2", "missing on a level above"),
        ("path,active\nA,perhaps", "line 2, column “active”", "“yes” or “no”"),
        ("path,created_at\nA,today", "line 2, column “created_at”", "UTC time"),
        ("path,id\nA,0a0a0a0a\nB,0a0a0a0a", "line 3", "stands already in line 2"),
        ("path,path\nA,B", "line 1", "named twice"),
        ("path,id\nA,b,c", "line 2", "more values than columns"),
    ],
)
def test_what_is_wrong_in_a_table_is_told_with_its_place(text, place, said):
    with pytest.raises(Refused) as refused:
        read(text, format="csv")
    assert refused.value.problems[0].place == place and said in refused.value.problems[0].text


def test_where_a_table_has_paths_its_parents_are_not_asked():
    assert tree(read("path,parent\nA,\nA/B,A\nC,A\n", name="a.csv")[0]) == [(1, "A"), (2, "B"), (1, "C")]
    levels = "level 1,level 2,parent\nA,,\n,B,A\n"
    assert tree(read(levels, name="a.csv")[0]) == [(1, "A"), (2, "B")]


def test_ids_of_other_programs_are_no_ids_of_labels():
    (item,) = read("id,name\n17,A")[0]
    assert item.uid == ""


def is_term(text):
    return text == text.strip() != "" and clean_example_terms([text]) == [text]


TERMS = st.text(alphabet=st.sampled_from("ab|\\,;\n\r nr'=€"), min_size=1, max_size=8).filter(is_term)


@given(st.lists(TERMS, unique=True, max_size=4))
def test_example_terms_come_back_from_a_cell(terms):
    cell = written_terms(terms)
    assert ROLES["example_terms"].read(cell) == terms and "\n" not in cell and "\r" not in cell


def test_terms_of_people_may_be_divided_in_several_ways():
    assert ROLES["example_terms"].read("a; b, c\nd") == ["a", "b", "c", "d"]
    assert ROLES["example_terms"].read("a, b | c; d") == ["a, b", "c; d"]


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(["csv", "tsv", "text", "json", "xlsx"]))
def test_a_damaged_list_is_refused_or_read(rng, format):
    text = 'path,id,active,level 1\n"A/B, c",0a0a0a0a,yes,\n\tx\n[{"name": "A"}]'
    try:
        read(damaged(text.encode(), rng), format=format)
    except Refused as refused:
        assert refused.problems[0].text


# --- Round trips -------------------------------------------------------------------------------------------------------

NAME_SIGNS = st.sampled_from("AbÄ車 -_.1)[{=+'\"\\@#<>,;|:∕*\u2028•")


def is_name(text):
    try:
        return clean_name(text) == text
    except Refused:
        return False


@st.composite
def trees(draw):
    """Labels with every field filled in some way."""
    items, taken, level = [], [], 0
    for wanted, name in draw(
        st.lists(st.tuples(st.integers(1, 4), st.text(NAME_SIGNS, min_size=1, max_size=6).filter(is_name)), max_size=8)
    ):
        level = min(wanted, level + 1)
        del taken[level:]
        taken += [set() for _ in range(level - len(taken))]
        if name in taken[-1]:
            level = len(taken) - 1
            continue
        taken[-1].add(name)
        items.append(
            NewLabel(
                level,
                name,
                clean_description(draw(st.text(st.sampled_from("a\n,;\"'=\\é "), max_size=8))),
                draw(st.lists(TERMS, unique=True, max_size=3)),
                color=f"#{draw(st.integers(0, 0xFFFFFF)):06X}",
                active=draw(st.booleans()),
            )
        )
    return items


def with_and_without(document, *left_out):
    return [
        {key: value for key, value in item.items() if key not in left_out}
        | {"children": with_and_without(item["children"], *left_out)}
        for item in document
    ]


LOST = {
    "json": (),
    "csv": (),
    "skos": ("color", "active", "id", "created_at", "updated_at"),
    "text": ("color", "active", "id", "created_at", "updated_at", "description", "example_terms"),
}


def test_what_downloads_lose_is_known_of_all_of_them():
    assert {format.name for format in DOWNLOADS} == {*LOST}
    assert {name for name, lost in LOST.items() if lost} == {format.name for format in DOWNLOADS if format.loses}


@settings(max_examples=amount(25, 1000), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(trees(), st.sampled_from(["entity", "relation"]), st.sampled_from(["json", "csv", "text"]))
def test_a_download_that_is_read_again_has_lost_what_it_announces(alice, items, kind, name):
    loses_what_it_announces(alice, items, kind, name)


@settings(max_examples=amount(4, 100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(trees(), st.sampled_from(["entity", "relation"]))
def test_so_has_skos(alice, items, kind):
    loses_what_it_announces(alice, items, kind, "skos")


def loses_what_it_announces(alice, items, kind, name):
    if kind == "relation":
        for item in items:
            item.example_terms = []
    ontology = Ontology.create(kind=kind, name="x", owner=alice, items=items)
    before = json.loads(ontology.as_json())
    if not items and name in ("text", "skos"):
        return  # no file has nothing in it
    again, left = read(FORMATS[name].write(ontology), kind, format=name)
    after = json.loads(Ontology.create(kind=kind, name="y", owner=alice, items=again).as_json())
    assert with_and_without(after, *LOST[name]) == with_and_without(before, *LOST[name])
    assert left == {}


def filled(alice):
    return factories.ontology(
        owner=alice,
        items=[
            {
                "name": "=A|b, c",
                "description": '-x\n"y"',
                "example_terms": ["a|b", "c, d", "\\", "=1"],
                "color": "#012345",
                "id": "12345678",
                "created_at": "2020-01-02T03:04:05Z",
                "updated_at": "2021-01-02T03:04:05Z",
                "active": False,
                "children": [{"name": "B", "example_terms": ["one, two"], "id": "1234567e"}],
            },
            {"name": "'C", "id": "12345e67"},
        ],
    )


def test_csv_loses_nothing(alice):
    ontology = filled(alice)
    text = FORMATS["csv"].write(ontology)
    assert text.splitlines()[0] == "id,path,description,example_terms,color,active,created_at,updated_at"
    assert "'12345678," in text and "'12345e67," in text and "\n1234567e," in text
    again = Ontology.create(kind="entity", name="y", owner=alice, items=read(text)[0])
    assert again.as_json() == ontology.as_json()


@pytest.mark.parametrize("path", sorted(SHARED.glob("*.json")), ids=lambda path: path.stem)
def test_csv_loses_nothing_of_large_ontologies(alice, path):
    kind = path.stem.rpartition("_")[2]
    ontology = Ontology.create(kind=kind, name="x", owner=alice, items=FORMATS["json"].read(file_of(path), kind))
    again = Ontology.create(kind=kind, name="y", owner=alice, items=read(FORMATS["csv"].write(ontology), kind)[0])
    assert again.as_json() == ontology.as_json()


def file_of(path):
    return FileSource(BytesIO(path.read_bytes()), path.name)


def test_skos_is_what_other_programs_read(alice):
    ontology = filled(alice)
    graph = Graph().parse(data=FORMATS["skos"].write(ontology), format="turtle")
    concepts = {str(graph.value(each, SKOS.prefLabel)): each for each in graph.subjects(RDF.type, SKOS.Concept)}
    assert {*concepts} == {"=A|b, c", "B", "'C"}
    assert (
        graph.value(concepts["B"], SKOS.broader)
        == concepts["=A|b, c"]
        == graph.value(None, SKOS.narrower, concepts["B"])
    )
    assert graph.value(concepts["'C"], SKOS.notation) == Literal("1")
    assert {*map(str, graph.objects(concepts["=A|b, c"], SKOS.altLabel))} == {"a|b", "c, d", "\\", "=1"}
    scheme = graph.value(None, RDF.type, SKOS.ConceptScheme)
    assert {*graph.subjects(SKOS.topConceptOf, scheme)} == {concepts["=A|b, c"], concepts["'C"]}


def test_an_indented_text_shows_names_that_look_like_something_else(alice):
    ontology = factories.ontology(owner=alice, items=[{"name": "[A]", "children": [{"name": "1. B"}, {"name": "-"}]}])
    text = FORMATS["text"].write(ontology)
    assert text == "- [A]\n  - 1. B\n  - -\n"
    assert tree(read(text)[0]) == [(1, "[A]"), (2, "1. B"), (2, "-")]
