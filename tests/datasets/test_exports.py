"""Datasets in the formats of other programs, by the page and the command: what is in a file, and what is told to be lost."""

import io
import json
import zipfile

import pytest
from django.core.management import call_command

from annotation_service import jobs
from annotation_service.models import Job
from datasets import exports
from datasets.exports import Whose, count_losses, export_of, formats_out
from datasets.formats import format_named
from datasets.kinds import DatasetKind
from datasets.models import Dataset, Entity, Item, Mark, Relation
from tests import factories
from tests.answers import html
from tests.datasets.documents import stored
from tests.queries import queries_of

FORMATS = [format.name for format in formats_out()]
# The items have, beside each other, all that some formats have no place for: nested and overlapping entities, relations, extra
# fields, external ids, and tokens that are not in their original.
DOCUMENT = [
    {
        "original": "replace the engine oil now",
        "tokens": ["replace", "the", "engine", "oil", "now"],
        "external_id": "wo-1",
        "extra_fields": {"site": "north"},
        "entities": [
            {"id": "a", "start": 0, "end": 0, "label": "Activity/Replace"},
            {"id": "b", "start": 1, "end": 3, "label": "PhysicalObject"},
            {"id": "c", "start": 2, "end": 2, "label": "PhysicalObject/DrivingObject"},
            {"id": "d", "start": 3, "end": 4, "label": "State"},
        ],
        "relations": [
            {"source_id": "a", "target_id": "b", "label": "hasParticipant/hasPatient"},
            {"source_id": "b", "target_id": "c", "label": "hasPart"},
        ],
    },
    {
        "original": "something else",
        "tokens": ["pump", "leaks"],
        "entities": [{"id": "a", "start": 1, "end": 1, "label": "State"}],
        "relations": [],
    },
    {"original": "check it", "tokens": ["check", "it"], "external_id": "wo-3", "entities": [], "relations": []},
]
# Counted by hand.
LOST_BY_CONLL = ["2 of 3 items are written without external id",
                 "1 of 3 items is written without extra fields",
                 "1 of 3 items is written as their tokens, which are not in the original"]  # fmt: skip
LOST = {
    "brat": ["1 of 3 items is written without extra fields",
             "1 of 3 items is written as their tokens, which are not in the original",
             "1 of 3 items is given the name of a file as external id"],
    "conll": [*LOST_BY_CONLL,
              "2 of 5 entities are nested or overlapping and left out",
              "2 of 2 relations are left out: there is no place for relations"],
    "conll-layers": [*LOST_BY_CONLL, "2 of 2 relations are left out: there is no place for relations"],
    "csv": [],
    "tsv": [],
    "doccano": ["1 of 3 items is written as their tokens, which are not in the original"],
    "labelstudio": ["1 of 3 items is written as their tokens, which are not in the original"],
}  # fmt: skip
CONLL = """replace\tB-Activity/Replace
the\tB-PhysicalObject
engine\tI-PhysicalObject
oil\tI-PhysicalObject
now\tO

pump\tO
leaks\tB-State

check\tO
it\tO

"""


@pytest.fixture
def dataset(alice):
    dataset = stored(alice, DatasetKind.PREANNOTATED_RELATION, DOCUMENT)
    for model in (Entity, Relation):
        model.objects.update(status=Mark.Status.ACCEPTED)
    return dataset


def url(dataset):
    return f"/datasets/{dataset.pk}/export/"


def told(page):
    """The losses that a dialog lists."""
    if "Nothing of these items and marks is lost." in page:
        return []
    found = page[page.index("What is lost") :]
    return [each.partition("</li>")[0] for each in found[: found.index("</ul>")].split("<li>")[1:]]


