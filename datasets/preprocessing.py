"""What happens to lines of text on their way to becoming the items of a dataset.

The order is fixed: characters are removed, text is lower-cased, duplicates are dropped, the rest is cut into tokens.
The line as it came is kept beside the tokens, and offsets lead from each token back into it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from hashlib import blake2b
from itertools import count
from typing import Any, NamedTuple

from datasets.tokenising import TOKENISERS, Span, offsets_of

_BATCH_LINES = 200
_BATCH_CHARACTERS = 1_000_000


class Prepared(NamedTuple):
    """A line that became an item."""

    original: str
    tokens: list[str]
    found: list[Span] | str
    """Where the tokens stand in the original: for every token, `clean(original[start:end])` is the token. Or the cleaned
    line, if each of its characters stands where the original has it: `offsets_of(tokens, found)` are the places then."""
    line: int
    """Index of the line among those that came in, from 0."""


@dataclass(slots=True)
class Counts:
    """What `Preprocessing.prepare` has met so far; complete when its iterator is exhausted."""

    lines: int = 0
    duplicates: int = 0
    empty: int = 0
    """Lines left without a token."""
    items: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Preprocessing:
    """The operations chosen for a dataset. `tokeniser` is a key of `TOKENISERS`; any other is a `ValueError`."""

    lowercase: bool = False
    remove_characters: str = ""
    remove_duplicates: bool = False
    tokeniser: str = "whitespace"

    def __post_init__(self) -> None:
        if self.tokeniser not in TOKENISERS:
            raise ValueError(f"There is no tokeniser “{self.tokeniser}”.")

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Preprocessing":
        """The reverse of `as_json`. Absent keys get their defaults; a key that is unknown is a `TypeError`."""
        return cls(**value)

    def operations(self) -> list[str]:
        """The operations in the order they are done, in words for a page."""
        removed = "".join(char if char.isprintable() else f" U+{ord(char):04X} " for char in self.remove_characters)
        done = {
            f"removed “{removed}”": self.remove_characters,
            "lower-cased": self.lowercase,
            "duplicates removed": self.remove_duplicates,
            f"{self.tokeniser.replace('punkt', 'Punkt')} tokens": True,
        }
        return [name for name, is_done in done.items() if is_done]

    def clean(self, text: str) -> str:
        """The text without the characters to remove, then in lower case."""
        if self.remove_characters:
            text = text.translate(_removal(self.remove_characters))
        return text.lower() if self.lowercase else text

    def prepare(self, lines: Iterable[str], counts: Counts, known: Iterable[str] = ()) -> Iterator[Prepared]:
        """Yields an item for every line that stays, in order, and keeps `counts` up to date.

        Lazy: the lines are read in batches, and of those read before only 16 bytes each are remembered, if duplicates
        are to be removed, those of the `known` lines included. Blank lines count as empty, never as duplicates.
        """
        is_new = _first_sight(map(self.clean, known)) if self.remove_duplicates else None
        changes = self.remove_characters or self.lowercase
        numbers = count()
        for batch in _batches(lines):
            cleaned = [self.clean(line) for line in batch] if changes else batch
            kept = list(zip(batch, numbers, cleaned, strict=False))
            if is_new:
                kept = [line for line in kept if is_new(line[2])]
            counts.lines += len(batch)
            counts.duplicates += len(batch) - len(kept)
            yield from self._items(kept, counts)

    def _items(self, kept: list[tuple[str, int, str]], counts: Counts) -> Iterator[Prepared]:
        moves = _moving_characters(self.remove_characters, self.lowercase)
        tokens_of_each = TOKENISERS[self.tokeniser]([cleaned for _, _, cleaned in kept])
        for (original, number, cleaned), tokens in zip(kept, tokens_of_each, strict=True):
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
        """Where the spans of a cleaned line stand in the line as it came.

        One character can become two (“İ”). Tokens that both begin or end inside it are made one.
        """
        origins = [i for i, char in enumerate(original) if char not in self.remove_characters]
        if self.lowercase:
            origins = [i for i in origins for _ in original[i].lower()]
        found: list[Span] = []
        for start, end in spans:
            start, end = origins[start], origins[end - 1] + 1
            if found and start < found[-1][1]:
                start, _ = found.pop()
            found.append((start, end))
        return found


class Stats(NamedTuple):
    items: int
    tokens: int
    words: int
    """Distinct tokens."""


class PreviewRow(NamedTuple):
    original: str
    cleaned: str
    tokens: list[str]
    dropped: str
    """Why the line becomes no item: "duplicate", "empty", or "" if it becomes one."""


@dataclass(slots=True)
class Preview:
    """`before`: the lines as they came, cut at white space; `after`: with the operations done."""

    before: Stats
    after: Stats
    rows: list[PreviewRow] = field(default_factory=list)


def preview(text_lines: Sequence[str], preprocessing: Preprocessing, rows: int = 20) -> Preview:
    """What the operations do to all lines in figures, and to the first `rows` lines in full."""
    tokens_of: dict[int, list[str]] = {}

    def remembered(items: Iterable[Prepared]) -> Iterator[Prepared]:
        for item in items:
            if item.line < rows:
                tokens_of[item.line] = item.tokens
            yield item

    def row(number: int, original: str) -> PreviewRow:
        cleaned = preprocessing.clean(original)
        tokens = tokens_of.get(number, [])
        dropped = "" if tokens else "empty" if _is_blank(cleaned) else "duplicate"
        return PreviewRow(original, cleaned, tokens, dropped)

    before = _stats(Preprocessing().prepare(text_lines, Counts()))
    after = _stats(remembered(preprocessing.prepare(text_lines, Counts())))
    return Preview(before, after, [row(number, original) for number, original in enumerate(text_lines[:rows])])


def _stats(items: Iterable[Prepared]) -> Stats:
    words: set[str] = set()
    item_count = token_count = 0
    for item in items:
        item_count += 1
        token_count += len(item.tokens)
        words.update(item.tokens)
    return Stats(item_count, token_count, len(words))


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


def _first_sight(known: Iterable[str]) -> Callable[[str], bool]:
    """A function that tells whether it is given a text for the first time. To it blank texts are always new."""
    seen: set[bytes] = set()

    def is_new(text: str) -> bool:
        words = " ".join(text.split())
        digest = blake2b(words.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if words and digest in seen:
            return False
        seen.add(digest)
        return True

    for text in known:
        is_new(text)
    return is_new


def _batches(lines: Iterable[str]) -> Iterator[list[str]]:
    """Lists of lines that are long enough to be worth a call, and short enough for the memory."""
    batch: list[str] = []
    characters = 0
    for line in lines:
        batch.append(line)
        characters += len(line)
        if len(batch) >= _BATCH_LINES or characters >= _BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


@lru_cache(maxsize=100)
def _removal(characters: str) -> dict[int, None]:
    return dict.fromkeys(map(ord, characters))


@lru_cache(maxsize=100)
def _moving_characters(remove_characters: str, lowercase: bool) -> Callable[[str], re.Match[str] | None] | None:
    """Searches a line for characters that make its cleaning more than a change of one character into another.

    These are the removed ones and, in lower case, “İ”, the only one that becomes two, and “Σ”, the only one whose
    lower case depends on its neighbours.
    """
    moving = remove_characters + ("İΣ" if lowercase else "")
    return re.compile(f"[{re.escape(moving)}]").search if moving else None
