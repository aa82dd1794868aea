"""The screens on which data comes in: what is sent is kept, checked and shown; it is stored when somebody says so."""

import errno
import io
import json
import re
import zipfile
from html import unescape

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation_service import jobs
from annotation_service.jobs import claim, run
from annotation_service.models import Job
from datasets.models import Annotation, Dataset, Entity, Item, Relation, Upload
from ontologies.documents import read_ontology
from ontologies.models import Ontology
from projects import bundle
from projects.models import Project
from tests import factories
from tests.answers import html
from tests.queries import queries_of

LINES = {"kind": "standard", "format": "text", "tokeniser": "punkt", "name": "Lines"}
JSON = {"format": "json", "tokeniser": "punkt"}
RICH = [
    {
        "original": "replace pump",
        "tokens": ["replace", "pump"],
        "external_id": "wo-1",
        "extra_fields": {"site": "north"},
    },
    {"original": "check oil", "tokens": ["check", "oil"], "external_id": "wo-2"},
]
MARKED = [
    {
        "original": "left thermostat leaks",
        "tokens": ["left", "thermostat", "leaks"],
        "entities": [
            {"id": "a", "start": 0, "end": 1, "label": "PhysicalObject/SensingObject/Thermostat"},
            {"id": "b", "start": 2, "end": 2, "label": "State"},
        ],
        "relations": [{"source_id": "b", "target_id": "a", "label": "hasParticipant/hasPatient"}],
    }
]
WITHOUT_RELATIONS = [
    {
        **{name: value for name, value in item.items() if name != "relations"},
        "entities": [{name: value for name, value in entity.items() if name != "id"} for entity in item["entities"]],
    }
    for item in MARKED
]


def named_file(content, name="orders.json"):
    return SimpleUploadedFile(name, content if isinstance(content, bytes) else json.dumps(content).encode())


def post(client, text="", file=None, **values):
    data = {**LINES, "text": text, **values}
    if file is not None:
        data["file"] = file if isinstance(file, SimpleUploadedFile) else SimpleUploadedFile("lines.txt", file)
    return client.post("/datasets/new/", data)


def post_rich(client, document, **values):
    return post(client, file=named_file(document), **{"kind": "rich", "format": "json", **values})


def shown(client, response):
    """The page that an answer leads to."""
    assert response.status_code == 302, html(response)
    return html(client.get(response["Location"], follow=True))


def store(client, upload=None):
    upload = upload or Upload.objects.latest("pk")
    return client.post(f"{upload.get_absolute_url()}store/")


def downloaded(client):
    """The newest dataset as JSON."""
    return json.loads(client.get(f"{Dataset.objects.latest('pk').get_absolute_url()}download/json/").getvalue())


def nothing_is_stored():
    return not Dataset.objects.exists() and not Item.with_removed.exists()


@pytest.fixture
def labels(labels):
    return {"entity_ontology": labels["entities"].pk, "relation_ontology": labels["relations"].pk}


# --- New datasets ---


def test_pasted_lines_are_shown_first_and_stored_when_somebody_says_so(as_alice):
    response = post(as_alice, text="Replace pump.\r\n\r\nCheck oil\r\n", description="Two lines")
    upload = Upload.objects.get()
    assert response["Location"] == f"/datasets/uploads/{upload.pk}/"
    page = shown(as_alice, response)
    for words in ("Lines", "Standard dataset", "line 1", "Replace pump.", "blank lines, skipped", "Create dataset"):
        assert words in page
    assert nothing_is_stored()
    assert as_alice.get(f"/datasets/uploads/{upload.pk}/problems/").status_code == 404
    response = store(as_alice)
    dataset = Dataset.objects.get()
    assert as_alice.get(response["Location"])["Location"] == f"/datasets/{dataset.pk}/"
    assert (dataset.name, dataset.description, dataset.owner) == ("Lines", "Two lines", as_alice.user)
    assert [(i.position, i.original, i.tokens) for i in dataset.items()] == [
        (0, "Replace pump.", ["Replace", "pump", "."]),
        (1, "Check oil", ["Check", "oil"]),
    ]
    assert "“Lines” is ready: 2 items, 5 tokens, 1 blank line skipped" in shown(as_alice, response)


def test_an_uploaded_file_gets_the_chosen_operations(as_alice):
    operations = {
        "lowercase": "on",
        "remove_duplicates": "identical",
        "remove_characters": "##",
        "tokeniser": "whitespace",
    }
    page = shown(as_alice, post(as_alice, file=b"Check #OIL\ncheck oil\n##\n", **operations))
    assert "removed “#”, lower-cased, identical duplicates removed, whitespace tokens" in page
    assert "duplicates, dropped" in page and "lines without a token, dropped" in page
    store(as_alice)
    assert [(i.original, i.tokens) for i in Dataset.objects.get().items()] == [("Check #OIL", ["check", "oil"])]


def test_a_space_among_the_characters_to_remove_is_kept(as_alice):
    post(as_alice, text="a b\n", remove_characters=" ")
    store(as_alice)
    assert Item.objects.get().tokens == ["ab"]


@pytest.mark.parametrize("format", ["json", "jsonl"])
def test_without_a_name_a_dataset_is_called_like_its_file(as_alice, format):
    lines = "\n".join(json.dumps(item) for item in RICH).encode()
    post_rich(as_alice, RICH if format == "json" else lines, name="", format=format)
    store(as_alice)
    assert (Dataset.objects.get().name, Dataset.objects.get().item_count) == ("orders", 2)


