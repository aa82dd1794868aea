"""Operations of datasets, items and uploads, beyond what their pages do: items are updated by their external ids, dry runs, large
ones by jobs."""

import json

import pytest
from django.db import transaction

from annotation_service import jobs
from annotation_service.models import Job
from datasets.extra_fields import alike
from datasets.models import Dataset, Item, TextCorrection, Upload
from ontologies.models import Ontology
from tests import factories
from tests.api.asks import request, token_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def ask(alice):
    token = token_of("alice")

    def send(method, path, body=None, *, status=200, **headers):
        data = body if isinstance(body, bytes) or body is None or method == "PATCH" else json.dumps(body).encode()
        answer = request(method, f"/api/v1/{path}", token, data, **headers)
        assert answer.status_code == status, b"".join(answer) if answer.streaming else answer.content
        is_json = not answer.streaming and "json" in answer.get("Content-Type", "")
        return answer.json() if is_json and answer.content else answer

    return send


def rich(external_id, text, **more):
    return {"original": text, "tokens": text.split(), "external_id": external_id, **more}


def lines(*items):
    return "".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in items).encode()


FIRST = [rich("1", "the pupm leaks", extra_fields={"site": "north", "n": 1}), rich("2", "oil"), rich("3", "gear box")]


@pytest.fixture
def dataset(alice, carol):
    """Of a project: carol has marked the words of two items."""
    options = {"kind": "rich", "format": "json", "name": "Rich"}
    blueprint = factories.upload(FIRST, by=alice, options=options).store()
    project = factories.project(by=alice, of=blueprint, annotators=[carol])
    label = factories.item(project.entity_ontology, "State")
    for position, words in ((0, (1, 2)), (2, (0, 1))):
        work = factories.annotation(project.dataset.items()[position], carol)
        for n in words:
            work.add_entity(uid=f"m{n}", label=label, start=n, end=n)
    return project.dataset


def outcomes(answer):
    return {each["external_id"]: each["outcome"] for each in answer["items"]}


def everything():
    return [list(model._base_manager.order_by("pk").values()) for model in (Dataset, Item, TextCorrection)] + [
        Upload.objects.exclude(number=None).count()
    ]


CHANGES = lines(
    rich("1", "the pump leaks", extra_fields={"site": "south", "n": 1}),
    rich("2", "oil", extra_fields={"site": "east"}),
    rich("3", "gear box"),
    rich("4", "new"),
)


def test_items_are_created_replaced_unchanged_or_refused_and_the_same_again_changes_nothing(ask, dataset, carol):
    path = f"datasets/{dataset.pk}/items"
    first = ask("POST", path, CHANGES)
    assert outcomes(first) == {"1": "replaced", "2": "replaced", "3": "unchanged", "4": "created"}
    assert (first["created"], first["replaced"], first["unchanged"], first["refused"]) == (1, 2, 1, 0)
    there = {item.external_id: item for item in dataset.items()}
    for each in first["items"]:
        assert (each["id"], each["number"]) == (there[each["external_id"]].pk, there[each["external_id"]].number)
    assert there["1"].original == "the pump leaks" and there["1"].extra_fields == {"site": "south", "n": 1}
    assert there["2"].extra_fields == {"site": "east"} and there["2"].text_version == 1
    work = there["1"].annotation_set.get(annotator=carol)
    assert sorted(work.entity_set.values_list("start", "uid")) == [(1, "m1"), (2, "m2")]
    dataset.refresh_from_db()
    assert (dataset.item_count, dataset.token_count) == (4, 3 + 1 + 2 + 1)
    before = everything()
    again = ask("POST", path, CHANGES)
    assert set(outcomes(again).values()) == {"unchanged"}
    assert [each["id"] for each in again["items"]] == [there[each["external_id"]].pk for each in again["items"]]
    assert everything() == before


