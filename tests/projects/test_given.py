"""Who has which item: what pages, saving, counting, previews and withdrawal say of random data, beside the rule in Python."""

import random

import pytest
from django.utils import timezone

from annotation_service.db import write
from annotation_service.models import User
from datasets.models import Annotation, Item
from projects.assignment import item_counts
from projects.assignment.assigned import GivenCounts, given_item
from projects.assignment.groups import group_of_each, with_groups
from projects.assignment.rule import AssignmentRule
from projects.models import Assignment, ItemCounts, Project, Withheld
from tests import factories
from tests.soak import amount

ITEMS = 12
ROLES = {"alice": "manager", "ann": "annotator", "ben": "annotator", "inactive": "annotator", "reviewer": "reviewer"}
ANNOTATING = ("alice", "ann", "ben", "inactive")
WORKING = {"ann", "ben"}


def is_for_all(rule, position):
    sampled = (position + 1) * rule.overlap // 100 > position * rule.overlap // 100
    return rule.annotators_per_item is None or position < rule.calibration or sampled


class Scene:
    """A project in which anything may be stored, and the rule by which it has to be read."""

    def __init__(self, rng, people):
        self.people = people
        text = "".join(f"item {n}\n" for n in range(ITEMS))
        self.project = factories.project(by=people["alice"], text=text)
        for name in ("ann", "ben", "inactive", "reviewer"):
            self.project.add_members([people[name]], ROLES[name])
        per_item = rng.choice([None, 1, 2])
        self.rule = AssignmentRule(per_item, rng.choice([0, 0, 10, 40]) if per_item else 0, rng.choice([0, 0, 1, 4]))
        self.next = AssignmentRule(rng.choice([None, 1]), calibration=rng.choice([0, 3]))
        self.below = rng.choice([-1, -1, 0, 5, ITEMS])
        next_rule = {f"next_{name}": value for name, value in self.next.values.items()}
        Project.objects.filter(pk=self.project.pk).update(**self.rule.values, **next_rule, next_below=self.below)
        self.project.refresh_from_db()
        self.items = {item.pk: item.position for item in self.project.all_items()}
        gone = rng.sample(list(self.items), rng.randrange(4))
        Item.objects.filter(pk__in=gone).update(removed_at=timezone.now())
        self.live = self.items.keys() - set(gone)
        self.project.dataset_set.update(item_count=len(self.live))
        pairs = {
            (name, item): rng.choice(["", "", "assigned", "withheld"]) for name in ANNOTATING for item in self.items
        }
        self.assigned, self.withheld = ({p for p, way in pairs.items() if way == of} for of in ("assigned", "withheld"))
        for model, stored in ((Assignment, self.assigned), (Withheld, self.withheld)):
            model.insert([(people[name].pk, item) for name, item in stored], by=people["alice"])
        states = {
            (name, item): rng.choice(["", "", "unbegun", "begun", "done"]) for name in ROLES for item in self.items
        }
        self.begun = {pair for pair, state in states.items() if state in ("begun", "done")}
        self.done = {pair for pair, state in states.items() if state == "done"}
        self.unbegun = {pair for pair, state in states.items() if state == "unbegun"}
        now = timezone.now()
        Annotation.objects.bulk_create(
            Annotation(
                item_id=item,
                annotator=people[name],
                started_at=now if (name, item) in self.begun else None,
                done_at=now if (name, item) in self.done else None,
            )
            for name, item in self.begun | self.unbegun
        )

    def has(self, name, item):
        if name not in ANNOTATING or item not in self.live or (name, item) in self.withheld:
            return False
        rule = self.next if self.items[item] < self.below else self.rule
        return is_for_all(rule, self.items[item]) or (name, item) in self.assigned

    def given(self, name):
        return {item for item in self.items if self.has(name, item)}

    def left(self, name):
        first = {item for item in self.given(name) if self.items[item] < self.rule.calibration}
        return {item for item in first if (name, item) not in self.done}

    def may_annotate(self, name, item):
        is_open = self.items[item] < self.rule.calibration or (name, item) in self.begun or not self.left(name)
        return self.has(name, item) and is_open

    def is_done(self, item):
        finished = {name for name, done in self.done if done == item}
        holders = {name for name in WORKING if self.has(name, item)}
        return len(finished & WORKING) >= len(holders) if holders else bool(finished)


def check(scene, counts):
    project, people = scene.project, scene.people
    names = {person.pk: name for name, person in people.items()}
    left = project.calibration_left_by_person()
    for name, person in people.items():
        for item in scene.items:
            found = given_item(person, project.pk, item)
            assert (found.pk if found else None) == (item if scene.may_annotate(name, item) else None)
        if name in ANNOTATING:
            given = [item.pk for item in project.assigned_to(person)]
            assert given == sorted(scene.given(name), key=scene.items.get)
            assert {item.pk for item in project.items_for(person)} == {i for i in given if scene.may_annotate(name, i)}
            assert (
                counts.of(project.pk, person.pk)
                == len(given)
                == GivenCounts([project], person).of(project.pk, person.pk)
            )
            assert project.calibration_left(person) == left[person.pk] == len(scene.left(name))
    everybody = frozenset(person.pk for person in project.all_annotating())
    groups = group_of_each(with_groups(project.all_items(), project.rule_now, project.rule_now))
    assert {(names[person], item) for item, group in groups for person in group.given(everybody)} == {
        (name, item) for name in ANNOTATING for item in scene.given(name)
    }
    figures = ItemCounts.objects.get(project=project)
    assert figures.begun == len({item for _, item in scene.begun} & scene.live)
    assert figures.done == sum(scene.is_done(item) for item in scene.live)
    project._withdraw_batches(write)
    stayed = Annotation.objects.filter(item__in=scene.live, started_at=None)
    pairs = {(names[person], item) for person, item in stayed.values_list("annotator", "item")}
    assert pairs == {(name, item) for name, item in scene.unbegun if scene.has(name, item)}


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(amount(8, 400)))
def test_everything_says_the_same_of_who_has_what(seed, alice):
    rng = random.Random(seed)
    people = {"alice": alice, **{name: factories.user(name) for name in ROLES if name != "alice"}}
    scenes = [Scene(rng, people) for _ in range(2)]
    User.objects.filter(username="inactive").update(is_active=False)
    for scene in scenes:
        item_counts.forget(scene.project.pk)
    item_counts.refresh()
    counts = GivenCounts([scene.project for scene in scenes])
    for scene in scenes:
        check(scene, counts)
    (here, there), outsider = scenes, factories.user("outsider")
    assert not any(given_item(outsider, here.project.pk, item) for item in here.items)
    assert not any(given_item(alice, there.project.pk, item) for item in here.items)
    assert given_item(alice, 2**63, 1) is given_item(alice, here.project.pk, 2**63) is None
