"""The page of a job, its progress, its file and the button that cancels it are for those who have the right now."""

import pytest
from django.contrib.auth.models import Group

from annotation_service import jobs
from annotation_service.jobs import KINDS
from annotation_service.models import Job, JobState, start_job
from projects.assignment.rule import AssignmentRule
from projects.models import HandChange, Project
from tests import factories
from tests.test_access import READ_AS

OWN = ("duplicate", "create_project", "duplicate_project", "check_upload", "store_upload", "import_bundle")
OF_A_PROJECT = (
    "bundle",
    "export_work",
    "assign",
    "by_hand",
    "undo_by_hand",
    "match_preannotations",
    "withdraw_suggestions",
    "take_over",
    "gold_dataset",
    "agreement",
    "count_graph",
    "export_graph",
    "check_upload of its dataset",
    "store_upload of its dataset",
)
OF_ANNOTATORS = ("store_batch", "undo_batch")
OF_READERS = ("export_dataset of a blueprint", "export_dataset of its dataset")


@pytest.fixture
def project(alice, bob):
    project = factories.project(by=alice)
    project.add_members([bob], "manager")
    return project


@pytest.fixture
def start(project, settings):
    """Starts a job of a kind, as somebody, and finishes it with a file, whether such jobs have one or not."""

    def start(name, by):
        kind, _, of_project = name.partition(" of ")
        target = {"project": project.pk}
        if kind == "export_dataset":
            target = {"dataset": (project.dataset if "its" in of_project else factories.dataset(owner=by)).pk}
        if kind.endswith("_upload"):
            dataset = project.dataset if of_project else None
            target = {"upload": factories.upload("x\n", by=by, options=READ_AS, dataset=dataset).pk}
        job = start_job(kind, title="t", by=by, target=target)
        settings.UPLOAD_DIR.mkdir(exist_ok=True)
        (settings.UPLOAD_DIR / "made").write_text("made")
        Job.objects.filter(pk=job.pk).update(state=JobState.DONE, result={"file": "made", "name": "made.zip"})
        return job

    return start


def answers(client, job):
    reads = [client.get(f"/jobs/{job.pk}/{page}") for page in ("", "progress/", "file/")]
    found = {each.status_code for each in (*reads, client.post(f"/jobs/{job.pk}/cancel/"))}
    assert all(b"made" not in each.getvalue() for each in reads) or found == {200, 302}
    return found


# A script that asks without a session is told in the 204 where to sign in.
ALL, SIGN_IN, FORBIDDEN, UNKNOWN = {200, 302}, {204}, {403}, {404}


def remove(project, person):
    project.remove_member(project.membership_set.get(user=person))


def demote(project, person):
    project.membership_set.filter(user=person).update(role="annotator")


def delete(project, person):
    project.erase()


def deactivate(project, person):
    person.is_active = False
    person.save()


def leave_the_group(project, person):
    person.groups.remove(Group.objects.get(name="Project managers"))


def test_every_kind_is_looked_at():
    assert {name.partition(" of ")[0] for name in OWN + OF_A_PROJECT + OF_ANNOTATORS + OF_READERS} == set(KINDS)


@pytest.mark.parametrize("name", OF_A_PROJECT)
@pytest.mark.parametrize(
    ("loss", "expected"), [(remove, UNKNOWN), (demote, FORBIDDEN), (delete, UNKNOWN), (deactivate, SIGN_IN)]
)
def test_who_lost_the_right_to_manage_gets_nothing_of_the_jobs_that_they_started(
    start, project, alice, as_alice, name, loss, expected
):
    job = start(name, by=alice)
    assert answers(as_alice, job) == ALL
    loss(project, alice)
    assert answers(as_alice, job) == expected


@pytest.mark.parametrize("name", OF_A_PROJECT)
def test_staff_get_it_while_they_are_staff(start, sam, as_sam, name):
    job = start(name, by=sam)
    assert answers(as_sam, job) == ALL
    sam.is_staff = sam.is_superuser = False
    sam.save()
    assert answers(as_sam, job) == UNKNOWN


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize(("loss", "expected"), [(deactivate, SIGN_IN), (leave_the_group, FORBIDDEN)])
def test_who_makes_no_blueprints_any_more_gets_nothing_of_their_jobs(
    start, project, alice, as_alice, as_bob, name, loss, expected
):
    job = start(name, by=alice)
    assert (answers(as_alice, job), answers(as_bob, job)) == (ALL, UNKNOWN)
    loss(project, alice)
    assert answers(as_alice, job) == expected


