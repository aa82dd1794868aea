"""What the browser says of rules at once is what the server says: on random trees, rules and marks."""

import json
import random
from collections.abc import Iterator
from contextlib import suppress
from itertools import product

import pytest
from django.db import transaction

from annotation_service.inputs import Refused
from annotations import offers
from annotations.requests import marks_states
from datasets.models import Annotation, Entity, Relation
from resources.rules import EntityRule, RelationRule, Rules, SetName
from tests import factories
from tests.annotations.test_constraints import constrain
from tests.resource_sets import PlacedLabel, broken_between
from tests.soak import amount

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

SET = SetName(1, "Rules")
SPANS = [(start, end) for start in range(4) for end in range(start, 4)]

RULES = """async (cases) => {
  const { Rules } = await import("/static/js/annotate/rules.js");
  const { Labels } = await import("/static/js/annotate/labels.js");
  return cases.map(({ entity, relation, rows, marks, words, triples }) => {
    const labels = { entity: new Labels(entity), relation: new Labels(relation) };
    const rules = new Rules(rows, labels);
    const why = rules.forWords(words, marks);
    return [
      labels.entity.all.map((label) => why(label)?.sentence ?? null),
      triples.map(([source, name, target]) => {
        const ends = [source, target].map((uid) => labels.entity.get(uid));
        return rules.against(ends[0], labels.relation.get(name), ends[1])?.sentence ?? null;
      }),
    ];
  });
}"""

JUDGE = """async ([labelRows, rows, cases]) => {
  const { Rules } = await import("/static/js/annotate/rules.js");
  const { Labels } = await import("/static/js/annotate/labels.js");
  const { Judge } = await import("/static/js/annotate/judge.js");
  const { Marks } = await import("/static/js/annotate/marks.js");
  const labels = { entity: new Labels(labelRows.entity), relation: new Labels(labelRows.relation) };
  const rules = new Rules(rows, labels);
  return cases.map(({ state, asked }) => {
    const marks = new Marks(state);
    const judge = new Judge(rules, marks);
    return asked.map(([kind, verb, place, span]) => {
      const mark = marks.entity.get(place);
      if (verb === "resize") return [judge.againstResizing(mark, ...span)?.sentence ?? null];
      if (verb === "reverse") return [judge.againstReversing(marks.relation.get(place))?.sentence ?? null];
      const why =
        verb === "relabel" && kind === "entity" ? judge.forEntity(mark)
        : verb === "relabel" ? judge.forRelation(marks.relation.get(place))
        : kind === "entity" ? judge.forWords(...place)
        : judge.forRelation({ source: place[0], target: place[1] });
      return labels[kind].all.map((label) => why(label)?.sentence ?? null);
    });
  });
}"""


