from collections.abc import Collection
from typing import Any

from django.db import connection, models
from django.db.models import CheckConstraint, F, Q, QuerySet, UniqueConstraint
from django.utils import timezone
from mptt.models import MPTTModel, TreeForeignKey

from annotation_service import edits, limits
from annotation_service.inputs import Refused, clean_description, clean_name
from annotation_service.json_input import to_json
from annotation_service.models import User

from .. import colors, usage
from ..documents import clean_color, clean_example_terms, name_taken
from ..labels import gloss
from ..switches import SwitchReach


class TreeOrderIndex(models.Index):
    """On SQLite it has the position, too: the children of a branch of 10,000 items are read in 7 ms instead of 10.

    PostgreSQL reads a tree in 6 ms through the number of the tree alone. With the position in the index a shift of 9,910 rows
    takes 135 ms, without it 21, because rows are then updated in place (see the fill factor in the migrations).
    """

    def create_sql(self, model: Any, schema_editor: Any, using: str = "", **options: Any) -> Any:
        if schema_editor.connection.vendor == "postgresql":
            return models.Index(fields=self.fields[:1], name=self.name).create_sql(
                model, schema_editor, using, **options
            )
        return super().create_sql(model, schema_editor, using, **options)


class OntologyItem(MPTTModel):
    """A label: one node of an ontology's tree.

    Each ontology is one tree with a hidden root whose ``tree_id`` is the ontology's key. The constraints below make
    it impossible for two ontologies to touch each other's rows.
    """

    ontology = models.ForeignKey("ontologies.Ontology", on_delete=models.RESTRICT, db_index=False)
    parent = TreeForeignKey("self", null=True, on_delete=models.RESTRICT, related_name="children", db_index=False)
    uid = models.CharField(max_length=8, editable=False)
    name = models.CharField(max_length=limits.MAX_NAME_CHARACTERS)
    description = models.TextField(blank=True)
    example_terms = models.JSONField(default=list, blank=True)
    color = models.CharField(max_length=7)
    off_by = models.CharField("switched off by", max_length=12, blank=True, editable=False)  # an event; see `switches`
    active = models.GeneratedField(
        expression=Q(off_by=""),  # type: ignore[arg-type]
        output_field=models.BooleanField(),
        db_persist=True,
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)
    # The positions that django-mptt keeps. Declared here because an ontology's key is a 64-bit integer.
    tree_id = models.PositiveBigIntegerField(editable=False)
    lft = models.PositiveIntegerField(editable=False)
    rght = models.PositiveIntegerField(editable=False)
    level = models.PositiveIntegerField(editable=False)

    class Meta:
        ordering = ["tree_id", "lft"]
        indexes = [TreeOrderIndex(fields=["tree_id", "lft"], name="ontologyitem_tree_order")]
        constraints = [
            UniqueConstraint(fields=["ontology", "uid"], name="ontologyitem_uid"),
            UniqueConstraint(fields=["parent", "name"], name="ontologyitem_sibling_name"),
            UniqueConstraint(fields=["tree_id"], condition=Q(parent=None), name="ontologyitem_one_root"),
            CheckConstraint(condition=Q(tree_id=F("ontology_id")), name="ontologyitem_own_tree"),
            CheckConstraint(condition=Q(lft__lt=F("rght")), name="ontologyitem_lft_rght"),
        ]

    def __str__(self) -> str:
        return self.name or "(root)"

    # --- Reading ---

    @property
    def is_root(self) -> bool:
        return self.parent_id is None

    @property
    def descendant_count(self) -> int:
        return (self.rght - self.lft - 1) // 2

    @property
    def parent_uid(self) -> str | None:
        """The uid of the parent item; None at the top level."""
        return None if self.parent is None or self.parent.is_root else self.parent.uid

    @property
    def fullname(self) -> str:
        names = self.get_ancestors(include_self=True).filter(level__gt=0)
        return "/".join(names.values_list("name", flat=True))

    @property
    def gloss(self) -> str:
        return gloss(self.description, self.example_terms)

    @property
    def terms_as_json(self) -> str:
        return to_json(self.example_terms)

    def suggested_colors(self) -> list[str]:
        """Variations of the parent's colour, then other hues."""
        family = [colors.child_of(self.parent.color, i) for i in range(3)] if self.parent and self.level > 1 else []
        return (family + [colors.top_level(i) for i in range(8)])[:8]

    def branch(self) -> "QuerySet[OntologyItem]":
        """The item and everything below it, in tree order."""
        return OntologyItem.objects.filter(tree_id=self.tree_id, lft__gte=self.lft, lft__lt=self.rght).order_by("lft")

    def usage(self, visible: Collection[int] = (), made_by: User | None = None) -> usage.Usage:
        """Marks, constraints and the like that name this item or, of a blueprint's item, its copies in projects. ``visible``
        are the keys of the projects that the viewer may see; with ``made_by`` only that person's marks count."""
        names = {}
        keys = [self.pk]
        if self.ontology.is_blueprint:
            copies = OntologyItem.objects.filter(uid=self.uid, ontology__copied_from=self.ontology_id)
            copies = copies.exclude(ontology__project=None).select_related("ontology__project")
            keys += [copy.pk for copy in copies]
            names = {copy.ontology.project_id: str(copy.ontology.project) for copy in copies}
        return usage.by_project(keys, names, self.ontology.project_id, visible, made_by)

    # --- Changing: every verb locks the ontology, reads the item again, and writes the journal ---

    def rename(self, name: str, *, by: User, was: str | None = None) -> "OntologyItem":
        """Marks, constraints and everything else point to the item, so they follow."""
        return self._set("rename", "name", clean_name(name), by=by, was=was)

    def describe(self, description: str, *, by: User, was: str | None = None) -> "OntologyItem":
        return self._set("describe", "description", clean_description(description), by=by, was=was)

    def set_example_terms(self, terms: list[str], *, by: User, was: list[str] | None = None) -> "OntologyItem":
        if not self.ontology.is_entity:
            raise Refused("Items of a relation ontology have no example terms.")
        return self._set("set example terms", "example_terms", clean_example_terms(terms), by=by, was=was)

    def recolor(self, color: str, *, by: User, branch: bool = False, was: str | None = None) -> "OntologyItem":
        """Recolour this item, or its whole branch: the items below get variations of the new colour."""
        return self._set("recolour", "color", clean_color(color), by=by, was=was, branch=branch)

    def switch(self, active: bool, *, by: User, reach: str = SwitchReach.TOGETHER, up: bool = False) -> "OntologyItem":
        """Switch the item on or off: see `Ontology.switch_items`."""
        self.again()
        self.ontology.switch_items([self.uid], active, by=by, reach=reach, up=up)
        return self.again()

    def move(
        self,
        *,
        by: User,
        to: "OntologyItem | None" = None,
        before: "OntologyItem | None" = None,
        after: "OntologyItem | None" = None,
    ) -> "OntologyItem":
        """Move the item with its branch: see `Ontology.move_items`."""
        self.again()
        self.ontology.move_items([self.uid], by=by, to=to, before=before, after=after)
        return self.again()

    def again(self) -> "OntologyItem":
        """The item as it is stored now; `Refused` if its addition has been undone."""
        item = OntologyItem.objects.select_related("ontology", "parent").filter(pk=self.pk).first()
        if item is None:
            raise self._gone()
        return item

    def hold(self) -> None:
        self.hold_all([self])

    @classmethod
    def hold_all(cls, items: Collection["OntologyItem"]) -> None:
        """Until the transaction ends nobody removes the items; `Refused` if the addition of one has been undone. For those who
        store something that points to them without having locked the ontology."""
        if not connection.features.has_select_for_update:
            return  # a transaction of SQLite has the database for itself already
        sql = f"SELECT id FROM {cls._meta.db_table} WHERE id = ANY(%s) FOR KEY SHARE"
        with connection.cursor() as cursor:
            cursor.execute(sql, [[item.pk for item in items]])
            there = {pk for (pk,) in cursor.fetchall()}
        for item in items:
            if item.pk not in there:
                raise item._gone()

    def _gone(self) -> Refused:
        return Refused(f"“{self.name}” is not there any more: adding it was undone.")

    def _set(
        self, verb: str, field: str, value: Any, *, by: User, was: Any = None, branch: bool = False
    ) -> "OntologyItem":
        """Store a field of the item, or of its branch. Raises `Conflict` if somebody else has changed it since it was ``was``."""
        with self.ontology.changing(verb, by=by) as change:
            item = self.again()
            before = getattr(item, field)
            changed = edits.changes(item, {field: value}, {} if was is None else {field: edits.fingerprint(was)})
            if "name" in changed:
                check_free(item.parent_id, value)
            value = changed.get(field, before)
            change.hand_down(field, {item.uid: value}, item.branch() if branch else item.branch()[:1])
        return self.again()


def check_free(parent_pk: int | None, name: str) -> None:
    """No item below the parent has the name."""
    if OntologyItem.objects.filter(parent_id=parent_pk, name=name).exists():
        raise Refused(name_taken(name))
