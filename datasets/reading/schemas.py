"""The published JSON Schemas of the upload formats, and a filled example of each."""

from functools import cache
from pathlib import Path
from typing import Any

from annotation_service.schemas import Checker, load

from ..kinds import Kind

SCHEMAS = Path(__file__).parent.parent / "schemas"


def schema(kind: Kind) -> dict[str, Any]:
    """The schema of a whole document of the kind; a standard dataset is text and has none."""
    return load(SCHEMAS / f"{kind}.json")


def example(kind: Kind) -> str:
    """A short document of the kind, as it can be uploaded."""
    return (SCHEMAS / example_name(kind)).read_text("utf-8")


def example_name(kind: Kind) -> str:
    return f"{kind}.example.{'txt' if kind == Kind.STANDARD else 'json'}"


@cache
def item_checker(kind: Kind) -> Checker:
    """Checks one item of a document."""
    return Checker({"$ref": "#/$defs/item", "$defs": schema(kind)["$defs"]})
