"""The annotation screen in a browser: with the mouse, with keys alone, and when the network fails."""

import re

import pytest
from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from datasets.models import Annotation, Item
from ontologies.models import OntologyItem
from projects.models import Project
from tests import factories
from tests.e2e.waiting import all_saved

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

TEXT = "left air conditioner thermostat not working replace\nreplace engine oil\ncheck coolant level\n"


class Desk:
    """The workspace as somebody uses it."""

    def __init__(self, page: Page, project, user) -> None:
        self.page, self.project, self.user = page, project, user

    def open(self, number: int = 1) -> None:
        item = self.project.dataset.items()[number - 1]
        self.page.goto(f"/projects/{self.project.pk}/annotate/{item.pk}/")
        self.ready(number)

    def ready(self, number: int) -> None:
        expect(self.page.locator(".item-bar > b")).to_have_text(str(number))
        expect(self.page.locator("html[data-ready]")).to_be_attached()

    def token(self, i: int):
        return self.page.locator(f".tok[data-i='{i}']")

    def drag(self, start: int, end: int) -> None:
        boxes = [self.token(i).bounding_box() for i in (start, end)]
        places = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes]
        self.page.mouse.move(*places[0])
        self.page.mouse.down()
        self.page.mouse.move(*places[1], steps=4)
        self.page.mouse.up()

    def pick(self, name: str) -> None:
        """Type into the picker and take the first label."""
        expect(self.page.locator("#picker input")).to_be_focused()
        self.page.keyboard.type(name)
        self.page.keyboard.press("Enter")
        expect(self.page.locator("#picker")).to_be_hidden()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def saved(self) -> None:
        all_saved(self.page)

    def return_to(self) -> None:
        """As when its tab is chosen again. By then the page may be on its way to the next item."""
        self.page.wait_for_function("() => dispatchEvent(new Event('focus'))")

    def names(self) -> list[str]:
        return sorted(self.page.locator(".mark-name").all_text_contents())

    def stored(self, number: int = 1) -> list[tuple]:
        self.saved()
        annotation = Annotation.objects.get(item=self.project.dataset.items()[number - 1], annotator=self.user)
        return sorted(annotation.entity_set.values_list("start", "end", "label__name"))

    def related(self) -> list[tuple]:
        self.saved()
        annotation = Annotation.objects.get(item=self.project.dataset.items()[0], annotator=self.user)
        return list(annotation.relation_set.values_list("source__start", "label__name", "target__start"))


@pytest.fixture
def desk(page, sign_in, alice, carol) -> Desk:
    project = factories.project(by=alice, annotators=[carol], text=TEXT, guidelines="Mark every object.")
    sign_in(page, carol)
    desk = Desk(page, project, carol)
    desk.open()
    return desk


@pytest.mark.database
def test_words_are_marked_by_dragging_and_by_clicking(desk):
    desk.drag(1, 2)
    desk.pick("sens")
    desk.token(3).click()
    desk.pick("thermo")
    desk.token(4).click()
    desk.token(5).click(modifiers=["Shift"])
    desk.pick("state")
    assert desk.names() == ["SensingObject", "State", "Thermostat"]
    assert desk.stored() == [(1, 2, "SensingObject"), (3, 3, "Thermostat"), (4, 5, "State")]


def test_dragging_backwards_marks_the_same_words(desk):
    desk.drag(3, 1)
    desk.pick("state")
    assert desk.stored() == [(1, 3, "State")]


@pytest.mark.database
def test_keys_alone_are_enough(desk):
    desk.press("ArrowRight", "ArrowRight", "Shift+ArrowRight", "s")  # the letter looks for a label already
    desk.pick("ensing")
    desk.press("ArrowRight", "Enter", "3")  # a leaf of the top level is taken by its number
    desk.press("ArrowRight", "1", "1", "Enter")  # into PhysicalObject, into SensingObject, which is taken itself
    assert desk.stored() == [(1, 2, "SensingObject"), (3, 3, "State"), (4, 4, "SensingObject")]
    desk.press("Escape", "Tab", "r", "Tab", "Enter")
    desk.pick("haspart")
    assert desk.related() == [(1, "hasPart", 3)]
    desk.press("Escape", "Tab", "Tab", "Delete")
    assert desk.stored() == [(1, 2, "SensingObject"), (4, 4, "SensingObject")]
    assert desk.related() == []
    desk.press("Control+Enter")
    desk.ready(2)
    desk.press("PageUp")
    desk.ready(1)
    desk.press("Alt+Enter", "ArrowRight", "Enter")
    desk.pick("activ")
    assert (0, 0, "Activity") in desk.stored()


