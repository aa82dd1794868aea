"""The list and the page of constraint sets, and what is changed there."""

import json
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from resources.models import ConstraintSet
from tests import factories
from tests.answers import text_of, toast
from tests.factories import item
from tests.queries import queries_of
from tests.resource_sets import DOCUMENTS, document_of, make, uid


@pytest.fixture
def rules(alice, labels):
    return make("entity_constraints", owner=alice, name="Maintenance rules", **labels)


@pytest.fixture
def relating(alice, labels):
    return make("relation_constraints", owner=alice, name="Relating", **labels)


def url(name, constraints, *args):
    return reverse(f"resources:{name}", args=[constraints.pk, *args])


def test_the_list_finds_sorts_and_counts(as_bob, rules, relating):
    found = text_of(as_bob.get(reverse("resources:list")))
    assert "Maintenance rules Entities 3 entity labels Blueprint in no project alice" in found
    assert "Relating Relations 3 entity labels, relation labels Blueprint" in found and "2 sets of constraints" in found
    assert "Relating" not in text_of(as_bob.get(reverse("resources:list"), {"kind": "entity"}))
    assert "Maintenance" not in text_of(as_bob.get(reverse("resources:list"), {"q": "relating"}))
    assert "No constraints match" in text_of(as_bob.get(reverse("resources:list"), {"mine": "on"}))


def test_the_page_shows_own_and_inherited_labels(as_alice, rules, labels):
    rules.add_rule(uid(rules, "Thermostat"), by=rules.owner, can_contain=[])
    rules.add_rule(uid(rules, "DrivingObject"), by=rules.owner)
    shown = text_of(as_alice.get(rules.get_absolute_url()))
    assert "PhysicalObject and 3 below rule 1 · matrix × excludes State × Activity × + label" in shown
    assert (
        "Activity/Replace rule 3 · matrix × excludes Replace × PhysicalObject, by its own rule + label can contain nothing"
        in shown
    )
    assert "nothing replaces “Thermostat and PhysicalObject” from PhysicalObject" in shown
    assert "DrivingObject rule 5 · matrix × excludes State, from PhysicalObject Activity, from PhysicalObject" in shown
    assert "can contain Thermostat, from PhysicalObject PhysicalObject, from PhysicalObject limit…" in shown
    assert "State rule 2 · matrix × excludes PhysicalObject, by its own rule + label can contain any label" in shown
    assert "5 rules · labels of entity labels · yours" in shown


def test_the_page_shows_where_relations_lead(as_alice, relating):
    shown = text_of(as_alice.get(relating.get_absolute_url()))
    assert (
        "hasPart from PhysicalObject and 3 below rule 1 · matrix × leads to DrivingObject × Thermostat × + label"
        in shown
    )
    assert "hasPart from Activity and 1 below rule 2 · matrix × leads to nowhere + label" in shown


def test_rules_are_found_by_their_labels_and_shown_in_pages(as_alice, rules, settings, monkeypatch):
    monkeypatch.setattr("resources.rules_page.SHOWN_RULES", 1)
    found = as_alice.get(url("rules", rules), {"q": "replac"})
    assert "rule 3" in text_of(found) and "rule 1" not in text_of(found)
    assert "rule 2" in text_of(as_alice.get(url("rules", rules), {"page": "2"}))
    assert "None of the rules has “pump”" in text_of(as_alice.get(url("rules", rules), {"q": "pump"}))


def test_rules_are_found_that_a_label_inherits(as_alice, rules, relating):
    found = text_of(as_alice.get(url("rules", rules), {"q": "thermost"}))
    assert "rule 1" in found and "above" not in found
    found = text_of(as_alice.get(url("rules", rules), {"q": "replac"}))
    assert (
        "rule 3" in found
        and "rule 1 · matrix × names “Activity”, which is above “Replace”" in found
        and "rule 2" not in found
    )
    found = text_of(as_alice.get(url("rules", relating), {"q": "replac"}))
    assert "rule 2 · matrix × names “Activity”, which is above “Replace”" in found and "rule 1" not in found


