"""The journal of an ontology: what every operation changed, and how it is taken back.

An operation is taken back by another row that stores the opposite; ``undone_by`` of the first points to it. Taking back an undo
(that is what a redo does) makes the operation stand again, and so on: such rows form a chain, each the opposite of the one
before, and only the last of them can be taken back next. A row stands if an even number of rows follows it in its chain.

What is undone or redone next follows from the rows alone: a user's undo takes back their newest row that stands and is no undo;
a redo their newest undo that stands and is newer than their last operation that is neither undo nor redo.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from django.conf import settings
from django.db import connection, models
from django.db.models import Q, QuerySet, UniqueConstraint
from django.utils import timezone

from annotation_service.db import execute
from annotation_service.inputs import Refused
from annotation_service.models import User

from ..tree import ROOT_UID, NewBranch
from .inverse import FACTS, Inverse, LaterChange
from .item import OntologyItem, Setting
from .steps import Step, names, steps

if TYPE_CHECKING:
    from .ontology import Ontology

_FEW = 20


class OntologyChange(models.Model):
    """One operation.

    ``items`` is ``{uid: [before, after]}`` with the changed fields only; ``before`` is null for a new item, ``after`` for one
    that was removed by undoing its addition. A place in the tree is ``parent`` (a uid, null at the top) and ``position``, the
    index among the siblings. The creation from a file stores only its ``count``.
    """

    ontology = models.ForeignKey(
        "ontologies.Ontology", on_delete=models.RESTRICT, related_name="changes", db_index=False
    )
    version = models.PositiveIntegerField()
    verb = models.CharField(max_length=30)
    items = models.JSONField(default=dict)
    count = models.PositiveIntegerField(default=0)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()
    undone_by = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="undoes")

    class Meta:
        ordering = ["-version"]
        constraints = [UniqueConstraint(fields=["ontology", "version"], name="ontologychange_version")]

    def __str__(self) -> str:
        return f"{self.verb} ({self.count})"

    # --- Reading ---

    @property
    def stem(self) -> str:
        """What was done, undone or done again: the verb without “undo”, “redo”, “revert” and “restore”."""
        return _split(self.verb)[1]

    @property
    def takes_back(self) -> bool:
        """Whether the row does the opposite of its stem."""
        prefixes = _split(self.verb)[0]
        return sum(prefix in ("undo", "revert") for prefix in prefixes) % 2 == 1

    @property
    def stands(self) -> bool:
        """Whether its effect is in force."""
        return len(_chain(self.pk, _links(self.ontology))) % 2 == 1

    def in_words(self) -> str:
        """Such as “rename “Pump” by alice on 3 May 2024, 10:20 UTC”."""
        steps = self.steps(limit=1)
        what = f" “{steps[0].name}”" if self.count == 1 and steps else f" {self.count:,} items"
        return f"{self.verb}{what} by {self.user} on {self.at:%-d %B %Y, %H:%M} UTC"

    def steps(self, limit: int | None = None) -> list[Step]:
        """Before and after, item by item."""
        return steps([self], limit)[self.pk]

    # --- Taking back ---

    def revert(self, *, by: User) -> "OntologyChange":
        """Take back this step, whoever made it, if nothing later depends on it. The rest stays."""
        with self.ontology.changing("revert", by=by) as change:
            verb = "restore" if self.takes_back else "revert"
            self.take_back(change, f"{verb} {self.stem}")
        assert change.row
        return change.row

    def take_back(self, change: "Change", verb: str) -> None:
        """Apply the opposite of this row as part of another operation. The ontology is locked."""
        last = self._last_of_chain()
        Inverse(last).apply(change)
        change.verb, change.takes_back = verb, last

    def _last_of_chain(self) -> "OntologyChange":
        """The row that has to be taken back, if nothing later touched the same."""
        if self.stem == "create":
            raise Refused("The creation of an ontology cannot be undone.")
        chain = _chain(self.pk, _links(self.ontology))
        if len(chain) % 2 == 0:
            raise Refused("This step has been undone already.")
        last = OntologyChange.objects.select_related("ontology", "user").get(pk=chain[-1])
        for later in last.later():
            uid = next(uid for uid, entry in last.items.items() if _share_a_field(entry, later.items.get(uid)))
            raise LaterChange(f"“{names(self.ontology, [uid], [later, last])[uid]}” was changed", later)
        return last

    def later(self) -> "list[OntologyChange]":
        """Newer operations, newest first, on the same fields of the same items. Pairs of newer rows, one of which takes the
        other back, do not count."""
        rows = self.ontology.changes.select_related("user").filter(version__gt=self.version)
        if len(self.items) <= _FEW:
            rows = rows.filter(items__has_any_keys=list(self.items))
        touching = [row for row in rows.order_by("-version") if self._touches_the_same(row)]
        taken_back = {row.undone_by_id: row for row in touching if row.undone_by_id}
        standing = []
        gone: set[int] = set()
        for row in touching:
            if row.pk in gone:
                continue
            if (other := taken_back.get(row.pk)) and other.pk not in gone:
                gone |= {row.pk, other.pk}
            else:
                standing.append(row)
        return standing

    def _touches_the_same(self, other: "OntologyChange") -> bool:
        few, many = sorted((self.items, other.items), key=len)
        return any(_share_a_field(entry, many.get(uid)) for uid, entry in few.items())


def _split(verb: str) -> tuple[list[str], str]:
    words = verb.split(" ")
    count = next((i for i, word in enumerate(words) if word not in ("undo", "redo", "revert", "restore")), 0)
    return words[:count], " ".join(words[count:])


def _share_a_field(entry: list[Any], other: list[Any] | None) -> bool:
    """Adding or removing an item touches all its fields."""
    if other is None:
        return False
    if None in entry or None in other:
        return True
    return not entry[0].keys().isdisjoint(other[0])


# --- Which is next ---


def next_to_undo(ontology: "Ontology", by: User) -> OntologyChange | None:
    """The user's newest row that stands and is no undo."""
    return _newest_that_stands(ontology, ontology.changes.filter(user=by).exclude(_UNDO | Q(verb="create")))


