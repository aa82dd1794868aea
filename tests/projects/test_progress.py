"""How many items of a project are begun and done, whose figures are shown to whom, and that finished projects stand last."""

import random
import re

import pytest

from annotation_service.leaving import set_active
from datasets.models import Annotation, Item
from projects import progress
from projects.assignment import item_counts
from projects.models import ItemCounts, Project
from tests import factories
from tests.queries import queries_of
from tests.soak import SOAK
from work.models import Batch

TEXT = "".join(f"item {n}\n" for n in range(5))


def page_of(client, url):
    return client.get(url).text


def shown(project, user):
    [found] = progress.with_progress(progress.finished_last(Project.objects.filter(pk=project.pk), user), user)
    return found.progress


def counted_anew(project):
    """By the definition: an item is done when all annotators have finished it, or as many as it goes to; without annotators,
    when anybody has."""
    annotators = set(project.annotators())
    enough = min(project.annotators_per_item or len(annotators), len(annotators))
    begun = done = 0
    for item in Item.objects.filter(dataset__project=project):
        work = list(Annotation.objects.filter(item=item, annotator__isnull=False))
        finished = {each.annotator_id for each in work if each.done_at}
        begun += bool(work)
        done += len(finished & annotators) >= enough if annotators else bool(finished)
    return begun, done


@pytest.mark.parametrize("per_item", [None, 2])
def test_the_figures_are_right_after_each_step(alice, per_item):
    people = [factories.user(f"person{n}") for n in range(4)]
    project = factories.project(by=alice, annotators=people[:3], text=TEXT, annotators_per_item=per_item)
    rng = random.Random(None if SOAK else 7)

    def annotate():
        person = rng.choice([*people, *([alice] if per_item is None else [])])
        if items := list(project.items_for(person)) if person.pk in [*project.annotators(), alice.pk] else []:
            annotation = Annotation.start(rng.choice(items), person)
            rng.choices([annotation.finish, annotation.reopen, lambda: None], [6, 1, 2])[0]()

    def switch():
        person = rng.choice(people)
        set_active(person, not person.is_active)

    def come_or_go():
        person = rng.choice(people)
        if member := project.membership_set.filter(user=person).first():
            project.remove_member(member)
        else:
            project.add_members([person])

    def remove():
        kept = list(project.dataset.items())
        project.dataset.remove(Item.objects.filter(pk=kept[rng.randrange(len(kept))].pk if kept else 0), by=alice)

    def restore():
        project.dataset.restore(
            Item.with_removed.filter(pk__in=list(project.dataset.bin().values_list("pk", flat=True)[:1]))
        )

    steps = set()
    for _ in range(60):
        rng.choices([annotate, come_or_go, switch, remove, restore], [12, 1, 1, 1, 1])[0]()
        figures = shown(project, alice)
        begun, done = counted_anew(project)
        assert (figures.touched, figures.done) == (begun, done)
        assert figures.total == project.dataset.item_count
        steps.add(done)
    assert len(steps) > 3, "this shows little"


def test_what_one_person_does_is_not_counted_anew(alice, carol, monkeypatch):
    project = factories.project(by=alice, annotators=[carol])
    shown(project, alice)
    monkeypatch.setattr(item_counts, "_count", None)
    Annotation.start(project.dataset.items()[0], carol).finish()
    Annotation.start(project.dataset.items()[1], carol)
    assert shown(project, alice) == progress.ProjectProgress(total=3, touched=2, done=1)


def test_reading_a_list_writes_only_what_was_to_be_counted(as_alice, carol):
    project = factories.project(by=as_alice.user, annotators=[carol])
    for uncounted in (True, False):
        queries = queries_of(as_alice.get, "/projects/")
        assert any("UPDATE" in query for query in queries) == uncounted
    project.erase()
    assert not ItemCounts.objects.exists()


def test_managers_see_the_projects_progress_and_annotators_their_own(as_alice, as_carol, dave):
    project = factories.project(by=as_alice.user, annotators=[as_carol.user, dave])
    first, second, _ = project.dataset.items()
    Annotation.start(first, as_alice.user).finish()  # helps, but the item is given to two others
    Annotation.start(second, as_carol.user).finish()
    assert "3 items, 0 of them done · 2 begun · 1 untouched" in page_of(as_alice, "/")
    assert "3 items given to you, 1 of them done · 0 begun · 2 untouched" in page_of(as_carol, "/")
    assert '<td class="num">0 / 3</td> <td class="num">2</td> <td class="num">1</td>' in page_of(as_alice, "/projects/")
    assert '<td class="num">1 / 3</td> <td class="num">0</td> <td class="num">2</td>' in page_of(as_carol, "/projects/")
    Annotation.start(second, dave).finish()
    assert "3 items, 1 of them done · 1 begun · 1 untouched" in page_of(as_alice, "/")
    assert "1 done · 1 begun · 1 untouched" in page_of(as_alice, f"/projects/{project.pk}/figures/")


@pytest.mark.parametrize("url", ["/", "/projects/"])
def test_finished_projects_stand_last(as_alice, as_carol, url):
    names = ["Old", "Mine", "Finished", "Empty"]
    projects = {name: factories.project(by=as_alice.user, name=name, annotators=[as_carol.user]) for name in names}
    projects["Empty"].dataset.remove(projects["Empty"].dataset.items(), by=as_alice.user)

    def finish(project, person):
        for item in project.dataset.items():
            Annotation.start(item, person).finish()

    def order(client):
        return re.findall(r'<a (?:class="row-link" )?href="/projects/\d+/">(\w+)</a>', page_of(client, url))

    finish(projects["Finished"], as_carol.user)
    assert order(as_alice) == order(as_carol) == ["Empty", "Mine", "Old", "Finished"]
    projects["Mine"].add_members([factories.user("erin")])
    finish(projects["Mine"], as_carol.user)
    assert order(as_alice) == ["Empty", "Mine", "Old", "Finished"]
    assert order(as_carol) == ["Empty", "Old", "Finished", "Mine"]
    assert (
        page_of(as_alice, url).count('<span class="chip ok">finished') + page_of(as_alice, url).count("end chip ok")
        == 1
    )


def test_marks_count_that_people_made_or_decided_about(alice, carol):
    project = factories.project(by=alice, annotators=[carol], text=TEXT)
    label = factories.item(project.entity_ontology, "State")
    batch = Batch.objects.create(dataset=project.dataset, person=carol, verb="reject", kind="entity", label=label.uid)

    def put(item, annotator, *marks, **fields):
        annotation = factories.annotation(item, annotator, **fields)
        for place, (status, by) in enumerate(marks):
            annotation.entity_set.create(
                uid=f"e{place}", label=label, start=place, end=place, status=status, batch=by, origin="given"
            )

    came = [("accepted", None), ("suggested", None), ("rejected", None)]
    first, second, third, *_ = project.dataset.items()
    put(first, None, *came)
    put(first, carol, *came, started_at=None)
    put(second, carol, *came, ("accepted", batch), ("rejected", batch), started_at=None)
    assert (progress.marks(project)["entities"], progress.losses(project)["marks"]) == (1, 2)
    put(third, carol, *came)
    assert (progress.marks(project)["entities"], progress.losses(project)["marks"]) == (2, 4)