def test_the_label_used_last_stands_first(desk):
    desk.token(0).click()
    desk.pick("replace")
    desk.press("ArrowRight", "Enter", "Enter")
    assert desk.stored() == [(0, 0, "Replace"), (1, 1, "Replace")]


def test_escape_leaves_everything_as_it_was(desk):
    desk.token(0).click()
    desk.press("Escape", "Escape")
    expect(desk.page.locator(".word-box")).to_have_count(0)
    expect(desk.page.locator("#picker")).to_be_hidden()
    assert desk.names() == []


def test_nested_and_overlapping_marks_lie_below_each_other(desk):
    for start, end, name in ((1, 2, "sens"), (1, 3, "phys"), (3, 4, "state")):
        desk.drag(start, end)
        desk.pick(name)
    assert len(desk.stored()) == 3
    tops = {name.inner_text(): name.bounding_box()["y"] for name in desk.page.locator(".mark-name").all()}
    assert tops["SensingObject"] == tops["State"] < tops["PhysicalObject"]


def test_a_mark_inside_another_is_made_with_a_double_click(desk):
    desk.drag(1, 3)
    desk.pick("phys")
    desk.token(2).dblclick()
    desk.pick("state")
    assert desk.stored() == [(1, 3, "PhysicalObject"), (2, 2, "State")]


def test_a_mark_is_relabelled_and_removed(desk):
    desk.token(0).click()
    desk.pick("state")
    desk.page.get_by_role("button", name="State").first.click()
    desk.page.get_by_role("button", name="Change label").click()
    desk.pick("replace")
    assert desk.stored() == [(0, 0, "Replace")]
    desk.token(0).click()
    desk.page.get_by_role("button", name="Remove").click()
    assert desk.stored() == []


def test_undo_and_redo(desk):
    desk.token(0).click()
    desk.pick("state")
    desk.token(4).click()
    desk.pick("activ")
    desk.press("r")
    desk.token(0).click()
    desk.pick("haspart")
    assert desk.related() == [(4, "hasPart", 0)]
    desk.token(0).click()
    desk.press("Delete")
    assert desk.related() == []
    desk.press("Control+z")
    assert desk.related() == [(4, "hasPart", 0)]
    desk.press("Control+z", "Control+z")
    assert desk.stored() == [(0, 0, "State")]
    desk.press("Control+y")
    assert desk.stored() == [(0, 0, "State"), (4, 4, "Activity")]


def test_relations_are_listed_relabelled_and_removed(desk):
    for token, name in ((0, "state"), (3, "thermo")):
        desk.token(token).click()
        desk.pick(name)
    desk.press("r")
    desk.page.locator(".mark-name", has_text="State").click()
    desk.pick("haspart")
    relation = desk.page.locator("#relations li")
    expect(relation).to_contain_text("thermostat hasPart left")
    expect(desk.page.locator(".arc text")).to_have_text("hasPart")
    relation.click()
    desk.page.get_by_role("button", name="Change label").click()
    desk.pick("haspatient")
    assert desk.related() == [(3, "hasPatient", 0)]
    relation.click()
    desk.page.get_by_role("button", name="Remove").click()
    assert desk.related() == []
    expect(desk.page.locator(".arc")).to_have_count(0)


def test_done_makes_an_item_read_only_until_it_is_reopened(desk):
    desk.page.locator("#done").click()
    desk.ready(2)
    expect(desk.page.locator("#done-count")).to_have_text("1")
    desk.press("PageUp")
    desk.ready(1)
    expect(desk.page.locator("#done-note")).to_be_visible()
    desk.drag(1, 2)
    expect(desk.page.locator("#picker")).to_be_hidden()
    desk.press("Delete")
    expect(desk.page.locator(".toast")).to_contain_text("Reopen it")
    desk.page.locator("#reopen").click()
    expect(desk.page.locator(".toast")).to_have_count(0)
    desk.drag(1, 2)
    desk.pick("state")
    assert desk.stored() == [(1, 2, "State")]


