"""Which texts look alike, and which mix scripts: Unicode's “Security Mechanisms” (UTS 39), by data of confusable-homoglyphs."""

import unicodedata
from functools import cache

from confusable_homoglyphs.categories import unique_aliases
from confusable_homoglyphs.utils import load

# What may stand together: the restriction level “Highly Restrictive”.
MIXES = (
    {"LATIN", "HAN", "HIRAGANA", "KATAKANA"},
    {"LATIN", "HAN", "BOPOMOFO"},
    {"LATIN", "HAN", "HANGUL"},
)


def mixed_scripts(text: str) -> list[str]:
    """The scripts of a text that do not belong together, by name; none if they do."""
    scripts = unique_aliases(text) - {"COMMON", "INHERITED"}
    belong = len(scripts) < 2 or any(scripts <= mix for mix in MIXES)
    return [] if belong else sorted(script.replace("_", " ").title() for script in scripts)


def drawn(text: str) -> str:
    """The skeleton of a text: the same for all that look like it, in this case of letters."""
    signs = (_prototypes().get(sign, sign) for sign in unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFD", "".join(signs))


@cache
def _prototypes() -> dict[str, str]:
    """What signs look like. The data lists for each what it looks like and, later, for that all that look like it; what is
    written from right to left stands between marks of that."""
    found: dict[str, str] = {}
    prototypes = set()
    for sign, alike in load("confusables.json").items():
        if sign not in prototypes:
            prototype = alike[0]["c"]
            prototypes.add(prototype)
            found[sign.strip("\u200e")] = prototype.strip("\u200e")
    return found
