"""Data comes in through the browser: every kind from its file to the page of its dataset, and what happens on the way."""

import json
import re
import threading
from contextlib import contextmanager

import pytest
from django.db import connection
from playwright.sync_api import APIResponse, Page, Route, expect

from annotation_service import jobs
from datasets.models import Dataset
from tests import factories
from tests.e2e.test_axe import sound
from tests.e2e.waiting import settled, until

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

RICH = {"original": "Replace pump P-101.", "tokens": ["Replace", "pump", "P-101", "."], "external_id": "WO-1"}
ENTITIES = {
    "original": "left thermostat leaks",
    "tokens": ["left", "thermostat", "leaks"],
    "entities": [
        {"start": 0, "end": 1, "label": "PhysicalObject/SensingObject/Thermostat"},
        {"start": 2, "end": 2, "label": "State"},
    ],
}
RELATIONS = {
    **ENTITIES,
    "entities": [{"id": f"e{n}", **entity} for n, entity in enumerate(ENTITIES["entities"])],
    "relations": [{"source_id": "e1", "target_id": "e0", "label": "hasParticipant/hasPatient"}],
}


@pytest.fixture
def desk(page: Page, sign_in, alice) -> Page:
    factories.ontology(owner=alice, name="Maintenance")
    factories.ontology(owner=alice, kind="relation", name="Relations")
    for n in range(8):  # so many that they are searched
        factories.ontology(owner=alice, name=f"Other {n}")
    sign_in(page, alice)
    page.goto("/datasets/new/")
    return page


def choose(page: Page, content: str, name: str) -> None:
    expect(page.locator("#id_file")).to_be_attached()
    settled(page)
    page.locator("#id_file").set_input_files({"name": name, "mimeType": "text/plain", "buffer": content.encode()})


def paste(page: Page, content: str) -> None:
    expect(page.get_by_label("Paste text or JSON")).to_be_visible()
    settled(page)
    page.get_by_label("Paste text or JSON").fill(content)


def kind(page: Page, name: str):
    return page.get_by_role("radio", name=re.compile(f"^{name}"))


def check(page: Page) -> None:
    page.get_by_role("button", name="Check and preview").click()


def create(page: Page) -> None:
    expect(page.get_by_text("Everything is in order.")).to_be_visible()
    page.get_by_role("button", name="Create dataset").click()
    stored(page)


def stored(page: Page) -> None:
    """Until the page of the dataset is there: what was read may have its name and its texts, too."""
    expect(page.get_by_role("navigation", name="Dataset")).to_be_visible(timeout=60_000)


def add(page: Page, what: str) -> None:
    page.get_by_role("button", name=f"Add {what}", exact=True).click()
    stored(page)


def change_something(page: Page) -> None:
    page.get_by_role("link", name="Change something").click()
    expect(page.get_by_text("you need not choose it again")).to_be_visible()
    settled(page)


def search_ontology(page: Page) -> None:
    settled(page)
    expect(page.get_by_role("radio", name="Maintenance")).to_have_count(0)
    page.get_by_placeholder("Search by name").first.fill("mainten")
    page.get_by_role("radio", name="Maintenance").check()


def test_lines_of_text_become_a_standard_dataset(desk: Page):
    choose(desk, "Replace the PUMP.\n\nReplace the pump.\nCheck oil.\n", "orders.txt")
    expect(desk.locator("#detected")).to_contain_text("This is text, one item a line: 3 lines.")
    desk.get_by_text("Lower-case the text").click()
    desk.get_by_label("Remove duplicates").select_option("identical")
    expect(desk.locator("#preview")).to_contain_text("duplicate, dropped")
    check(desk)
    expect(desk.get_by_text("blank lines, skipped")).to_be_visible()
    assert not Dataset.objects.exists()
    create(desk)
    expect(desk.get_by_role("heading", name="orders")).to_be_visible()
    assert [item.tokens for item in Dataset.objects.get().items()] == [
        ["replace", "the", "pump", "."],
        ["check", "oil", "."],
    ]