def test_a_rich_file_brings_its_tokens_ids_and_fields(as_alice):
    page = shown(as_alice, post_rich(as_alice, RICH))
    for words in ("Rich dataset", "item 1", "wo-1", "site", "north", "replace pump"):
        assert words in page
    assert nothing_is_stored()
    store(as_alice)
    assert [(i.external_id, i.tokens, i.extra_fields) for i in Dataset.objects.get().items()] == [
        ("wo-1", ["replace", "pump"], {"site": "north"}),
        ("wo-2", ["check", "oil"], {}),
    ]


def test_json_that_is_read_as_text_raises_a_question(as_alice):
    assert "This is JSON" in shown(as_alice, post(as_alice, file=named_file(RICH)))
    assert "Is that what you want?" not in shown(as_alice, post(as_alice, text="[sic] is a word\n"))


def test_lines_of_text_make_a_rich_dataset_with_a_chosen_tokeniser(as_alice):
    post(as_alice, text="Stop. Go\n", kind="rich", format="text", tokeniser="whitespace")
    store(as_alice)
    assert (Dataset.objects.get().kind, Item.objects.get().tokens) == ("rich", ["Stop.", "Go"])


def test_marks_are_drawn_in_the_colours_of_their_labels(as_alice, labels):
    page = shown(as_alice, post_rich(as_alice, MARKED, kind="preannotated_relation", **labels))
    color = Dataset.entity_ontology.field.related_model.objects.get(pk=labels["entity_ontology"]).items().last().color
    assert f'<span class="marked-box" style="--c: {color}"><span>leaks</span>' in page
    for words in ("left thermostat", "hasPatient", "PhysicalObject/SensingObject/Thermostat", "2 of", "entity labels"):
        assert words in page
    assert nothing_is_stored() and not Entity.objects.exists()
    store(as_alice)
    assert (Entity.objects.count(), Relation.objects.count()) == (2, 1)


def test_the_entities_of_the_entity_kind_need_no_relation_ontology(as_alice, labels):
    del labels["relation_ontology"]
    post_rich(as_alice, WITHOUT_RELATIONS, kind="preannotated_entity", **labels)
    store(as_alice)
    dataset = Dataset.objects.get()
    assert (dataset.entity_ontology_id, dataset.relation_ontology_id) == (labels["entity_ontology"], None)
    assert Entity.objects.count() == 2


# --- What is wrong ---


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"text": ""}, "Paste some text, or choose a file."),
        ({"text": " \r\n "}, "Paste some text, or choose a file."),
        ({"text": "a", "name": ""}, "Give the dataset a name."),
        ({"text": "a", "name": "a\x07b"}, "control characters"),
        ({"text": "a", "name": "x" * 201}, "at most 200 characters"),
        ({"text": "a", "file": b"b"}, "Paste text or choose a file, not both."),
        ({"text": "a", "tokeniser": "magic"}, "Select a valid choice"),
        ({"text": "a", "kind": "magic"}, "Select a valid choice"),
        ({"text": "a", "kind": "rich", "format": "xml"}, "Select a valid choice"),
        ({"text": "a", "kind": "preannotated_entity"}, "Choose the ontology that has the labels."),
        ({"text": "a", "remove_characters": "x" * 201}, "at most 200 characters"),
        ({"text": "a", "description": "x" * 10_001}, "at most 10000 characters"),
        ({"file": b""}, "The submitted file is empty."),
    ],
)
def test_what_is_wrong_with_the_form_is_said_and_what_was_typed_is_kept(as_alice, values, said):
    given = {"lowercase": "on", "description": "Kept", **values}
    response = post(as_alice, **given)
    assert response.status_code == 422
    page = html(response)
    assert said in page
    assert given["description"] in page and "checked" in page
    assert nothing_is_stored()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"text": "***", "remove_characters": "*"}, "No line is left after preprocessing."),
        ({"file": b"fine\nna\xefve\n"}, "UTF-8"),
        ({"file": b'[{"original": "a"', "kind": "rich", "format": "json"}, "JSON"),
        ({"file": b'[{"original": "a"}]', "kind": "rich", "format": "json"}, "“tokens” is missing"),
    ],
)
def test_what_is_wrong_with_the_content_is_on_the_page_of_the_upload(as_alice, values, said):
    page = shown(as_alice, post(as_alice, **values))
    assert said in page and "Nothing can be stored yet" in page
    assert "Create dataset" not in page and "Change something" in page
    assert shown(as_alice, store(as_alice)) and nothing_is_stored()


def test_problems_are_listed_with_their_places_and_all_of_them_can_be_downloaded(as_alice, settings):
    settings.MAX_ITEM_CHARACTERS, settings.MAX_ITEM_TOKENS = 400, 3
    response = post(as_alice, text="fine\n\n" + "x" * 401 + "\n" + "".join(f"{'a ' * n}\n" for n in range(4, 154)))
    page = shown(as_alice, response)
    assert "line 3" in page and "at most 400 characters; this line has 401" in page
    assert "line 4" in page and "at most 3 tokens; this line has 4" in page
    assert "151 problems" in page and "The first 100 of 151 problems." in page
    assert nothing_is_stored()
    answer = as_alice.get(f"{response['Location']}problems/")
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    lines = b"".join(answer.streaming_content).decode().splitlines()
    assert len(lines) == 151 and "line 3" in lines[0] and "line 153" in lines[-1]


def test_if_there_are_too_many_problems_to_read_on_the_page_says_at_least(as_alice, monkeypatch):
    monkeypatch.setattr("datasets.importing.document.MAX_PROBLEMS", 150)
    page = unescape(
        as_alice.get(
            post_rich(as_alice, [{**RICH[0], "external_id": str(n), f"f{n}": 1} for n in range(200)])["Location"]
        ).text
    )
    assert "At least 151 problems" in page and "The first 100 of at least 151 problems." in page
    assert "at least 151 problems have to be solved" in page


