"""Tables as datasets: which files are tables, what their columns are, their items; and that our own come back as they were."""

from io import BytesIO

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from annotation_service.file_formats import Beginning
from annotation_service.inputs import Refused
from annotation_service.json_input import to_compact_json
from datasets.extra_fields import too_large
from datasets.formats.dataset_format import DatasetSource, Export, WrittenEntity, WrittenItem, WrittenRelation
from datasets.formats.item_tables import CSV, TSV, XLSX
from datasets.importing.items import ItemBuilder
from datasets.kinds import DatasetKind
from tests.workbooks import workbook


def seen(text, name="", format=CSV):
    return format.seen_in(Beginning(text if isinstance(text, bytes) else text.encode(), name))


def read(text, format=CSV, tokeniser="whitespace", **chosen):
    data = text if isinstance(text, bytes) else text.encode()
    return list(format.read(DatasetSource(BytesIO(data), chosen=chosen, tokeniser=tokeniser)))


def values(text, format=CSV, **chosen):
    return [element.value for element in read(text, format, **chosen)]


def refusals(text, format=CSV, **chosen):
    return [str(element.refused) for element in read(text, format, **chosen) if element.refused]


def roles(text, format=CSV):
    choices = format.settings(Beginning(text if isinstance(text, bytes) else text.encode()))
    return {choice.label: choice.default for choice in choices if choice.name.startswith("column")}


# --- Recognising ---------------------------------------------------------------------------------------------------------------


TABLE = "id,text,site\n1,Replace oil,north\n2,Drain oil,south\n"


def test_a_table_is_told_by_its_columns_and_rows():
    assert seen(TABLE) == "3 columns separated by commas: id, text and site; 2 rows"
    assert seen(TABLE.replace(",", ";")) == "3 columns separated by semicolons: id, text and site; 2 rows"
    assert seen(TABLE.replace(",", "|")) == "3 columns separated by vertical bars: id, text and site; 2 rows"
    assert seen(TABLE.replace(",", "\t")) is None
    assert seen(TABLE.replace(",", "\t"), format=TSV) == "3 columns separated by tabs: id, text and site; 2 rows"
    assert seen(TABLE, format=TSV) is None
    assert seen("1,Replace oil\n2,Drain oil\n", "a.csv") == "2 columns separated by commas, without headings; 2 rows"
    assert seen(TABLE + f"3,{'x ' * 9000},north\n" * 5).endswith("; at least 3 rows")
    assert seen(TABLE + "3,Check oil,north\n" * 50_000).endswith("; at least 98 rows")


@pytest.mark.parametrize(
    "change",
    [lambda t: t.replace("\n", "\r\n").encode(), lambda t: t.encode("utf-8-sig"), lambda t: t.encode("utf-16")],
)
def test_a_table_is_told_in_any_unicode_and_with_any_line_ends(change):
    assert seen(change(TABLE)) == "3 columns separated by commas: id, text and site; 2 rows"
    assert [value["original"] for value in values(change(TABLE))] == ["Replace oil", "Drain oil"]