def test_json_lines_become_a_rich_dataset_and_lines_of_text_are_cut_for_it(desk: Page):
    choose(desk, f"{json.dumps(RICH)}\n{json.dumps({**RICH, 'external_id': 'WO-2'})}\n", "orders.jsonl")
    expect(kind(desk, "Rich")).to_be_checked()
    expect(desk.locator("#detected")).to_contain_text("This is JSON Lines")
    expect(desk.get_by_text("Lower-case the text")).to_be_hidden()
    desk.get_by_label("Name").fill("Tokens")
    check(desk)
    expect(desk.get_by_text("WO-2")).to_be_visible()
    create(desk)
    expect(desk.get_by_role("heading", name="Tokens")).to_be_visible()
    assert Dataset.objects.get().item_count == 2
    desk.get_by_role("link", name="Add items").click()
    paste(desk, "Top up.\nCheck P-102\n")
    desk.get_by_role("radio", name="White space").check()
    expect(desk.locator("#preview .token-list").first).to_contain_text("up.")
    check(desk)
    add(desk, "2 items")
    expect(desk.get_by_text("“Tokens” has more items: 2 items, 4 tokens.")).to_be_visible()
    assert [item.tokens for item in Dataset.objects.get().items()][2:] == [["Top", "up."], ["Check", "P-102"]]


@pytest.mark.parametrize("is_chosen", [True, False])
def test_a_late_preview_leaves_the_ontology_that_is_searched_or_chosen(desk: Page, is_chosen):
    held: list[tuple[Route, APIResponse]] = []
    expect(kind(desk, "Standard")).to_be_checked()
    settled(desk)
    kind(desk, "Preannotated entities").check()
    desk.get_by_label("Read as").select_option("json")
    desk.wait_for_timeout(500)  # longer than the page waits before it asks
    settled(desk)
    desk.route("**/datasets/new/preview/", lambda route: held.append((route, route.fetch())))
    paste(desk, json.dumps([ENTITIES]))
    until(lambda: held or desk.wait_for_timeout(50), "no preview was asked for")
    route, answer = held[0]
    choices = desk.locator("#entity-choices")
    if is_chosen:
        choices.locator("input").last.evaluate("radio => radio.click()")
    else:
        desk.get_by_placeholder("Search by name").first.fill("other 1")
        expect(choices.get_by_role("radio")).to_have_count(1)
    with desk.expect_response("**/datasets/new/preview/"):
        route.fulfill(response=answer)
    desk.unroute("**/datasets/new/preview/")
    settled(desk)
    if is_chosen:
        expect(choices.locator("input").last).to_be_checked()
    else:
        expect(choices.get_by_role("radio")).to_have_count(1)


def test_a_preannotated_relation_file_is_pasted_and_becomes_a_dataset(desk: Page):
    paste(desk, json.dumps([RELATIONS], indent=1))
    expect(kind(desk, "Preannotated relations")).to_be_checked()
    search_ontology(desk)
    expect(desk.get_by_role("radio", name="Relations", exact=False).last).to_be_checked()  # the only one there is
    desk.get_by_label("Name").fill("Related")
    check(desk)
    expect(desk.get_by_role("list", name="Relations")).to_contain_text("hasPatient")
    expect(desk.locator(".arc text")).to_have_text(["hasPatient"])
    create(desk)
    expect(desk.get_by_role("heading", name="Related")).to_be_visible()
    desk.goto(f"{desk.url}items/{Dataset.objects.get().items().get().pk}/")
    expect(desk.locator(".arc text")).to_have_text(["hasPatient"])
    expect(desk.locator(".sheet > .text")).to_have_text("left thermostat leaks")
    expect(desk.locator(".mark-name")).to_have_text(["Thermostat", "State"])  # in the order of the text