def test_the_last_item_leads_to_the_end(desk):
    for number in (1, 2, 3):
        desk.ready(number)
        desk.press("Control+Enter")
    expect(desk.page.get_by_role("heading", name="Everything is done")).to_be_visible()


def test_next_and_previous(desk):
    desk.press("PageDown")
    desk.ready(2)
    desk.page.locator("#next").click()
    desk.ready(3)
    desk.press("PageUp")
    desk.ready(2)


@pytest.mark.database
def test_what_cannot_be_sent_is_sent_again_and_stored_once(desk, problems):
    problems.expect("ERR_FAILED", "ERR_INTERNET_DISCONNECTED")
    lost = []

    def lose_the_answer(route: Route) -> None:
        if not lost:
            lost.append(route.fetch().status)  # stored, but the browser never hears of it
        route.abort()

    desk.page.route("**/entities/add/", lose_the_answer)
    desk.token(0).click()
    desk.pick("state")
    desk.token(3).click()
    desk.pick("thermo")
    expect(desk.page.locator("#saved")).to_have_text(re.compile("2 not saved yet, trying again"))
    desk.page.unroute("**/entities/add/")
    desk.page.evaluate("dispatchEvent(new Event('online'))")
    assert desk.stored() == [(0, 0, "State"), (3, 3, "Thermostat")]
    assert lost == [200]


def test_a_failing_server_is_tried_again(desk, problems):
    problems.expect("503")
    answers = [503, 503]
    desk.page.route(
        "**/entities/add/", lambda route: route.fulfill(status=answers.pop()) if answers else route.continue_()
    )
    desk.token(0).click()
    desk.pick("state")
    assert desk.stored() == [(0, 0, "State")]


def test_what_is_refused_is_taken_back_and_the_reason_stays(desk, alice, problems):
    problems.expect("422")
    OntologyItem.objects.get(ontology=desk.project.entity_ontology, name="State").switch(False, by=alice)
    desk.token(0).click()
    desk.pick("state")  # the page still offers it
    expect(desk.page.locator(".toast.error")).to_contain_text("switched off")
    expect(desk.page.locator(".mark-name")).to_have_count(0)
    expect(desk.page.locator("#saved")).to_have_text("1 change was refused")
    expect(desk.page.locator("#saved")).to_have_class("saved warn")


def refuse(desk, alice) -> None:
    """The page offers a label that cannot be applied any more."""
    OntologyItem.objects.get(ontology=desk.project.entity_ontology, name="State").switch(False, by=alice)
    desk.token(0).click()
    desk.pick("state")
    expect(desk.page.locator("#saved")).to_have_text("1 change was refused")


def test_a_refusal_is_said_until_it_is_dismissed(desk, alice, problems):
    problems.expect("422")
    refuse(desk, alice)
    desk.page.locator(".toast.error").get_by_role("button", name="Dismiss").click()
    desk.saved()


def test_a_refusal_is_said_until_the_next_change_is_saved(desk, alice, problems):
    problems.expect("422")
    refuse(desk, alice)
    desk.token(3).click()
    desk.pick("thermo")
    assert desk.stored() == [(3, 3, "Thermostat")]


