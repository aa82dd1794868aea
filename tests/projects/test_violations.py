"""The report of marks that break constraints: the command, in words and as JSON."""

import json
from io import StringIO

import pytest
from django.core.management import call_command

from datasets.models import Annotation, Entity, Item
from datasets.models.judged import broken_in, broken_rules
from ontologies.models import OntologyItem
from projects.models import Project
from tests import factories
from tests.annotations.test_constraints import constrain
from tests.datasets import marked
from tests.projects.test_resources import read_bundle
from tests.resource_sets import make
from tests.threads import at_once


@pytest.fixture(autouse=True)
def all_is_counted(monkeypatch):
    """However busy the machine is, pages wait until everything is counted."""
    for module in ("views", "item_views"):
        monkeypatch.setattr(f"projects.{module}.COUNT_SECONDS", 60)


@pytest.fixture
def project(alice, carol):
    return factories.project(by=alice, annotators=[carol])


@pytest.fixture
def mark(project):
    """``mark(1, carol, "e1", "State", 0, 2)`` or, with uids for the last two, a relation; nobody's are given ones."""

    def mark(number, annotator, uid, name, first, last, status="accepted"):
        item = project.dataset.items()[number - 1]
        annotation = factories.annotation(item, annotator)
        label = OntologyItem.objects.get(ontology__project=project, name=name)
        fields = {"uid": uid, "label": label, "status": status, "origin": "person" if annotator else "given"}
        if isinstance(first, int):
            annotation.entity_set.create(start=first, end=last, **fields)
        else:
            source, target = (annotation.entity_set.get(uid=end) for end in (first, last))
            annotation.relation_set.create(source=source, target=target, **fields)

    return mark


def report(project, *options):
    out = StringIO()
    call_command("check_constraints", str(project.pk), *options, stdout=out)
    return out.getvalue()


def violations(project):
    return json.loads(report(project, "--json"))


def test_without_constraints_or_marks_there_is_nothing(project, carol, mark):
    mark(1, carol, "a", "Thermostat", 0, 1)
    mark(1, carol, "b", "Replace", 1, 1)
    assert violations(project) == []
    assert report(project) == "0 violations in “Pumps”.\n"


def test_suggestions_of_preannotations_break_nothing(project, mark):
    constrain(project)
    mark(1, None, "e1", "Thermostat", 0, 2)
    label = OntologyItem.objects.get(ontology__project=project, name="Replace")
    suggested = {"status": "suggested", "origin": "preannotation"}
    Annotation.objects.get().entity_set.create(uid="p1", label=label, start=0, end=0, **suggested)
    assert violations(project) == []
    mark(1, None, "e2", "Replace", 1, 1)
    assert {tuple(each["marks"]) for each in violations(project)} == {("e1", "e2")}


def test_each_pair_and_kind_of_rule_and_each_relation_is_told_once(project, carol, mark):
    mark(2, carol, "a", "Thermostat", 0, 2)
    mark(2, carol, "b", "Replace", 1, 1)
    mark(2, carol, "c", "State", 3, 3)
    mark(2, carol, "r", "hasPart", "c", "a")
    mark(2, carol, "ok", "hasPatient", "c", "a")
    constrain(project)
    entity_set, relation_set = project.resources()
    common = {"item_id": 2, "external_id": None, "annotator": "carol"}
    assert violations(project) == [
        {**common, "rule": "excludes", "set": entity_set.pk, "position": 0, "marks": ["a", "b"], "label": None},
        {**common, "rule": "can_contain", "set": entity_set.pk, "position": 0, "marks": ["a", "b"], "label": None},
        {
            **common,
            "rule": "relation",
            "set": relation_set.pk,
            "position": None,
            "marks": ["c", "a"],
            "label": "hasPart",
        },
    ]


def test_given_marks_count_whatever_their_status_and_annotators_only_if_accepted(project, carol, mark):
    for who, status in ((None, "suggested"), (carol, "suggested")):
        mark(1, who, "a", "Thermostat", 0, 1, status)
        mark(1, who, "b", "Replace", 1, 1, status)
    mark(3, carol, "a", "Thermostat", 0, 1)
    mark(3, carol, "b", "Replace", 1, 1, "rejected")
    constrain(project)
    # Of the same words inside and outside: it is excluded, and cannot stand inside.
    assert [(each["item_id"], each["annotator"], each["rule"]) for each in violations(project)] == [
        (1, None, "excludes"),
        (1, None, "can_contain"),
    ]