def test_the_example_of_each_kind_is_loaded_and_taken_for_its_kind(desk: Page):
    for name in ("Rich", "Preannotated entities", "Preannotated relations", "Standard"):
        kind(desk, name).check()
        desk.get_by_role("button", name="Load this example").click()
        expect(desk.locator("#preview")).to_contain_text("It makes" if name != "Standard" else "Distinct words")
        expect(kind(desk, name)).to_be_checked()
        expect(desk.locator("#preview .warning")).to_have_count(0)


def test_an_example_takes_the_place_of_a_kept_file(desk: Page):
    choose(desk, json.dumps([RICH]), "orders.json")
    check(desk)
    change_something(desk)
    expect(desk.get_by_label("Paste text or JSON")).to_be_hidden()
    desk.get_by_role("button", name="Load this example").click()
    expect(desk.get_by_label("Paste text or JSON")).to_have_value(re.compile("Replace engine oil"))
    check(desk)
    expect(desk.locator(".drawn-items")).to_contain_text("Replace engine oil and filter.")
    create(desk)
    expect(desk.get_by_role("heading", name="orders")).to_be_visible()


def test_a_file_with_errors_is_corrected_and_checked_again(desk: Page, problems):
    problems.expect("422")
    wrong = {**ENTITIES, "entities": [{"start": 0, "end": 7, "label": "Stat"}], "colour": "red"}
    choose(desk, json.dumps([ENTITIES, wrong]), "wrong.json")
    expect(kind(desk, "Preannotated entities")).to_be_checked()
    expect(desk.get_by_role("group", name="Relation ontology")).to_be_hidden()
    expect(desk.locator("#preview")).to_contain_text("2 of 3 labels")
    expect(desk.locator("#preview")).to_contain_text("Missing there: Stat.")
    expect(desk.locator("#entity-choices input:checked")).to_have_count(1)
    search_ontology(desk)
    expect(desk.locator("#preview")).to_contain_text("“Maintenance” is chosen: 2 of 3 labels")
    check(desk)
    expect(desk.get_by_text("Nothing can be stored yet:")).to_be_visible()
    expect(desk.locator(".problems")).to_contain_text("“colour” is not known here")
    with desk.expect_download() as download:
        desk.get_by_role("link", name="Download the list").click()
    assert "item 2" in download.value.path().read_text()
    desk.get_by_role("link", name="Choose another file").click()
    expect(desk.get_by_role("radio", name="Maintenance")).to_be_checked()
    choose(desk, f"{json.dumps(ENTITIES)}\n" * 2, "right.jsonl")
    check(desk)
    expect(desk.locator(".marked-box", has_text="left thermostat").first).to_contain_text("Thermostat")
    create(desk)
    expect(desk.get_by_role("heading", name="right")).to_be_visible()
    expect(desk.locator("main")).to_contain_text("4 entities")
    assert Dataset.objects.get().item_count == 2


def test_what_is_wrong_has_the_focus(desk: Page, problems):
    problems.expect("422")
    paste(desk, "Replace pump")
    check(desk)
    expect(desk.get_by_text("Give the dataset a name.")).to_be_visible()
    expect(desk.locator("#id_name")).to_be_focused()


def test_what_is_typed_and_chosen_at_once_is_told_before_it_is_sent(desk: Page):
    paste(desk, "one")
    choose(desk, "two", "two.txt")
    expect(desk.get_by_text("There is pasted text, too.")).to_be_visible()
    desk.get_by_role("button", name="Take the file out again").click()
    expect(desk.get_by_text("There is pasted text, too.")).to_be_hidden()
    choose(desk, "", "two.txt")
    desk.locator("#id_file").set_input_files({"name": "x.txt", "mimeType": "text/plain", "buffer": b"na\xefve"})
    expect(desk.locator("#preview")).to_contain_text("na�ve")
    paste(desk, "")
    check(desk)
    desk.get_by_text("Windows-1252").click()
    desk.locator("#encoding").get_by_role("button", name="Check again").click()
    expect(desk.locator(".drawn-items")).to_contain_text("naïve")


