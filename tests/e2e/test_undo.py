"""Undo brings back exactly what was: random operations, undo and redo, on suggestions and own marks. That the server agrees is
`test_random_work`'s."""

import json

import pytest

from annotations import offers
from annotations.requests import marks_states
from tests import factories
from tests.soak import amount

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

SPANS = [(0, 0), (1, 2), (2, 2), (3, 4)]
WALK = """async ([seeds, state, labels]) => {
  const { Marks, turned } = await import("/static/js/annotate/marks.js");
  const walk = (seed) => {
    const random = (n) => { seed = (seed * 1103515245 + 12345) % 2147483648; return Math.floor(seed / 65536) % n; };
    const one = (list) => list[random(list.length)];
    const marks = new Marks(structuredClone(state));
    const past = [], future = [];
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
  };
  seeds.forEach(walk);
}"""


@pytest.fixture
def given(alice, carol):
    """Suggested marks, and relations between three of them."""
    project = factories.project(by=alice, annotators=[carol], text="one two three four five\n")
    suggested = {"status": "suggested", "origin": "given"}
    label, part = project.entity_ontology.items()[0], project.relation_ontology.items()[0]
    annotation = factories.annotation(project.dataset.items().get())
    ends = [
        annotation.entity_set.create(uid=f"e{n}", label=label, start=start, end=end, **suggested)
        for n, (start, end) in enumerate(SPANS)
    ]
    for n in (1, 2):
        annotation.relation_set.create(uid=f"r{n}", label=part, source=ends[0], target=ends[n], **suggested)
    return annotation


def test_undo_and_redo_are_exact(page, given):
    document = json.loads(offers.labels_json(given.item.dataset.project))
    labels = {kind: [row[0] for row in rows] for kind, rows in document.items()}
    page.goto("/accounts/login/")
    page.evaluate(WALK, [list(range(amount(300, 3000))), marks_states([given])[0], labels])