def test_a_link_leads_to_a_rule_on_its_page(as_alice, rules, relating, monkeypatch):
    monkeypatch.setattr("resources.rules_page.SHOWN_RULES", 1)
    for each, dialog, query in (
        (rules, "checks", {}),
        (rules, "add_rule", {}),
        (relating, "add_rule", {"relation": uid(relating, "hasPart")}),
    ):
        shown = as_alice.get(url(dialog, each), query).text
        address, anchor = re.findall(r'href="([^"#]*)#([^"]*)" data-to-rule', shown)[-1]
        assert f'id="{anchor}"' not in as_alice.get(each.get_absolute_url()).text
        assert f'id="{anchor}"' in as_alice.get(address).text


def test_others_read_the_rules_and_change_nothing(as_bob, rules):
    page = as_bob.get(rules.get_absolute_url()).text
    assert "PhysicalObject" in page and "hx-post" not in page.partition("<main")[2]


def test_labels_are_picked_and_taken_out(as_alice, rules):
    state = uid(rules, "State")
    pick = url("pick", rules, state, "excludes")
    assert "“State” excludes" in text_of(as_alice.get(pick))
    answer = as_alice.post(
        pick, {"add": uid(rules, "Activity")}, headers={"HX-Request": "true", "HX-Target": "choices"}
    )
    assert answer.status_code == 200 and json.loads(answer["HX-Trigger"]) == {"constraintsChanged": {"version": 2}}
    assert 'aria-pressed="true"' in answer.text
    answer = as_alice.post(pick, {"drop": uid(rules, "Activity")})
    assert document_of(rules) == DOCUMENTS["entity_constraints"]


def test_a_limit_is_set_and_taken_away(as_alice, rules):
    pick = url("pick", rules, uid(rules, "State"), "can_contain")
    assert "Nothing may stand inside" in text_of(as_alice.get(pick)) and rules.version == 1
    picked = as_alice.post(pick, {"add": uid(rules, "State"), "limits": "1"}).text
    assert picked.count('aria-pressed="true"') == 1 and "Nothing may stand inside" not in picked
    assert document_of(rules)[1] == {"domain": "State", "excludes": [], "can_contain": ["State"]}
    assert "Nothing may stand inside" not in text_of(as_alice.get(pick))
    as_alice.post(pick, {"limit": "0"})
    answer = as_alice.post(pick, {"limit": "1"})
    assert document_of(rules)[1] == {"domain": "State", "excludes": [], "can_contain": []}
    assert "closeDialog" in json.loads(answer["HX-Trigger"])
    as_alice.post(pick, {"limit": "0"})
    assert document_of(rules)[1] == {"domain": "State", "excludes": []}


@pytest.mark.parametrize(
    ("field", "data", "status", "text"),
    [
        ("excludes", {"add": "ffffffff"}, 422, "not there any more"),
        ("excludes", {"add": "a\0"}, 422, "not there any more"),
        ("excludes", {"drop": "a\0"}, 200, ""),
        ("excludes", {}, 422, "Choose a label"),
        ("excludes", {"limit": "0"}, 422, "Choose a label"),
        ("can_contain", {"limit": "2"}, 422, "Choose a label"),
        ("can_contain", {"limit": "1", "was": "x"}, 409, "Somebody changed this list meanwhile"),
        ("can_contain", {"add": "State"}, 422, "Somebody took the limit of “State” away"),
        ("range", {"add": "State"}, 404, ""),
        ("domain", {"add": "State"}, 404, ""),
    ],
)
def test_what_a_browser_would_not_send_is_no_failure(as_alice, rules, field, data, status, text):
    data = {key: uid(rules, value) if value == "State" else value for key, value in data.items()}
    answer = as_alice.post(url("pick", rules, uid(rules, "State"), field), data)
    assert answer.status_code == status and (not text or text in toast(answer))


def test_a_label_stands_in_one_list_of_a_rule(as_alice, rules):
    key, field = uid(rules, "PhysicalObject"), "can_contain"
    answer = as_alice.post(url("pick", rules, key, field), {"add": uid(rules, "State")})
    assert answer.status_code == 422 and "stands in “excludes” already" in toast(answer)
    assert "stands in “excludes”" in text_of(as_alice.get(url("pick", rules, key, field)))