def test_numbers_are_those_of_the_bundle(project, carol, alice, mark):
    mark(1, carol, "a", "Thermostat", 0, 0)
    mark(1, carol, "b", "Replace", 0, 0)
    mark(3, carol, "a", "Thermostat", 0, 0)
    mark(3, carol, "b", "Replace", 0, 0)
    constrain(project)
    items = list(project.dataset.items())
    Item.objects.filter(pk=items[2].pk).update(external_id="WO-3")
    Item.objects.filter(pk=items[0].pk).update(removed_at="2026-01-01T00:00:00Z")
    assert [(each["item_id"], each["external_id"]) for each in violations(project)] == [(2, "WO-3")]


def test_in_words_it_has_counts_people_and_examples(project, carol, mark):
    mark(2, carol, "a", "Thermostat", 0, 2)
    mark(2, carol, "b", "Replace", 0, 2)
    constrain(project)
    assert report(project) == (
        "“entity constraints”, rule 1 (excludes): 1 (carol 1)\n"
        "  item 2, carol: “Thermostat” cannot share words with “Replace”: rule 1 of “entity constraints” excludes"
        " “Activity” for every “PhysicalObject”.\n"
        "1 violation in “Pumps”.\n"
    )


def test_an_unknown_project_is_refused(db, capsys):
    with pytest.raises(SystemExit):
        call_command("check_constraints", "4711")
    assert "There is no project with the id 4711." in capsys.readouterr().err


# --- Creating a project whose dataset has marks ---------------------------------------------------------------------------------


@pytest.fixture
def options(alice):
    """What the command takes for a dataset in which a PhysicalObject contains a DrivingObject, and has it as a part."""
    dataset = marked.dataset(owner=alice)
    entities, relations = dataset.given_ontologies()
    document = [{"domain": "PhysicalObject", "excludes": [], "can_contain": ["State"]}]
    constraints = make("entity_constraints", owner=alice, entities=entities, relations=relations, document=document)
    return {
        "name": "Marked",
        "manager": "alice",
        "dataset": dataset.pk,
        "entity_ontology": entities.pk,
        "relation_ontology": relations.pk,
        "constraints": [constraints.pk],
    }


def test_a_project_is_not_made_if_the_marks_of_its_dataset_break_its_constraints(options, capsys):
    with pytest.raises(SystemExit) as caught:
        call_command("create_project", **options)
    assert caught.value.code == 1
    errors = capsys.readouterr().err
    assert "To take these marks as they are, add --violations keep." in errors
    assert (
        "Marks of the dataset break the constraints 1 time, the first in item 1: “DrivingObject” cannot stand inside"
        " “PhysicalObject”: by rule 1 of “entity constraints” every “PhysicalObject” can contain only “State”. Choose other"
        " constraints, or keep the marks as they are." in errors
    )
    assert not Project.objects.exists() and not Item.objects.filter(dataset__project__isnull=False).exists()


def test_or_its_manager_keeps_them_and_the_report_tells(options, capsys):
    call_command("create_project", **options, violations="keep")
    (violation,) = violations(Project.objects.get())
    assert (violation["item_id"], violation["annotator"], violation["rule"]) == (1, None, "can_contain")
    assert capsys.readouterr().out.splitlines()[-1] == str(Project.objects.get().pk)


# --- The pages ------------------------------------------------------------------------------------------------------------------


def words_of(response):
    return " ".join(response.text.split())


@pytest.fixture
def broken(project, carol, alice, mark):
    """Two pairs of carol's and one that came with the dataset break a rule, a relation of alice's another."""
    for number, who in ((1, carol), (2, carol), (2, None)):
        mark(number, who, "a", "Thermostat", 0, 2)
        mark(number, who, "b", "Replace", 0, 2)
    mark(3, alice, "c", "State", 3, 3)
    mark(3, alice, "d", "Thermostat", 0, 1)
    mark(3, alice, "r", "hasPart", "c", "d")
    constrain(project)
    return project


