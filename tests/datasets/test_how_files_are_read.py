"""The encoding of a file, what is chosen about how it is read, and what becomes of its items with problems."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from datasets.formats import format_named
from datasets.kinds import DatasetKind
from datasets.models import Dataset, Item, Upload
from ontologies.pasted_lists import from_fullnames
from tests import factories
from tests.answers import html
from tests.datasets.documents import stored
from tests.datasets.test_import_command import run
from tests.workbooks import workbook

FORM = {"kind": "standard", "format": "", "tokeniser": "punkt", "name": "Found"}
ENGLISH = "replace the pump\n"
TEXTS = {
    "cp1252": "„Straße“ kostet 5 €\nnaïve café",
    "latin-1": "Straße\nnaïve café",
    "cp1250": "Žluťoučký kůň\npříšerně úpěl",
    "cp1251": "заменить масло\nнасос течёт",
}
CSV = "id;what;where\n1;replace the pump;north side\n2;check oil;south\n3;left it;north\n"


def post(client, content, name="lines.txt", **values):
    return client.post("/datasets/new/", {**FORM, **values, "file": SimpleUploadedFile(name, content)})


def shown(client, upload=None):
    upload = upload or Upload.objects.latest("pk")
    return html(client.get(upload.get_absolute_url(), follow=True))


def decide(client, upload=None, **values):
    upload = upload or Upload.objects.latest("pk")
    response = client.post(f"{upload.get_absolute_url()}decide/", values)
    assert response.status_code == 302
    return Upload.objects.get(pk=upload.pk)


def store(client):
    upload = Upload.objects.latest("pk")
    client.post(f"{upload.get_absolute_url()}store/")
    upload.refresh_from_db()
    return upload


def originals():
    return [item.original for item in Item.objects.order_by("pk")]


# --- Encodings ---


@pytest.mark.parametrize("encoding", TEXTS)
def test_of_a_file_in_an_older_encoding_the_lines_that_differ_are_shown_in_each(as_alice, encoding):
    content = (ENGLISH + TEXTS[encoding]).encode(encoding)
    post(as_alice, content)
    page = shown(as_alice)
    assert Upload.objects.get().state == "refused" and not Item.objects.exists()
    assert "In which encoding is it?" in page
    choices = page[page.index('id="encoding"') : page.index("</section>", page.index('id="encoding"'))]
    assert "replace the pump" not in choices  # it is the same in all of them
    for name in TEXTS:
        for line in TEXTS[encoding].split("\n"):
            assert line.encode(encoding).decode(name, "replace") in choices


@pytest.mark.parametrize("encoding", TEXTS)
def test_a_file_is_read_in_the_encoding_that_somebody_chooses(as_alice, encoding):
    post(as_alice, (ENGLISH + TEXTS[encoding]).encode(encoding))
    upload = decide(as_alice, encoding=encoding)
    assert upload.state == "checked"
    assert "Everything is in order" in shown(as_alice)
    assert f'value="{encoding}" checked' in shown(as_alice)  # and can be chosen anew
    store(as_alice)
    assert originals() == (ENGLISH + TEXTS[encoding]).split("\n")


def test_another_encoding_can_be_chosen_after_the_wrong_one(as_alice):
    post(as_alice, TEXTS["cp1251"].encode("cp1251"))
    assert decide(as_alice, encoding="latin-1").state == "checked"
    assert "çàìåíèòü" in shown(as_alice)
    decide(as_alice, encoding="cp1251")
    store(as_alice)
    assert originals() == TEXTS["cp1251"].split("\n")


def test_an_encoding_that_is_none_of_those_changes_nothing(as_alice):
    post(as_alice, TEXTS["cp1252"].encode("cp1252"))
    for name in ("rot13", "utf-7", "x", "../cp1252"):
        upload = decide(as_alice, encoding=name)
        assert (upload.options["encoding"], upload.state) == ("", "refused")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_unicode_is_read_without_a_choice(as_alice, encoding):
    text = "Straße in Köln\nзаменить the oil of the pump"
    post(as_alice, text.encode(encoding))
    page = shown(as_alice)
    assert "Everything is in order" in page and "In which encoding" not in page
    store(as_alice)
    assert originals() == text.split("\n")


def test_the_encoding_holds_for_a_file_of_another_program(as_alice):
    text = "id;text\n1;Straße und Weg\n2;Köln am Rhein\n3;Öl prüfen\n"
    post(as_alice, text.encode("cp1252"), "orders.csv", kind="rich")
    assert "In which encoding is it?" in shown(as_alice)
    decide(as_alice, encoding="cp1252")
    store(as_alice)
    assert originals() == ["Straße und Weg", "Köln am Rhein", "Öl prüfen"]


@pytest.mark.parametrize("encoding", TEXTS)
def test_the_command_reads_a_file_in_the_given_encoding_and_refuses_it_without(alice, tmp_path, encoding):
    (tmp_path / "lines.txt").write_bytes((ENGLISH + TEXTS[encoding]).encode(encoding))
    code, _, errors = run(tmp_path / "lines.txt")
    assert code == 1 and "is not UTF-8. Choose another encoding" in errors and "line 2" in errors
    assert not Dataset.objects.exists()
    assert run(tmp_path / "lines.txt", "--encoding", encoding)[0] == 0
    assert originals() == (ENGLISH + TEXTS[encoding]).split("\n")


# --- Choices ---


def test_other_columns_can_be_chosen_of_a_table(as_alice):
    post(as_alice, CSV.encode(), "orders.csv", kind="rich")
    page = shown(as_alice)
    assert 'name="reading_column2"' in page and "such as “replace the pump”" in page
    upload = decide(as_alice, reading_column1="none", reading_column2="extra", reading_column3="text")
    assert upload.state == "checked"
    store(as_alice)
    items = list(Item.objects.order_by("pk"))
    assert [item.original for item in items] == ["north side", "south", "north"]
    assert [item.extra_fields for item in items][:2] == [{"what": "replace the pump"}, {"what": "check oil"}]
    assert {item.external_id for item in items} == {""}


def test_two_columns_with_texts_are_refused_with_a_sentence(as_alice):
    post(as_alice, CSV.encode(), "orders.csv", kind="rich")
    upload = decide(as_alice, reading_column1="text", reading_column2="text")
    assert upload.state == "refused"
    assert "Choose one column that has the texts." in shown(as_alice)


def test_the_first_row_may_have_values(as_alice):
    post(as_alice, CSV.encode(), "orders.csv", kind="rich")
    decide(as_alice, reading_header="no", reading_column1="id", reading_column2="text", reading_column3="none")
    store(as_alice)
    assert originals() == ["what", "replace the pump", "check oil", "left it"]


def test_a_sheet_can_be_chosen_of_a_workbook(as_alice):
    content = workbook(One=[["text"], ["replace pump"]], Two=[["text"], ["check oil"]])
    post(as_alice, content, "orders.xlsx", kind="rich")
    decide(as_alice, reading_sheet="Two")
    store(as_alice)
    assert originals() == ["check oil"]


def test_what_was_chosen_is_kept_for_the_next_file_of_the_dataset(as_alice):
    post(as_alice, CSV.encode(), "orders.csv", kind="rich")
    decide(as_alice, reading_column1="none", reading_column2="extra", reading_column3="text")
    dataset = store(as_alice).dataset
    more = SimpleUploadedFile("more.csv", b"id;what;where\n4;oil it;east side\n5;go;west\n6;stop;west\n")
    as_alice.post(f"/datasets/{dataset.pk}/add/", {"format": "", "tokeniser": "punkt", "file": more})
    assert store(as_alice).options["reading"] == {"column1": "none", "column2": "extra", "column3": "text"}
    assert originals()[3:] == ["east side", "west", "west"]


def test_a_file_can_be_read_as_another_format(as_alice):
    post(as_alice, CSV.encode(), "orders.csv", kind="rich")
    upload = decide(as_alice, format="tsv")
    assert (upload.options["format"], upload.found.items) == ("tsv", 3)
    assert decide(as_alice, format="nonsense").options["format"] == "tsv"


def test_every_format_can_be_tried_on_a_file_that_has_another(as_alice):
    """What is chosen wrongly is told, and can be chosen anew."""
    post(as_alice, CSV.encode(), "orders.csv", kind="rich")
    for format in ("brat", "casjson", "conll", "conllu", "doccano", "hf", "json", "jsonl", "labelstudio", "spacy",
                   "webanno", "xlsx", "xmi", "zip"):  # fmt: skip
        upload = decide(as_alice, format=format)
        assert upload.state == "refused" and upload.found.problems.total, format
        assert format_named(format).title in shown(as_alice)
    assert decide(as_alice, format="csv").state == "checked"


def test_the_command_takes_the_same_choices(alice, tmp_path):
    (tmp_path / "orders.csv").write_text(CSV)
    settings = [f"--setting={each}" for each in ("column1=none", "column2=extra", "column3=text")]
    assert run(tmp_path / "orders.csv", *settings, kind="rich")[0] == 0
    assert originals() == ["north side", "south", "north"]


# --- Items with problems ---

BAD = [
    {"original": "replace pump", "tokens": ["replace", "pump"], "external_id": "1"},
    {"original": "check oil", "tokens": [], "external_id": "2"},
    {"original": "left it", "tokens": ["left", "it"], "external_id": "3"},
    {"original": 5, "tokens": ["x"], "external_id": "4"},
]


def post_bad(client, items=BAD):
    return post(client, json.dumps(items).encode(), "orders.json", kind="rich")


def test_good_items_come_in_without_the_bad_ones_only_if_somebody_decides_that(as_alice):
    post_bad(as_alice)
    page = shown(as_alice)
    assert Upload.objects.get().state == "refused"
    assert "2 items have problems, 2 items have none" in page and "Download the items with problems" in page
    as_alice.post(f"{Upload.objects.get().get_absolute_url()}store/")
    assert not Dataset.objects.exists()
    assert decide(as_alice, bad="drop").state == "checked"
    upload = store(as_alice)
    assert originals() == ["replace pump", "left it"]
    assert (upload.item_count, upload.found.bad_items) == (2, 2)
    assert "2 items with problems left out" in upload.found.in_words()


def test_the_decision_can_be_taken_back(as_alice):
    post_bad(as_alice)
    assert decide(as_alice, bad="drop").state == "checked"
    assert decide(as_alice, bad="refuse").state == "refused"


def test_the_bad_items_are_downloaded_corrected_and_added(as_alice):
    post_bad(as_alice)
    response = as_alice.get(f"{Upload.objects.get().get_absolute_url()}bad-items/")
    assert response["Content-Disposition"] == 'attachment; filename="orders.json problems.jsonl"'
    found = [json.loads(line) for line in response.getvalue().splitlines()]
    assert found == [BAD[1], BAD[3]]
    decide(as_alice, bad="drop")
    dataset = store(as_alice).dataset
    corrected = [{**found[0], "tokens": ["check", "oil"]}, {**found[1], "original": "x"}]
    text = "\n".join(map(json.dumps, corrected)).encode()
    data = {"format": "", "tokeniser": "punkt", "file": SimpleUploadedFile("orders problems.jsonl", text)}
    as_alice.post(f"/datasets/{dataset.pk}/add/", data)
    store(as_alice)
    assert originals() == ["replace pump", "left it", "check oil", "x"]
    assert [item.external_id for item in Item.objects.order_by("pk")] == ["1", "3", "2", "4"]


def test_the_bad_items_can_be_downloaded_after_the_others_were_stored(as_alice):
    post_bad(as_alice)
    decide(as_alice, bad="drop")
    upload = store(as_alice)
    found = as_alice.get(f"{upload.get_absolute_url()}bad-items/").getvalue().splitlines()
    assert [json.loads(line) for line in found] == [BAD[1], BAD[3]]


def test_of_a_file_without_problems_there_are_none_to_download(as_alice):
    post_bad(as_alice, BAD[::2])
    assert as_alice.get(f"{Upload.objects.get().get_absolute_url()}bad-items/").status_code == 404


def test_rows_of_a_table_that_are_no_items_are_left_out_alike(as_alice):
    table = "id;text\n1;replace the pump\n2;\n3;left it\n4;check the oil;no\n"
    post(as_alice, table.encode(), "orders.csv", kind="rich")
    assert Upload.objects.get().found.bad_items == 2
    decide(as_alice, bad="drop")
    store(as_alice)
    assert originals() == ["replace the pump", "left it"]


def test_a_file_that_breaks_off_is_not_stored_in_part(as_alice):
    post(as_alice, json.dumps(BAD[::2]).encode()[:-5], "orders.json", kind="rich")
    assert decide(as_alice, bad="drop").state == "refused"
    as_alice.post(f"{Upload.objects.get().get_absolute_url()}store/")
    assert not Dataset.objects.exists()


def test_only_bad_items_leave_nothing_to_store(as_alice):
    post_bad(as_alice, BAD[1::2])
    assert decide(as_alice, bad="drop").state == "refused"


def test_the_command_takes_all_or_nothing(alice, tmp_path):
    (tmp_path / "orders.json").write_text(json.dumps(BAD))
    code, out, errors = run(tmp_path / "orders.json", kind="rich")
    assert (code, out) == (1, []) and "item 2" in errors and "item 4" in errors
    assert not Dataset.objects.exists() and not Upload.unfinished_of(alice).exists()


def test_it_is_checked_again_by_itself_when_the_ontology_has_changed(as_alice, alice):
    labels = factories.ontology(owner=alice)
    marked = [{"original": "seal", "tokens": ["seal"], "entities": [{"start": 0, "end": 0, "label": "Seal"}]}]
    post(as_alice, json.dumps(marked).encode(), "a.json", kind="preannotated_entity", entity_ontology=labels.pk)
    assert Upload.objects.get().state == "refused"
    labels.add_items(from_fullnames(["Seal"]), by=alice)
    assert "Everything is in order" in shown(as_alice)
    assert Upload.objects.get().state == "checked"
    assert store(as_alice).dataset.kind == DatasetKind.PREANNOTATED_ENTITY


def test_nothing_is_checked_again_while_nothing_changes(as_alice, alice, monkeypatch):
    labels = factories.ontology(owner=alice)
    marked = [{"original": "oil", "tokens": ["oil"], "entities": [{"start": 0, "end": 0, "label": "Oil"}]}]
    post(as_alice, json.dumps(marked).encode(), "a.json", kind="preannotated_entity", entity_ontology=labels.pk)
    monkeypatch.setattr(Upload, "examine", lambda *_: pytest.fail("It was checked again."))
    assert "1 problem has to be solved first" in shown(as_alice)


def test_a_rich_dataset_downloaded_as_csv_comes_in_again(as_alice, alice):
    dataset = stored(alice, DatasetKind.RICH, BAD[::2])
    text = as_alice.post(f"/datasets/{dataset.pk}/export/", {"format": "csv"}).getvalue()
    Item.objects.all().delete()
    post(as_alice, text, "again.csv", kind="rich")
    store(as_alice)
    again = [(item.external_id, item.original, item.tokens) for item in Item.objects.order_by("pk")]
    assert again == [(each["external_id"], each["original"], each["tokens"]) for each in BAD[::2]]
