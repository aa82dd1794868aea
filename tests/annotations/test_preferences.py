"""What somebody likes: keys for labels in a project, and how the text is shown. Kept on the server, for each person."""

import json

import pytest

from annotation_service.models import COMFORT, User
from ontologies.models import OntologyItem
from projects import bundle
from projects.models import Membership, Project
from tests import factories

from .test_workspace import state_of

DEFAULTS = {
    "size": "m",
    "spacing": "normal",
    "names": "cut",
    "arcs": "all",
    "strength": "normal",
    "sureness": "0",
    "on_page": "1",
}


@pytest.fixture
def post():
    def post(client, url, **body):
        return client.post(url, body, content_type="application/json", headers={"Accept": "application/json"})

    return post


@pytest.fixture
def state(project, item):
    def state(client, path=""):
        return state_of(client.get(f"/projects/{project.pk}/{path or f'annotate/{item.pk}'}/"))

    return state


def test_a_key_applies_one_label_and_a_label_has_one_key(as_carol, project, post, label, state):
    url = state(as_carol)["urls"]["shortcuts"]
    assert state(as_carol)["shortcuts"] == {"entity": {}, "relation": {}}
    some, other = label("State"), label("Activity")
    steps = [
        (("1", some), {"1": some}),
        (("2", other), {"1": some, "2": other}),
        (("0", some), {"2": other, "0": some}),
        (("2", some), {"2": some}),
        (("2", ""), {}),
        (("2", ""), {}),
    ]
    for (key, uid), expected in steps:
        answer = post(as_carol, url, kind="entity", key=key, label=uid)
        assert answer.json()["shortcuts"] == {"entity": expected, "relation": {}}
    relation = label("hasPart", "relation")
    post(as_carol, url, kind="relation", key="1", label=relation)
    assert state(as_carol)["shortcuts"] == {"entity": {}, "relation": {"1": relation}}


@pytest.mark.parametrize(
    "wrong",
    [
        *({"kind": kind} for kind in ("", "Entity", "relation")),
        *({"key": key} for key in ("", "a", "10", "²", "01")),
        {"label": "ffffffff"},
        {"more": "1"},
        {"key": 1},
    ],
)
def test_what_is_no_shortcut_is_refused(as_carol, carol, project, post, label, wrong):
    body = {"kind": "entity", "key": "1", "label": label("State"), **wrong}
    answer = post(as_carol, f"/projects/{project.pk}/shortcuts/", **body)
    assert answer.status_code == 422 and answer.json()["error"]
    assert Membership.objects.get(user=carol).shortcuts == {"entity": {}, "relation": {}}


def test_the_hidden_root_and_labels_of_other_projects_have_no_shortcuts(as_carol, alice, project, post):
    other = factories.project(by=alice, name="Other", relations=False)
    state = OntologyItem.objects.get(ontology=other.entity_ontology, name="State")
    OntologyItem.objects.filter(pk=state.pk).update(uid="elsewher")
    for label in ("elsewher", project.entity_ontology.root.uid):
        answer = post(as_carol, f"/projects/{project.pk}/shortcuts/", kind="entity", key="1", label=label)
        assert answer.status_code == 422


def test_shortcuts_are_of_one_person_in_one_project(as_carol, as_alice, carol, alice, project, post, label, state):
    factories.project(by=alice, name="Other", annotators=[carol])
    post(as_carol, f"/projects/{project.pk}/shortcuts/", kind="entity", key="1", label=label("State"))
    post(as_carol, "/annotate/comfort/", name="size", value="xl")
    shortcuts = dict(Membership.objects.values_list("pk", "shortcuts"))
    mine = Membership.objects.get(user=carol, project=project).pk
    assert [pk for pk, each in shortcuts.items() if each["entity"]] == [mine]
    assert state(as_alice)["shortcuts"]["entity"] == {}
    assert state(as_alice)["comfort"] == DEFAULTS
    reading = state(as_alice, f"marks/{carol.pk}/{project.dataset.items()[1].pk}")
    assert not {"shortcuts", "comfort"} & {*reading, *reading["urls"]}


def test_the_bundle_has_the_shortcuts_of_its_project_and_nothing_else_that_somebody_likes(
    as_carol, post, state, carol, project, label, tmp_path
):
    Membership.objects.get(user=carol, project=project).set_shortcut("entity", "1", label("State"))
    url = state(as_carol)["urls"]["comfort"]
    for name, choice in COMFORT.items():
        post(as_carol, url, name=name, value=choice.values[-1])
    with (tmp_path / "bundle.zip").open("w+b") as file:
        manifest = bundle.write(Project.objects.get(), file)
    [carols] = [member for member in manifest["members"] if member["user"] == "carol"]
    assert carols["shortcuts"]["entity"] == {"1": label("State")}
    assert not {*COMFORT, "comfort"} & {*json.dumps(manifest).replace('"', " ").split()}


def test_each_choice_is_kept_for_the_person(as_carol, post, state):
    assert state(as_carol)["comfort"] == DEFAULTS
    url, chosen = state(as_carol)["urls"]["comfort"], dict(DEFAULTS)
    for name, choice in COMFORT.items():
        for value in choice.values:
            chosen[name] = value
            assert post(as_carol, url, name=name, value=value).json() == {"comfort": chosen}
    assert state(as_carol)["comfort"] == chosen


@pytest.mark.parametrize("wrong", [{"name": "font"}, {"value": "xxl"}, {"value": 1}, {"name": "arcs"}])
def test_what_cannot_be_chosen_is_refused(as_carol, carol, post, wrong):
    answer = post(as_carol, "/annotate/comfort/", **{"name": "size", "value": "l", **wrong})
    assert answer.status_code == 422 and answer.json()["error"]
    assert User.objects.get(pk=carol.pk).comfort == {}


def test_a_choice_that_is_not_there_any_more_is_not_shown(as_carol, carol, state):
    User.objects.filter(pk=carol.pk).update(comfort={"size": "xxxl", "font": "serif", "arcs": "off"})
    assert state(as_carol)["comfort"] == {**DEFAULTS, "arcs": "off"}


def test_a_page_of_another_person_chooses_nothing_for_me(as_carol, alice, post):
    headers = {"X-Annotator": str(alice.pk), "Accept": "application/json"}
    body = {"name": "size", "value": "l"}
    answer = as_carol.post("/annotate/comfort/", body, content_type="application/json", headers=headers)
    assert answer.status_code == 401 and "Reload" in answer.json()["error"]


def test_former_members_are_told_what_is_gone(as_carol, carol, project, post):
    project.remove_member(Membership.objects.get(user=carol))
    answer = post(as_carol, f"/projects/{project.pk}/shortcuts/", kind="entity", key="1", label="")
    assert answer.status_code == 404 and "member" in answer.json()["error"]
