"""The rules that name a label or reach it, for its details in the ontology editor."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.db.models import Q

from annotation_service.blueprints import Right
from annotation_service.http import Request
from ontologies.labels import Label, Labels
from ontologies.models import OntologyItem
from ontologies.usage import item_panels

from .models import ConstraintSet, rules_of
from .rules import EntityRule, Lineage, RelationRule, Rules

ASKED_SETS, SHOWN_SETS = 20, 5  # those that were changed last
SHOWN_RULES = 30


class Reach(NamedTuple):
    """What one rule says of a label. ``named`` is the label itself or the type above it that the rule names."""

    rule: EntityRule | RelationRule
    named: int
    words: str
    labels: Sequence[int]
    first: int | None = None
    """The relation or, if the label is one, the source."""


def reaches(rules: Rules, line: Lineage) -> Iterator[Reach]:
    """What the rules say of a label, in their order. Rules that a nearer one replaces say nothing."""
    for row in rules.rows:
        if isinstance(row, RelationRule):
            yield from _of_relation(rules, row, line)
        else:
            yield from _of_entity(rules, row, line)


def _of_entity(rules: Rules, row: EntityRule, line: Lineage) -> Iterator[Reach]:
    if row.domain in line and row.excludes:
        yield Reach(row, row.domain, "cannot share words with", row.excludes)
    if row is rules.limiting(line):
        words = "can contain only" if row.can_contain else "can contain nothing"
        yield Reach(row, row.domain, words, row.can_contain or ())
    if row.domain not in line and (named := _first(row.excludes, line)):
        yield Reach(row, named, "cannot share words with", [row.domain])
    if named := _first(row.can_contain or (), line):
        yield Reach(row, named, "may stand inside", [row.domain])


def _of_relation(rules: Rules, row: RelationRule, line: Lineage) -> Iterator[Reach]:
    if row.relation in line:
        if row in (rules.of_relation(line) or {}).values():
            yield Reach(row, row.relation, "leads to" if row.range else "leads nowhere", row.range, row.domain)
        return
    by_domain = rules.of_relation([row.relation]) or {}
    if row is next((by_domain[label] for label in line if label in by_domain), None):
        yield Reach(row, row.domain, "leads from it only to" if row.range else "leads nowhere", row.range, row.relation)
    if named := _first(row.range, line):
        yield Reach(row, named, "may lead to it from", [row.domain], row.relation)


def _first(labels: Sequence[int], line: Lineage) -> int | None:
    return next((label for label in line if label in labels), None)


def rules_panel(request: Request, item: OntologyItem) -> tuple[str, dict[str, Any]] | None:
    """What constraint sets say of a label, for those who may read the sets."""
    ontology = item.ontology
    if ontology.project and Right.READ not in ontology.project.rights_of(request.user):
        return None
    sets = ConstraintSet.objects.filter(Q(entity_ontology=ontology) | Q(relation_ontology=ontology))
    of_both = sets.select_related("entity_ontology", "relation_ontology").order_by("-updated_at", "-pk")[:ASKED_SETS]
    labels = ontology.labels() if of_both else Labels()  # which takes 40 ms after a change of 10,000 labels
    if item.pk not in labels.by_pk:  # or adding it was undone meanwhile
        return None
    line = labels.lineage(labels.by_pk[item.pk])
    shown = []
    for each in sorted(of_both, key=lambda each: (each.kind, each.name)):
        rules = rules_of([each])
        if found := list(reaches(rules, line)) if rules else []:
            by_pk = {
                pk: label for ontology in each.ontologies.values() for pk, label in ontology.labels().by_pk.items()
            }
            lines = [_shown(reach, item, by_pk) for reach in found[:SHOWN_RULES]]
            shown.append({"set": each, "lines": lines, "more": len(found) - len(lines)})
    if not shown:
        return None
    return "resources/_rules_of_label.html", {"sets": shown[:SHOWN_SETS], "more": len(shown[SHOWN_SETS:])}


def _shown(reach: Reach, item: OntologyItem, labels: Mapping[int, Label]) -> dict[str, Any]:
    return {
        "number": reach.rule.position + 1,
        "first": labels[reach.first] if reach.first else None,
        "words": reach.words,
        "labels": [labels[label] for label in reach.labels],
        "above": labels[reach.named] if reach.named != item.pk else None,
    }


item_panels.append(rules_panel)