def test_rules_are_added_and_removed(as_alice, rules, relating):
    assert "State has a rule" in text_of(as_alice.get(url("add_rule", rules)))
    answer = as_alice.post(url("add_rule", rules), {"key": uid(rules, "Activity")})
    assert "“Activity” excludes" in text_of(answer) and document_of(rules)[-1] == {"domain": "Activity", "excludes": []}
    assert "There is a rule for “Activity”" in toast(
        as_alice.post(url("add_rule", rules), {"key": uid(rules, "Activity")})
    )
    assert (
        toast(as_alice.post(url("remove_rule", rules, uid(rules, "Activity"))))
        == "The rule for “Activity” was removed."
    )
    relation = uid(relating, "hasPatient")
    assert "for which relation?" in text_of(as_alice.get(url("add_rule", relating)))
    assert "“hasPatient” leads from which" in text_of(as_alice.get(url("add_rule", relating), {"relation": relation}))
    answer = as_alice.post(url("add_rule", relating), {"key": f"{relation}-{uid(relating, 'State')}"})
    assert "“hasPatient from State” leads to" in text_of(answer)
    for key in ("", "a\0", f"{relation}-a\0", f"{relation}-{relation}", "-"):
        assert as_alice.post(url("add_rule", relating), {"key": key}).status_code == 422


def test_a_rule_that_somebody_changed_is_not_removed_unseen(as_alice, bob, rules):
    key = uid(rules, "PhysicalObject")
    remove = url("remove_rule", rules, key)

    def seen():
        (was,) = re.findall(rf"{remove}\" hx-vals='(.*?)'", as_alice.get(rules.get_absolute_url()).text)
        return json.loads(was)

    before = seen()
    rules.drop_label(key, "excludes", uid(rules, "State"), by=bob)
    answer = as_alice.post(remove, before)
    assert answer.status_code == 409 and "Somebody changed the rule for “PhysicalObject”" in toast(answer)
    assert "constraintsChanged" in answer["HX-Trigger"] and rules.row_count == 3
    assert as_alice.post(remove, seen()).status_code == 200 and rules.row_count == 2


@pytest.mark.parametrize("act", ["remove", "drop", "pick"])
def test_a_rule_that_was_removed_meanwhile_leaves_the_page(as_alice, bob, rules, act):
    key = uid(rules, "State")
    pick = url("pick", rules, key, "excludes")
    rules.remove_rule(key, by=bob)
    if act == "pick":
        answer = as_alice.get(pick)
    else:
        address = pick if act == "drop" else url("remove_rule", rules, key)
        answer = as_alice.post(address, {"drop": uid(rules, "Activity"), "was": "x"})
    assert answer.status_code == 409 and toast(answer) == "The rule for “State” was removed meanwhile."
    assert {"constraintsChanged", "closeDialog"} < set(json.loads(answer["HX-Trigger"]))


def test_labels_are_searched_in_the_dialog(as_alice, rules, monkeypatch):
    found = as_alice.get(url("add_rule", rules), {"q": "therm"})
    assert text_of(found) == "Thermostat"
    monkeypatch.setattr("resources.views.SHOWN_CHOICES", 2)
    assert "5 more labels: search" in text_of(as_alice.get(url("add_rule", rules)))
    assert "No label has this" in text_of(
        as_alice.get(url("pick", rules, uid(rules, "State"), "excludes"), {"q": "zz"})
    )


def test_the_label_whose_name_fits_best_is_first(as_alice, rules):
    found = as_alice.get(url("add_rule", rules), {"q": "stat"}).text
    names = re.findall(r'"truncate">([^<]*)<', found)
    assert names[0] == "State" and "Thermostat" in names


