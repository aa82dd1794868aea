"""The codebook: which labels it has, how it counts them, and its Markdown as CommonMark reads it."""

import html
import re
from datetime import datetime
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ontologies.codebook import Codebook
from ontologies.labels import Label
from ontologies.markdown import document, escaped, paragraphs, quoted
from tests import factories
from tests.factories import item

READER = MarkdownIt("commonmark")
# What Markdown gives a meaning to, with letters, space and line ends to give it at the right places. Readers drop space at the
# ends of lines that is none of Markdown's; nobody types it.
SIGNS = "\\`*_[]()<>&#|~$^{}!+-=:.1a é字\n\t\"'/@"
typed = st.text(SIGNS, min_size=1, max_size=30)
words = typed.filter(lambda text: text.strip())


@pytest.fixture
def ontology(alice):
    ontology = factories.ontology(owner=alice)
    item(ontology, "DrivingObject").switch(False, by=alice)
    return ontology


def names(book):
    return [entry.label.name for entry in book.entries()]


def test_it_has_the_whole_ontology_or_a_branch_with_or_without_what_is_off(ontology):
    everything = ["PhysicalObject", "SensingObject", "Thermostat", "DrivingObject", "Activity", "Replace", "State"]
    assert names(Codebook(ontology, with_off=True)) == everything
    without = Codebook(ontology)
    assert names(without) == [name for name in everything if name != "DrivingObject"]
    assert without.left_out == 1
    branch = ontology.labels().by_fullname["PhysicalObject/SensingObject"]
    assert names(Codebook(ontology, branch)) == ["SensingObject", "Thermostat"]
    assert [entry.heading for entry in Codebook(ontology, branch).entries()] == [2, 3]


def test_contents_count_the_labels_that_it_has(ontology, alice):
    item(ontology, "Activity").switch(False, by=alice)
    lines = [(chapter.label.name, chapter.depth, chapter.size) for chapter in Codebook(ontology).contents()]
    assert lines == [
        ("PhysicalObject", 0, 3),
        ("SensingObject", 1, 2),
        ("Thermostat", 2, 1),
        ("State", 0, 1),
    ]
    with_off = {chapter.label.name: chapter.size for chapter in Codebook(ontology, with_off=True).contents()}
    assert with_off["PhysicalObject"] == 4 and with_off["Activity"] == 2


def test_contents_have_as_many_levels_as_fit(alice):
    def below(number):
        return [{"name": f"{number}-{n}"} for n in range(12)]

    large = factories.ontology(owner=alice, items=[{"name": str(n), "children": below(n)} for n in range(10)])
    chapters = Codebook(large).contents()
    assert [(chapter.label.name, chapter.size) for chapter in chapters] == [(str(n), 13) for n in range(10)]


def test_the_page_shows_everything_as_it_was_typed(as_alice, ontology, alice):
    state = item(ontology, "State")
    state.rename("<b>State & “more”", by=alice)
    state.describe("first <i>line</i>\nsecond line", by=alice)
    state.set_example_terms(["a<br>", "b"], by=alice)
    page = as_alice.get(f"/ontologies/{ontology.pk}/codebook/").text
    entry = page[page.index(f'id="label-{state.uid}"') :]
    texts = html.unescape(re.sub(r"<[^>]*>", "\n", entry))
    for text in ("<b>State & “more”", "first <i>line</i>\nsecond line", "a<br>", "b"):
        assert text in texts
    assert "PhysicalObject/SensingObject" in page
    assert "6 labels, without 1 that is switched off" in page


def test_the_address_chooses(as_alice, ontology):
    path, branch = f"/ontologies/{ontology.pk}/codebook", item(ontology, "PhysicalObject").uid
    page = as_alice.get(f"{path}/?branch={branch}&off=yes").text
    assert page.count('class="entry"') == 4
    assert f"codebook.md?branch={branch}&amp;off=yes" in page
    answer = as_alice.get(f"{path}.md?branch={branch}&off=yes")
    assert answer.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert 'filename="entity-labels-physicalobject-codebook.md"' in answer.headers["Content-Disposition"]
    assert len(re.findall(r"^##+ (?!Contents)", answer.text, re.M)) == 4
    assert as_alice.get(f"{path}/?branch=00000000").status_code == 404