def manifest(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return json.loads(archive.read("manifest.json"))


def by_command(what, pk, *options):
    out, errors = io.BytesIO(), io.StringIO()
    target = options[options.index("--output") + 1]
    call_command("export", what, str(pk), *options, stderr=errors)
    with open(target, "rb") as file:
        out.write(file.read())
    return out.getvalue(), errors.getvalue().splitlines()


def test_these_formats_go_out():
    assert {
        "brat",
        "casjson",
        "conll",
        "conll-layers",
        "csv",
        "doccano",
        "hf",
        "labelstudio",
        "spacy",
        "tsv",
        "xmi",
    } == {*FORMATS}


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_lost_is_told_before_in_the_file_and_by_the_command(as_alice, dataset, tmp_path, format):
    losses = told(html(as_alice.get(url(dataset), {"format": format})))
    assert losses == LOST.get(format, losses)
    content = as_alice.post(url(dataset), {"format": format}).getvalue()
    assert content
    if format_named(format).is_archive:
        [contents] = manifest(content)["contents"]
        assert contents == {"marks_of": None, "items": 3, "entities": 5, "relations": 2, "losses": losses}
    _, errors = by_command("dataset", dataset.pk, "--format", format, "--output", str(tmp_path / "file"))
    assert errors == [f"{loss}." for loss in losses]


@pytest.mark.parametrize("format", [name for name in FORMATS if not format_named(name).is_archive])
def test_the_command_writes_the_file_of_the_page(as_alice, dataset, tmp_path, format):
    content, _ = by_command("dataset", dataset.pk, "--format", format, "--output", str(tmp_path / "file"))
    assert content == as_alice.post(url(dataset), {"format": format}).getvalue()


@pytest.mark.parametrize("format", [name for name in FORMATS if format_named(name).is_archive])
def test_an_archive_has_the_same_files_from_the_command(as_alice, dataset, tmp_path, format):
    found = []
    for content in (
        by_command("dataset", dataset.pk, "--format", format, "--output", str(tmp_path / "file"))[0],
        as_alice.post(url(dataset), {"format": format}).getvalue(),
    ):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            found.append({name: archive.read(name) for name in archive.namelist() if name != "manifest.json"})
    assert found[0] == found[1] and found[0]


def test_a_conll_file_has_the_outer_entities_with_their_full_names(as_alice, dataset):
    assert as_alice.post(url(dataset), {"format": "conll"}).getvalue().decode() == CONLL


@pytest.mark.parametrize("format", [name for name in FORMATS if format_named(name).read])
def test_a_file_comes_back_with_all_but_what_the_page_said(as_alice, alice, dataset, format):
    """In words: the marks of the items, by their labels and the tokens that they are on."""
    content = as_alice.post(url(dataset), {"format": format}).getvalue()
    options = {"format": "zip" if format_named(format).is_archive else format}
    again = stored_again(alice, dataset, content, **options)
    lost_entities = 2 if format == "conll" else 0
    found = [words_of(item) for item in again.items()]
    wanted = [words_of(item) for item in dataset.items()]
    if lost_entities:
        wanted[0] = [each for each in wanted[0] if each[0] not in ("PhysicalObject/DrivingObject", "State")]
    bare = format in ("brat", "conll", "doccano", "hf", "spacy", "labelstudio", "casjson", "xmi")
    assert [names(each, bare=bare) for each in found] == [names(each, bare=bare) for each in wanted]
    relations = sorted(
        each.label.name for item in again.items() for a in item.annotation_set.all() for each in a.relation_set.all()
    )
    assert relations == ([] if format == "conll" else ["hasPart", "hasPatient"])


def stored_again(owner, dataset, content, **options):
    """A dataset of a file, with the same ontologies."""
    given = {f"{each.kind}_ontology": each.pk for each in dataset.given_ontologies()}
    options = {"kind": dataset.kind, "name": "Again", **given, **options}
    upload = factories.upload(content, by=owner, options=options)
    return upload.store()


def words_of(item):
    rows = [each for annotation in item.annotation_set.all() for each in annotation.entity_set.select_related("label")]
    return sorted((each.label.fullname, " ".join(item.tokens[each.start : each.end + 1])) for each in rows)


def names(marks, *, bare):
    return sorted((label.rpartition("/")[2], words) for label, words in marks) if bare else marks


@pytest.mark.parametrize("format", ["brat", "csv", "doccano", "hf", "spacy"])
def test_what_came_with_a_dataset_is_nobodys_suggestion(as_alice, dataset, format):
    Entity.objects.update(status=Mark.Status.SUGGESTED)
    losses = told(html(as_alice.get(url(dataset), {"format": format})))
    assert not [each for each in losses if "suggested" in each]


def test_a_standard_dataset_is_written_without_marks(as_alice, alice):
    dataset = factories.dataset(owner=alice)
    for format in FORMATS:
        assert as_alice.post(url(dataset), {"format": format}).getvalue()
    text = as_alice.post(url(dataset), {"format": "conll"}).getvalue().decode()
    assert text.startswith("replace\tO\nengine\tO\noil\tO\n\n")


@pytest.mark.parametrize("format", FORMATS)
def test_a_dataset_without_items_is_written_too(as_alice, dataset, format):
    dataset.remove(dataset.items(), by=as_alice.user)
    assert told(html(as_alice.get(url(dataset), {"format": format}))) == []
    assert as_alice.post(url(dataset), {"format": format}).status_code == 200


def test_what_is_in_the_bin_is_not_written(as_alice, dataset):
    dataset.remove(dataset.items().filter(position=0), by=as_alice.user)
    assert as_alice.post(url(dataset), {"format": "conll"}).getvalue().decode() == CONLL[CONLL.index("pump") :]


def test_a_format_that_is_none_is_refused_everywhere(as_alice, dataset, tmp_path, capsys):
    for format in ("x", "webanno", "text", ""):
        assert as_alice.post(url(dataset), {"format": format}).status_code == 422
    for format in ("x", "webanno"):
        with pytest.raises(SystemExit) as exit:
            by_command("dataset", dataset.pk, "--format", format, "--output", str(tmp_path / "file"))
        assert exit.value.code == 1 and not (tmp_path / "file").exists()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Work orders: März", "work-orders-märz"),
        ("../../x", "x"),
        ("a/b\\c", "abc"),
        ("...", "dataset"),
        ("“ ”", "dataset"),
    ],
)
def test_a_file_is_named_after_the_dataset(as_alice, dataset, name, expected):
    assert exports.export_name(format_named("conll"), name) == f"{expected}.conll"
    assert exports.export_name(format_named("brat"), name) == f"{expected}-brat.zip"


