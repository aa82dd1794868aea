"""Decisions whose process is killed are there as a whole or not at all; those of several people at once do not lose one another;
jobs that take over many items."""

import random
from contextlib import suppress
from itertools import count

import pytest

from annotation_service import jobs
from annotation_service.db import write
from annotation_service.inputs import Refused
from annotation_service.models import Job, start_job
from datasets.models import Annotation, Entity, Item, Layer, Relation
from quality.comparison import Marked
from quality.deciding import settle
from quality.models import GoldDecision, Overruled, Verdict
from quality.review import Review
from quality.voices import marked_in
from tests import faults
from tests.quality.conftest import review, say, told
from tests.soak import amount
from tests.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)
WHOLE = (GoldDecision, Verdict, Overruled, Entity, Relation)


@pytest.fixture
def disputed(items, carol, dave, erin):
    item = items[1]
    say(item, carol, "Thermostat 1-3", "State 4-5", "DrivingObject 0", "hasPart: State 4-5 > Thermostat 1-3")
    say(item, dave, "SensingObject 1-3", "State 4-5", "hasPart: State 4-5 > SensingObject 1-3")
    say(item, erin, "Thermostat 1-2", "State 4", "hasPart: Thermostat 1-2 > State 4")
    return item


def locked(item, act):
    """What a view does."""
    with write():
        Item.objects.select_for_update(no_key=True).get(pk=item.pk)
        found = review(item)
        act(found)
        return found


def counts():
    return [model.objects.count() for model in WHOLE]


def test_a_decision_is_whole_or_absent_wherever_it_is_killed(disputed, alice):
    def decide():
        locked(disputed, lambda found: found.decide(found.seen[1].sign, "1", by=alice))

    before, ends, kills = counts(), set(), 0
    for number in count(1, amount(7, 1)):
        was_killed = faults.killed_at(number, decide)
        ends.add(tuple(counts()))
        kills += was_killed
        with write():
            for model in (Overruled, Verdict, GoldDecision):
                model.objects.all().delete()
            for annotation in Annotation.objects.filter(layer=Layer.GOLD):
                annotation.relation_set.all().delete()
                annotation.entity_set.all().delete()
                annotation.delete()
        if not was_killed:
            break
    assert kills > 2 and len(ends) == 2 and tuple(before) in ends


def test_two_who_decide_at_once_lose_nothing(disputed, alice, bob):
    signs = [each.sign for each in review(disputed).seen if each.standing.state == "open"]
    assert len(signs) > 1

    def decide(number, person):
        locked(disputed, lambda found: found.decide(signs[number], "1", by=person))

    at_once(lambda: decide(0, alice), lambda: decide(1, bob))
    assert GoldDecision.objects.count() == 2
    found = review(disputed)
    assert found.marked == found.deliberation.gold

    def again(person):
        try:
            locked(disputed, lambda found: found.decide(sign, "neither", by=person))
            return "stored"
        except Refused:
            return "refused"

    sign = review(disputed).seen[0].sign
    assert sorted(at_once(lambda: again(alice), lambda: again(bob))) == ["refused", "stored"]


def everything(item) -> Marked:
    [gold] = marked_in([Annotation.gold(item).pk]).values()
    return gold


def test_the_gold_is_what_follows_from_the_decisions_whatever_is_done(items, carol, dave, erin, alice, bob):
    """Random work on an item: deciding, undoing, bringing back, editing by hand, people who mark anew."""
    chance, item = random.Random(26), items[1]
    marks = ["Thermostat 1-3", "SensingObject 1-3", "Thermostat 2-3", "State 4-5", "State 5", "DrivingObject 0"]

    def somebody():
        some = chance.sample(marks, 3)
        return [*some, f"hasPart: {some[0]} > {some[1]}"] if chance.random() < 0.7 else some

    def decide(found):
        chosen = chance.choice(found.seen)
        options = [str(n + 1) for n in range(len(chosen.standing.group.options))]
        found.decide(chosen.sign, chance.choice([*options, "both", "neither"]), by=person)

    def edit(found):
        gold = found.begin_editing()
        if chance.random() < 0.5 and (entity := gold.entity_set.order_by("?").first()):
            entity.remove()
        else:
            label = chance.choice(list(item.dataset.project.entity_ontology.items()))
            start = chance.randrange(len(item.tokens))
            gold.add_entity(uid=f"new{chance.random()}", label=label, start=start, end=start)
        found.note_edit(by=person)

    for person in (carol, dave, erin):
        say(item, person, *somebody())

    def simply(verb):
        return lambda found: getattr(found, verb)(by=person)

    work = [decide, decide, decide, edit, *map(simply, ("undo", "redo", "take_agreed"))]
    for _ in range(amount(60, 1500)):
        person = chance.choice([alice, bob])
        act = chance.choice(work)
        with suppress(Refused):
            locked(item, act)
        if chance.random() < 0.1:
            say(item, chance.choice([carol, dave, erin]), *somebody())
        found = review(item)
        if found.gold:
            assert told(found.gold) == told(Annotation.gold(item))
            assert found.marked == settle([verdict.ruling for verdict in found.verdicts])


def test_what_people_agree_about_is_taken_over_in_all_items(items, carol, dave, erin, alice, project):
    first, second, third = items
    for person in (carol, dave):
        say(first, person, "PhysicalObject 1-2")
        say(second, person, "State 4-5", f"{'Thermostat' if person == carol else 'SensingObject'} 1-3")
    say(third, carol, "State 0")
    job = start_job("take_over", title="t", by=alice, target={"project": project.pk, "what": "agreed"})
    jobs.run(jobs.claim(pk=job.pk))
    job.refresh_from_db()
    assert (job.state, job.result["text"]) == ("done", "Marks were taken over in 2 items, and 1 item is decided.")
    assert told(Annotation.gold(first)) == ["PhysicalObject 1-2"] and Annotation.gold(first).done_at
    assert told(Annotation.gold(second)) == ["State 4-5"] and not Annotation.gold(second).done_at
    assert Annotation.gold(third) is None


def test_what_came_with_the_dataset_becomes_gold(items, carol, alice, project):
    given = say(items[0], None, "PhysicalObject 1-2", done=False)
    given.entity_set.update(origin="given", status="suggested")
    job = start_job("take_over", title="t", by=alice, target={"project": project.pk, "what": "given"})
    jobs.run(jobs.claim(pk=job.pk))
    assert Job.objects.get(pk=job.pk).state == "done"
    assert told(Annotation.gold(items[0])) == ["PhysicalObject 1-2"]
    [reviewed] = Review.of(project, [Item.objects.get(pk=items[0].pk)])
    assert reviewed.is_decided and [each.kind for each in GoldDecision.objects.all()] == ["given"]


def test_nobody_takes_over_what_they_annotated_themselves(items, carol, dave, project):
    project.reviews_own = False
    project.membership_set.filter(user=carol).update(role="manager")
    project.save(update_fields=["reviews_own"])
    for person in (carol, dave):
        say(items[0], person, "PhysicalObject 1-2")
    job = start_job("take_over", title="t", by=carol, target={"project": project.pk, "what": "agreed"})
    jobs.run(jobs.claim(pk=job.pk))
    assert Annotation.gold(items[0]) is None
