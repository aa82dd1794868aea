"""How figures and parts of texts are written, on pages and in messages alike."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

NARROW_SPACE = "\u202f"


def number(value: int | None) -> str:
    """12408 -> "12 408", with a narrow space that does not break."""
    return "" if value is None or value == "" else f"{int(value):,}".replace(",", NARROW_SPACE)


def plural(value: int | None, forms: str) -> str:
    """1, "item,items" -> "1 item"; 12408 -> "12 408 items"."""
    one, _, many = forms.partition(",")
    count = int(value or 0)
    return f"{number(count)} {one if count == 1 else many or one + 's'}"


def size(value: int | None) -> str:
    """Bytes -> "340 bytes", "12 kB", "5 MB", "105.9 MB"."""
    amount = int(value or 0)
    if amount < 1000:
        return plural(amount, "byte,bytes")
    if amount < 999_500:
        return f"{round(amount / 1000)} kB"
    return f"{round(amount / 1_000_000, 1):g} MB"


def cut(text: str, length: int) -> str:
    """The text itself or, if it is longer, its beginning with an ellipsis."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def listed(parts: Iterable[str], most: int = 5) -> str:
    """Parts as in a sentence: “a, b and c”, or the first ones and how many more there are."""
    shown = list(parts)
    if len(shown) > most:
        return f"{', '.join(shown[:most])} and {number(len(shown) - most)} more"
    return " and ".join(part for part in (", ".join(shown[:-1]), *shown[-1:]) if part)


def added_and_dropped(before: Sequence[str], after: Sequence[str]) -> str:
    """What was added to a list and what was dropped: “+ a, − b and c”."""
    sides = {"+": [each for each in after if each not in before], "−": [each for each in before if each not in after]}
    return ", ".join(f"{sign} {listed(some)}" for sign, some in sides.items() if some) or "in another order"


class Difference(NamedTuple):
    """What stands before and after a place in a text, and what was there and is there now."""

    start: str
    before: str
    after: str
    end: str


def difference(before: str, after: str, *, around: int = 30, most: int = 120) -> Difference:
    """The words that differ between two texts, with at most so many characters around them, cut to at most so many themselves."""
    old, new = (re.findall(r"\s*\S+", text) for text in (before, after))
    start = next(
        (at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), min(len(old), len(new))
    )
    rest = zip(reversed(old[start:]), reversed(new[start:]), strict=False)
    end = next((at for at, (one, other) in enumerate(rest) if one != other), min(len(old), len(new)) - start)
    head, tail = "".join(old[:start]), "".join(old[len(old) - end :])
    gone, come = ("".join(some[start : len(some) - end]).strip() for some in (old, new))
    head = head if len(head) <= around else f"…{head[-around:]}"
    return Difference(head, cut(gone, most), cut(come, most), cut(tail, around).strip())


class Excerpt(NamedTuple):
    before: str
    match: str
    after: str


def excerpt(text: str, wanted: str, *, before: int | None = None, after: int | None = None) -> Excerpt | None:
    """A text around the first place where it contains another, in any case; at most so many characters before and after it."""
    folded, wanted = text.casefold(), wanted.casefold().strip()
    start = folded.find(wanted)
    if start < 0 or not wanted:
        return None
    end = start + len(wanted)
    # Folding may lengthen a text (“ß”): find the characters that the folded ones come from.
    if len(folded) != len(text):
        origins = [i for i, char in enumerate(text) for _ in char.casefold()]
        start, end = origins[start], origins[end - 1] + 1
    head, tail = text[:start], text[end:]
    if before is not None and len(head) > before:
        head = f"…{head[-before:]}"
    return Excerpt(head, text[start:end], tail if after is None else cut(tail, after))