def test_an_unknown_label_is_told_with_its_place(as_alice, labels):
    document = json.loads(json.dumps(MARKED).replace('"State"', '"Stat"'))
    page = shown(as_alice, post_rich(as_alice, document, kind="preannotated_relation", **labels))
    assert "item 1, $.entities[1].label" in page and "“Stat”" in page and "“State”" in page


def test_sizes_are_limited(as_alice, settings):
    settings.MAX_PASTED_BYTES, settings.MAX_FILE_BYTES = 10, 20
    assert "the limit is 10 bytes" in html(post(as_alice, text="ü" * 6))
    assert "the limit is 20 bytes" in html(post(as_alice, file=b"x" * 401))
    assert not Upload.objects.exists()
    assert post(as_alice, text="ü" * 5).status_code == 302
    assert post(as_alice, file=b"x" * 20).status_code == 302


def test_texts_of_a_file_are_escaped(as_alice, labels):
    document = json.loads(json.dumps(MARKED).replace("leaks", "<script>alert(1)</script>"))
    document[0] |= {"external_id": "<u>", "extra_fields": {"<u>": "<u>"}}
    response = post(
        as_alice, file=named_file(document, "<u>.json"), kind="preannotated_relation", format="json", **labels
    )
    content = as_alice.get(response["Location"]).text
    assert "&lt;script&gt;" in content
    assert not [tag for tag in ("<script>alert", "<u>") if tag in content]


# --- A file is kept ---


def test_the_file_of_a_form_with_a_mistake_need_not_be_sent_again(as_alice, labels):
    response = post(as_alice, file=named_file(MARKED), kind="preannotated_relation", format="json", name="Kept")
    assert response.status_code == 422
    page, upload = html(response), Upload.objects.get()
    assert "orders.json" in page and "you need not choose it again" in page
    assert f'action="/datasets/uploads/{upload.pk}/change/"' in page
    data = {**LINES, "name": "Kept", "kind": "preannotated_relation", "format": "json", **labels}
    assert "Everything is in order" in shown(as_alice, as_alice.post(f"/datasets/uploads/{upload.pk}/change/", data))
    store(as_alice)
    assert Dataset.objects.get().item_count == 1


def test_how_a_file_is_read_is_changed_without_sending_it_again(as_alice):
    response = post(as_alice, file=named_file(RICH), description="A file")
    page = html(as_alice.get(f"{response['Location']}change/"))
    assert "A file" in page and "orders.json" in page
    data = {**LINES, "kind": "rich", "format": "json"}
    assert "wo-2" in shown(as_alice, as_alice.post(f"{response['Location']}change/", data))
    assert Upload.objects.count() == 1


def test_another_file_takes_the_place_of_the_kept_one(as_alice, settings):
    response = post(as_alice, text="first\n")
    other = SimpleUploadedFile("other.txt", b"second\n")
    page = shown(as_alice, as_alice.post(f"{response['Location']}change/", {**LINES, "file": other}))
    assert "other.txt" in page and "second" in page and "first" not in page.split("As it will look")[1]
    assert len(list(settings.UPLOAD_DIR.iterdir())) == 1


def test_a_name_that_came_from_a_file_goes_with_it(as_alice):
    response = post_rich(as_alice, RICH, name="")
    address = f"{response['Location']}change/"
    assert as_alice.get(address).context["form"]["name"].value() == ""
    as_alice.post(address, {**LINES, "name": "", "file": SimpleUploadedFile("other.txt", b"second\n")})
    assert Upload.objects.get().options["name"] == "other"
    as_alice.post(address, {**LINES, "name": "Mine"})
    assert as_alice.get(address).context["form"]["name"].value() == "Mine"


def test_a_mistake_in_the_change_is_told_and_the_upload_stays(as_alice):
    response = post(as_alice, text="first\n")
    answer = as_alice.post(f"{response['Location']}change/", {**LINES, "tokeniser": "magic"})
    assert answer.status_code == 422 and "Select a valid choice" in html(answer)
    assert Upload.objects.get().state == "checked"


def test_what_is_discarded_is_gone(as_alice, settings):
    response = post(as_alice, text="first\n")
    assert "was discarded" in shown(as_alice, as_alice.post(f"{response['Location']}discard/"))
    assert not list(settings.UPLOAD_DIR.iterdir())
    assert "This was discarded" in html(as_alice.get(response["Location"]))
    store(as_alice)
    as_alice.post(f"{response['Location']}change/", LINES)
    assert nothing_is_stored() and Upload.objects.get().state == "discarded"


def test_sent_twice_it_is_stored_once_and_its_page_leads_to_the_dataset(as_alice):
    upload = post(as_alice, text="first\n")["Location"]
    for address in (store(as_alice)["Location"], store(as_alice)["Location"], upload):
        assert as_alice.get(address)["Location"] == Dataset.objects.get().get_absolute_url()
    assert as_alice.get(f"{upload}change/")["Location"] == upload
    assert Dataset.objects.count() == Item.objects.count() == 1


def test_an_ontology_that_is_deleted_meanwhile_is_told(as_alice, labels):
    response = post_rich(as_alice, MARKED, kind="preannotated_relation", **labels)
    as_alice.post(f"/ontologies/{labels['relation_ontology']}/delete/")
    assert "deleted" in html(as_alice.get(response["Location"]))
    assert "deleted" in shown(as_alice, store(as_alice))
    assert nothing_is_stored()


def test_a_file_that_is_not_there_any_more_is_told(as_alice, settings):
    response = post(as_alice, text="first\n")
    next(settings.UPLOAD_DIR.iterdir()).unlink()
    assert "is not there any more" in shown(as_alice, as_alice.post(f"{response['Location']}change/", LINES))
    assert "Not checked yet." in html(as_alice.get(response["Location"]))