def test_an_item_that_would_lose_marks_is_refused_unless_their_number_is_agreed_to(ask, dataset, carol):
    path = f"datasets/{dataset.pk}/items"
    sent = lines(
        rich("1", "it leaks", extra_fields={"site": "south"}), rich("3", "nothing else"), rich("2", "much oil")
    )
    before = [dataset.items()[n].original for n in (0, 2)]
    for query in ("", "?agree=2", "?agree=4"):
        answer = ask("POST", f"{path}{query}", sent)
        assert outcomes(answer) == {"1": "refused", "3": "refused", "2": "unchanged" if query else "replaced"}
        assert {each["external_id"]: each["marks_lost"] for each in answer["items"]} == {"1": 1, "3": 2, "2": 0}
        assert [problem["text"] for each in answer["items"] for problem in each["problems"]] == [
            "1 mark would be lost.",
            "2 marks would be lost.",
        ]
        assert [dataset.items()[n].original for n in (0, 2)] == before
        assert dataset.items()[0].extra_fields == {"site": "north", "n": 1}  # not half of it, either
    foreseen = ask("POST", f"{path}?agree=3&dry_run=1", sent)
    assert outcomes(foreseen) == {"1": "replaced", "3": "replaced", "2": "unchanged"}
    assert [dataset.items()[n].original for n in (0, 2)] == before
    assert outcomes(ask("POST", f"{path}?agree=3", sent)) == outcomes(foreseen)
    assert [dataset.items()[n].original for n in (0, 2)] == ["it leaks", "nothing else"]
    assert dataset.items()[0].extra_fields == {"site": "south"}
    assert outcomes(ask("POST", f"{path}?agree=3", sent)) == dict.fromkeys("132", "unchanged")


def test_what_is_wrong_with_an_item_is_told_with_it_and_the_others_are_stored(ask, dataset):
    sent = lines(
        rich("1", "the pupm leaks"),
        rich("5", "good"),
        {"original": "no tokens", "external_id": "6"},
        "{broken",
        rich("5", "again"),
    )
    answer = ask("POST", f"datasets/{dataset.pk}/items", sent)
    told = {each["place"]: (each["outcome"], bool(each["problems"])) for each in answer["items"]}
    refused = ("refused", True)
    expected = {"line 1": ("unchanged", False), "line 2": ("created", False)}
    assert told == expected | {"line 3": refused, "line 4": refused, "line 5": refused}
    assert sum(each["id"] is None for each in answer["items"]) == 3
    assert [each.external_id for each in dataset.items()] == ["1", "2", "3", "5"]


def test_a_dry_run_stores_nothing(ask, dataset):
    before, uploads = everything(), Upload.objects.exclude(state="discarded").count()
    answer = ask("POST", f"datasets/{dataset.pk}/items?dry_run=1", CHANGES)
    assert outcomes(answer) == {"1": "replaced", "2": "replaced", "3": "unchanged", "4": "created"}
    assert [each["id"] for each in answer["items"] if each["outcome"] == "created"] == [None]
    assert everything() == before and Upload.objects.exclude(state="discarded").count() == uploads


def test_a_large_one_is_done_by_a_job_whose_file_tells_the_same(ask, dataset, settings):
    path = f"datasets/{dataset.pk}/items"
    with transaction.atomic():
        small = ask("POST", path, CHANGES)
        transaction.set_rollback(True)
    settings.JOB_ROWS = 1
    job = ask("POST", path, CHANGES, status=202)
    jobs.run(jobs.claim())
    job = ask("GET", f"jobs/{job['id']}")
    assert (job["state"], job["resource"]) == ("done", f"/api/v1/datasets/{dataset.pk}")
    told = [json.loads(line) for line in b"".join(ask("GET", job["file"].removeprefix("/api/v1/"))).splitlines()]
    of_place = {each["place"]: {**each, "id": 0} for each in small["items"]}
    assert {each["place"]: {**each, "id": 0} for each in told} == of_place
    assert {each["id"] for each in told} == set(dataset.items().values_list("pk", flat=True))
    again = ask("POST", f"{path}?dry_run=1", CHANGES, status=202)
    jobs.run(jobs.claim())
    upload = ask("GET", f"jobs/{again['id']}")["resource"].removeprefix("/api/v1/")
    found = b"".join(ask("GET", f"{upload}/files/outcomes")).splitlines()
    assert {json.loads(line)["outcome"] for line in found} == {"unchanged"}


