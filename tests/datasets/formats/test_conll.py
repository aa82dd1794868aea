"""CoNLL 2002 and 2003 and their like: what is seen, read and written, and what is lost."""

import io
import random

import pytest
from django.test import override_settings
from hypothesis import given
from hypothesis import strategies as st

from annotation_service.file_formats import Beginning
from annotation_service.inputs import Refused
from datasets.formats.conll import CONLL, CONLL_LAYERS
from datasets.formats.dataset_format import DatasetSource, Export, WrittenEntity, WrittenItem, WrittenRelation
from datasets.tokenising import offsets_of

CONLL_2003 = """-DOCSTART- -X- -X- O

Ann NNP I-NP I-PER
Lee NNP I-NP I-PER
met VBD I-VP O
Bo NNP I-NP I-PER
Li NNP I-NP B-PER

in IN I-PP O
Rome NNP I-NP I-LOC
"""


def source_of(text, **chosen):
    return DatasetSource(io.BytesIO(text if isinstance(text, bytes) else text.encode()), chosen=chosen)


def read(text, **chosen):
    return list(CONLL.read(source_of(text, **chosen)))


def spans(element):
    return [(mark["label"], mark["start"], mark["end"]) for mark in element.value["entities"]]


def entities(tags):
    """Of one sentence with these tags."""
    [element] = read("".join(f"w\t{tag}\n" for tag in tags.split()))
    return spans(element)


def seen_in(text):
    return CONLL.seen_in(Beginning(text if isinstance(text, bytes) else text.encode()))


def item(tokens, *marks, relations=()):
    marks = sorted(marks, key=lambda mark: (mark[1], -mark[2]))
    written = [WrittenEntity(f"e{number}", *mark) for number, mark in enumerate(marks)]
    text = " ".join(tokens)
    return WrittenItem(1, "", text, tokens, offsets_of(tokens, text), {}, written, list(relations))


def written(format, *items):
    export = Export("A title", items)
    names, texts = zip(*format.write(export), strict=True)
    assert set(names) == {"dataset.conll"}
    return "".join(texts), export.losses()


def test_sentences_become_items_of_their_tokens():
    first, second = read(CONLL_2003)
    assert first.value["original"] == "Ann Lee met Bo Li"
    assert first.value["tokens"] == ["Ann", "Lee", "met", "Bo", "Li"]
    assert spans(first) == [("PER", 0, 1), ("PER", 3, 3), ("PER", 4, 4)]
    assert spans(second) == [("LOC", 1, 1)]


def test_a_place_names_the_sentence_and_its_line():
    assert [element.place for element in read(CONLL_2003)] == ["sentence 1, line 3", "sentence 2, line 9"]


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("I-A I-A B-A O I-B", [("A", 0, 1), ("A", 2, 2), ("B", 4, 4)]),  # IOB1
        ("B-A I-A B-A O B-B", [("A", 0, 1), ("A", 2, 2), ("B", 4, 4)]),  # IOB2
        ("B-A E-A S-A S-A O B-B I-B E-B", [("A", 0, 1), ("A", 2, 2), ("A", 3, 3), ("B", 5, 7)]),  # BIOES
        ("B-A L-A U-A U-A O B-B I-B L-B", [("A", 0, 1), ("A", 2, 2), ("A", 3, 3), ("B", 5, 7)]),  # BILOU
        ("I-A I-B", [("A", 0, 0), ("B", 1, 1)]),
        ("E-A I-A L-A I-A", [("A", 0, 0), ("A", 1, 2), ("A", 3, 3)]),
        ("B-A S-A I-A", [("A", 0, 0), ("A", 1, 1), ("A", 2, 2)]),
        ("B-A-B I-A-B", [("A-B", 0, 1)]),
        ("O O", []),
    ],
)
def test_all_schemes_of_tags_are_read(tags, expected):
    assert entities(tags) == expected


def test_columns_are_separated_by_tabs_or_by_spaces():
    tabbed = read("New York\tB-Place/City, large\n\n")
    assert tabbed[0].value["tokens"] == ["New York"]
    assert spans(tabbed[0]) == [("Place/City, large", 0, 0)]
    assert read("York   B-City \n")[0].value["tokens"] == ["York"]


def test_tokens_that_are_numbered_are_in_the_second_column():
    text = "#\tde.wikipedia.org\n1\tAnn\tB-PER\tO\n2\tLee\tI-PER\tO\n\n1\tYes\tO\tO\n"
    assert [element.value["tokens"] for element in read(text)] == [["Ann", "Lee"], ["Yes"]]
    assert [element.value["tokens"] for element in read("a X O\nb X O\n\n1 CD O\n")] == [["a", "b"], ["1"]]
    assert read("1\tO\n2\tO\n")[0].value["tokens"] == ["1", "2"]


