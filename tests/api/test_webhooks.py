"""Webhooks: what is told when, that it is stored with the work, and that it reaches receivers and nobody else."""

import base64
import hashlib
import hmac
import json
import socket
import threading
import time
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation_service import jobs
from annotation_service.events import EVENTS
from annotation_service.inputs import Refused
from annotation_service.models import JobState, start_job
from api import sending, webhooks
from api.jobs import forget_old
from api.operations import OPERATIONS, PREFIX, schemas
from api.sending import Sender, attempt, post
from api.webhooks import RETRIES, Delivery, Webhook, is_public, look_at_projects, tell
from datasets.models import Annotation
from projects.models import Project
from tests import factories
from tests.api.asks import request, token_of
from tests.api.receivers import listening, make_certificate, receiving
from tests.queries import queries_of
from tests.threads import at_once, running

URL = "https://example.org/hook"
ALL = ["item.done", "item.reopened", "project.done", "job.done", "labels.changed"]


@pytest.fixture
def project(alice, carol):
    return factories.project(by=alice, annotators=[carol], text="replace engine oil\ncheck coolant level\n")


@pytest.fixture
def hook(project, alice):
    return Webhook.make(project, url=URL, events=ALL, by=alice)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def private(settings):
    settings.WEBHOOK_PRIVATE_ADDRESSES = True


