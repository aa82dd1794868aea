"""Invitations by mail and by link: what they are good for, and what ends them."""

import re
from datetime import timedelta

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.test import Client
from django.utils import timezone

from annotation_service.inputs import Refused
from annotation_service.leaving import anonymise
from annotation_service.models import User
from datasets.models import Annotation
from projects.models import Assignment, Invitation, Project
from tests import factories
from tests.answers import text_of
from tests.people import PASSWORD
from tests.queries import queries_of

NEW = {"username": "nina", "password1": PASSWORD, "password2": PASSWORD, "accept": "1"}


pytestmark = pytest.mark.usefixtures("no_attempts_yet")


@pytest.fixture
def project(alice, carol):
    return factories.project(by=alice, annotators=[carol], annotators_per_item=1, text="a\nb\nc\nd\n")


@pytest.fixture
def invite(as_alice, project):
    """Invites an address and returns the link of the mail, or without one makes a link."""

    def invite(address="", role="annotator"):
        base = f"/projects/{project.pk}/people/invitations/"
        if address:
            assert as_alice.post(f"{base}mail/", {"addresses": address, "role": role}).status_code == 200
            return re.search(r"http://testserver(/\S+)", mail.outbox[-1].body)[1]
        page = as_alice.post(f"{base}link/", {"role": role}).text
        return re.search(r'data-copy="http://testserver(/[^"]+)"', page)[1]

    return invite


def role_of(project, name):
    return project.membership_set.filter(user__username=name).values_list("role", flat=True).first()


def test_an_account_is_made_by_an_invitation_and_its_address_is_confirmed_by_it(client, invite, project):
    link = invite("Nina@example.org", "reviewer")
    (sent,) = mail.outbox
    assert sent.to == ["Nina@example.org"] and sent.subject == "Annotation Service: invitation to “Pumps”"
    assert "alice invites you" in sent.body and "as reviewer" in sent.body and "within 14 days" in sent.body
    page = text_of(client.get(link))
    assert "alice invites you to this project, as reviewer" in page and "for Nina@example.org" in page
    answer = client.post(link, {**NEW, "email": "other@example.org"})
    assert answer["Location"] == f"/projects/{project.pk}/" and client.get(answer["Location"]).status_code == 200
    nina = User.objects.get(username="nina")
    assert (nina.email, role_of(project, "nina")) == ("Nina@example.org", "reviewer")
    assert EmailAddress.objects.get(user=nina).verified and not nina.is_staff and not nina.groups.exists()
    assert client.get("/projects/new/").status_code == 403
    assert Client().post(link, {**NEW, "username": "second"}).status_code == 410


def test_whoever_has_an_account_accepts_or_declines_and_gets_no_items_before(client, invite, project, dave):
    link = invite("dave@example.org")
    assert set(Assignment.objects.values_list("annotator__username", flat=True)) == {"carol"}
    assert "There is an account with the address dave@example.org" in text_of(client.get(link))
    assert f"/accounts/login/?next={link}" in client.get(link).text
    client.force_login(dave)
    assert "You are signed in as dave" in text_of(client.get(link))
    assert client.post(link, {"decline": "1"})["Location"] == "/"
    assert client.get(link).status_code == 410 and role_of(project, "dave") is None
    client.post(again := invite("dave@example.org"), {"accept": "1"})
    assert role_of(project, "dave") == "annotator"
    assert Assignment.objects.filter(annotator=dave).count() == 2
    assert client.get(again).status_code == 410


def test_whoever_accepts_is_told_how_much_they_have_to_annotate(client, invite, project, as_dave, dave):
    def told(client, role):
        return text_of(client.get(client.post(invite(role=role), {"accept": "1"})["Location"]))

    assert "You are an annotator in it. You have 2 items to annotate." in told(as_dave, "annotator")
    Annotation.start(project.items_for(dave)[0], dave).finish()
    project.remove_member(project.membership_set.get(user=dave))
    assert "You have 1 item to annotate." in told(as_dave, "annotator")  # beside the one that is done
    project.dataset.remove(project.all_items(), by=project.created_by)
    client.post(invite(), {**NEW, "email": "nina@example.org"})
    assert "You have no items to annotate." in text_of(client.get("/"))
    client.force_login(factories.user("erin"))
    assert "You are an observer in it." in (page := told(client, "observer")) and "to annotate" not in page