def test_comments_before_a_sentence_are_left_out_but_not_a_token_that_looks_like_one():
    [element] = read("# sent_id 1\n# text = # 1 O\n#\tO\n1\tB-Rank\n")
    assert element.value["tokens"] == ["#", "1"]
    assert spans(element) == [("Rank", 1, 1)]
    assert read("# only a comment\n\n-DOCSTART-\tO\n") == []


def test_of_several_columns_of_tags_the_last_is_read_or_each_as_a_layer():
    text = "a X B-NP O\nb O I-NP B-PER\n"
    assert spans(read(text)[0]) == [("PER", 1, 1)]
    assert sorted(spans(read(text, layers="all")[0])) == [("NP", 0, 1), ("PER", 1, 1)]


def test_the_layers_can_be_chosen_where_there_are_several():
    [choice] = CONLL.settings(Beginning(b"a X B-NP O\nb O I-NP B-PER\n"))
    assert (choice.name, list(choice.choices), choice.default) == ("layers", ["last", "all"], "last")
    assert "2" in choice.choices["all"]
    assert CONLL.settings(Beginning(b"a B-X O\n\nb\n\nc O O\n")) == [choice]
    assert CONLL.settings(Beginning(b"a X B-NP\nb O I-NP\n")) == []
    assert CONLL.settings(Beginning(b"")) == []


@pytest.mark.parametrize(
    ("text", "line", "columns"),
    [
        ("a O\nb O O\n", "line 2", "2 columns"),
        ("\n\na X O\nb X O\nc O\n", "line 5", "3 columns"),
        ("a O\nb PER\n", "line 2", "2 columns"),
        ("# c\na\n", "line 2", "2 columns"),
        ("a\tO\n\tO\tO\n", "line 2", "2 columns"),
    ],
)
def test_a_damaged_sentence_is_refused_with_its_line_and_the_next_is_read(text, line, columns):
    refused, good = read(f"{text}\nx O\n")
    assert refused.value is None
    assert [problem.place for problem in refused.refused.problems] == [line]
    assert columns in refused.refused.problems[0].text
    assert good.value["tokens"] == ["x"]
    assert good.number == 2


@override_settings(MAX_ITEM_CHARACTERS=100)
def test_a_sentence_without_end_is_refused_as_soon_as_it_is_too_long():
    with pytest.raises(Refused, match="blank line") as refused:
        read("x O\n\n" + "a O\n" * 400)
    assert refused.value.problems[0].place == "line 3"


def test_no_more_than_a_sentence_is_in_memory():
    class Endless(io.RawIOBase):
        def read(self, size=-1):
            return b"a O\n\n" * 1000

    sentences = CONLL.read(DatasetSource(Endless()))
    assert next(sentences).number == 1


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_what_is_seen(line_end, encoding):
    assert seen_in(CONLL_2003.replace("\n", line_end).encode(encoding)) == "4 columns, 2 sentences, tags PER, LOC"


def test_of_a_file_that_goes_on_the_number_of_sentences_is_a_lower_bound():
    assert "at least" in seen_in("Rome B-LOC\nis O\n\n" * 10_000)
    assert "at least" not in seen_in("Rome B-LOC\nis O\n\n" * 100)
    assert seen_in("Rome\tB-LOC\n" * 10_000) == "2 columns, at least 1 sentence, tags LOC"  # is cut within a line


def test_a_damaged_line_hides_nothing_and_tags_are_not_needed_where_there_are_sentences():
    assert seen_in("a O\nb\n\nc O\nd B-X\n") == "2 columns, 2 sentences, tags X"
    assert seen_in("a O\nb O\n\nc O\n") == "2 columns, 2 sentences"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "a O\nb O\n",
        "The traffic on I-95\nand on I-80\n",
        "* B-52\n* B-2\n",
        "All of us go.\nSo do they.\n\nAnd here is more O\n",
        "id,tag\n1,O\n2,B-PER\n",
        "id\ttext\n1\tO\n",
        '{"text": "a", "label": "O"}\n{"text": "b"}\n',
        "# Heading\n\n* one\n* two\n\nText follows.\n",
        "import re\n\n\ndef f():\n    return re\n",
        "1\tAnn\tAnn\tPROPN\t_\t_\t0\troot\t_\t_\n\n",
        "#FORMAT=WebAnno TSV 3.3\n#T_SP=a.B|value\n\n\n#Text=Ann\n1-1\t0-3\tAnn\tPER\t\n",
        "<a>\n<b/>\n</a>\n",
    ],
)
def test_other_files_are_not_taken(text):
    assert seen_in(text) is None


def test_a_written_file_has_tokens_and_tags():
    text, losses = written(CONLL, item(["New York", "is", "#"], ("Place/City, large", 0, 1)), item(["x"]))
    assert text == "New York\tB-Place/City, large\nis\tI-Place/City, large\n#\tO\n\nx\tO\n\n"
    assert losses == []