def test_an_empty_one_says_what_to_do(as_alice, alice):
    empty = factories.ontology(owner=alice, items=[])
    assert "No labels yet" in as_alice.get(f"/ontologies/{empty.pk}/codebook/").text
    assert as_alice.get(f"/ontologies/{empty.pk}/codebook.md").status_code == 200
    off = factories.ontology(owner=alice, items=[{"name": "Only"}])
    item(off, "Only").switch(False, by=alice)
    assert "All labels are switched off" in as_alice.get(f"/ontologies/{off.pk}/codebook/").text


# --- Markdown ------------------------------------------------------------------------------------------------------------


def read(markdown):
    """The blocks as a reader sees them: the tag, with the text of what is in it."""
    tokens = READER.parse(markdown)
    return [(tokens[n - 1].tag, shown(token)) for n, token in enumerate(tokens) if token.type == "inline"]


def shown(token):
    return "".join("\n" if child.type == "hardbreak" else child.content for child in token.children)


def blocks(markdown):
    """The tags of everything that is a block."""
    return [token.tag for token in READER.parse(markdown) if token.nesting == 1 or (token.nesting == 0 and token.tag)]


@given(words)
@example("# a #")
@example("1. a")
@example("- - -")
@example("<b>`x`</b>")
@example("a\n===")
@example(" a ")
def test_a_line_comes_out_as_it_was_typed(text):
    assert read(escaped(text)) == [("p", text)]
    assert read(f"## {escaped(text)}") == [("h2", text)]
    assert read(f"- {escaped(text)}") == [("p", text)]
    assert blocks(f"- {escaped(text)}") == ["ul", "li", "p"]


@given(st.lists(typed.map(lambda text: text.replace("\n", "")), max_size=6).map("\n".join))
@example("a\n---")
@example("a\n\n    b\n\tc")
@example("a\n:-")
def test_lines_and_paragraphs_come_out_as_they_were_typed(text):
    found = read(paragraphs(text))
    assert all(tag == "p" for tag, _ in found)
    parts = [part for part in re.split(r"\n(?:[ \t]*\n)+", text) if part.strip()]
    assert [text.strip(" \t\n") for _, text in found] == [part.strip(" \t\n") for part in parts]


@given(st.tuples(typed | st.just(""), words, typed, words, typed | st.just("")))
@example(("a", "*", "b", "字", ""))
def test_a_sentence_has_its_marked_pieces_in_bold(pieces):
    (inline,) = [token for token in READER.parse(f"- {quoted(pieces)}") if token.type == "inline"]
    assert shown(inline) == "".join(pieces)
    bold, inside = [], False
    for child in inline.children:
        if child.type in ("strong_open", "strong_close"):
            inside = child.type == "strong_open"
            bold += [""] if inside else []
        elif inside:
            bold[-1] += child.content
    assert bold == list(pieces[1::2])


@given(words.filter(lambda text: "/" not in text), words, st.lists(words, max_size=3))
def test_a_document_has_what_people_typed(name, description, terms):
    label = Label(1, "00000000", name, f"Up/{name}", "#112233", True, 1, None, description.strip(), terms)
    ontology = SimpleNamespace(
        name="Labels",
        description="",
        get_kind_display=lambda: "Entity ontology",
        updated_at=datetime(2026, 11, 22),
        labels=lambda: [label],
    )
    found = read(document(Codebook(ontology)))
    assert ("h2", name) in found
    assert ("p", "In Up") in found
    if terms:
        assert ("p", f"Example terms: {' · '.join(terms)}") in found
