"""The rules of a constraint set as people read them: their labels, and what types above or other rules add to them."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from annotation_service import words
from annotation_service.edits import fingerprint
from ontologies.labels import Label, Labels

from .rules import EntityRule, RelationRule

TITLES = {"excludes": "excludes", "can_contain": "can contain", "range": "leads to"}


Row = EntityRule | RelationRule


class Inherited(NamedTuple):
    """A label that is not in the rule’s own list, and why it holds all the same."""

    label: Label
    why: str


class ShownList(NamedTuple):
    """A list of a rule. ``labels`` is None if the rule sets no limit; ``replaces`` names a limit that it takes the place of."""

    field: str
    labels: list[Label] | None
    inherited: list[Inherited]
    replaces: str = ""

    @property
    def title(self) -> str:
        return TITLES[self.field]

    @property
    def was(self) -> str:
        """The fingerprint of the list: see `edits`."""
        return fingerprint(None if self.labels is None else [label.uid for label in self.labels])


class Found(NamedTuple):
    """A rule that was looked for; ``why`` is how a label inherits it that it does not name."""

    rule: Row
    why: str = ""


class ShownRule(NamedTuple):
    number: int
    relation: Label | None
    domain: Label
    below: int
    lists: list[ShownList]
    why: str = ""  # it was found: see `Found`

    @property
    def was(self) -> str:
        """The fingerprint of all its lists."""
        return fingerprint(
            {each.field: None if each.labels is None else [label.uid for label in each.labels] for each in self.lists}
        )

    @property
    def key(self) -> str:
        return f"{self.relation.uid}-{self.domain.uid}" if self.relation else self.domain.uid

    @property
    def name(self) -> str:
        return f"{self.relation.name} from {self.domain.name}" if self.relation else self.domain.name


class Listing:
    """Shows the rules of one set; ``labels`` are those of its ontologies, by their kind."""

    def __init__(self, rules: Iterable[Row], labels: Mapping[str, Labels]) -> None:
        self.rules, self.labels = list(rules), labels
        self._entities = labels["entity"]
        self._below = Counter[str | None]()
        for label in reversed(self._entities):
            self._below[label.parent_uid] += self._below[label.uid] + 1
        entity_rules = [rule for rule in self.rules if isinstance(rule, EntityRule)]
        self._naming: dict[int, list[tuple[int, EntityRule]]] = {}
        for rule in entity_rules:
            for key in rule.excludes:
                self._naming.setdefault(rule.domain, []).append((key, rule))
                if key != rule.domain:
                    self._naming.setdefault(key, []).append((rule.domain, rule))
        self._limits = {rule.domain: rule for rule in entity_rules if rule.can_contain is not None}

    def found(self, text: str = "") -> list[Found]:
        """All rules in their order or, with a text, those that name labels with the text in their full names; then those that
        name types above such labels."""
        wanted = unicodedata.normalize("NFC", text).casefold().strip()
        if not wanted:
            return [Found(rule) for rule in self.rules]
        named, above = set[int](), dict[int, Label]()
        for labels in self.labels.values():
            for label in labels:
                if wanted in label.fullname.casefold():
                    own, *types = labels.lineage(label)
                    named.add(own)
                    for pk in types:
                        above.setdefault(pk, label)
        direct, inherited = [], []
        for rule in self.rules:
            if not named.isdisjoint(rule.named()):
                direct.append(Found(rule))
            elif through := next((pk for pk in rule.named() if pk in above), None):
                inherited.append(Found(rule, f"names “{self._name(through)}”, which is above “{above[through].name}”"))
        return direct + inherited

    def _name(self, pk: int) -> str:
        return next(labels.by_pk[pk].name for labels in self.labels.values() if pk in labels.by_pk)

    def key(self, rule: Row) -> str:
        """What the rule is named by: see `models.Rule`."""
        domain = self._entities.by_pk[rule.domain].uid
        return (
            f"{self.labels['relation'].by_pk[rule.relation].uid}-{domain}" if isinstance(rule, RelationRule) else domain
        )

    def shown(self, rule: Row, why: str = "") -> ShownRule:
        domain = self._entities.by_pk[rule.domain]
        relation, lists = None, []
        if isinstance(rule, RelationRule):
            relation = self.labels["relation"].by_pk[rule.relation]
            lists.append(ShownList("range", self._all(rule.range), []))
        else:
            lists.append(ShownList("excludes", self._all(rule.excludes), list(self._excluded(rule, domain))))
            lists.append(self._contents(rule, domain))
        return ShownRule(rule.position + 1, relation, domain, self._below[domain.uid], lists, why)

    def _all(self, keys: Sequence[int]) -> list[Label]:
        return [self._entities.by_pk[key] for key in keys]

    def _excluded(self, rule: EntityRule, domain: Label) -> Iterator[Inherited]:
        seen = set(rule.excludes)
        for own in self._entities.lineage(domain):
            for key, other in self._naming.get(own, ()):
                if key not in seen:
                    seen.add(key)
                    by_itself = other.domain == key
                    why = "by its own rule" if by_itself else f"from {self._entities.by_pk[other.domain].name}"
                    yield Inherited(self._entities.by_pk[key], why)

    def _contents(self, rule: EntityRule, domain: Label) -> ShownList:
        above = [self._limits[key] for key in self._entities.lineage(domain)[1:] if key in self._limits]
        listed, name = (
            (self._all(above[0].can_contain or ()), self._entities.by_pk[above[0].domain].name) if above else ([], "")
        )
        if rule.can_contain is None:
            inherited = [Inherited(label, f"from {name}") for label in listed]
            return ShownList("can_contain", None, inherited, f"nothing, from {name}" if above and not listed else "")
        some = words.listed(label.name for label in listed) if listed else "nothing"
        return ShownList("can_contain", self._all(rule.can_contain), [], f"“{some}” from {name}" if above else "")
