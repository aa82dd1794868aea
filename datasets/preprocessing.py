"""Preprocessing: the registry of operations that turn lines of text into the items of a dataset.

The order is that of the registry. The original line is kept beside the tokens, and offsets lead from each token back into it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

from django import forms
from django.db import models

from .kinds import DatasetKind
from .portions import portions
from .tokenising import TOKENISERS, Span, offsets_of

# Fewer calls of the tokeniser than line by line.
_BATCH_LINES = 200
_BATCH_CHARACTERS = 1_000_000


class Prepared(NamedTuple):
    """A line that became an item."""

    original: str
    tokens: list[str]
    found: list[Span] | str
    """Where the tokens stand in the original: for every token, `clean(original[start:end])` is the token. Or the cleaned
    line, if each of its characters stands where the original has it: `offsets_of(tokens, found)` are the places then."""
    number: int
    """Of the line."""


class SameText(models.TextChoices):
    """How a text is that of another: in each character, or with runs of white space taken for one space."""

    IDENTICAL = "identical", "identical ones"
    SPACING = "spacing", "also those that are the same but for white space"


@dataclass(slots=True)
class Counts:
    """What `Preprocessing.prepare` has met so far; complete when its iterator is exhausted."""

    lines: int = 0
    identical: int = 0
    respaced: int = 0
    """The same as another text but for white space."""
    duplicates: int = 0
    """Those of the two that were dropped."""
    empty: int = 0
    """Lines left without a token."""
    items: int = 0
    tokens: int = 0

    def add_same(self, same: SameText | None) -> None:
        self.identical += same == SameText.IDENTICAL
        self.respaced += same == SameText.SPACING


@dataclass(frozen=True, slots=True)
class Operation:
    """What can be chosen for lines of text. Its name is that of a field of `Preprocessing`, of the form and, with dashes, of an
    option of the command. ``trade_off`` tells people what they win and lose.

    ``apply(text, value)`` changes the text. ``origins(text, value)`` tells for each character of the result at which place of the
    text it was, by default from what becomes of each character alone. It is asked only for lines with one of the characters
    ``moving(value)``, by default for all: others are replaced by one character each, whatever their neighbours. None turns
    white space into something else, nor the other way round: `CleanedText` has the spacing of the original.
    """

    label: str
    trade_off: str
    field: Callable[[], forms.Field]
    option: Mapping[str, Any]
    in_words: Callable[[Any], str]
    apply: Callable[[str, Any], str] | None = None
    moving: Callable[[Any], str] | None = None
    origins: Callable[[str, Any], list[int]] | None = None

    def origins_of(self, text: str, value: Any) -> list[int]:
        if self.origins:
            return self.origins(text, value)
        assert self.apply
        return [place for place, char in enumerate(text) for _ in self.apply(char, value)]


def operation(default: Any, **operation: Any) -> Any:
    return field(default=default, metadata={"operation": Operation(**operation)})


class _CharactersField(forms.CharField):
    def clean(self, value: Any) -> str:
        """Each character once, in the order typed."""
        return "".join(dict.fromkeys(super().clean(value)))


@lru_cache(maxsize=100)
def _removal(characters: str) -> dict[int, None]:
    return dict.fromkeys(map(ord, characters))


def _printable(characters: str) -> str:
    return "".join(char if char.isprintable() else f" U+{ord(char):04X} " for char in characters)


@dataclass(frozen=True, slots=True)
class Preprocessing:
    """The operations chosen for a dataset, in the order in which they are applied."""

    remove_characters: str = operation(
        "",
        label="Remove characters",
        trade_off="Takes out each character that you type here. Meaningful ones can be lost: hyphens, periods and slashes can"
        " belong to words.",
        field=lambda: _CharactersField(
            required=False, strip=False, max_length=200, widget=forms.TextInput(attrs={"placeholder": "such as *#|"})
        ),
        option={"default": "", "metavar": "CHARS"},
        in_words=lambda characters: f"removed “{_printable(characters)}”",
        apply=lambda text, characters: text.translate(_removal(characters)),
        moving=str,
    )
    lowercase: bool = operation(
        False,
        label="Lower-case the text",
        trade_off="“Pump” and “pump” become the same word. Distinctions can be lost: proper nouns and acronyms look like other"
        " words.",
        field=lambda: forms.BooleanField(required=False),
        option={"action": "store_true"},
        in_words=lambda _: "lower-cased",
        apply=lambda text, _: text.lower(),
        # The only character that becomes two, and the only one whose lower case depends on its neighbours.
        moving=lambda _: "İΣ",
    )
    remove_duplicates: str = operation(
        "",
        label="Remove duplicates",
        trade_off="Of lines with the same content, after the other clean-up, only the first stays. Items whose meaning depends on"
        " their context can be lost.",
        field=lambda: forms.ChoiceField(required=False, choices=[("", "none"), *SameText.choices]),
        option={
            "nargs": "?",
            "const": SameText.IDENTICAL.value,
            "default": "",
            "choices": SameText.values,
            "help": "those that are identical (if nothing else is said), or the same but for white space",
        },
        in_words=lambda same: {
            SameText.IDENTICAL: "identical duplicates removed",
            SameText.SPACING: "duplicates removed that are the same but for white space",
        }[same],
    )
    tokeniser: str = operation(
        "whitespace",
        label="Cut into tokens",
        trade_off="",
        field=lambda: forms.ChoiceField(choices=[(name, name) for name in TOKENISERS], initial="punkt"),
        option={"choices": list(TOKENISERS), "default": "punkt", "help": "for lines of text"},
        in_words=lambda name: TOKENISERS[name].in_words,
    )

    def __post_init__(self) -> None:
        if self.tokeniser not in TOKENISERS:
            raise ValueError(f"There is no tokeniser “{self.tokeniser}”.")
        if self.remove_duplicates not in ("", *SameText.values):
            raise ValueError(f"Duplicates are not “{self.remove_duplicates}”.")

    @classmethod
    def of(cls, values: Mapping[str, Any], kind: DatasetKind) -> "Preprocessing":
        """Those chosen in a form or for an upload, among its other fields. Only standard datasets have more than a tokeniser."""
        names = OPERATIONS if kind == DatasetKind.STANDARD else ("tokeniser",)
        return cls(**{name: values[name] for name in names if name in values})

    def chosen(self) -> list[tuple[Operation, Any]]:
        """The operations with their values, in the order in which they are applied."""
        values = ((operation, getattr(self, name)) for name, operation in OPERATIONS.items())
        return [(operation, value) for operation, value in values if value]

    def operations(self) -> list[str]:
        """The operations in the order in which they are applied, in words for a page."""
        return [operation.in_words(value) for operation, value in self.chosen()]

    def clean(self, text: str) -> str:
        """The text as the operations leave it."""
        for name, apply in TEXT_OPERATIONS.items():
            if value := getattr(self, name):
                text = apply(text, value)
        return text

    def prepare(
        self, lines: Iterable[tuple[int, str]], counts: Counts, known: Iterable[str] = ()
    ) -> Iterator[Prepared]:
        """Yields an item for every numbered line that stays, in order, and keeps `counts` up to date.

        Lazy: the lines are read in batches, and of those read before only 16 bytes each are remembered, if duplicates are to be
        removed, those of the `known` lines included. Blank lines count as empty, never as duplicates.
        """
        seen = SeenTexts(map(self.clean, known)) if self.remove_duplicates else None
        dropped = {SameText.IDENTICAL, self.remove_duplicates}
        changes = any(operation.apply for operation, _ in self.chosen())
        for batch in portions(lines, lambda line: len(line[1]), most=_BATCH_LINES, heaviest=_BATCH_CHARACTERS):
            kept = []
            for number, line in batch:
                cleaned = self.clean(line) if changes else line
                same = seen.add(cleaned) if seen else None
                counts.add_same(same)
                if same not in dropped:
                    kept.append((number, line, cleaned))
            counts.lines += len(batch)
            counts.duplicates += len(batch) - len(kept)
            yield from self._items(kept, counts)

    def _items(self, kept: list[tuple[int, str, str]], counts: Counts) -> Iterator[Prepared]:
        moves = _search_of_moving(self)
        tokens_of_each = TOKENISERS[self.tokeniser].cut([cleaned for _, _, cleaned in kept])
        for (number, original, cleaned), tokens in zip(kept, tokens_of_each, strict=True):
            if not tokens:
                counts.empty += 1
                continue
            found: list[Span] | str = cleaned
            if moves and moves(original):
                found = self._spans_in_original(original, offsets_of(tokens, cleaned) or [])
                tokens = [self.clean(original[start:end]) for start, end in found]
            counts.items += 1
            counts.tokens += len(tokens)
            yield Prepared(original, tokens, found, number)

    def _spans_in_original(self, original: str, spans: list[Span]) -> list[Span]:
        """Map spans of a cleaned line to the original line.

        One character can become two (“İ”). Tokens that both begin or end inside it are made one.
        """
        origins, text = list(range(len(original))), original
        for operation, value in self.chosen():
            if operation.apply:
                origins = [origins[place] for place in operation.origins_of(text, value)]
                text = operation.apply(text, value)
        found: list[Span] = []
        for start, end in spans:
            start, end = origins[start], origins[end - 1] + 1
            if found and start < found[-1][1]:
                start, _ = found.pop()
            found.append((start, end))
        return found


OPERATIONS: dict[str, Operation] = {each.name: each.metadata["operation"] for each in fields(Preprocessing)}
TEXT_OPERATIONS = {name: operation.apply for name, operation in OPERATIONS.items() if operation.apply}


class SeenTexts:
    """Tells of each text whether it is that of one before. Blank texts never are."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._texts: set[bytes] = set()
        self._keys: set[bytes] = set()
        for text in known:
            self.add(text)

    @staticmethod
    def key_of(text: str) -> bytes:
        """The same for texts that are the same but for white space."""
        return _digest(" ".join(text.split()))

    def add(self, text: str) -> SameText | None:
        if not text or text.isspace():
            return None
        digest, spaced = _digest(text), " ".join(text.split())
        key = digest if spaced == text else self.key_of(text)
        same = SameText.SPACING if key in self._texts or key in self._keys else None
        if digest in self._texts:
            same = SameText.IDENTICAL
        self._texts.add(digest)
        if key != digest:  # most are the same, and not kept twice: 50 MB less for 500,000 texts
            self._keys.add(key)
        return same


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@lru_cache(maxsize=100)
def _search_of_moving(preprocessing: Preprocessing) -> Callable[[str], re.Match[str] | None] | None:
    """Search a line for characters that make it necessary to map offsets."""
    moving = ""
    for operation, value in preprocessing.chosen():
        if operation.apply:
            if operation.moving is None:
                return re.compile("").search
            moving += operation.moving(value)
    return re.compile(f"[{re.escape(moving)}]").search if moving else None
