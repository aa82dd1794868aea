"""Tokens by NLTK's Punkt sentence splitter and NLTK's word tokeniser.

Punkt (Kiss and Strunk 2006, "Unsupervised Multilingual Sentence Boundary Detection") usually learns abbreviations from
text. Here it only gets those of `abbreviations.txt`, so that a line has the same tokens wherever it stands.

`tokenise` gives the same as these two steps one after the other: 100,000 lines in 1.7 s instead of 33 s.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

Span = tuple[int, int]
"""Start and end of a token or sentence in its line: half-open, in code points."""

Chunk = str
"""What stands between two spaces of a sentence."""

_AT_ONCE = 1000
"""Chunks in one call of NLTK, whose costs are mostly per call."""

# A sentence ends at one of these characters before white space, a bracket, a quote ...: never before a letter.
_maybe_two_sentences = re.compile(r"[.?!]\W").search

# Word characters and perhaps one mark, except the words that NLTK splits. No other rule of NLTK's touches these.
_simple = re.compile(r"(?!(?:cannot|gimme|gonna|gotta|lemme|wanna)\b)[^\W_]+([,;:?!).]?)", re.IGNORECASE).fullmatch

# Inside a word it is an apostrophe, which NLTK knows only as it is typed: “don’t” is cut as “don't” is.
_typeset_apostrophe = re.compile(r"(?<=\w)’(?=\w)")

# What NLTK lets stand between the last full stop and the end of a sentence.
_only_closers = re.compile(r"[\])}>\"'»”’\s]*").fullmatch


def tokenise(lines: Sequence[str]) -> list[list[str]]:
    """The tokens of every line.

    Takes any text and is safe to call from several threads.
    """
    typed = [_typeset_apostrophe.sub("'", line) if "’" in line else line for line in lines]
    parsed = [[line[start:end].split(" ") for start, end in _sentences(line)] for line in typed]
    table = _inner_table({chunk for sentences in parsed for chunks in sentences for chunk in chunks[:-1]})
    found = [[token for chunks in sentences for token in _tokens(chunks, table)] for sentences in parsed]
    return [
        tokens if line is original else list(_as_written(tokens, original))
        for tokens, line, original in zip(found, typed, lines, strict=True)
    ]


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


def _words(text: str) -> list[str]:
    return list(_as_written(_nltk().words.tokenize(text), text))


def _as_written(tokens: list[str], text: str) -> Iterator[str]:
    """The tokens as they stand in the text, in which they have the same lengths and nothing but white space between them; NLTK
    writes a `"` as two other characters."""
    end = 0
    for token in tokens:
        start = end
        while text[start].isspace():
            start += 1
        end = start + (1 if text[start] == '"' else len(token))
        yield text[start:end]


# NLTK's rules for words look beyond a space only at the beginning and at the end of a sentence. So the tokens inside a
# chunk depend on the chunk alone, if it is neither the first nor the last one.


def _tokens(chunks: list[Chunk], table: dict[Chunk, Sequence[str]]) -> list[str]:
    """The tokens of a sentence."""
    *inner, last = chunks
    if inner and _only_closers(last):
        return _words(" ".join(chunks))
    if inner and inner[0].startswith(('"', "''")):
        tokens = [*_in_context("", inner[0], " x"), *chain.from_iterable(map(table.__getitem__, inner[1:]))]
    else:
        tokens = list(chain.from_iterable(map(table.__getitem__, inner)))
    tokens += _simple_tokens(last, at_end=True) or _in_context("x " if inner else "", last, "")
    return tokens


def _inner_table(chunks: set[Chunk]) -> dict[Chunk, Sequence[str]]:
    """The tokens of each chunk, for chunks inside a sentence."""
    table = {chunk: _simple_tokens(chunk, at_end=False) for chunk in chunks}
    odd = [chunk for chunk, tokens in table.items() if not tokens]
    for i in range(0, len(odd), _AT_ONCE):
        some = odd[i : i + _AT_ONCE]
        table.update(zip(some, _inner_tokens(some), strict=True))
    return table


def _simple_tokens(chunk: Chunk, *, at_end: bool) -> Sequence[str]:
    """The tokens of a chunk that needs no NLTK; none if it does."""
    match = _simple(chunk)
    if not match:
        return ()
    mark = match[1]
    if not mark or (mark == "." and not at_end):
        return (chunk,)
    return (chunk[:-1], mark)


def _inner_tokens(chunks: list[Chunk]) -> list[list[str]]:
    words = iter(_words("x " + " x ".join(chunks) + " x"))
    next(words)
    found = []
    for chunk in chunks:
        tokens, missing = [], len("".join(chunk.split()))
        while missing > 0:
            tokens.append(next(words))
            missing -= len(tokens[-1])
        next(words)  # the "x" after the chunk
        found.append(tokens)
    return found


@_remembering
def _in_context(before: str, chunk: Chunk, after: str) -> list[str]:
    """The tokens of a chunk between neighbours, which are one word or none."""
    words = _words(before + chunk + after)
    return words[bool(before) : len(words) - bool(after)]