PROSE = "Dear all,\nthe pump, which leaks, is old.\nRegards,\nAnn\n"
POEM = "The rose is red,\nthe violet is blue,\nthe honey is sweet,\n"
SHORT = "Hello, world\nSo long, friend\nGood bye, all\n"
LINES = "pump leaks, oil everywhere\nfilter blocked, replaced it\nbelt worn, not replaced\n"
CONLL = "EU\tB-ORG\nrejects\tO\nGerman\tB-MISC\n\nPeter\tB-PER\nBlackburn\tI-PER\n"
CONLL_BY_SPACES = CONLL.replace("\t", " ")
CONLLU = "# text = A dog\n1\tA\ta\tDET\t_\t_\t2\tdet\t_\t_\n2\tdog\tdog\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
BRAT = "T1\tObject 0 4\tpump\nT2\tState 5 10\tleaks\nR1\tHas Arg1:T1 Arg2:T2\n"
BRAT_ENTITIES = "T1\tObject 0 4\tpump\nT2\tState 5 10\tleaks badly\n"
JSON = '[{"id": 1, "text": "a b"},\n {"id": 2, "text": "c d"}]\n'
JSON_LINES = '{"id": 1, "text": "a b"}\n{"id": 2, "text": "c d"}\n'
CODE = "import os, sys\nimport re\n\ndef f(a, b):\n    return g(a, b)\n"
C = "int a = 1;\nint b = 2;\nfloat c = a + b;\n"
MARKDOWN = "# Pumps\n\n| name | state |\n| --- | --- |\n| pump one | leaks |\n"
MARKDOWN_TABLE = "| name | state |\n| --- | --- |\n| pump one | leaks |\n| pump two | leaks |\n"
LOG = "2026-01-02 10:00:01,123 INFO started it\n2026-01-02 10:00:02,456 INFO stopped it\n"
LIST = "pump\nfilter\nbelt\n"
NUMBERS = "x,y\n1,2\n3,4\n"
OTHERS = [
    PROSE,
    POEM,
    SHORT,
    LINES,
    CONLL,
    CONLL_BY_SPACES,
    CONLLU,
    BRAT,
    BRAT_ENTITIES,
    JSON,
    JSON_LINES,
    CODE,
    C,
    MARKDOWN,
]
OTHERS += [MARKDOWN_TABLE, LOG, LIST, NUMBERS, "", "\n\n", "\0\1\2", "text,label\n"]


@pytest.mark.parametrize("text", OTHERS)
def test_what_is_no_table_is_not_taken_for_one(text):
    assert [seen(text, format=format) for format in (CSV, TSV, XLSX)] == [None, None, None]


def test_a_name_lowers_what_is_asked_of_a_table():
    rough = "1,pump leaks\n2,oil, everywhere\n3,filter blocked\n"
    assert (seen(rough), seen(rough, "notes.txt")) == (None, None)
    assert seen(rough, "notes.CSV") == "2 columns separated by commas, without headings; 3 rows"
    assert seen(JSON_LINES, "a.csv") is None
    assert seen(LIST, "a.csv") is None
    assert seen("a\tb\nc\td\n", "a.tab", TSV) == "2 columns separated by tabs: a and b; 1 row"


def test_a_workbook_is_told_by_what_is_in_it():
    data = workbook(A=[["id", "text"]])
    assert seen(data, format=XLSX) == ""
    assert seen(data) is None
    assert seen(b"PK\3\4" + b"word/document.xml", format=XLSX) is None


@settings(max_examples=200, deadline=None)
@given(
    st.text(st.sampled_from(",;\t|\"\n' ab=\r") | st.characters(), max_size=60).map(str.encode) | st.binary(max_size=60)
)
@example(TABLE.encode())
def test_looking_at_a_beginning_never_fails(data):
    for format in (CSV, TSV):
        for name in ("", "a.csv"):
            format.seen_in(Beginning(data, name))
        format.settings(Beginning(data))
    XLSX.seen_in(Beginning(data))


# --- Columns -------------------------------------------------------------------------------------------------------------------


def test_columns_have_usual_roles_by_their_headings():
    head = "External ID,Document,Category,Site\n"
    rows = "".join(f"w{n},Replace oil {n},{'AB'[n % 2]},north\n" for n in range(8))
    assert roles(head + rows) == {"External ID": "id", "Document": "text", "Category": "extra", "Site": "extra"}


def test_an_id_that_comes_twice_and_a_label_that_does_not_are_extra_fields():
    assert roles("id,text,label\n1,a b,x\n1,c d,y\n") == {"id": "extra", "text": "text", "label": "extra"}
    assert roles("text,sentence,body\na,b,c\nd,e,f\n") == {"text": "text", "sentence": "extra", "body": "extra"}
    assert roles("text,tokens\na b,a b\nc d,c d\n") == {"text": "text", "tokens": "extra"}
    assert roles("text,tokens\na b,\nc d,\n") == {"text": "text", "tokens": "extra"}


def test_the_column_with_the_longest_texts_is_the_text_if_no_heading_says_so():
    assert roles("nr,what\n1,Replace oil\n2,Drain oil\n") == {"nr": "extra", "what": "text"}
    assert roles("1,Replace oil\n2,Drain oil\n") == {"Column 1": "extra", "Column 2": "text"}
    assert roles("") == {}