class Held:
    """Requests to an address wait until the test lets the first one go."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.routes: list[Route] = []
        page.route(url, lambda route: self.routes.append(route))

    def release(self) -> None:
        for _ in range(400):
            if self.routes:
                return self.routes[0].continue_()
            self.page.wait_for_timeout(50)  # the browser asks a little after the key that makes it ask
        raise AssertionError("The request was not made.")


def test_an_item_is_not_done_when_a_change_before_that_was_refused(desk, alice, problems):
    problems.expect("422")
    OntologyItem.objects.get(ontology=desk.project.entity_ontology, name="State").switch(False, by=alice)
    held = Held(desk.page, "**/entities/add/")
    desk.token(0).click()
    desk.pick("state")
    desk.press("Control+Enter")
    expect(desk.page.locator("#done-note")).to_be_visible()
    held.release()
    expect(desk.page.locator("#saved")).to_have_text("1 change was refused")
    expect(desk.page.locator("#done-note")).to_be_hidden()
    desk.page.wait_for_timeout(300)
    desk.ready(1)
    assert not Annotation.objects.filter(done_at__isnull=False).exists()


def test_a_list_of_labels_follows_its_mark_to_another_uid_and_goes_when_that_is_refused(desk, alice, problems):
    problems.expect("422")
    held = Held(desk.page, "**/entities/add/")
    desk.token(0).click()
    desk.pick("state")
    desk.press("Enter")
    expect(desk.page.locator("#picker")).to_be_visible()
    state = OntologyItem.objects.get(ontology=desk.project.entity_ontology, name="State")
    mine = Annotation.objects.create(item=desk.project.dataset.items()[0], annotator=desk.user)
    mine.entity_set.create(uid="made-elsewhere", label=state, start=0, end=0)
    held.release()
    desk.saved()
    desk.pick("thermo")
    assert desk.stored() == [(0, 0, "Thermostat")]
    state.switch(False, by=alice)
    desk.page.unroute("**/entities/add/")
    held = Held(desk.page, "**/entities/add/")
    desk.token(3).click()
    desk.pick("state")
    desk.press("Enter")
    expect(desk.page.locator("#picker")).to_be_visible()
    held.release()
    expect(desk.page.locator("#saved")).to_have_text("1 change was refused")
    expect(desk.page.locator("#picker")).to_be_hidden()
    expect(desk.page.locator("#main .text")).to_be_focused()
    assert desk.names() == ["Thermostat"]


def test_a_refusal_takes_back_what_was_done_to_a_mark_that_the_server_knew(desk, alice, problems):
    problems.expect("422")
    state, activity = (
        OntologyItem.objects.get(ontology=desk.project.entity_ontology, name=name) for name in ("State", "Activity")
    )
    activity.switch(False, by=alice)
    held = Held(desk.page, "**/entities/add/")
    desk.token(0).click()
    desk.pick("state")
    desk.press("Enter")
    desk.pick("activ")
    assert desk.names() == ["Activity"]
    mine = Annotation.objects.create(item=desk.project.dataset.items()[0], annotator=desk.user)
    mine.entity_set.create(uid="made-elsewhere", label=state, start=0, end=0)
    held.release()
    expect(desk.page.locator("#saved")).to_have_text("1 change was refused")
    assert desk.names() == ["State"]
    desk.press("Escape", "Tab", "Delete")
    assert desk.stored() == []


def test_work_of_an_ended_session_is_saved_after_signing_in_again(desk, sign_in, problems):
    problems.expect("401")
    desk.page.context.clear_cookies(name="sessionid")
    desk.token(0).click()
    desk.pick("state")
    expect(desk.page.locator(".toast.error")).to_contain_text("signed out")
    expect(desk.page.locator("#saved")).to_have_text("1 not saved yet: sign in again")
    sign_in(desk.page, desk.user)
    desk.return_to()
    assert desk.stored() == [(0, 0, "State")]
    expect(desk.page.locator(".toast")).to_have_count(0)


def test_work_without_any_cookie_is_saved_after_signing_in_again(desk, sign_in, problems):
    problems.expect("403", "401")
    desk.page.context.clear_cookies()
    desk.token(0).click()
    desk.pick("state")
    expect(desk.page.locator(".toast.error")).to_contain_text("signed out")
    desk.press("Control+Enter")
    expect(desk.page.locator("#saved")).to_have_text("2 not saved yet: sign in again")
    assert desk.names() == ["State"]
    tab = desk.page.context.new_page()
    sign_in(tab, desk.user)
    tab.goto("/projects/")
    desk.return_to()
    desk.ready(2)
    annotation = Annotation.objects.get(annotator=desk.user)
    assert annotation.done_at is not None
    assert annotation.entity_set.get().label.name == "State"


def test_spans_are_right_around_characters_of_any_width(page, sign_in, alice, carol):
    texts = [[each, "one", each, each * 3, "two"] for each in ("👩‍🔧", "e\u0301", "𝔘𝔫𝔦", "مكيف")]
    lines = "".join(f"  {'  '.join(words)}\n" for words in texts)
    desk = Desk(page, factories.project(by=alice, annotators=[carol], text=lines), carol)
    sign_in(page, carol)
    for number, words in enumerate(texts, start=1):
        desk.open(number)
        assert page.locator(".tok").all_inner_texts() == words
        assert page.locator(".sheet .text").evaluate("node => node.textContent") == " ".join(words)
        desk.drag(1, 2)
        desk.pick("state")
        desk.press(".")
        expect(page.locator("[data-original] mark")).to_have_text(f"one  {words[0]}")
        assert desk.stored(number) == [(1, 2, "State")]
        assert page.locator(".mark-name").get_attribute("title") == f"State: one {words[0]}"


def test_the_picker_stays_small_with_many_labels(page, sign_in, alice, carol):
    labels = [{"name": f"Branch {n}", "children": [{"name": f"Leaf {n}.{m}"} for m in range(99)]} for n in range(100)]
    project = factories.Project.create(
        name="Many",
        by=alice,
        dataset=factories.dataset(owner=alice),
        entity_ontology=factories.ontology(owner=alice, items=labels),
        annotators=[carol],
    )
    sign_in(page, carol)
    desk = Desk(page, project, carol)
    desk.open()
    desk.token(0).click()
    assert page.locator(".option").count() <= 53
    page.keyboard.type("leaf")
    assert page.locator(".option").count() == 50
    page.keyboard.type(" 98.9")
    desk.press("Enter")
    assert desk.stored() == [(0, 0, "Leaf 98.9")]


def test_a_manager_reads_but_does_not_mark(desk, sign_in, alice):
    desk.token(0).click()
    desk.pick("state")
    desk.saved()
    sign_in(desk.page, alice)
    desk.page.goto(f"/projects/{desk.project.pk}/marks/carol/")
    desk.ready(1)
    expect(desk.page.locator("#reading")).to_contain_text("the marks of carol")
    expect(desk.page.locator(".mark-name")).to_have_text("State")
    expect(desk.page.locator("#done")).to_have_count(0)
    desk.token(3).click()
    expect(desk.page.locator("#picker")).to_be_hidden()
    desk.page.keyboard.type("plant")
    expect(desk.page.locator(".toast")).to_have_count(0)  # there is nothing to refuse
    desk.press("?")
    expect(desk.page.locator("#keys")).to_contain_text("to the next mark")
    expect(desk.page.locator("#keys")).not_to_contain_text("reject")
    desk.press("Escape", "PageDown")
    desk.ready(2)


def test_the_keys_and_the_guidelines_open(desk):
    desk.press("?")
    expect(desk.page.get_by_role("heading", name="Keys", exact=True)).to_be_visible()
    desk.press("Escape")
    desk.page.get_by_role("button", name="Guidelines").click()
    expect(desk.page.get_by_text("Mark every object.")).to_be_visible()


def test_marks_with_a_files_own_ids_are_told_apart(desk):
    """An entity and a relation of a file may have the same id, and an id may be any text."""
    annotation = Annotation.objects.create(item=desk.project.dataset.items()[0])
    entity_labels, relation_labels = desk.project.entity_ontology.items(), desk.project.relation_ontology.items()
    first, second = (
        annotation.entity_set.create(uid=uid, label=entity_labels[0], start=n, end=n, status="suggested")
        for n, uid in ((0, "r1"), (3, "a/b ?"))
    )
    annotation.relation_set.create(uid="r1", label=relation_labels[0], source=second, target=first, status="suggested")
    desk.open()
    desk.page.locator("#relations .relation").click()
    expect(desk.page.locator(".arc.lit")).to_have_count(1)
    expect(desk.page.locator(".mark-name.selected")).to_have_count(0)
    desk.press("Space")
    assert desk.related() == [(3, relation_labels[0].name, 0)]
    desk.token(3).click()
    desk.press("Space", "Delete")
    expect(desk.page.locator(".mark-name")).to_have_count(1)
    desk.saved()
    desk.press("Control+z")
    expect(desk.page.locator(".mark-name")).to_have_count(2)
    expect(desk.page.locator("#relations .relation")).to_have_count(1)
    assert [start for start, *_ in desk.stored()] == [0, 3]
    assert desk.related() == [(3, relation_labels[0].name, 0)]


def test_a_suggestion_is_dashed_until_it_is_accepted(desk):
    item = desk.project.dataset.items()[0]
    state = OntologyItem.objects.get(ontology=desk.project.entity_ontology, name="State")
    Annotation.objects.create(item=item).entity_set.create(
        uid="given-001", label=state, start=4, end=5, status="suggested"
    )
    desk.open()
    assert desk.names() == ["State ?"]
    desk.press("Tab", "Space")
    assert desk.names() == ["State"]
    desk.saved()
    mine = Annotation.objects.get(item=item, annotator=desk.user)
    assert list(mine.entity_set.values_list("status", flat=True)) == ["accepted"]


def test_undo_makes_what_was_decided_about_a_suggestion_a_suggestion_again(desk):
    given = Annotation.objects.create(item=desk.project.dataset.items()[0])
    state, part = desk.project.entity_ontology.items().get(name="State"), desk.project.relation_ontology.items()[0]
    ends = [
        given.entity_set.create(uid=f"given-{n}", label=state, start=n, end=n, status="suggested", origin="given")
        for n in (0, 3)
    ]
    given.relation_set.create(uid="r", label=part, source=ends[0], target=ends[1], status="suggested", origin="given")
    desk.open()
    relation = desk.page.locator("#relations .relation")
    desk.press("Tab", "Space")
    assert desk.names() == ["State", "State ?"]
    desk.press("Control+z")
    assert desk.names() == ["State ?", "State ?"]
    desk.press("Escape", "Tab")
    desk.page.get_by_role("button", name="Reject Del").click()
    assert desk.names() == ["State ?"]
    desk.press("Control+z")
    assert desk.names() == ["State ?", "State ?"]
    expect(relation).to_contain_text(f"{part.name} ?")
    relation.click()
    desk.press("Space")
    assert desk.names() == ["State", "State"]
    desk.press("Control+z")
    assert desk.names() == ["State ?", "State ?"]
    expect(relation).to_contain_text(f"{part.name} ?")
    desk.press("Control+y")
    assert desk.names() == ["State", "State"]
    desk.press("Control+z")
    desk.saved()
    desk.open()
    assert desk.names() == ["State ?", "State ?"]
    expect(relation).to_contain_text(f"{part.name} ?")


def test_a_relation_is_accepted_together_with_its_ends(desk):
    item = desk.project.dataset.items()[0]
    given = Annotation.objects.create(item=item)
    state, part = desk.project.entity_ontology.items().get(name="State"), desk.project.relation_ontology.items()[0]
    ends = [
        given.entity_set.create(uid=f"given-{n}", label=state, start=n, end=n, status="suggested") for n in (0, 3, 5)
    ]
    given.relation_set.create(uid="given-rel", label=part, source=ends[0], target=ends[1], status="suggested")
    desk.open()
    assert desk.names() == ["State ?"] * 3
    desk.page.locator("#relations .relation").click()
    desk.press("Space")
    assert desk.names() == ["State", "State", "State ?"]
    assert desk.related() == [(0, part.name, 3)]
    desk.open()
    assert desk.names() == ["State", "State", "State ?"]


def test_undo_brings_back_what_has_a_label_that_was_switched_off_meanwhile(desk, alice):
    for token, name in ((0, "state"), (3, "thermo")):
        desk.token(token).click()
        desk.pick(name)
    desk.press("Escape", "Tab", "Delete")
    desk.press("Escape", "Tab", "Enter")
    desk.pick("activ")
    assert desk.stored() == [(3, 3, "Activity")]
    for name in ("State", "Thermostat"):
        OntologyItem.objects.get(ontology=desk.project.entity_ontology, name=name).switch(False, by=alice)
    desk.press("Control+z", "Control+z")
    assert desk.stored() == [(0, 0, "State"), (3, 3, "Thermostat")]


def test_an_item_that_is_done_fits_a_narrow_screen(desk):
    desk.page.set_viewport_size({"width": 360, "height": 740})
    desk.page.get_by_role("button", name="Done").click()
    desk.ready(2)
    desk.open()
    expect(desk.page.get_by_role("button", name="Next undone")).to_be_in_viewport(ratio=1)
    assert desk.page.evaluate("document.documentElement.scrollWidth") == 360


def test_done_on_an_item_that_was_removed_meanwhile_leads_on(desk, alice, problems):
    problems.expect("404")
    desk.token(0).click()
    desk.pick("state")
    desk.saved()
    first, second, _ = desk.project.dataset.items()
    Annotation.objects.create(item=second, annotator=desk.user).finish()
    Item.objects.filter(pk=first.pk).update(removed_at=timezone.now())
    desk.press("Control+Enter")
    expect(desk.page.locator(".text")).to_contain_text("check coolant level")
    expect(desk.page.locator(".message.info").first).to_contain_text("was removed")
    assert Annotation.objects.get(item=first).entity_set.count() == 1


def test_a_mark_on_an_item_that_was_removed_meanwhile_is_refused_before_done_leads_on(desk, problems):
    problems.expect("404")
    Item.objects.filter(pk=desk.project.dataset.items()[0].pk).update(removed_at=timezone.now())
    held = Held(desk.page, "**/entities/add/")
    desk.token(0).click()
    desk.pick("state")
    desk.press("Control+Enter")
    held.release()
    expect(desk.page.locator("#saved")).to_have_text("1 change was refused")
    expect(desk.page.locator(".toast.error")).to_contain_text("was removed")
    desk.press("Control+Enter")
    expect(desk.page.locator(".text")).to_contain_text("replace engine oil")


def test_another_tab_shows_what_was_done_in_the_first_when_it_is_returned_to(desk):
    tab = desk.page.context.new_page()
    other = Desk(tab, desk.project, desk.user)
    other.open()
    desk.token(0).click()
    desk.pick("state")
    desk.saved()
    assert other.names() == []
    other.return_to()
    expect(tab.locator(".mark-name")).to_have_text("State")
    tab.locator(".mark-name").click()
    other.press("Delete")
    other.saved()
    desk.return_to()
    expect(desk.page.locator(".mark-name")).to_have_count(0)


def test_what_is_not_saved_yet_is_not_replaced_by_what_the_server_has(desk, problems):
    held = Held(desk.page, "**/entities/add/")
    asked = Held(desk.page, "**/marks/")
    desk.return_to()
    desk.token(0).click()
    desk.pick("state")
    asked.release()
    desk.page.wait_for_timeout(300)
    assert desk.names() == ["State"]
    held.release()
    assert desk.stored() == [(0, 0, "State")]


def test_a_label_that_is_off_stays_on_its_marks_and_is_not_offered(desk, alice):
    desk.token(0).click()
    desk.pick("state")
    desk.saved()
    OntologyItem.objects.get(ontology=desk.project.entity_ontology, name="State").switch(False, by=alice)
    desk.open()
    assert desk.names() == ["State off"]
    desk.token(3).click()
    assert "State" not in desk.page.locator(".option .name").all_inner_texts()
    desk.page.keyboard.type("state")
    expect(desk.page.locator(".option")).to_have_count(0)


def test_a_suggestion_whose_label_is_off_cannot_be_accepted(desk, alice):
    label = OntologyItem.objects.get(ontology=desk.project.entity_ontology, name="State")
    given = Annotation.objects.create(item=desk.project.dataset.items()[0])
    given.entity_set.create(uid="given-001", label=label, start=0, end=0, status="suggested")
    label.switch(False, by=alice)
    desk.open()
    desk.press("Tab")
    expect(desk.page.get_by_role("button", name="Reject Del")).to_be_visible()
    expect(desk.page.get_by_role("button", name="Accept Space")).to_be_hidden()
    desk.press("Space")
    expect(desk.page.locator(".toast")).to_contain_text("“State” of a suggestion is switched off")
    assert not Annotation.objects.filter(annotator=desk.user).exists()


def test_what_is_read_is_the_cleaned_text(page, sign_in, alice, carol):
    dataset = factories.dataset(owner=alice, text="İSTANBUL  **Hotel**\tPUMP\n", lowercase=True, remove_characters="*")
    project = factories.Project.create(
        name="Changed", by=alice, dataset=dataset, entity_ontology=factories.ontology(owner=alice), annotators=[carol]
    )
    sign_in(page, carol)
    desk = Desk(page, project, carol)
    desk.open()
    assert page.locator(".sheet .text").evaluate("node => node.textContent") == "i̇stanbul hotel pump"
    desk.token(1).click()
    desk.pick("state")
    assert desk.stored() == [(1, 1, "State")]
    desk.press("r")  # a project without relations
    expect(page.locator(".toast")).to_contain_text("no relation labels")


def test_tokens_without_a_place_in_the_text_are_joined_by_spaces(desk):
    item = desk.project.dataset.items()[0]
    item.offsets = None
    item.tokens = ["air", "-", "conditioner"]
    item.save(update_fields=["offsets", "tokens"])
    desk.open()
    assert desk.page.locator(".sheet .text").evaluate("node => node.textContent") == "air - conditioner"
    desk.drag(0, 2)
    desk.pick("state")
    assert desk.stored() == [(0, 2, "State")]


def test_the_original_is_one_key_away(desk, sign_in, alice, page):
    cleaned = factories.dataset(
        owner=alice,
        name="Cleaned",
        text="LEFT*  🚀 Air-Con\t(*REAR*) is  leaking, replace!\n",
        lowercase=True,
        remove_characters="*",
        tokeniser="punkt",
    )
    desk.open()
    desk.press(".")
    expect(page.locator(".toast")).to_contain_text("This is the original text")
    desk.project = Project.create(
        name="Cleaned", by=alice, dataset=cleaned, entity_ontology=desk.project.entity_ontology, annotators=[desk.user]
    )
    desk.open()
    original = page.locator(".original > p")
    assert page.locator(".sheet .text").text_content() == "left 🚀 air-con (rear) is leaking, replace!"
    desk.token(4).click()  # “rear”, after “(”
    desk.pick("state")
    expect(original).to_be_hidden()
    desk.press(".")
    expect(original.locator("mark")).to_have_text("REAR")
    assert original.text_content() == "LEFT*  🚀 Air-Con\t(*REAR*) is  leaking, replace!"
    desk.press("ArrowLeft", "ArrowLeft")
    expect(original.locator("mark")).to_have_text("Air-Con")
    desk.press("Escape", ".")
    expect(original).to_be_hidden()
    page.locator("[data-original] > summary").click()
    expect(original.locator("mark")).to_have_count(0)
    expect(page.locator(".sheet .text")).to_be_focused()
    desk.press("ArrowRight")
    expect(original.locator("mark")).to_have_count(1)
    assert desk.stored() == [(4, 4, "State")]
    sign_in(page, alice)
    page.goto(f"/datasets/{cleaned.pk}/items/{cleaned.items()[0].pk}/")
    expect(original).to_be_hidden()
    desk.press(".")
    expect(original).to_have_text("LEFT*  🚀 Air-Con (*REAR*) is leaking, replace!")


@pytest.mark.parametrize("tokens", [["one", "\u200b", "two"], ["\u200b", "\u200b"]])
def test_a_token_without_width_is_marked_and_related_like_others(desk, tokens):
    item = desk.project.dataset.items()[0]
    item.offsets, item.tokens = None, tokens
    item.save(update_fields=["offsets", "tokens"])
    desk.open()
    desk.press("ArrowRight", "Enter")
    desk.pick("activ")
    desk.press("ArrowRight", "Enter")
    desk.pick("state")
    desk.press("r", "Tab", "Enter")
    desk.pick("haspart")
    assert desk.related() == [(1, "hasPart", 0)]
    desk.press("ArrowUp", "ArrowDown", "Escape", "Tab")
    assert desk.names() == ["Activity", "State"]
    expect(desk.page.locator("#mark-actions")).to_be_visible()
    expect(desk.page.locator(".arc")).to_have_count(1)


def test_the_controls_of_a_long_item_stay_in_sight(desk):
    item = desk.project.dataset.items()[0]
    item.offsets, item.tokens = None, ["word"] * 1700
    item.save(update_fields=["offsets", "tokens"])
    desk.open()
    desk.press("End")
    expect(desk.token(1699)).to_be_in_viewport()
    for name in ("done", "previous", "next"):
        box = desk.page.locator(f"#{name}").bounding_box()
        assert 0 < box["y"] < 100
    desk_box = desk.page.locator(".desk").bounding_box()
    assert desk.page.locator(".item-bar").bounding_box()["y"] == desk_box["y"]  # no text slips out above it
    desk.press("Home")
    bar, first = desk.page.locator(".item-bar").bounding_box(), desk.token(0).bounding_box()
    assert first["y"] >= bar["y"] + bar["height"]


def test_the_top_labels_are_all_in_sight(page, sign_in, alice, carol):
    project = factories.Project.create(
        name="Sixteen",
        by=alice,
        dataset=factories.dataset(owner=alice),
        entity_ontology=factories.ontology(owner=alice, items=[{"name": f"Label {n}"} for n in range(16)]),
        annotators=[carol],
    )
    sign_in(page, carol)
    desk = Desk(page, project, carol)
    desk.open()
    desk.token(0).click()
    desk.pick("label 3")  # the card about the label is there too
    expect(page.locator("#label-card")).not_to_be_empty()
    for row in page.locator("#label-tree .row").all():
        expect(row).to_be_in_viewport(ratio=1)
