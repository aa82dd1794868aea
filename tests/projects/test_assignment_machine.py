"""Random sequences of what managers and annotators do while items are given to people: nothing that is begun is taken away, and
the rest is shared out as evenly as that allows."""

from collections import Counter

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from annotation_service.models import User
from datasets.models import Annotation, Item
from projects.assignment.rule import AssignmentRule
from projects.models import Assignment, Withheld
from tests import factories
from tests.projects.test_given import is_for_all
from tests.soak import amount, machine_settings

rules = st.builds(
    lambda per_item, overlap, calibration: AssignmentRule(per_item, overlap if per_item else 0, calibration),
    st.sampled_from([None, 1, 1, 2, 3]),
    st.sampled_from([0, 0, 10, 30, 50]),
    st.sampled_from([0, 0, 1, 3]),
)
someone = st.integers(0, 3)
some_people = st.sets(someone, min_size=1, max_size=2)
some_items = st.sets(st.integers(0, 11), min_size=1, max_size=8)


class Assigning(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        number = User.objects.count()
        self.manager = factories.manager(f"manager{number}")
        self.people = [factories.user(f"annotator{number}-{n}") for n in range(4)]

    @initialize(rule=rules, items=st.integers(0, 12))
    def create(self, rule, items):
        text = "".join(f"item {n}\n" for n in range(items or 1))
        dataset = factories.dataset(owner=self.manager, text=text)
        self.project = factories.project(
            by=self.manager,
            of=dataset,
            entities=factories.ontology(owner=self.manager, items=[{"name": "A"}]),
            relations=False,
            annotators=self.people[:2],
            **rule.values,
        )

    # --- What happens ---

    @rule(person=someone, place=st.integers(0, 11), done=st.booleans())
    def begin(self, person, place, done):
        person = self.people[person]
        items = list(self.project.items_for(person)) if person in self.members() else []
        if items:
            annotation = Annotation.start(items[place % len(items)], person)
            if done:
                annotation.finish()

    @rule(person=someone)
    def come_or_go(self, person):
        if member := self.project.membership_set.filter(user=self.people[person]).first():
            self.project.remove_member(member)
        else:
            self.project.add_members([self.people[person]])

    @rule(places=some_items)
    def remove(self, places):
        self.project.dataset.remove(self.at(places), by=self.manager)

    @rule(count=st.integers(1, 4))
    def restore(self, count):
        keys = list(self.project.dataset.bin().values_list("pk", flat=True)[:count])
        self.project.dataset.restore(Item.with_removed.filter(pk__in=keys))

    @rule(count=st.integers(1, 4))
    def add(self, count):
        more = {"by": self.manager, "dataset": self.project.dataset, "options": {"format": "text"}}
        factories.upload("new\n" * count, **more).store()

    @rule(new=rules)
    def change_rule(self, new):
        foreseen = self.project.foresee_rule(new).foresee(self.project.all_annotating())
        before = self.given()
        self.project.set_rule(new, by=self.manager)
        self.project.refresh_from_db()
        now = self.given()
        for each in foreseen:
            had, has = before[each.person], now[each.person]
            told = each.before, each.after, each.gained, each.lost, each.begun
            assert told == (len(had), len(has), len(has - had), len(had - has), len(self.begun(each.person)))
        assert {*self.annotators()} <= {each.person for each in foreseen}

    @rule(people=some_people, places=some_items)
    def give(self, people, places):
        people, items = self.able(people), self.at(places)
        asked = {(person, item) for person in people for item in items.values_list("pk", flat=True)}
        had = self.pairs() & asked
        foreseen = self.project.foresee_by_hand("give", items, people)
        before = self.given()
        assert foreseen == self.project.change_by_hand("give", items, people, by=self.manager)
        self.check_losses(foreseen, before)
        assert (foreseen.changed, foreseen.had) == (len(asked - had), len(had))
        assert asked <= self.pairs()

    def check_losses(self, foreseen, before):
        now = self.given()
        lost = {person: (len(had), len(had - now[person])) for person, had in before.items() if had - now[person]}
        assert {each.person: (each.before, each.lost) for each in foreseen.losses} == lost

    @rule(people=some_people, places=some_items)
    def take(self, people, places):
        people, items = self.able(people), self.at(places)
        asked = {(person, item) for person in people for item in items.values_list("pk", flat=True)}
        had, begun = self.pairs() & asked, {(person, item) for person in people for item in self.begun(person)} & asked
        foreseen = self.project.foresee_by_hand("take", items, people)
        before = self.given()
        assert foreseen == self.project.change_by_hand("take", items, people, by=self.manager)
        self.check_losses(foreseen, before)
        told = foreseen.changed, foreseen.begun, foreseen.had_not
        assert told == (len(had - begun), len(begun), len(asked - had))
        assert self.pairs() & asked == begun

    # --- What holds ---

    @invariant()
    def what_is_begun_stays(self):
        for person, has in self.given().items():
            assert self.begun(person) <= has

    @invariant()
    def shares_are_even(self):
        annotators, given = self.annotators(), self.given()
        loads = Counter({person: len(given[person]) for person in annotators})
        rows = {(row.annotator_id, row.item_id): row.by_id for row in self.stored(Assignment)}
        withheld = {(row.annotator_id, row.item_id) for row in self.stored(Withheld)}
        assert {person for person, _ in rows} <= {member.pk for member in self.members()}
        assert not rows.keys() & withheld
        for item in self.items():
            holders = {person for person in annotators if item.pk in given[person]}
            barred = {person for person in annotators if (person.pk, item.pk) in withheld}
            assert not {person for person in barred & holders if item.pk not in self.begun(person)}
            if is_for_all(self.project.rule, item.position):
                assert holders == {*annotators} - barred
                continue
            fixed = {
                person for person in holders if item.pk in self.begun(person) or rows[person.pk, item.pk] is not None
            }
            able = {*annotators} - barred | fixed
            assert len(holders) == max(len(fixed), min(self.project.annotators_per_item, len(able)))
            for giver in holders - fixed:
                assert all(loads[giver] - loads[taker] <= 1 for taker in able - holders)

    # --- Asking ---

    def members(self):
        return [*self.annotators(), self.manager]

    def annotators(self):
        return list(User.objects.filter(pk__in=self.project.annotators()))

    def able(self, numbers):
        return [person for person in self.members() if person in {self.people[number] for number in numbers}]

    def stored(self, model):
        return model.objects.filter(item__dataset__project=self.project)

    def items(self):
        return list(self.project.all_items())

    def at(self, places):
        keys = [item.pk for place, item in enumerate(self.items()) if place in places]
        return self.project.all_items().filter(pk__in=keys)

    def given(self):
        return {person: set(self.project.assigned_to(person).values_list("pk", flat=True)) for person in self.members()}

    def pairs(self):
        return {(person, item) for person, has in self.given().items() for item in has}

    def work(self, person):
        return Annotation.objects.filter(annotator=person, started_at__isnull=False, item__removed_at=None)

    def begun(self, person):
        here = self.work(person).filter(item__dataset__project=self.project)
        return set(here.values_list("item", flat=True))


@pytest.mark.soak
@pytest.mark.django_db(transaction=True)  # many temporary tables in one would take all locks of PostgreSQL
def test_whatever_happens_begun_work_stays_and_shares_are_even(settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    run_state_machine_as_test(Assigning, settings=machine_settings(amount(3, 400), amount(12, 40)))
