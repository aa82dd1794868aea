"""What the operations of ontologies do beyond their pages: dry runs, what was read before a change, and uids of programs."""

import json

import pytest
from django.urls import reverse

from ontologies.models import Ontology
from tests import factories
from tests.api.asks import request, token_of

TREE = "Pump\n  Rotor\n  Seal\nState\n"


@pytest.fixture
def tree(alice):
    ontology = factories.ontology(owner=alice)
    return ontology


@pytest.fixture
def ask(tree):
    token = token_of("alice")

    def asked(method, rest="", body=None, **headers):
        return request(method, f"/api/v1/ontologies/{tree.pk}{rest}", token, body, **headers)

    return asked


def create(query, body):
    return request("POST", f"/api/v1/ontologies?{query}", token_of("alice"), body)


def test_a_dry_run_tells_what_a_file_is_and_stores_nothing(alice):
    before = Ontology.objects.count()
    answer = create("kind=entity&dry_run=1", b"name,description\nPump,A machine\n")
    assert (answer.status_code, answer.json()["labels"]) == (200, 1)
    assert "name" in answer.json()["recognised"]
    assert "column_name" in {each["name"] for each in answer.json()["settings"]}
    assert Ontology.objects.count() == before


def test_the_settings_of_a_format_stand_in_the_query(alice):
    table = b"term,text\nPump,A machine\n"
    made = create("name=T&kind=entity&column_name=term&column_description=text", table)
    assert made.status_code == 201
    [label] = Ontology.objects.get(pk=made.json()["id"]).labels()
    assert (label.name, label.description) == ("Pump", "A machine")
    wrong = create("name=T&kind=entity&column_name=nothing", table)
    assert [each["place"] for each in wrong.json()["problems"]] == ["column_name"]


def test_a_wrong_document_is_refused_with_all_its_places(alice):
    answer = create("name=T&kind=entity", b'[{"name": ""}, {"nam": "x"}]')
    assert answer.status_code == 422
    assert len(answer.json()["problems"]) > 1 and all(each["place"] for each in answer.json()["problems"])
    answer = create("name=T", b"Pump")
    assert [each["place"] for each in answer.json()["problems"]] == ["kind"]


def test_a_download_makes_the_same_tree_again(tree, ask):
    for format in ("json", "csv"):
        made = create("name=Again&kind=entity", ask("GET", f"/download?format={format}").content)
        assert Ontology.objects.get(pk=made.json()["id"]).as_json() == tree.as_json()
    assert ask("GET", "/download?format=xml").status_code == 422
    assert ask("GET", "/codebook?off=yes").content.startswith(b"# ")


def test_labels_come_in_pages_and_lines_as_the_document_has_them(tree, ask):
    found, address = [], "/labels?limit=2"
    while address:
        page = ask("GET", address).json()
        found += page["results"]
        address = page["next"] and page["next"].partition(f"/{tree.pk}")[2]
    assert [label["uid"] for label in found] == [label.uid for label in tree.labels()]
    lines = ask("GET", "/labels", Accept="application/x-ndjson")
    assert [json.loads(line) for line in lines.getvalue().splitlines()] == found

    def flat(items):
        for item in items:
            yield item
            yield from flat(item["children"])

    for told, item in zip(found, flat(json.loads(tree.as_json())), strict=True):
        assert [told[name] for name in ("uid", "path", "fullname")] == [item["id"], item["path"], item["fullname"]]
    [one] = [label for label in found if label["fullname"] == "PhysicalObject/SensingObject/Thermostat"]
    assert one["uid"] in [each["uid"] for each in ask("GET", "/labels?find=thermostat").json()["results"]]


def test_a_label_is_changed_only_as_it_was_read(tree, ask):
    uid = tree.labels()[0].uid
    read = ask("GET", f"/labels/{uid}")
    etag = read["ETag"]
    assert read.json()["etag"] == etag
    changed = ask("PATCH", f"/labels/{uid}", {"name": "New", "color": "#112233"}, **{"If-Match": etag})
    assert (changed.status_code, changed.json()["name"], changed.json()["color"]) == (200, "New", "#112233")
    late = ask("PATCH", f"/labels/{uid}", {"description": "Too late"}, **{"If-Match": etag})
    assert (late.status_code, late["ETag"]) == (412, changed["ETag"])
    assert ask("GET", f"/labels/{uid}").json() == changed.json()
    assert ask("PATCH", f"/labels/{uid}", {"description": "x"}, **{"If-Match": changed["ETag"]}).status_code == 200


def test_all_fields_of_a_change_are_stored_or_none(tree, ask):
    first, second = tree.labels().children[""][:2]
    answer = ask("PATCH", f"/labels/{first.uid}", {"description": "Kept?", "name": "x", "example_terms": ["a" * 999]})
    assert answer.status_code == 422
    assert ask("GET", f"/labels/{first.uid}").json()["name"] == first.name
    assert ask("PATCH", f"/labels/{first.uid}", {"name": second.name}).status_code == 422
    tree.refresh_from_db()
    assert tree.labels().by_uid[first.uid] == first


