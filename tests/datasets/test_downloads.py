import io
import json
import tracemalloc

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datasets import exports, portions
from datasets.kinds import DatasetKind
from datasets.models import Annotation, Dataset, Entity, Item
from ontologies.models import Ontology
from tests import factories
from tests.queries import queries_of
from tests.threads import at_once

from .documents import document, stored

LINES = ["replace engine oil", "  naïve “Straße” 😀 \\ ", "a\u2028b\x0bc", '"quoted", tab\there']


def body(response):
    assert response.streaming
    return b"".join(response.streaming_content).decode()


@pytest.fixture
def dataset(alice):
    return factories.dataset(owner=alice, text="\n".join(LINES), name="Work orders: März")


JSON_KINDS = [DatasetKind.RICH, DatasetKind.PREANNOTATED_ENTITY, DatasetKind.PREANNOTATED_RELATION]


@pytest.mark.parametrize("kind", JSON_KINDS)
def test_what_was_uploaded_is_downloaded_and_uploaded_again(as_alice, kind):
    first = stored(as_alice.user, kind, document(kind))
    text = body(as_alice.get(f"/datasets/{first.pk}/download/json/"))
    assert json.loads(text) == document(kind)
    again = stored(as_alice.user, kind, text)
    assert body(as_alice.get(f"/datasets/{again.pk}/download/json/")) == text


@pytest.mark.parametrize("kind", JSON_KINDS)
def test_json_lines_hold_the_same_items_and_come_in_again(as_alice, kind):
    first = stored(as_alice.user, kind, document(kind))
    response = as_alice.get(f"/datasets/{first.pk}/download/json-lines/")
    text = body(response)
    assert [json.loads(line) for line in text.split("\n")[:-1]] == document(kind)
    assert response["Content-Disposition"] == 'attachment; filename="work-orders.jsonl"'
    again = stored(as_alice.user, kind, text, format="jsonl")
    assert body(as_alice.get(f"/datasets/{again.pk}/download/json-lines/")) == text


@pytest.mark.parametrize("kind", JSON_KINDS)
def test_a_copy_has_the_same_document(as_alice, bob, kind):
    dataset = stored(as_alice.user, kind, kind.example)
    copy = dataset.copy_to(by=bob)
    assert "".join(exports.json_document(copy)) == "".join(exports.json_document(dataset))
    assert json.loads("".join(exports.json_document(copy)))[0] == json.loads(kind.example)[0]


def test_text_in_and_text_out_are_the_same(as_alice, dataset):
    response = as_alice.get(f"/datasets/{dataset.pk}/download/text/")
    text = body(response)
    assert text == "".join(f"{line}\n" for line in LINES)
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    again = factories.dataset(owner=as_alice.user, text=text)
    assert [(i.original, i.tokens, i.offsets) for i in again.items()] == [
        (i.original, i.tokens, i.offsets) for i in dataset.items()
    ]


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    lines=st.lists(st.text("aB İΣ.*\t\xa0\u2028", max_size=12), max_size=5),
    tokens=st.lists(st.lists(st.sampled_from(["a", "B", "İ", "x\ny", "."]), min_size=1, max_size=4), max_size=3),
)
def test_the_cleaned_text_is_what_annotators_read_one_item_a_line(alice, lines, tokens):
    """Also of items whose tokens are not in their text, or have line ends in them."""
    text = "".join(f"{line}\n" for line in ("first", *lines))
    datasets = [factories.dataset(owner=alice, text=text, lowercase=True, remove_characters="*", tokeniser="punkt")]
    rich = [{"original": original, "tokens": some} for some in tokens for original in ("".join(some), "else")]
    datasets += [stored(alice, DatasetKind.RICH, rich)] if rich else []
    for dataset in datasets:
        wanted = [str(item.cleaned).replace("\n", " ") for item in dataset.items()]
        assert "".join(exports.cleaned_document(dataset)).split("\n") == [*wanted, ""]


def test_the_cleaned_text_is_offered_beside_the_other_downloads(as_alice, dataset):
    response = as_alice.get(f"/datasets/{dataset.pk}/download/cleaned/")
    assert body(response).startswith("replace engine oil\nnaïve “Straße” 😀 \\\n")
    assert response["Content-Disposition"].endswith(".cleaned.txt")
    assert (
        f'href="/datasets/{dataset.pk}/download/cleaned/">Cleaned text' in as_alice.get(f"/datasets/{dataset.pk}/").text
    )


