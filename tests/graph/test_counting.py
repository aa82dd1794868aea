"""What is kept of how often nodes are marked: as counted plainly, however marks, states, texts and items have changed since."""

import random
from collections import Counter
from contextlib import suppress

import pytest

from annotation_service.inputs import Refused
from datasets.models import Annotation, Entity, Item, Layer, Relation, TextCorrection
from datasets.models.correction import cut_anew
from graph import counting
from graph.counting import refresh, refresh_quickly, signature_now, stale
from graph.models import CountedItem, EdgeTotal, Graph, ItemEdge, ItemNode, NodeTotal, SurfaceForm
from graph.models.counts import at_least
from quality.comparison import GIVEN_VOICE
from quality.voices import GOLD_VOICE
from tests import factories
from tests.graph.conftest import form
from tests.quality.conftest import label, review, say
from tests.quality.test_counting import decide_gold, some_marks
from tests.resource_sets import make
from tests.soak import amount
from tests.threads import at_once

WORDS = ["pump", "Pump", "PUMP", "oil", "oil-pump", "the", "Straße", "STRASSE", "thermostat"]


def naive(project, by_node=True):
    """Totals of a plain count of all rows, by voice: of nodes marks and ends of relations, of edges marks; or of forms."""
    nodes, edges = Counter(), Counter()
    forms = SurfaceForm.objects.filter(graph=project.dataset.pk, node__isnull=False).select_related("node")
    standing = {(each.label, each.text): (each.node.label, each.node.text) for each in forms if by_node}
    for item in project.all_items():
        for said, voices in said_in(item).items():
            *_, one = ends = [form_of(item, place) for place in said if isinstance(place, tuple)]
            ends = [standing.get(end, end) for end in ends]
            for voice, number in counted(voices):
                if len(said) == 1:
                    nodes[voice, standing.get(one, one), "marks"] += number
                else:
                    edges[voice, ends[0], said[1], ends[1]] += number
                    nodes[voice, ends[0], "ends"] += number
                    nodes[voice, ends[1], "ends"] += number
    return +nodes, +edges


def said_in(item):
    """Places of an item, or two with the relation between them, by those who say so."""
    found = {}
    for annotation in Annotation.objects.filter(item=item):
        voice, counts = annotation.annotator_id, {"status": "accepted"}
        if annotation.layer == Layer.GIVEN:
            voice, counts = GIVEN_VOICE, {"origin": "given"}
        elif annotation.layer == Layer.GOLD:
            voice = GOLD_VOICE
        if annotation.done_at is None if voice == GOLD_VOICE else voice > 0 and annotation.started_at is None:
            continue
        here = {}
        for mark in Entity.objects.filter(annotation=annotation, **counts):
            here[mark.pk] = mark.start, mark.end, mark.label_id
            found.setdefault((here[mark.pk],), set()).add(voice)
        for mark in Relation.objects.filter(annotation=annotation, **counts):
            if mark.source_id in here and mark.target_id in here:
                found.setdefault((here[mark.source_id], mark.label_id, here[mark.target_id]), set()).add(voice)
    return found


def form_of(item, place):
    start, end, of = place
    return of, " ".join(words_of(item, start, end).casefold().split())


def words_of(item, start, end):
    """The words as they stand in the text, where its tokens tell their places; else the tokens."""
    if item.offsets is None or None in (item.offsets[start], item.offsets[end]):
        return " ".join(item.tokens[start : end + 1])
    return item.original[item.offsets[start][0] : item.offsets[end][1]]


def counted(voices):
    people = [voice for voice in voices if voice > 0]
    yield from ((voice, 1) for voice in voices)
    yield from ((at_least(number), len(people)) for number in range(1, len(people) + 1))


def kept(graph):
    nodes, edges = Counter(), Counter()
    for total in NodeTotal.objects.filter(graph=graph).select_related("node"):
        nodes[total.voice, (total.node.label, total.node.text), "marks"] += total.marks
        nodes[total.voice, (total.node.label, total.node.text), "ends"] += total.relations
    for total in EdgeTotal.objects.filter(graph=graph).select_related("subject", "object"):
        one, other = ((each.label, each.text) for each in (total.subject, total.object))
        edges[total.voice, one, total.label, other] += total.marks
    return +nodes, +edges