def test_a_label_that_is_added_again_with_its_uid_is_that_one(tree, ask):
    above = tree.labels()[0].uid
    body = {"name": "Pump", "uid": "0a1b2c3d", "parent": above, "description": "A machine"}
    first, again = ask("POST", "/labels", body), ask("POST", "/labels", body)
    assert (first.status_code, first.json()["parent"], first.json()["description"]) == (201, above, "A machine")
    assert again.json() == first.json()
    assert ask("POST", "/labels", {"name": "Pump", "parent": "ffffffff"}).status_code == 404
    assert ask("POST", "/labels", {"name": "Pump", "uid": "PUMP"}).json()["problems"][0]["place"] == "$.uid"


def test_a_list_is_added_once(tree, ask):
    foreseen = ask("POST", "/label_lists?dry_run=1", TREE.encode()).json()
    assert foreseen["new"] == 3 and foreseen["existing"] == 1 and foreseen["added"] == []
    added = ask("POST", "/label_lists", TREE.encode()).json()
    assert len(added["added"]) == 3
    again = ask("POST", "/label_lists", TREE.encode()).json()
    assert (again["new"], again["added"], again["version"]) == (0, [], added["version"])
    below = ask("POST", f"/label_lists?parent={added['added'][0]}", b"Housing").json()
    assert ask("GET", f"/labels/{below['added'][0]}").json()["fullname"] == "Pump/Housing"


def test_an_update_does_what_a_dry_run_told(tree, ask):
    table = b"path,description\nState,How it is\nPump,A machine\nState,Twice\n"
    assert ask("POST", "/updates", table).json()["problems"][0]["place"] == "agreed"
    foreseen = ask("POST", "/updates?dry_run=1", table).json()
    assert foreseen["total"] == 2 and foreseen["notes"][0]["place"] == "line 4"
    assert {step["field"] for step in foreseen["steps"]} == {"added", "description"}
    assert ask("POST", f"/updates?agreed={foreseen['digest']}", b"path\nValve\n").status_code == 422
    done = ask("POST", f"/updates?agreed={foreseen['digest']}", table).json()
    assert (done["summary"], done["version"]) == (foreseen["summary"], foreseen["version"] + 1)
    assert ask("GET", "/labels?find=pump").json()["results"][-1]["description"] == "A machine"


def test_switching_tells_first_what_it_would_do(tree, ask):
    top = tree.labels()[0].uid
    below = tree.labels().children[top]
    would = ask("POST", "/switch?dry_run=1", {"labels": [top], "active": False}).json()
    assert ask("GET", f"/labels/{top}").json()["active"]
    done = ask("POST", "/switch", {"labels": [top], "active": False}).json()
    assert done["changed"] == would["changed"] > len(below)
    one = {"labels": [below[0].uid], "active": True}
    assert ask("POST", "/switch?dry_run=1", one).json()["above"] == [tree.labels()[0].name]
    assert ask("POST", "/switch", one).status_code == 422
    assert ask("POST", "/switch", one | {"up": True}).json()["changed"] >= 2


def test_several_labels_are_changed_in_one_step_that_is_taken_back(tree, ask):
    children = tree.labels().children[""]
    uids = [label.uid for label in children[:2]]
    assert ask("POST", "/recolor", {"labels": uids, "color": "#112233"}).json()["changed"] == 2
    assert ask("POST", "/separate_colors", {"labels": uids}).json()["changed"] >= 1
    assert ask("GET", "/checks").json()["next"] is None
    last = ask("GET", "/changes").json()["results"][-1]
    assert (last["verb"], last["user"], last["stands"]) == ("recolour", "alice", True)
    undone = ask("POST", "/undo").json()
    assert (undone["kind"], undone["version"]) == ("undo", last["version"] + 1)
    whole = ask("GET", f"/changes/{last['version']}").json()
    assert (whole["stands"], whole["steps"][0]["field"]) == (False, "color")
    assert ask("POST", "/redo").json()["kind"] == "redo"
    assert ask("POST", f"/changes/{last['version']}/revert").json()["title"] == "revert recolour"
    assert ask("POST", "/recolor", {"labels": ["ffffffff"], "color": "#112233"}).status_code == 422


def test_labels_move_where_the_installation_allows_it(tree, ask, settings, as_alice):
    first, second = tree.labels().children[""][:2]
    body = {"labels": [first.uid], "to": second.uid}
    assert "switched off" in ask("POST", "/move", body).json()["detail"]
    settings.ONTOLOGY_MOVE_ITEMS = True
    assert ask("POST", "/move", body).json()["changed"] == 1
    assert ask("GET", f"/labels/{first.uid}").json()["parent"] == second.uid
    assert as_alice.get(reverse("ontologies:item", args=[tree.pk, first.uid])).status_code == 200


def test_annotators_see_the_usage_of_labels_by_their_own_marks_alone(alice, carol):
    project = factories.project(by=alice, annotators=[carol])
    tree = project.entity_ontology
    label, item = tree.items().first(), project.dataset.items().first()
    factories.annotation(item, alice).add_entity(uid="mark-of-alice", label=label, start=0, end=0)
    address = f"/api/v1/ontologies/{tree.pk}/labels/{label.uid}/usage"
    before = request("GET", address, token_of("carol")).json()["own"].get("marks", 0)
    assert request("GET", address, token_of("alice")).json()["own"]["marks"] == before + 1