def test_items_whose_external_ids_are_there_replace_them(desk: Page):
    choose(desk, json.dumps([RICH]), "orders.json")
    check(desk)
    create(desk)
    desk.get_by_role("link", name="Add items").click()
    paste(desk, json.dumps([{**RICH, "original": "Pump", "tokens": ["Pump"]}]))
    check(desk)
    expect(desk.get_by_role("heading", name="External ids that are taken")).to_be_visible()
    desk.get_by_text("Replace the earlier ones").click()
    desk.get_by_role("button", name="Check again").first.click()
    add(desk, "1 item")
    expect(desk.locator("main")).to_contain_text("Pump")
    assert [item.original for item in Dataset.objects.get().items()] == ["Pump"]
    desk.get_by_role("link", name="Uploads").click()
    expect(desk.get_by_role("row")).to_have_count(3)
    desk.get_by_role("link", name="Show them").first.click()
    expect(desk.get_by_role("row").filter(has_text="Pump")).to_have_count(1)


# Returns whether the browser is free to do what it does with files.
DROP = """(zone, names) => {
  const data = new DataTransfer();
  for (const name of names) data.items.add(new File(["dropped line"], name, { type: "text/plain" }));
  const send = (name) => zone.dispatchEvent(new DragEvent(name, { dataTransfer: data, bubbles: true, cancelable: true }));
  return [send("dragover"), send("drop")];
}"""


def test_a_file_is_dropped(desk: Page):
    desk.locator("[data-dropzone]").evaluate(DROP, ["dropped.txt"])
    expect(desk.locator("[data-dropzone] output")).to_contain_text("dropped.txt")
    expect(desk.get_by_label("Name")).to_have_attribute("placeholder", "dropped")
    check(desk)
    create(desk)
    expect(desk.get_by_role("heading", name="dropped")).to_be_visible()


def test_files_that_are_dropped_beside_the_zone_or_are_too_many_do_no_harm(desk: Page):
    for beside in ("body", "#id_text"):
        assert desk.locator(beside).evaluate(DROP, ["lost.txt"]) == [False, False]
    expect(desk.locator("[data-dropzone] output")).to_be_empty()
    desk.locator("[data-dropzone]").evaluate(DROP, ["first.txt", "second.txt"])
    expect(desk.locator("[data-dropzone] output")).to_have_text(re.compile("^first.txt · [^,]*$"))
    expect(desk.locator("#toasts")).to_contain_text("One file at a time: “first.txt” was taken.")


def test_sent_before_the_kind_is_known_the_form_waits_for_it(desk: Page):
    held: list[Route] = []
    go_on = threading.Event()
    desk.route("**/datasets/new/preview/", lambda route: route.continue_() if go_on.is_set() else held.append(route))
    with desk.expect_request("**/datasets/new/preview/"):
        choose(desk, json.dumps([RICH]), "orders.json")
        check(desk)
    desk.wait_for_timeout(500)
    assert desk.url.endswith("/datasets/new/")
    go_on.set()
    for route in held:
        route.continue_()
    expect(desk.locator(".page-head")).to_contain_text("Rich dataset")