def check(graph):
    """That everything is counted, as it is."""
    graph = Graph.objects.get(pk=graph.pk)
    assert [some for some in stale(graph) if some] == [] and graph.signature == signature_now(graph)
    assert kept(graph) == naive(graph.project)
    assert not NodeTotal.objects.filter(marks__lte=0) and not EdgeTotal.objects.filter(marks__lte=0)
    assert not NodeTotal.objects.exclude(node__node=None) and not SurfaceForm.objects.filter(node__node__isnull=False)


@pytest.fixture
def busy(alice, carol, dave):
    """A project of items with many of the same words, some of which came with marks."""
    labels = factories.ontology(owner=alice)
    relations = factories.ontology(owner=alice, kind="relation")
    rng = random.Random(0)
    texts = [[rng.choice(WORDS) for _ in range(rng.randint(2, 6))] for _ in range(6)]
    document = [
        {
            "original": "  ".join(tokens),
            "tokens": tokens,
            "entities": [
                {"id": "a", "start": 0, "end": 0, "label": "State"},
                {"id": "b", "start": 1, "end": 1, "label": "Activity"},
            ],
            "relations": [{"source_id": "a", "target_id": "b", "label": "hasPart"}],
        }
        for tokens in texts
    ]
    options = {"kind": "preannotated_relation", "format": "json", "name": "Busy"}
    options |= {"entity_ontology": labels.pk, "relation_ontology": relations.pk}
    dataset = factories.upload(document, by=alice, options=options, name="busy.json").store()
    people = [carol, dave, factories.user("erin")]
    project = factories.project(by=alice, of=dataset, entities=labels, relations=relations, annotators=people)
    project.reviews_own = True
    project.save(update_fields=["reviews_own"])
    return project, people


class Life:
    """Something happens in a project, by chance."""

    def __init__(self, project, people, by, seed):
        self.project, self.people, self.by, self.rng = project, people, by, random.Random(seed)
        self.corrections = []

    def step(self):
        item = self.rng.choice(
            list(Item.with_removed.select_related("dataset__project").filter(dataset=self.project.dataset))
        )
        marking = [self.say, self.add, self.remove, self.relabel, self.decide, self.state]
        what = self.rng.choice([*marking, self.gold, self.bin, self.delete, self.correct, self.merge, self.split])
        person = self.rng.choice(self.people)
        if item.removed_at and what != self.bin:
            return
        with suppress(Refused):
            what(item, person)

    def say(self, item, person):
        say(item, person, *some_marks(self.rng, len(item.tokens)), done=self.rng.random() < 0.5)

    def _own(self, item, person):
        return Annotation.start(item, person)  # which every change of marks begins with

    def _mark(self, item, person):
        annotation = self._own(item, person)
        marks = [*annotation.entity_set.exclude(status="rejected"), *annotation.relation_set.exclude(status="rejected")]
        return self.rng.choice(marks) if marks else None

    def add(self, item, person):
        start = self.rng.randrange(len(item.tokens))
        end = min(len(item.tokens) - 1, start + self.rng.randint(0, 1))
        of = label(self.project, self.rng.choice(["State", "Activity", "Thermostat"]))
        uid = f"new{self.rng.random()}"[:12]
        self._own(item, person).add_entity(uid=uid, label=of, start=start, end=end)

    def remove(self, item, person):
        if mark := self._mark(item, person):
            mark.remove()

    def relabel(self, item, person):
        mark = self._mark(item, person)
        if isinstance(mark, Entity):
            mark.relabel(label(self.project, self.rng.choice(["State", "Activity", "Thermostat"])))

    def decide(self, item, person):
        if mark := self._mark(item, person):
            mark.accept()

    def state(self, item, person):
        annotation = self._own(item, person)
        annotation.finish() if annotation.done_at is None else annotation.reopen()

    def gold(self, item, _):
        found = review(item)
        if found.is_decided:
            found.reopen()
        elif self.rng.random() < 0.3:
            found.undo(by=self.by)
        else:
            decide_gold(item, self.by)

    def bin(self, item, _):
        dataset = self.project.dataset
        if item.removed_at:
            dataset.restore(dataset.bin().filter(pk=item.pk))
        else:
            dataset.remove(dataset.items().filter(pk=item.pk), by=self.by)

    def delete(self, item, person):
        membership = self.project.membership_set.filter(user=person).first()
        if membership and self.rng.random() < 0.3:
            self.project.remove_member(membership, with_marks=True)
            self.project.add_members([person], by=self.by)

    def merge(self, *_):
        graph, forms = self._forms()
        if len(forms) > 2:
            target, *others = self.rng.sample(forms, 3)
            graph.merge(target, others, by=self.by)

    def split(self, *_):
        graph, forms = self._forms()
        change = self.rng.choice(
            [graph.undo, graph.redo, lambda by: graph.split(self.rng.choices(forms) if forms else [], by=by)]
        )
        change(by=self.by)

    def _forms(self):
        graph = Graph.of(self.project)
        return graph, sorted(graph.forms.values_list("digest", flat=True))

    def correct(self, item, _):
        if self.corrections and self.rng.random() < 0.5:
            self.corrections.pop().undo(by=self.by)
            return
        words = item.original.split()
        words[self.rng.randrange(len(words))] = self.rng.choice(WORDS)
        text = " ".join(words)
        made = TextCorrection.make(item, cut_anew(item, text), by=self.by, was_version=item.text_version)
        self.corrections.append(made)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(amount(4, 30)))