def test_a_byte_order_mark_in_the_middle_of_a_text_survives_at_its_beginning(alice):
    dataset = factories.dataset(owner=alice, text="one\n\ufefftwo\n\ufeffthree\n")
    rest = dataset.items().filter(position__gt=0)
    again = factories.dataset(owner=alice, text="".join(exports.text_document(dataset, rest)))
    assert [item.original for item in again.items()] == ["\ufefftwo", "\ufeffthree"]


def test_the_json_of_a_standard_dataset_comes_in_as_a_rich_one(as_alice, dataset):
    text = body(as_alice.get(f"/datasets/{dataset.pk}/download/json/"))
    assert json.loads(text)[0] == {"original": "replace engine oil", "tokens": ["replace", "engine", "oil"]}
    rich = stored(as_alice.user, DatasetKind.RICH, text)
    assert [(i.original, i.tokens, i.offsets) for i in rich.items()] == [
        (i.original, i.tokens, i.offsets) for i in dataset.items()
    ]


@pytest.mark.parametrize("count", [0, 1, 999, 1000, 1001, 2000])
def test_the_array_is_whole_at_any_length(alice, count):
    dataset = factories.dataset(owner=alice, text="".join(f"line {n}\n" for n in range(max(count, 1))))
    if not count:
        Item.with_removed.all().delete()
    wanted = [f"line {n}" for n in range(count)]
    assert [item["original"] for item in json.loads("".join(exports.json_document(dataset)))] == wanted
    lines = "".join(exports.json_lines_document(dataset)).splitlines()
    assert [json.loads(line)["original"] for line in lines] == wanted


def test_the_marks_of_each_item_stay_with_it(alice):
    items = [
        {
            "original": f"a b {n}",
            "tokens": ["a", "b", f"{n}"],
            "entities": [{"id": f"x{n}", "start": n % 3, "end": 2, "label": "State"}] if n % 2 else [],
            "relations": [],
        }
        for n in range(2500)
    ]
    dataset = stored(alice, DatasetKind.PREANNOTATED_RELATION, items)
    assert json.loads("".join(exports.json_document(dataset))) == items


@pytest.mark.parametrize("format", ["json", "json-lines", "text", "cleaned"])
def test_removed_items_are_left_out(as_alice, dataset, format):
    Item.objects.filter(position=0).update(removed_at=timezone.now())
    text = body(as_alice.get(f"/datasets/{dataset.pk}/download/{format}/"))
    assert LINES[0] not in text and "quoted" in text


@pytest.mark.parametrize("format", ["json", "json-lines", "text", "cleaned"])
def test_the_filter_of_the_table_is_respected(as_alice, dataset, format):
    text = body(as_alice.get(f"/datasets/{dataset.pk}/download/{format}/?q=QUOTED"))
    assert "quoted" in text and "engine" not in text


def test_what_came_since_the_dataset_was_read_breaks_nothing(alice):
    dataset = stored(alice, DatasetKind.PREANNOTATED_ENTITY, document(DatasetKind.PREANNOTATED_ENTITY))
    assert dataset.labels()
    label = Ontology.objects.get(pk=dataset.entity_ontology_id).add_item(name="New", parent=None, by=alice)
    annotation = factories.annotation(dataset.items()[1])
    annotation.entity_set.create(label=label, uid="e1", start=0, end=1, origin="given")
    target = io.BytesIO()
    exports.JSON.write(dataset, dataset.items(), target)
    assert json.loads(target.getvalue())[1]["entities"] == [{"start": 0, "end": 1, "label": "New"}]


@pytest.mark.django_db(transaction=True)
def test_a_download_is_the_dataset_at_one_moment(as_alice, monkeypatch):
    monkeypatch.setattr(portions, "MOST_ITEMS", 1)
    item = document(DatasetKind.PREANNOTATED_ENTITY)[0]
    dataset = stored(as_alice.user, DatasetKind.PREANNOTATED_ENTITY, [item, {**item, "external_id": "another"}])
    whole = body(as_alice.get(f"/datasets/{dataset.pk}/download/json/"))
    read = exports._entities

    def change():
        Entity.objects.filter(annotation__item__dataset=dataset).delete()
        dataset.remove(dataset.items(), by=as_alice.user)

    def read_and_change(*args, **options):
        if dataset.bin().count() == 0:
            at_once(change)
        return read(*args, **options)

    monkeypatch.setattr(exports, "_entities", read_and_change)
    assert body(as_alice.get(f"/datasets/{dataset.pk}/download/json/")) == whole
    assert not dataset.items().exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("format", ["json", "json-lines", "text", "cleaned"])
