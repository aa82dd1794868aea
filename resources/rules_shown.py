"""The rules of a constraint set as people read them: searched, with what other rules add; and those that reach a label."""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from django.db.models import Q
from django.urls import reverse

from annotation_service.blueprints import Right
from annotation_service.edits import fingerprint
from annotation_service.http import Request
from ontologies.labels import Label, Labels
from ontologies.models import OntologyItem
from ontologies.usage import item_panels

from .constraint_kinds import ConstraintKind, Reach, ShownList
from .models import ConstraintSet, rules_of
from .rules import Lineage, Rule, Rules

ASKED_SETS, SHOWN_SETS = 20, 5  # those that were changed last
SHOWN_RULES = 30


class ShownRule(NamedTuple):
    key: str  # see `models.ConstraintRow`
    number: int
    heads: list[Label]  # what its key is made of: the domain, after the relation if there is one
    below: int
    lists: list[ShownList]
    why: str = ""  # it was found, if it names no such label itself

    @property
    def was(self) -> str:
        """The fingerprint of all its lists."""
        return fingerprint({each.field: each.uids for each in self.lists})

    @property
    def name(self) -> str:
        return " from ".join(label.name for label in self.heads)

    @property
    def fullname(self) -> str:
        return " from ".join(label.fullname for label in self.heads)


def link_to_rule(set_pk: int, key: str) -> str:
    """Leads to a rule, on whichever page of the list it stands."""
    return f"{reverse('resources:page', args=[set_pk])}?rule={key}#rule-{key}"


class ShownRules:
    """Shows the rules of one set; ``labels`` are those of its ontologies, by their kind."""

    def __init__(self, kind: ConstraintKind, rules: Rules, labels: Mapping[str, Labels]) -> None:
        self.kind, self.rules, self.labels = kind, rules, labels
        self._by_pk = {pk: label for each in labels.values() for pk, label in each.by_pk.items()}
        self._below = Counter[str | None]()
        for label in reversed(labels["entity"]):
            self._below[label.parent_uid] += self._below[label.uid] + 1

    def found(self, text: str = "") -> list[tuple[Rule, str]]:
        """All rules in their order or, with a text, those that name labels with the text in their full names; then those that
        name types above such labels, and how."""
        wanted = unicodedata.normalize("NFC", text).casefold().strip()
        if not wanted:
            return [(rule, "") for rule in self.rules.rows]
        named, above = set[int](), dict[int, Label]()
        for labels in self.labels.values():
            for label in labels:
                if wanted in label.fullname.casefold():
                    own, *types = labels.lineage(label)
                    named.add(own)
                    for pk in types:
                        above.setdefault(pk, label)
        direct, inherited = [], []
        for rule in self.rules.rows:
            if not named.isdisjoint(rule.named()):
                direct.append((rule, ""))
            elif through := next((pk for pk in rule.named() if pk in above), None):
                why = f"names “{self._by_pk[through].name}”, which is above “{above[through].name}”"
                inherited.append((rule, why))
        return direct + inherited

    def _heads(self, rule: Rule) -> list[Label]:
        return [self._by_pk[label] for label in rule.key]

    def key(self, rule: Rule) -> str:
        return "-".join(label.uid for label in self._heads(rule))

    def shown(self, rule: Rule, why: str = "") -> ShownRule:
        heads = self._heads(rule)
        lists = self.kind.lists(rule, self.rules, self.labels["entity"])
        return ShownRule(self.key(rule), rule.position + 1, heads, self._below[heads[-1].uid], lists, why)


# --- In the details of a label ------------------------------------------------------------------------------------------


def reaches(kind: ConstraintKind, rules: Rules, line: Lineage) -> Iterator[Reach]:
    """What the rules say of a label, in their order. Rules that a nearer one replaces say nothing."""
    for row in rules.rows:
        yield from kind.reaches(row, rules, line)


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
    line = labels.line(item.pk)
    shown = []
    for each in sorted(of_both, key=lambda each: (each.kind, each.name)):
        rules = rules_of([each])
        if found := list(reaches(each.of_kind, rules, line)) if rules else []:
            by_pk = {pk: label for its in each.labels().values() for pk, label in its.by_pk.items()}
            lines = [_reach(reach, item, by_pk) for reach in found[:SHOWN_RULES]]
            shown.append({"set": each, "lines": lines, "more": len(found) - len(lines)})
    if not shown:
        return None
    return "resources/_rules_of_label.html", {"sets": shown[:SHOWN_SETS], "more": len(shown[SHOWN_SETS:])}


def _reach(reach: Reach, item: OntologyItem, labels: Mapping[int, Label]) -> dict[str, Any]:
    return {
        "number": reach.rule.position + 1,
        "first": labels[reach.first] if reach.first else None,
        "words": reach.words,
        "labels": [labels[label] for label in reach.labels],
        "above": labels[reach.named] if reach.named != item.pk else None,
    }


item_panels.append(rules_panel)