def test_a_file_for_which_there_is_no_room_is_told(as_alice, monkeypatch):
    def full(*args, **values):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Upload, "begin", full)
    as_alice.raise_request_exception = False
    response = post(as_alice, file=b"first\n")
    assert response.status_code == 507 and "no room left" in response.text


# --- External ids ---


def test_external_ids_that_occur_twice_are_shown_and_decided(as_alice):
    document = [*RICH, {**RICH[0], "original": "pump replaced", "tokens": ["pump", "replaced"]}]
    response = post_rich(as_alice, document)
    page = shown(as_alice, response)
    assert "External ids that are taken" in page and "item 3" in page and "wo-1" in page
    assert "Create dataset" not in page
    as_alice.post(f"{response['Location']}decide/", {"duplicates": "magic"})
    assert Upload.objects.get().state == "refused"
    page = shown(as_alice, as_alice.post(f"{response['Location']}decide/", {"duplicates": "skip"}))
    assert "items with a taken external id, left out" in page and "Create dataset" in page
    as_alice.post(f"{response['Location']}decide/", {"duplicates": "replace"})
    store(as_alice)
    assert {i.external_id: i.original for i in Dataset.objects.get().items()} == {
        "wo-1": "pump replaced",
        "wo-2": "check oil",
    }


# --- Large files ---


@pytest.fixture
def as_jobs(settings):
    settings.JOB_FILE_BYTES = 5


def work():
    while job := claim():
        run(job)


def test_a_large_file_is_checked_and_stored_by_the_worker(as_alice, as_jobs):
    response = post(as_alice, text="first line\n")
    page = shown(as_alice, response)
    assert "Checking" in page and "No worker is running" in page and "Create dataset" not in page
    work()
    assert "Create dataset" in html(as_alice.get(response["Location"]))
    assert nothing_is_stored()
    assert "Storing" in shown(as_alice, store(as_alice))
    assert nothing_is_stored()
    work()
    response = as_alice.get(response["Location"])
    assert response["Location"] == Dataset.objects.get().get_absolute_url()
    page = html(as_alice.get(response["Location"]))
    assert "“Lines” is ready: 1 item, 2 tokens" in page


def test_with_a_worker_its_absence_is_not_told(as_alice, as_jobs):
    jobs.show_sign()
    assert "No worker is running" not in shown(as_alice, post(as_alice, text="first line\n"))


def test_a_job_leads_to_the_upload_that_it_works_for(as_alice, as_jobs, settings):
    upload = post(as_alice, text="first line\n")["Location"]

    def shown_after(change):
        as_alice.post(f"{upload}change/", LINES) if change == "change" else as_alice.post(change)
        return html(as_alice.get(upload))

    job = Job.objects.get()
    assert as_alice.get(f"/jobs/{job.pk}/")["Location"] == upload
    page = shown_after(f"/jobs/{job.pk}/cancel/")
    assert "Cancelled." in page and "Go on" in page
    shown_after("change")
    work()
    assert "Everything is in order" in html(as_alice.get(upload))
    shown_after("change")
    assert "Cancelled" in shown_after(f"/jobs/{Job.objects.latest('pk').pk}/cancel/")
    settings.JOB_FILE_BYTES = 1000  # a small one needs no job, and the cancelled one is forgotten
    page = shown_after("change")
    assert "Everything is in order" in page and "Cancelled" not in page
    settings.JOB_FILE_BYTES = 5
    shown_after("change")
    next(settings.UPLOAD_DIR.iterdir()).unlink()
    work()
    assert "The uploaded file is not there any more." in html(as_alice.get(upload))


def test_while_a_job_works_on_it_nothing_else_is_done_with_it(as_alice, as_jobs):
    response = post(as_alice, text="first line\n")
    for verb in ("store", "discard", "change"):
        as_alice.post(f"{response['Location']}{verb}/", LINES)
    assert Upload.objects.get().state == "new" and Job.objects.count() == 1


# --- More items ---


def test_lines_are_added_with_the_preprocessing_of_the_dataset(as_alice):
    dataset = factories.dataset(owner=as_alice.user, text="one\n", lowercase=True, remove_duplicates="identical")
    page = html(as_alice.get(f"/datasets/{dataset.pk}/add/"))
    assert "Lower-cased, identical duplicates removed" in page and "lower-case the text" not in page.lower()
    assert "Paste text</label>" in page and ".jsonl" not in page
    response = as_alice.post(f"/datasets/{dataset.pk}/add/", {"text": "ONE\nTwo\n"})
    page = shown(as_alice, response)
    assert "Add 1 item" in page and "duplicates, dropped" in page
    assert dataset.items().count() == 1
    response = store(as_alice)
    assert [item.tokens for item in dataset.items()] == [["one"], ["two"]]
    assert "has more items: 1 item" in shown(as_alice, response)


def test_rich_items_are_typed_or_given_as_json(as_alice):
    post_rich(as_alice, RICH)
    store(as_alice)
    dataset = Dataset.objects.get()
    as_alice.post(f"/datasets/{dataset.pk}/add/", {"text": "Top up.\n", "format": "text", "tokeniser": "punkt"})
    store(as_alice)
    more = json.dumps([{"original": "a-b", "tokens": ["a", "b"]}])
    as_alice.post(f"/datasets/{dataset.pk}/add/", {"text": more, **JSON})
    store(as_alice)
    assert [item.tokens for item in dataset.items()][2:] == [["Top", "up", "."], ["a", "b"]]


