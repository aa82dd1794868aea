"""What people decided about nodes, and what is counted, while labels, texts, marks, items and projects change."""

import pytest
from django.utils import timezone

from annotation_service import blueprints, jobs
from annotation_service.inputs import Refused
from datasets.models import Annotation, Entity, Item, TextCorrection
from datasets.models.correction import cut_anew
from datasets.models.dataset import Contents
from graph.counting import refresh, refresh_quickly, signature_now, stale
from graph.models import CountedItem, EdgeTotal, Graph, GraphChange, ItemEdge, ItemNode, NodeTotal, NotSame, SurfaceForm
from projects import bundle
from projects.bundle_import import import_bundle
from projects.models import Project
from tests import factories, faults
from tests.graph.conftest import form, forms_of_nodes
from tests.graph.test_counting import check, naive
from tests.projects.test_bundle_import import files_of, packed
from tests.projects.test_deletion import purged
from tests.quality.conftest import label, say

ALL = (ItemNode, ItemEdge, CountedItem, NodeTotal, EdgeTotal, NotSame, SurfaceForm, GraphChange, Graph)


@pytest.fixture
def decided(graph, alice):
    """Thermostats are one node with a name, two pumps are not the same; taken back and done again."""
    graph.merge(form(graph, "thermostat"), [form(graph, "thermostats")], by=alice)
    graph.name_node(form(graph, "thermostat"), name="Regulator", iri="https://example.org/r", by=alice)
    graph.keep_apart(form(graph, "pump"), form(graph, "pump oil"), by=alice)
    graph.edit(stem="english", prefix="pumps")
    graph.edit(stem="")
    graph.undo(by=alice)
    graph.redo(by=alice)
    return graph


def said(project):
    """What people decided about its nodes, by what does not depend on keys."""
    graph = Graph.objects.get(dataset=project.dataset)
    names = bundle.names_of(project.ontology_set.all())
    fields = ("digest", "label", "text", "words", "node__digest", "name", "iri", "external_id", "search_text")
    forms = [
        {**row, "label": names.get(row["label"])} for row in graph.edited_forms().order_by("digest").values(*fields)
    ]
    pairs = NotSame.objects.filter(graph=graph).order_by("pk").values_list("one__digest", "other__digest")
    return (graph.stem, graph.prefix, graph.namespace), forms, list(pairs)


# --- Marks ---


def test_a_merge_outlives_all_of_its_marks(decided, project, items, carol):
    before = said(project)
    for name in ("State", "Thermostat"):
        Entity.objects.filter(annotation__annotator=carol).update(label=label(project, name))
        for annotation in Annotation.objects.filter(annotator=carol):
            annotation.revision += 1
            annotation.save()
        refresh(decided)
        check(decided)
        assert said(project) == before
    for item in items:
        say(item, carol)
    refresh(decided)
    check(decided)
    assert said(project) == before
    say(items[3], carol, "Thermostat 0")
    refresh(decided)
    assert list(NodeTotal.objects.filter(voice=carol.pk).values_list("node__text", flat=True)) == ["thermostat"]


def test_a_merge_outlives_corrections_of_texts(decided, project, items, alice, carol):
    before, totals = said(project), naive(project)
    item = Item.objects.select_related("dataset__project").get(pk=items[3].pk)
    made = TextCorrection.make(item, cut_anew(item, "all Regulators off"), by=alice, was_version=1)
    assert stale_items(decided) == [item.pk]
    refresh(decided)
    check(decided)
    assert said(project) == before
    made.undo(by=alice)
    refresh(decided)
    check(decided)
    assert said(project) == before and naive(project) == totals


def stale_items(graph):
    return sorted(pk for some in stale(graph) for pk in some)


def test_what_somebody_marked_is_not_counted_when_it_is_deleted(decided, project, carol):
    before = said(project)
    project.remove_member(project.membership_set.get(user=carol), with_marks=True)
    assert not refresh_quickly(decided) or signature_now(decided) == decided.signature
    refresh(decided)
    check(decided)
    assert not NodeTotal.objects.filter(voice=carol.pk) and said(project) == before


# --- Labels ---


def test_a_label_that_is_renamed_moved_or_off_keeps_its_nodes(decided, project, alice, settings):
    settings.ONTOLOGY_MOVE_ITEMS = True
    ids = [row["digest"] for row in said(project)[1]]
    label(project, "Thermostat").rename("Regulator", by=alice)
    label(project, "Regulator").move(to=label(project, "Activity"), by=alice)
    label(project, "Regulator").switch(False, by=alice)
    assert stale_items(decided) == []
    assert [row["digest"] for row in said(project)[1]] == ids
    assert {row["label"] for row in said(project)[1]} == {"Activity/Regulator", "PhysicalObject"}


@pytest.fixture
def gone(decided, project, items, alice, carol):
    """A label with a form that belongs to a node, one that stands for one, and one that has a name; then it is no more."""
    new = project.entity_ontology.add_item("Passing", by=alice)
    say(items[2], carol, "Passing 0", "Passing 1", "Passing 2", "State 0")
    refresh(decided)
    mine = {each.text: each.digest for each in decided.forms.filter(label=new.pk)}
    decided.merge(form(decided, "thermostat"), [mine["pump"]], by=alice)
    decided.merge(mine["oil"], [decided.forms.get(text="replace", label=label(project, "State").pk).digest], by=alice)
    decided.keep_apart(mine["oil"], form(decided, "not working"), by=alice)
    decided.name_node(mine["replace"], name="Gone", by=alice)
    say(items[2], carol)
    project.entity_ontology.undo(by=alice)
    assert not project.entity_ontology.items().filter(uid=new.uid)
    return new


