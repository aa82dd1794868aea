"""Undo brings back exactly what was, in the browser and on the server: random operations, undo and redo, on suggestions and own
marks."""

import json

import pytest
from django.test import Client

from annotations import offers
from annotations.requests import marks_states
from datasets.models import MARKS, Annotation
from tests import factories
from tests.soak import amount

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

WALKS = amount(3, 100)
SPANS = [(0, 0), (1, 2), (2, 2), (3, 4)]
# Each stage has what is sent for it, and the marks after it.
WALK = """async ([seeds, state, labels]) => {
  const { Marks, turned } = await import("/static/js/annotate/marks.js");
  const { requestOf } = await import("/static/js/annotate/queue.js");
  const walk = (seed) => {
    const random = (n) => { seed = (seed * 1103515245 + 12345) % 2147483648; return Math.floor(seed / 65536) % n; };
    const one = (list) => list[random(list.length)];
    const marks = new Marks(structuredClone(state));
    const shown = () => structuredClone({ entities: marks.entities, relations: marks.relations });
    const stages = [], past = [], future = [];
    let uids = 0;
    const choices = {
      mark() {
        const start = random(5), end = Math.min(4, start + random(3));
        return { kind: "entity", verb: "add", uid: `new${uids++}`, label: one(labels.entity), start, end };
      },
      relate() {
        const [source, target] = [one(marks.entities)?.uid, one(marks.entities)?.uid];
        return { kind: "relation", verb: "add", uid: `new${uids++}`, label: one(labels.relation), source, target };
      },
      label: (kind, { uid, label }) => ({ kind, verb: "label", uid, label: random(2) ? label : one(labels[kind]) }),
      resize: (kind, { uid, label }) => ({ kind, verb: "resize", uid, label, start: random(3), end: 2 + random(3) }),
      reverse: (kind, { uid, label, ...ends }) => ({ kind, verb: "reverse", uid, label, ...turned(ends) }),
      remove: (kind, { uid }) => ({ kind, verb: "remove", uid }),
    };
    const OF_MARKS = { entity: ["label", "label", "resize", "remove"], relation: ["label", "label", "reverse", "remove"] };
    const choose = () => {
      const kind = one(["entity", "entity", "relation"]);
      const mark = one([...marks[kind].values()]);
      const operation = choices[one(["mark", "relate", ...(mark ? OF_MARKS[kind] : [])])](kind, mark);
      const after = { ...mark, ...operation };
      const isRelatedToItself = after.kind === "relation" && after.source === after.target;
      const hasTwin = operation.verb !== "remove" && marks.twin(after.kind, after, after.label);
      return isRelatedToItself || hasTwin ? choose() : operation;
    };
    const perform = (operations) => {
      const before = marks.copy();
      const performed = [], inverses = [];
      for (const operation of operations) {
        const inverse = marks.apply(operation);
        if (inverse) performed.push(operation), inverses.unshift(...inverse);
      }
      const back = marks.copy();
      inverses.forEach((inverse) => back.apply(inverse));
      if (!back.same(before)) throw new Error(`${JSON.stringify(performed)} is not taken back`);
      stages.push({ sent: performed.map((operation) => [operation, ...requestOf(operation)]), ...shown() });
      return { redo: performed, undo: inverses };
    };
    const go = (from, to, way) => {
      const step = from.pop();
      perform(step[way]);
      to.push(step);
    };
    for (let n = 0; n < 12; n++) {
      const dice = random(4);
      if (dice === 0 && past.length) go(past, future, "undo");
      else if (dice === 1 && future.length) go(future, past, "redo");
      else {
        const step = perform([choose()]);
        if (step.redo.length) past.push(step), future.length = 0;
      }
    }
    while (past.length) go(past, future, "undo");
    if (!marks.same({ ...state, done: false })) throw new Error("Not all is as it was");
    while (future.length) go(future, past, "redo");
    while (past.length) go(past, future, "undo");
    return stages;
  };
  return JSON.stringify(seeds.map(walk));
}"""


@pytest.fixture
def given(alice, carol):
    """Items with the same suggested marks, and relations between three of them."""
    text = "".join(f"one two three four five {n}\n" for n in range(WALKS))
    project = factories.project(by=alice, annotators=[carol], text=text)
    suggested = {"status": "suggested", "origin": "given"}
    label, part = project.entity_ontology.items()[0], project.relation_ontology.items()[0]
    annotations = [Annotation.objects.create(item=item) for item in project.dataset.items()]
    for annotation in annotations:
        ends = [
            annotation.entity_set.create(uid=f"e{n}", label=label, start=start, end=end, **suggested)
            for n, (start, end) in enumerate(SPANS)
        ]
        for n in (1, 2):
            annotation.relation_set.create(uid=f"r{n}", label=part, source=ends[0], target=ends[n], **suggested)
    return annotations


class Replay:
    """Sends what the browser would send, with the proofs that the answers bring, and knows marks by the uids of the server."""

    def __init__(self, item, user) -> None:
        self.item, self.user = item, user
        self.base = f"/projects/{item.dataset.project_id}/items/{item.pk}/"
        self.client = Client()
        self.client.force_login(user)
        self.proofs: dict[tuple, str] = {}
        self.uids: dict[tuple, str] = {}

    def named(self, kind, mark) -> dict:
        kinds = {"uid": kind, "source": "entity", "target": "entity"}
        return {name: self.uids.get((kinds.get(name), value), value) for name, value in mark.items()}

    def send(self, operation, path, body) -> None:
        kind = operation["kind"]
        body = self.named(kind, body)
        if not path.endswith(("remove/", "suggest/")):
            body["proof"] = self.proofs.get((kind, body["uid"], operation["label"]), "")
        answer = self.client.post(self.base + path, json.dumps(body), content_type="application/json")
        assert answer.status_code == 200, (path, body, answer.json())
        for mark in answer.json().get("was", ()):
            self.proofs[mark["kind"], mark["uid"], mark["label"]] = mark["proof"]
        if path.endswith("add/"):
            self.uids[kind, operation["uid"]] = answer.json()[kind]["uid"]

    def check(self, stage) -> None:
        stored = marks_states([Annotation.visible_to(self.user, self.item)])[0]
        for kind, marks in (("entity", "entities"), ("relation", "relations")):
            names = ["uid", "label", "status", *MARKS[kind].place_fields]
            shown, there = (
                [{name: each[name] for name in names} for each in these] for these in (stage[marks], stored[marks])
            )
            named = [self.named(kind, mark) for mark in shown]
            assert sorted(named, key=str) == sorted(there, key=str), stage["sent"]


def test_undo_and_redo_are_exact(page, given, carol):
    document = json.loads(offers.labels_json(given[0].item.dataset.project))
    labels = {kind: [row[0] for row in rows] for kind, rows in document.items()}
    page.goto("/accounts/login/")
    walks = json.loads(page.evaluate(WALK, [list(range(300)), marks_states(given[:1])[0], labels]))
    for annotation, walk in zip(given, walks, strict=False):  # the others are for the browser alone
        replay = Replay(annotation.item, carol)
        for n, stage in enumerate(walk):
            try:
                for sent in stage["sent"]:
                    replay.send(*sent)
                replay.check(stage)
            except AssertionError as error:
                raise AssertionError([each["sent"] for each in walk[: n + 1]]) from error
