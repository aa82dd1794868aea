"""Documents whose marks break constraints: told in the dry run, per rule; refused, or kept as they are when that is chosen."""

import json
import random
from collections import Counter
from itertools import combinations

import pytest

from datasets.importing.items import NewEntity, NewItem
from datasets.models import Dataset, Entity, Relation, Upload
from resources.judging import Judge
from resources.models import ConstraintSet, rules_of
from tests import factories
from tests.resource_sets import PlacedLabel, broken_between, broken_places, make

from .documents import entity, item, relation
from .test_import_command import run

THERMOSTAT = "PhysicalObject/SensingObject/Thermostat"
RULES = {
    "entity_constraints": [
        {"domain": "PhysicalObject", "excludes": ["Activity"], "can_contain": ["PhysicalObject"]},
        {"domain": "State", "excludes": [], "can_contain": []},
    ],
    "relation_constraints": [{"relation": "hasPart", "domain": "PhysicalObject", "range": [THERMOSTAT]}],
}
# The second item breaks three rules, the third one; the first none.
DOCUMENT = [
    item(entities=[entity(0, 0, id="e1"), entity(1, 2, "PhysicalObject", id="e2")]),
    item(
        entities=[
            entity(0, 2, THERMOSTAT, id="e1"),
            entity(2, 2, "Activity/Replace", id="e2"),
            entity(0, 0, "State", id="e3"),
        ],
        relations=[relation("e3", "e1"), relation("e1", "e2", "hasParticipant")],
    ),
    item(entities=[entity(0, 1, id="e1"), entity(1, 2, "PhysicalObject", id="e2")]),
]
EXCLUDED = (
    "“Thermostat” cannot share words with “Replace”: rule 1 of “entity constraints” excludes “Activity” for every"
    " “PhysicalObject”."
)


@pytest.fixture
def sets(alice, labels):
    return {format: make(format, owner=alice, document=document, **labels) for format, document in RULES.items()}


@pytest.fixture
def options(labels, sets):
    return {
        "kind": "preannotated_relation",
        "format": "json",
        "name": "Orders",
        "entity_ontology": labels["entities"].pk,
        "relation_ontology": labels["relations"].pk,
        **{format: each.pk for format, each in sets.items()},
    }


def found(report):
    return {(rule["set"], rule["number"], rule["text"]): rule["count"] for rule in report.violations}


def test_marks_that_break_them_can_be_left_out_so_that_none_is_left(alice, labels, sets, options):
    upload = factories.upload(DOCUMENT, by=alice, options={**options, "violations": "drop"})
    report = upload.examine()
    assert (upload.state, report.violation_total, report.items_refused) == (Upload.State.CHECKED, 5, 0)
    # The later entity of each pair, and the relations that break a rule or lose an end.
    assert (report.left_out, report.entities, report.relations) == (5, 4, 0)
    dataset = upload.store()
    assert "5 marks left out" in upload.found.in_words() and Entity.objects.count() == 4
    project = factories.project(by=alice, of=dataset, resources=list(sets.values()), **labels)
    assert not broken_places(project)


def test_the_dry_run_counts_per_rule_with_examples_and_refuses(alice, options):
    upload = factories.upload(DOCUMENT, by=alice, options=options)
    report = upload.examine()
    assert upload.state == Upload.State.REFUSED
    assert found(report) == {
        ("entity constraints", 1, "“PhysicalObject” excludes “Activity”."): 2,
        ("entity constraints", 1, "“PhysicalObject” can contain only “PhysicalObject”."): 2,
        ("relation constraints", None, "“hasPart” has rules, but none for the source."): 1,
    }
    assert ["item 2", EXCLUDED] in [example for rule in report.violations for example in rule["examples"]]
    places = [problem.place for problem in report.problems.first]
    assert places == [
        "item 2, $.entities[2]",
        "item 2, $.entities[1]",
        "item 2, $.entities[1]",
        "item 2, $.relations[0]",
        "item 3, $.entities[1]",
    ]
    assert not Dataset.objects.exists()


def test_kept_marks_come_in_as_they_are(alice, options):
    upload = factories.upload(DOCUMENT, by=alice, options={**options, "violations": "keep"})
    report = upload.examine()
    assert upload.state == Upload.State.CHECKED and report.violation_total == 5
    upload.store()
    assert (Entity.objects.count(), Relation.objects.count()) == (7, 2)
    assert "5 violations of constraints" in upload.found.in_words()


