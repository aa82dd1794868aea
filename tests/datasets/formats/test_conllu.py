"""CoNLL-U: what is seen in it and what is read of it."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation_service.file_formats import Beginning
from datasets.formats.conllu import CONLL_U
from datasets.formats.dataset_format import DatasetSource
from datasets.kinds import DatasetKind
from datasets.tokenising import offsets_of


def row(id, form, misc="_"):
    return "\t".join([id, form, *["_"] * 4, *["_"] * 3, misc]) + "\n"


GERMAN = (
    "# newdoc id = d1\n# sent_id = s1\n# text = Sie geht zum Markt.\n"
    + row("1", "Sie")
    + row("2", "geht")
    + row("3-4", "zum")
    + row("3", "zu")
    + row("4", "dem")
    + row("4.1", "elided")
    + row("5", "Markt", "SpaceAfter=No")
    + row("6", ".")
    + "\n"
)


def read(text):
    source = DatasetSource(io.BytesIO(text if isinstance(text, bytes) else text.encode()))
    return list(CONLL_U.read(source)), source.left_out


def seen_in(text):
    return CONLL_U.seen_in(Beginning(text if isinstance(text, bytes) else text.encode()))


def test_a_sentence_becomes_an_item_without_marks():
    [element], _ = read(GERMAN)
    assert element.value == {
        "original": "Sie geht zum Markt.",
        "tokens": ["Sie", "geht", "zum", "Markt", "."],
        "external_id": "s1",
        "extra_fields": {"newdoc id": "d1"},
        "entities": [],
        "relations": [],
    }
    assert CONLL_U.kind_of(None) == DatasetKind.RICH


def test_a_multiword_token_stands_for_its_words_and_no_others():
    text = (
        row("1-2", "aux")
        + row("1", "à")
        + row("2", "les")
        + row("3", "x")
        + row("4-5", "du")
        + row("4", "de")
        + row("5", "le")
    )
    [element], left_out = read(text)
    assert element.value["tokens"] == ["aux", "x", "du"]
    assert left_out == {}


def test_comments_that_have_no_place_are_counted():
    [element], left_out = read("# note = a\n# note = b\n# really\n" + GERMAN.replace("4.1", "7"))
    assert element.value["extra_fields"] == {"note": "b", "newdoc id": "d1"}
    assert left_out == {"comments without a value, or with the name of a later one": 2}


def test_empty_nodes_are_left_out_and_counted():
    assert read(GERMAN * 2)[1] == {"empty nodes": 2}


def test_a_text_that_lacks_a_token_is_made_anew_from_the_spaces():
    [element], _ = read(GERMAN.replace("# text = Sie", "# text = Er"))
    assert element.value["original"] == "Sie geht zum Markt."
    [element], _ = read(GERMAN.replace("# text = Sie geht zum Markt.\n", ""))
    assert element.value["original"] == "Sie geht zum Markt."


def test_the_text_is_kept_as_it_is_if_it_has_the_tokens():
    [element], _ = read("# text = “a  b” c\n" + row("1", "a") + row("2", "b"))
    assert element.value["original"] == "“a  b” c"


def test_metadata_without_a_value_are_kept_and_blocks_of_comments_are_no_sentences():
    elements, _ = read("# a comment\n\n# newdoc\n# translit = x\n" + row("1", "a"))
    [element] = elements
    assert element.value["extra_fields"] == {"newdoc": "", "translit": "x"}
    assert element.place == "sentence 1, line 3"


@pytest.mark.parametrize(
    "damaged",
    [
        "one column\n",
        row("x", "a"),
        row("2-1", "a"),
        row("9" * 5000, "a"),
        "1\ta\t_\t_\t_\t_\tx\t_\t_\t_\n",
        "1\ta\t_\t_\t_\t_\t" + "9" * 5000 + "\t_\t_\t_\n",
    ],
)
def test_a_damaged_sentence_is_refused_with_its_line_and_the_next_is_read(damaged):
    (first, refused, last), _ = read(GERMAN + row("1", "a") + damaged + "\n" + GERMAN)
    assert [problem.place for problem in refused.refused.problems] == ["line 13"]
    assert len(refused.refused.problems[0].text) < 300
    assert refused.value is None
    assert first.value == last.value
    assert last.number == 3


def test_columns_that_are_named_in_the_file_do_no_harm():
    [element], _ = read("# global.columns = ID LEMMA\n1\ta\n")
    assert element.value["tokens"] == [""]  # refused later, like any token that is empty


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_what_is_seen(line_end, encoding):
    data = (GERMAN * 3).replace("\n", line_end).encode(encoding)
    assert seen_in(data) == "10 columns, 3 sentences"
    assert len(read(data)[0]) == 3


def test_a_file_that_goes_on_or_has_a_damaged_line_is_seen():
    assert seen_in(GERMAN * 3 + "1\tx\n") == "10 columns, 4 sentences"
    assert seen_in(GERMAN * 3000).startswith("10 columns, at least ")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only\n",
        "a\tO\nb\tB-X\n",
        "1\t" * 9 + "1\nx" + "\t1" * 9 + "\n",
        "1\ta\n",
        "#FORMAT=WebAnno TSV 3.3\n#T_SP=a.B|value\n\n\n#Text=Ann\n1-1\t0-3\tAnn\tPER\t\n",
        "1. A list\n2. of prose\n",
        '{"id": 1}\n',
    ],
)
def test_other_files_are_not_taken(text):
    assert seen_in(text) is None


@given(st.lists(st.tuples(st.text("ab.é😀", min_size=1, max_size=3), st.booleans()), min_size=1, max_size=6))
def test_a_made_text_has_the_tokens_and_the_spaces(tokens):
    rows = [row(str(at), form, "SpaceAfter=No" if joined else "_") for at, (form, joined) in enumerate(tokens, 1)]
    [element], _ = read("".join(rows))
    assert element.value["tokens"] == [form for form, _ in tokens]
    assert offsets_of(element.value["tokens"], element.value["original"]) is not None
    assert element.value["original"].count(" ") == sum(not joined for _, joined in tokens[:-1])