def test_too_many_corrections_are_refused_with_the_reason(ask, dataset, settings):
    settings.MAX_CORRECTED_TEXTS = 1
    before = everything()
    sent = lines(rich("1", "the pump leaks"), rich("2", "much oil"))
    refused = ask("POST", f"datasets/{dataset.pk}/items", sent, status=422)
    text = "A file corrects at most 1 text of a dataset. Split it."
    assert refused["problems"] == [{"place": "line 2", "text": text}]
    assert everything() == before
    fields = [rich(str(n), text, extra_fields={"n": n}) for n, text in ((1, "the pupm leaks"), (2, "oil"))]
    assert ask("POST", f"datasets/{dataset.pk}/items", lines(*fields))["replaced"] == 2  # fields do not count


def test_a_request_with_a_key_is_done_once(ask, dataset):
    sent, path = lines({"original": "no id", "tokens": ["no", "id"]}), f"datasets/{dataset.pk}/items"
    first = ask("POST", path, sent, **{"Idempotency-Key": "a"})
    assert ask("POST", path, sent, **{"Idempotency-Key": "a"}) == first
    assert dataset.items().filter(original="no id").count() == 1
    ask("POST", path, CHANGES, status=422, **{"Idempotency-Key": "a"})


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": [0, {"b": None}]}, {"a": [0, {"b": None}]}, True),
        ({"a": [False]}, {"a": [0]}, False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": [1, 2]}, {"a": [1]}, False),
    ],
)
def test_fields_are_compared_as_json(one, other, same):
    assert alike(one, other) is same


# --- New datasets and uploads ------------------------------------------------------------------------------------------


def test_a_dataset_is_made_of_a_file_or_nothing_is_kept_of_it(ask, settings):
    made = ask("POST", "datasets?name=Orders&kind=standard&lowercase=1", b"Replace PUMP\n", status=201)
    item = Dataset.objects.get(pk=made["id"]).items().get()
    assert (item.original, item.tokens) == ("Replace PUMP", ["replace", "pump"])
    count = Dataset.objects.count()
    bad = json.dumps([rich("1", "a"), rich("1", "b"), {"original": 7}]).encode()
    refused = ask("POST", "datasets?name=Bad&kind=rich", bad, status=422)
    assert {problem["place"].partition(",")[0] for problem in refused["problems"]} == {"item 2", "item 3"}
    assert ask("POST", "datasets?kind=rich", bad, status=422)["problems"][0]["place"] == "name"
    wrong = {"encoding=klingon": "encoding", "whose=accepted": "whose", "kind=poor": "kind", "labels=[]": "labels"}
    for query, place in wrong.items():
        refused = ask("POST", f"datasets?name=N&{'' if 'kind' in query else 'kind=rich&'}{query}", bad, status=422)
        assert refused["problems"][0]["place"] == place
    assert Dataset.objects.count() == count
    assert not Upload.objects.filter(state__in=Upload.UNFINISHED).exists()
    assert ask("POST", "datasets?name=Good&kind=rich&bad=drop&duplicates=skip", bad, status=201)["content"] == "1 item"


