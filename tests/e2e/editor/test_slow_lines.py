"""Typing in every field of the editor, at any speed, over slow lines and one that is cut: what is stored is what was typed."""

import re

import pytest
from django.conf import settings
from playwright.sync_api import expect

from tests.e2e.editing import Late
from tests.e2e.typists import as_people_type
from tests.e2e.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

TERMS = ["gear box", "belt", "V-belt", "chain drive", "axle", "hub"]


def until_stored(editor, name, **fields):
    def stored():
        return {field: getattr(editor.ontology.items().filter(name=name).first(), field, None) for field in fields}

    until(lambda: stored() == fields, f"{fields} is not stored")


def all_sent(editor):
    expect(editor.page.locator("#unsent:not(:empty)")).to_have_count(0)
    expect(editor.page.locator("#tree .new-item, #details .saving")).to_have_count(0)


def choose(editor, name, field):
    """Click on a row, and at once where the field stands."""
    while not (box := editor.details.locator(f"{field}:visible").bounding_box()):
        pass  # it has just given way to that of other details
    editor.row(name).locator(".name").click()
    editor.page.mouse.click(box["x"] + 10, box["y"] + 5)


def until_marked(typist, editor, marked):
    """What was typed while the line was cut says so."""
    if typist.manner.is_cut:
        expect(editor.page.locator("#unsent")).to_contain_text("not saved yet, trying again")
        expect(marked).not_to_have_count(0)
    typist.mend()


@as_people_type(speed=30, latency=400)
def test_new_labels(edit, page, typist):
    editor = edit([])
    page.get_by_role("button", name="Add the first item").click()
    typist.type("Pump⏎⇥Rotor⏎⇤Valve⏎⇥Seat⏎Spring⏎⏎")
    until_marked(typist, editor, page.locator("#tree .new-item form.unsent"))
    all_sent(editor)
    wanted = [(1, "Pump"), (2, "Rotor"), (1, "Valve"), (2, "Seat"), (2, "Spring")]
    until(lambda: [row[:2] for row in editor.stored()] == wanted, "other labels are stored")
    assert editor.ontology.changes.count() == len(wanted)
    editor.in_step()


@as_people_type(speed=60, latency=150)
def test_a_new_name(editor, page, typist):
    editor.go("State")
    editor.press("F2")
    typist.type("Condition of a thing⏎")
    until_marked(typist, editor, page.locator("#tree form.unsent"))
    expect(editor.shown("Condition of a thing")).to_be_visible()
    all_sent(editor)
    editor.in_step()


@as_people_type(speed=60, latency=400)
def test_descriptions_of_one_label_after_the_other(editor, page, typist):
    names = ["State", "Activity", "Thermostat"]
    page.get_by_role("button", name="Expand all").click()
    editor.select("State")
    for name in names:
        choose(editor, name, "textarea")
        typist.type(f"About {name}.")
        typist.mend()
    page.locator("#search").click()
    all_sent(editor)
    for name in names:
        until_stored(editor, name, description=f"About {name}.")
    editor.in_step()


@as_people_type(speed=30, latency=150)
def test_example_terms(editor, page, typist):
    editor.select("State")
    editor.details.locator("input[name=add]").click()
    typist.type("⏎".join(TERMS) + "⏎")
    until_marked(typist, editor, page.locator("#details form.unsent .saving"))
    until_stored(editor, "State", example_terms=TERMS)
    all_sent(editor)
    editor.in_step()


@as_people_type(speed=60, latency=50)
def test_terms_and_texts_typed_while_the_details_are_on_their_way(editor, page, typist):
    editor.select("State")
    choose(editor, "Activity", "input[name=add]")
    typist.type("running⏎walking⏎")
    until_marked(typist, editor, page.locator("#details form.unsent .saving"))
    until_stored(editor, "Activity", example_terms=["running", "walking"])
    until_stored(editor, "State", example_terms=[])
    all_sent(editor)


