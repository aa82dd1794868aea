import json
import logging
import re
import socket
import threading
from contextlib import suppress
from io import StringIO
from queue import Queue
from threading import Barrier, BrokenBarrierError, Event

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.hashers import make_password
from django.core import mail
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.test import Client

from annotation_service.accounts import AccountAdapter, MailBackend
from annotation_service.admin import PersonAdmin
from annotation_service.models import Mail, User, fold
from tests import factories
from tests.people import PASSWORD, sign_in
from tests.threads import for_each

PEOPLE = "/admin/annotation_service/user/"
PASSWORDS = {"password1": PASSWORD, "password2": PASSWORD}
NEW = {"username": "new", "email": "new@example.org", **PASSWORDS}
CHANGED = {"password1": "another-long-one", "password2": "another-long-one"}
CHANGE = {"date_joined_0": "2026-01-01", "date_joined_1": "10:00:00", "is_active": "on"}


pytestmark = pytest.mark.usefixtures("no_attempts_yet")


@pytest.mark.parametrize("login", ["carol", "carol@example.org", "CAROL@example.org"])
def test_people_sign_in_by_user_name_or_email(client, carol, login):
    assert sign_in(client, login)["Location"] == "/"
    assert client.get("/").status_code == 200


@pytest.mark.parametrize("login", ["carol", "carol@example.org", "nobody", "nobody@example.org"])
def test_a_wrong_password_is_refused_where_it_was_typed(client, carol, login):
    response = sign_in(client, login, "wrong")
    assert "The name, the address or the password is not correct." in response.text
    assert client.get("/").status_code == 302


def test_signing_out_needs_a_post_and_ends_the_session(client, carol):
    sign_in(client, "carol")
    key = client.session.session_key
    client.get("/accounts/logout/")
    assert client.get("/").status_code == 200
    client.post("/accounts/logout/")
    assert client.get("/").status_code == 302
    client.cookies["sessionid"] = key
    assert client.get("/").status_code == 302


def test_the_session_gets_a_new_key_at_sign_in(client, carol):
    session = client.session
    session["x"] = 1
    session.save()
    before = session.session_key
    client.cookies["sessionid"] = before
    sign_in(client, "carol")
    assert client.cookies["sessionid"].value != before


def test_nobody_can_register_unless_it_is_opened(client, settings, db):
    assert "Accounts are by invitation" in client.get("/accounts/signup/").text
    settings.OPEN_REGISTRATION = True
    client.post("/accounts/signup/", NEW)
    assert client.get("/").status_code == 200
    assert client.get("/ontologies/").status_code == 403
    (sent,) = mail.outbox
    assert sent.subject == "Annotation Service: confirm your e-mail address"
    assert "new has given this address" in sent.body and "/accounts/confirm-email/" in sent.body


def test_a_password_is_reset_by_mail(client, carol):
    client.post("/accounts/password/reset/", {"email": "carol@example.org"})
    link = re.search(r"http://[^/]+(/accounts/password/reset/key/\S+)", mail.outbox[0].body)[1]
    form = client.get(link, follow=True).request["PATH_INFO"]
    client.post(form, CHANGED)
    assert sign_in(client, "carol", PASSWORD).status_code == 200
    assert sign_in(client, "carol", "another-long-one").status_code == 302


def test_the_mail_for_a_reset_says_who_asked_and_how_long_its_link_lasts(client, carol, settings):
    settings.PASSWORD_RESET_TIMEOUT = 2 * 24 * 3600
    client.post("/accounts/password/reset/", {"email": "carol@example.org"}, REMOTE_ADDR="198.51.100.7")
    (sent,) = mail.outbox
    assert sent.subject == "Annotation Service: choose a new password"
    for said in ("Hello carol,", "account at testserver", "address 198.51.100.7", "within 2 days", "do nothing"):
        assert said in sent.body, said
    assert max(map(len, sent.body.replace(re.search(r"http\S+", sent.body)[0], "").splitlines())) < 80