def test_a_dry_run_waits_to_be_changed_and_stored(ask):
    document = json.dumps([rich("1", "a pump"), {"original": 7}]).encode()
    upload = ask("POST", "datasets?name=Orders&kind=rich&dry_run=1", document)
    report = upload["report"]
    assert (upload["state"], report["is_good"], report["counts"]["items"]) == ("refused", False, 1)
    assert report["problems"][0]["place"].startswith("item 2") and report["items"][0]["tokens"] == ["a", "pump"]
    address = f"uploads/{upload['id']}"
    assert [each["id"] for each in ask("GET", "uploads")["results"]] == [upload["id"]]
    assert b"item 2" in b"".join(ask("GET", f"{address}/files/problems"))
    assert b"7" in b"".join(ask("GET", f"{address}/files/bad"))
    ask("POST", f"{address}/store", status=422)
    assert ask("PATCH", address, {"bad": "drop"})["state"] == "checked"
    assert ask("PATCH", address, {"name": "Orders 2"})["options"]["bad"] == "drop"
    stored = ask("POST", f"{address}/store")
    assert (stored["name"], stored["content"]) == ("Orders 2", "1 item")
    assert ask("POST", f"{address}/store")["id"] == stored["id"]  # once
    [brought] = ask("GET", f"datasets/{stored['id']}/uploads")["results"]
    assert (brought["number"], brought["state"]) == (1, "stored")


def test_ontologies_are_made_of_the_labels_or_labels_are_mapped(ask, alice):
    tree = factories.ontology(owner=alice)
    marked = json.dumps([{**rich("1", "a pump"), "entities": [{"start": 1, "end": 1, "label": "PUMP"}]}]).encode()
    query = "datasets?name=Orders&kind=preannotated_entity"
    assert ask("POST", query, marked, status=422)["problems"][0]["place"] == "entity_ontology"
    made = ask("POST", f"{query}&make_ontology=1", marked, status=201)
    assert [each.fullname for each in Ontology.objects.get(pk=made["entity_ontology"]).labels()] == ["PUMP"]
    count = Ontology.objects.count()
    ask("POST", f"{query}&make_ontology=1", marked[:-1], status=422)
    assert Ontology.objects.count() == count
    ask("POST", f"{query}&make_ontology=1&dry_run=1", marked, status=422)
    name = tree.labels()[0].fullname
    labels = json.dumps({"entity": {"PUMP": name}})
    made = ask("POST", f"{query}&entity_ontology={tree.pk}&labels={labels}", marked, status=201)
    assert ask("GET", f"datasets/{made['id']}/statistics")["labels"] == {"entity": {name: 1}}
    upload = ask("POST", f"{query}&entity_ontology={tree.pk}&dry_run=1", marked)
    assert upload["report"]["unusable_labels"]["entity"] == {"PUMP": 1}
    mapped = ask("POST", f"uploads/{upload['id']}/labels/entity", {"new": ["PUMP"]})
    assert mapped["report"]["labels"]["entity"] == {"PUMP": 1} and mapped["state"] == "checked"
    ask("PATCH", f"uploads/{upload['id']}", {"format": "nope"}, status=422)
    assert ask("DELETE", f"uploads/{upload['id']}", status=204) is not None
    ask("POST", f"uploads/{upload['id']}/store", status=422)


def test_large_ones_are_checked_and_stored_by_jobs(ask, settings):
    settings.JOB_FILE_BYTES = 10
    job = ask("POST", "datasets?name=Orders&kind=standard&dry_run=1", b"Replace pump\n" * 3, status=202)
    jobs.run(jobs.claim())
    upload = ask("GET", f"jobs/{job['id']}")["resource"].removeprefix("/api/v1/")
    assert ask("GET", upload)["report"]["counts"]["items"] == 3
    job = ask("POST", f"{upload}/store", status=202)
    jobs.run(jobs.claim())
    made = ask("GET", f"jobs/{job['id']}")["resource"].removeprefix("/api/v1/")
    assert ask("GET", made)["content"] == "3 items"
    assert Job.objects.count() == 2


# --- Items -------------------------------------------------------------------------------------------------------------


