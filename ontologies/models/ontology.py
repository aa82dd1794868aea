from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple, Self

from django.conf import settings
from django.db import models
from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery, UniqueConstraint

from annotation_service.blueprints import Existing, PagedBlueprint, Right
from annotation_service.db import among, write
from annotation_service.inputs import Refused, clean_description, clean_name, clean_title
from annotation_service.journal import FEW, Journaled
from annotation_service.models import User
from annotation_service.words import listed, plural

from .. import colors, usage
from ..documents import NewLabel, clean_color, clean_example_terms, rich_json
from ..labels import LabelNames, Labels, kept_labels
from ..pasted_lists import Plan, PlannedItem, TableRow
from ..switches import COLUMNS, Row, Switch, SwitchReach
from ..tree import NewBranch, Tree
from ..updates import TreeUpdate
from .changes import OntologyChange, Setting, TreeChange
from .item import OntologyItem


class OntologyKind(models.TextChoices):
    ENTITY = "entity", "Entity ontology"
    RELATION = "relation", "Relation ontology"


class OntologyQuerySet(models.QuerySet["Ontology"]):
    def with_size(self) -> Self:
        """Adds ``size``, the number of items: the root's interval tells it without counting rows."""
        root = OntologyItem.objects.filter(tree_id=OuterRef("pk"), parent=None)
        return self.annotate(size=Subquery(root.values(n=(F("rght") - F("lft") - 1) / 2)))


class Facts(NamedTuple):
    """An ontology in figures; ``level_sizes`` counts the items of each level, from the top."""

    size: int
    depth: int
    off: int
    level_sizes: list[int]