def test_texts_that_are_there_already_are_counted_of_json_items_too(as_alice):
    post_rich(as_alice, RICH)
    store(as_alice)
    dataset = Dataset.objects.get()
    more = [
        {"original": "replace  pump", "tokens": ["replace", "pump"]},
        {"original": "check oil", "tokens": ["check oil"]},
    ]
    response = as_alice.post(f"/datasets/{dataset.pk}/add/", {**JSON, "file": named_file([*more, more[0]])})
    page = shown(as_alice, response)
    assert '<span>texts identical to another</span><span class="end">2</span>' in page
    assert '<span>texts the same as another but for white space</span><span class="end">1</span>' in page
    told = shown(as_alice, store(as_alice))
    assert "2 texts identical to another, 1 text the same as another but for white space" in told
    assert dataset.items().count() == 5
    again = [{**item, "external_id": item["external_id"]} for item in RICH]
    response = as_alice.post(
        f"/datasets/{dataset.pk}/add/", {**JSON, "duplicates": "replace", "file": named_file(again)}
    )
    assert "texts identical" not in shown(as_alice, response)


def test_before_items_are_replaced_the_marks_that_go_with_them_are_told(as_alice, labels, carol):
    document = [{**MARKED[0], "external_id": "wo-1"}]
    post_rich(as_alice, document, kind="preannotated_relation", **labels)
    store(as_alice)
    dataset = Dataset.objects.get()
    Annotation.start(dataset.items().get(), carol).entity_set.update(status="accepted")
    response = as_alice.post(f"/datasets/{dataset.pk}/add/", {**JSON, "file": named_file(document)})
    assert "in the dataset" in shown(as_alice, response)
    goes = "5 marks go with it: 3 that came with the dataset, and <b>2 made by 1 annotator</b>."
    assert goes in shown(as_alice, response)
    assert goes in shown(as_alice, as_alice.post(f"{response['Location']}decide/", {"duplicates": "replace"}))


def test_an_addition_to_a_project_says_that_annotators_get_it_at_once(as_alice, as_carol):
    project = factories.project(by=as_alice.user, annotators=[as_carol.user], text="one\n")
    dataset = project.dataset
    assert "at once" in html(as_alice.get(f"/datasets/{dataset.pk}/add/"))
    page = shown(as_alice, as_alice.post(f"/datasets/{dataset.pk}/add/", {"text": "two\n"}))
    assert "at once" in page and f'<p class="crumb"> <a href="/projects/{dataset.project.pk}/">' in page
    store(as_alice)
    assert [item.original for item in project.items_for(as_carol.user)] == ["one", "two"]


def test_a_check_of_labels_is_promised_only_where_items_have_labels(as_alice, labels):
    post_rich(as_alice, RICH)
    store(as_alice)
    rich = factories.project(by=as_alice.user, of=Dataset.objects.get()).dataset
    assert "Labels are checked" not in html(as_alice.get(f"/datasets/{rich.pk}/add/"))
    post_rich(as_alice, MARKED, kind="preannotated_relation", **labels)
    store(as_alice)
    assert "Labels are checked" in html(as_alice.get(f"/datasets/{Dataset.objects.latest('pk').pk}/add/"))


def test_what_is_wrong_with_an_addition_is_said(as_alice):
    dataset = factories.dataset(owner=as_alice.user)
    response = as_alice.post(f"/datasets/{dataset.pk}/add/", {"text": ""})
    assert response.status_code == 422 and "Paste some text, or choose a file." in html(response)
    post_rich(as_alice, RICH)
    store(as_alice)
    dataset = Dataset.objects.latest("pk")
    response = as_alice.post(f"/datasets/{dataset.pk}/add/", {"text": "a", "format": "magic"})
    assert response.status_code == 422 and "Select a valid choice" in html(response)


def test_what_is_said_of_an_addition_is_what_was_stored(as_alice):
    """Meanwhile somebody else has added one of the lines."""
    dataset = factories.dataset(owner=as_alice.user, text="first\n", remove_duplicates="identical")
    upload = factories.upload("first\nsecond\nthird\n", by=as_alice.user, options=LINES, dataset=dataset)
    upload.examine()
    factories.upload("second\n", by=as_alice.user, options=LINES, dataset=dataset).store()
    page = html(as_alice.post(f"{upload.get_absolute_url()}store/", follow=True))
    assert "“Work orders” has more items: 1 item, 1 token, 2 texts identical to another, 2 duplicates dropped." in page


def test_an_addition_is_changed_and_discarded(as_alice):
    post_rich(as_alice, RICH)
    store(as_alice)
    dataset = Dataset.objects.get()
    add = {"text": "Top up.\n", "format": "text", "tokeniser": "punkt"}
    response = as_alice.post(f"/datasets/{dataset.pk}/add/", add)
    page = html(as_alice.get(f"{response['Location']}change/"))
    assert "Pasted text" in page and "Kind" not in page.split("<form")[1]
    as_alice.post(f"{response['Location']}change/", {"format": "text", "tokeniser": "whitespace"})
    assert "whitespace tokens" in html(as_alice.get(response["Location"]))
    answer = as_alice.post(f"{response['Location']}discard/")
    assert answer["Location"] == f"/datasets/{dataset.pk}/uploads/"
    assert dataset.items().count() == 2


# --- History ---


def test_the_history_tells_what_came_when_and_from_whom(as_alice, as_bob):
    post_rich(as_alice, RICH)
    store(as_alice)
    dataset = Dataset.objects.get()
    for name in ("second.json", "third.json"):
        file = named_file([{"original": name, "tokens": [name]}], name)
        as_alice.post(f"/datasets/{dataset.pk}/add/", {"file": file, **JSON})
        if name == "second.json":
            store(as_alice)
    response = as_alice.get(f"/datasets/{dataset.pk}/uploads/")
    assert [(u.number, u.name, u.item_count) for u in response.context["page"].object_list] == [
        (2, "second.json", 1),
        (1, "orders.json", 2),
    ]
    page = html(response)
    for words in ("2 items, 4 tokens", "?upload=2", "third.json", "waits for you to store it"):
        assert words in page
    few = queries_of(as_bob.get, f"/datasets/{dataset.pk}/uploads/")
    factories.upload([{"original": "4", "tokens": ["4"]}], by=as_alice.user, options=JSON, dataset=dataset).store()
    assert len(queries_of(as_bob.get, f"/datasets/{dataset.pk}/uploads/")) == len(few)
    page = html(as_bob.get(f"/datasets/{dataset.pk}/uploads/"))
    assert "alice" in page and "second.json" in page and "third.json" not in page