@pytest.fixture
def trusted(certificate, monkeypatch, private):
    """The receiver's certificate is trusted, as that of an authority of one's own."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    sending._context.cache_clear()
    yield certificate
    sending._context.cache_clear()


def work_on(project, person, number=0):
    annotation = Annotation.start(project.dataset.items()[number], person)
    annotation.finish()
    return annotation


def told():
    return [(each.event, json.loads(each.body)["data"]) for each in Delivery.objects.order_by("pk")]


def due_now():
    Delivery.objects.exclude(next_at=None).update(next_at=timezone.now())


# --- What is told --------------------------------------------------------------------------------------------------------


def test_finishing_and_reopening_an_item_is_told_with_what_it_is_about(project, carol, hook):
    item = project.dataset.items()[0]
    item.external_id = "A-1"
    item.save(update_fields=["external_id"])
    work_on(project, carol).reopen()
    (first, done), (second, reopened) = told()
    assert (first, second) == ("item.done", "item.reopened")
    urls = {
        "project": f"/api/v1/projects/{project.pk}",
        "item": f"/api/v1/datasets/{item.dataset_id}/items/{item.pk}",
    }
    assert done == {
        "project": project.pk,
        "dataset": item.dataset_id,
        "item": item.pk,
        "external_id": "A-1",
        "user": "carol",
        "done_by_all": True,
        "urls": urls,
    }
    assert reopened == {**done, "done_by_all": False}
    body = json.loads(Delivery.objects.latest("pk").body)
    assert body.keys() == {"type", "timestamp", "data"} and body["timestamp"].endswith("Z")


def test_the_end_of_a_job_of_the_project_is_told(project, alice, hook, monkeypatch):
    def run(job, progress):
        if job.target["fails"]:
            raise Refused("No.")
        job.finish()

    monkeypatch.setitem(jobs.KINDS, "test", jobs.JobKind(run))
    for target in ({"project": project.pk, "fails": 0}, {"project": project.pk, "fails": 1}, {"fails": 0}):
        start_job("test", title="A test", by=alice, target=target)
        jobs.run(jobs.claim())
    cancelled = start_job("test", title="A test", by=alice, target={"project": project.pk})
    jobs.claim().end(JobState.CANCELLED)
    assert [(event, data["state"]) for event, data in told()] == [("job.done", "done"), ("job.done", "failed")]
    assert cancelled.pk not in [data["job"] for _, data in told()]


def test_a_change_of_labels_is_told_of_the_projects_copy_alone(project, alice, hook):
    label = project.entity_ontology.items().first()
    label.rename("Renamed", by=alice)
    project.entity_ontology.undo(by=alice)
    blueprint = project.entity_ontology.copied_from
    blueprint.items().first().rename("Renamed", by=alice)
    found = told()
    assert [(event, data["verb"], data["labels"]) for event, data in found] == [
        ("labels.changed", "rename", [label.uid]),
        ("labels.changed", "undo rename", [label.uid]),
    ]
    assert found[0][1]["version"] < found[1][1]["version"]


def test_a_project_that_is_done_is_told_once_each_time(project, alice, carol, hook):
    def done():
        look_at_projects()
        return [event for event, _ in told()].count("project.done")

    last = work_on(project, carol)
    assert done() == 0
    work_on(project, carol, 1)
    assert [done(), done()] == [1, 1]
    last.reopen()
    assert done() == 1
    last.finish()
    assert done() == 2


def test_a_project_that_was_done_before_or_while_it_was_off_is_not_told(project, alice, carol, hook):
    work_on(project, carol)
    last = work_on(project, carol, 1)
    Webhook.make(project, url=URL, events=ALL, by=alice)
    look_at_projects()
    assert [(each.webhook, each.event) for each in Delivery.objects.filter(event="project.done")] == [
        (hook, "project.done")
    ]
    hook.change(is_on=False)
    Webhook.objects.exclude(pk=hook.pk).update(is_on=False)
    last.reopen()
    look_at_projects()
    last.finish()
    hook.refresh_from_db()
    hook.change(is_on=True)
    look_at_projects()
    assert Delivery.objects.filter(event="project.done").count() == 1


def test_what_waits_for_others_is_not_looked_at(project, alice, hook):
    """However much that is: so many steps of the database, and no more."""
    off = Webhook.make(project, url=URL, events=ALL, by=alice)
    off.change(is_on=False)
    few = CaptureQueriesContext(connection)
    with few:
        assert Delivery.claim() is None
    tell([off] * 300, "ping", {})
    many = CaptureQueriesContext(connection)
    with many:
        assert Delivery.claim() is None
    assert len(few) == len(many) == 1
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {many.captured_queries[0]['sql']}")
            assert any("delivery_due (webhook_id=?" in row[3] for row in cursor.fetchall())


def test_a_project_is_also_done_when_what_was_left_is_removed(project, alice, carol, hook):
    look_at_projects()
    work_on(project, carol)
    look_at_projects()
    project.dataset.remove(project.dataset.items().exclude(annotation__annotator=carol), by=alice)
    look_at_projects()
    assert "project.done" in [event for event, _ in told()]


def test_only_what_is_wanted_is_told_and_only_while_it_is_on(project, alice, carol, hook):
    other = Webhook.make(project, url=URL, events=["item.reopened"], by=alice)
    work_on(project, carol)
    hook.change(is_on=False)
    work_on(project, carol, 1).reopen()
    assert [(each.webhook, each.event) for each in Delivery.objects.order_by("pk")] == [
        (hook, "item.done"),
        (other, "item.reopened"),
    ]


def test_nothing_new_is_told_of_an_archived_project(project, alice, hook, monkeypatch):
    project.archive()
    monkeypatch.setitem(jobs.KINDS, "test", jobs.JobKind(lambda job, progress: job.finish()))
    start_job("test", title="A download", by=alice, target={"project": project.pk})
    jobs.run(jobs.claim())
    look_at_projects()
    assert told() == []


def test_what_is_taken_back_is_not_told(project, carol, hook):
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        work_on(project, carol)
        1 / 0  # noqa: B018
    assert Delivery.objects.count() == 0


def test_an_event_that_tells_nobody_takes_one_query(project, alice, carol):
    item = project.dataset.items()[0]
    annotation = Annotation.start(item, carol)
    found = queries_of(annotation.finish)
    assert [sql for sql in found if "api_delivery" in sql] == []
    assert len([sql for sql in found if "api_webhook" in sql]) == 1


def test_the_resources_are_those_of_the_operations():
    for name, address in webhooks.RESOURCES.items():
        if operation := OPERATIONS.get(f"get_{name}"):
            assert PREFIX + operation.template == address


def test_the_schema_names_all_events():
    assert set(schemas()["WebhookEvents"]["items"]["enum"]) == EVENTS.keys() == set(ALL)


# --- A webhook ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "ftp://example.org/",
        "example.org",
        "https://",
        "https://user:secret@example.org/",
        "https://example.org/#part",
        "https://example.org/a b",
        "https://example.org/\r\nX: y",
        "https://[::1",
        "https://example.org:99999/",
        "https://127.0.0.1/",
        "https://127.1/",
        "https://2130706433/",
        "https://[::ffff:10.0.0.1]/",
        f"https://example.org/{'a' * 500}",
    ],
)
def test_what_is_no_address_for_webhooks_is_refused(project, alice, url):
    with pytest.raises(Refused):
        Webhook.make(project, url=url, events=["item.done"], by=alice)


def test_events_are_known_ones_and_a_project_has_so_many_webhooks(project, alice, monkeypatch):
    for events in ([], ["item.gone"], ["item.done", "item.gone"]):
        with pytest.raises(Refused, match="Choose some of these events"):
            Webhook.make(project, url=URL, events=events, by=alice)
    monkeypatch.setattr(Webhook, "MOST", 1)
    Webhook.make(project, url=URL, events=["item.done"], by=alice)
    with pytest.raises(Refused, match="1 webhooks at most"):
        Webhook.make(project, url=URL, events=["item.done"], by=alice)


def test_the_secret_is_of_the_standards_form_and_can_be_renewed(hook):
    first = hook.secret
    hook.renew_secret()
    hook.refresh_from_db()
    assert hook.secret != first
    assert hook.secret.startswith("whsec_") and 24 <= len(base64.b64decode(hook.secret[6:])) <= 64


def test_it_goes_with_its_project_and_no_duplicate_has_it(project, alice, hook):
    hook.ping()
    copy = project.duplicate(name="Copy", by=alice, people=True)
    assert copy.webhooks.count() == 0
    project.erase()
    assert (Webhook.objects.count(), Delivery.objects.count()) == (0, 0)
    assert Project.objects.filter(pk=copy.pk).exists()


def test_it_is_deleted_with_its_log_and_the_log_is_kept_for_30_days(project, alice, hook):
    other = Webhook.make(project, url=URL, events=ALL, by=alice)
    old, new = other.ping(), other.ping()
    Delivery.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=31))
    hook.ping()
    hook.erase()
    forget_old()
    assert set(Delivery.objects.all()) == {old, new}  # the old one still waits
    Delivery.objects.filter(pk=old.pk).update(next_at=None)
    forget_old()
    assert list(Delivery.objects.all()) == [new]


# --- Where it may go -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "192.88.99.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fec0::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2001:0:1::1",
        "2001:db8::1",
    ],
)
def test_private_addresses_are_told_from_public_ones(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "93.184.215.14", "2606:4700:4700::1111", "::ffff:8.8.8.8"])
def test_public_addresses_are_public(address):
    assert is_public(address)


def resolving(monkeypatch, *answers):
    """Names lead to each of these in turn; addresses as ever. Returns the names that were asked for."""
    asked, real = [], socket.getaddrinfo

    def resolve(host, port, *args, **options):
        if host[0].isdigit() or ":" in host:
            return real(host, port, *args, **options)
        asked.append(host)
        addresses = answers[min(len(asked), len(answers)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in addresses]

    monkeypatch.setattr(sending, "getaddrinfo", resolve)
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return asked


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["169.254.169.254"]])
def test_a_name_that_leads_to_a_private_address_is_not_connected_to(hook, monkeypatch, addresses):
    resolving(monkeypatch, addresses)
    monkeypatch.setattr(sending, "create_connection", lambda *args: pytest.fail("connected"))
    hook.ping()
    code, error = attempt(Delivery.claim())
    assert code is None and "private address" in error and "127.0.0.1" not in error.partition(" leads")[2]


def test_a_name_is_resolved_once_and_that_address_is_connected_to(hook, monkeypatch):
    """It leads elsewhere a moment later."""
    asked, connected = resolving(monkeypatch, ["93.184.215.14"], ["127.0.0.1"]), []

    def connect(address, timeout):
        connected.append(address)
        raise OSError("as far as this")

    monkeypatch.setattr(sending, "create_connection", connect)
    hook.ping()
    assert attempt(Delivery.claim()) == (None, "as far as this")
    assert (asked, connected) == (["example.org"], [("93.184.215.14", 443)])


def test_without_encryption_nothing_is_sent_unless_that_is_allowed(project, alice, settings):
    settings.WEBHOOK_PRIVATE_ADDRESSES = True
    Webhook.make(project, url="http://127.0.0.1:9/", events=ALL, by=alice).ping()
    settings.WEBHOOK_PRIVATE_ADDRESSES = False
    assert attempt(Delivery.claim()) == (None, "Only https is allowed.")


# --- What is sent --------------------------------------------------------------------------------------------------------


def verified(secret, headers, body):
    """As a receiver does it, by the text of the standard."""
    headers = {name.lower(): value for name, value in headers.items()}
    key = base64.b64decode(secret.split("_")[1])
    signed = b".".join([headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), body])
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return f"v1,{expected}" in headers["webhook-signature"].split(" ")


def test_it_is_signed_as_the_standard_has_it(hook):
    """The example of its reference implementations."""
    hook.secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    body = '{"test": 2432232314}'
    assert hook.signature("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body) == (
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    )


def test_a_receiver_gets_it_over_https_and_can_verify_it(project, alice, carol, trusted, monkeypatch):
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9/")
    with receiving(trusted) as server:
        hook = Webhook.make(project, url=server.url, events=ALL, by=alice)
        work_on(project, carol)
        assert Sender()()
    [(path, headers, body)] = server.got
    delivery = Delivery.objects.get()
    assert (path, body.decode()) == ("/hook?a=1", delivery.body)
    assert headers["webhook-id"] == delivery.message_id
    assert verified(hook.secret, headers, body)
    assert not verified(hook.secret, headers, body + b" ")
    assert abs(int(headers["webhook-timestamp"]) - time.time()) < 60
    assert (delivery.state, delivery.attempts, delivery.code, delivery.error) == ("delivered", 1, 200, "")


def test_a_certificate_that_nobody_vouches_for_is_not_trusted(project, alice, certificate, private):
    sending._context.cache_clear()
    with receiving(certificate) as server:
        Webhook.make(project, url=server.url, events=ALL, by=alice).ping()
        code, error = attempt(Delivery.claim())
    assert code is None and "certificate verify failed" in error
    assert server.got == []


def test_a_certificate_for_another_name_is_not_trusted(project, alice, trusted, monkeypatch):
    resolving(monkeypatch, ["127.0.0.1"])
    with receiving(trusted) as server:
        url = server.url.replace("localhost", "example.org")
        Webhook.make(project, url=url, events=ALL, by=alice).ping()
        code, error = attempt(Delivery.claim())
    assert code is None and "certificate verify failed" in error
    assert server.got == []


def test_what_failed_is_sent_again_with_the_same_id_and_body(project, alice, private):
    with receiving() as server:
        server.codes = [500, 200]
        Webhook.make(project, url=server.url, events=ALL, by=alice).ping()
        send = Sender()
        assert send()
        delivery = Delivery.objects.get()
        assert (delivery.state, delivery.code) == ("waiting", 500)
        assert not send()  # it is not due yet
        due_now()
        assert send()
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts, delivery.code) == ("delivered", 2, 200)
    (_, first, body), (_, second, again) = server.got
    assert (first["webhook-id"], body) == (second["webhook-id"], again)


def test_a_redirect_is_not_followed(project, alice, private):
    with receiving() as server:
        server.codes = [302]
        Webhook.make(project, url=server.url, events=ALL, by=alice).ping()
        Sender()()
    assert len(server.got) == 1
    assert (Delivery.objects.get().state, Delivery.objects.get().code) == ("waiting", 302)


def test_a_receiver_that_wants_no_more_is_switched_off(project, alice, private):
    with receiving() as server:
        server.codes = [410]
        hook = Webhook.make(project, url=server.url, events=ALL, by=alice)
        hook.ping()
        Sender()()
    hook.refresh_from_db()
    assert not hook.is_on and "410" in hook.off_reason
    assert Delivery.objects.get().state == "failed"


def test_an_answer_is_shown_in_part_and_none_of_a_private_address(project, alice, private, monkeypatch):
    with receiving() as server:
        server.codes, server.text = [500], b"no <b>\x00\n" + b"x" * 10_000_000
        Webhook.make(project, url=server.url, events=ALL, by=alice).ping()
        assert attempt(Delivery.claim()) == (500, "")
        monkeypatch.setattr(sending, "is_public", lambda address: True)
        code, error = post(server.url, b"{}", {})
    assert (code, len(error)) == (500, 200)
    assert error.startswith("no <b>x")


def dripping(guest):
    guest.recv(1000)
    while True:
        guest.sendall(b"H")
        time.sleep(0.05)


def test_whoever_stalls_or_drips_is_cut_off(project, alice, private, monkeypatch):
    monkeypatch.setattr(sending, "TIMEOUT", 0.3)
    for answer in (lambda guest: guest.recv(1000) and time.sleep(5), dripping):
        with listening(answer) as url:
            hook = Webhook.make(project, url=url, events=ALL, by=alice)
            hook.ping()
            assert attempt(Delivery.claim()) == (None, "There was no answer within 0.3 seconds.")
        hook.erase()


def test_whoever_stalls_in_the_handshake_is_cut_off(project, alice, private, monkeypatch):
    monkeypatch.setattr(sending, "TIMEOUT", 0.3)
    with listening(lambda guest: time.sleep(5)) as url:
        Webhook.make(project, url=url.replace("http:", "https:"), events=ALL, by=alice).ping()
        assert attempt(Delivery.claim()) == (None, "There was no answer within 0.3 seconds.")


@pytest.mark.parametrize("answer", [b"", b"what?\r\n\r\n", b"HTTP/1.1 999999 x\r\n\r\n"])
def test_what_is_no_answer_is_a_failed_attempt(project, alice, private, answer):
    with listening(lambda guest: guest.recv(1000) and guest.sendall(answer)) as url:
        Webhook.make(project, url=url, events=ALL, by=alice).ping()
        assert Sender()()
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.code) == ("waiting", None) and delivery.error


def test_a_name_that_leads_nowhere_is_a_failed_attempt(project, alice):
    for name in ("a" * 70 + ".example", "nowhere.invalid"):
        Webhook.make(project, url=f"https://{name}/", events=ALL, by=alice).ping()
        assert Sender()()
    assert {each.state for each in Delivery.objects.all()} == {"waiting"}


def test_others_do_not_wait_for_a_slow_receiver(project, alice, monkeypatch):
    slow, quick = (Webhook.make(project, url=URL, events=ALL, by=alice) for _ in range(2))
    clock, sent = [1000.0], []

    def answer(delivery):
        sent.append(delivery.webhook)
        clock[0] += 15 if delivery.webhook == slow else 0
        return 200, ""

    monkeypatch.setattr(sending, "attempt", answer)
    monkeypatch.setattr("api.sending.time.monotonic", lambda: clock[0])
    for hook in (slow, slow, quick, quick):
        hook.ping()
    send = Sender()
    while send():
        pass
    assert sent == [slow, quick, quick]
    clock[0] += 151
    assert send() and sent[-1] == slow


# --- Attempts ------------------------------------------------------------------------------------------------------------


def test_attempts_come_later_and_later_and_the_last_one_switches_it_off(hook, monkeypatch):
    monkeypatch.setattr(webhooks, "uniform", lambda low, high: low)
    hook.ping()
    waits = []
    for _ in range(len(RETRIES) + 1):
        hook.refresh_from_db()
        assert hook.is_on
        due_now()
        began = timezone.now()
        Delivery.claim().end(503, "busy")
        delivery = Delivery.objects.get()
        waits.append(delivery.next_at and round((delivery.next_at - began).total_seconds() / 5) * 5)
    assert waits == [5, 300, 1800, *(hours * 3600 for hours in (2, 5, 10, 14, 20, 24)), None]
    assert (delivery.state, delivery.attempts, delivery.error) == ("failed", 10, "busy")
    hook.refresh_from_db()
    assert not hook.is_on and "10 attempts" in hook.off_reason
    hook.change(is_on=True)
    assert hook.off_reason == ""


def test_one_that_takes_other_events_stays_on(hook):
    first = hook.ping()
    hook.ping()
    Delivery.objects.filter(pk=first.pk).update(attempts=len(RETRIES))
    Delivery.claim().end(500)
    hook.refresh_from_db()
    assert not hook.is_on
    hook.change(is_on=True)
    Delivery.claim().end(200)
    first.refresh_from_db()
    first.send_again()
    Delivery.objects.filter(pk=first.pk).update(attempts=len(RETRIES))
    Delivery.claim().end(500)
    hook.refresh_from_db()
    assert hook.is_on


def test_waits_differ_a_little(hook):
    waits = set()
    for _ in range(5):
        hook.ping()
        delivery = Delivery.claim()
        delivery.end(500)
        delivery.refresh_from_db()
        waits.add(round((delivery.next_at - timezone.now()).total_seconds(), 2))
        assert 4 < max(waits) <= 5.5
    assert len(waits) > 1


def test_what_is_off_or_in_the_bin_waits(project, alice, hook):
    hook.ping()
    hook.change(is_on=False)
    assert Delivery.claim() is None
    hook.change(is_on=True)
    project.put_into_bin()
    assert Delivery.claim() is None
    Project._base_manager.get(pk=project.pk).take_out_of_bin()
    assert Delivery.claim()


def test_it_can_be_sent_again_and_that_is_not_overwritten(hook):
    hook.ping()
    claimed = Delivery.claim()
    Delivery.objects.get().send_again()
    claimed.end(200)
    delivery = Delivery.objects.get()
    Delivery.objects.update(delivered_at=timezone.now())
    delivery.send_again()
    assert delivery.delivered_at is None  # what failed at last is not shown as delivered
    assert (delivery.state, delivery.attempts) == ("waiting", 0)
    assert Delivery.claim().message_id == claimed.message_id
    hook.change(is_on=False)
    with pytest.raises(Refused, match="Switch it on first"):
        Delivery.objects.get().send_again()
    with pytest.raises(Refused, match="Switch it on first"):
        hook.ping()


@pytest.mark.django_db(transaction=True)
def test_what_a_killed_worker_has_claimed_is_sent_by_another_once_more(monkeypatch):
    """The work is stored, so the event is; whoever took it is gone."""
    alice = factories.manager("alice")
    project = factories.project(by=alice)
    Webhook.make(project, url=URL, events=ALL, by=alice)
    work_on(project, alice)
    assert Delivery.claim() and Delivery.claim() is None
    later = timezone.now() + Delivery.CLAIMED + timedelta(seconds=1)
    monkeypatch.setattr("django.utils.timezone.now", lambda: later)
    sent = []
    monkeypatch.setattr(sending, "attempt", lambda delivery: sent.append(delivery) or (200, ""))
    send = Sender()
    while send():
        pass
    assert len(sent) == 1
    assert Delivery.objects.get().state == "delivered"


@pytest.mark.django_db(transaction=True)
def test_two_workers_do_not_send_the_same(monkeypatch):
    alice = factories.manager("alice")
    hook = Webhook.make(factories.project(by=alice), url=URL, events=ALL, by=alice)
    for _ in range(30):
        hook.ping()
    sent = []
    monkeypatch.setattr(sending, "attempt", lambda delivery: sent.append(delivery.pk) or (200, ""))

    def send_all():
        send = Sender()
        while send():
            pass

    at_once(send_all, send_all, send_all)
    assert len(sent) == 30 and len(set(sent)) == 30


@pytest.mark.django_db(transaction=True)
def test_a_worker_sends_beside_its_jobs(monkeypatch):
    """In a thread of its own, also after an error, and without a transaction that waits for the receiver."""
    alice = factories.manager("alice")
    hook = Webhook.make(factories.project(by=alice), url=URL, events=ALL, by=alice)
    over, done, failures = threading.Event(), threading.Event(), [ZeroDivisionError()]

    def answer(delivery):
        if failures:
            raise failures.pop()
        assert not connection.in_atomic_block
        done.set()
        return 200, ""

    send = Sender()

    def once_and_close():
        try:
            return send()
        finally:
            connection.close()

    monkeypatch.setattr(sending, "attempt", answer)
    monkeypatch.setattr(jobs, "BESIDE", [once_and_close])
    hook.ping()
    hook.ping()
    jobs.start_beside(over.is_set, poll=0.01)
    assert done.wait(30)
    over.set()
    [thread.join(10) for thread in threading.enumerate() if thread.name.endswith("(go_on)")]


@pytest.mark.django_db(transaction=True)
def test_a_webhook_is_deleted_while_events_come():
    alice = factories.manager("alice")
    project = factories.project(by=alice)
    hook = Webhook.make(project, url=URL, events=ALL, by=alice)
    annotation = work_on(project, alice)

    def work():
        for _ in range(20):
            annotation.reopen()
            annotation.finish()

    with running(work, hook.erase):
        pass
    assert (Webhook.objects.count(), Delivery.objects.count()) == (0, 0)
    assert Annotation.objects.get(pk=annotation.pk).done_at


# --- Operations ----------------------------------------------------------------------------------------------------------


def test_a_program_gets_the_secret_when_it_is_made_and_renewed_and_pages_the_log(project, alice):
    token, address = token_of("alice"), f"/api/v1/projects/{project.pk}/webhooks"
    made = request("POST", address, token, {"url": URL, "events": ["project.done", "item.done"]}).json()
    assert (made["events"], made["secret"]) == (["item.done", "project.done"], Webhook.objects.get().secret)
    one = f"{address}/{made['id']}"
    assert "secret" not in request("GET", one, token).json()
    renewed = request("POST", f"{one}/secret", token).json()["secret"]
    assert renewed == Webhook.objects.get().secret != made["secret"]
    sent = [request("POST", f"{one}/ping", token).json()["id"] for _ in range(3)]
    page = request("GET", f"{one}/deliveries?limit=2", token).json()
    assert [each["id"] for each in page["results"]] == sent[:2] and page["next"]
    refused = request("PATCH", one, token, {"url": "https://10.0.0.1/"}).json()
    assert refused["problems"][0]["place"] == "url"
    assert request("PATCH", one, token, {"events": ["item.gone"]}).status_code == 422
    assert request("PATCH", one, token, {"is_on": False}).json()["is_on"] is False
    assert request("POST", f"{one}/ping", token).status_code == 422


# --- Pages ---------------------------------------------------------------------------------------------------------------


def test_the_page_shows_the_log_and_the_secret_only_when_asked(as_alice, project, hook):
    hook.ping()
    Delivery.claim().end(500, "<b>no</b>")
    address = f"/projects/{project.pk}/webhooks/{hook.pk}/"
    page = as_alice.get(address).text
    assert "&lt;b&gt;no&lt;/b&gt;" in page and "500" in page and hook.secret not in page
    assert hook.secret in as_alice.get(f"{address}secret/").text
    assert 'hx-trigger="load delay:2s"' in page
    part = as_alice.get(address, headers={"HX-Target": "deliveries"}).text
    assert "<html" not in part and "500" in part


def test_a_refusal_is_told_on_the_page(as_alice, project, hook):
    hook.change(is_on=False)
    answer = as_alice.post(f"/projects/{project.pk}/webhooks/{hook.pk}/ping/", headers={"HX-Request": "false"})
    assert answer.status_code in (302, 422)
    assert Delivery.objects.count() == 0
    page = as_alice.post(f"/projects/{project.pk}/webhooks/", {"url": "http://example.org/", "events": ["item.done"]})
    assert page.status_code == 422 and "begins with https://" in page.text
