"""The store of what is not on the server yet: its own changes leave it whole; 14 days or its person's leave do not."""

import pytest
from playwright.sync_api import expect

from tests.e2e.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

IN_STORE = "async ([call, ...values]) => (await import('/static/js/kept.js'))[call](...values)"
OLD_STORE = """(person) => new Promise((done) => {
  const request = indexedDB.open("annotating", 1);
  request.onupgradeneeded = () => {
    const table = request.result.createObjectStore("waiting", { keyPath: "id", autoIncrement: true });
    table.createIndex("owner", ["person", "project"]);
  };
  request.onsuccess = () => {
    const { result: database } = request;
    const transaction = database.transaction("waiting", "readwrite");
    const operation = { kind: "entity", verb: "add", uid: "1", label: "x" };
    const rest = { item: { number: 1, url: "/projects/7/items/1/" }, operation, inverse: [], revision: 0 };
    transaction.objectStore("waiting").add({ person, project: 7, tab: "gone", ...rest });
    transaction.oncomplete = () => (database.close(), done());
  };
})"""
TAKEN_OVER = """async ([person, place]) => {
  const { Store } = await import("/static/js/kept.js");
  return new Store(person, place, ["operation"]).takeOver();
}"""
DAYS_LATER = "(days) => { const now = Date.now; Date.now = () => now() + days * 24 * 3600 * 1000; }"


@pytest.fixture
def ask(page, sign_in, carol):
    """``ask("countWaiting", 1)``: a function of the store, as carol on some page."""
    sign_in(page, carol)
    page.goto("/projects/")
    return lambda *call: page.evaluate(IN_STORE, list(call))


@pytest.fixture
def old_store(page, carol, problems):
    """Where no script of ours has opened the store yet; what it has cannot be sent."""
    problems.expect("ERR_FAILED")
    page.route("**/entities/add/", lambda route: route.abort())
    page.goto("/static/favicon.svg")
    page.evaluate(OLD_STORE, carol.pk)


def test_what_an_earlier_version_kept_is_still_sent(old_store, page, carol):
    assert page.evaluate(IN_STORE, ["countWaiting", carol.pk]) == 1
    (entry,) = page.evaluate(TAKEN_OVER, [carol.pk, "project 7"])
    assert entry["operation"]["uid"] == "1" and entry["item"]["number"] == 1
    assert page.evaluate(TAKEN_OVER, [carol.pk, "project 8"]) == []


@pytest.mark.parametrize("days, left", [(13, 1), (15, 0)])
def test_nothing_is_kept_for_more_than_14_days(old_store, ask, page, carol, days, left):
    ask("keepDraft", carol.pk, "guidelines", {"text": "Mark"})
    assert ask("draftOf", carol.pk, "guidelines")["value"] == {"text": "Mark"}
    ask("keepPage", carol.pk, "project 7", "/1/", {"at": page.evaluate("Date.now()")})
    assert ask("keptPage", carol.pk, "project 7", "/1/")
    page.add_init_script(f"({DAYS_LATER})({days})")
    page.reload()
    assert (ask("countWaiting", carol.pk), ask("countDrafts", carol.pk)) == (left, left)
    assert bool(ask("keptPage", carol.pk, "project 7", "/1/")) == bool(left)


def test_drafts_are_of_one_person_and_place(ask, alice, carol):
    ask("keepDraft", carol.pk, "a", "Mine")
    ask("keepDraft", alice.pk, "a", "Theirs")
    assert ask("draftOf", carol.pk, "b") is None
    ask("dropDraft", carol.pk, "a")
    assert ask("countDrafts", carol.pk) == 0
    assert ask("draftOf", alice.pk, "a")["value"] == "Theirs"


def test_signing_out_takes_drafts_along_once_the_person_agrees(ask, page, alice, carol):
    ask("keepDraft", carol.pk, "a", "Mine")
    ask("keepDraft", alice.pk, "a", "Theirs")
    page.locator("details.menu summary[aria-label^='Your account']").click()
    page.get_by_role("button", name="Sign out").click()
    asked = page.locator(".toast.warning")
    expect(asked).to_contain_text("1 draft that was not sent is deleted from this browser.")
    assert ask("countDrafts", carol.pk) == 1
    asked.get_by_role("button", name="Sign out now").click()
    expect(page.locator(".topbar")).to_have_count(0)
    until(lambda: ask("countDrafts", carol.pk) == 0, "the draft is still there")
    assert ask("countDrafts", alice.pk) == 1
