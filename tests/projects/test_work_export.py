"""The work in a project in the formats of other programs: whose marks are written, and what is told to be lost."""

import io
import json
import zipfile

import pytest
from django.core.management import call_command
from django.utils import timezone

from annotation_service import jobs
from annotation_service.models import Job
from datasets.exports import count_losses, formats_out
from datasets.formats import format_named
from datasets.models import Annotation, Dataset, Item, Mark
from projects.work_export import exports_of, file_name, folder
from tests import factories
from tests.answers import html
from tests.datasets import marked
from tests.queries import queries_of

FORMATS = [format.name for format in formats_out()]
ARCHIVES = [name for name in FORMATS if format_named(name).is_archive]
# The given marks of `marked.dataset`: of the nested ones the longer is written.
GIVEN = """replace\tO
engine\tB-PhysicalObject
oil\tI-PhysicalObject

thermostat\tB-PhysicalObject/SensingObject/Thermostat
broken\tO

check\tO
it\tO

"""
CAROLS = "replace\tB-Activity\nengine\tO\noil\tO\n\nthermostat\tO\nbroken\tB-State\n\n"
WITH_SUGGESTED = CAROLS.replace("thermostat\tO", "thermostat\tB-PhysicalObject")
DONE = CAROLS[: CAROLS.index("thermostat")]
GOLD = "thermostat\tO\nbroken\tB-State\n\n"


@pytest.fixture
def project(alice, carol, dave):
    """carol has begun two items and is done with the first, dave is done with the third. Gold is decided of the second."""
    project = factories.project(by=alice, of=marked.dataset(owner=alice), annotators=[carol, dave])
    first, second, third = project.dataset.items()

    def add(item, person, *marks, done=False):
        made = factories.annotation(item, person)
        for n, (label, start, status) in enumerate(marks):
            label = factories.item(project.entity_ontology, label)
            made.entity_set.create(uid=f"m{n}", label=label, start=start, end=start, status=status)
        if done:
            Annotation.objects.filter(pk=made.pk).update(done_at=timezone.now())

    accepted, suggested, rejected = Mark.Status.ACCEPTED, Mark.Status.SUGGESTED, Mark.Status.REJECTED
    add(first, carol, ("Activity", 0, accepted), ("State", 2, rejected), done=True)
    add(second, carol, ("State", 1, accepted), ("PhysicalObject", 0, suggested))
    add(third, dave, done=True)
    factories.gold(second, (factories.item(project.entity_ontology, "State"), 1, 1)).finish()
    factories.gold(third)  # which is not decided
    return project


def url(project):
    return f"/projects/{project.pk}/export/"


def sent(client, project, whose, format="conll", **more):
    response = client.post(url(project), {"format": format, "whose": whose, **more})
    assert response.status_code == 200, html(response)
    return response.getvalue()


def text(*args, **fields):
    return sent(*args, **fields).decode()


def told(client, project, whose, format="conll", **more):
    """The losses that the dialog lists."""
    page = html(client.get(url(project), {"format": format, "whose": whose, **more}))
    if "Nothing of these items and marks is lost." in page:
        return []
    found = page[page.index("What is lost") :]
    return [each.partition("</li>")[0] for each in found[: found.index("</ul>")].split("<li>")[1:]]


def files_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def by_command(project, path, *options):
    errors = io.StringIO()
    call_command("export", "project", str(project.pk), "--output", str(path), *options, stderr=errors)
    return path.read_bytes(), errors.getvalue().splitlines()


# --- Whose marks ---


def test_everybody_is_offered_whose_marks_there_are(as_alice, project):
    page = html(as_alice.get(url(project)))
    for value in ("all", "given", "gold", "@carol", "@dave"):
        assert f'value="{value}"' in page
    assert 'value="@alice"' not in page


def test_gold_is_offered_only_where_something_is_decided(as_alice, alice):
    project = factories.project(by=alice)
    page = html(as_alice.get(url(project)))
    assert 'value="given"' in page and 'value="gold"' not in page
    assert as_alice.post(url(project), {"format": "conll", "whose": "gold"}).status_code == 422


def test_what_came_with_the_dataset(as_alice, project):
    assert text(as_alice, project, "given") == GIVEN


def test_what_was_decided(as_alice, project):
    assert text(as_alice, project, "gold") == GOLD


def test_what_a_person_has_begun(as_alice, project):
    assert text(as_alice, project, "@carol") == CAROLS
    assert text(as_alice, project, "@dave") == "check\tO\nit\tO\n\n"


def test_only_what_a_person_is_done_with(as_alice, project):
    assert text(as_alice, project, "@carol", done="on") == DONE


def test_suggestions_only_if_they_are_wanted_and_rejected_marks_never(as_alice, project):
    assert text(as_alice, project, "@carol", suggested="on") == WITH_SUGGESTED
    assert text(as_alice, project, "@carol", suggested="on", done="on") == DONE


@pytest.mark.parametrize("whose", ["@alice", "@nobody", "carol", "x", ""])
def test_nobody_else_has_marks(as_alice, project, whose):
    response = as_alice.post(url(project), {"format": "conll", "whose": whose})
    assert response.status_code == 422


