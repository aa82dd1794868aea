"""What is kept of how marks compare: as counted plainly, however marks, states and texts have changed since."""

import random

import pytest
from django.utils import timezone

from annotation_service.db import write
from datasets.models import Annotation, Item, Layer
from quality.comparison import compare
from quality.counting import (
    RELATION,
    changed_items,
    documents_now,
    items_with,
    kept_documents,
    outlived,
    refresh_counts,
    stale,
)
from quality.models import KeptAgreement, MarkDifference
from quality.voices import GOLD_VOICE, Trees, voices_in
from tests import factories
from tests.quality.conftest import label, review, say

LABELS = ("PhysicalObject", "SensingObject", "Thermostat", "DrivingObject", "Activity", "State")


def some_marks(rng, tokens):
    found = set()
    for _ in range(rng.randint(0, 5)):
        start = rng.randrange(tokens)
        found.add((rng.choice(LABELS), start, min(tokens - 1, start + rng.randint(0, 2))))
    entities = [f"{name} {start}-{end}" for name, start, end in sorted(found)]
    if len(entities) > 1 and rng.random() < 0.6:
        source, target = rng.sample(entities, 2)
        entities.append(f"{rng.choice(['hasPart', 'hasPatient'])}: {source} > {target}")
    return entities


def naive(project):
    """The same pairs without any of the code that counts, but for `compare`."""
    apart, found = Trees(project.ontology_set.all()).apart, {}
    for item in project.all_items():
        voices = voices_in([item.pk], given=project.given_voice, gold=True).get(item.pk, [])
        for n, one in enumerate(voices):
            for other in voices[n + 1 :]:
                if one.who == GOLD_VOICE and not other.who:
                    continue
                a, b = one.marked.entities, other.marked.entities
                compared = compare(one.marked, other.marked, apart)
                same = sum(pair.likeness == "same" for pair in compared.entities)
                assert same == len(a & b)
                at = [
                    [
                        {mark.label for mark in marks if mark.start <= token <= mark.end}
                        for token in range(item.token_count)
                    ]
                    for marks in (a, b)
                ]
                found[item.pk, one.who, other.who] = {
                    "same": same,
                    "one": len(a),
                    "other": len(b),
                    "differences": len(compared.entities) - same,
                    "relations": [len(one.marked.relations), len(other.marked.relations)],
                    "same relations": len(one.marked.relations & other.marked.relations),
                    "spans": len({mark[:2] for mark in a} & {mark[:2] for mark in b}),
                    "both": sum(bool(x and y) for x, y in zip(*at, strict=True)),
                    "either": sum(bool(x or y) for x, y in zip(*at, strict=True)),
                }
    return found


def counted(documents):
    found = {}
    for item, document in documents:
        for one, other, _, entities, relations, spans, words in document["pairs"]:
            rows = [(kind, *row) for kind, rows in entities.items() for row in rows]
            related = [(kind, *row) for kind, rows in relations.items() for row in rows]
            same = sum(n for kind, _, _, n in rows if kind == "same")
            found[item, one, other] = {
                "same": same,
                "one": sum(n for _, label, _, n in rows if label),
                "other": sum(n for _, _, label, n in rows if label),
                "differences": sum(n for *_, n in rows) - same,
                "relations": [sum(n for _, a, _, n in related if a), sum(n for _, _, b, n in related if b)],
                "same relations": sum(n for kind, _, _, n in related if kind == "same"),
                "spans": spans[0],
                "both": sum(n for a, b, n in words if a and b),
                "either": sum(n for *_, n in words),
            }
    return found


def in_order(value):
    if isinstance(value, dict):
        return {key: in_order(each) for key, each in value.items()}
    return sorted(map(in_order, value), key=str) if isinstance(value, list) else value


def stored(project):
    """Everything that is kept, signatures and keys of rows aside."""
    differences = MarkDifference.objects.filter(item__dataset__project=project)
    fields = ("item", "one", "other", "kind", "label", "other_label", "count")
    return [(pk, in_order(document)) for pk, document in kept_documents(project)], sorted(
        differences.values_list(*fields)
    )


@pytest.fixture
def people(project, carol, dave, erin):
    return [carol, dave, erin]