def test_the_history_tells_how_each_file_was_read(as_alice, carol):
    ontology = factories.ontology(owner=as_alice.user)
    options = {"kind": "preannotated_entity", "format": "conll", "name": "News", "entity_ontology": ontology.pk}
    options |= {"encoding": "cp1252", "labels": {"entity": {"PER": "State", "LOC": "PhysicalObject", "MISC": ""}}}
    text = "Köln B-LOC\nMarie B-PER\nMai B-MISC\n".encode("cp1252")
    dataset = factories.upload(text, by=as_alice.user, options=options, name="news.conll").store()
    assert "CoNLL, Windows-1252, 2 labels called otherwise here, 1 label left out" in html(
        as_alice.get(f"/datasets/{dataset.pk}/uploads/")
    )
    for whose, told in ((f"@{carol}", "JSON, marks of carol"), ("suggested", "JSON, suggested marks")):
        assert Upload(options={"format": "json", "whose": whose}).read_as == told
    assert Upload(options={"format": "gone"}).read_as == Upload(options={}).read_as == ""


def test_a_dataset_to_which_nothing_was_uploaded_says_so(as_alice):
    project = factories.project(by=as_alice.user)
    page = html(as_alice.get(f"/datasets/{project.dataset.pk}/uploads/"))
    assert "The items were copied" in page and "/add/" in page


def test_all_that_is_unfinished_is_listed_and_can_be_discarded(as_alice, as_bob):
    for n in range(12):
        post(as_alice, text="first\n", name=f"Half {n}")
    for address in ("/", "/datasets/"):
        page = html(as_alice.get(address))
        assert all(f">Half {n}<" in page for n in range(12)) and "7 more" in page
        assert page.count("/discard/") == 12
        assert "Half" not in html(as_bob.get(address))
    for upload in Upload.objects.all():
        store(as_alice, upload)
    assert "waits for you" not in html(as_alice.get("/datasets/"))


# --- Rights ---


def test_managers_of_a_project_follow_each_others_additions(as_alice, as_bob, as_carol, as_jobs):
    project = factories.project(by=as_alice.user, annotators=[as_carol.user])
    upload = factories.upload("one more\n", by=as_alice.user, options=LINES, dataset=project.dataset)
    job = upload.start_job("check_upload", by=as_alice.user)
    assert as_bob.get(f"/jobs/{job.pk}/progress/").status_code == 404
    project.add_members([as_bob.user], role="manager")
    assert "Checking" in html(as_bob.get(upload.get_absolute_url()))
    assert as_bob.get(f"/jobs/{job.pk}/progress/").status_code == 200
    assert as_carol.post(f"/jobs/{job.pk}/cancel/").status_code == 403
    as_bob.post(f"/jobs/{job.pk}/cancel/")
    assert "Cancelled." in html(as_alice.get(upload.get_absolute_url()))


# --- Choosing ontologies ---


def test_ontologies_are_chosen_from_blueprints_of_their_kind(as_alice, labels):
    project = factories.project(by=as_alice.user)
    wrong = {**labels, "entity_ontology": labels["relation_ontology"]}
    for values in (
        wrong,
        {**labels, "entity_ontology": project.entity_ontology.pk},
        {**labels, "entity_ontology": "x"},
    ):
        response = post_rich(as_alice, MARKED, kind="preannotated_relation", **values)
        assert response.status_code == 422 and "valid choice" in html(response)


def test_ontologies_are_searched_by_name_and_the_chosen_one_stays(as_alice, as_bob):
    first = factories.ontology(owner=as_bob.user, name="Chosen")
    for n in range(20):
        factories.ontology(owner=as_bob.user, name=f"Other {n}")
    mine = factories.ontology(owner=as_alice.user, name="Mine")
    page = html(as_alice.get("/datasets/new/ontologies/entity/"))
    assert page.index("Mine") < page.index("Other") and "16 more" in page
    page = html(as_alice.get("/datasets/new/ontologies/entity/", {"q": "oTHer 1", "entity_ontology": first.pk}))
    assert f'value="{first.pk}" checked' in page and "Other 1" in page and f'value="{mine.pk}"' not in page
    assert "No entity ontology has “zzz”" in html(as_alice.get("/datasets/new/ontologies/entity/", {"q": "zzz"}))
    for odd in ("x", "-1", "9" * 30, "²"):
        assert as_alice.get("/datasets/new/ontologies/entity/", {"entity_ontology": odd}).status_code == 200
    assert as_alice.get("/datasets/new/ontologies/magic/").status_code == 404


# --- The preview of what is typed ---


def preview(client, sample, **values):
    data = {"tokeniser": "punkt", "kind": "standard", "format": "text", "sample": sample, **values}
    return client.post("/datasets/new/preview/", data)


def detected(response):
    return json.loads(response["HX-Trigger"])["detected"]