def test_home_shows_invitations_to_ones_own_address_only(as_dave, as_carol, as_bob, invite, project, bob):
    for address in ("dave@example.org", "bob@example.org"):
        invite(address)
    # Bob has typed the address himself, and has not confirmed it.
    EmailAddress.objects.create(user=bob, email="bob@example.org", primary=True, verified=False)
    pk = Invitation.objects.get(address="dave@example.org").pk
    assert "alice invites you to the project Pumps , as annotator" in text_of(as_dave.get("/"))
    for other in (as_carol, as_bob):
        assert "invites you" not in text_of(other.get("/"))
        assert other.post(f"/projects/invitations/{pk}/answer/", {"accept": "1"}).status_code == 404
    EmailAddress.objects.filter(user=bob).update(verified=True)
    assert "invites you" in text_of(as_bob.get("/"))
    assert (
        as_dave.post(f"/projects/invitations/{pk}/answer/", {"accept": "1"})["Location"] == f"/projects/{project.pk}/"
    )
    assert role_of(project, "dave") == "annotator" and "invites you" not in text_of(as_dave.get("/"))


def test_an_invitation_is_still_shown_after_somebody_asked_for_a_new_password(as_dave, client, invite):
    invite("dave@example.org")
    client.post("/accounts/password/reset/", {"email": "dave@example.org"})
    as_dave.get("/accounts/email/")
    assert EmailAddress.objects.filter(email="dave@example.org", verified=False, primary=False).exists()
    assert "invites you" in text_of(as_dave.get("/"))


def test_an_address_of_another_domain_that_is_folded_alike_is_another_ones(as_dave, dave, invite):
    invite("x@strasse.de")
    EmailAddress.objects.create(user=dave, email="x@straße.de", verified=True)
    pk = Invitation.objects.get().pk
    assert "invites you" not in text_of(as_dave.get("/"))
    assert as_dave.post(f"/projects/invitations/{pk}/answer/", {"accept": "1"}).status_code == 404
    EmailAddress.objects.filter(user=dave).update(email="x@strasse.de")
    assert "invites you" in text_of(as_dave.get("/"))


def test_addresses_of_two_domains_that_are_folded_alike_are_invited_both(as_alice, project, dave):
    data = {"addresses": "x@straße.de, x@strasse.de, X@STRASSE.de", "role": "observer"}
    as_alice.post(f"/projects/{project.pk}/people/invitations/mail/", data)
    assert {*Invitation.objects.usable().values_list("address", flat=True)} == {"x@straße.de", "X@STRASSE.de"}
    assert len(mail.outbox) == 2
    EmailAddress.objects.create(user=dave, email="x@strasse.de", verified=True)
    anonymise(dave)
    assert Invitation.objects.get().address == "x@straße.de"


def test_a_link_is_good_for_many_until_it_is_revoked_and_tells_how_often(as_alice, invite, project):
    link = invite()
    for number in (1, 2):
        client = Client()
        data = {**NEW, "username": f"new{number}", "email": f"new{number}@example.org"}
        assert client.post(link, data).status_code == 302
        assert role_of(project, f"new{number}") == "annotator"
    assert not EmailAddress.objects.get(email="new1@example.org").verified
    page = text_of(as_alice.get(f"/projects/{project.pk}/people/"))
    assert "link used 2 times Annotator alice just now open, 14 days left" in page
    assert link.split("/")[-2] not in as_alice.get(f"/projects/{project.pk}/people/").text
    invitation = Invitation.objects.get()
    as_alice.post(f"/projects/{project.pk}/people/invitations/{invitation.pk}/revoke/")
    assert Client().get(link).status_code == 410 and role_of(project, "new1") == "annotator"


def expire(project, alice):
    Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))


def revoke(project, alice):
    Invitation.objects.get().revoke()


def demote(project, alice):
    project.add_members([factories.manager("zoe")], "manager")
    project.change_role(project.membership_set.get(user=alice), "annotator")


def remove(project, alice):
    project.add_members([factories.manager("zoe")], "manager")
    project.remove_member(project.membership_set.get(user=alice))


def deactivate(project, alice):
    User.objects.filter(pk=alice.pk).update(is_active=False)


def send_again(project, alice):
    Invitation.make(project, role="observer", by=alice, address="NINA@example.org")


def archive(project, alice):
    project.archive()