def test_a_reset_does_not_wait_for_the_mail_server(client, carol, settings, monkeypatch):
    settings.EMAIL_BACKEND = "annotation_service.accounts.MailBackend"
    answered, sent = Event(), Queue()
    send = lambda self, messages: sent.put([message.to for message in messages if answered.wait(20)])  # noqa: E731
    monkeypatch.setattr("django.core.mail.backends.smtp.EmailBackend.send_messages", send)
    client.post("/accounts/password/reset/", {"email": "carol@example.org"})
    answered.set()
    assert sent.get(timeout=20) == [["carol@example.org"]]


def mail_server(listening, received):
    """Takes the mails of one connection as any SMTP server does, but none to strangers."""
    connection, _ = listening.accept()
    with connection, connection.makefile("rwb", buffering=0) as talk:
        talk.write(b"220 here\r\n")
        for line in talk:
            if line.upper().startswith(b"RCPT") and b"stranger" in line:
                talk.write(b"550 nobody of that name\r\n")
                continue
            if line.upper().startswith(b"DATA"):
                talk.write(b"354 go on\r\n")
                received.put(b"".join(iter(talk.readline, b".\r\n")).decode())
            talk.write(b"250 done\r\n")


@pytest.fixture
def received(settings):
    """What reaches the mail server."""
    settings.EMAIL_BACKEND = "annotation_service.accounts.MailBackend"
    settings.EMAIL_USE_TLS = False
    received = Queue()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        settings.EMAIL_HOST, settings.EMAIL_PORT = listening.getsockname()
        threading.Thread(target=mail_server, args=[listening, received], daemon=True).start()
        yield received


def test_a_mail_reaches_the_mail_server(client, carol, received):
    client.post("/accounts/password/reset/", {"email": "carol@example.org"})
    assert "To: carol@example.org" in received.get(timeout=20)


def test_several_mails_go_through_one_connection_and_a_refused_one_keeps_no_other_back(received, caplog):
    names = ("first", "stranger", "last")
    MailBackend().send_messages([EmailMessage("Hello", "", to=[f"{name}@example.org"]) for name in names])
    assert "To: first@example.org" in received.get(timeout=20)
    assert "To: last@example.org" in received.get(timeout=20)
    assert ["nobody of that name" in record.getMessage() for record in caplog.records] == [True]


def test_without_a_mail_server_a_reset_answers_alike_and_the_log_says_why(client, carol, settings, caplog):
    settings.EMAIL_BACKEND = "annotation_service.accounts.MailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9  # nobody listens there
    with caplog.at_level(logging.ERROR, "annotation_service.accounts"):
        for email in ("carol@example.org", "stranger@example.org"):
            assert client.post("/accounts/password/reset/", {"email": email}).status_code == 302
        for thread in threading.enumerate():
            if "_send" in thread.name:
                thread.join(20)
    assert ["127.0.0.1" in record.getMessage() for record in caplog.records] == [True]


def test_changing_the_password_ends_other_sessions(client, carol, as_carol):
    sign_in(client, "carol")
    assert client.post("/accounts/password/change/", {"oldpassword": PASSWORD, **CHANGED}).status_code == 302
    assert as_carol.get("/").status_code == 204  # and where to sign in


@pytest.mark.parametrize(
    "target", ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", "http:evil.example"]
)
def test_signing_in_never_leads_elsewhere(client, carol, target):
    response = client.post("/accounts/login/", {"login": "carol", "password": PASSWORD, "next": target})
    assert response["Location"] == "/"


def test_an_expired_session_leads_fragments_and_data_to_the_sign_in_page(client, alice):
    project = factories.project(by=alice)
    headers = {"HX-Request": "true", "HX-Current-URL": f"http://testserver/projects/{project.pk}/"}
    fragment = client.get(f"/projects/{project.pk}/figures/", headers=headers)
    assert fragment.status_code == 204
    assert fragment["HX-Redirect"] == f"/accounts/login/?next=%2Fprojects%2F{project.pk}%2F"
    data = client.post(f"/projects/{project.pk}/items/1/done/", headers={"Accept": "application/json"})
    assert data.status_code == 401
    assert "signed out" in data.json()["error"]