def test_keys_that_are_typed_before_the_details_come_are_for_the_label_that_is_selected(editor, page, alice):
    editor.ontology.items().get(name="Activity").describe("What is done.", by=alice)
    editor.select("State")
    details = Late(page, f"**/items/{editor.uid('Activity')}/")
    editor.row("Activity").locator(".name").click()
    details.made()
    editor.details.locator("textarea").click(force=True)
    expect(editor.details.locator("h2:visible")).to_have_text("Activity")
    page.keyboard.type("Or begun.")
    editor.press("ArrowLeft")
    details.arrive()
    expect(editor.details.locator(".description textarea")).to_be_focused()
    page.keyboard.type(" or ended")
    page.locator("#search").click()
    until_stored(editor, "Activity", description="What is done. Or begun or ended.")
    until_stored(editor, "State", description="")


def test_the_pane_is_reached_by_tab_before_the_details_come(editor, page):
    editor.select("State")
    details = Late(page, f"**/items/{editor.uid('Activity')}/")
    editor.row("Activity").locator(".name").click()
    details.made()
    for _ in range(60):
        editor.press("Tab")
        if page.evaluate("document.activeElement.matches('#details .coming textarea')"):
            break
    page.keyboard.type("Done")
    details.arrive()
    expect(editor.details.locator(".description textarea")).to_be_focused()
    editor.press("Control+Enter")
    until_stored(editor, "Activity", description="Done")


def test_a_refused_name_is_replaced_by_what_is_typed_when_the_cursor_is_back(edit, page, problems):
    problems.expect("422 (Unprocessable")
    editor = edit([{"name": "Alpha"}])
    page.get_by_role("button", name="+ Top-level item").click()
    page.keyboard.type("Alpha\n")
    editor.press("Escape")
    expect(page.locator("#tree .new-item [aria-invalid=true]")).to_be_focused()
    page.keyboard.type("Epsilon\n")
    editor.press("Escape")
    expect(editor.shown("Epsilon")).to_be_visible()
    until(lambda: [row.name for row in editor.stored()] == ["Alpha", "Epsilon"], "other labels are stored")


# --- What is not saved ------------------------------------------------------------------------------------------------------


@pytest.fixture
def refusing(page, problems):
    """The server cannot be written to; ``refusing()`` ends that."""
    problems.expect("ERR_FAILED", "htmx:sendError", "htmx:afterRequest")
    writes = re.compile(r"/(add|rename|describe|example-terms|color|active)/$")
    page.route(writes, lambda route: route.abort())
    page.on("dialog", lambda dialog: dialog.accept())
    return lambda: page.unroute(writes)


def test_labels_that_are_not_saved_are_still_there_after_a_reload_and_sent_then(edit, page, refusing):
    editor = edit([{"name": "Machine"}])
    editor.go("Machine")
    editor.press("Insert")
    page.keyboard.type("Pump\n")
    editor.press("Tab")
    page.keyboard.type("Rotor\nSta")
    expect(page.locator("#tree form.unsent .note").first).to_be_visible()
    expect(page.locator("#unsent")).to_have_text("2 not saved yet, trying again")
    with page.expect_event("dialog"):
        page.reload()
    fields = page.locator("#tree .new-item input[name=name]")
    expect(fields).to_have_count(3)
    assert fields.evaluate_all("fields => fields.map(({ value }) => value)") == ["Pump", "Rotor", "Sta"]
    refusing()
    expect(fields).to_have_count(1)  # which was not sent yet
    expect(fields).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.type("tor\n")
    editor.press("Escape")
    wanted = [(1, "Machine"), (2, "Pump"), (3, "Rotor"), (3, "Stator")]
    until(lambda: [row[:2] for row in editor.stored()] == wanted, "other labels are stored")
    editor.in_step()
    expect(page.locator("#unsent")).to_be_empty()


def test_labels_that_are_typed_while_the_server_is_away_are_stored_after_a_reload(edit, page, refusing):
    editor = edit([])
    page.get_by_role("button", name="Add the first item").click()
    page.keyboard.type("Pump\n")
    editor.press("Tab")
    page.keyboard.type("Rotor\n")
    page.reload()
    refusing()
    until(lambda: [row[:2] for row in editor.stored()] == [(1, "Pump"), (2, "Rotor")], "other labels are stored")