def test_the_names_of_files_differ_by_their_formats():
    """Of all formats that are written: one without an extension of its own has that of its like."""
    for format in formats_out():
        stem, dot, extension = exports.export_name(format, "Work").rpartition(".")
        assert stem.startswith("work") and dot and extension.isalnum(), format.name


def test_a_large_one_goes_through_a_job_that_tells_what_is_lost(as_alice, dataset, settings):
    settings.JOB_ROWS = 2
    page = html(as_alice.get(url(dataset), {"format": "conll"}))
    assert "a job does it, and says what is lost" in page and "What is lost" not in page
    response = as_alice.post(url(dataset), {"format": "conll"})
    job = Job.objects.get()
    assert (response.status_code, response["Location"]) == (302, f"/jobs/{job.pk}/")
    jobs.run(jobs.claim())
    job.refresh_from_db()
    assert job.result["text"] == "; ".join(LOST["conll"])
    response = as_alice.get(f"/jobs/{job.pk}/file/")
    assert response.getvalue().decode() == CONLL
    assert response["Content-Disposition"] == 'attachment; filename="work-orders.conll"'


def test_a_job_of_a_dataset_that_was_deleted_says_so(as_alice, dataset, settings):
    settings.JOB_ROWS = 2
    as_alice.post(url(dataset), {"format": "conll"})
    Dataset.objects.get(pk=dataset.pk).erase()
    jobs.run(jobs.claim())
    assert Job.objects.get().state == "failed"


@pytest.mark.parametrize("format", FORMATS)
def test_more_items_ask_no_more_of_the_database(alice, dataset, format):
    def work():
        count_losses(format_named(format), export_of(dataset, dataset.items(), Whose()))

    work()  # so that the labels are known
    few = len(queries_of(work))
    Item.objects.bulk_create(
        Item(
            dataset=dataset,
            position=position,
            original="x",
            tokens=["x"],
            token_count=1,
            search_text="x",
            offsets=[[0, 1]],
        )
        for position in range(10, 210)
    )
    assert len(queries_of(work)) == few


def test_all_formats_are_listed_by_the_command(capsys):
    call_command("formats")
    out = capsys.readouterr().out
    for format in formats_out():
        assert f"{format.name} " in out and format.loses in out
