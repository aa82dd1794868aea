"""What the operations of constraints and preannotations do beyond their pages."""

import pytest

from resources.models import ConstraintSet, PreannotationSet
from tests import factories, resource_sets
from tests.api.asks import request, token_of
from tests.resource_sets import THERMOSTAT, document_of, uid
from tests.work.test_learn_views import constraints_of, dataset  # noqa: F401 - a fixture


@pytest.fixture
def ontologies(alice):
    return {"entities": factories.ontology(owner=alice), "relations": factories.ontology(owner=alice, kind="relation")}


@pytest.fixture
def rules(alice, ontologies):
    return resource_sets.make("entity_constraints", owner=alice, **ontologies)


@pytest.fixture
def lexicon(alice, ontologies, settings):
    settings.PREANNOTATION_RESOURCES = True
    return resource_sets.make("entity_preannotations", owner=alice, **ontologies)


def asker(thing):
    token, section = token_of("alice"), {"constraint": "constraints", "preannotation": "preannotations"}[thing.noun]

    def asked(method, rest="", body=None, **headers):
        return request(method, f"/api/v1/{section}/{thing.pk}{rest}", token, body, **headers)

    return asked


def test_a_dry_run_tells_what_looks_wrong_and_stores_nothing(alice, ontologies):
    query = f"kind=entity&entity_ontology={ontologies['entities'].pk}"
    document = f'[{{"domain": "PhysicalObject", "excludes": ["{THERMOSTAT}", "PhysicalObject"]}}]'.encode()
    answer = request("POST", f"/api/v1/constraints?{query}&dry_run=1", token_of("alice"), document)
    assert (answer.status_code, answer.json()["rows"]) == (200, 1)
    assert answer.json()["total"] == len(answer.json()["warnings"]) > 0
    assert not ConstraintSet.objects.exists()
    made = request("POST", f"/api/v1/constraints?{query}&name=R", token_of("alice"), document)
    assert (made.status_code, made.json()["content"]) == (201, "1 rule")
    wrong = request("POST", f"/api/v1/constraints?{query}&name=R", token_of("alice"), b'[{"domain": "X"}]')
    assert (wrong.status_code, wrong.json()["problems"][0]["place"]) == (422, "item 1")
    for query in ("name=R&kind=entity", "name=R&kind=x", "name=R&kind=relation&entity_ontology=0"):
        assert request("POST", f"/api/v1/constraints?{query}", token_of("alice"), b"[]").status_code == 422


def test_rules_are_told_with_the_names_of_their_labels(rules):
    ask = asker(rules)
    told = ask("GET", "/rules").json()["results"]
    names = [
        {name: each[name] and [label["fullname"] for label in each[name]] for name in ("excludes", "can_contain")}
        for each in told
    ]
    assert [each["domain"]["fullname"] for each in told] == [each["domain"] for each in document_of(rules)]
    assert names[0] == {name: document_of(rules)[0][name] for name in names[0]}
    assert (names[1]["can_contain"], names[2]["can_contain"]) == (None, [])
    assert ask("GET", f"/rules/{told[0]['key']}").json() == told[0]


def test_a_rule_is_changed_and_removed_only_as_it_was_read(rules):
    ask, state = asker(rules), uid(rules, "State")
    etag = ask("GET", f"/rules/{state}")["ETag"]
    body = {"excludes": [uid(rules, "Activity")], "can_contain": []}
    changed = ask("PATCH", f"/rules/{state}", body, **{"If-Match": etag})
    assert [label["fullname"] for label in changed.json()["excludes"]] == ["Activity"]
    for method in ("PATCH", "DELETE"):
        late = ask(method, f"/rules/{state}", {"excludes": []} if method == "PATCH" else None, **{"If-Match": etag})
        assert (late.status_code, late["ETag"]) == (412, changed["ETag"])
    assert ask("DELETE", f"/rules/{state}", **{"If-Match": changed["ETag"]}).json()["changed"] == 1
    assert ask("GET", f"/rules/{state}").status_code == 404
    assert ask("POST", "/undo").json()["verb"] == "remove"
    assert ask("GET", f"/rules/{state}")["ETag"] == changed["ETag"]


def test_labels_are_put_into_lists_whatever_else_happened(rules):
    ask, state, activity = asker(rules), uid(rules, "State"), uid(rules, "Activity")
    for _ in range(2):  # again, nothing changes
        lists = ask("PUT", f"/rules/{state}/can_contain/{activity}").json()
        assert [label["uid"] for label in lists["can_contain"]] == [activity]
    assert ask("DELETE", f"/rules/{state}/can_contain/{activity}").json()["can_contain"] == []
    assert ask("PUT", f"/rules/{state}/range/{activity}").status_code == 422
    assert ask("PATCH", f"/rules/{state}", {"excludes": ["ffffffff"]}).status_code == 422
    made = ask("POST", "/rules", {"domain": activity, "excludes": [state]})
    assert (made.status_code, made.json()["key"], made.json()["number"]) == (201, activity, 4)
    assert ask("POST", "/rules", {"domain": activity}).status_code == 422
    assert ask("POST", "/rules", {"domain": activity, "relation": state}).status_code == 422
    pair = {"row": state, "column": activity, "list": "excludes", "wanted": False}
    assert ask("POST", "/pairs", pair).json()["changed"] >= 1
    assert ask("POST", "/pairs", pair | {"list": "range"}).status_code == 404