def test_a_label_whose_answer_was_lost_is_added_once(edit, page, problems):
    problems.expect("ERR_FAILED", "htmx:sendError", "htmx:afterRequest")
    editor = edit([])
    lost = []

    def lose(route):
        if lost:
            return route.continue_()
        lost.append(route.fetch())
        return route.abort()

    page.route("**/items/add/", lose)
    page.get_by_role("button", name="Add the first item").click()
    page.keyboard.type("Pump\nValve\n\n")
    expect(editor.shown("Valve")).to_be_visible()
    expect(page.locator("#tree .new-item")).to_have_count(0)
    assert [row.name for row in editor.stored()] == ["Pump", "Valve"] and editor.ontology.changes.count() == 2
    editor.in_step()


def test_texts_that_are_not_saved_are_still_there_after_a_reload_and_sent_then(editor, page, refusing):
    editor.select("Activity")
    editor.details.locator("input[name=add]").click()
    page.keyboard.type("running\n")
    editor.details.locator("textarea").click()
    page.keyboard.type("What is done.")
    editor.select("State")
    editor.details.locator("textarea").click()
    page.keyboard.type("How a thing is.")
    expect(page.locator("#unsent")).to_have_text("2 not saved yet, trying again")
    with page.expect_event("dialog"):
        page.reload()
    expect(editor.details.locator("textarea")).to_have_value("How a thing is.")
    refusing()
    until_stored(editor, "Activity", description="What is done.", example_terms=["running"])
    page.locator("#search").click()
    editor.details.locator("textarea").press("Control+Enter")
    until_stored(editor, "State", description="How a thing is.")
    expect(page.locator("#unsent")).to_be_empty()


def test_what_is_refused_after_another_label_was_chosen_comes_back(editor, page, refusing, bob, problems):
    problems.expect("409 (Conflict)")
    editor.select("Activity")
    editor.details.locator("textarea").click()
    page.keyboard.type("Mine")
    editor.select("State")
    editor.ontology.items().get(name="Activity").describe("Theirs", by=bob)
    refusing()
    toast = page.locator(".toast.error")
    expect(toast).to_contain_text("Not saved: “Mine” for “Activity”.")
    toast.get_by_role("button", name="Open it").click()
    expect(editor.details.locator("h2", has_text="Activity")).to_be_visible()
    expect(editor.details.locator(".description textarea")).to_have_value("Mine")
    editor.press("Control+Enter")


@pytest.fixture
def without_details(editor, page, problems):
    """The details of Activity do not come; ``without_details()`` ends that."""
    problems.expect("ERR_FAILED", "htmx:sendError", "htmx:afterRequest")
    page.on("dialog", lambda dialog: dialog.accept())
    editor.select("State")
    address = f"**/items/{editor.uid('Activity')}/"
    page.route(address, lambda route: route.abort())
    choose(editor, "Activity", "textarea")
    page.keyboard.type("What is done.")
    editor.press("Tab")
    page.keyboard.type("running\nwalk")
    return lambda: page.unroute(address)


def test_what_was_typed_before_the_details_came_is_there_after_a_reload(editor, page, without_details):
    with page.expect_event("dialog"):
        page.reload()
    without_details()
    until_stored(editor, "Activity", description="What is done.", example_terms=["running", "walk"])
    until_stored(editor, "State", description="", example_terms=[])
    all_sent(editor)
    editor.in_step()


def test_what_was_typed_for_a_label_that_was_left_before_its_details_came_is_sent_later(editor, page, without_details):
    editor.row("State").locator(".name").click()
    expect(page.locator("#unsent")).to_have_text("1 not saved yet, trying again")
    with page.expect_event("dialog"):
        page.reload()
    expect(page.locator("#unsent")).to_have_text("1 not saved yet, trying again")
    without_details()
    until_stored(editor, "Activity", description="What is done.", example_terms=["running", "walk"])
    until_stored(editor, "State", description="", example_terms=[])
    all_sent(editor)


@pytest.mark.parametrize("then", ["chosen", "reloaded"])
def test_a_term_that_is_removed_while_the_server_is_away_goes_later(editor, page, alice, refusing, then):
    editor.ontology.items().get(name="State").set_example_terms(["one", "two"], by=alice)
    editor.open()
    editor.select("State")
    editor.details.get_by_role("button", name="Remove “one”").click()
    expect(editor.details.locator(".leaving")).to_have_text("one×")
    expect(page.locator("#unsent")).to_have_text("1 not saved yet, trying again")
    if then == "chosen":
        editor.select("Activity")
    else:
        with page.expect_event("dialog"):
            page.reload()
        expect(editor.details.locator(".leaving")).to_have_text("one×")
    refusing()
    until_stored(editor, "State", example_terms=["two"])
    all_sent(editor)