def test_totals_are_those_of_a_plain_count_whatever_has_happened(busy, alice, seed, monkeypatch):
    project, people = busy
    monkeypatch.setattr(counting, "ITEMS_READ", 4)
    monkeypatch.setattr(counting, "ITEMS_AT_ONCE", 2)
    life, graph = Life(project, people, alice, seed), Graph.of(project)
    for _ in range(amount(15, 60)):
        before = naive(project, by_node=False)
        for _ in range(life.rng.randint(1, 3)):
            life.step()
        if naive(project, by_node=False) != before:
            assert signature_now(graph) != graph.signature and any(stale(graph))
        refresh(graph)
        check(graph)
    everything = kept(graph)
    for model in (ItemNode, ItemEdge, CountedItem, NodeTotal, EdgeTotal):
        model.objects.all().delete()
    refresh(graph)
    assert kept(graph) == everything


def test_only_what_has_changed_is_counted(graph, items, dave, django_assert_max_num_queries):
    with django_assert_max_num_queries(3):
        assert refresh_quickly(graph)
    keys = dict(ItemNode.objects.values_list("pk", "item"))
    say(items[0], dave, "State 0")
    assert [dict(some).keys() for some in stale(graph) if some] == [{items[0].pk}]
    assert refresh_quickly(graph)
    check(graph)
    kept_rows = set(ItemNode.objects.values_list("pk", flat=True))
    assert {pk for pk, item in keys.items() if item != items[0].pk} <= kept_rows
    say(items[2], dave)
    refresh(graph)
    check(graph)


def test_what_takes_long_is_not_counted_while_somebody_waits(graph, items, carol, monkeypatch):
    monkeypatch.setattr(counting, "QUICK", 1)
    for item in items[:2]:
        say(item, carol, "State 0")
    before = kept(graph)
    assert not refresh_quickly(graph) and kept(graph) == before
    refresh(graph)
    assert refresh_quickly(graph)
    check(graph)


def test_suggestions_and_unbegun_work_count_for_nobody(graph, project, items, carol, dave):
    before = kept(graph)
    annotation = Annotation.start(items[3], dave)
    annotation.entity_set.create(uid="s", label=label(project, "State"), start=1, end=1, status="suggested")
    annotation.entity_set.create(uid="r", label=label(project, "State"), start=0, end=1, status="rejected")
    unbegun = Annotation.prepare(items[2], dave)
    unbegun.entity_set.create(uid="u", label=label(project, "State"), start=0, end=0)
    refresh(graph)
    assert kept(graph) == before == naive(project)
    Annotation.start(items[2], dave)
    refresh(graph)
    assert kept(graph) != before
    check(graph)


