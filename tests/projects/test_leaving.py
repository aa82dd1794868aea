"""People who leave the organisation: their accounts end, and their names go from everywhere."""

import re

import pytest
from allauth.account.models import EmailAddress
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.core.mail import EmailMessage
from django.core.management import CommandError, call_command
from django.test import Client

from annotation_service.accounts import KeepingBackend
from annotation_service.inputs import Refused
from annotation_service.leaving import anonymise
from annotation_service.models import Job, JobState, Mail, User
from datasets.models import Annotation
from projects.models import Assignment, HandChange, Invitation
from tests import factories
from tests.people import PASSWORD, sign_in
from work.models import Comment

PEOPLE = "/admin/annotation_service/user/"


@pytest.fixture
def project(alice, carol, dave):
    return factories.project(by=alice, annotators=[carol, dave], annotators_per_item=1, text="a\nb\nc\nd\n")


def test_marks_stay_and_the_name_goes_from_every_page_and_the_bundle(as_alice, as_carol, as_sam, project, carol):
    item = project.items_for(carol).first()
    label = project.entity_ontology.items().first()
    Annotation.start(item, carol).add_entity(uid="12345678", label=label, start=0, end=0)
    Comment.begin(item, carol, by=carol, text="Why?")
    EmailAddress.objects.create(user=carol, email="other@example.org", verified=True)
    Invitation.make(project, role="observer", by=as_alice.user, address="OTHER@example.org")
    job = Job.objects.create(
        kind="by_hand", title="Give items", by=as_alice.user, state=JobState.RUNNING, target={"project": project.pk}
    )
    project.change_by_hand("give", project.all_items(), [carol], by=as_alice.user, job=job)
    as_sam.post(f"{PEOPLE}", {"action": "deactivate", "_selected_action": [carol.pk]})
    User.objects.filter(pk=carol.pk).update(is_active=True, first_name="Carol", last_name="Carolson")
    as_sam.post(f"{PEOPLE}", {"action": "anonymise", "_selected_action": [carol.pk]})
    as_sam.get("/")  # what was told about it
    name = f"Former annotator {carol.pk}"
    person = User.objects.get(pk=carol.pk)
    assert (str(person), person.email, person.is_active) == (name, "", False)
    assert as_carol.get("/").status_code == 204  # and where to sign in
    base = f"/projects/{project.pk}/"
    places = [
        base,
        f"{base}people/",
        f"{base}items/",
        f"/jobs/{job.pk}/",
        f"{base}comments/",
        f"{base}read/{carol.pk}/{item.pk}/",
        f"{base}violations/",
    ]
    seen = "".join(as_alice.get(place).text for place in places)
    seen += "".join(as_sam.get(place).text for place in (PEOPLE, f"{PEOPLE}{carol.pk}/history/", "/admin/"))
    assert name in seen and "carol" not in seen.lower()
    bundle = b"".join(as_alice.post(f"{base}download/").streaming_content)
    assert bundle and project.count_work(person) == {"begun": 1, "marks": 1}
    assert not EmailAddress.objects.exists() and not Invitation.objects.exists()
    assert not project.membership_set.filter(user=carol).exists() and project.all_items().count() == 4
    assert sign_in(Client(), "carol").status_code == 200  # refused, on the page
    User.objects.create_user(
        "carol", "carol@example.org", PASSWORD
    )  # the name is free again, the other one is for nobody
    with pytest.raises(Exception, match="spaces"):
        User.objects.create_user("Former annotator 7", "", PASSWORD)


def test_the_only_manager_of_a_project_leaves_after_another_was_made(project, alice, carol):
    with pytest.raises(Refused, match="In “Pumps”: A project needs a manager"):
        anonymise(alice)
    assert User.objects.get(pk=alice.pk).username == "alice"
    project.change_role(project.membership_set.get(user=carol), "manager")
    anonymise(alice)
    with pytest.raises(Refused, match="anonymous already"):
        anonymise(alice)