class Ontology(Journaled, PagedBlueprint):
    """A tree of entity or relation labels."""

    open_to_annotators = True
    change_class = TreeChange

    kind = models.CharField(max_length=8, choices=OntologyKind)

    objects = Existing.from_queryset(OntologyQuerySet)()  # type: ignore[misc]

    _labels: tuple[tuple[Any, ...], Labels] | None = None
    """Of which state, and the labels."""

    class Meta:
        verbose_name_plural = "ontologies"
        constraints = [
            UniqueConstraint(fields=["project", "kind"], condition=~Q(project=None), name="ontology_one_kind_a_project")
        ]

    # --- Reading ---

    @property
    def is_entity(self) -> bool:
        return self.kind == OntologyKind.ENTITY

    @property
    def kind_in_words(self) -> str:
        """What it is, such as “entity ontology”."""
        return self.get_kind_display().lower()

    @property
    def tree(self) -> Tree:
        return Tree(OntologyItem, self.pk)

    @property
    def root(self) -> OntologyItem:
        root: OntologyItem = self.tree.root
        root.ontology = self
        return root

    @property
    def row_count(self) -> int:
        return self.tree.size

    def content_in_words(self) -> str:
        return plural(self.row_count, "item,items")

    def items(self) -> QuerySet[OntologyItem]:
        """All items in tree order, without the hidden root."""
        return OntologyItem.objects.filter(tree_id=self.pk, level__gt=0).order_by("lft")

    def events(self, uids: Collection[str] = ()) -> list[Row]:
        """Items in tree order, with what switched them off: the lineages and the branches of a few, or else all."""
        around = Q()
        if len(uids) <= FEW:
            for lft, rght in self.tree.nodes.filter(uid__in=among(uids)).values_list("lft", "rght"):
                around |= Q(lft__lte=lft, rght__gte=rght) | Q(lft__gt=lft, lft__lt=rght)
        return list(self.items().filter(around).values_list(*COLUMNS))

    def facts(self) -> Facts:
        levels = self.items().order_by("level").values("level")
        counted = levels.annotate(size=Count("pk"), off=Count("pk", filter=Q(active=False)))
        sizes = [level["size"] for level in counted]
        return Facts(sum(sizes), len(sizes), sum(level["off"] for level in counted), sizes)

    def labels(self) -> Labels:
        """Names, colours and activity of all items, kept in memory until the ontology changes. They are the same each time for
        whoever read the ontology once, although others change it meanwhile."""
        state = (self.pk, self.version, self.updated_at)
        if self._labels is None or self._labels[0] != state:
            self._labels = state, kept_labels(state, self.items())
        return self._labels[1]

    def label_names(self, *, bare: bool = False) -> LabelNames:
        """Finds the labels that a document names; see `LabelNames`."""
        return LabelNames(self.labels(), self.name, bare=bare)

    def marks_by_uid(self, made_by: User | None = None) -> dict[str, int]:
        """How many marks each item has and, of a blueprint, its copies in projects."""
        columns = self.marks_by_column(made_by).values()
        return dict(sum(map(Counter, columns), Counter()))

    def marks_by_column(self, made_by: User | None = None) -> dict[str, dict[str, int]]:
        """The same in the columns of the tree: of a blueprint those in datasets that are blueprints, and those in projects."""
        if not self.is_blueprint:
            return {"marks": usage.marks_by_uid(self.kind, [self.pk], made_by)}
        # By their keys: for what may be no copies at all, a database would look through all marks.
        copies = list(Ontology.objects.filter(copied_from=self, project__isnull=False).values_list("pk", flat=True))
        places = {"datasets": [self.pk], "projects": copies}
        return {place: usage.marks_by_uid(self.kind, keys, made_by) if keys else {} for place, keys in places.items()}

    def whose_marks(self, user: User) -> User | None:
        """Those who may not read its project see only their own marks in it; None for everybody's."""
        return None if self.project is None or Right.READ in self.project.rights_of(user) else user

    def as_json(self) -> str:
        """The document of a download, which can be uploaded again."""
        return rich_json(self.items(), with_terms=self.is_entity)

    # --- Making ---

    @classmethod
    def create(
        cls, *, kind: str, name: str, owner: User, description: str = "", items: Sequence[NewLabel] = ()
    ) -> "Ontology":
        """A new blueprint, empty or with the items that `documents.read_ontology` returned."""
        with write():
            ontology = cls.objects.create(
                kind=kind, name=clean_title(name), description=clean_description(description), owner=owner
            )
            ontology.tree.create(items)
            if items:
                TreeChange(ontology, "create").store(owner, count=len(items))
        return ontology

    def copy_to(self, project: Any = None, *, by: User, name: str = "") -> "Ontology":
        """A copy in the project or, without one, a new blueprint of the user. Items keep their uids."""
        with write():
            copy = self.locked().copy_row(by=by, project=project, name=name)
            copy.touch(version=0)
            copy.tree.copy_from(self.tree)
        return copy

    def reason_not_to_delete(self) -> str:
        if reason := super().reason_not_to_delete():
            return reason
        used = [(model._meta, model._default_manager.filter(**{field: self})) for model, field in usage.ontology_uses]
        names = {meta: list(users.values_list("name", flat=True)) for meta, users in used if users.exists()}
        if sum(map(len, names.values())) > 1:
            counts = [plural(len(each), f"{m.verbose_name},{m.verbose_name_plural}") for m, each in names.items()]
            users = listed((f"“{name}”" for each in names.values() for name in each), 3)
            return f"{listed(counts)} use its labels: {users}. Delete them first."
        for meta, (name,) in names.items():
            return f"The {meta.verbose_name} “{name}” uses its labels. Delete that {meta.verbose_name} first."
        return ""

    def content(self) -> Iterator[QuerySet[Any]]:
        yield self.changes.order_by("-version")
        yield OntologyItem.objects.filter(tree_id=self.pk).order_by("-lft")  # what is below an item before it

    # --- Changing ---

    def add_item(self, name: str, *, by: User, parent: OntologyItem | None = None, uid: str = "") -> OntologyItem:
        """A new item, last below the parent or, without one, last at the top level. Below an item that is off it starts off.
        With the ``uid`` of one that this person has added already, as when the answer to that was lost, it is that one."""
        name = clean_name(name)
        with self.changing("add", by=by) as change:
            if not (uid and self._has_added(uid, by)):
                above = parent.again() if parent else self.root
                (uid,) = change.insert([NewBranch(above, [NewLabel(level=1, name=name, uid=uid)])])
            return self.items().select_related("ontology", "parent").get(ontology=self, uid=uid)

    def _has_added(self, uid: str, by: User) -> bool:
        mine = self.changes.filter(verb="add", user=by, items__has_key=uid)
        return self.items().filter(uid=uid).exists() and mine.exists()

    def preview_items(
        self, new_items: Sequence[NewLabel], parent: OntologyItem | None = None, *, alike: bool = False
    ) -> list[PlannedItem]:
        """What `add_items` would do: for each new item whether it exists already, and what forbids it."""
        return Plan(self.tree, new_items, parent or self.root, alike=alike).rows

    def add_items(
        self, new_items: Sequence[NewLabel], *, by: User, parent: OntologyItem | None = None, alike: bool = False
    ) -> list[str]:
        """Add a whole list below an item or at the top level, in one step; returns the uids of the new items. Where an item of
        the same name stands already, or one that is ``alike`` but for case and spacing, it stays as it is and what the list has
        below it is added there. Below an item that is off they start off."""
        with self.changing("add", by=by) as change:
            plan = Plan(self.tree, new_items, parent.again() if parent else self.root, alike=alike)
            plan.check()
            return change.insert(plan.branches())

    def update_from(self, rows: Sequence[TableRow], *, by: User, agreed: str | None = None) -> None:
        """Add the labels that the rows of a table name, rename and describe those that are there, in one step. Nothing is
        removed, nothing is moved.

        Raises `Refused` if somebody has ``agreed`` to what has another digest than what would come now.
        """
        with self.changing("update from file", by=by) as change:
            update = TreeUpdate(change.thing.labels(), rows)
            if agreed not in (None, update.digest):
                raise Refused("Meanwhile it has become something else.")
            for field, values in update.changes.items():
                change.set_each(field, [(label.pk, label.uid, before, after) for label, before, after in values])
            parents = {item.uid: item for item in self.tree.nodes.filter(uid__in=among({*update.new}))} | {
                "": self.root
            }
            change.insert([NewBranch(parents[uid], [*tree.labels()]) for uid, tree in update.new.items()])

    def foresee_labels(self, other: "Ontology") -> list[PlannedItem]:
        """What `put_labels` would do."""
        return Plan(self.tree, other.new_labels(), self.root, by_uid=True).rows

    def put_labels(self, other: "Ontology", *, by: User, agreed: int | None = None) -> list[str]:
        """Add the labels of another ontology that are not here yet, in one step, each in its place; returns their uids. Those of
        the same full name stay as they are, and so do those that were renamed or moved here. Ids are kept where they are free.

        Raises `Refused` if somebody has ``agreed`` to another number than would come now.
        """
        with self.changing("add", by=by) as change:
            taken = set(self.items().values_list("color", flat=True))
            plan = Plan(self.tree, other.locked().new_labels(taken), self.root, by_uid=True)
            plan.check()
            uids = change.insert(plan.branches())
            if agreed not in (None, len(uids)):
                raise Refused("Meanwhile it has become another number of labels.")
            return uids

    def new_labels(self, taken: Collection[str] = ()) -> list[NewLabel]:
        """Its labels, to be created elsewhere with their events; those whose colours are ``taken`` there get others."""
        rows = self.items().values("level", "name", "description", "example_terms", "color", "active", "uid", "off_by")
        return [NewLabel(**{**row, "color": "" if row["color"] in taken else row["color"]}) for row in rows]

    def recolor_items(self, uids: Collection[str], color: str, *, by: User, branch: bool = False) -> int:
        """Recolour several items in one step, with their branches if wanted; returns how many items have changed."""
        color = clean_color(color)
        with self.changing("recolour", by=by) as change:
            change.hand_down("color", dict.fromkeys(uids, color), self.items(), branch=branch)
        return len(change.items)

    def separate_colors(self, uids: Collection[str], *, by: User) -> int:
        """Give siblings that look alike colours that can be told apart, in one step, with their branches; the first of them, and
        their other siblings, keep theirs. Returns how many items have changed."""
        with self.changing("recolour", by=by) as change:
            alike = list(self.items().filter(ontology=self, uid__in=among(set(uids))).select_related("parent"))
            if len(alike) < len(set(uids)) or len({item.parent_id for item in alike}) != 1:
                raise Refused("These items are not beside each other any more. Check again.")
            first, *others = alike
            siblings = OntologyItem.objects.filter(parent=first.parent_id)
            kept = siblings.exclude(pk__in=among([item.pk for item in others])).values_list("color", flat=True)
            free = colors.separate(kept, first.parent.color if first.level > 1 else None)
            wanted = {item.uid: color for item, color in zip(others, free, strict=False)}
            change.hand_down("color", wanted, self.items())
        return len(change.items)

    def switch_items(
        self, uids: Collection[str], active: bool, *, by: User, reach: str = SwitchReach.TOGETHER, up: bool = False
    ) -> int:
        """Switch items off with everything below them, or on with what the reach tells, in one step; returns how many have
        changed. Below an item that is off they come on with ``up`` alone, which switches on those above, too. Marks stay."""
        with self.changing("switch on" if active else "switch off", by=by) as change:
            switch = Switch(self.events(uids), uids, active, reach, up)
            switch.check()
            change.set_each("off_by", switch.values)
            change.facts["remark"] = switch.remark
        return len(change.items)

    def move_items(
        self,
        uids: Collection[str],
        *,
        by: User,
        to: OntologyItem | None = None,
        before: OntologyItem | None = None,
        after: OntologyItem | None = None,
    ) -> list[OntologyItem]:
        """Move items with their branches in one step below ``to`` or, without it, to the top level: before or after another item
        there, or last. Marks point to the items, so they follow. The items stay in tree order, and one that is below another goes
        with that; returns the others, as they were before."""
        if not settings.ONTOLOGY_MOVE_ITEMS:
            raise Refused("Moving items is switched off in this installation.")
        with self.changing("move", by=by) as change:
            chosen = self.items().filter(ontology=self, uid__in=among(set(uids)))
            if not chosen or len(chosen) < len(set(uids)):
                raise Refused("Some of the items are not there any more. Reload the page.")
            moved: list[OntologyItem] = []
            for item in chosen:
                if not moved or item.lft > moved[-1].rght:
                    moved.append(item)
            parent, first = to.again() if to else self.root, None
            if parent.tree_id != self.pk:
                raise Refused("An item cannot be moved into another ontology.")
            if neighbour := before or after:
                neighbour = neighbour.again()
                if neighbour.parent_id != parent.pk:
                    raise Refused(f"“{neighbour.name}” does not stand at that place any more.")
                ahead = parent.children.filter(lft__lt=neighbour.lft).exclude(pk__in=among([item.pk for item in moved]))
                first = ahead.count() + (neighbour == after and neighbour not in moved)
            change.move([(item, parent, None if first is None else first + at) for at, item in enumerate(moved)])
        return moved

    def add_example_terms(self, uids: Collection[str], terms: Sequence[str], *, by: User) -> int:
        """Add example terms to several items in one step; returns how many items have changed."""
        if not self.is_entity:
            raise Refused("Items of a relation ontology have no example terms.")
        terms = clean_example_terms(terms)
        with self.changing("set example terms", by=by) as change:
            items = self.items().filter(ontology=self, uid__in=among(set(uids)))
            values: list[Setting] = []
            for pk, uid, name, before in items.values_list("pk", "uid", "name", "example_terms"):
                try:
                    values.append((pk, uid, before, clean_example_terms([*before, *terms])))
                except Refused as error:
                    raise Refused(f"“{name}”: {error}") from error
            if len(values) < len(set(uids)):
                raise Refused("Some of the items are not there any more. Reload the page.")
            change.set_each("example_terms", values)
        return len(change.items)

    def last_change(self, item: OntologyItem) -> OntologyChange | None:
        """The newest operation that changed an item, or the creation of the ontology; None for an untouched copy."""
        newest = self.changes.select_related("user")
        return newest.filter(items__has_key=item.uid).first() or newest.filter(verb="create").first()