def test_a_rule_of_relations_is_named_by_both_labels(alice, ontologies):
    thing = resource_sets.make("relation_constraints", owner=alice, **ontologies)
    ask = asker(thing)
    first = ask("GET", "/rules").json()["results"][0]
    assert first["key"] == f"{first['relation']['uid']}-{first['domain']['uid']}"
    assert ask("PATCH", f"/rules/{first['key']}", {"range": []}).json()["range"] == []
    pair = {"row": first["domain"]["uid"], "column": first["domain"]["uid"], "list": "range", "wanted": True}
    assert ask("POST", "/pairs", pair).json()["problems"][0]["place"] == "$.relation"
    assert ask("POST", "/pairs", pair | {"relation": first["relation"]["uid"]}).json()["changed"] == 1
    assert ask("GET", "/checks").status_code == 200


def test_rules_are_learned_from_marks(dataset, alice):  # noqa: F811
    thing = constraints_of(dataset, alice)
    ask, of = asker(thing), {"dataset": dataset.pk, "marks": "given"}
    proposed = ask("GET", f"/proposals?dataset={dataset.pk}&marks=given").json()
    [rule] = [rule for rule in proposed["rules"] if rule["domain"]["fullname"] == "State"]
    assert proposed["total"] > 0 and rule["chosen"] and rule["labels"][0]["times"] >= 50
    would = ask("POST", "/proposals?dry_run=1", of).json()
    assert would["learned"] == sum(each["chosen"] for each in proposed["rules"]) > 0 and thing.row_count == 0
    some = {"rules": [{"key": rule["key"], "labels": [rule["labels"][0]["uid"]]}]}
    assert ask("POST", "/proposals", of | some).json()["learned"] == 1
    [learned] = ask("GET", "/rules").json()["results"]
    assert [label["uid"] for label in learned["can_contain"]] == [rule["labels"][0]["uid"]]
    assert ask("POST", "/undo").json()["verb"] == "learn"
    assert ask("POST", "/proposals", {"dataset": 0}).json()["problems"][0]["place"] == "dataset"


def test_rows_of_preannotations_are_listed_added_changed_and_removed(lexicon):
    ask = asker(lexicon)
    rows = ask("GET", "/rows?limit=2").json()
    assert (len(rows["results"]), rows["results"][0]["label"]["fullname"]) == (2, THERMOSTAT)
    made = ask("POST", "/rows", {"surface_form": "valve", "label": uid(lexicon, "PhysicalObject")}).json()
    assert ask("GET", f"/rows/{made['id']}").json() == made
    for wrong in ({"label": uid(lexicon, "State")}, {"surface_form": "x", "label": "ffffffff"}):
        assert ask("POST", "/rows", wrong).status_code == 422
    assert ask("PATCH", f"/rows/{made['id']}", {"offset": 1}).json()["problems"][0]["place"] == "$.offset"
    etag = made["etag"]
    changed = ask("PATCH", f"/rows/{made['id']}", {"surface_form": "valves"}, **{"If-Match": etag})
    assert changed.json()["surface_form"] == "valves"
    assert ask("PATCH", f"/rows/{made['id']}", {"surface_form": "x"}, **{"If-Match": etag}).status_code == 412
    keys = [row["id"] for row in rows["results"]]
    assert ask("POST", "/rows/remove", {"rows": [*keys, 0]}).json()["changed"] == 2
    assert ask("POST", "/rows/remove", {"rows": keys}).json()["changed"] == 0
    assert lexicon.row_count == 2
    assert ask("GET", "/changes").json()["results"][-1]["verb"] == "remove"
    assert ask("GET", "/download?format=csv").content.startswith(b"surface_form,label")


def test_rows_of_relations_have_an_offset(alice, ontologies, settings):
    settings.PREANNOTATION_RESOURCES = True
    thing = resource_sets.make("relation_preannotations", owner=alice, **ontologies)
    ask = asker(thing)
    first = ask("GET", "/rows").json()["results"][0]
    labels = {name: first[name]["uid"] for name in ("source_label", "target_label", "label")}
    forms = {"source_surface_form": "fix", "target_surface_form": "leak"}
    assert ask("POST", "/rows", forms | labels).json()["offset"] == 0
    assert ask("PATCH", f"/rows/{first['id']}", {"offset": 7}).json()["offset"] == 7


def test_preannotations_are_changed_only_where_they_are_switched_on(lexicon, settings):
    settings.PREANNOTATION_RESOURCES = False
    ask = asker(lexicon)
    assert ask("GET", "/rows").status_code == 200
    assert ask("POST", "/rows", {"surface_form": "x", "label": uid(lexicon, "State")}).status_code == 403
    query = f"name=R&kind=entity&entity_ontology={lexicon.entity_ontology_id}"
    answer = request("POST", f"/api/v1/preannotations?{query}", token_of("alice"), b"[]")
    assert answer.status_code == 422 and "PREANNOTATION_RESOURCES" in answer.json()["detail"]
    assert PreannotationSet.objects.count() == 1


def test_whether_case_matters_is_changed_like_a_name(lexicon):
    ask = asker(lexicon)
    changed = ask("PATCH", body={"ignore_case": True, "was": {"ignore_case": False}}).json()
    assert (changed["ignore_case"], changed["entity_ontology"]) == (True, lexicon.entity_ontology_id)
    assert ask("PATCH", body={"ignore_case": 1}).status_code == 422


def test_labels_that_are_missing_are_added_if_that_is_wanted(lexicon):
    query = f"name=R&kind=entity&entity_ontology={lexicon.entity_ontology_id}"
    table, token = b"surface_form,label\nvalve,Valve\n", token_of("alice")
    assert request("POST", f"/api/v1/preannotations?{query}", token, table).status_code == 422
    assert request("POST", f"/api/v1/preannotations?{query}&add_labels=1", token, table).status_code == 201
