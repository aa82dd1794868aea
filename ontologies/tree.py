"""The only module that writes tree positions."""

import json
import secrets
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from operator import itemgetter
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection
from django.db.models import Max, QuerySet
from django.utils import timezone
from mptt.exceptions import InvalidMove

from annotation_service.db import among, execute
from annotation_service.inputs import Refused

from . import colors
from .documents import NewLabel, name_taken, too_deep, too_many
from .switches import new_event

ROOT_UID = "00000000"


class NewBranch(NamedTuple):
    """New items below a parent that was read after the lock; their levels count from 1. ``place`` is the index of the first
    among the children that the parent has, None stands for last."""

    parent: Any
    items: Sequence[NewLabel]
    place: int | None = None


Place = tuple[Any, Any, int | None]
"""A node and the parent below which it shall stand, both read after the lock, and its position there: it counts the siblings, but
for those that come to stand there later; None is the last."""


class Tree:
    """The rows of one ontology in the table of a model: the items, and the hidden root with the ontology's key as ``tree_id``.

    django-mptt has no locks: every method that writes is called in a transaction that has locked the ontology's row, with nodes
    that were read after the lock.
    """

    def __init__(self, model: type[Any], pk: int) -> None:
        self.model, self.pk = model, pk
        self.table = model._meta.db_table

    # --- Reading ---

    @property
    def nodes(self) -> QuerySet[Any]:
        """All rows, unordered, to be found by their uids. SQLite finds keys and parents faster without the ontology."""
        return self.model._base_manager.filter(ontology=self.pk).order_by()

    @property
    def root(self) -> Any:
        return self.model._base_manager.get(tree_id=self.pk, parent=None)

    @property
    def size(self) -> int:
        return self.root.descendant_count

    def problems(self) -> Iterator[str]:
        """What is wrong with the tree; yields nothing if it is sound."""
        nodes = list(self.nodes.order_by("lft").values("id", "uid", "parent_id", "level", "lft", "rght", "off_by"))
        numbers = sorted(number for node in nodes for number in (node["lft"], node["rght"]))
        if not nodes or numbers != list(range(numbers[0], numbers[0] + 2 * len(nodes))):
            yield "the positions do not follow each other, each once"
        above: list[dict[str, Any]] = []
        for node in nodes:
            while above and above[-1]["rght"] < node["lft"]:
                above.pop()
            if node["parent_id"] != (above[-1]["id"] if above else None):
                yield f"{node['uid']}: not inside its parent"
            elif above and node["rght"] > above[-1]["rght"]:
                yield f"{node['uid']}: ends behind its parent"
            elif node["level"] != len(above):
                yield f"{node['uid']}: level {node['level']} instead of {len(above)}"
            elif above and above[-1]["off_by"] and not node["off_by"]:
                yield f"{node['uid']}: on below one that is off"
            above.append(node)

    # --- Writing ---

    def create(self, new_items: Sequence[NewLabel]) -> None:
        """Store the root of a new tree and all its items."""
        end = 2 * len(new_items) + 2
        root = self.model(ontology_id=self.pk, uid=ROOT_UID, tree_id=self.pk, lft=1, rght=end, level=0)
        root.save(force_insert=True)
        self._store(_numbered(new_items, root, 0, 2, set(), set()))

    def insert(self, branches: Sequence[NewBranch]) -> list[dict[str, Any]]:
        """Store new items at several places in one step: the room for all is made first. Returns the rows that were stored.

        Raises `Refused` if the tree would be too large or too deep, or if a name is taken.
        """
        if self.size + sum(len(branch.items) for branch in branches) > settings.MAX_ONTOLOGY_ITEMS:
            raise Refused(too_many())
        lefts: dict[int, list[int]] = defaultdict(list)
        shades: dict[int, set[str]] = defaultdict(set)
        names: set[tuple[int, str]] = set()
        parents = among({branch.parent.pk for branch in branches})
        children = self.model._base_manager.filter(parent__in=parents).order_by("lft")
        for parent_id, left, name, color in children.values_list("parent_id", "lft", "name", "color"):
            lefts[parent_id].append(left)
            shades[parent_id].add(color)
            names.add((parent_id, name))
        planned: list[tuple[int, int, NewBranch]] = []
        for branch in branches:
            for new in branch.items:
                if branch.parent.level + new.level > settings.MAX_LEVELS:
                    raise Refused(too_deep())
                if new.level == 1 and (branch.parent.pk, new.name) in names:
                    raise Refused(name_taken(new.name))
            siblings = lefts[branch.parent.pk]
            place = len(siblings) if branch.place is None else max(0, min(branch.place, len(siblings)))
            planned.append(([*siblings, branch.parent.rght][place], place, branch))
        planned.sort(key=itemgetter(0))  # stable: branches at one place stay in their order
        taken = self._taken(new.uid for branch in branches for new in branch.items if new.uid)
        rows: list[dict[str, Any]] = []
        room: Counter[int] = Counter()
        earlier: Counter[int] = Counter()  # new children by the key of their parent
        for at, place, (parent, items, _) in planned:
            count = place + earlier[parent.pk]
            rows += _numbered(items, parent, count, at + 2 * len(rows), taken, shades[parent.pk])
            earlier[parent.pk] += sum(new.level == 1 for new in items)
            room[at] += 2 * len(items)
        if self._taken(row["uid"] for row in rows):
            return self.insert(branches)  # one in four billion: draw again
        self._shift(room)
        self._store(rows)
        return rows

    def delete(self, nodes: Collection[Any]) -> None:
        """Delete nodes whose branches are among them."""
        gaps: dict[int, int] = {}
        end = 0
        for node in sorted(nodes, key=lambda node: node.lft):
            if node.lft > end:
                before = gaps.pop(end + 1, 0) if node.lft == end + 1 else 0  # neighbours leave one gap
                end = node.rght
                gaps[end + 1] = before + node.lft - end - 1
        gone = self.model._base_manager.filter(pk__in=among([node.pk for node in nodes]))
        gone._raw_delete(connection.alias)
        self._shift(gaps)

    def move(self, places: Sequence[Place]) -> None:
        """Move nodes with their branches in one step, in this order.

        Raises `Refused` if a name is taken, the tree would be too deep, or one would stand in its own branch.
        """
        moved = {node.pk: node for node, *_ in places}
        keys, rows = among(moved), self.model._base_manager
        names = rows.filter(parent__in=among({parent.pk for _, parent, _ in places})).exclude(pk__in=keys)
        taken = set(names.values_list("parent_id", "name"))
        for node, parent, _ in places:
            if (parent.pk, node.name) in taken:
                raise Refused(name_taken(node.name))
            taken.add((parent.pk, node.name))
        if len(places) == 1:
            self._move_one(*places[0])
        else:
            self._move_several(places, moved)
        rows.filter(pk__in=keys).update(updated_at=timezone.now())

    def _move_one(self, node: Any, parent: Any, position: int | None) -> None:
        depth = node.branch().aggregate(depth=Max("level"))["depth"] - node.level
        if parent.level + 1 + depth > settings.MAX_LEVELS:
            raise Refused(too_deep())
        before = None if position is None else parent.children.exclude(pk=node.pk)[position:].first()
        target, where = (before, "left") if before else (parent, "last-child")
        try:
            self.model._tree_manager.move_node(copy(node), target, position=where)
        except InvalidMove:
            raise Refused(_in_itself(node)) from None

    def _move_several(self, places: Sequence[Place], moved: Mapping[int, Any]) -> None:
        """What is around them is numbered anew: django-mptt would write half the tree for each."""
        rows = self.model._base_manager
        ends = [(node.lft - 1, node.rght + 1) for node in moved.values()]
        ends += [(parent.lft, parent.rght) for _, parent, _ in places]
        around = rows.filter(tree_id=self.pk, lft__lte=min(ends)[0], rght__gte=max(end for _, end in ends))
        top = around.order_by("-lft")[0]
        branch = rows.filter(tree_id=self.pk, lft__gte=top.lft, lft__lt=top.rght).order_by("lft")
        before = list(branch.values_list("pk", "parent_id", "level", "lft", "rght"))
        children = defaultdict[int, list[int]](list)
        for pk, above, *_ in before:
            if pk not in moved:
                children[above].append(pk)
        for node, parent, position in places:
            siblings = children[parent.pk]
            siblings.insert(len(siblings) if position is None else position, node.pk)
        after: dict[int, list[int]] = {}
        position, ahead = top.lft - 1, [(top.pk, top.parent_id, top.level)]
        while ahead:
            pk, above, level = ahead[-1]
            position += 1
            if pk in after:
                after[pk][-1] = position
                ahead.pop()
            else:
                after[pk] = [above, level, position, 0]
                ahead += [(child, pk, level + 1) for child in reversed(children.get(pk, ()))]
        if cut_off := next((node for pk, node in moved.items() if pk not in after), None):
            raise Refused(_in_itself(cut_off))
        if max(level for _, level, *_ in after.values()) > settings.MAX_LEVELS:
            raise Refused(too_deep())
        part = "json_extract(each.value, '$[{}]')" if connection.vendor == "sqlite" else "(each.value ->> {})::bigint"
        columns = ("parent_id", "level", "lft", "rght")
        execute(
            f"UPDATE {self.table} SET {', '.join(f'{name} = {part.format(at)}' for at, name in enumerate(columns))}"
            f" FROM json_each(%(new)s) AS each WHERE {self.table}.id = CAST(each.key AS bigint)",
            {"new": json.dumps({pk: after[pk] for pk, *was in before if after[pk] != was})},
        )

    def copy_from(self, source: "Tree") -> None:
        """Copy a tree inside the database: 10,000 items in 0.1 s. Old and new rows are matched by ``(ontology, uid)``.

        Level by level, so that each row is inserted with its new parent: siblings of one parent have unique names.
        """
        own = {"id", "ontology", "parent", "tree_id"}
        names = [f.column for f in self.model._meta.concrete_fields if f.name not in own and not f.generated]
        into = ", ".join(f'"{name}"' for name in names)
        values = ", ".join(f'o."{name}"' for name in names)
        for level in range(source.nodes.aggregate(Max("level"))["level__max"] + 1):
            execute(
                f"INSERT INTO {self.table} (ontology_id, tree_id, parent_id, {into})"
                f" SELECT %(new)s, %(new)s, np.id, {values} FROM {self.table} o"
                f" LEFT JOIN {self.table} op ON op.id = o.parent_id"
                f" LEFT JOIN {self.table} np ON np.ontology_id = %(new)s AND np.uid = op.uid"
                " WHERE o.tree_id = %(old)s AND o.level = %(level)s ORDER BY o.lft",
                {"old": source.pk, "new": self.pk, "level": level},
            )

    # --- Parts ---

    def _taken(self, uids: Iterator[str]) -> set[str]:
        return set(self.nodes.filter(uid__in=among(list(uids))).values_list("uid", flat=True))

    def _shift(self, steps: Mapping[int, int]) -> None:
        """Make room or close gaps: ``steps`` tells by how much everything from a position on moves to the right."""
        places = sorted(steps)
        while places:  # from the right, so that the places further left still hold
            some, places = places[-100:], places[:-100]
            total, whens = sum(steps[at] for at in some), ""
            for at in reversed(some):
                whens += f" WHEN {{0}} >= {int(at)} THEN {{0}} + {int(total)}"
                total -= steps[at]
            sets = ", ".join(f"{column} = CASE{whens.format(column)} ELSE {column} END" for column in ("lft", "rght"))
            execute(
                f"UPDATE {self.table} SET {sets} WHERE tree_id = %(tree)s AND rght >= %(first)s",
                {"tree": self.pk, "first": some[0]},
            )

    def _store(self, rows: list[dict[str, Any]]) -> None:
        """Level by level, because children find their parents' keys by the uids; without model instances, which take four times
        as long."""
        if not rows:
            return
        names = [name for name in rows[0] if name not in ("above", "place")]
        columns = ", ".join(f'"{name}"' for name in names)
        values = ", ".join(f"%({name})s" for name in names)
        with connection.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO {self.table} (ontology_id, tree_id, parent_id, {columns})"
                f" VALUES (%(ontology)s, %(ontology)s,"
                f" (SELECT id FROM {self.table} WHERE ontology_id = %(ontology)s AND uid = %(above)s), {values})",
                [
                    {**row, "ontology": self.pk, "example_terms": json.dumps(row["example_terms"])}
                    for row in sorted(rows, key=itemgetter("level"))
                ],
            )


