"""Finding labels by what people type: several words, parts of CamelCase names, parts of a path, with one typing error at need."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property

_LONG_ENOUGH = 4
"""Letters of a word from which a typing error is looked for: with fewer, too many words are like it."""
_PARTS = re.compile(r"[A-Z]?[^\W\dA-Z_]+|[A-Z]+|\d+")


def words_of(text: str) -> list[str]:
    """The words that are looked for, as they were typed."""
    return unicodedata.normalize("NFC", text).replace("/", " ").split()


def rank(text: str, name: str) -> int:
    """How well a name fits a text, best first: it is the text, or its initials are, or begin with it; it begins with it, one of
    its parts does, its initials have it in a row, it contains it, or none of these."""
    last = unicodedata.normalize("NFC", text).strip().rpartition("/")[2].strip()
    wanted, folded = last.casefold(), name.casefold()
    initials = _initials(name) if len(last) > 1 and all(map(str.isupper, last)) else ""
    if folded == wanted:
        return 0
    if initials and initials == last:
        return 1
    if initials and initials.startswith(last):
        return 2
    if folded.startswith(wanted):
        return 3
    if any(part.casefold().startswith(wanted) for part in _PARTS.findall(name)):
        return 4
    if initials and last in initials:
        return 5
    return 6 if wanted in folded else 7


def _initials(name: str) -> str:
    """Of “SensingObject” and of “sensing object”: “SO”."""
    return "".join(
        letter.upper()
        for before, letter in zip(" " + name, name, strict=False)
        if letter.isupper() or (letter.isalnum() and not before.isalnum())
    )


class Index:
    """Texts in tree order: the name of each, all its text, and the place of the one above it."""

    def __init__(self, names: Sequence[str], texts: Iterable[str], above: Sequence[int | None]) -> None:
        self.names, self.above = names, above
        self.texts = [text.casefold() for text in texts]

    def find(self, text: str, *, exact: bool = False) -> list[int]:
        """The places of those that are meant; only if there are none, and not ``exact``, of those that are meant but for one
        typing error."""
        text = unicodedata.normalize("NFC", text).strip()
        if not words_of(text):
            return []
        if (found := self._find(text)) or exact:
            return sorted(found)
        unknown = [word for word in words_of(text) if not self._with_word(word, self.texts, False)]
        return sorted(self._find(text, wrong=unknown[0])) if len(unknown) == 1 else []

    def _find(self, text: str, *, wrong: str = "") -> set[int]:
        *path, last = text.lstrip("/").split("/")
        found = self._with_words(last, self.texts, wrong)
        if path:
            below: set[int] | None = None
            for part in path:
                here = self._with_words(part, self._folded_names, wrong)
                below = self._below(here if below is None else here & below)
            found &= below or set()
            found |= self._with_words(text, self.texts) if not text.endswith("/") else set()
        return found

    def _with_words(self, text: str, texts: list[str], wrong: str = "") -> set[int]:
        found = set(range(len(self.names)))
        for word in text.split():
            found &= self._with_word(word, texts, word == wrong)
        return found

    def _with_word(self, word: str, texts: list[str], nearly: bool) -> set[int]:
        folded = word.casefold()
        found = {place for place, text in enumerate(texts) if folded in text}
        if pattern := _camel_case(word):
            found |= {place for place, name in enumerate(self.names) if pattern.search(name)}
        if nearly and len(folded) >= _LONG_ENOUGH:
            found = {place for part, places in self._parts.items() if is_nearly(folded, part) for place in places}
        return found

    def _below(self, above: set[int]) -> set[int]:
        found: set[int] = set()
        for place, parent in enumerate(self.above):
            if parent is not None and (parent in above or parent in found):
                found.add(place)
        return found

    @cached_property
    def _folded_names(self) -> list[str]:
        return [name.casefold() for name in self.names]

    @cached_property
    def _parts(self) -> dict[str, list[int]]:
        """The words and parts of names, and whole names, with their places. Many names share their parts."""
        places: dict[str, list[int]] = defaultdict(list)
        for place, name in enumerate(self.names):
            for part in {name.casefold(), *map(str.casefold, _PARTS.findall(name))}:
                places[part].append(place)
        return places


def _camel_case(word: str) -> re.Pattern[str] | None:
    """For “SenObj” or “SO” what finds “SensingObject” and “sensing object”: each part begins where a part of the name does."""
    parts = [part for part in re.split(r"(?=[^\W\d_a-z])", word) if part]
    if len(parts) < 2 or not all(part[0].isupper() for part in parts):
        return None
    first, *others = (
        rf"(?:{re.escape(p[0])}|(?<![^\W_]){re.escape(p[0].lower())})(?i:{re.escape(p[1:])})" for p in parts
    )
    # Each stands as early as it can and stays there: to try the other places takes for ever where capitals are many.
    return re.compile(first + "".join(f"(?>.*?{part})" for part in others))


def is_nearly(typed: str, word: str) -> bool:
    """Whether a word begins like what was typed but for one letter that is wrong, missing, too many, or swapped with the next."""
    at = 0
    for one, other in zip(typed, word, strict=False):
        if one != other:
            break
        at += 1
    return (
        word.startswith(typed[at:], at + 1)
        or word.startswith(typed[at + 1 :], at)
        or word.startswith(typed[at + 1 :], at + 1)
        or (word[at : at + 2] == typed[at : at + 2][::-1] and word.startswith(typed[at + 2 :], at + 2))
    )