def put_into_bin(project, alice):
    project.put_into_bin()


@pytest.mark.parametrize("end", [demote, remove, deactivate])
def test_what_waits_for_the_rights_of_its_author_can_be_revoked(invite, project, alice, bob, as_bob, end):
    project.add_members([bob], "manager")
    invite("nina@example.org")
    end(project, alice)
    page = as_bob.get(f"/projects/{project.pk}/people/").text
    assert "ended with the rights of alice" in page and "Revoke the invitation nina@example.org" in page


@pytest.mark.parametrize("end", [archive, put_into_bin])
def test_of_a_project_that_rests_it_is_said_so(client, invite, project, alice, end):
    link = invite("nina@example.org")
    end(project, alice)
    assert "The project is not worked on at the moment." in text_of(client.get(link))


@pytest.mark.parametrize("end", [expire, revoke, demote, remove, deactivate, send_again, archive, put_into_bin])
def test_what_has_ended_lets_nobody_in(client, invite, project, alice, end):
    link = invite("nina@example.org")
    assert client.get(link).status_code == 200
    end(project, alice)
    for answer in (client.get(link), client.post(link, NEW)):
        assert answer.status_code == 410 and "cannot be used any more" in text_of(answer)
    assert not User.objects.filter(username="nina").exists()


def test_who_was_removed_does_not_come_back_by_an_old_link(invite, project, carol, as_carol):
    old = invite()
    project.remove_member(project.membership_set.get(user=carol))
    page = text_of(as_carol.get(as_carol.post(old, {"accept": "1"})["Location"]))
    assert "You have left this project since" in page and role_of(project, "carol") is None
    as_carol.post(invite(), {"accept": "1"})
    assert role_of(project, "carol") == "annotator"


def test_a_member_is_not_made_one_twice_and_keeps_the_role(invite, project, as_carol):
    page = text_of(as_carol.get(as_carol.post(invite(role="observer"), {"accept": "1"})["Location"]))
    assert "carol is a member of this project already" in page and role_of(project, "carol") == "annotator"
    assert Invitation.objects.get().uses == 0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"username": "CAROL"}, "already exists"),
        ({"username": "a b"}, "Enter a valid username"),
        ({"username": ""}, "This field is required"),
        ({"password1": "1234", "password2": "1234"}, "too short"),
        ({"password2": "another"}, "didn’t match"),
        ({"email": "carol@example.org"}, "already registered with this email address"),
    ],
)
def test_a_form_that_is_not_right_makes_neither_account_nor_member(client, invite, project, change, reason):
    before = User.objects.count()
    answer = client.post(invite(), {**NEW, **change})
    assert answer.status_code == 422 and reason in text_of(answer)
    assert User.objects.count() == before and Invitation.objects.get().uses == 0


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"addresses": "nobody"}, "“nobody” is no mail address"),
        ({"addresses": f"a@{'.'.join(['㌖' * 9] * 24)}.org"}, "is no mail address"),  # folded, it has 1,325 characters
        ({"addresses": ""}, "This field is required"),
        ({"addresses": " ".join(f"p{n}@example.org" for n in range(51))}, "At most 50 people"),
        ({"addresses": "a@example.org", "role": "owner"}, ""),
    ],
)
def test_wrong_addresses_and_roles_are_refused_and_nothing_is_sent(as_alice, project, data, reason):
    answer = as_alice.post(f"/projects/{project.pk}/people/invitations/mail/", {"role": "annotator", **data})
    assert answer.status_code == 422 and reason in text_of(answer)
    assert not mail.outbox and not Invitation.objects.exists()


def test_a_link_makes_nobody_a_manager_but_a_mail_may(as_alice, alice, client, invite, project):
    answer = as_alice.post(f"/projects/{project.pk}/people/invitations/link/", {"role": "manager"})
    assert answer.status_code == 422 and not Invitation.objects.exists()
    with pytest.raises(Refused, match="makes nobody a manager"):
        Invitation.make(project, role="manager", by=alice)
    client.post(invite("nina@example.org", "manager"), NEW)
    assert role_of(project, "nina") == "manager"


def test_the_token_is_not_stored_and_an_unknown_one_is_not_found(client, invite):
    token = invite().split("/")[-2]
    assert len(token) >= 43
    assert token not in str(list(Invitation.objects.values()))
    for other in (token[:-1], token.swapcase(), "x", "%00", "é" * 50):
        assert client.get(f"/projects/invitations/{other}/").status_code in (400, 404)