def test_the_preview_shows_lines_before_and_after(as_alice):
    response = preview(
        as_alice, "Oil.\n\noil.\n*\n", lowercase="on", remove_duplicates="identical", remove_characters="*"
    )
    page = html(response)
    assert response.status_code == 200 and "<html" not in page
    assert [(number, dropped) for number, *_, dropped in response.context["rows"]] == [
        (1, ""),
        (3, "duplicate"),
        (4, "empty"),
    ]
    assert response.context["rows"][0][3] == ["oil", "."]
    assert "duplicate, dropped" in page and "empty, dropped" in page
    assert "1 line is identical to another; 0 are the same but for white space. 1 dropped." in page
    page = html(preview(as_alice, "a b\na  b\n", remove_duplicates="identical"))
    assert "0 lines are identical to others; 1 is the same but for white space. None is dropped." in page
    assert "1 dropped" in html(preview(as_alice, "a b\na  b\n", remove_duplicates="spacing"))
    assert response.context["before"] == (3, 3, 3)
    assert response.context["after"] == (1, 2, 2)


def test_the_preview_takes_the_first_lines_and_says_so(as_alice):
    response = preview(as_alice, "".join(f"line {n}\n" for n in range(1000)))
    assert len(response.context["rows"]) == 20
    assert response.context["after"][0] == 200
    assert "of the first 200 lines, 20 shown" in html(response)


def test_odd_values_in_the_preview_are_told(as_alice):
    assert preview(as_alice, "a", tokeniser="magic").status_code == 422
    assert preview(as_alice, "a", kind="magic").status_code == 422
    assert preview(as_alice, "a", remove_characters="x" * 201).status_code == 422
    assert preview(as_alice, "a\0b").status_code == 422
    assert preview(as_alice, "x" * 1_000_000).status_code == 200
    assert all("Paste something or choose a file" in html(preview(as_alice, sample)) for sample in ("", " \n \n"))
    assert "<script>alert" not in preview(as_alice, "<script>alert(1)</script>").text


def marked_sample(*names):
    entities = [{"start": 0, "end": 0, "label": name} for name in names]
    return json.dumps([{"original": "a", "tokens": ["a"], "entities": entities}])


def test_the_ontology_that_covers_the_labels_best_is_chosen(as_alice, alice, bob):
    def tree(name, *labels, owner=alice):
        return factories.ontology(owner=owner, name=name, items=[{"name": label} for label in labels])

    tree("Few", "A")
    best = tree("Most", "A", "B", "C", "D", owner=bob)
    tree("Others", "X", "Y")
    for n in range(8):
        tree(f"Newer {n}", "B")
    marked = {"kind": "preannotated_entity", "format": "json", "for_new": "yes"}
    sample = marked_sample("A", "B", "C", "Missing", "A")
    page = html(preview(as_alice, sample, **marked))
    assert "“Most” covers the entity labels best: <b>3 of 4 labels</b>" in page and "Missing there: Missing." in page
    assert re.search(rf'value="{best.pk}" checked', page) and 'hx-swap-oob="innerHTML"' in page
    # The next sample may choose another one, but not where somebody has chosen.
    found = {"entity_ontology": best.pk, "entity_ontology_found": best.pk}
    assert "“Others” covers" in html(preview(as_alice, marked_sample("X", "Y"), **marked, **found))
    by_hand = html(preview(as_alice, marked_sample("X", "Y", "D"), **marked, **found | {"entity_ontology_found": ""}))
    assert "“Most” is chosen: <b>1 of 3 labels</b>" in by_hand and "Missing there: X, Y." in by_hand
    assert "hx-swap-oob" not in by_hand
    nothing = html(preview(as_alice, marked_sample("Z"), **marked))
    assert "No entity ontology has one of its 1 label: Z." in nothing and "checked" not in nothing


def test_the_labels_of_entities_and_relations_are_told_apart(as_alice, alice):
    relation = {"source_id": "e0", "target_id": "e0", "label": "hasPart"}
    entity = {"id": "e0", "start": 0, "end": 0, "label": "Only"}
    item = {"original": "a", "tokens": ["a"], "entities": [entity, 7], "relations": [relation, {"label": 1}]}
    factories.ontology(owner=alice, items=[{"name": "Only"}, {"name": "hasPart"}], name="E")
    factories.ontology(owner=alice, kind="relation", items=[{"name": "hasPart"}], name="R")
    page = html(preview(as_alice, json.dumps([item]), kind="preannotated_relation", format="json", for_new="yes"))
    assert "“E” covers the entity labels best: <b>1 of 1 label</b>" in page
    assert "“R” covers the relation labels best: <b>1 of 1 label</b>" in page


@pytest.mark.parametrize(
    ("sample", "kind", "format"),
    [
        ("replace pump\n", "standard", "text"),
        (json.dumps(RICH), "rich", "json"),
        ("\n".join(json.dumps(item) for item in RICH), "rich", "jsonl"),
        (json.dumps(WITHOUT_RELATIONS), "preannotated_entity", "json"),
        (json.dumps(MARKED), "preannotated_relation", "json"),
        (json.dumps(MARKED * 2)[:-40], "preannotated_relation", "json"),
    ],
)
def test_the_kind_is_detected_from_the_beginning(as_alice, sample, kind, format):
    response = preview(as_alice, sample)
    assert (detected(response)["kind"], response.context["format"].name) == (kind, format)


def test_what_is_chosen_against_what_is_detected_is_told(as_alice):
    assert "read as lines of text" in html(preview(as_alice, json.dumps(RICH)))
    assert "“Rich dataset” is chosen" in html(preview(as_alice, json.dumps(MARKED), kind="rich", format="json"))
    assert "This is text" in html(preview(as_alice, "replace pump", kind="rich", format="json"))


def test_extra_fields_may_have_any_name(as_alice):
    names = {"items": 5, "keys": [1], "<b>": None, "": "nameless"}
    page = shown(as_alice, post_rich(as_alice, [{**RICH[0], "extra_fields": names}]))
    assert "<b>items</b> 5" in page and "nameless" in page


