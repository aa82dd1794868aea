"""The items that a document brings, on their way into the database."""

from typing import Any, NamedTuple

from ..tokenising import Span, offsets_of


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

    ``found`` is where its tokens were found, or the text to search when that is asked: see `offsets`.
    """

    place: str
    original: str
    tokens: list[str]
    found: list[Span] | str | None
    external_id: str = ""
    extra_fields: dict[str, Any] = {}
    entities: "list[NewEntity] | tuple[()]" = ()
    relations: "list[NewRelation] | tuple[()]" = ()

    @property
    def offsets(self) -> list[Span] | None:
        """The places of the tokens in ``original``, half-open, in code points, or None if one does not occur in it.

        Those of a line are found only here: a dry run, which stores nothing, can do without.
        """
        return offsets_of(self.tokens, self.found) if isinstance(self.found, str) else self.found