def test_a_colour_that_is_not_saved_is_not_shown(editor, page, refusing):
    editor.select("State")
    before = editor.stored()
    other = editor.details.locator("input[type=color]")
    shown = other.input_value()
    other.fill("#123456")
    expect(page.locator(".toast.error")).to_contain_text("The server cannot be reached.")
    expect(other).to_have_value(shown)
    page.locator(".toast.error [aria-label=Dismiss]").click()
    editor.details.locator(".palette button:not([aria-pressed])").first.click()
    editor.row("Activity").locator(".name").click()
    expect(page.locator(".toast.error")).to_contain_text("The server cannot be reached.")
    assert editor.stored() == before


def signs_in_elsewhere(page, user):
    page.wait_for_load_state("networkidle")  # what is asked for signed out leads away
    user.set_password("a long secret")
    user.save()
    other = page.context.new_page()
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    other.goto("/accounts/login/")
    other.locator("#id_login").fill(user.username)
    other.locator("#id_password").fill("a long secret")
    other.keyboard.press("Enter")
    expect(other.locator("[data-signs-out]").first).to_be_attached()
    other.close()


def test_who_signs_in_again_in_another_tab_goes_on_here(edit, page, alice, problems):
    problems.expect("403")
    editor = edit([])
    signs_in_elsewhere(page, alice)
    page.get_by_role("button", name="Add the first item").click()
    page.keyboard.type("Pump\nValve\n\n")
    until(lambda: [row.name for row in editor.stored()] == ["Pump", "Valve"], "other labels are stored")
    all_sent(editor)
    expect(page.locator(".toast.error")).to_have_count(0)


def test_nothing_is_saved_as_somebody_else_who_signed_in_in_another_tab(edit, page, alice, bob, problems):
    problems.expect("403", "404")
    editor = edit([])
    signs_in_elsewhere(page, bob)
    page.get_by_role("button", name="Add the first item").click()
    page.keyboard.type("Pump\n")
    expect(page.locator(".toast.error")).to_contain_text("You were signed out.")
    expect(page.locator("#unsent")).to_have_text("1 not saved yet, trying again")
    assert editor.stored() == []
    signs_in_elsewhere(page, alice)
    until(lambda: [row.name for row in editor.stored()] == ["Pump"], "another label is stored")
    assert editor.ontology.changes.get().user == alice


# --- Example terms ----------------------------------------------------------------------------------------------------------


def test_example_terms_are_edited_with_keys_alone(editor, page, problems):
    problems.expect("422 (Unprocessable")
    editor.select("State")
    field = editor.details.locator("input[name=add]")
    editor.tab_to(field)
    page.keyboard.type("one, two\nthree\nfour\n")
    until_stored(editor, "State", example_terms=["one", "two", "three", "four"])
    editor.press("Backspace")
    expect(field).to_have_value("four")
    until_stored(editor, "State", example_terms=["one", "two", "three"])
    page.keyboard.type("teen\n")
    until_stored(editor, "State", example_terms=["one", "two", "three", "fourteen"])
    editor.press("ArrowLeft", "ArrowLeft", "Delete")
    until_stored(editor, "State", example_terms=["one", "two", "fourteen"])
    expect(field).to_be_focused()
    page.keyboard.type("two\n")
    expect(editor.details.locator(".doubled")).to_have_text("“two” is there already.")
    expect(field).to_have_value("two")
    page.keyboard.insert_text("x" * 201)
    page.keyboard.type(", five\n")
    until_stored(editor, "State", example_terms=["one", "two", "fourteen", "five"])
    editor.settled()
    expect(editor.details.locator(".errors")).to_contain_text("at most 200 characters")
    expect(field).to_have_value("x" * 201)


def test_terms_of_two_people_are_joined(editor, page, bob, problems):
    problems.expect("409 (Conflict)")
    editor.select("State")
    editor.ontology.items().get(name="State").set_example_terms(["theirs"], by=bob)
    editor.details.locator("input[name=add]").click()
    page.keyboard.type("mine\n")
    until_stored(editor, "State", example_terms=["theirs", "mine"])
    all_sent(editor)