def test_settings_show_an_example_of_each_column():
    header, *columns = CSV.settings(Beginning(b"id,text,x\n1,a b,\n2,c d,\n"))
    assert (header.name, header.default) == ("header", "yes")
    assert [column.name for column in columns] == ["column1", "column2", "column3"]
    assert [column.note for column in columns] == ["such as “1”", "such as “a b”", "empty in the first rows"]
    assert {"text", "id", "label", "extra", "none"} < set(columns[0].choices)


def test_a_large_workbook_is_asked_for_its_columns_on_disk(tmp_path):
    path = tmp_path / "a.xlsx"
    path.write_bytes(workbook(A=[["id", "text"], [1, "a b"], [2, "c d"]], B=[["x"]]))
    names = [choice.name for choice in XLSX.settings(Beginning(b"PK", "a.xlsx", path=path))]
    assert names == ["sheet", "header", "column1", "column2"]


# --- Reading -------------------------------------------------------------------------------------------------------------------


def test_a_row_becomes_an_item():
    assert values('id,text,site,note\n1,"Replace\noil",north,\n2, Drain  oil,south,x\n') == [
        {
            "original": "Replace\noil",
            "tokens": ["Replace", "oil"],
            "external_id": "1",
            "extra_fields": {"site": "north"},
        },
        {
            "original": " Drain  oil",
            "tokens": ["Drain", "oil"],
            "external_id": "2",
            "extra_fields": {"site": "south", "note": "x"},
        },
    ]


def test_texts_are_cut_by_the_chosen_tokeniser():
    text = "text,n\n" + "".join(f'"One, two.\nThree {n}.",{n}\n' for n in range(450))
    cut = [element.value["tokens"] for element in read(text, tokeniser="punkt")]
    assert cut == [["One", ",", "two", ".", "Three", str(n), "."] for n in range(450)]


def test_columns_can_have_other_roles():
    text = "id,text,title\n1,a b,c d\n2,e f,g h\n"
    found = values(text, column1="none", column2="extra", column3="text")
    assert found == [
        {"original": "c d", "tokens": ["c", "d"], "extra_fields": {"text": "a b"}},
        {"original": "g h", "tokens": ["g", "h"], "extra_fields": {"text": "e f"}},
    ]
    assert values("a b,1\n", header="no", column1="extra", column2="text") == [
        {"original": "1", "tokens": ["1"], "extra_fields": {"Column 1": "a b"}}
    ]
    assert len(values(text, header="no")) == 3


def test_labels_of_a_row_are_entities_over_its_whole_text():
    text = "text,label\na b c,X;Y / Z| X |\nd,\ne f,Q\ng,Q\n"
    found = values(text, column2="label")
    assert found[0]["entities"] == [
        {"id": "label1", "start": 0, "end": 2, "label": "X"},
        {"id": "label2", "start": 0, "end": 2, "label": "Y / Z"},
    ]
    assert [len(value["entities"]) for value in found] == [2, 0, 1, 1]
    assert all(value["relations"] == [] for value in found)


def test_labels_of_a_row_are_over_the_tokens_that_it_has():
    table = 'text,tokens,label\na-b,"[""a"", ""-"", ""b""]",X\nc,5,Y\n'
    found = values(table, column1="text", column2="tokens", column3="label")
    assert [value["entities"][0]["end"] for value in found] == [2, 0]


def test_a_wrong_row_is_refused_and_the_next_ones_are_read():
    text = "id,text\n1,a b\n2\n3,c,d\n\n4, \n5,e f\n"
    assert [value["external_id"] for value in values(text) if value] == ["1", "5"]
    assert refusals(text) == [
        "line 3: 2 cells were expected, not 1.",
        "line 4: 2 cells were expected, not 3.",
        "line 6: The column “text” is empty.",
    ]
    assert refusals(workbook(A=[["id", "text"], [1, "a"], [], [3, " "]]), XLSX) == [
        "row 4: The column “text” is empty."
    ]