def test_of_overlapping_entities_the_outermost_are_written_and_the_others_counted():
    one = item(list("abcd"), ("A", 0, 2), ("B", 1, 2), ("C", 2, 3), ("D", 3, 3))
    text, losses = written(CONLL, one)
    assert spans(read(text)[0]) == [("A", 0, 2), ("D", 3, 3)]
    assert losses == ["2 of 4 entities are nested or overlapping and left out"]


def test_relations_are_counted_as_lost():
    relations = [WrittenRelation("of", "e0", "e1")] * 2
    for format in CONLL, CONLL_LAYERS:
        _, losses = written(format, item(["a", "b"], ("A", 0, 0), ("B", 1, 1), relations=relations))
        assert losses == ["2 of 2 relations are left out: there is no place for relations"]


def test_what_would_end_a_column_or_a_line_is_written_as_a_space_and_counted():
    text, losses = written(CONLL, item(["a\tb", "c\nd\re"]), item(["f g"]))
    assert [element.value["tokens"] for element in read(text)] == [["a b", "c d e"], ["f g"]]
    assert losses == ["1 of 2 items is written with spaces for TABs and line ends inside of tokens"]


def test_what_an_item_has_besides_its_tokens_is_counted_as_lost():
    one = WrittenItem(1, "W", "a  b", ["a", "b"], [(0, 1), (3, 4)], {"site": 1})
    assert written(CONLL, one, item(["a", "b"]))[1] == [
        "1 of 2 items is written without external id",
        "1 of 2 items is written without extra fields",
        "1 of 2 items is written without the spaces between their tokens",
    ]


def test_each_layer_of_entities_has_a_column_and_the_outermost_is_the_last():
    one = item(list("abc"), ("A", 0, 2), ("B", 0, 1), ("C", 2, 2), ("D", 2, 2))
    text, losses = written(CONLL_LAYERS, one)
    assert losses == []
    assert spans(read(text)[0]) == [("A", 0, 2)]
    assert sorted(spans(read(text, layers="all")[0])) == [("A", 0, 2), ("B", 0, 1), ("C", 2, 2), ("D", 2, 2)]
    assert seen_in(text * 2) == "6 columns, 2 sentences, tags A"


def test_what_needs_more_than_five_layers_is_counted_as_lost():
    one = item(["a"], *((label, 0, 0) for label in "ABCDEFG"))
    text, losses = written(CONLL_LAYERS, one)
    assert [label for label, _, _ in sorted(spans(read(text, layers="all")[0]))] == list("ABCDE")
    assert losses == ["2 of 7 entities are nested more than five deep and left out"]


def test_the_layers_are_only_written():
    assert CONLL_LAYERS.read is None
    assert CONLL_LAYERS.seen_in(Beginning(CONLL_2003.encode())) is None


LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0\t\n\r\ufeff")
NAMES = st.text(LETTERS.filter(str.isprintable), min_size=1).map(str.strip).filter(bool)


@st.composite
def items(draw):
    tokens = draw(st.lists(st.text(LETTERS, min_size=1), min_size=1, max_size=6))
    places = st.tuples(st.integers(0, len(tokens) - 1), st.integers(0, len(tokens) - 1)).map(sorted)
    marks = draw(st.sets(st.tuples(NAMES, places.map(tuple)), max_size=8))
    return item(tokens, *((label, start, end) for label, (start, end) in marks))


@given(st.lists(items(), min_size=1, max_size=3))
def test_what_is_written_comes_back(all_items):
    for format, layers in (CONLL, "last"), (CONLL_LAYERS, "all"):
        export = Export("", all_items)
        text = "".join(piece for _, piece in format.write(export))
        found = read(text, layers=layers)
        assert [element.value["tokens"] for element in found] == [one.tokens for one in all_items]
        kept = 0
        for element, one in zip(found, all_items, strict=True):
            expected = {(mark.label, mark.start, mark.end) for mark in one.entities}
            assert set(spans(element)) <= expected
            assert len(spans(element)) == len(set(spans(element)))
            kept += len(spans(element))
        lost = sum(export.lost["entities"].values())
        assert kept + lost == export.total["entities"]


@given(st.randoms(use_true_random=False), st.sampled_from(["last", "all"]))
def test_a_damaged_file_is_read_or_refused(rng: random.Random, layers):
    data = bytearray(CONLL_2003.encode() + b"# a\nx\tB-X\ty\tE-X\n\n")
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(data))
        data[at : at + rng.randint(0, 3)] = rng.choice(
            [b"", b"\n", b"\t", b" ", b"#", b"\xff", b"\0", b"-", b"\xc2\xa0", b"O"]
        )
    seen_in(bytes(data))
    CONLL.settings(Beginning(bytes(data)))
    try:
        for element in read(bytes(data), layers=layers):
            assert (element.value is None) == (element.refused is not None)
    except Refused:
        pass
