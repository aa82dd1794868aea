"""A codebook in Markdown, as CommonMark reads it: whatever people have typed comes out as they typed it."""

import re
from collections.abc import Iterator

from annotation_service.templatetags.ui import day_of
from annotation_service.words import number, plural

from .codebook import Codebook, CodebookEntry, Sentence

# Signs with a meaning wherever they stand; the last five only to readers that know tables, formulas and the like.
_SIGNS = re.compile(r"[\n\r\\`*_\[\]<>&#|~$^{]")
_EDGES = re.compile(r"^[ \t]+|[ \t]+$")
# What makes a list, a heading or a line across of a line that begins with it.
_BEGINNING = re.compile(r"^(\d{0,9})([-+=:.)])")


def escaped(text: str) -> str:
    """A text on a line of its own, with its line ends and the space around it."""
    return _line(_inline(text))


def _inline(text: str) -> str:
    return _SIGNS.sub(lambda found: _coded(found) if found[0] in "\n\r" else f"\\{found[0]}", text)


def _line(markdown: str) -> str:
    return _BEGINNING.sub(r"\1\\\2", _with_edges(markdown))


def _with_edges(markdown: str) -> str:
    return _EDGES.sub(_coded, markdown) if markdown != markdown.strip(" \t") else markdown


def _coded(found: re.Match[str]) -> str:
    """As numbers: such characters have no meaning."""
    return "".join([f"&#{ord(char)};" for char in found[0]])


def paragraphs(text: str) -> str:
    """A text of several lines. Blank ones part paragraphs, the others stay lines."""
    found = [part.split("\n") for part in re.split(r"\n(?:[ \t]*\n)+", text.strip("\n"))]
    return "\n\n".join("\\\n".join(map(escaped, lines)) for lines in found)


def quoted(sentence: Sentence) -> str:
    """A sentence with its marked pieces in bold."""
    parts = list(map(_inline, sentence))
    for n in range(1, len(parts), 2):
        marked, before, after = _with_edges(parts[n]), parts[n - 1], parts[n + 1]
        # Two stars between a letter and a sign are only stars; the number of a letter ends with a sign.
        if not marked[0].isalnum() and _is_letter(before[-1:]):
            parts[n - 1] = f"{before[:-1]}&#{ord(before[-1])};"
        if not marked[-1].isalnum() and _is_letter(after[:1]):
            parts[n + 1] = f"&#{ord(after[0])};{after[1:]}"
        parts[n] = f"**{marked}**"
    return _line("".join(parts))


def _is_letter(char: str) -> bool:
    """Whether it is neither space nor a sign of ASCII, with which escapes and numbers begin and end."""
    return bool(char) and not char.isspace() and (char.isalnum() or not char.isascii())


def document(book: Codebook) -> str:
    return "\n\n".join(part for part in _parts(book) if part) + "\n"


def _parts(book: Codebook) -> Iterator[str]:
    yield f"# {escaped(book.title)}"
    yield paragraphs(book.ontology.description)
    changed = day_of(book.ontology.updated_at)
    yield f"Codebook · {book.ontology.get_kind_display()} · {plural(len(book.labels), 'label,labels')} · changed on {changed}"
    if contents := book.contents():
        yield "## Contents"
        yield "\n".join(
            f"{'  ' * chapter.depth}- {escaped(chapter.label.name)} ({number(chapter.size)})" for chapter in contents
        )
    for entry in book.entries():
        yield from _of_label(entry)


def _of_label(entry: CodebookEntry) -> Iterator[str]:
    label = entry.label
    yield f"{'#' * entry.heading} {escaped(label.name)}"
    if entry.above or not label.active:
        path = f"In {_inline(entry.above)}" if entry.above else ""
        yield " · ".join(filter(None, [path, "" if label.active else "switched off"]))
    yield paragraphs(label.description)
    if label.example_terms:
        yield f"Example terms: {' · '.join(map(escaped, label.example_terms))}"
    yield "\n".join(f"- {quoted(sentence)}" for sentence in entry.sentences)