class Case:
    """A tree of labels, rules about them, and marks beside which words are to be marked."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.entity, self.relation = self.tree(range(12)), self.tree(range(100, 106))
        entity, relation = list(self.entity), list(self.relation)
        self.rows = [
            EntityRule(SET, n, domain, self.some(entity, 3), self.chance.choice([None, self.some(entity, 7)]))
            for n, domain in enumerate(self.some(entity, 5))
        ]
        pairs = self.some(list(product(relation, entity)), 8)
        self.rows += [
            RelationRule(SET, n, name, domain, self.some(entity, 7)) for n, (name, domain) in enumerate(pairs)
        ]
        self.words = chance.choice(SPANS)
        self.marks = [
            PlacedLabel(*chance.choice(SPANS), self.line(chance.choice(entity))) for _ in range(chance.randrange(4))
        ]
        ends = (relation, entity, entity)
        self.triples = [tuple(chance.choice(labels) for labels in ends) for _ in range(20)]

    def tree(self, keys) -> dict[int, int | None]:
        """Parents by key, in tree order."""
        path: list[int] = []
        parents = {}
        for key in keys:
            del path[self.chance.randint(0, len(path)) :]
            parents[key] = path[-1] if path else None
            path.append(key)
        return parents

    def some(self, choices, most) -> list:
        return self.chance.sample(choices, self.chance.randint(0, most))

    def line(self, key) -> tuple[int, ...]:
        line = []
        while key is not None:
            line.append(key)
            key = (self.entity if key < 100 else self.relation)[key]
        return tuple(line)

    def for_browser(self) -> dict:
        def rows(tree):
            keys = list(tree)
            return [
                [str(key), f"L{key}", -1 if above is None else keys.index(above), "#000000", 1, "", []]
                for key, above in tree.items()
            ]

        def names(keys):
            return keys if keys is None else [str(key) for key in keys]

        entity = [r for r in self.rows if isinstance(r, EntityRule)]
        relation = [r for r in self.rows if isinstance(r, RelationRule)]
        return {
            "entity": rows(self.entity),
            "relation": rows(self.relation),
            "rows": {
                "entity": [
                    [SET.name, r.position, str(r.domain), names(r.excludes), names(r.can_contain)] for r in entity
                ],
                "relation": [[SET.name, r.position, str(r.relation), str(r.domain), names(r.range)] for r in relation],
            },
            "marks": [{"start": m.start, "end": m.end, "label": str(m.label[0])} for m in self.marks],
            "words": dict(zip(("start", "end"), self.words, strict=True)),
            "triples": [[str(source), str(name), str(target)] for name, source, target in self.triples],
        }

    def said(self, violations) -> set[str | None]:
        """The sentences one of which is to be said; None if nothing is broken."""
        return {found.in_words(lambda key: f"L{key}") for found in violations if found} or {None}

    def expected(self) -> Iterator[list[set[str | None]]]:
        rules = Rules(self.rows)
        spans = [PlacedLabel(*self.words, self.line(key)) for key in self.entity]
        yield [self.said(v for mark in self.marks for v in broken_between(rules, span, mark)) for span in spans]
        lines = [tuple(map(self.line, triple)) for triple in self.triples]
        yield [self.said([rules.against_relating(source, name, target)]) for name, source, target in lines]


def test_the_browser_reads_rules_as_the_server_does(page):
    page.goto("/accounts/login/")
    cases = [Case(random.Random(seed)) for seed in range(amount(150, 4000))]
    for seed, (case, answers) in enumerate(
        zip(cases, page.evaluate(RULES, [case.for_browser() for case in cases]), strict=True)
    ):
        for said, expected in zip(answers, case.expected(), strict=True):
            for one, several in zip(said, expected, strict=True):
                assert one in several, seed


def test_the_picker_judges_marks_as_the_server_does(page, alice, carol):
    project = factories.project(by=alice, annotators=[carol], text="one two three four\n")
    constrain(
        project,
        entities=[
            {"domain": "PhysicalObject", "excludes": ["Activity"], "can_contain": ["SensingObject"]},
            {"domain": "State", "excludes": ["Thermostat"], "can_contain": []},
            {"domain": "DrivingObject", "excludes": ["DrivingObject"]},
        ],
        relations=[
            {"relation": "hasPart", "domain": "PhysicalObject", "range": ["SensingObject"]},
            {"relation": "hasPart", "domain": "DrivingObject", "range": []},
            {"relation": "hasParticipant", "domain": "Activity", "range": ["PhysicalObject", "State"]},
        ],
    )
    project.entity_ontology.items().get(name="Replace").switch(False, by=alice)
    annotation = Annotation.start(project.dataset.items()[0], carol)
    chance = random.Random(7)
    cases = [judged(annotation, project, chance) for _ in range(amount(10, 200))]
    seen = {verdict for case in cases for verdicts in case["verdicts"] for verdict in verdicts.values()}
    assert seen == {True, False}
    page.goto("/accounts/login/")
    documents = [json.loads(document(project)) for document in (offers.labels_json, offers.rules_json)]
    given = [{"state": case["state"], "asked": case["asked"]} for case in cases]
    for case, answers in zip(cases, page.evaluate(JUDGE, [*documents, given]), strict=True):
        for asked, verdicts, reasons in zip(case["asked"], case["verdicts"], answers, strict=True):
            names = ["same"] if asked[1] in ("resize", "reverse") else [row[1] for row in documents[0][asked[0]]]
            said = {name: reason is None for name, reason in zip(names, reasons, strict=True) if name in verdicts}
            assert said == verdicts, (case["state"], asked, reasons)


def judged(annotation, project, chance) -> dict:
    """Random marks, and what the server says of every label for new words, a new relation and each of the marks,
    and of other words for the latter."""
    labels = {kind: list(getattr(project, f"{kind}_ontology").items()) for kind in ("entity", "relation")}
    annotation.relation_set.all().delete()
    annotation.entity_set.all().delete()
    status = ["accepted", "accepted", "suggested", "rejected"]
    for n in range(5):
        start, end = chance.choice(SPANS)
        with suppress(Exception), transaction.atomic():
            annotation.entity_set.create(
                uid=f"e{n}", start=start, end=end, label=chance.choice(labels["entity"]), status=chance.choice(status)
            )
    entities = [mark for mark in annotation.entity_set.all() if mark.status != "rejected"]
    for n in range(3):
        source, target = chance.choices(entities, k=2) if entities else (None, None)
        if source == target:
            continue
        ends = {source.status, target.status}
        with suppress(Exception), transaction.atomic():
            annotation.relation_set.create(
                uid=f"r{n}",
                source=source,
                target=target,
                label=chance.choice(labels["relation"]),
                status="suggested" if "suggested" in ends else chance.choice(status[:3]),
            )
    asked = [["entity", "add", chance.choice(SPANS)]]
    asked += [["entity", "relabel", mark.uid] for mark in entities]
    asked += [["relation", "relabel", mark.uid] for mark in annotation.relation_set.all()]
    if len(entities) > 1:
        asked.append(["relation", "add", [mark.uid for mark in chance.sample(entities, 2)]])
    verdicts = [
        {
            label.name: verdict
            for label in labels[kind]
            if (verdict := allows(annotation, kind, verb, place, label)) is not None
        }
        for kind, verb, place in asked
    ]
    for mark in entities:
        span = chance.choice(SPANS)
        verdict = allows_moving(annotation.mark(Entity, mark.uid), "resize", span)
        asked.append(["entity", "resize", mark.uid, span])
        verdicts.append({} if verdict is None else {"same": verdict})
    for relation in annotation.relation_set.exclude(status="rejected"):
        turned = relation.target.uid, relation.source.uid
        verdict = allows_moving(annotation.mark(Relation, relation.uid), "reverse", turned)
        asked.append(["relation", "reverse", relation.uid])
        verdicts.append({} if verdict is None else {"same": verdict})
    return {"state": marks_states([annotation])[0], "asked": asked, "verdicts": verdicts}


def allows(annotation, kind, verb, place, label) -> bool | None:
    """Whether the server takes it; None where something else than a rule decides."""
    twins = annotation.entity_set if kind == "entity" else annotation.relation_set
    its_place = ("start", "end") if kind == "entity" else ("source__uid", "target__uid")
    is_there = verb == "add" and twins.filter(label=label, **dict(zip(its_place, place, strict=True))).exists()
    if is_there or not label.active:
        return None
    try:
        with transaction.atomic():
            if verb == "relabel":
                annotation.mark(Entity if kind == "entity" else Relation, place).relabel(label)
            elif kind == "entity":
                annotation.add_entity(uid="new", label=label, start=place[0], end=place[1])
            else:
                annotation.add_relation(uid="new", label=label, source=place[0], target=place[1])
            transaction.set_rollback(True)
    except Refused as refused:
        return None if "already" in str(refused) else False
    return True


def allows_moving(mark, verb, place) -> bool | None:
    """As above, for a mark that is resized or reversed."""
    if mark.place == place:
        return None
    try:
        with transaction.atomic():
            getattr(mark, verb)(*place)
            transaction.set_rollback(True)
    except Refused as refused:
        return None if "already" in str(refused) else False
    return True