def test_the_places_say_what_is_broken_and_lead_back(as_alice, broken, carol, alice):
    back = f"/projects/{broken.pk}/violations/"
    for row in as_alice.get(back).context["rows"]:
        who, item = row["person"], row["item"]
        address = (
            f"/projects/{broken.pk}/marks/{who}/{item.pk}/" if who else f"/datasets/{item.dataset_id}/items/{item.pk}/"
        )
        response = as_alice.get(address)
        assert row["places"][0].text in [place.text for place in response.context["broken"]]
        assert row["places"][0].text in words_of(response) and f'href="{back}"' in words_of(response)
        if not who:
            assert words_of(response).count("marked-box broken") == 2
    untouched = broken.dataset.items()[0]
    assert "broken-here" not in words_of(as_alice.get(f"/datasets/{untouched.dataset_id}/items/{untouched.pk}/"))


def test_the_page_counts_per_rule_and_person_and_links_to_each_place(as_alice, broken, carol, alice):
    response = as_alice.get(f"/projects/{broken.pk}/violations/")
    shown, html = response.context["shown"], words_of(response)
    assert [(rule["text"], rule["number"], rule["count"]) for rule in shown.rules()] == [
        ("“PhysicalObject” excludes “Activity”.", 1, 3),
        ("“hasPart” has rules, but none for the source.", None, 1),
    ]
    people = {"given": 1, str(carol.pk): 2, str(alice.pk): 1}
    assert {person["key"]: person["count"] for person in shown.people()} == people
    items = list(broken.dataset.items())
    for item in items[:2]:
        assert f'href="/projects/{broken.pk}/marks/{carol.pk}/{item.pk}/#a"' in html
    assert f'href="/datasets/{broken.dataset.pk}/items/{items[1].pk}/"' in html
    assert f'href="/projects/{broken.pk}/marks/{alice.pk}/{items[2].pk}/#r"' in html
    assert (
        "“hasPart” cannot lead from “State”: “relation constraints” has rules for it, but none for this source." in html
    )
    assert "and · check coolant" in html  # the words of its two ends


def test_a_rule_and_a_person_can_be_chosen(as_alice, broken, carol):
    def numbers(**chosen):
        return [
            row["item"].number for row in as_alice.get(f"/projects/{broken.pk}/violations/", chosen).context["rows"]
        ]

    first, second = as_alice.get(f"/projects/{broken.pk}/violations/").context["shown"].rules()
    assert numbers() == [2, 1, 2, 3]
    assert numbers(rule=first["key"]) == [2, 1, 2]
    assert numbers(rule=first["key"], who=str(carol.pk)) == [1, 2]
    assert numbers(who="given") == [2]
    assert numbers(rule=second["key"], who="given") == numbers(who="x") == []
    assert numbers(page="99999999999") == numbers(page="x") == numbers()
    # A rule was named so before its relation was left out of the name where it is about none.
    assert numbers(rule=f"{first['key']}None") == numbers(rule="x") == numbers()


@pytest.mark.django_db(transaction=True)
def test_the_report_is_of_one_moment(as_alice, broken, monkeypatch):
    """Annotators go on while it is made, which takes seconds."""

    def remove():
        broken.dataset.remove(broken.dataset.items().filter(position=0), by=broken.created_by)
        Entity.objects.filter(annotation__item__dataset=broken.dataset, uid="a").delete()

    def find_and_remove(dataset):
        found = broken_rules(dataset)
        list(found)
        at_once(remove)
        return found

    monkeypatch.setattr("projects.violation_report.broken_rules", find_and_remove)
    numbers = [row["item"].number for row in as_alice.get(f"/projects/{broken.pk}/violations/").context["rows"]]
    assert numbers == [2, 1, 2, 3]


def test_the_project_page_has_the_counts(as_alice, as_carol, broken):
    address = f"/projects/{broken.pk}/violations/count/"
    assert address in words_of(as_alice.get(f"/projects/{broken.pk}/"))
    assert address not in words_of(as_carol.get(f"/projects/{broken.pk}/"))
    assert "4 violations</span> of 2 rules" in words_of(as_alice.get(address))