def test_mails_are_limited_for_each_address(as_alice, project):
    post = f"/projects/{project.pk}/people/invitations/mail/"
    for _ in range(5):
        assert as_alice.post(post, {"addresses": "nina@example.org", "role": "observer"}).status_code == 200
    assert as_alice.post(post, {"addresses": "Nina@Example.org", "role": "observer"}).status_code == 429
    assert len(mail.outbox) == 5


def test_several_are_invited_or_none_and_what_is_refused_counts_for_nobody(as_alice, alice, project, monkeypatch):
    monkeypatch.setattr("annotation_service.limits.MAX_OPEN_INVITATIONS", 2)
    old, _ = Invitation.make(project, role="observer", by=alice, address="a@example.org")

    def post(*names):
        data = {"addresses": ", ".join(f"{name}@example.org" for name in names), "role": "observer"}
        return as_alice.post(f"/projects/{project.pk}/people/invitations/mail/", data).status_code

    assert [post("a", "b", "c") for _ in range(6)] == [422] * 6
    assert Invitation.objects.usable().get() == old and not mail.outbox
    assert [post("b") for _ in range(5)] == [200] * 5
    assert [post("a", "b") for _ in range(5)] == [429] * 5  # for b
    assert post("a") == 200 and len(mail.outbox) == 6


def test_a_day_has_room_for_so_many_invitations(as_alice, project, settings):
    settings.ACCOUNT_RATE_LIMITS = {**settings.ACCOUNT_RATE_LIMITS, "invite": "3/d/key"}

    def post(*names):
        data = {"addresses": ", ".join(f"{name}@example.org" for name in names), "role": "observer"}
        return as_alice.post(f"/projects/{project.pk}/people/invitations/mail/", data).status_code

    assert [post("a", "b"), post("c", "d"), post("e"), post("f")] == [200, 429, 200, 429]


def test_a_link_revoked_while_somebody_accepts_it_stays_revoked(project, alice, dave, monkeypatch):
    link, _ = Invitation.make(project, role="observer", by=alice)
    add = Project.add_members

    def revoke_first(self, *args):
        link.revoke()
        add(self, *args)

    monkeypatch.setattr(Project, "add_members", revoke_first)
    link.accept(dave)
    link.refresh_from_db()
    assert (link.state, link.uses) == (Invitation.State.REVOKED, 1)


def test_no_more_wait_for_an_answer_than_may(as_alice, alice, project, monkeypatch):
    monkeypatch.setattr("annotation_service.limits.MAX_OPEN_INVITATIONS", 1)
    Invitation.make(project, role="observer", by=alice, address="a@example.org")
    Invitation.make(project, role="observer", by=alice, address="a@example.org")  # in its place
    with pytest.raises(Refused, match="1 invitations wait"):
        Invitation.make(project, role="observer", by=alice)


def test_a_project_is_deleted_with_its_invitations_and_former_members(invite, project, carol):
    invite("nina@example.org")
    project.remove_member(project.membership_set.get(user=carol))
    project.erase()
    assert not Invitation.objects.exists()


def test_a_member_who_follows_a_link_is_told_so_and_shown_the_way(invite, project, as_carol):
    page = as_carol.get(invite(role="observer"))
    assert "You are in it already, as annotator" in text_of(page) and "Accept" not in text_of(page)
    assert f'href="/projects/{project.pk}/"' in page.text


# --- Only for the address that was invited -----------------------------------------------------------------------------------


def people_page(client, project):
    return text_of(client.get(f"/projects/{project.pk}/people/"))


def answer(client, project, person, **how):
    address = f"/projects/{project.pk}/people/invitations/{Invitation.objects.get().pk}/answer/"
    return client.post(address, {"person": person.pk, **how})


@pytest.mark.parametrize("sent", [{}, {"x": "accept"}, {key: NEW[key] for key in NEW if key != "accept"}])
def test_nothing_is_accepted_but_by_saying_so(invite, project, as_dave, client, sent):
    for link in (invite("dave@example.org"), invite(), invite("nina@example.org")):
        for each in (as_dave, client):
            assert each.post(link, sent).status_code == 422
    pk = Invitation.objects.get(address="dave@example.org").pk
    assert as_dave.post(f"/projects/invitations/{pk}/answer/", sent)["Location"] == "/"
    assert role_of(project, "dave") is None and not User.objects.filter(username="nina").exists()
    assert not Invitation.objects.exclude(state="open").exists()


