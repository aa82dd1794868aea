"""The items that a document brings, on their way into the database."""

from typing import Any, NamedTuple

from ..tokenisers import Span


class NewEntity(NamedTuple):
    """A span of tokens, ``start`` to ``end`` inclusive, counted from 0. ``label`` is the key of an ontology's item."""

    uid: str
    label: int
    start: int
    end: int


class NewRelation(NamedTuple):
    """``source`` and ``target`` are the uids of two entities of the same item; ``label`` is the key of an ontology's item."""

    uid: str
    label: int
    source: str
    target: str


class NewItem(NamedTuple):
    """``place`` says where it stands in its document: “line 7”, “item 5”.

    ``offsets`` are the places of the tokens in ``original``, half-open, in code points, or None if one does not occur in it.
    """

    place: str
    original: str
    tokens: list[str]
    offsets: list[Span] | None
    external_id: str = ""
    extra_fields: dict[str, Any] = {}
    entities: "list[NewEntity] | tuple[()]" = ()
    relations: "list[NewRelation] | tuple[()]" = ()
