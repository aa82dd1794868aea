"""The constraints of a project as shapes in SHACL (https://www.w3.org/TR/shacl/), for the evidence in `triples`.

They judge marks, each together with those of the same annotation, as `resources.rules` does, and find the same. Rules hold along
the tree: a shape asks for a label by its path to the top, so that there is one for each rule, however many labels are below it.
Where the nearest rule decides, a shape leaves out what lies below a nearer one. Rules for relations are SHACL Core. Those for
entities compare the places of two marks, for which Core has no word, and are SPARQL (https://www.w3.org/TR/shacl/#sparql-constraints).
Of two entities that cannot share words each is found with the other as the value, once for each rule; the service names one rule.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from annotation_service.json_input import to_json
from datasets.models.broken import judge_of
from resources.judging import Judge
from resources.rules import EntityRule, RelationRule, Rule
from resources.spans import REACH

from ..models.graph import NAMESPACES
from .contents import GraphContents
from .triples import Terms, prefixes

ABOVE, ABOVE_RELATION = (f"[ sh:zeroOrMorePath rdfs:sub{what}Of ]" for what in ("Class", "Property"))
RELATION, SUBJECT, OBJECT = (
    f"( ev:markedAs {ABOVE_RELATION} )",
    f"( ev:subject ev:markedAs {ABOVE} )",
    f"( ev:object ev:markedAs {ABOVE} )",
)
_IS = "ev:markedAs/rdfs:subClassOf*"


def shapes(contents: GraphContents) -> Iterator[str]:
    terms, judge = Terms(contents), judge_of(contents.graph.dataset_id)
    yield f"{prefixes(terms)}\n# For the evidence in TriG or JSON-LD: what is outside of all named graphs there.\n"
    used = {"ev": NAMESPACES["ev"], "rdfs": NAMESPACES["rdfs"], terms.prefix: terms.namespace}
    declared = (f'[ sh:prefix "{prefix}" ; sh:namespace "{iri}"^^xsd:anyURI ]' for prefix, iri in used.items())
    yield f"<{NAMESPACES['ev']}> sh:declare {', '.join(declared)} .\n"
    if judge:
        shaping = _Shaping(terms, judge)
        yield from shaping.entities()
        yield from shaping.relations()


class _Shaping:
    def __init__(self, terms: Terms, judge: Judge) -> None:
        self.terms, self.judge, self.rules = terms, judge, judge.rules

    def label(self, pk: int) -> str:
        return self.terms.short(self.terms.labels[pk])

    def nearer(self, owners: Collection[int]) -> Mapping[int, list[int]]:
        """Of labels that have rules, those below each one that are next to it: what they and all below them obey."""
        found: dict[int, list[int]] = defaultdict(list)
        for owner in owners:
            if above := next((label for label in self.judge.lineage(owner)[1:] if label in owners), None):
                found[above].append(owner)
        return found

    def _of_rule(self, rule: Rule, what: str, kind: str, constraint: str) -> str:
        name = f"rule-{rule.set.pk}-{rule.position + 1}-{what}"
        return self._shape(name, f"{rule.in_words(what, self.judge.name_of)}.", kind, constraint)

    def _shape(self, local: str, message: str, kind: str, constraint: str) -> str:
        name, told = self.terms.short(self.terms.own(local)), to_json(message)
        return f"\n{name} a sh:NodeShape ; sh:targetClass ev:{kind} ;\n  sh:message {told} ;\n  {constraint} .\n"

    # --- Entities ---

    def entities(self) -> Iterator[str]:
        rows = [row for row in self.rules.rows if isinstance(row, EntityRule)]
        nearer = self.nearer({row.domain for row in rows if row.can_contain is not None})
        for row in rows:
            if row.excludes:
                lie = f"?start <= ?last + {REACH} && ?end >= ?first - {REACH}"
                yield self._pairs(row, "excludes", [], lie, self._is_one_of(row.excludes))
            if row is self.rules.limiting((row.domain,)):
                lie = "?first <= ?start && ?end <= ?last && (?first < ?start || ?end < ?last)"
                listed = f"FILTER NOT EXISTS {{ {self._is_one_of(row.can_contain or ())} }}"
                yield self._pairs(row, "can_contain", nearer.get(row.domain, ()), lie, listed)

    def _is_one_of(self, labels: Iterable[int]) -> str:
        """Not by VALUES, which no query of SHACL may have."""
        return f"?value {_IS} ?listed FILTER (?listed IN ({', '.join(map(self.label, labels))}))"

    def _pairs(self, row: EntityRule, what: str, but: Collection[int], lie: str, listed: str) -> str:
        """Entities of the domain, but those below some labels, with others that lie so to them and are listed."""
        nearest = "".join(f"\n    FILTER NOT EXISTS {{ $this {_IS} {self.label(label)} }}" for label in but)
        query = f"""SELECT DISTINCT $this ?value {{
    $this {_IS} {self.label(row.domain)} ; ev:annotation ?annotation ; ev:firstToken ?first ; ev:lastToken ?last .{nearest}
    ?value ev:annotation ?annotation ; ev:firstToken ?start ; ev:lastToken ?end .
    FILTER (?value != $this && {lie})
    {listed}
  }}"""
        constraint = f'sh:sparql [ sh:prefixes <{NAMESPACES["ev"]}> ; sh:select """{query}""" ]'
        return self._of_rule(row, what, "EntityMark", constraint)

    # --- Relations ---

    def relations(self) -> Iterator[str]:
        rows = [row for row in self.rules.rows if isinstance(row, RelationRule)]
        relations = dict.fromkeys(row.relation for row in rows)
        nearer = self.nearer(relations)
        for relation in relations:
            # What does not obey its rules: it is not below it, or below one that has rules of its own.
            others = [_has(RELATION, self.label(below)) for below in nearer.get(relation, ())]
            free = " ".join([_not(_has(RELATION, self.label(relation))), *others])
            by_domain = self.rules.of_relation((relation,))
            nearer_domains = self.nearer(by_domain)
            for domain, row in by_domain.items():
                elsewhere = [_has(SUBJECT, self.label(below)) for below in nearer_domains.get(domain, ())]
                leads = [_has(OBJECT, self.label(label)) for label in row.range]
                ways = " ".join([_not(_has(SUBJECT, self.label(domain))), *elsewhere, *leads])
                yield self._of_rule(row, "relation", "RelationMark", f"sh:or ( {free} {ways} )")
            # Once a relation has rules, it cannot lead from what has none.
            domains = " ".join(_has(SUBJECT, self.label(domain)) for domain in by_domain)
            name = f"rules-of-{self.terms.labels[relation].removeprefix(self.terms.namespace)}"
            message = f"{self.judge.name_of(relation)} has rules, but none for the source."
            yield self._shape(name, message, "RelationMark", f"sh:or ( {free} {domains} )")


def _has(path: str, label: str) -> str:
    return f"[ sh:path {path} ; sh:hasValue {label} ]"


def _not(shape: str) -> str:
    return f"[ sh:not {shape} ]"