def test_unusable_labels_are_counted_on_the_page(as_alice):
    ontology = factories.ontology(owner=as_alice.user)
    document = [{**RICH[0], "entities": [{"start": n, "end": n, "label": "Thermostat"} for n in (0, 1)]}]
    document[0]["entities"].append({"start": 0, "end": 1, "label": "State"})  # of an item that is refused
    document.append({**RICH[1], "entities": [{"start": 0, "end": 0, "label": "Activity"}]})
    response = post_rich(as_alice, document, kind="preannotated_entity", entity_ontology=ontology.pk)
    page = shown(as_alice, response)
    assert "Entity labels of the file" in page and "1 label" in page
    assert re.search(r'value="Thermostat">\s*</th>\s*<td class="num">2</td>', page)


def test_a_download_is_uploaded_again_after_a_label_was_retired(as_alice):
    ontology = factories.ontology(owner=as_alice.user)
    options = {"kind": "preannotated_entity", "entity_ontology": ontology.pk}
    marks = [{"start": 0, "end": 0, "label": name} for name in ("State", "Activity")]
    post_rich(as_alice, [{**RICH[0], "entities": marks}], **options)
    store(as_alice)
    document = downloaded(as_alice)  # before, so that it says nothing
    factories.item(ontology, "State").switch(False, by=as_alice.user)

    response = post_rich(as_alice, document, **options)
    page = shown(as_alice, response)
    assert "1 mark has a label that is switched off" in page and "<span>State</span>" in page
    assert 'name="inactive" value="refuse" checked' in page and "Create dataset" not in page
    decide = f"{response['Location']}decide/"
    assert as_alice.post(decide, {"inactive": "maybe"}).status_code == 302
    assert "Create dataset" not in shown(as_alice, response)
    as_alice.post(decide, {"inactive": "keep"})
    page = shown(as_alice, response)
    assert 'name="inactive" value="keep" checked' in page and "Create dataset" in page
    store(as_alice)
    document[0]["entities"][0]["active"] = False
    assert Dataset.objects.count() == 2 and downloaded(as_alice) == document


@pytest.mark.parametrize("kind", ["preannotated_entity", "preannotated_relation"])
def test_a_bundles_own_dataset_comes_back_without_a_question_and_says_what_is_off(as_alice, kind):
    """Into the bundle's own ontologies, which have the same labels off."""
    alice, kinds = as_alice.user, ["entity", "relation"][: 1 + kind.endswith("relation")]
    ontologies = {f"{each}_ontology": factories.ontology(owner=alice, kind=each) for each in kinds}
    labels = {name: ontology.pk for name, ontology in ontologies.items()}
    post_rich(as_alice, MARKED if len(kinds) == 2 else WITHOUT_RELATIONS, kind=kind, **labels)
    store(as_alice)
    project = Project.create(name="Pumps", by=alice, dataset=Dataset.objects.get(), **ontologies)
    factories.item(project.entity_ontology, "State").switch(False, by=alice)
    if project.relation_ontology:
        factories.item(project.relation_ontology, "hasParticipant").switch(False, by=alice)
    bundle.write(project, target := io.BytesIO())
    files = zipfile.ZipFile(target)
    for each in kinds:
        items = read_ontology(files.read(f"{each}_ontology.json").decode(), each)
        labels[f"{each}_ontology"] = Ontology.create(kind=each, name="Back", owner=alice, items=items).pk
    document = json.loads(files.read("dataset.json"))
    page = shown(as_alice, post_rich(as_alice, document, kind=kind, **labels))
    kept = f'<span>marks from before, whose labels are off: kept</span><span class="end">{len(kinds)}</span>'
    assert "Everything is in order" in page and kept in page and 'id="inactive"' not in page
    told = shown(as_alice, store(as_alice))
    assert f"{len(kinds)} mark{'s' * (len(kinds) - 1)} with labels that are switched off" in told
    assert downloaded(as_alice) == document
    for mark in document[0]["entities"]:
        mark.pop("active", None)  # as somebody else's file
    page = shown(as_alice, post_rich(as_alice, document, kind=kind, **labels))
    assert "1 mark has a label that is switched off" in page and "Everything is in order" not in page


def test_rich_items_for_a_kind_with_marks_are_named_and_stored_only_after_a_choice(as_alice, labels):
    response = post_rich(as_alice, RICH, kind="preannotated_relation", **labels)
    page = shown(as_alice, response)
    assert "Not one item has “entities” or “relations”: these are rich items." in page and "Create dataset" not in page
    store(as_alice)
    assert nothing_is_stored()
    as_alice.post(f"{response['Location']}decide/", {"unmarked": "keep"})
    page = shown(as_alice, response)
    assert "This can be stored, and keeps 2 items without marks as they are." in page
    store(as_alice)
    assert Dataset.objects.get().item_count == 2
    some, entity_ontology = [RICH[0], {**RICH[1], "entities": []}], labels["entity_ontology"]
    response = post_rich(as_alice, some, kind="preannotated_entity", entity_ontology=entity_ontology)
    assert "Everything is in order" in shown(as_alice, response)


def test_each_file_asks_anew_about_labels_that_are_off(as_alice):
    ontology = factories.ontology(owner=as_alice.user)
    factories.item(ontology, "State").switch(False, by=as_alice.user)
    options = {"kind": "preannotated_entity", "entity_ontology": ontology.pk}
    document = [{**RICH[0], "entities": [{"start": 0, "end": 0, "label": "State"}]}]
    response = post_rich(as_alice, document, **options)
    as_alice.post(f"{response['Location']}decide/", {"inactive": "keep"})
    other = {**LINES, **options, "name": "Other", "format": "json", "text": json.dumps([*document, *document])}
    as_alice.post(f"{response['Location']}change/", other)
    assert 'name="inactive" value="refuse" checked' in shown(as_alice, response)