def test_whoever_has_a_mail_that_was_passed_on_asks_and_is_let_in(invite, project, as_dave, dave, as_alice, as_carol):
    EmailAddress.objects.create(user=dave, email="nina@example.org", verified=False)
    link = invite("Nina@example.org", "reviewer")
    page = text_of(as_dave.get(link))
    assert "for Nina@example.org , which is no confirmed address of your account" in page and "Ask to join" in page
    assert not Invitation.objects.get().accept(dave)
    for _ in range(2):
        assert as_dave.post(link, {"accept": "1"})["Location"] == "/"
    assert "as soon as alice or another of its managers has let you in" in text_of(as_dave.get("/"))
    assert role_of(project, "dave") is None and "You have asked" in text_of(as_dave.get(link))
    assert "dave asks to join by it, with another address" in people_page(as_alice, project)
    assert answer(as_carol, project, dave, confirm="1").status_code == 403
    assert answer(as_dave, project, dave, confirm="1").status_code == 404
    assert answer(as_alice, project, dave, confirm="1")["HX-Redirect"] == f"/projects/{project.pk}/people/"
    page = people_page(as_alice, project)
    assert "dave is now a member." in page and role_of(project, "dave") == "reviewer"
    assert Invitation.objects.get().state == "accepted" and as_carol.get(link).status_code == 410


def test_whoever_was_invited_accepts_although_somebody_else_has_asked(invite, project, as_dave, client, as_bob):
    link = invite("nina@example.org")
    as_dave.post(link, {"accept": "1"})
    page = text_of(as_bob.get(as_bob.post(link, {"accept": "1"})["Location"]))
    assert "Somebody else has asked with this invitation already" in page
    client.post(link, NEW)
    assert (role_of(project, "nina"), role_of(project, "dave")) == ("annotator", None)


def test_who_is_turned_down_stays_out_and_the_invitation_stays_open(invite, project, as_dave, dave, as_alice, client):
    link = invite("nina@example.org")
    as_dave.post(link, {"accept": "1"})
    assert "asks to join" not in text_of(answer(as_alice, project, dave, decline="1"))
    late = answer(as_alice, project, dave, confirm="1")
    assert late.status_code == 422 and "answered meanwhile" in late["HX-Trigger"] and role_of(project, "dave") is None
    assert client.post(link, NEW).status_code == 302 and role_of(project, "nina") == "annotator"


def test_another_one_than_was_shown_is_not_let_in(invite, project, as_dave, dave, as_bob, bob, as_alice):
    link = invite("nina@example.org")
    as_dave.post(link, {"accept": "1"})
    answer(as_alice, project, dave, decline="1")
    as_bob.post(link, {"accept": "1"})
    for person in (dave, project.created_by):
        assert answer(as_alice, project, person, confirm="1").status_code == 422
    assert role_of(project, "bob") is None


@pytest.mark.parametrize("end", [expire, revoke, demote, archive])
def test_who_has_asked_is_not_let_in_by_what_has_ended(invite, project, as_dave, dave, alice, bob, as_bob, end):
    project.add_members([bob], "manager")
    as_dave.post(invite("nina@example.org"), {"accept": "1"})
    end(project, alice)
    assert "asks to join" not in people_page(as_bob, project)
    assert answer(as_bob, project, dave, confirm="1").status_code in (403, 422) and role_of(project, "dave") is None


def test_a_request_is_forgotten_with_the_person(invite, project, as_dave, dave, as_alice):
    as_dave.post(invite("nina@example.org"), {"accept": "1"})
    anonymise(dave)
    assert Invitation.objects.get().asked_by is None and "asks to join" not in people_page(as_alice, project)


def test_the_list_of_invitations_takes_as_many_queries_however_many_ask(
    invite, project, as_dave, as_bob, as_alice, django_assert_num_queries
):
    as_dave.post(invite("a@example.org"), {"accept": "1"})
    address = f"/projects/{project.pk}/people/invitations/"
    few = queries_of(as_alice.get, address)
    as_bob.post(invite("b@example.org"), {"accept": "1"})
    with django_assert_num_queries(len(few)):
        as_alice.get(address)
