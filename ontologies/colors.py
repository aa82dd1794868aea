"""Label colours: well separated, of equal lightness, families of one branch alike.

Computed in OKLCH (Björn Ottosson, "A perceptual color space for image processing", 2020), in which equal steps look equal.
Colours are strings ``#RRGGBB``.
"""

import math
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain, islice, product, repeat

from django import template

register = template.Library()

HEX = re.compile(r"#[0-9A-Fa-f]{6}")
GOLDEN_ANGLE = 180 * (3 - math.sqrt(5))
FIRST_HUE = 160.0
LIGHTNESS, CHROMA = 0.62, 0.12
RING = 13  # as many hues of one lightness can be told apart
JUST_NOTICEABLE = 0.02
"""A distance in OKLab below which people hardly tell two colours apart: the difference that CSS Color 4 (W3C, “Gamut Mapping”)
takes for just noticeable."""
APART = 0.03
"""The distance of automatic colours of siblings: more than just noticeable, because swatches are small and seldom side by side.
By CIEDE2000 they differ by more than 2.3, which Mahy, Van Eycken and Oosterlinck (“Evaluation of uniform color spaces”, 1994)
found just noticeable in CIELAB. Swatches and the lines under marks have the colour itself, in light and in dark."""
STEP = 0.034  # between variations of a colour, and a little more for what rounding takes away
# Steps of hue, of lightness, and of dullness, from the parent's colour; the last ones are least like it.
VARIATIONS = [
    *(((0, 1, -1)[index % 3], index % 2 * 3 + index // 6 % 3, index // 18) for index in range(36)),
    *(((2, -2)[index % 2], index // 2 % 6, index // 12) for index in range(24)),
]
DULL = 0.07  # the chroma from which the screen has all variations, whatever the hue
SEPARATE = 200
"""As many automatic colours at the top level, or below one item, can be told apart; then they come again."""


def top_level(index: int) -> str:
    """The colour of the n-th top-level item, from 0: hues a golden angle apart, lighter and darker ones when they come close."""
    return _automatic(None, index)[index % SEPARATE]


def child_of(parent: str, index: int) -> str:
    """The colour of the n-th child, from 0: about its parent's hue, a little lighter or, where that would fade, darker."""
    return _automatic(parent, index)[index % SEPARATE]


def free_child_of(parent: str | None, index: int, taken: set[str]) -> str:
    """The colour of a new child, or of a new item at the top level: the first from the n-th on that is like none of a sibling."""
    own = _automatic(parent, index)
    first = own[index % SEPARATE]
    strange = [to_oklab(color) for color in taken.difference(own)]  # those of its own are apart
    if index >= SEPARATE or not (strange or first in taken):
        return first
    every = _automatic(parent, SEPARATE - 1)
    free = [color for color in (*every[index:], *every[:index]) if color not in taken]
    apart = (color for color in free if all(math.dist(to_oklab(color), other) >= APART for other in strange))
    return next(apart, free[0] if free else first)


def separate(kept: Iterable[str], parent: str | None) -> Iterator[str]:
    """Colours for children, or for the top level, that can be told apart from those that are kept and from each other."""
    seen = [to_oklab(color) for color in kept]
    for color in _family(parent) if parent else chain(map(_of_ring, range(3 * RING)), _all()):
        place = to_oklab(color)
        if min(map(math.dist, seen, repeat(place)), default=1) >= APART:
            seen.append(place)
            yield color


def _automatic(parent: str | None, index: int) -> Sequence[str]:
    """The colours for the children of one, or for the top level, up to the n-th at least: found one after the other as they are
    asked for, and most items have few below them."""
    with _lock:
        found, others = _begun(parent)
        found.extend(islice(others, max(0, index % SEPARATE + 1 - len(found))))
    return found


_lock = threading.Lock()


@lru_cache(maxsize=1000)
def _begun(parent: str | None) -> tuple[list[str], Iterator[str]]:
    return [], separate((), parent)


def _of_ring(index: int) -> str:
    lightness = LIGHTNESS + (0, 0.08, -0.08)[index // RING % 3]
    return from_oklch(lightness, CHROMA, FIRST_HUE + index * GOLDEN_ANGLE)


def _family(parent: str) -> Iterator[str]:
    """Variations of a colour, and then all others, the nearest first."""
    lightness, chroma, hue = to_oklch(parent)
    lighter = lightness + 0.05
    if not 0.3 <= lighter <= 0.79:  # start again from the dark end: deep branches must not fade into the page
        lighter = 0.56
    away = STEP if lighter + 5 * STEP < 0.83 else -STEP
    dullest = min(max(chroma * 0.95 - STEP, 0.05), DULL)
    for turn, up, dull in VARIATIONS:
        turned = hue + turn * math.degrees(STEP / dullest)
        yield from_oklch(lighter + up * away, dullest + (0 if dull else STEP), turned)
    home = to_oklab(parent)
    yield from sorted(_all(), key=lambda color: math.dist(to_oklab(color), home))


@cache
def _all() -> Sequence[str]:
    """Colours all over the space that fade into neither page."""
    lightnesses = (0.62, 0.7, 0.54, 0.78, 0.66, 0.58, 0.74, 0.5)
    return [from_oklch(*each) for each in product(lightnesses, (0.12, 0.09, 0.06), range(0, 360, 12))]


def alike(some: Sequence[str]) -> list[list[int]]:
    """The places of those that look alike, group by group; a group holds what is like any other one in it."""
    by_lightness = sorted((to_oklab(color), place) for place, color in enumerate(some))
    groups: dict[int, list[int]] = {}
    for at, (one, place) in enumerate(by_lightness):
        for other, its_place in islice(by_lightness, at + 1, None):
            if other[0] - one[0] >= JUST_NOTICEABLE:
                break  # the others differ more, in lightness alone
            if math.dist(one, other) >= JUST_NOTICEABLE:
                continue
            mine, its = groups.get(place, [place]), groups.get(its_place, [its_place])
            if mine is not its:
                groups |= dict.fromkeys(mine + its, mine + its)
    return sorted({id(group): sorted(group) for group in groups.values()}.values())


GREYS = [(0.25, "black"), (0.5, "dark grey"), (0.75, "grey"), (0.95, "light grey"), (1.1, "white")]
HUES = [(10, "pink"), (42, "red"), (82, "orange"), (118, "yellow"), (170, "green"), (218, "teal"), (282, "blue")]
HUES += [(308, "violet"), (345, "purple"), (360, "pink")]
DARK = {"orange": "brown", "yellow": "olive"}


@register.filter("color_name")
@lru_cache(maxsize=10_000)
def name_of(color: str) -> str:
    """In plain words, such as “dark green”: by the hue and lightness in OKLCH, where the named colours of CSS have theirs."""
    lightness, chroma, hue = to_oklch(color)
    if chroma < 0.025:
        return next(name for most, name in GREYS if lightness < most)
    name = next(name for most, name in HUES if hue <= most)
    if name in DARK and lightness < 0.66:
        name, lightness = DARK[name], lightness + 0.05
    elif name == "yellow":
        lightness -= 0.3  # the purest is nearly as light as white
    return f"{'dark ' if lightness < 0.57 else 'light ' if lightness > 0.69 else ''}{name}"


def to_oklch(color: str) -> tuple[float, float, float]:
    """Lightness 0 to 1, chroma, hue in degrees."""
    lightness, a, b = to_oklab(color)
    return lightness, math.hypot(a, b), math.degrees(math.atan2(b, a)) % 360


@lru_cache(maxsize=50_000)
def to_oklab(color: str) -> tuple[float, float, float]:
    """A place in a space in which the distance between two colours tells how different they look."""
    red, green, blue = map(_LINEAR.__getitem__, bytes.fromhex(color[1:]))
    long = math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
    medium = math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
    short = math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
    lightness = 0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short
    a = 1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short
    return lightness, a, 0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short


@lru_cache(maxsize=10_000)
def from_oklch(lightness: float, chroma: float, hue: float) -> str:
    """The nearest colour that a screen can show: chroma is lowered until it fits."""
    while chroma > 0.001:
        rgb = _oklch_to_rgb(lightness, chroma, hue)
        if min(rgb) >= -0.0005 and max(rgb) <= 1.0005:
            break
        chroma -= 0.004
    else:
        rgb = _oklch_to_rgb(lightness, 0, hue)
    red, green, blue = (round(min(max(channel, 0), 1) * 255) for channel in rgb)
    return f"#{red:02X}{green:02X}{blue:02X}"


def _oklch_to_rgb(lightness: float, chroma: float, hue: float) -> tuple[float, float, float]:
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        _from_linear(4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short),
        _from_linear(-1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short),
        _from_linear(-0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short),
    )


_LINEAR = [
    channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
    for channel in (byte / 255 for byte in range(256))
]


def _from_linear(channel: float) -> float:
    if channel <= 0.0031308:
        return channel * 12.92
    return 1.055 * channel ** (1 / 2.4) - 0.055