@pytest.mark.parametrize("seed", range(4))
def test_counts_are_those_of_a_plain_count_whatever_has_changed(project, items, people, alice, seed):
    rng = random.Random(seed)
    project.given_voice = seed % 2 == 1
    project.save(update_fields=["given_voice"])
    given = factories.annotation(items[0])
    given.entity_set.create(uid="g", label=label(project, "State"), start=0, end=0, origin="given")
    for _ in range(6):
        for _ in range(rng.randint(1, 4)):
            item, person, what = rng.choice(items), rng.choice(people), rng.random()
            item = Item.objects.select_related("dataset").get(pk=item.pk)
            annotation = Annotation.objects.filter(item=item, annotator=person).first()
            if what < 0.6 or annotation is None:
                say(item, person, *some_marks(rng, item.token_count), done=rng.random() < 0.8)
            elif what < 0.75:
                annotation.finish() if annotation.done_at is None else annotation.reopen()
            elif what < 0.9:
                decide_gold(item, alice)
            else:
                project.dataset.remove(project.dataset.items().filter(pk=item.pk), by=alice)
                project.dataset.restore(Item.with_removed.filter(pk=item.pk))
        assert counted(documents_now(project)) == naive(project)
        assert changed_items(project) == stale(project).count() + outlived(project).count()
        refresh_counts(project)
        assert not stale(project) and not outlived(project)
        assert counted(kept_documents(project)) == naive(project)
    kept = stored(project)
    KeptAgreement.objects.all().delete()
    MarkDifference.objects.all().delete()
    refresh_counts(project)
    assert stored(project) == kept


def decide_gold(item, by):
    with write():
        found = review(item)
        if not found.is_ready:
            return
        if found.is_decided:
            found.reopen()
        for seen in [seen for seen in found.seen if seen.standing.state == "open"]:
            if any(seen.sign == each.sign for each in found.seen):
                found.decide(seen.sign, "1", by=by)
        if not found.is_disputed:
            found.finish(by=by)


def test_a_corrected_text_is_counted_anew(project, items, carol, dave, alice):
    from datasets.models import TextCorrection
    from datasets.models.correction import cut_anew

    say(items[1], carol, "Thermostat 1-3", "State 4-5")
    say(items[1], dave, "Thermostat 1-3")
    refresh_counts(project)
    item = Item.objects.get(pk=items[1].pk)
    TextCorrection.make(item, cut_anew(item, "the air conditioner thermostat not working"), by=alice, was_version=1)
    assert [row.item for row in stale(project)] == [item.pk]
    refresh_counts(project)
    assert counted(kept_documents(project)) == naive(project)


def test_only_what_has_changed_is_counted(project, items, carol, dave):
    for item in items:
        say(item, carol, "State 0")
        say(item, dave, "State 0")

    def counted_anew():
        before = timezone.now()
        refresh_counts(project)
        assert not stale(project) and not outlived(project)
        return [kept.item for kept in KeptAgreement.objects.filter(counted_at__gte=before)]

    assert counted_anew() == items
    assert counted_anew() == []
    say(items[2], dave, "State 1")
    assert counted_anew() == [items[2]]
    Annotation.objects.get(item=items[0], annotator=carol).reopen()
    assert counted_anew() == []
    assert KeptAgreement.objects.count() == 2  # one voice is left in the first


def test_items_are_found_by_how_marks_differ(project, items, carol, dave, erin):
    first, second, third = items
    say(first, carol, "Thermostat 1-2", "State 0")
    say(first, dave, "SensingObject 1-2")
    say(second, carol, "State 4-5", "Activity 0", "hasPart: State 4-5 > Activity 0")
    say(second, dave, "State 4", "Activity 0")
    say(third, dave, "Activity 0")
    say(third, erin, "Activity 0")
    refresh_counts(project)
    names = {name: label(project, name).pk for name in (*LABELS, "hasPart")}

    def found(**asked):
        return list(project.all_items().filter(items_with(**asked)).values_list("position", flat=True))

    assert found(kind="span") == [1]
    assert found(kind="only") == [0]
    assert found(kind=RELATION) == [1]
    assert found(person=carol.pk) == found(person=dave.pk) == [0, 1]
    assert found(person=erin.pk) == []
    assert found(label=names["Thermostat"]) == found(label=names["SensingObject"]) == [0]
    assert found(label=names["State"], kind="span") == [1]
    assert found(label=names["hasPart"]) == [1]
    both = {"label": names["Thermostat"], "other_labels": [names["SensingObject"]]}
    assert found(**both, person=carol.pk) == found(**both, other=dave.pk) == [0]
    assert found(**both, person=dave.pk) == []


def test_it_goes_with_its_items(project, items, carol, dave):
    say(items[0], carol, "State 0")
    say(items[0], dave, "State 1")
    refresh_counts(project)
    project.erase()
    assert not KeptAgreement.objects.exists() and not MarkDifference.objects.exists()


def test_gold_is_compared_with_people_alone(project, items, carol, dave, alice):
    say(items[0], carol, "State 0")
    say(items[0], dave, "State 0", "Activity 1")
    decide_gold(Item.objects.get(pk=items[0].pk), alice)
    assert Annotation.objects.filter(layer=Layer.GOLD, done_at__isnull=False)
    factories.annotation(items[0]).entity_set.create(
        uid="g", label=label(project, "State"), start=0, end=0, origin="given"
    )
    project.given_voice = True
    project.save(update_fields=["given_voice"])
    [(_, document)] = documents_now(project)
    assert [pair.one for pair in document["pairs"]] == [GOLD_VOICE, GOLD_VOICE, 0, 0, carol.pk]