@pytest.mark.parametrize(
    ("path", "status"),
    [("/nothing/", 404), ("/ontologies/", 403), ("/projects/?q=%00", 400), ("/accounts/login/?x=%00", 400)],
)
def test_error_pages_are_pages_of_the_service(as_carol, path, status):
    response = as_carol.get(path)
    assert response.status_code == status
    assert "css/app" in response.text
    assert "frame-ancestors 'none'" in response["Content-Security-Policy"]


def test_the_page_for_errors_of_the_service_needs_nothing(client, settings, db, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("broken")

    monkeypatch.setattr("projects.progress.home", broken)
    client.raise_request_exception = False
    client.force_login(factories.user("erin"))
    response = client.get("/")
    assert response.status_code == 500
    assert "css/app" in response.text


ODD_REQUESTS = {
    "host": lambda client: client.get("/", headers={"Host": "evil.example"}),
    "broken host": lambda client: client.get("/accounts/login/", headers={"Host": "a\r\nb c"}),
    "reset at another host": lambda client: client.post(
        "/accounts/password/reset/", {"email": "carol@example.org"}, headers={"Host": "evil.example"}
    ),
    "too many fields": lambda client: client.post("/accounts/login/", {f"a{i}": "" for i in range(2000)}),
}


@pytest.mark.parametrize("request_of", ODD_REQUESTS.values(), ids=ODD_REQUESTS.keys())
def test_an_odd_request_is_one_line_of_the_log(client, carol, settings, monkeypatch, request_of):
    settings.ADMINS = [("Admin", "admin@example.org")]
    log = StringIO()
    for name in ("", "django", "django.security"):
        for handler in logging.getLogger(name).handlers:
            if type(handler) is logging.StreamHandler:
                monkeypatch.setattr(handler, "stream", log)
    answer = request_of(client)
    assert answer.status_code == 400 and "css/app" in answer.text
    assert re.fullmatch(r"\S+ \S+ ERROR django\.security\.\w+: .+\n", log.getvalue())
    assert not mail.outbox


# --- Names in any case ---------------------------------------------------------------------------------------------------

CASES = [("Ärmel", "äRMEL"), ("straße", "STRASSE"), ("Σίσυφος", "ΣΊΣΥΦΟΣ")]
SIGNS = [("İpek", "i̇pek"), ("ΐος", "Ϊ́ΟΣ")]  # typed with combining signs, which no user name can have


@pytest.mark.parametrize(("stored", "typed"), [*CASES, *SIGNS])
def test_people_are_found_in_any_case_and_script(client, db, stored, typed):
    person = User.objects.create_user(stored, f"post@{stored}.example", PASSWORD)
    for login in (typed, stored, f"POST@{typed}.example", f" {typed} "):
        assert sign_in(client, login).status_code == 302, login
        assert client.session["_auth_user_id"] == str(person.pk)
        client.logout()
    assert User.objects.get_by_natural_key(typed) == person


@pytest.mark.parametrize(("stored", "typed"), [("Carol@Example.org", "carol@example.org"), *CASES])
def test_a_password_is_reset_from_an_address_in_any_case(client, db, stored, typed):
    own = stored if "@" in stored else f"post@{stored}.example"
    typed = typed if "@" in typed else f"Post@{typed}.example"
    User.objects.create_user("carol", own, PASSWORD)
    client.post("/accounts/password/reset/", {"email": typed})
    assert [to.lower() for to in mail.outbox[0].to] == [own.lower()]  # never to what was typed


def test_every_letter_is_folded_like_its_upper_and_lower_case():
    unlike = [
        letter
        for letter in map(chr, [*range(0xD800), *range(0xE000, 0x20000)])
        if letter != "ı" and not fold(letter) == fold(letter.upper()) == fold(letter.lower()) == fold(fold(letter))
    ]
    assert not unlike


@pytest.mark.parametrize(("stored", "typed"), [("carol", "CAROL"), *CASES])
def test_nobody_gets_a_name_or_address_that_differs_by_case_only(client, as_sam, settings, stored, typed):
    settings.OPEN_REGISTRATION = True
    User.objects.create_user(stored, f"post@{stored}.example", PASSWORD)
    other = User.objects.create_user("other", "other@example.org", PASSWORD)
    taken = ["A user with that username already exists.", "A user is already registered with this email address."]
    names = {"username": typed, "email": f"Post@{typed}.example"}

    EmailAddress.objects.create(user=other, email="other@example.org", primary=True)
    assert as_sam.get("/admin/account/emailaddress/add/").status_code == 403

    page = client.post("/accounts/signup/", {**names, **PASSWORDS})
    assert [page.context["form"].errors[name] for name in names] == [[text] for text in taken]

    page = as_sam.post(f"{PEOPLE}add/", {"username": typed, "usable_password": "true", **PASSWORDS})
    assert page.context["adminform"].errors == {"username": [taken[0]]}
    page = as_sam.post(f"{PEOPLE}{other.pk}/change/", {**CHANGE, **names})
    assert page.context["adminform"].errors == {name: [text] for name, text in zip(names, taken, strict=True)}

    client.force_login(other)
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    page = client.post("/accounts/email/", {"action_add": "", "email": names["email"]})
    assert page.context["form"].errors == {"email": [taken[1]]}

    for fields, text in (({"username": typed, "email": ""}, taken[0]), ({**names, "username": "new"}, taken[1])):
        with pytest.raises(CommandError, match=text if "email" in text else "already taken"):
            call_command("createsuperuser", "--noinput", **fields)
    assert User.objects.count() == 3


def test_the_first_address_follows_what_the_administrator_writes(client, as_sam, carol):
    sign_in(client, "carol@example.org")
    client.get("/accounts/email/")  # allauth makes its own row of the address here
    assert EmailAddress.objects.get(user=carol).email == "carol@example.org"
    as_sam.post(f"{PEOPLE}{carol.pk}/change/", {**CHANGE, "username": "carol", "email": "New@example.org"})
    client.logout()
    assert sign_in(client, "carol@example.org").status_code == 200
    assert sign_in(client, "new@example.org").status_code == 302
    client.post("/accounts/password/reset/", {"email": "carol@example.org"})
    assert not [message for message in mail.outbox if "reset" in message.subject.lower() and message.to]


ALIKE = [
    ("Ärmel", "a\u0308RMEL"),  # composed and decomposed
    ("ｃａｒｏｌ", "Carol"),  # full width
    ("Σίσυφοσ", "ΣΊΣΥΦΟΣ"),  # a sigma at the end, and one that is not
    ("straße", "STRASSE"),
    ("ﬁona", "FIONA"),
    ("Ǆemal", "ǆemal"),
]


@pytest.mark.parametrize(("stored", "typed"), ALIKE)
def test_names_that_read_alike_are_one_name_everywhere(client, as_sam, alice, stored, typed, monkeypatch):
    project = factories.project(by=alice)
    person = User.objects.create_user(stored, password=PASSWORD)
    assert sign_in(client, typed).status_code == 302
    assert f'value="{person.pk}"' in as_sam.get(PEOPLE, {"q": typed}).text
    added = Client()
    added.force_login(alice)
    added.post(f"/projects/{project.pk}/people/add/", {"people": typed, "role": "annotator"})
    assert project.membership_set.filter(user=person).exists()
    assert added.get(f"/projects/{project.pk}/marks/{typed}/", follow=True).status_code == 200
    monkeypatch.setattr("getpass.getpass", lambda prompt: "another-long-one")
    call_command("changepassword", typed)
    assert sign_in(Client(), stored, "another-long-one").status_code == 302
    for make in (User.objects.create_user, User.objects.create_superuser):
        with pytest.raises(ValidationError, match="already exists"):
            make(typed, password=PASSWORD)
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.bulk_create([User(username=typed)])


@pytest.mark.parametrize(
    ("stored", "typed"),
    [
        ("Second@Example.org", "sECOND@eXAMPLE.ORG"),
        ("post@straße.example", "post@STRASSE.example"),
        ("post@ａｂｃ.example", "POST@abc.example"),
        ("post@a\u0308.example", "post@Ä.example"),
    ],
)
def test_further_addresses_are_found_and_taken_in_any_case_and_script(client, carol, dave, stored, typed):
    EmailAddress.objects.create(user=carol, email=stored, verified=True)
    assert sign_in(client, typed).status_code == 302
    Client().post("/accounts/password/reset/", {"email": typed})
    assert mail.outbox[0].to == [stored]
    dave.email = typed
    with pytest.raises(ValidationError, match="already registered"):
        dave.save()
    client.force_login(dave)
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    page = client.post("/accounts/email/", {"action_add": "", "email": typed})
    assert "already registered" in str(page.context["form"].errors)


def test_a_reset_goes_to_an_address_as_it_is_stored(client, db):
    """The Kelvin sign is a small k when lowered, and yet another mailbox."""
    kate = User.objects.create_user("kate", "kate@example.org", PASSWORD)
    EmailAddress.objects.create(user=kate, email="kate@example.org", primary=True)
    client.post("/accounts/password/reset/", {"email": "\u212aate@example.org"})
    assert [message.to for message in mail.outbox] == [["kate@example.org"]]


def test_a_reset_goes_to_no_address_that_nobody_confirmed(client, carol):
    EmailAddress.objects.create(user=carol, email="mistyped@example.org", verified=False)
    client.post("/accounts/password/reset/", {"email": "mistyped@example.org"})
    assert [message.to for message in mail.outbox] == [["carol@example.org"]]


@pytest.mark.parametrize("typed", ["stranger@example.org", "gone@example.org", "none@example.org"])
def test_a_reset_writes_to_nobody_who_has_no_account(client, carol, typed):
    factories.user("gone", is_active=False)
    User.objects.create_user("none", "", PASSWORD)
    answers = [
        client.post("/accounts/password/reset/", {"email": email}, follow=True)
        for email in (typed, "carol@example.org")
    ]
    assert answers[0].redirect_chain == answers[1].redirect_chain
    pages = [re.sub(r'"X-CSRFToken": "\w+"', "", answer.text) for answer in answers]
    assert pages[0] == pages[1]
    assert [message.to for message in mail.outbox] == [["carol@example.org"]]


def test_names_and_addresses_are_stored_as_typed(client, as_sam, settings):
    settings.OPEN_REGISTRATION = True
    client.post("/accounts/signup/", {"username": "Ärmel", "email": "Post@Straße.example", **PASSWORDS})
    as_sam.post(f"{PEOPLE}add/", {"username": "STRASSE", "usable_password": "true", **PASSWORDS})
    assert set(User.objects.values_list("username", "email")) == {
        ("sam", "sam@example.org"),
        ("Ärmel", "Post@Straße.example"),
        ("STRASSE", ""),
    }


@pytest.mark.parametrize("name", ["\u3164", "carol\u1160", "a b", "a\u200bb", "\u2800"])
def test_user_names_can_be_seen(client, as_sam, settings, name):
    settings.OPEN_REGISTRATION = True
    fields = NEW | {"username": name}
    assert client.post("/accounts/signup/", fields).context["form"].errors["username"]
    assert as_sam.post(f"{PEOPLE}add/", {**fields, "usable_password": "true"}).context["errors"]
    with pytest.raises(ValidationError, match="nobody can see"):
        User.objects.create_user(name)


def test_addresses_that_get_too_long_when_folded_are_refused(as_sam, carol):
    page = as_sam.post(f"{PEOPLE}{carol.pk}/change/", {**CHANGE, "username": "carol", "email": f"a@{'㌖.' * 100}org"})
    assert page.context["adminform"].errors == {"email": ["This email address is too long."]}


# --- Two at the same time ------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_of_two_who_take_a_name_at_the_same_time_one_is_told(settings, monkeypatch):
    settings.OPEN_REGISTRATION = True
    meet = Barrier(2)
    save = AccountAdapter.save_user
    monkeypatch.setattr(
        AccountAdapter, "save_user", lambda *args, **options: meet.wait(20) + 1 and save(*args, **options)
    )

    def sign_up(name):
        fields = {"username": name, "email": f"{name}@example.org", **PASSWORDS}
        return Client().post("/accounts/signup/", fields, follow=True).text

    pages = for_each(sign_up, ["Erin", "eRIN"])
    assert sorted("Choose another one" in page for page in pages) == [False, True]
    assert User.objects.with_name("erin").count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_administrators_who_give_a_name_at_the_same_time_one_is_told(monkeypatch, sam):
    meet = Barrier(2)
    save = PersonAdmin.save_model

    def meet_and_save(*args):
        with suppress(BrokenBarrierError):  # on SQLite the second one waits for the first one's transaction
            meet.wait(1)
        save(*args)

    monkeypatch.setattr(PersonAdmin, "save_model", meet_and_save)

    def add(name):
        client = Client()
        client.force_login(sam)
        fields = {"username": name, "usable_password": "true", **PASSWORDS}
        return client.post(f"{PEOPLE}add/", fields, follow=True).text

    pages = for_each(add, ["Erin", "eRIN"])
    assert sorted("already exists" in page for page in pages) == [False, True]


def test_people_of_a_fixture_are_found_and_unique(client, db, tmp_path):
    fixture = tmp_path / "people.json"
    fields = {"username": "Ärmel", "email": "Post@Straße.example", "password": make_password(PASSWORD)}
    fixture.write_text(json.dumps([{"model": "annotation_service.user", "pk": 1, "fields": fields}]))
    call_command("loaddata", fixture, verbosity=0)
    assert sign_in(client, "äRMEL").status_code == sign_in(Client(), "POST@STRASSE.example").status_code == 302
    with pytest.raises(ValidationError, match="already exists"):
        User.objects.create_user("äRMEL")


def test_no_way_around_the_folded_names(carol, dave):
    erin = User.objects.bulk_create([User(username="Erin", email="Erin@example.org")])[0]
    assert (erin.username_folded, erin.email_folded) == ("erin", "erin@example.org")
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.bulk_create([User(username="ERIN")])
    with pytest.raises(TypeError, match="one by one"):
        User.objects.filter(pk=carol.pk).update(email="x@example.org")
    with pytest.raises(TypeError, match="one by one"):
        User.objects.bulk_create(
            [User(username="Erin", email="erin@example.org")],
            update_conflicts=True,
            unique_fields=["email_folded"],
            update_fields=["username"],
        )
    carol.username = "Caroline"
    with pytest.raises(TypeError, match="one by one"), transaction.atomic():
        User.objects.bulk_update([carol], ["username"])
    carol.save(update_fields=["username"])
    assert User.objects.get_by_natural_key("CAROLINE") == carol
    assert User.objects.filter(pk=dave.pk).update(first_name="Dave") == 1


@pytest.mark.django_db(transaction=True)
def test_mails_that_were_kept_before_name_whom_they_are_about(alice):
    call_command("migrate", "annotation_service", "0005", verbosity=0)
    state = MigrationExecutor(connection).loader.project_state([("annotation_service", "0005_names_that_look_alike")])
    kept = state.apps.get_model("annotation_service", "Mail").objects
    name = alice.username
    named = [
        f"Hello {name},\n\nsomebody has asked for a new password.",
        f"Hello,\n\n{name} has given this address for an account at example.org.",
        f"Hello,\n\n{name} invites you to the project “Pumps”.",
    ]
    for body in (*named, "Hello nobody,", "Hello,\n\nthis is a test."):
        kept.create(to="x@example.org", subject="x", body=body)
    call_command("migrate", verbosity=0)
    assert set(Mail.objects.filter(about=alice).values_list("body", flat=True)) == set(named)
    assert Mail.objects.filter(about=None).count() == 2