def test_the_history_tells_who_did_what_and_takes_it_back(as_alice, as_bob, rules):
    as_alice.post(url("pick", rules, uid(rules, "State"), "can_contain"), {"limit": "1"})
    as_alice.post(url("remove_rule", rules, uid(rules, "Replace")))
    shown = text_of(as_bob.get(url("history", rules)))
    assert "Remove “Replace” alice · just now excludes Replace; can contain nothing" in shown
    assert "Change “State” alice · just now can contain anything → nothing" in shown
    assert "Create with 3 rules" in shown and "Revert" not in shown
    answer = as_alice.post(url("revert", rules, 2))
    assert "Revert change “State”" in text_of(answer) and "constraintsChanged" in answer["HX-Trigger"]
    assert "undone already" in text_of(as_alice.post(url("revert", rules, 2)))
    as_alice.post(url("undo", rules) + "?version=3")
    assert document_of(rules) == DOCUMENTS["entity_constraints"]


def test_the_history_says_which_list_got_or_lost_what(as_alice, alice, rules):
    state, thing, replace = (uid(rules, name) for name in ("State", "PhysicalObject", "Replace"))
    for lists in (
        {"excludes": [replace]},
        {"excludes": [replace, thing], "can_contain": [state]},
        {"excludes": [thing, replace]},
        {"excludes": [thing, state], "can_contain": []},
    ):
        rules.change_rule(state, by=alice, **lists)
    shown = text_of(as_alice.get(url("history", rules)))
    changes = shown.split("Change “State” alice · just now Revert ")
    assert [change.split(" Before")[0].strip() for change in changes[1:4]] == [
        "excludes + State, − Replace can contain − State",
        "excludes in another order",
        "excludes + PhysicalObject can contain anything → State",
    ]
    assert changes[4].startswith("excludes + Replace ")


def test_undo_and_redo(as_alice, as_bob, rules):
    as_alice.post(url("remove_rule", rules, uid(rules, "Replace")))
    assert toast(as_alice.post(url("undo", rules))) == "Undone: remove, “Replace”."
    assert toast(as_alice.post(url("redo", rules))) == "Done again: remove, “Replace”."
    assert "There is nothing to redo" in toast(as_alice.post(url("redo", rules)))


def test_the_download_has_the_format_of_uploads(as_alice, rules):
    answer = as_alice.get(url("download_json", rules))
    assert json.loads(answer.content) == DOCUMENTS["entity_constraints"]
    assert answer["Content-Disposition"] == 'attachment; filename="maintenance-rules.json"'


def test_the_page_says_where_it_is_used(as_alice, as_bob, alice, bob, rules, labels):
    assert "Not used in a project yet" in text_of(as_alice.get(rules.get_absolute_url()))
    # bob may not read the rules of the project in which he annotates
    factories.project(by=alice, entities=labels["entities"], relations=False, annotators=[bob], resources=[rules])
    assert "Used in Pumps 3 rules" in text_of(as_alice.get(rules.get_absolute_url()))
    assert "Used in 1 other project" in text_of(as_bob.get(rules.get_absolute_url()))


# --- Creating ---


def new(labels, kind="entity", **values):
    data = {"name": "New", "kind": kind, "entity_ontology": labels["entities"].pk, "source": "paste", "text": "[]"}
    return data | ({"relation_ontology": labels["relations"].pk} if kind == "relation" else {}) | values


@pytest.mark.parametrize("kind", ["entity", "relation"])
@pytest.mark.parametrize("source", ["empty", "paste", "file"])
def test_sets_are_made_empty_from_pasted_text_or_from_a_file(as_alice, labels, kind, source):
    document = DOCUMENTS[f"{kind}_constraints"]
    text = json.dumps(document)
    content = {"text": text if source == "paste" else "", "file": SimpleUploadedFile("a.json", text.encode())}
    answer = as_alice.post(reverse("resources:create"), new(labels, kind, source=source, **content))
    made = ConstraintSet.objects.get()
    assert answer.status_code == 302 and answer["Location"] == made.get_absolute_url()
    assert document_of(made) == ([] if source == "empty" else document)
    assert (made.name, made.kind, made.owner.username) == ("New", kind, "alice")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"name": ""}, "This field is required"),
        ({"kind": "x"}, "Select a valid choice"),
        ({"entity_ontology": "0"}, "Select a valid choice"),
        ({"kind": "relation", "relation_ontology": ""}, "This field is required"),
        ({"source": "x"}, "Select a valid choice"),
        ({"text": "[{]"}, "line 1, column 3"),
        ({"text": '[{"domain": "Stat", "excludes": []}]'}, "The nearest is “State”"),
        (
            {"text": '[{"domain": "State", "excludes": []}, {"domain": "State", "excludes": []}]'},
            "stands already at item 1",
        ),
        ({"source": "file"}, "Choose a file"),
    ],
)
def test_what_is_wrong_is_said_at_its_place(as_alice, labels, values, text):
    answer = as_alice.post(reverse("resources:create"), new(labels, **values))
    assert answer.status_code == 422 and text in text_of(answer)
    checked = as_alice.post(reverse("resources:check"), new(labels, **values))
    assert values == {"name": ""} or (checked.status_code == 422 and text in text_of(checked))
    assert not ConstraintSet.objects.exists()