@pytest.mark.parametrize("seed", range(3))
def test_the_dry_run_finds_what_the_report_of_a_project_finds(alice, labels, sets, options, seed):
    chance = random.Random(seed)
    entities = [label.fullname for label in labels["entities"].labels()]
    relations = [label.fullname for label in labels["relations"].labels()]
    document = []
    for _ in range(40):
        spans = {(first := chance.randrange(3), chance.randrange(first, 3), chance.choice(entities)) for _ in range(5)}
        marks = [entity(*span, id=f"e{n}") for n, span in enumerate(sorted(spans, key=lambda _: chance.random()))]
        ends = {
            (f"e{chance.randrange(len(marks))}", f"e{chance.randrange(len(marks))}", chance.choice(relations))
            for _ in "ab"
        }
        document.append(item(entities=marks, relations=[relation(*end) for end in ends if end[0] != end[1]]))
    upload = factories.upload(document, by=alice, options={**options, "violations": "keep"})
    dataset = upload.store()
    project = factories.project(by=alice, of=dataset, resources=list(sets.values()), keep_violations=True, **labels)
    names = {label.pk: label.name for ontology in project.ontology_set.all() for label in ontology.labels()}
    expected = Counter(
        (
            each.violation.set.name,
            None if each.violation.position is None else each.violation.position + 1,
            each.violation.rule_in_words(names.__getitem__),
        )
        for each in broken_places(project)
    )
    assert found(upload.found) == expected and expected


def test_additions_to_a_project_obey_its_own_constraints(alice, labels, sets, options):
    dataset = factories.upload([item()], by=alice, options={**options, "unmarked": "keep"}).store()
    project = factories.project(by=alice, of=dataset, resources=[sets["relation_constraints"]], **labels)
    addition = factories.upload(DOCUMENT, by=alice, options={"format": "json"}, dataset=project.dataset)
    assert found(addition.examine()) == {
        ("relation constraints", None, "“hasPart” has rules, but none for the source."): 1
    }
    project.take_set_away(ConstraintSet, "relation", by=alice)
    assert not addition.examine().violations and addition.state == Upload.State.CHECKED


def test_constraints_about_another_ontology_bind_by_full_names(alice, options):
    twin = factories.ontology(owner=alice, name="Twin")
    report = factories.upload(DOCUMENT, by=alice, options={**options, "entity_ontology": twin.pk}).examine()
    assert report.violation_total == 5


def test_a_set_that_changes_meanwhile_is_read_again(alice, labels, sets, options, monkeypatch):
    """Between the reading and the storing."""
    upload = factories.upload(DOCUMENT, by=alice, options={**options, "violations": "keep"})

    def progress(done, total, phase):
        if phase == "saving" and sets["entity_constraints"].rows().count() == 2:
            sets["entity_constraints"].remove_rule(sets["entity_constraints"].rows()[0].key, by=alice)

    upload.store(progress)
    assert found(upload.found) == {("relation constraints", None, "“hasPart” has rules, but none for the source."): 1}


def test_at_most_so_many_marks_share_a_token(alice, options, settings):
    settings.MAX_TOKEN_MARKS = 3
    marks = [entity(0, end, id=f"e{end}") for end in range(3)]
    full = {"original": "a b c", "tokens": ["a", "b", "c"], "entities": marks}
    one_more = {**full, "entities": [*marks, entity(0, 0, "State", id="more")]}
    beside = {**full, "entities": [*marks, entity(1, 2, "State", id="more")]}
    document = [full, one_more, beside]
    report = factories.upload(document, by=alice, options={**options, "violations": "keep"}).examine()
    assert [(each.place, each.text) for each in report.problems.first] == [
        ("item 2, $.entities", "At most 3 marks can share a word. More have token 0, counted from 0.")
    ]


# --- The screens ------------------------------------------------------------------------------------------------------------


def send(client, document, options, address="/datasets/new/"):
    return client.post(address, {**options, "text": json.dumps(document), "tokeniser": "punkt"})


def test_constraints_are_chosen_in_the_form_and_decided_upon_in_the_report(as_alice, options):
    address = send(as_alice, DOCUMENT, options)["Location"]
    html = as_alice.get(address).text
    assert 'or decide below to keep <a href="#violations">the marks that break constraints</a>' in html
    assert "<b>1</b><span>item without a problem" in html
    assert "Constraints that marks break" in html and "5 violations of 3 rules" in html and EXCLUDED in html
    as_alice.post(f"{address}decide/", {"violations": "keep"})
    html = as_alice.get(address).text
    assert "This can be stored, and keeps 5 violations of constraints as they are." in html
    assert "Everything is in order" not in html and "5 violations of 3 rules" in html
    as_alice.post(f"{address}store/")
    assert Dataset.objects.get().item_count == 3


def test_constraints_about_other_labels_are_refused_at_their_field(as_alice, alice, labels, options):
    labels["entities"].add_item("Fan", by=alice)
    twin = factories.ontology(owner=alice, name="Twin")
    document = [{"domain": "Fan", "excludes": []}]
    stranger = make("entity_constraints", owner=alice, document=document, **labels)
    response = send(as_alice, DOCUMENT, {**options, "entity_ontology": twin.pk, "entity_constraints": stranger.pk})
    assert response.status_code == 422
    assert "names the label “Fan”, which “Twin” does not have" in response.text


