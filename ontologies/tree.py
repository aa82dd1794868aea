"""The only module that writes tree positions and calls the writing methods of django-mptt.

django-mptt has no locks: every function here is called inside `Ontology.changing` or another transaction that has locked the
ontology's row, with nodes that were read after the lock.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db import connection
from django.db.models import Max, QuerySet
from django.utils import timezone

from annotation_service.db import among, execute

from .formats import NewItem
from .numbering import ROOT_UID, Ground, numbered

if TYPE_CHECKING:
    from .models import Ontology, OntologyItem


def save_field(field: str, values: Mapping[int, Any]) -> None:
    """Store one field that does not belong to the tree, by primary key, and the time of the change."""
    from .models import OntologyItem

    assert field not in {"parent", "lft", "rght", "level", "tree_id"}
    column = OntologyItem._meta.get_field(field)
    table = OntologyItem._meta.db_table
    source = "json_each(%(values)s)" if connection.vendor == "sqlite" else "json_each_text(%(values)s)"
    execute(
        f'UPDATE {table} SET "{field}" = CAST(each.value AS {column.db_type(connection)}), updated_at = %(time)s'
        f" FROM {source} AS each WHERE {table}.id = CAST(each.key AS bigint)",
        {
            "values": json.dumps(
                {pk: json.dumps(value) if field == "example_terms" else value for pk, value in values.items()}
            ),
            "time": connection.ops.adapt_datetimefield_value(timezone.now()),
        },
    )


START = 1_000_000_000
"""Where a new tree begins: there is room on its left, so that an addition moves the shorter of its two sides."""
_PLANTED = [
    "level",
    "lft",
    "rght",
    "uid",
    "name",
    "description",
    "example_terms",
    "color",
    "active",
    "created_at",
    "updated_at",
]


def plant(ontology: "Ontology", new_items: Sequence[NewItem]) -> None:
    """Store the root of a new ontology and all its items, in bulk."""
    from .models import OntologyItem

    end = START + 2 * len(new_items) + 1
    OntologyItem(ontology=ontology, uid=ROOT_UID, tree_id=ontology.pk, lft=START, rght=end, level=0).save(
        force_insert=True
    )
    rows = numbered(new_items, Ground(ROOT_UID, 0, None, 0), START + 1, set())
    _store(ontology, rows)


class Shoot(NamedTuple):
    """New items below an item that was read after the lock; their levels count from 1. ``place`` is the index of the first
    among the children that the parent has, None stands for last."""

    parent: "OntologyItem"
    items: Sequence[NewItem]
    place: int | None = None


def graft(ontology: "Ontology", shoots: Sequence[Shoot]) -> list[dict[str, Any]]:
    """Store new items at several places of the tree in one step: the room for all is made first. Returns what was stored."""
    from .models import OntologyItem

    lefts: dict[int, list[int]] = {shoot.parent.pk: [] for shoot in shoots}
    children = OntologyItem.objects.filter(parent__in=among(lefts)).values_list("parent_id", "lft")
    for parent_id, left in sorted(children.order_by(), key=itemgetter(1)):
        lefts[parent_id].append(left)
    planned: list[tuple[int, int, Shoot]] = []
    for shoot in shoots:
        below = lefts[shoot.parent.pk]
        place = len(below) if shoot.place is None else max(0, min(shoot.place, len(below)))
        planned.append((below[place] if place < len(below) else shoot.parent.rght, place, shoot))
    planned.sort(key=itemgetter(0))  # stable: shoots at one place stay in their order
    room: dict[int, int] = {}
    earlier: dict[int, int] = {}
    taken = _taken(ontology, [new.uid for shoot in shoots for new in shoot.items if new.uid])
    rows: list[dict[str, Any]] = []
    made = 0
    for at, place, shoot in planned:
        parent = shoot.parent
        before = earlier.get(parent.pk, 0)
        color = None if parent.is_root else parent.color
        ground = Ground(ROOT_UID if parent.is_root else parent.uid, parent.level, color, place + before)
        rows += numbered(shoot.items, ground, at + made, taken)
        earlier[parent.pk] = before + sum(new.level == 1 for new in shoot.items)
        made += 2 * len(shoot.items)
        room[at] = room.get(at, 0) + 2 * len(shoot.items)
    if _taken(ontology, [row["uid"] for row in rows]):
        return graft(ontology, shoots)  # one in four billion: draw again
    moved = _shift(ontology, room)
    for row in rows:
        row["lft"] += moved
        row["rght"] += moved
    _store(ontology, rows)
    return rows


def _taken(ontology: "Ontology", uids: list[str]) -> set[str]:
    from .models import OntologyItem

    stored = OntologyItem.objects.filter(ontology=ontology).values_list("uid", flat=True)
    return set(stored.filter(uid__in=among(uids)).order_by())


def remove(ontology: "Ontology", items: "list[OntologyItem]") -> None:
    """Delete items that were read after the lock, and whose branches are among them."""
    gaps: dict[int, int] = {}
    end = 0
    for item in sorted(items, key=lambda item: item.lft):
        if item.lft > end:
            before = gaps.pop(end + 1, 0) if item.lft == end + 1 else 0  # neighbours leave one gap
            end = item.rght
            gaps[end + 1] = before + item.lft - end - 1
    gone = type(items[0])._base_manager.filter(pk__in=among([item.pk for item in items]))
    gone._raw_delete(connection.alias)
    _shift(ontology, gaps)


def move(item: "OntologyItem", parent: "OntologyItem", position: int | None) -> None:
    """Move an item with its branch below a parent, both read after the lock; ``position`` counts its new siblings."""
    item.updated_at = timezone.now()
    siblings = parent.child_items().exclude(pk=item.pk)
    before = None if position is None else siblings[max(0, position) :].first()
    target, where = (before, "left") if before else (parent, "last-child")
    type(item)._tree_manager.move_node(item, target, position=where)


def _shift(ontology: "Ontology", steps: Mapping[int, int]) -> int:
    """Make room or close gaps: ``steps`` tells by how much everything from a position on moves away from what stands before it.

    At a single place the shorter side moves: every row that does is written anew, with its entry in the index. Returns how far
    the left side has moved.
    """
    from .models import OntologyItem

    table = OntologyItem._meta.db_table
    places = sorted(steps)
    if len(places) == 1 and _left_is_shorter(ontology, places[0], steps[places[0]]):
        execute(
            f"UPDATE {table} SET lft = lft - %(by)s, rght = CASE WHEN rght < %(at)s THEN rght - %(by)s ELSE rght END"
            " WHERE tree_id = %(tree)s AND lft < %(at)s",
            {"tree": ontology.pk, "at": places[0], "by": steps[places[0]]},
        )
        return -steps[places[0]]
    while places:  # from the right, so that the places further left still hold
        some, places = places[-100:], places[:-100]
        total, whens = sum(steps[at] for at in some), ""
        for at in reversed(some):
            whens += f" WHEN {{0}} >= {int(at)} THEN {{0}} + {int(total)}"
            total -= steps[at]
        sets = ", ".join(f"{column} = CASE{whens.format(column)} ELSE {column} END" for column in ("lft", "rght"))
        execute(
            f"UPDATE {table} SET {sets} WHERE tree_id = %(tree)s AND rght >= %(first)s",
            {"tree": ontology.pk, "first": some[0]},
        )
    return 0


def _left_is_shorter(ontology: "Ontology", at: int, by: int) -> bool:
    """Whether fewer rows stand before a place than behind it, and the tree stays where it may begin."""
    root = ontology.root
    return at - root.lft < root.rght - at and 1 <= root.lft - by <= START


def _store(ontology: "Ontology", rows: list[dict[str, Any]]) -> None:
    """Level by level, because children find their parents' keys by the uids; without model instances, which take four times
    as long."""
    from .models import OntologyItem

    if not rows:
        return
    table = OntologyItem._meta.db_table
    columns = ", ".join(f'"{name}"' for name in _PLANTED)
    values = ", ".join(f"%({name})s" for name in _PLANTED)
    encode = json.JSONEncoder().encode
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO {table} (ontology_id, tree_id, parent_id, {columns})"
            f" VALUES (%(ontology)s, %(ontology)s,"
            f" (SELECT id FROM {table} WHERE ontology_id = %(ontology)s AND uid = %(above)s), {values})",
            [
                {**row, "ontology": ontology.pk, "example_terms": encode(row["example_terms"])}
                for row in sorted(rows, key=itemgetter("level"))
            ],
        )


def copy(source: "Ontology", target: "Ontology") -> None:
    """Copy the tree inside the database. Old and new rows are matched by ``(ontology, uid)``.

    Level by level, so that each row is inserted with its new parent: siblings of one parent have unique names.
    """
    from .models import OntologyItem

    table = OntologyItem._meta.db_table
    own = {"id", "ontology", "parent", "tree_id"}
    names = [f.column for f in OntologyItem._meta.concrete_fields if f.name not in own]
    into = ", ".join(f'"{name}"' for name in names)
    values = ", ".join(f'o."{name}"' for name in names)
    deepest = OntologyItem.objects.filter(tree_id=source.pk).aggregate(Max("level"))["level__max"]
    for level in range(deepest + 1):
        execute(
            f"INSERT INTO {table} (ontology_id, tree_id, parent_id, {into})"
            f" SELECT %(new)s, %(new)s, np.id, {values} FROM {table} o"
            f" LEFT JOIN {table} op ON op.id = o.parent_id"
            f" LEFT JOIN {table} np ON np.ontology_id = %(new)s AND np.uid = op.uid"
            " WHERE o.tree_id = %(old)s AND o.level = %(level)s ORDER BY o.lft",
            {"old": source.pk, "new": target.pk, "level": level},
        )


def fell(ontologies: "QuerySet[Ontology]") -> None:
    """Delete whole trees."""
    from .models import OntologyItem

    OntologyItem._base_manager.filter(ontology__in=ontologies)._raw_delete(ontologies.db)


def problems(ontology: "Ontology") -> Iterator[str]:
    """What is wrong with an ontology's tree; yields nothing if it is sound."""
    from .models import OntologyItem

    nodes = list(OntologyItem.objects.filter(ontology=ontology).order_by("lft").values())
    roots = [node for node in nodes if node["parent_id"] is None]
    if len(roots) != 1:
        yield f"{len(roots)} roots instead of 1"
        return
    if any(node["tree_id"] != ontology.pk for node in nodes):
        yield "a node has the number of another tree"
    numbers = sorted([node["lft"] for node in nodes] + [node["rght"] for node in nodes])
    if numbers != list(range(numbers[0], numbers[0] + 2 * len(nodes))):
        yield "the positions do not follow each other, each once"
    by_id = {node["id"]: node for node in nodes}
    for node in nodes:
        if node["parent_id"] is None:
            if node["level"] != 0:
                yield f"the root stands on level {node['level']}"
            continue
        parent = by_id.get(node["parent_id"])
        if parent is None:
            yield f"{node['uid']}: its parent is in another tree"
        elif not (parent["lft"] < node["lft"] < node["rght"] < parent["rght"]):
            yield f"{node['uid']}: not inside its parent"
        elif node["level"] != parent["level"] + 1:
            yield f"{node['uid']}: level {node['level']} below level {parent['level']}"