@pytest.mark.parametrize(("away", "back"), [("archive", "restore"), ("put_into_bin", "take_out_of_bin")])
def test_people_leave_archived_and_binned_projects_too(project, alice, carol, dave, away, back):
    getattr(project, away)()
    with pytest.raises(Refused, match=r"In “Pumps” in the (archive|bin): A project needs a manager"):
        anonymise(alice)
    anonymise(carol)
    getattr(project, back)()
    assert not project.members().filter(user=carol).exists()
    assert {*Assignment.objects.values_list("annotator", flat=True)} == {dave.pk} and Assignment.objects.count() == 4


def test_who_cannot_sign_in_gets_no_items_until_they_can_again(as_sam, project, carol, dave):
    begun = project.items_for(carol).first()
    Annotation.start(begun, carol)

    def given():
        return [Assignment.objects.filter(annotator=each).count() for each in (carol, dave)]

    before = given()
    as_sam.post(PEOPLE, {"action": "deactivate", "_selected_action": [carol.pk]})
    assert not User.objects.get(pk=carol.pk).is_active and given()[1] == 4
    sent = {"username": "carol", "email": carol.email, "is_active": "on", "last_login_0": "", "last_login_1": ""}
    sent |= {"date_joined_0": "2026-01-01", "date_joined_1": "08:00:00"}
    assert as_sam.post(f"{PEOPLE}{carol.pk}/change/", sent).status_code == 302
    assert given() == before


def test_the_log_of_the_administration_keeps_neither_names_nor_addresses(as_sam, alice):
    zoe = factories.user("zoë")
    project = factories.project(by=alice, annotators=[zoe])
    old = EmailAddress.objects.create(user=zoe, email="old@example.org", verified=True)
    as_sam.post(f"/admin/account/emailaddress/{old.pk}/delete/", {"post": "yes"})
    member, manager = project.membership_set.get(user=zoe), project.membership_set.get(user=alice)
    data = {"name": "Pumps", "description": "", "guidelines": ""}
    data |= {"membership_set-TOTAL_FORMS": 2, "membership_set-INITIAL_FORMS": 2}
    for place, (each, role) in enumerate([(member, "reviewer"), (manager, "manager")]):
        values = {"id": each.pk, "project": project.pk, "user": each.user_id, "role": role}
        data |= {f"membership_set-{place}-{name}": value for name, value in values.items()}
    assert as_sam.post(f"/admin/projects/project/{project.pk}/change/", data).status_code == 302
    logged = [entry.get_change_message() + entry.object_repr for entry in LogEntry.objects.all()]
    assert "zoë" in str(logged) and "old@example.org" in str(logged)
    anonymise(zoe)
    logged = [entry.get_change_message() + entry.object_repr for entry in LogEntry.objects.all()]
    assert "zoë" not in str(logged) and "old@example.org" not in str(logged)
    assert f"Former annotator {zoe.pk}, reviewer of Pumps" in str(logged)


def test_mails_to_somebody_are_forgotten_however_the_address_was_written(carol, db):
    for address in ("Carol@Example.org", "other@example.org"):
        Mail.objects.create(to=address, subject="Mail", body="")
    anonymise(carol)
    assert Mail.objects.get().to == "other@example.org"