def test_where_nothing_is_broken_the_pages_say_so(as_alice, project):
    assert "violations/count/" not in words_of(as_alice.get(f"/projects/{project.pk}/"))
    assert "This project has no constraints" in words_of(as_alice.get(f"/projects/{project.pk}/violations/"))
    constrain(project)
    assert "Nothing breaks the constraints" in words_of(as_alice.get(f"/projects/{project.pk}/violations/"))
    assert "No mark breaks" in words_of(as_alice.get(f"/projects/{project.pk}/violations/count/"))


def test_the_manifest_of_the_bundle_counts_them(broken):
    files = read_bundle(broken)
    entity, relation = "entity_constraints.json", "relation_constraints.json"
    assert files["manifest.json"]["violations"] == [
        {"rule": "excludes", "file": entity, "position": 0, "label": None, "annotator": None, "count": 1},
        {"rule": "excludes", "file": entity, "position": 0, "label": None, "annotator": "carol", "count": 2},
        {"rule": "relation", "file": relation, "position": None, "label": "hasPart", "annotator": "alice", "count": 1},
    ]


# --- Constraints of a project that is there -----------------------------------------------------------------------------


def test_the_dialog_says_what_existing_marks_would_break_and_adds_all_the_same(as_alice, alice, project, carol, mark):
    mark(2, carol, "a", "Thermostat", 0, 2)
    mark(2, carol, "b", "Replace", 1, 1)
    ontologies = {"entities": project.entity_ontology.copied_from, "relations": None}
    document = [{"domain": "PhysicalObject", "excludes": ["Activity"]}]
    chosen = make("entity_constraints", owner=alice, document=document, **ontologies)
    address = f"/projects/{project.pk}/constraints/entity/"
    assert f'hx-get="{address}"' in words_of(as_alice.get(f"/projects/{project.pk}/"))
    html = words_of(as_alice.get(address, {"constraints": chosen.pk}))
    assert "Existing marks break these constraints 1 time" in html
    response = as_alice.post(address, {"constraints": chosen.pk}, headers={"HX-Request": "true"})
    assert response["HX-Redirect"] == f"/projects/{project.pk}/"
    assert [each.copied_from for each in project.constraint_sets()] == [chosen]
    assert len(violations(project)) == 1
    other = make("entity_constraints", owner=alice, document=[], name="Other", **ontologies)
    assert "Replace “entity constraints”" in words_of(as_alice.get(address))
    as_alice.post(address, {"constraints": other.pk})
    assert [each.copied_from for each in project.constraint_sets()] == [other] and not violations(project)
    as_alice.post(f"{address}remove/")
    assert not project.constraint_sets()


@pytest.mark.django_db(transaction=True)
def test_items_that_come_while_marks_are_judged_are_no_matter(as_alice, alice, project, mark, monkeypatch):
    ontologies = {"entities": project.entity_ontology.copied_from, "relations": None}
    document = [{"domain": "PhysicalObject", "excludes": ["Activity"]}]
    chosen = make("entity_constraints", owner=alice, document=document, **ontologies)
    project.dataset.remove(project.dataset.items().filter(position=0), by=alice)

    def restore():
        Item.with_removed.update(removed_at=None)
        mark(1, None, "a", "Thermostat", 0, 0)
        mark(1, None, "b", "Replace", 0, 0)

    def judge(*args):
        at_once(restore)
        return broken_in(*args)

    monkeypatch.setattr("projects.violation_report.broken_in", judge)
    response = as_alice.get(f"/projects/{project.pk}/constraints/entity/", {"constraints": chosen.pk})
    assert "All marks in the project obey them." in words_of(response)
    assert project.dataset.items().count() == 3


def test_the_dialog_says_why_constraints_do_not_fit(as_alice, alice, project):
    other = factories.ontology(owner=alice, name="Other", items=[{"name": "Fan"}])
    document = [{"domain": "Fan", "excludes": []}]
    stranger = make("entity_constraints", owner=alice, entities=other, relations=None, document=document)
    address = f"/projects/{project.pk}/constraints/entity/"
    for response in (
        as_alice.get(address, {"constraints": stranger.pk}),
        as_alice.post(address, {"constraints": stranger.pk}),
    ):
        assert response.status_code == 422
        assert "names the label “Fan”, which “entity labels” does not have" in words_of(response)
    for odd in ("", "x", "4711"):
        assert as_alice.post(address, {"constraints": odd}).status_code == 422
    assert not project.constraint_sets()
