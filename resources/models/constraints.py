"""Constraints: which entities can stand together, and which of them a relation may connect."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import IO, Any, NamedTuple

from django.db import connection
from django.db.models import QuerySet

from annotation_service.inputs import Refused
from annotation_service.models import User
from ontologies.models import Ontology

from ..constraint_kinds import ConstraintKind, Mistake, inactive, likely_mistakes
from ..documents import place_in_document
from ..rules import Rule, Rules, SetName
from .journal import RuleChange, rule_name
from .rows import EntityConstraint, Lists, RelationConstraint
from .sets import ResourceSet


class ConstraintSet(ResourceSet):
    """Its rows are called rules. They are named by their keys, and their labels by uids: see `ConstraintRow`."""

    keeps_inactive = True
    noun = "constraint"
    row_words = "rule,rules"
    namespace = "resources"
    row_models = {"entity": EntityConstraint, "relation": RelationConstraint}
    change_class = RuleChange

    class Meta(ResourceSet.Meta):
        pass

    # --- Reading ---

    @property
    def of_kind(self) -> ConstraintKind:
        """All that is special about its kind."""
        kind: ConstraintKind = self.row_model.kind
        return kind

    def rules_with_keys(self) -> QuerySet[Any]:
        """All rules, with the labels that their keys are made of."""
        return self.rows().select_related(*self.row_model.key_fields)

    def rules_with(self, key: str) -> QuerySet[Any]:
        """The rule with a key, if it is there, with the labels that this is made of."""
        fields = [f"{field}__uid" for field in self.row_model.key_fields]
        uids = key.split("-")
        rows = self.rules_with_keys()
        return rows.filter(**dict(zip(fields, uids, strict=True))) if len(uids) == len(fields) else rows.none()

    def row_names(self, keys: Collection[str]) -> dict[str, str]:
        names = self.names_by_uid()
        return {key: rule_name(names, key) for key in keys}

    def rule_name(self, key: str) -> str:
        return rule_name(self.names_by_uid(), key)

    def rules(self) -> Iterator[Rule]:
        """The rows as rules, in their order."""
        rules: Iterator[Rule] = self.row_model.rules(self.rows(), SetName(self.pk, self.name))
        return rules

    def mistakes(self) -> list[Mistake]:
        """Likely mistakes in the rules, in their order."""
        rows, labels = list(self.rules()), self.labels()
        found = [*likely_mistakes(self.of_kind, rows, labels), *inactive(rows, labels)]
        return sorted(found, key=lambda each: each.rule.position)

    # --- Making ---

    def read(self, source: str | IO[bytes]) -> list[Any]:
        rows, of = super().read(source), SetName(0, self.name)
        rules = [row.as_rule(of, position, row.lists) for position, row in enumerate(rows)]
        for mistake in likely_mistakes(self.of_kind, rules, self.labels()):
            self.warnings.add(place_in_document(mistake.rule.position + 1, mistake.place), mistake.text)
        return rows

    # --- Changing ---

    def add_rule(self, key: str, *, by: User, **lists: list[str] | None) -> None:
        """A new rule, last; lists that are not given are empty, or missing where they may be."""
        with self.changing("add", by=by) as change:
            change.add(key, lists)

    def change_rule(
        self, key: str, *, by: User, was: Mapping[str, str] | None = None, **lists: list[str] | None
    ) -> None:
        """Give a rule other lists. ``was`` are fingerprints of those that the person saw: see `edits`."""
        with self.changing("change", by=by) as change:
            change.set(key, lists, was)

    def add_label(self, key: str, field: str, uid: str, *, by: User, limits: bool = False) -> None:
        """Put a label into a list of a rule, last, whatever else has happened to the list. With ``limits``, a missing list begins
        with it."""
        with self.changing("change", by=by) as change:
            uids = change.state(key)[field]
            if uids is None and limits and field == self.row_model.optional_list:
                uids = []
            if uids is None:
                raise Refused(f"Somebody took the limit of “{self.rule_name(key)}” away. Set it again first.")
            if uid not in uids:
                change.set(key, {field: [*uids, uid]})

    def drop_label(self, key: str, field: str, uid: str, *, by: User) -> None:
        """Take a label out of a list of a rule, whatever else has happened to the list."""
        with self.changing("change", by=by) as change:
            if uids := change.state(key)[field]:
                change.set(key, {field: [other for other in uids if other != uid]})

    def set_pair(self, key: str, uid: str, field: str, wanted: bool, *, by: User) -> None:
        """Put a label into a list of a rule or take it out, in one step, whatever is there. The rule comes with its first label
        and goes when it says nothing any more. What is put into a list leaves the others; what holds both ways, both sides."""
        both_ways, optional = self.row_model.both_ways, self.row_model.optional_list
        ends = {key: uid}
        if both_ways and (wanted or field == both_ways):
            ends.setdefault(uid, key)
        with self.changing("change", by=by) as change:
            for at, label in ends.items():
                row = self.rules_with(at).first()
                before: Lists = row.state() if row else {}
                after = dict(before)
                for name in before:
                    if label in (before[name] or ()) and (name == both_ways if at != key else wanted or name == field):
                        after[name] = [other for other in before[name] or () if other != label]
                if wanted and at == key:
                    after[field] = (
                        before[field] if label in (before.get(field) or ()) else [*(before.get(field) or ()), label]
                    )
                if row is None and after:
                    change.add(at, after)
                elif after != before and optional and after[optional] is None and not any(after.values()):
                    change.remove(at)
                elif after != before:
                    change.set(at, after)

    def remove_rule(self, key: str, *, by: User, was: str | None = None) -> None:
        """``was`` is the fingerprint of all lists that the person saw: see `edits`."""
        with self.changing("remove", by=by) as change:
            change.remove(key, was)

    def add_rules(self, new: Mapping[str, Lists], *, by: User, verb: str = "add") -> int:
        """Add several rules in one step. Where one stands already, its lists get the labels that they do not have; returns how
        many rules are new or have changed."""
        with self.changing(verb, by=by) as change:
            there = {row.key: row.state() for row in self.rules_with_keys() if row.key in new}
            for key, lists in new.items():
                if key in there:
                    change.set(key, {name: _joined(there[key][name], added) for name, added in lists.items()})
                else:
                    change.add(key, lists)
        return len(change.items)


def _joined(there: list[str] | None, added: list[str] | None) -> list[str] | None:
    if there is None or added is None:
        return there if added is None else added
    return [*there, *(uid for uid in added if uid not in there)]


def rules_about(sets: Iterable[ConstraintSet], ontologies: Mapping[str, Ontology]) -> Rules | None:
    """What constraint sets allow together, with the labels of other ontologies; None if there are none. Raises `Refused` if these
    do not have all labels that the sets name."""
    chosen = [(each, each.labels_in(ontologies)) for each in sets]
    return Rules(rule.of_labels(labels) for each, labels in chosen for rule in each.rules()) if chosen else None


def rules_of(sets: Iterable[ConstraintSet]) -> Rules | None:
    """What constraint sets allow together; None if there are none. Kept in memory until one of them changes."""
    return rules_at(tuple((each.pk, each.name, each.updated_at) for each in sets))


# With every save and with every answer to one: 0.06 ms, composed by the ORM 0.6.
_VERSIONS = """
SELECT 'labels' AS what, kind, id, version, '' AS name, updated_at FROM ontologies_ontology WHERE project_id = {project}
 UNION ALL
SELECT 'rules', kind, id, 0, name, updated_at FROM resources_constraintset WHERE project_id = {project}
 ORDER BY what, kind
"""


class Version(NamedTuple):
    """Of an ontology or a constraint set, as it is now. A number may come twice, when a transaction is taken back; a time does
    not."""

    what: str
    kind: str
    key: int
    number: int
    name: str
    at: Any


def versions_in(project: str, key: int) -> tuple[Version, ...]:
    """Those of the labels and of the rules of a project, which is given by an expression of SQL with ``%(key)s``."""
    with connection.cursor() as cursor:
        cursor.execute(_VERSIONS.format(project=project), {"key": key})
        return tuple(map(Version._make, cursor.fetchall()))


@lru_cache(maxsize=100)
def rules_at(versions: tuple[tuple[int, str, Any], ...]) -> Rules | None:
    """The same for sets as somebody has just read them: the key, the name and the time of the last change of each."""
    if not versions:
        return None
    sets = ConstraintSet.objects.in_bulk(pk for pk, _, _ in versions)
    return Rules(rule for pk, _, _ in versions if pk in sets for rule in sets[pk].rules())  # one may be gone by now