@pytest.mark.parametrize("name", ["in", "items", "your", "al", "e", "a.b"])
def test_whoever_is_called_as_a_word_takes_only_their_own_mails_and_messages_along(
    name, as_alice, project, settings, no_attempts_yet, capsys
):
    """Each mail that names somebody, to an address that they have no more, beside all that name others."""
    settings.EMAIL_BACKEND = "annotation_service.accounts.KeepingBackend"
    invite = f"/projects/{project.pk}/people/invitations/mail/"
    client = Client()
    for person in (factories.manager(name), factories.manager(f"{name}.and.{name}")):
        project.add_members([person], "manager")
        client.force_login(person)
        client.post(invite, {"addresses": f"{person}s-friend@example.org", "role": "observer"})
        client.post("/accounts/email/", {"action_add": "", "email": f"{person}s-second@example.org"})
        client.post("/accounts/password/reset/", {"email": person.email})
    as_alice.post(invite, {"addresses": "alices-friend@example.org", "role": "observer"})
    EmailAddress.objects.all().delete()
    Mail.objects.filter(to=f"{name}@example.org").update(to="former@example.org")
    gone = {"former@example.org", f"{name}s-friend@example.org", f"{name}s-second@example.org"}
    before = {*Mail.objects.values_list("to", flat=True)}
    assert len(before) == 7 and gone < before
    anonymise(User.objects.get(username=name))
    assert {*Mail.objects.values_list("to", flat=True)} == before - gone


@pytest.mark.parametrize(
    ("text", "goes"),
    [
        ("3 items given to in.", True),
        ("3 items given to in. Had already: 1.", True),
        ("Undone: 3 items given to carol, in and dave, counted for each of them. What was begun has stayed.", True),
        ("3 items taken from dave and in, counted for each of them. Kept, because begun: 2.", True),
        ("3 items given to in.it. Deleted: 3 marks that others had put in all alike.", False),
        ("3 items taken from sin, dave and inn. Kept, in, because begun: 2.", False),
    ],
)
def test_only_messages_that_name_somebody_are_forgotten(text, goes, project):
    HandChange.objects.create(project=project, text=text, before={})
    Job.objects.create(kind="by_hand", title="Give", by=project.created_by, state=JobState.DONE, result={"text": text})
    anonymise(factories.user("in"))
    assert HandChange.objects.exists() is not goes
    assert ("text" in Job.objects.get().result) is not goes


def test_the_command_deactivates_and_anonymises(carol, as_carol, capsys):
    call_command("deactivate", "CAROL")
    assert as_carol.get("/").status_code == 204 and User.objects.get(pk=carol.pk).username == "carol"
    call_command("deactivate", "carol", anonymise=True)
    assert User.objects.get(pk=carol.pk).username == f"Former annotator {carol.pk}"
    for wrong in ("nobody", ""):
        with pytest.raises((SystemExit, CommandError)):
            call_command("deactivate", wrong)


def test_without_a_mail_server_mails_are_kept_for_superusers(as_alice, as_sam, settings, project, capsys):
    settings.EMAIL_BACKEND = "annotation_service.accounts.KeepingBackend"
    as_alice.post(
        f"/projects/{project.pk}/people/invitations/mail/", {"addresses": "nina@example.org", "role": "observer"}
    )
    assert "alice invites you to the project “Pumps”" in capsys.readouterr().out
    mails = "/admin/annotation_service/mail/"
    listed = as_sam.get(mails).text
    assert "nina@example.org" in listed and re.search(r'<time [^>]*title="[^"]* UTC">just now</time>', listed)
    page = as_sam.get(f"{mails}{Mail.objects.get().pk}/change/").text
    assert '<a href="http://testserver/projects/invitations/' in page
    tom = factories.user("tom", is_staff=True)
    tom.user_permissions.set(Permission.objects.all())
    as_tom = Client()
    as_tom.force_login(tom)
    for client in (as_tom, as_alice):
        for address in (mails, f"{mails}{Mail.objects.get().pk}/change/", f"{mails}{Mail.objects.get().pk}/history/"):
            assert client.get(address).status_code in (302, 403)


def test_only_the_newest_mails_are_kept(db, monkeypatch, capsys):
    monkeypatch.setattr("annotation_service.accounts.KeepingBackend.KEPT", 2)
    for number in range(4):
        KeepingBackend().send_messages([EmailMessage(f"Mail {number}", "", to=["a@example.org"])])
    assert [*Mail.objects.order_by("pk").values_list("subject", flat=True)] == ["Mail 2", "Mail 3"]