def test_every_screen_can_be_read_by_everybody_and_fits_a_phone(desk: Page, problems, settings):
    problems.expect("422")
    wrong = {**RELATIONS, "colour": "red", "external_id": "1"}
    choose(desk, json.dumps([RELATIONS, wrong, wrong]), "a file with a rather long name that goes on and on.json")
    expect(kind(desk, "Preannotated relations")).to_be_checked()
    expect(desk.locator("#preview")).to_contain_text("covers the entity labels best")
    sound(desk)
    search_ontology(desk)
    check(desk)
    expect(desk.get_by_role("link", name="Download the list")).to_be_visible()
    sound(desk)
    change_something(desk)
    paste(desk, json.dumps([{**RELATIONS, "external_id": "1"}]))
    check(desk)
    expect(desk.get_by_text("Everything is in order.")).to_be_visible()
    sound(desk)
    create(desk)
    sound(desk)
    desk.get_by_role("link", name="Add items").click()
    expect(desk.get_by_role("heading", name="Add items")).to_be_visible()
    sound(desk)
    paste(desk, json.dumps([{**RELATIONS, "external_id": "1"}]))
    check(desk)
    expect(desk.get_by_role("heading", name="External ids that are taken")).to_be_visible()
    sound(desk)
    desk.goto(f"{Dataset.objects.get().get_absolute_url()}uploads/")
    sound(desk)
    settings.JOB_FILE_BYTES = 1
    desk.goto("/datasets/new/")
    choose(desk, "one line", "large.txt")
    check(desk)
    expect(desk.get_by_text("No worker is running")).to_be_visible()
    sound(desk)
    desk.goto("/")
    sound(desk)


# --- Large files ---


@contextmanager
def worker():
    """A worker in a thread, as `manage.py worker` runs it."""
    stop = threading.Event()

    def work() -> None:
        jobs.work(stop.is_set)
        connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_a_large_file_waits_for_a_worker_is_cancelled_once_and_then_stored(desk: Page, settings, monkeypatch):
    settings.JOB_FILE_BYTES = 100_000
    held, go_on = threading.Event(), threading.Event()
    call = jobs.Progress.__call__

    def slow(progress: jobs.Progress, done: int, total: int, phase: str) -> None:
        """Waits in the middle, so that somebody can look at it."""
        call(progress, done, total, phase)
        if phase == "reading" and done >= 4000 and not go_on.is_set():
            held.set()
            while not progress.cancelled and not go_on.wait(0.05):
                pass
            call(progress, done, total, phase)

    monkeypatch.setattr(jobs.Progress, "__call__", slow)
    choose(desk, "".join(f"replace engine oil number {n}\n" for n in range(20_000)), "large.txt")
    check(desk)
    expect(desk.get_by_text("No worker is running")).to_be_visible()
    with worker():
        assert held.wait(60)
        expect(desk.get_by_text("No worker is running")).to_be_hidden()
        expect(desk.get_by_role("progressbar", name="Progress")).to_have_attribute("value", "4000")
        expect(desk.get_by_text("Reading: 4 000 of about")).to_be_visible()
        desk.get_by_role("button", name="Cancel").click()
        expect(desk.get_by_text("Cancelled. Nothing was stored")).to_be_visible()
        go_on.set()
        desk.get_by_role("link", name="Go on").click()
        expect(desk.get_by_text("you need not choose it again")).to_be_visible()
        check(desk)
        expect(desk.get_by_text("Everything is in order.")).to_be_visible()
        assert not Dataset.objects.exists()
        desk.reload()
        create(desk)
        expect(desk.get_by_text("“large” is ready: 20 000 items")).to_be_visible()
    assert Dataset.objects.get().item_count == 20_000


@pytest.mark.parametrize("address", ["/ontologies/new/", "/constraints/new/"])
def test_what_is_made_from_a_file_takes_its_name_unless_one_was_typed(page: Page, sign_in, alice, address):
    factories.ontology(owner=alice)
    sign_in(page, alice)
    page.goto(address)
    name = page.locator("#id_name")
    expect(name).to_be_focused()
    page.get_by_role("radio", name="Upload a file").check()

    def choose_file(called: str) -> None:
        file = {"name": called, "mimeType": "application/json", "buffer": b"[]"}
        page.locator("input[type=file]").set_input_files(file)

    choose_file("pumps.v2.json")
    expect(name).to_have_value("pumps.v2")
    choose_file("valves.json")
    expect(name).to_have_value("valves")
    name.fill("Typed by hand")
    choose_file("pumps.json")
    expect(name).to_have_value("Typed by hand")
    name.fill("")
    choose_file("p" * 300 + ".json")
    expect(name).to_have_value("p" * 200)