def test_a_long_text_is_refused_before_it_is_cut(settings, monkeypatch):
    settings.MAX_ITEM_CHARACTERS = 10
    assert refusals("text,n\nlong enough,1\nshort,2\n") == [
        "line 2: An item has at most 10 characters; this one has 11."
    ]
    assert [value["original"] for value in values("text,n\nlong enough,1\nshort,2\n") if value] == ["short"]


@pytest.mark.parametrize("chosen", [{"column2": "extra"}, {"column1": "text"}])
def test_one_column_has_the_texts(chosen):
    with pytest.raises(Refused, match="Choose one column that has the texts"):
        read("id,text\n1,a\n2,b\n", **chosen)


def test_json_columns_of_others_are_read_and_what_is_wrong_in_them_is_told():
    text = 'text,tokens,extra_fields,x\na b,"[""a b""]","{""y"": 1}",2\nc,[1],[2],3\n'
    found = values(text, column3="extra_fields")
    assert found[0] == {"original": "a b", "tokens": ["a b"], "extra_fields": {"y": 1, "x": "2"}}
    assert found[1]["extra_fields"] == [2]  # refused where items are built
    assert refusals('text,tokens\na,"[""a"""\nb,[]\n', column2="tokens") == [
        "line 2: The column “tokens”, line 1, column 5: This is not JSON: a comma or a closing bracket was expected"
        " here. Is a comma missing before this?"
    ]


def test_a_length_is_never_told_too_short():
    heading = "h" * 90_000
    for text in (f"text,n\n{'x ' * 9000},1\n", f'text,{heading}\na b,"{chr(1) * 5000}"\n', "text,n\n" + '"""!",1\n'):
        for element in read(text, header="yes"):
            value = element.value
            limits = [len(value["original"]), len(value["tokens"]), sum(map(len, value["tokens"]))]
            assert element.length >= max(limits)
            assert element.length > 20_000 or not too_large(value["extra_fields"])


def test_the_length_of_a_long_item_is_told_as_it_is(settings):
    settings.MAX_ITEM_JSON_CHARACTERS = 100
    [element] = read("id,text\n1,Replace the oil of the pump\n")
    assert element.length == len(to_compact_json(element.value)) < 150


def test_a_table_without_rows_has_no_items():
    assert values("") == values("\n \n") == values("text,id\n", header="yes") == []


def test_rows_of_a_workbook_are_items():
    data = workbook(
        A=[["id", "text", "n"], [1, "Replace oil", 2.5], [2, "Drain oil", None]], B=[["text", "id"], ["x", 1]]
    )
    assert values(data, XLSX) == [
        {"original": "Replace oil", "tokens": ["Replace", "oil"], "external_id": "1", "extra_fields": {"n": "2.5"}},
        {"original": "Drain oil", "tokens": ["Drain", "oil"], "external_id": "2"},
    ]
    assert read(data, XLSX)[0].place == "row 2"
    assert values(data, XLSX, sheet="B") == [{"original": "x", "tokens": ["x"], "external_id": "1"}]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_mutated_table_is_read_or_refused(data):
    text = bytearray(written([ITEM, ITEM]).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(text)))
        text[place : place + data.draw(st.integers(0, 9))] = data.draw(
            st.binary(max_size=5) | st.sampled_from([b'"', b",", b"\n", b"[", b"]"])
        )
    builder = ItemBuilder(DatasetKind.RICH, {})
    try:
        for element in read(bytes(text)):
            if not element.refused:
                builder.build(element.value, element.place, element.length)
    except Refused as refused:
        assert str(refused)


# --- Writing -------------------------------------------------------------------------------------------------------------------


def written(items, format=CSV):
    return "".join(text for _, text in format.write(Export("Texts", items)))


ITEM = WrittenItem(
    1,
    "wo-17",
    "=Pump\nleaks, “badly”;\t|",
    ["=Pump", "leaks", ",", "no such token"],
    None,
    {"site": "north", "hours": 1.5, "more": [None, {}]},
    [WrittenEntity("e1", "Object/Pump, hydraulic", 0, 0), WrittenEntity("e2", "State", 1, 1)],
    [WrittenRelation("has/state", "e1", "e2")],
)