def test_of_everybody_there_is_a_file_for_each(as_alice, project):
    files = files_of(sent(as_alice, project, "all"))
    manifest = json.loads(files.pop("manifest.json"))
    assert files == {"carol.conll": CAROLS, "dave.conll": "check\tO\nit\tO\n\n"}
    assert [(each["marks_of"], each["items"], each["entities"]) for each in manifest["contents"]] == [
        ("carol", 2, 2),
        ("dave", 1, 0),
    ]


@pytest.mark.parametrize("format", ARCHIVES)
def test_of_a_format_with_many_files_each_person_has_a_folder(as_alice, project, format):
    files = files_of(sent(as_alice, project, "all", format))
    assert {name.partition("/")[0] for name in files} == {"carol", "dave", "manifest.json"}
    alone = files_of(sent(as_alice, project, "@carol", format))
    assert {name.removeprefix("carol/") for name in files if name.startswith("carol/")} == alone.keys() - {
        "manifest.json"
    }


def test_where_nobody_has_begun_there_is_nothing_of_everybody(as_alice, alice, tmp_path):
    project = factories.project(by=alice)
    assert "Nobody has begun an item yet" in html(as_alice.get(url(project), {"format": "conll", "whose": "all"}))
    response = as_alice.post(url(project), {"format": "conll", "whose": "all"})
    assert response.status_code == 422 and "Nobody has begun an item yet" in html(response)
    with pytest.raises(SystemExit):
        by_command(project, tmp_path / "file", "--format", "conll")
    assert not (tmp_path / "file").exists()


def test_items_in_the_bin_are_not_written(as_alice, alice, project):
    project.dataset.remove(project.dataset.items().filter(position=0), by=alice)
    assert text(as_alice, project, "given") == GIVEN[GIVEN.index("thermostat") :]
    assert text(as_alice, project, "@carol") == GOLD


def test_of_an_archived_project_it_is_all_written_still(as_alice, project):
    project.archive()
    assert text(as_alice, project, "@carol") == CAROLS


def test_who_does_not_keep_the_project_gets_nothing(as_carol, as_bob, project):
    for whose in ("all", "given", "@carol"):
        data = {"format": "conll", "whose": whose}
        assert [each.post(url(project), data).status_code for each in (as_carol, as_bob)] == [403, 404]


# --- What is lost ---


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("whose", ["given", "gold", "@carol", "all"])
def test_losses_are_the_same_before_in_the_manifest_and_by_the_command(as_alice, project, tmp_path, format, whose):
    losses = told(as_alice, project, whose, format, suggested="on")
    content = sent(as_alice, project, whose, format, suggested="on")
    assert content
    if format in ARCHIVES or whose == "all":
        contents = json.loads(files_of(content)["manifest.json"])["contents"]
        assert [each["marks_of"] for each in contents] == (["carol", "dave"] if whose == "all" else [None])
        start = {each["marks_of"]: f"{each['marks_of']}: " if whose == "all" else "" for each in contents}
        assert [start[each["marks_of"]] + loss for each in contents for loss in each["losses"]] == losses
    options = ["--format", format, "--whose", whose, "--suggested"]
    written, errors = by_command(project, tmp_path / "file", *options)
    assert errors == [f"{loss}." for loss in losses]
    if format not in ARCHIVES and whose != "all":
        assert written == content


def test_losses_are_those_counted_by_hand(as_alice, project):
    assert told(as_alice, project, "given") == [
        "3 of 3 items are written without external id",
        "1 of 3 entities is nested or overlapping and left out",
        "1 of 1 relation is left out: there is no place for relations",
    ]
    assert told(as_alice, project, "@carol") == ["2 of 2 items are written without external id"]
    assert told(as_alice, project, "gold") == ["1 of 1 item is written without external id"]
    assert told(as_alice, project, "@carol", "csv", suggested="on") == [
        "1 of 3 entities is suggested and written like the others"
    ]
    assert told(as_alice, project, "all", "csv", suggested="on") == [
        "carol: 1 of 3 entities is suggested and written like the others"
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [(["--whose", "given"], GIVEN), (["--whose", "gold"], GOLD), (["--whose", "@carol"], CAROLS),
     (["--whose", "@carol", "--done"], DONE), (["--whose", "@carol", "--suggested"], WITH_SUGGESTED)],
)  # fmt: skip
def test_the_command_writes_the_same(project, tmp_path, options, expected):
    assert by_command(project, tmp_path / "file", "--format", "conll", *options)[0].decode() == expected


@pytest.mark.parametrize("options", [["--whose", "@nobody"], ["--whose", "x"], ["--whose", "@alice"]])
def test_the_command_refuses_whose_marks_there_are_not(project, tmp_path, options):
    with pytest.raises(SystemExit) as exit:
        by_command(project, tmp_path / "file", "--format", "conll", *options)
    assert exit.value.code == 1 and not (tmp_path / "file").exists()


# --- Jobs, names, queries ---


