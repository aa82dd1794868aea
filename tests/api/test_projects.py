"""Operations of projects, beyond what their pages do: dry runs, refusals with places, numbers that are agreed to."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation_service.models import Job
from datasets.models import Dataset, Upload
from projects.models import ItemCounts, Project
from tests.api.asks import request, token_of
from tests.resource_sets import make
from tests.test_access import built_world, stored, world  # noqa: F401 - fixtures


@pytest.fixture
def ask(world):  # noqa: F811
    token = token_of("alice")

    def send(method, path, body=None, *, status=None, **headers):
        answer = request(method, f"/api/v1/{path.format(**world)}", token, body, **headers)
        assert status in (None, answer.status_code), answer.content
        is_json = not answer.streaming and answer.content and "json" in answer["Content-Type"]
        return answer.json() if is_json else answer

    return send


def test_a_project_is_made_by_its_ids_and_told_with_those_of_its_copies(ask, world):  # noqa: F811
    new = {"name": "Pumps 2", "dataset": world["dataset"], "entity_ontology": world["ontology"]}
    new |= {"relation_ontology": world["relation_ontology"], "entity_constraints": world["rules"]}
    told = ask("POST", "projects", {**new, "annotators": ["carol"], "annotators_per_item": 1}, status=201)
    project = Project.objects.get(pk=told["id"])
    assert told["resources"]["dataset"] == project.dataset.pk
    assert told["resources"]["entity_constraints"] == project.constraint_sets().get().pk
    assert told["resources"]["relation_constraints"] is None
    rule = ask("GET", f"projects/{told['id']}/assignment")
    assert (told["role"], rule["annotators_per_item"]) == ("manager", 1)
    assert told["progress"] == {"of": "all", "total": 2, "untouched": 2, "begun": 0, "done": 0}
    assert [each["user"] for each in ask("GET", f"projects/{told['id']}/members")["results"]] == ["alice", "carol"]


def test_progress_is_counted_where_it_is_not_known(ask, world):  # noqa: F811
    """After people came or went, until somebody looks: programs look, too."""
    before = ask("GET", "projects/{project}")["progress"]
    ItemCounts.objects.update(begun=None, done=None)
    assert before["begun"] > 0 and ask("GET", "projects/{project}")["progress"] == before


def test_a_dry_run_tells_what_a_project_would_be_and_stores_nothing(ask, world):  # noqa: F811
    before = stored()
    new = {
        "name": "Pumps 2",
        "dataset": world["dataset"],
        "entity_ontology": world["ontology"],
        "annotators": ["nobody"],
    }
    told = ask("POST", "projects?dry_run=1", new, status=200)
    assert [each["place"] for each in told["problems"]] == ["annotators"]
    assert (told["items"], told["takes_long"]) == (2, False)
    told = ask("POST", "projects?dry_run=1", {**new, "annotators": ["carol", "dave"], "annotators_per_item": 1})
    assert (told["problems"], told["pairs"], told["people"]) == ([], [0, 0], 2)
    assert {**stored(), "api.Token": 0} == {**before, "api.Token": 0}


def test_what_does_not_go_together_is_refused_with_the_field_as_its_place(ask):
    answer = ask("POST", "projects", {"name": "", "annotators": ["nobody"], "overlap": 5}, status=422)
    assert {"name", "annotators", "dataset", "entity_ontology", "overlap"} <= {p["place"] for p in answer["problems"]}
    assert ask("DELETE", "projects/{project}?name=x", status=422)["problems"][0]["place"] == "name"


def test_much_is_copied_by_a_job(ask, world, settings):  # noqa: F811
    settings.JOB_ROWS = 0
    assert (
        ask("POST", "projects/{project}/copies", {"name": "New", "contents": "items"}, status=202)["kind"]
        == "duplicate_project"
    )
    assert ask("POST", "projects/{project}/bundle", status=202)["kind"] == "bundle"
    assert ask("POST", "projects/{project}/export", {"format": "conll"}, status=202)["kind"] == "export_work"
    assert (
        ask("POST", "projects/{project}/copied-items", {"dataset": world["dataset"]}, status=202)["kind"]
        == "store_upload"
    )
    assert not Job.objects.exclude(kind="test").exclude(target__has_key="project").exclude(kind="store_upload").exists()


def test_somebody_elses_words_are_not_written_over(ask):
    seen = {"description": "", "name": "Pumps"}
    ask("PATCH", "projects/{project}", {"description": "Mine", "was": seen}, status=200)
    ask("PATCH", "projects/{project}", {"description": "Yours", "was": seen}, status=409)
    ask("PATCH", "projects/{project}", {"name": "Pumps 2", "was": seen}, status=200)
    ask("PATCH", "projects/{project}", {"history": "x"}, status=422)


def test_the_work_of_somebody_is_a_file_and_a_dry_run_tells_what_it_loses(ask):
    assert ask("POST", "projects/{project}/export?dry_run=1", {"format": "conll", "whose": "@carol"})["losses"]
    answer = ask(
        "POST", "projects/{project}/export", {"format": "conll", "whose": "@carol"}, **{"Idempotency-Key": "k"}
    )
    again = ask("POST", "projects/{project}/export", {"format": "conll", "whose": "@carol"}, **{"Idempotency-Key": "k"})
    assert b"".join(answer.streaming_content) == b"".join(again.streaming_content) != b""


def test_a_bundle_comes_back_with_the_people_who_are_named(ask, world):  # noqa: F811
    bundle = (world["folder"] / "bundle").read_bytes()
    told = ask("POST", "bundles?dry_run=1", bundle, status=200)
    assert (told["name"], told["counts"]["items"]) == ("Pumps", 3)
    assert "bob" in told["people"]
    assert ask("POST", "bundles?people=bob,dave", bundle, status=422)["problems"][0]["place"] == "people"
    made = ask("POST", "bundles", bundle, status=201)
    assert ask("GET", f"projects/{made['id']}")["name"] == "Pumps"
    assert ask("POST", "bundles", b"no zip", status=422)


def test_labels_come_by_the_number_that_is_agreed_to(ask, world):  # noqa: F811
    body = {"ontology": world["relation_ontology"]}
    told = ask("POST", "projects/{bare_project}/ontologies/relation?dry_run=1", body)
    assert told["count"] == len(told["new"]) > 0
    ask("POST", "projects/{bare_project}/ontologies/relation", body, status=422)
    ask("POST", "projects/{bare_project}/ontologies/relation", {**body, "count": told["count"]}, status=200)
    assert ask("GET", "projects/{bare_project}")["resources"]["relation_ontology"]
    ask("POST", "projects/{bare_project}/ontologies/relation", {**body, "count": told["count"]}, status=422)
    ask("POST", "projects/{bare_project}/ontologies/relation", {**body, "count": 0}, status=200)


def test_items_of_a_blueprint_come_once_and_a_dry_run_leaves_nothing(ask, world):  # noqa: F811
    source = Dataset.objects.get(pk=world["dataset"])
    source.items().filter(position=0).update(original="a new text", external_id="new")
    before = Project.objects.get(pk=world["project"]).dataset.item_count
    open_uploads = Upload.objects.filter(state__in=Upload.UNFINISHED).count()
    told = ask("POST", "projects/{project}/copied-items?dry_run=1", {"dataset": world["dataset"]}, status=200)
    assert told["items"] == 1
    ask("POST", "projects/{project}/copied-items", {"dataset": world["dataset"]}, status=200)
    assert Project.objects.get(pk=world["project"]).dataset.item_count == before + 1
    again = {"dataset": world["dataset"], "decisions": {"duplicates": "skip"}}
    assert "nothing is left" in ask("POST", "projects/{project}/copied-items", again, status=422)["detail"]
    assert "new" in str(ask("POST", "projects/{project}/copied-items", {"dataset": world["dataset"]}, status=422))
    wrong = {"dataset": world["dataset"], "decisions": {"same_texts": "x"}}
    assert ask("POST", "projects/{project}/copied-items", wrong, status=422)
    assert Upload.objects.filter(state__in=Upload.UNFINISHED).count() == open_uploads


def test_constraints_are_foreseen_and_their_violations_listed(ask, world):  # noqa: F811
    project = Project.objects.get(pk=world["project"])
    labels = [label.fullname for label in project.entity_ontology.labels()]
    everything = make(
        "entity_constraints",
        owner=project.created_by,
        entities=project.entity_ontology.copied_from,
        relations=None,
        document=[{"domain": name, "excludes": labels, "can_contain": []} for name in labels],
    )
    carols = project.dataset.items().first().annotation_set.get(annotator__username="carol")
    label = project.entity_ontology.items().first()
    carols.add_entity(uid="nested", label=label, start=0, end=2)
    body = {"constraints": everything.pk}
    told = ask("PUT", "projects/{project}/constraints/entity?dry_run=1", body, status=200)
    assert told["total"] > 0 and told["broken_rules"][0]["examples"]
    ask("PUT", "projects/{project}/constraints/entity", body, status=200)
    counts = ask("GET", "projects/{project}/violations/count")
    assert counts["is_counted"] and counts["total"] == told["total"]
    first = ask("GET", "projects/{project}/violations?limit=1&person=carol")
    assert first["results"][0]["person"] == "carol" and "nested" in first["results"][0]["places"][0]["marks"]
    assert not ask("GET", "projects/{project}/violations?person=given")["results"]


def test_preannotations_that_are_off_are_refused(ask, world, settings):  # noqa: F811
    settings.PREANNOTATION_RESOURCES = False
    body = {"preannotations": world["lexicon"]}
    for method in ("PUT", "DELETE"):
        answer = ask(method, "projects/{project}/preannotations/entity", body if method == "PUT" else None, status=422)
        assert "PREANNOTATION_RESOURCES" in answer["detail"]
    assert ask("POST", "projects/{project}/match", status=422)


def test_a_list_of_projects_takes_as_many_queries_for_one_as_for_many(ask):
    def queries(limit):
        with CaptureQueriesContext(connection) as found:
            assert len(ask("GET", f"projects?limit={limit}")["results"]) == limit
        return len(found)

    queries(1)  # the last use of the token is written once
    assert queries(1) == queries(2)