def test_additions_to_a_blueprint_name_them_anew(as_alice, alice, options):
    dataset = factories.upload([item()], by=alice, options={**options, "unmarked": "keep"}).store()
    address = f"/datasets/{dataset.pk}/add/"
    assert "entity_constraints" in as_alice.get(address).text
    form = {"format": "json", "entity_constraints": options["entity_constraints"]}
    upload = Upload.objects.get(pk=send(as_alice, DOCUMENT, form, address)["Location"].split("/")[-2])
    assert upload.found.violation_total == 4
    upload = Upload.objects.get(pk=send(as_alice, DOCUMENT, {"format": "json"}, address)["Location"].split("/")[-2])
    assert upload.state == Upload.State.CHECKED


# --- The command ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "orders.json"
    path.write_text(json.dumps(DOCUMENT))
    return path


@pytest.fixture
def given(labels, sets):
    return [
        *("--entity-ontology", str(labels["entities"].pk), "--relation-ontology", str(labels["relations"].pk)),
        *(part for each in sets.values() for part in ("--constraints", str(each.pk))),
    ]


def test_the_command_refuses_or_keeps(alice, file, given):
    code, _, errors = run(file, *given, kind="preannotated_relation")
    assert code == 1 and f"{file}: item 2, $.entities[1]: {EXCLUDED}" in errors and "add --violations keep." in errors
    assert "--inactive" not in errors and not Dataset.objects.exists()
    code, out, _ = run(file, *given, "--violations", "keep", kind="preannotated_relation")
    assert code == 0 and "5 violations of constraints" in out[0]
    assert Dataset.objects.get(pk=out[-1]).item_count == 3
    assert run(file, *given[:4], kind="preannotated_relation")[0] == 0
    assert run(file, "--constraints", given[-3], into=out[-1])[0] == 1


def test_the_command_refuses_what_would_have_no_effect(alice, labels, sets, file, given):
    twice = [*given, "--constraints", str(sets["entity_constraints"].copy_to(by=alice).pk)]
    refusals = [
        (twice, "preannotated_relation", "Two of the constraint sets are entity constraints: give one of each kind."),
        (
            [*given[:4], "--constraints", "4711"],
            "preannotated_relation",
            "There is no constraint set blueprint with the id 4711.",
        ),
        (
            [*given[:2], *given[-2:]],
            "preannotated_entity",
            "has no relation labels, so it takes no relation constraints.",
        ),
        (["--violations", "keep"], "rich", "A rich dataset has no marks"),
    ]
    for options, kind, reason in refusals:
        code, _, errors = run(file, *options, kind=kind)
        assert code == 1 and reason in errors
    project = factories.project(by=alice)
    code, _, errors = run(file, *given[-2:], into=project.dataset.pk)
    assert code == 1 and "“Work orders” obeys the constraints of the project “Pumps”, so it takes no others." in errors


def test_labels_that_rules_do_not_tell_apart_are_judged_once(alice):
    names = [f"L{number}" for number in range(300)]
    ontology = factories.ontology(owner=alice, items=[{"name": name} for name in names])
    document = [{"domain": "L0", "excludes": ["L1"]}]
    rules = rules_of([make("entity_constraints", owner=alice, document=document, entities=ontology, relations=None)])
    asked = []
    rules.against_nesting = lambda *pair: asked.append(pair)
    marks = [NewEntity(f"e{n}", label.pk, n // 2, 150) for n, label in enumerate(ontology.labels())]
    found = new_item(marks).broken(Judge(rules, [ontology]))
    assert [(place, violation.kind) for place, violation in found] == [("$.entities[1]", "excludes")]
    assert len(asked) < 20


@pytest.mark.parametrize("seed", [0, 100])
def test_marks_break_what_they_break_when_all_are_compared(alice, labels, sets, seed):
    rules, tree = rules_of([sets["entity_constraints"]]), labels["entities"].labels()
    judge = Judge(rules, [labels["entities"]])
    chance = random.Random(seed)
    for _ in range(30):
        starts = [chance.randrange(4) for _ in range(12)]
        marks = [NewEntity(str(n), chance.choice(tree).pk, s, s + chance.randrange(4)) for n, s in enumerate(starts)]
        spans = [PlacedLabel(mark.start, mark.end, tree.lineage(tree.by_pk[mark.label])) for mark in marks]
        expected = Counter(
            (f"$.entities[{last}]", *as_facts(violation))
            for first, last in combinations(range(len(marks)), 2)
            for violation in broken_between(rules, spans[first], spans[last])
        )
        found = new_item(marks).broken(judge)
        assert Counter((path, *as_facts(violation)) for path, violation in found) == expected and expected


def new_item(marks):
    return NewItem("item 1", "", [], None, entities=marks)


def as_facts(violation):
    """Of two labels that cannot share words none is the first."""
    lines = tuple(map(tuple, violation.labels))
    return violation.rule, tuple(sorted(lines)) if violation.kind == "excludes" else lines