def test_what_was_decided_about_a_deleted_label_breaks_nothing(gone, decided, project, items, alice, bob, carol):
    refresh(decided)
    check(decided)
    files = files_of(project)
    assert "Passing" not in str(files["nodes.json"])
    assert [each.get("form") for each in files["nodes.json"][1:]] == [
        "thermostat",
        "pump",
        "pump oil",
        "thermostats",
        None,
    ]
    made = import_bundle(packed(files), manager=bob)
    assert files_of(made)["nodes.json"] == files["nodes.json"]
    copy = project.duplicate(name="Again", by=alice, contents=Contents.EVERYBODY)
    assert not SurfaceForm.objects.filter(graph__dataset=copy.dataset, label=gone.pk) and not faults.orphans()
    assert decided.history()


def test_a_label_that_comes_back_has_its_nodes_again(gone, decided, project, items, alice, carol):
    project.entity_ontology.redo(by=alice)
    back = label(project, "Passing")
    say(items[2], carol, "Passing 0", "Passing 1", "Passing 2")
    refresh(decided)
    check(decided)
    assert set(decided.forms.filter(name="Gone").values_list("label", flat=True)) == {back.pk}
    assert "Passing" in str(files_of(project)["nodes.json"])


# --- Items ---


def test_items_in_the_bin_are_not_counted_and_are_again_when_they_are_back(decided, project, items, alice):
    before, all_of_it = said(project), naive(project)
    project.dataset.remove(project.dataset.items().filter(pk__in=[items[0].pk, items[3].pk]), by=alice)
    assert decided.signature != signature_now(decided)
    refresh(decided)
    check(decided)
    assert CountedItem.objects.count() == 2
    project.dataset.restore(project.dataset.bin())
    refresh(decided)
    check(decided)
    assert naive(project) == all_of_it and said(project) == before


@pytest.mark.parametrize("counted", [True, False])
def test_items_whose_time_in_the_bin_is_over_leave_no_count(decided, project, items, alice, counted):
    project.dataset.remove(project.dataset.items().filter(pk=items[0].pk), by=alice)
    if counted:
        refresh(decided)
    Item.with_removed.filter(pk=items[0].pk).update(removed_at=timezone.now().replace(year=2000))
    purged()
    assert not Item.with_removed.filter(pk=items[0].pk)
    refresh(decided)
    check(decided)
    assert not CountedItem.objects.filter(item=items[0].pk) and not faults.orphans()


# --- Projects ---


@pytest.mark.parametrize("in_steps", [True, False])
def test_a_graph_is_deleted_with_its_project(decided, project, alice, monkeypatch, in_steps):
    if in_steps:
        monkeypatch.setattr(blueprints, "purge_deleted", lambda seconds: 0)
        monkeypatch.setattr(jobs, "STEP", 0)
    assert all(model.objects.exists() for model in ALL)
    Project.objects.get(pk=project.pk).erase()
    if in_steps:
        assert SurfaceForm.objects.exists()
        with pytest.raises(Refused, match="deleted meanwhile"):
            refresh(decided)
        monkeypatch.undo()
    assert purged() >= 0
    assert not any(model.objects.exists() for model in ALL) and not faults.orphans()
    assert not Item.with_removed.filter(dataset=decided.pk)


def test_a_graph_is_in_the_bin_with_its_project_and_comes_back_with_it(decided, project, items, carol):
    before, totals = said(project), naive(project)
    project.put_into_bin()
    with pytest.raises(Refused):
        refresh(decided)
    project.take_out_of_bin()
    refresh(decided)
    check(decided)
    assert said(project) == before and naive(project) == totals
    project.put_into_bin()
    Project._base_manager.get(pk=project.pk).erase_from_bin()
    purged()
    assert not any(model.objects.exists() for model in ALL) and not faults.orphans()


# --- Copies ---


def test_a_duplicate_with_everybodys_marks_has_what_was_decided(decided, project, alice):
    before = faults.rows()
    copy = project.duplicate(name="Again", by=alice, people=True, contents=Contents.EVERYBODY)
    assert said(copy) == said(project) and all(said(copy))
    assert not faults.orphans()
    own = {each.pk for each in copy.entity_ontology.items()}
    assert set(SurfaceForm.objects.filter(graph=copy.dataset.pk).values_list("label", flat=True)) <= own
    after = faults.rows()
    assert all(set(rows) <= set(after[name]) for name, rows in before.items())
    graph = Graph.of(copy)
    assert (graph.version, graph.signature, graph.counted_at, graph.changes.count()) == (0, "", None, 0)
    refresh(graph)
    check(graph)
    assert said(copy) == said(project)
    graph.split([form(graph, "thermostats")], by=alice)
    assert forms_of_nodes(decided) == [["thermostat", "thermostats"]]


def test_a_duplicate_of_a_duplicate_and_of_renamed_labels(decided, project, alice):
    label(project, "Thermostat").rename("Regulator", by=alice)
    copy = project.duplicate(name="Again", by=alice, contents=Contents.EVERYBODY)
    again = copy.duplicate(name="Once more", by=alice, contents=Contents.EVERYBODY)
    assert said(again) == said(copy) == said(project)


@pytest.mark.parametrize("contents", [Contents.NOTHING, Contents.ITEMS, Contents.GIVEN])
def test_nodes_are_about_words_and_go_with_every_duplicate(decided, project, alice, contents):
    copy = project.duplicate(name="Again", by=alice, contents=contents)
    assert said(copy) == said(project) and all(said(copy))


def test_a_project_without_a_graph_is_duplicated(alice, carol):
    project = factories.project(by=alice, annotators=[carol])
    copy = project.duplicate(name="Again", by=alice, contents=Contents.EVERYBODY)
    assert not Graph.objects.exists() and copy.dataset.item_count == 3