def test_items_are_found_by_what_is_asked_in_pages_and_lines(ask, dataset):
    path = f"datasets/{dataset.pk}/items"
    page = ask("GET", f"{path}?limit=2")
    assert [each["number"] for each in page["results"]] == [1, 2]
    rest = ask("GET", page["next"].partition("/api/v1/")[2])
    assert [each["external_id"] for each in rest["results"]] == ["3"] and rest["next"] is None
    assert [each["original"] for each in ask("GET", f"{path}?q=OIL")["results"]] == ["oil"]
    assert [each["number"] for each in ask("GET", f"{path}?external_id=3")["results"]] == [3]
    streamed = b"".join(ask("GET", path, Accept="application/x-ndjson")).splitlines()
    assert [json.loads(line)["number"] for line in streamed] == [1, 2, 3]
    assert ask("GET", f"{path}?removed=1")["results"] == []


def test_items_are_removed_as_agreed_and_come_back(ask, dataset):
    path, keys = f"datasets/{dataset.pk}", list(dataset.items().values_list("pk", flat=True))
    foreseen = ask("POST", f"{path}/removals?dry_run=1", {"items": keys[:2], "count": 2})
    assert foreseen == {"count": 2, "marks": {"given": 0, "made": 2, "people": 1}}
    ask("POST", f"{path}/removals", {"items": keys[:2], "count": 3}, status=422)
    ask("POST", f"{path}/removals", {"count": 3}, status=422)  # which ones?
    assert dataset.items().count() == 3
    assert ask("POST", f"{path}/removals?q=oil", {"all": True, "count": 1})["count"] == 1
    assert [each["external_id"] for each in ask("GET", f"{path}/items?removed=1")["results"]] == ["2"]
    assert ask("POST", f"{path}/restorations", {"all": True}) == {"count": 1, "same_text": 0}
    assert dataset.items().count() == 3


def test_a_text_is_corrected_if_it_is_the_one_that_was_seen_and_no_mark_is_lost_unasked(ask, dataset):
    path = f"datasets/{dataset.pk}/items/{dataset.items()[2].pk}"
    told = ask("POST", f"{path}/corrections?dry_run=1", {"text": "the box"})
    assert (told["id"], told["lost"], told["moved"]) == (None, 1, 1)
    assert [(each["before"], each["after"], each["people"]) for each in told["marks"]] == [("gear", "", "carol")]
    refused = ask("POST", f"{path}/corrections", {"text": "the box"}, status=422)
    assert refused["detail"] == "1 mark would be lost."
    ask("POST", f"{path}/corrections", {"text": "the box", "agree": 1, "text_version": 2}, status=409)
    done = ask("POST", f"{path}/corrections", {"text": "the box", "agree": 1, "text_version": 1}, status=201)
    assert (done["version"], done["by"]) == (2, "alice")
    undone = ask("POST", f"{path}/corrections/{done['id']}/undo", status=201)
    assert undone["back"] == 1
    assert [each["version"] for each in ask("GET", f"{path}/corrections")["results"]] == [2, 3]
    was = {"external_id": "old", "extra_fields": {}}
    request_body = {"external_id": "new", "was": {"external_id": was["external_id"]}}
    ask("PATCH", path, request_body, status=409)
    assert ask("PATCH", path, {"external_id": "new"})["external_id"] == "new"
    assert ask("PATCH", path, {"extra_fields": {"a": 1}})["external_id"] == "new"


def test_what_a_format_loses_is_told_before(ask, dataset):
    path = f"datasets/{dataset.pk}"
    assert ask("POST", f"{path}/exports?format=conll&dry_run=1")["losses"]
    assert b"pupm" in b"".join(ask("POST", f"{path}/exports?format=conll"))
    assert ask("POST", f"{path}/exports?format=x", status=422)["problems"][0]["place"] == "format"
    assert b"pupm" in b"".join(ask("GET", f"{path}/download/json-lines?q=leaks"))
    ask("GET", f"{path}/download/x", status=404)