def test_items_that_take_the_place_of_others_are_noticed(project, items, graph, carol, alice):
    """Although the sums of all that is counted are the same."""
    for item in items:
        say(item, carol, "State 0")
        Annotation.objects.filter(item=item).exclude(annotator=carol).update(started_at=None)
    Annotation.objects.update(revision=2)
    dataset = project.dataset
    dataset.remove(dataset.items().filter(pk__in=[items[1].pk, items[2].pk]), by=alice)
    refresh(graph)
    dataset.restore(dataset.bin())
    dataset.remove(dataset.items().filter(pk__in=[items[0].pk, items[3].pk]), by=alice)
    assert refresh_quickly(graph)
    check(graph)


def test_marks_that_break_rules_are_counted(alice, carol, dave):
    own = {each: factories.ontology(owner=alice, kind=each) for each in ("entity", "relation")}
    document = [{"relation": "hasPart", "domain": "PhysicalObject", "range": ["State"]}]
    rules = make(
        "relation_constraints", owner=alice, entities=own["entity"], relations=own["relation"], document=document
    )
    project = factories.project(
        by=alice, entities=own["entity"], relations=own["relation"], resources=[rules], annotators=[carol, dave]
    )
    item, wrong = project.all_items()[0], "hasPart: State 0 > PhysicalObject 1"
    say(item, carol, "PhysicalObject 1", "State 0", wrong, "hasPart: PhysicalObject 1 > State 0")
    say(item, dave, "PhysicalObject 1", "State 0", wrong)
    graph = Graph.of(project)
    refresh(graph)
    found = EdgeTotal.objects.exclude(broken=0).values_list("voice", "subject__text", "marks", "broken")
    assert sorted(found) == sorted(
        [(who, "replace", 1, 1) for who in (carol.pk, dave.pk)] + [(at_least(n), "replace", 2, 2) for n in (1, 2)]
    )
    check(graph)


def test_stemmed_forms_keep_the_words_of_before(graph):
    graph.edit(stem="english")
    refresh(graph)
    row = graph.forms.get(text="not work")
    assert row.words == "not working" and str(row) == "not working"
    assert form(graph, "thermostat") and graph.forms.filter(text="thermostats").exists()
    assert not NodeTotal.objects.filter(node__text="thermostats")


@pytest.mark.django_db(transaction=True)
def test_it_is_counted_once_whoever_counts_at_the_same_time(settings):
    alice, people = factories.manager("alice"), [factories.user(name) for name in ("carol", "dave")]
    project = factories.project(by=alice, annotators=people, text="a b c d e f\n" * 12)
    rng = random.Random(0)
    for item in project.all_items():
        for person in people:
            say(item, person, *some_marks(rng, 6))
    own = [Graph.of(type(project).objects.get(pk=project.pk)) for _ in range(3)]

    def mark():
        for item in project.all_items()[:6]:
            say(item, people[0], "State 0", "Activity 1")

    at_once(*(lambda graph=graph: refresh(graph) for graph in own), mark)
    refresh(own[0])
    check(own[0])


def test_a_label_that_comes_while_marks_are_counted_has_its_uid(graph, project, items, carol, monkeypatch):
    """The labels are those of the moment in which marks are read."""
    read = counting.stale

    def late(of):
        project.entity_ontology.add_item("Latecomer", by=project.created_by)
        say(items[3], carol, "Latecomer 0")
        yield from read(of)

    monkeypatch.setattr(counting, "stale", late)
    say(items[2], carol, "Thermostat 0")
    refresh(graph)
    made = graph.forms.get(label=label(project, "Latecomer").pk)
    assert made.digest == counting.digest(label(project, "Latecomer").uid, made.text)


def test_who_counts_at_the_same_time_leaves_nothing_old(graph, items, carol, monkeypatch):
    say(items[2], carol, "Thermostat 0")
    store_now = counting._store

    def slow(of, rows):
        monkeypatch.setattr(counting, "_store", store_now)
        say(items[2], carol, "Thermostat 0", "State 1")
        refresh(Graph.of(of.project))  # somebody else, who knows more
        store_now(of, rows)

    monkeypatch.setattr(counting, "_store", slow)
    refresh(graph)
    assert refresh_quickly(Graph.of(graph.project))
    check(Graph.of(graph.project))