def test_the_file_is_complete_before_the_first_byte_leaves(as_alice, dataset, format, django_assert_num_queries):
    response = as_alice.get(f"/datasets/{dataset.pk}/download/{format}/")
    with django_assert_num_queries(0):  # a slow client holds no transaction open
        assert len(body(response).encode()) == int(response["Content-Length"])


def test_a_download_that_fails_is_an_error_and_not_half_a_file(as_alice, dataset, monkeypatch):
    monkeypatch.setattr(portions, "MOST_ITEMS", 1)
    monkeypatch.setattr(exports, "with_floats", lambda text: 1 / 0)
    dataset.items().last().edit(external_id="", extra_fields={"author": "Anna"})
    as_alice.raise_request_exception = False
    assert as_alice.get(f"/datasets/{dataset.pk}/download/json/").status_code == 500


def test_the_log_tells_who_took_which_file(as_alice, dataset, caplog):
    as_alice.get(f"/datasets/{dataset.pk}/download/text/?q=engine")
    as_alice.get("/datasets/schemas/rich.json")
    assert [(record.name, record.levelname, record.getMessage()) for record in caplog.records] == [
        (
            "annotation_service.http",
            "INFO",
            f"alice took /datasets/{dataset.pk}/download/text/?q=engine as 'work-orders-märz.txt'",
        ),
        (
            "annotation_service.http",
            "INFO",
            "alice took /datasets/schemas/rich.json as 'rich_dataset.schema.json'",
        ),
    ]


def test_annotators_marks_are_not_in_it(alice, carol):
    dataset = stored(alice, DatasetKind.PREANNOTATED_RELATION, document(DatasetKind.PREANNOTATED_RELATION))
    before = "".join(exports.json_document(dataset))
    annotation = Annotation.start(dataset.items()[0], carol)
    assert annotation.entity_set.count() == 3
    assert "".join(exports.json_document(dataset)) == before


def test_the_page_says_where_annotators_marks_are(as_alice, dataset):
    project = factories.project(by=as_alice.user)
    note = f'<a href="/projects/{project.pk}/">bundle of the project</a>'
    assert note in as_alice.get(f"/datasets/{project.dataset.pk}/").text
    assert "bundle" not in as_alice.get(f"/datasets/{dataset.pk}/").text


def test_the_file_is_named_after_the_dataset(as_alice, dataset):
    disposition = as_alice.get(f"/datasets/{dataset.pk}/download/json/")["Content-Disposition"]
    assert disposition == "attachment; filename*=utf-8''work-orders-m%C3%A4rz.json"


@pytest.mark.parametrize("name", ["???", "../../etc/passwd", 'a"b\\c', "x" * 200])
def test_odd_names_give_harmless_file_names(alice, name):
    name = exports.TEXT.file_name(Dataset(name=name))
    assert name.endswith(".txt") and len(name) <= 84 and not set(name) & set('/\\"?:')
    assert name != ".txt"


def test_only_standard_datasets_come_as_text(as_alice, dataset):
    Dataset.objects.update(kind=DatasetKind.RICH)
    assert as_alice.get(f"/datasets/{dataset.pk}/download/text/").status_code == 404
    assert "download/text/" not in as_alice.get(f"/datasets/{dataset.pk}/").text


@pytest.mark.parametrize("written", [exports.json_document, exports.cleaned_document])
def test_memory_does_not_grow_with_the_dataset(alice, written):
    def peak(lines):
        dataset = factories.dataset(owner=alice, text=f"{'word ' * 40}\n" * lines)
        tracemalloc.start()
        for _ in written(dataset):
            pass
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    assert peak(12_000) < 1.5 * peak(3_000)


def test_a_few_queries_bring_a_thousand_items(alice, monkeypatch):
    monkeypatch.setattr(portions, "MOST_ITEMS", 1000)
    items = document(DatasetKind.PREANNOTATED_RELATION)

    def queries(times):
        many = [{k: v for k, v in item.items() if k != "external_id"} for item in items * times]
        dataset = stored(alice, DatasetKind.PREANNOTATED_RELATION, many)
        dataset.labels()
        return len(queries_of(list, exports.json_document(dataset)))

    assert queries(1000) - queries(500) == 2