def test_a_dry_run_stores_nothing_and_tells_what_looks_wrong(as_alice, labels):
    document = [{"domain": "PhysicalObject", "excludes": ["State"]}, {"domain": "Thermostat", "excludes": ["State"]}]
    sent = new(labels, name="", text=json.dumps(document))
    answer = as_alice.post(reverse("resources:check"), sent)
    assert answer.status_code == 200 and not ConstraintSet.objects.exists()
    assert "2 rules can be stored. 1 place looks like a mistake" in text_of(answer)
    assert "item 2, $.excludes[0] Rule 1 excludes “State” already: it can be left out." in text_of(answer)
    assert 'class="problems warnings"' in answer.text
    page = as_alice.post(reverse("resources:create"), sent | {"name": "New"}, follow=True)
    assert "1 place in the rules looks like a mistake: see the checks." in text_of(page)


def test_a_projects_ontologies_are_no_choice(as_alice, alice, labels):
    project = factories.project(by=alice)
    assert str(project.entity_ontology.pk) not in re.findall(
        r'value="(\d+)"', as_alice.get(reverse("resources:create")).text
    )
    answer = as_alice.post(reverse("resources:create"), new(labels, entity_ontology=project.entity_ontology.pk))
    assert answer.status_code == 422


def test_checks_are_shown_with_their_rules(as_alice, rules, labels):
    item(labels["entities"], "Activity").switch(False, by=rules.owner)
    shown = text_of(as_alice.get(url("checks", rules)))
    assert "Rule 1: PhysicalObject “Thermostat” lies below “PhysicalObject”, which is in this list" in shown
    assert "“Activity” is switched off" in shown and "Rule 2: State This excludes nothing and sets no limit" in shown


def test_a_set_is_renamed_duplicated_and_deleted(as_alice, rules):
    assert (
        as_alice.post(url("edit", rules), {"name": "New name", "description": ""})["HX-Redirect"]
        == rules.get_absolute_url()
    )
    copied = as_alice.post(url("duplicate", rules), {"name": "Copy"})["HX-Redirect"]
    assert "3 rules" in text_of(as_alice.get(copied))
    assert as_alice.post(url("delete", rules))["HX-Redirect"] == reverse("resources:list")
    assert item(rules.entity_ontology, "State").usage().own == {"constraints": 2}


def test_queries_do_not_grow_with_projects(as_alice, alice, rules, labels):
    dataset = factories.dataset(owner=alice)

    def queries():
        factories.project(
            by=alice, name="One more", of=dataset, entities=labels["entities"], relations=False, resources=[rules]
        )
        assert "One more 3 rules" in text_of(as_alice.get(rules.get_absolute_url()))
        return len(queries_of(as_alice.get, rules.get_absolute_url()))

    queries()  # fills what is kept in memory
    assert queries() == queries()


def test_queries_do_not_grow_with_the_labels_of_a_list(alice, rules, labels):
    key, others = uid(rules, "Thermostat"), ["State", "Activity", "Replace"]
    rules.add_rule(key, by=alice)
    rules.add_label(key, "excludes", uid(rules, "DrivingObject"), by=alice)

    def queries(name):
        return len(queries_of(rules.add_label, key, "excludes", uid(rules, name), by=alice))

    assert len({queries(name) for name in others}) == 1