def _in_itself(node: Any) -> str:
    return f"“{node.name}” cannot be moved into its own branch."


def _numbered(
    new_items: Sequence[NewLabel], parent: Any, child_count: int, position: int, taken: set[str], shades: set[str]
) -> list[dict[str, Any]]:
    """The rows of new items below a parent, in tree order, computed in one pass over the items, which come in tree order.

    ``child_count`` children stand before them, ``position`` is the first to use. In the rows, ``above`` is the uid of the parent
    and ``place`` the index among its children. A uid that is taken is drawn again; ``shades`` are the colours of the children.
    """
    own = {new.uid for new in new_items}
    stored_time = connection.ops.adapt_datetimefield_value
    now = stored_time(timezone.now())
    rows: list[dict[str, Any]] = []
    branch: list[dict[str, Any]] = []
    counts = {parent.uid: child_count}
    shades_of = defaultdict(set, {parent.uid: shades})
    for new in new_items:
        if new.level == 1 and new.color:
            shades.add(new.color)
    top_color = None if parent.is_root else parent.color
    position -= 1

    def close_to(level: int) -> None:
        nonlocal position
        while len(branch) >= level:
            position += 1
            branch.pop()["rght"] = position

    for new in new_items:
        close_to(new.level)
        above, color = (branch[-1]["uid"], branch[-1]["color"]) if branch else (parent.uid, top_color)
        event = branch[-1]["off_by"] if branch else parent.off_by
        uid = new.uid
        while uid in ("", ROOT_UID) or uid in taken or (uid != new.uid and uid in own):
            uid = secrets.token_hex(4)
        taken.add(uid)
        place = counts[above]
        counts[above] += 1
        counts[uid] = 0
        position += 1
        row: dict[str, Any] = {
            "above": above,
            "place": place,
            "level": parent.level + new.level,
            "lft": position,
            "rght": 0,
            "uid": uid,
            "name": new.name,
            "description": new.description,
            "example_terms": new.example_terms,
            "color": new.color or colors.free_child_of(color, place, shades_of[above]),
            "off_by": new.off_by or event or ("" if new.active else new_event()),
            "created_at": stored_time(new.created_at) if new.created_at else now,
            "updated_at": stored_time(new.updated_at) if new.updated_at else now,
        }
        shades_of[above].add(row["color"])
        rows.append(row)
        branch.append(row)
    close_to(1)
    return rows