def next_to_redo(ontology: "Ontology", by: User) -> OntologyChange | None:
    """The user's newest undo that stands and is newer than their last operation that is neither undo nor redo."""
    own = ontology.changes.filter(user=by)
    last = own.exclude(_UNDO | _REDO).order_by("-version").values_list("version", flat=True).first()
    return _newest_that_stands(ontology, own.filter(_UNDO, version__gt=last or 0))


_UNDO = Q(verb__startswith="undo ")
_REDO = Q(verb__startswith="redo ")


def _newest_that_stands(ontology: "Ontology", changes: QuerySet[OntologyChange]) -> OntologyChange | None:
    links = None
    newest = changes.order_by("-version").values_list("pk", "undone_by", "count")
    for pk, undone_by, count in newest.iterator(chunk_size=100):
        if undone_by is not None and links is None:
            links = _links(ontology)
        if undone_by is None or len(_chain(pk, links or {})) % 2 == 1:
            found = OntologyChange.objects.select_related("ontology", "user")
            # A button names a single item, but not what happened to thousands, which takes long to read.
            return (found if count == 1 else found.defer("items")).get(pk=pk)
    return None


def _links(ontology: "Ontology") -> dict[int, int | None]:
    """Which row takes back which."""
    return dict(ontology.changes.exclude(undone_by=None).values_list("pk", "undone_by"))


def _chain(pk: int, links: dict[int, int | None]) -> list[int]:
    """The row, the one that takes it back, the one that takes that back, and so on."""
    chain = [pk]
    while following := links.get(chain[-1]):
        chain.append(following)
    return chain


# --- Reading for people ---


class Entry(NamedTuple):
    """A line of the history."""

    change: OntologyChange
    steps: list[Step]
    stands: bool


def history(ontology: "Ontology", *, start: int, size: int, most_steps: int) -> list[Entry]:
    """Newest first. The number of queries does not depend on how many are read."""
    changes = list(ontology.changes.select_related("user")[start : start + size])
    for change in changes:
        change.ontology = ontology
    links = _links(ontology)
    read = steps(changes, most_steps)
    return [Entry(change, read[change.pk], len(_chain(change.pk, links)) % 2 == 1) for change in changes]


# --- Writing ---


@dataclass
class Change:
    """What one operation has changed so far, for the journal."""

    ontology: "Ontology"
    verb: str
    items: dict[str, list[Any]] = field(default_factory=dict)
    takes_back: OntologyChange | None = None
    row: OntologyChange | None = None

    def set_each(self, field: str, values: Iterable[Setting]) -> None:
        """Store one field of several items; values that an item has already are left alone."""
        new: dict[int, Any] = {}
        for pk, uid, before, after in values:
            if before != after:
                new[pk] = after
                self.items[uid] = [{field: before}, {field: after}]
        _store_field(field, new)

    def insert(self, branches: list[NewBranch]) -> list[str]:
        """Store new items; returns their uids."""
        rows = self.ontology.tree.insert(branches)
        for row in rows:
            parent = None if row["above"] == ROOT_UID else row["above"]
            self.items[row["uid"]] = [None, {name: row[name] for name in FACTS} | _place(parent, row["place"])]
        return [row["uid"] for row in rows]

    def move(self, item: OntologyItem, parent: OntologyItem, position: int | None) -> None:
        """Move an item with its branch; ``position`` is its index among its new siblings, None the last."""
        before = _place(item.parent_uid, item.position())
        self.ontology.tree.move(item, parent, position)
        moved = item.again()
        self.items[item.uid] = [before, _place(moved.parent_uid, moved.position())]

    def leaves_a_row(self) -> bool:
        """A step that is taken back is always recorded, even if other steps have meanwhile brought about what it would do:
        otherwise it would be the next to be undone for ever."""
        if not self.takes_back:
            self.items = {uid: entry for uid, entry in self.items.items() if entry[0] != entry[1]}
        return bool(self.items)


def _place(parent: str | None, position: int) -> dict[str, Any]:
    return {"parent": parent, "position": position}


def _store_field(field: str, values: dict[int, Any]) -> None:
    """Store a field that does not belong to the tree, by primary key, in one statement."""
    assert field not in {"parent", "lft", "rght", "level", "tree_id"}
    column = OntologyItem._meta.get_field(field)
    table = OntologyItem._meta.db_table
    source = "json_each(%(values)s)" if connection.vendor == "sqlite" else "json_each_text(%(values)s)"
    stored = {pk: json.dumps(value) if field == "example_terms" else value for pk, value in values.items()}
    execute(
        f'UPDATE {table} SET "{field}" = CAST(each.value AS {column.db_type(connection)}), updated_at = %(time)s'
        f" FROM {source} AS each WHERE {table}.id = CAST(each.key AS bigint)",
        {"values": json.dumps(stored), "time": connection.ops.adapt_datetimefield_value(timezone.now())},
    )
