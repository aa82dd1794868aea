"""The labels of an ontology in a project that runs: new ones come, the others stay, one step that can be undone."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation_service.inputs import Refused
from ontologies.models import Ontology
from tests import factories
from tests.datasets import marked
from tests.queries import queries_of
from tests.resource_sets import make
from tests.threads import at_once

MORE = [
    {
        "name": "PhysicalObject",
        "description": "Not taken over.",
        "children": [
            {
                "name": "SensingObject",
                "children": [{"name": "Thermostat"}, {"name": "Gauge", "example_terms": ["dial"]}],
            },
            {"name": "Building", "description": "Stands.", "children": [{"name": "Hall"}]},
        ],
    },
    {"name": "Place", "children": [{"name": "Site"}]},
]
NEW = [
    "PhysicalObject/SensingObject/Gauge",
    "PhysicalObject/Building",
    "PhysicalObject/Building/Hall",
    "Place",
    "Place/Site",
]


@pytest.fixture
def project(alice, carol):
    return factories.project(by=alice, annotators=[carol])


@pytest.fixture
def more(alice):
    return factories.ontology(owner=alice, name="More", items=MORE)


def facts(ontology):
    columns = ("uid", "name", "description", "example_terms", "color", "active", "level", "parent__uid")
    return {row[0]: row for row in ontology.items().values_list(*columns)}


def fullnames(ontology):
    return [label.fullname for label in Ontology.objects.get(pk=ontology.pk).labels()]


def test_new_labels_come_to_their_place_and_all_others_stay(alice, project, more):
    own = project.entity_ontology
    before, names = facts(own), fullnames(own)
    assert project.put_labels(more, by=alice) == len(NEW)
    after = facts(own)
    assert {uid: after[uid] for uid in before} == before
    assert [name for name in fullnames(own) if name not in names] == NEW
    theirs = {label.fullname: label for label in more.labels()}
    for label in Ontology.objects.get(pk=own.pk).labels():
        if label.fullname in NEW:
            source = theirs[label.fullname]
            assert (label.uid, label.description, label.example_terms) == (
                source.uid,
                source.description,
                source.example_terms,
            )
    assert project.put_labels(more, by=alice) == 0


def test_colours_stay_unless_the_project_has_them(alice, project, more):
    own = project.entity_ontology
    taken = factories.item(own, "PhysicalObject").color
    factories.item(more, "Place").recolor(taken, by=alice)
    factories.item(more, "Site").recolor("#123456", by=alice)
    project.put_labels(more, by=alice)
    assert factories.item(own, "Site").color == "#123456"
    tops = [label.color for label in Ontology.objects.get(pk=own.pk).labels() if label.level == 1]
    assert len(set(tops)) == len(tops) == 4


@pytest.mark.django_db(transaction=True)
def test_two_managers_at_once_add_each_label_once(alice, project, more):
    counts = at_once(lambda: project.put_labels(more, by=alice), lambda: project.put_labels(more, by=alice))
    assert sorted(counts) == [0, len(NEW)] and fullnames(project.entity_ontology).count("Place") == 1


def test_it_is_one_step_that_undo_takes_back(alice, project, more):
    own = project.entity_ontology
    before = facts(own)
    project.put_labels(more, by=alice)
    own.refresh_from_db()
    assert own.version == 1 and own.changes.get().count == len(NEW)
    own.undo(by=alice)
    assert facts(own) == before


def test_what_was_renamed_in_the_project_stays_and_takes_what_is_new_below(alice, project):
    blueprint, own = project.entity_ontology.copied_from, project.entity_ontology
    factories.item(own, "SensingObject").rename("Sensor", by=alice)
    blueprint.add_item("Gauge", by=alice, parent=factories.item(blueprint, "SensingObject"))
    rows = [
        (row.name, row.exists, row.elsewhere)
        for row in own.foresee_labels(blueprint)
        if row.elsewhere or not row.exists
    ]
    assert rows == [("SensingObject", True, True), ("Gauge", False, False)]
    assert project.put_labels(blueprint, by=alice) == 1
    assert "PhysicalObject/Sensor/Gauge" in fullnames(own) and "PhysicalObject/SensingObject" not in fullnames(own)


def test_ids_are_kept_where_they_are_free(alice, project, more):
    own = project.entity_ontology
    taken = factories.item(own, "State").uid
    twin = factories.ontology(owner=alice, name="Twin", items=[{"name": "Other"}, {"name": "State"}])
    twin.items().filter(name="State").update(uid="abcdef01")
    twin.touch()
    twin.items().filter(name="Other").update(uid=taken)
    assert project.put_labels(twin, by=alice) == 0  # it is the project's State, by another name
    assert more.items().get(name="Place").uid not in facts(own)
    project.put_labels(more, by=alice)
    assert more.items().get(name="Place").uid in facts(own)


def test_below_what_is_off_labels_start_off(alice, project, more):
    factories.item(project.entity_ontology, "PhysicalObject").switch(False, by=alice)
    project.put_labels(more, by=alice)
    active = {label.fullname: label.active for label in project.entity_ontology.labels()}
    assert [active[name] for name in NEW] == [False, False, False, True, True]


def test_two_labels_that_are_one_in_the_project_are_refused_together(alice, project):
    """Both “X” would stand below it."""
    own = project.entity_ontology
    state = factories.item(own, "State")
    items = [{"name": "State", "children": [{"name": "X"}]}, {"name": "Old", "children": [{"name": "X"}]}]
    odd = factories.ontology(owner=alice, name="Odd", items=items)
    odd.items().filter(name="Old").update(uid=state.uid)
    odd.touch()
    before = fullnames(own)
    with pytest.raises(Refused, match="already an item “X” at this place"):
        project.put_labels(odd, by=alice)
    assert fullnames(own) == before


def test_a_project_without_a_relation_ontology_gets_a_copy(alice, labels):
    project = factories.project(by=alice, entities=labels["entities"], relations=False)
    assert project.put_labels(labels["relations"], by=alice) == 3
    project.refresh_from_db()
    assert project.task == "entities_and_relations" and project.relation_ontology.copied_from == labels["relations"]


TREE = st.recursive(
    st.just([]),
    lambda below: st.lists(st.tuples(st.sampled_from("ABCD"), below), max_size=4, unique_by=lambda pair: pair[0]),
    max_leaves=12,
)


def nodes(tree):
    return [{"name": name, "children": nodes(below)} for name, below in tree]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(data=st.data())
def test_the_project_has_all_labels_of_both_and_each_once(alice, data):
    one, other = (factories.ontology(owner=alice, items=nodes(data.draw(TREE))) for _ in range(2))
    before = facts(one)
    expected = {label.fullname for label in (*one.labels(), *other.labels())}
    added = one.put_labels(other, by=alice)
    after = facts(one)
    found = fullnames(one)
    assert set(found) == expected and len(found) == len(expected)
    assert {uid: after[uid] for uid in before} == before
    assert sorted(added) == sorted(set(after) - set(before))
    assert not list(one.tree.problems())


# --- On the pages ---


def test_the_dialog_counts_before_anything_is_added(as_alice, alice, project, more):
    own = project.entity_ontology
    address = f"/projects/{project.pk}/ontologies/entity/"
    assert f'hx-get="{address}"' in as_alice.get(f"/projects/{project.pk}/").text
    assert "More · 8 items · alice" in as_alice.get(address).text
    factories.item(own, "Activity").rename("Doing", by=alice)
    dialog = as_alice.get(address, {"ontology": more.pk}).text
    assert "5 labels are new" in dialog and "3 labels are there already" in dialog and "renamed" not in dialog
    assert 'name="count" value="5"' in dialog and "Add 5 labels" in dialog
    # Without a count, or with another one, it asks (again).
    assert "Add 5 labels" in as_alice.post(address, {"ontology": more.pk}).text
    response = as_alice.post(address, {"ontology": more.pk, "count": 4})
    assert (
        response.status_code == 422 and "another number of labels" in response.text and "Add 5 labels" in response.text
    )
    assert "Place" not in fullnames(own)
    done = as_alice.post(address, {"ontology": more.pk, "count": 5})
    assert done.headers["HX-Redirect"] == own.get_absolute_url() and "Place" in fullnames(own)
    blueprint = own.copied_from
    dialog = as_alice.get(address, {"ontology": blueprint.pk}).text
    assert "0 labels are new" in dialog and "1 label was renamed or moved" in dialog and "is “Doing”" in dialog
    assert "button primary" not in dialog


def test_the_page_of_the_ontology_offers_all_projects_that_run(as_alice, alice, project, more, labels):
    bare = factories.project(by=alice, name="Bare", entities=labels["entities"], relations=False)
    dialog = as_alice.get("/projects/use/", {"ontology": more.pk}).text
    assert dialog.count("its new labels come to “entity labels”") == 2
    dialog = as_alice.get("/projects/use/", {"ontology": labels["relations"].pk}).text
    assert "relations are annotated, too" in dialog and "its new labels come to “relation labels”" in dialog
    address = f"/projects/{bare.pk}/ontologies/relation/"
    assert "Choose a relation ontology…" in as_alice.get(f"/projects/{bare.pk}/").text
    assert "Choose a relation ontology…" in as_alice.get(f"/projects/{bare.pk}/settings/").text
    assert "Annotate relations, too" in as_alice.get(address, {"ontology": labels["relations"].pk}).text
    as_alice.post(address, {"ontology": labels["relations"].pk, "count": 3})
    assert bare.relation_ontology


def test_constraints_say_what_becomes_of_those_that_are_there(as_alice, alice, labels):
    rules = make("relation_constraints", owner=alice, **labels)
    bare = factories.project(by=alice, name="Bare", entities=labels["entities"], relations=False)
    whole = factories.project(by=alice, name="Whole", **labels)
    dialog = as_alice.get("/projects/use/", {"constraints": rules.pk}).text
    assert "has no relation labels: put a relation ontology into it first" in dialog and "replaces" not in dialog
    assert f"/projects/{bare.pk}/constraints" not in dialog and f"/projects/{whole.pk}/constraints/relation/" in dialog
    whole.use(rules, by=alice)
    assert "replaces “relation constraints”" in as_alice.get("/projects/use/", {"constraints": rules.pk}).text


def test_more_projects_and_labels_take_no_more_queries(as_alice, alice, project, more):
    use, put = f"/projects/use/?ontology={more.pk}", f"/projects/{project.pk}/ontologies/entity/?ontology={more.pk}"
    before = [len(queries_of(as_alice.get, address)) for address in (use, put)]
    for number in range(3):
        factories.project(by=alice, name=f"Another {number}")
        more.add_item(f"Label {number}", by=alice)
    after = [len(queries_of(as_alice.get, address)) for address in (use, put)]
    assert after[0] == before[0] and after[1] <= before[1]  # labels that were read are kept


def test_marks_stay_as_they_are(alice, carol, more):
    source = marked.dataset(owner=alice)
    project = factories.project(by=alice, of=source, annotators=[carol])
    before = list(project.dataset.items().values_list("annotation__entity__label__name", "annotation__entity__start"))
    project.put_labels(more, by=alice)
    assert (
        list(project.dataset.items().values_list("annotation__entity__label__name", "annotation__entity__start"))
        == before
    )