@pytest.mark.parametrize("name", OF_ANNOTATORS)
@pytest.mark.parametrize(("loss", "expected"), [(remove, UNKNOWN), (delete, UNKNOWN), (deactivate, SIGN_IN)])
def test_who_annotates_there_no_more_gets_nothing_of_their_batches(
    start, project, carol, as_carol, as_bob, name, loss, expected
):
    project.add_members([carol], "annotator")
    job = start(name, by=carol)
    assert (answers(as_carol, job), answers(as_bob, job)) == (ALL, UNKNOWN)
    loss(project, carol)
    assert answers(as_carol, job) == expected


@pytest.mark.parametrize(
    ("name", "loss", "expected"),
    [
        ("export_dataset of a blueprint", leave_the_group, UNKNOWN),
        ("export_dataset of a blueprint", deactivate, SIGN_IN),
        ("export_dataset of its dataset", demote, FORBIDDEN),
        ("export_dataset of its dataset", remove, UNKNOWN),
        ("export_dataset of its dataset", delete, UNKNOWN),
        ("export_dataset of its dataset", deactivate, SIGN_IN),
    ],
)
def test_who_may_not_read_a_dataset_any_more_gets_nothing_of_its_export(
    start, project, alice, as_alice, as_bob, name, loss, expected
):
    """Bob may read it, too, but has exports of his own."""
    job = start(name, by=alice)
    assert (answers(as_alice, job), answers(as_bob, job)) == (ALL, UNKNOWN)
    loss(project, alice)
    assert answers(as_alice, job) == expected


def run_without_right(kind, by, project, loss, **target):
    start_job(kind, title="t", by=by, target={"project": project.pk, **target})
    loss(project, by)
    jobs.run(jobs.claim())
    return Job.objects.get().errors["problems"][0][1]


@pytest.mark.parametrize("loss", [demote, deactivate])
def test_a_rule_is_not_changed_for_somebody_who_manages_no_more(project, alice, loss):
    reason = run_without_right("assign", alice, project, loss, rule=AssignmentRule(1).values)
    assert "do not manage the project" in reason
    project.refresh_from_db()
    assert project.rule == AssignmentRule()


@pytest.mark.parametrize("loss", [demote, deactivate])
@pytest.mark.parametrize("kind", ["assign", "by_hand", "undo_by_hand"])
def test_nothing_changes_hands_for_somebody_who_stops_managing_at_the_last_moment(
    project, alice, bob, carol, monkeypatch, loss, kind
):
    project.add_members([carol])
    project.change_by_hand("take", project.all_items().filter(position=0), [carol], by=bob)
    before = [project.rule, *project.items_for(carol)]
    wishes = {
        "assign": {"rule": AssignmentRule(1).values},
        "by_hand": {"verb": "give", "filter": "", "count": 3, "people": [carol.pk]},
        "undo_by_hand": {"change": HandChange.objects.get().pk},
    }
    lock = Project.locked

    def lose_and_lock(waiting):
        loss(project, alice)
        return lock(waiting)

    monkeypatch.setattr(Project, "locked", lose_and_lock)
    reason = run_without_right(kind, alice, project, lambda *_: None, **wishes[kind])
    assert "do not manage the project" in reason
    project.refresh_from_db()
    assert [project.rule, *project.items_for(carol)] == before


@pytest.mark.parametrize("loss", [leave_the_group, deactivate])
@pytest.mark.parametrize(
    ("kind", "wishes"),
    [("duplicate_project", {"people": False, "contents": "nothing"}), ("create_project", {"annotators": []})],
)
def test_no_project_is_made_for_somebody_who_makes_none_any_more(project, alice, loss, kind, wishes):
    assert run_without_right(kind, alice, project, loss, name="Copy", **wishes).startswith("Only project managers")
    assert not Project.objects.filter(name="Copy")