@pytest.mark.parametrize("whose", ["@carol", "all"])
def test_a_large_one_goes_through_a_job_that_tells_what_is_lost(as_alice, project, settings, whose):
    small = sent(as_alice, project, whose)
    settings.JOB_ROWS = 2
    page = html(as_alice.get(url(project), {"format": "conll", "whose": whose}))
    assert "a job does it" in page and "What is lost" not in page
    response = as_alice.post(url(project), {"format": "conll", "whose": whose})
    job = Job.objects.get()
    assert (response.status_code, response["Location"]) == (302, f"/jobs/{job.pk}/")
    jobs.run(jobs.claim())
    job.refresh_from_db()
    lost = "2 of 2 items are written without external id"
    ids = {"@carol": lost, "all": f"carol: {lost}; dave: 1 of 1 item is written without external id"}
    assert job.result["text"] == ids[whose]
    content = as_alice.get(f"/jobs/{job.pk}/file/").getvalue()
    if whose == "all":
        assert files_of(content).keys() == files_of(small).keys()
    else:
        assert content == small


def test_a_job_whose_person_has_no_marks_any_more_says_so(as_alice, project, settings):
    settings.JOB_ROWS = 2
    as_alice.post(url(project), {"format": "conll", "whose": "@dave"})
    Annotation.objects.filter(annotator__username="dave").delete()
    jobs.run(jobs.claim())
    assert Job.objects.get().state == "failed" and not Job.objects.get().result.get("file")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("anna", "anna"), ("../x", "%2E%2E%2Fx"), ("a/b", "a%2Fb"), ("a\\b", "a%5Cb"), ("..", "%2E%2E"), (".hidden", "%2Ehidden"),
     ("a.b@c+d-e_f", "a.b@c+d-e_f"), ("C:x", "C%3Ax"), ("a%2Fb", "a%252Fb"), ("a\0\nb", "a%00%0Ab"), ("Žluť", "Žluť")],
)  # fmt: skip
def test_the_name_of_a_user_is_safe_as_that_of_a_file(name, expected):
    assert folder(name) == expected


@pytest.mark.parametrize("name", ["..", ".hidden", "a.b@c+d", "../x", "con/../../etc"])
def test_no_file_leaves_its_folder_whatever_people_are_called(as_alice, project, name):
    project.add_members([person := factories.user(name)])
    factories.annotation(project.dataset.items()[2], person)
    for format in ("conll", "brat"):
        paths = files_of(sent(as_alice, project, "all", format))
        assert [path for path in paths if path.startswith(folder(name))]
        for path in paths:
            assert not path.startswith("/") and ".." not in path.split("/") and "\\" not in path
            assert path.count("/") <= (format == "brat")
    response = as_alice.post(url(project), {"format": "conll", "whose": f"@{name}"})
    assert response.status_code == 200 and response.getvalue().decode() == "check\tO\nit\tO\n\n"
    assert not {"/", "\\"} & {*response["Content-Disposition"]}


def test_a_file_is_named_after_the_project_and_whose_marks_it_has(project):
    def named(whose, format="conll"):
        return file_name(project, {"format": format, "whose": whose})

    assert named("@carol") == "pumps-carol.conll"
    assert named("all") == "pumps-all.zip"
    assert named("gold", "brat") == "pumps-brat-gold.zip"
    assert named("@a.b") == "pumps-a.b.conll"


@pytest.mark.parametrize("whose", ["given", "gold", "@carol", "all"])
def test_more_items_ask_no_more_of_the_database(project, carol, whose):
    dataset = Dataset.objects.get(pk=project.dataset.pk)

    def work():
        chosen = {"whose": whose, "done": False, "suggested": True}
        for _, export in exports_of(project, chosen):
            count_losses(format_named("conll"), export)

    work()  # so that the labels are known
    few, label = len(queries_of(work)), factories.item(project.entity_ontology, "State")
    for position in range(10, 60):
        item = Item.objects.create(
            dataset=dataset, position=position, original="x", tokens=["x"], token_count=1, search_text="x", offsets=[[0, 1]]
        )  # fmt: skip
        factories.annotation(item, carol).entity_set.create(uid="a", label=label, start=0, end=0, status="accepted")
        factories.gold(item, (label, 0, 0))
    assert len(queries_of(work)) == few


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (
            ["project", "{project}", "--whose", "@carol"],
            "--whose: This is for the work in a project, and for --format.",
        ),
        (["dataset", "{dataset}", "--format", "conll", "--done"], "--done: This is for"),
        (["ontology", "{ontology}", "--suggested"], "--suggested: This is for"),
        (
            ["project", "{project}", "--format", "conll", "--whose", "nobody"],
            "“nobody” has begun no item. Say all, given",
        ),
        (["project", "{project}", "--format", "conll", "--whose", "@nobody"], "“@nobody” has begun no item."),
    ],
)
def test_the_command_refuses_what_would_have_no_effect(project, capsys, words, why):
    keys = {"project": project.pk, "dataset": project.dataset.pk, "ontology": project.entity_ontology.pk}
    with pytest.raises(SystemExit):
        call_command("export", *(word.format(**keys) for word in words))
    written = capsys.readouterr()
    assert why in written.err and not written.out
