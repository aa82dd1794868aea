"""Tokens by NLTK's Punkt sentence splitter and NLTK's word tokeniser, as spans of the text.

Punkt (Kiss and Strunk 2006, "Unsupervised Multilingual Sentence Boundary Detection") usually learns abbreviations from
text. Here it only gets those of `abbreviations.txt`, so that a line has the same tokens wherever it stands.

`tokenise` gives the same as these two steps one after the other: 100,000 lines in 3.4 s instead of 33 s.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

Span = tuple[int, int]
"""Start and end of a token in its line: half-open, in code points."""

Chunk = str
"""What stands between two spaces of a sentence."""

_AT_ONCE = 1000
"""Chunks in one call of NLTK, whose costs are mostly per call."""

# A sentence ends at one of these characters before white space, a bracket, a quote ...: never before a letter.
_maybe_two_sentences = re.compile(r"[.?!]\W").search

# Word characters and perhaps one mark, except the words that NLTK splits. No other rule of NLTK's touches these.
_simple = re.compile(r"(?!(?:cannot|gimme|gonna|gotta|lemme|wanna)\b)[^\W_]+([,;:?!).]?)", re.IGNORECASE).fullmatch

# What NLTK lets stand between the last full stop and the end of a sentence.
_only_closers = re.compile(r"[\])}>\"'»”’\s]*").fullmatch


def tokenise(lines: Sequence[str]) -> list[list[Span]]:
    """The spans of the tokens of every line.

    Takes any text and is safe to call from several threads.
    """
    parsed = [[(start, line[start:end].split(" ")) for start, end in _sentences(line)] for line in lines]
    table = _inner_table({chunk for sentences in parsed for _, chunks in sentences for chunk in chunks[:-1]})
    return [[span for start, chunks in sentences for span in _spans(start, chunks, table)] for sentences in parsed]


class _NLTK(NamedTuple):
    sentences: Any
    words: Any


@cache
def _nltk() -> _NLTK:
    # Imported here because it takes 0.5 s and 20 MB, and few need it.
    from nltk import redos
    from nltk.tokenize import NLTKWordTokenizer, PunktSentenceTokenizer
    from nltk.tokenize.punkt import PunktParameters

    # NLTK gives every regular expression 5 s by the wall clock. Those used here take linear time, and whether the
    # machine is busy must not decide about tokens.
    redos.DEFAULT_TIMEOUT = None
    parameters = PunktParameters()
    parameters.abbrev_types = set(Path(__file__).with_name("abbreviations.txt").read_text("utf-8").split())
    parameters.ortho_context = Counter()  # the original grows with every word it is asked for
    splitter = PunktSentenceTokenizer(parameters)
    splitter.text_contains_sentbreak = _remembering(splitter.text_contains_sentbreak)
    return _NLTK(splitter, NLTKWordTokenizer())


def _remembering(function: Callable) -> Callable:
    """Keeps recent results for short arguments; long ones come seldom twice and would fill the memory."""
    remembered = lru_cache(maxsize=2**14)(function)
    return lambda *texts: (remembered if sum(map(len, texts)) < 100 else function)(*texts)


def _sentences(line: str) -> list[Span]:
    if _maybe_two_sentences(line):
        return list(_nltk().sentences.span_tokenize(line))
    end = len(line.rstrip())
    return [(0, end)] if end else []


def _words(text: str) -> list[Span]:
    """NLTK's tokens found again in the text: it only adds spaces and writes every `"` as two other characters."""
    spans, end = [], 0
    for token in _nltk().words.tokenize(text):
        start = end
        while text[start].isspace():
            start += 1
        end = start + (1 if text[start] == '"' else len(token))
        spans.append((start, end))
    return spans


def _moved(spans: Iterable[Span], by: int) -> list[Span]:
    return [(start + by, end + by) for start, end in spans]


# NLTK's rules for words look beyond a space only at the beginning and at the end of a sentence. So the spans inside a
# chunk depend on the chunk alone, if it is neither the first nor the last one.


def _spans(start: int, chunks: list[Chunk], table: dict[Chunk, Sequence[Span]]) -> list[Span]:
    """The spans of a sentence that starts at `start` of its line."""
    *inner, last = chunks
    if inner and _only_closers(last):
        return _moved(_words(" ".join(chunks)), start)
    known = [table[chunk] for chunk in inner]
    if inner and inner[0].startswith(('"', "''")):
        known[0] = _in_context("", inner[0], " x")
    known.append(_simple_spans(last, at_end=True) or _in_context("x " if inner else "", last, ""))

    spans = []
    for chunk, found in zip(chunks, known, strict=True):
        for begin, end in found:
            spans.append((start + begin, start + end))
        start += len(chunk) + 1
    return spans


def _inner_table(chunks: set[Chunk]) -> dict[Chunk, Sequence[Span]]:
    """The spans inside each chunk, for chunks inside a sentence."""
    table = {chunk: _simple_spans(chunk, at_end=False) for chunk in chunks}
    odd = [chunk for chunk, spans in table.items() if not spans]
    for i in range(0, len(odd), _AT_ONCE):
        some = odd[i : i + _AT_ONCE]
        table.update(zip(some, _inner_spans(some), strict=True))
    return table


def _simple_spans(chunk: Chunk, *, at_end: bool) -> Sequence[Span]:
    """The spans inside a chunk that needs no NLTK; none if it does."""
    match = _simple(chunk)
    if not match:
        return ()
    length, mark = len(chunk), match[1]
    if not mark or (mark == "." and not at_end):
        return ((0, length),)
    return ((0, length - 1), (length - 1, length))


def _inner_spans(chunks: list[Chunk]) -> list[list[Span]]:
    words = iter(_words("x " + " x ".join(chunks) + " x"))
    next(words)
    found, start = [], len("x ")
    for chunk in chunks:
        stop = start + len(chunk)
        spans = []
        for begin, end in words:
            if begin > stop:  # the "x" after the chunk
                break
            spans.append((begin - start, end - start))
        found.append(spans)
        start = stop + len(" x ")
    return found


@_remembering
def _in_context(before: str, chunk: Chunk, after: str) -> list[Span]:
    """The spans inside a chunk between neighbours, which are one word or none."""
    spans = _words(before + chunk + after)
    return _moved(spans[bool(before) : len(spans) - bool(after)], -len(before))
