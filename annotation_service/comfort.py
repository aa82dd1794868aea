"""How texts and their marks are shown to somebody who annotates: what there is to choose from."""

from collections.abc import Mapping
from typing import NamedTuple

from .inputs import Refused


class Choice(NamedTuple):
    values: tuple[str, ...]
    default: str


COMFORT = {
    "size": Choice(("s", "m", "l", "xl"), "m"),
    "spacing": Choice(("tight", "normal", "wide"), "normal"),
    "arcs": Choice(("all", "selected", "off"), "all"),
    "strength": Choice(("soft", "normal", "strong"), "normal"),
    "on_page": Choice(("1", "5", "10", "20"), "1"),  # items
}


def with_defaults(chosen: Mapping[str, str]) -> dict[str, str]:
    """A value for each choice. What is not there any more is as if it had not been chosen."""
    values = ((name, chosen.get(name), choice) for name, choice in COMFORT.items())
    return {name: value if value in choice.values else choice.default for name, value, choice in values}


def check_choice(name: str, value: str) -> None:
    if name not in COMFORT:
        raise Refused(f"There is no such choice. There are: {', '.join(COMFORT)}.")
    if value not in COMFORT[name].values:
        raise Refused(f"This is no value of “{name}”. It can be {', '.join(COMFORT[name].values)}.")