def test_a_table_has_a_column_for_each_field():
    head, row, end = written([WrittenItem(1, "", "a b", ["a", "b"], [(0, 1), (2, 3)])]).split("\r\n")
    assert head == "external_id,text,tokens,entities,relations,extra_fields"
    assert (row, end) == (',a b,"[""a"",""b""]",[],[],{}', "")
    assert written([ITEM]).count("'=Pump\n") == 1  # no formula
    assert [name for name, _ in TSV.write(Export("", [ITEM]))] == ["items.tsv", "items.tsv"]
    assert XLSX.write is None


TEXTS = st.text(st.sampled_from("'=+-@\t ,;|\"\nab[{") | st.characters(exclude_categories=["Cs", "Cc"]), max_size=8)
NAMES = TEXTS.filter(str.strip)


@st.composite
def items(draw):
    tokens = draw(st.lists(TEXTS.filter(bool), min_size=1, max_size=4))
    spans = st.tuples(st.integers(0, len(tokens) - 1), st.integers(0, len(tokens) - 1)).map(sorted)
    entities = [WrittenEntity(f"e{n}", draw(NAMES), *draw(spans)) for n in range(draw(st.integers(0, 3)))]
    ends = st.sampled_from([entity.id for entity in entities]) if entities else st.nothing()
    relations = draw(st.lists(st.builds(WrittenRelation, NAMES, ends, ends), max_size=2)) if entities else []
    extra = draw(
        st.dictionaries(
            TEXTS,
            st.none()
            | TEXTS
            | st.integers(-(2**63), 2**63 - 1)
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.lists(TEXTS),
            max_size=3,
        )
    )
    return WrittenItem(1, draw(NAMES | st.just("")), draw(TEXTS), tokens, None, extra, entities, relations)


@settings(max_examples=60, deadline=None)
@given(st.lists(items(), min_size=1, max_size=5))
@example([ITEM])
@example([WrittenItem(1, "text", "text", ["text"], None)])
def test_our_own_tables_come_back_as_they_were(some):
    for format in (CSV, TSV):
        text = written(some, format)
        name = f"a.{format.name}"
        assert format.seen_in(Beginning(text.encode(), name)).startswith("6 columns")
        choices = format.settings(Beginning(text.encode(), name))
        for chosen in ({}, {choice.name: choice.default for choice in choices}):
            for item, element in zip(some, read(text, format, **chosen), strict=True):
                assert element.value == as_uploaded(item)


def as_uploaded(item):
    return {
        **({"external_id": item.external_id} if item.external_id else {}),
        "original": item.original,
        "tokens": item.tokens,
        "entities": [{"id": e.id, "start": e.start, "end": e.end, "label": e.label} for e in item.entities],
        "relations": [{"source_id": r.source, "target_id": r.target, "label": r.label} for r in item.relations],
        "extra_fields": item.extra_fields,
    }


def test_very_many_marks_come_back():
    entities = [WrittenEntity(f"e{n}", f"Object/{n}", n % 100, 99) for n in range(20_000)]
    item = WrittenItem(1, "", "a " * 100, ["a"] * 100, None, {}, entities)
    assert read(written([item, ITEM]))[0].value == as_uploaded(item)


def test_a_number_as_postgresql_has_it_comes_back():
    item = WrittenItem(1, "", "a", ["a"], [(0, 1)], {"large": 10**22})
    assert read(written([item]))[0].value["extra_fields"] == {"large": 1e22}


def test_what_is_lost_is_told():
    suggested = [WrittenEntity("e1", "A", 0, 0, is_suggested=True), WrittenEntity("e2", "B", 0, 0)]
    relations = [WrittenRelation("has", "e1", "e2", is_suggested=True)]
    export = Export("", [WrittenItem(1, "", "a\rb", ["a", "b"], [(0, 1), (2, 3)], {}, suggested, relations), ITEM])
    list(CSV.write(export))
    assert export.losses() == [
        "1 of 2 items is written with other line ends",
        "1 of 4 entities is suggested and written like the others",
        "1 of 2 relations is suggested and written like the others",
    ]
    export = Export("", [ITEM])
    list(CSV.write(export))
    assert export.losses() == []
