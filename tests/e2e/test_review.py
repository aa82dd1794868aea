"""Reviewing in a browser, by keys alone: three people, marks inside each other and on the same words, relations."""

import json
import random
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from datasets.exports import json_document
from datasets.models import Annotation, Dataset, Item, Layer
from quality.comparison import Marked
from quality.deciding import Deliberation, TakeOverRule, options_chosen, rulings
from quality.models import GoldDecision
from quality.review import Review
from quality.voices import marked_in
from tests import factories
from tests.e2e.test_axe import serious
from tests.e2e.test_imports import check, choose, create, kind
from tests.e2e.waiting import settled
from tests.quality.conftest import say, told

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]
ITEMS = 30
LABELS = ("PhysicalObject", "SensingObject", "Thermostat", "DrivingObject", "Activity", "State")
SECRET = "zoe_who_must_not_be_named"


@pytest.fixture
def people(alice, carol, dave):
    return [carol, dave, factories.user(SECRET)]


@pytest.fixture
def rita():
    return factories.user("rita")


@pytest.fixture
def project(alice, people, rita):
    text = "".join(f"left air conditioner thermostat {n} not working since monday\n" for n in range(ITEMS))
    project = factories.project(by=alice, annotators=people, text=text)
    project.add_members([rita], "reviewer")
    return project


def several_marks(chance: random.Random) -> list[str]:
    """Nested and stacked ones, and relations between them."""
    thermostat = chance.choice(["Thermostat 1-3", "Thermostat 1-3", "SensingObject 1-3", "Thermostat 3"])
    state = chance.choice(["State 5-6", "State 5-6", "Activity 5-6", "State 6"])
    marks = [thermostat, state, "PhysicalObject 1-2"]
    marks += ["DrivingObject 1-2"] * (chance.random() < 0.5)  # on the same words
    marks += ["State 7-8"] * (chance.random() < 0.3)
    label = chance.choice(["hasPart", "hasPart", "hasPatient"])
    marks += [f"{label}: {thermostat} > {state}"] * (chance.random() < 0.8)
    return marks


last: dict[Page, str] = {}


def press(page: Page, key: str) -> None:
    """As people do: they look before they press the same key again."""
    if last.get(page) == key:
        page.wait_for_timeout(450)
    last[page] = key
    page.keyboard.press(key)
    settled(page)


def test_three_people_and_thirty_items_by_keys_alone(page, other_page, sign_in, project, people, rita, alice):
    chance = random.Random(26)
    for item in project.dataset.items():
        for person in people:
            say(item, person, *several_marks(chance))
    sign_in(page, rita)
    page.goto(reverse("quality:reviews", args=[project.pk]))
    page.get_by_role("link", name="Next dispute").click()
    made: dict[int, list] = {}
    while "/review/" in page.url and page.locator("#review").count():
        shown = page.locator("#review")
        pk = int(shown.get_attribute("data-item"))
        number = page.locator("[name=number]")
        if not page.locator(".groups .chip.warn").count():
            press(page, "Control+Enter")
            page.wait_for_url(lambda url, pk=pk: f"/review/{pk}/" not in url)
            continue
        keys = page.locator(".deciding-option[data-key]").evaluate_all("all => all.map(each => each.dataset.key)")
        key = chance.choice([each for each in keys if each != "e"])
        made.setdefault(pk, []).append((int(number.input_value()), key))
        press(page, key)
    expect(page.get_by_text("Nothing is left here to decide.")).to_be_visible()
    items = list(Item.objects.filter(dataset=project.dataset))
    assert Annotation.objects.filter(layer=Layer.GOLD, done_at__isnull=False).count() == ITEMS
    for review in Review.of(project, items):
        assert marked_in([review.gold.pk])[review.gold.pk] == expected(review, made.get(review.item.pk, []))
        assert not review.is_disputed
    assert GoldDecision.objects.filter(kind="choice").count() == sum(map(len, made.values())) > ITEMS
    sign_in(other_page, alice)
    uploaded_again(other_page, project)


def uploaded_again(page: Page, project) -> None:
    """The gold as a file is the same as a dataset that is made of this file."""
    page.goto(reverse("quality:reviews", args=[project.pk]))
    page.get_by_text("More", exact=True).click()
    with page.expect_download() as started:
        page.get_by_role("link", name="Download the gold JSON", exact=True).click()
    document = Path(started.value.path()).read_text()
    page.goto("/datasets/new/")
    choose(page, document, "gold.json")
    expect(kind(page, "Preannotated relations")).to_be_checked()
    check(page)
    create(page)
    made = Dataset.objects.filter(project=None, name="gold").get()
    assert json.loads("".join(json_document(made))) == json.loads(document)
    assert made.item_count == ITEMS


def expected(review: Review, made: list[tuple[int, str]]) -> Marked:
    """The gold that follows from what was pressed, computed beside the database."""
    ruled, stored = [], Marked()
    words = {"b": "both", "0": "neither"}

    def deliberate():
        rule, is_on = TakeOverRule("all"), review.trees.is_on
        return Deliberation(review.groups, len(review.voices), ruled, stored, rule=rule, is_on=is_on, judge=None)

    for number, key in made:
        group = deliberate().standings[number].group
        ruled += rulings(group, options_chosen(group, words.get(key, key)), len(ruled))
        stored = deliberate().gold
    return deliberate().gold


def test_a_decision_is_taken_back_looked_at_again_and_edited(page, sign_in, project, people, rita):
    [first, *_] = project.dataset.items()
    say(first, people[0], "Thermostat 1-3", "State 5-6", "hasPart: Thermostat 1-3 > State 5-6")
    say(first, people[1], "SensingObject 1-3", "State 5-6", "hasPart: SensingObject 1-3 > State 5-6")
    sign_in(page, rita)
    page.goto(reverse("quality:review", args=[project.pk, first.pk]))
    expect(page.locator(".work-pane").get_by_text("Same words, other label: 1 step apart")).to_be_visible()
    assert not serious(page)

    def gold():
        return told(Annotation.gold(first))

    thermostat = ["Thermostat 1-3", "State 5-6", "hasPart: Thermostat 1-3 > State 5-6"]
    press(page, "r")
    page.keyboard.type("a thermostat 1 senses, and 0 else")  # digits decide nothing while a reason is typed
    assert gold() == []
    press(page, "Escape")
    press(page, "2")
    assert gold() == thermostat
    assert GoldDecision.objects.get().reason == "a thermostat 1 senses, and 0 else"
    press(page, "Control+z")
    assert gold() == []
    press(page, "Control+y")
    assert gold() == thermostat
    press(page, "Control+Enter")
    expect(page.get_by_text("Nothing is left here to decide.")).to_be_visible()
    page.goto(reverse("quality:review", args=[project.pk, first.pk]))
    expect(page.locator(".chip", has_text="decided").first).to_be_visible()
    press(page, "1")  # it is decided: nothing happens before it is reopened
    assert gold() == thermostat
    press(page, "Alt+Enter")
    page.get_by_text("settled").last.click()
    page.locator("[data-at='0']").click()
    settled(page)
    press(page, "1")
    assert gold() == ["SensingObject 1-3", "State 5-6", "hasPart: SensingObject 1-3 > State 5-6"]
    press(page, "e")
    page.wait_for_url("**/edit/*")
    expect(page.locator(".names")).to_contain_text("SensingObject")
    page.locator(".text").first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Delete")
    expect(page.locator("#saved")).to_contain_text("all saved")
    page.keyboard.press("Control+Enter")
    page.wait_for_url(lambda url: "/edit/" not in url)
    assert gold() == ["State 5-6"]
    assert GoldDecision.objects.last().kind == "edit"


def test_where_names_are_hidden_none_is_shown(page, sign_in, project, people, rita, alice):
    project.is_blind = True
    project.save(update_fields=["is_blind"])
    items = list(project.dataset.items()[:3])
    for item in items:
        say(item, people[2], "Thermostat 1-3", "State 5-6")
        say(item, people[1], "SensingObject 1-3", "State 5-6")
    sign_in(page, rita)
    seen = []

    def look(route):
        response = route.fetch()
        seen.append((route.request.url, response.text()))
        route.fulfill(response=response)

    page.route("**/projects/**", look)
    page.goto(reverse("quality:reviews", args=[project.pk]))
    page.get_by_role("link", name="Next dispute").click()
    settled(page)
    for key in ("1", "Control+z", "0"):
        press(page, key)
    press(page, "e")
    page.wait_for_url("**/edit/*")
    page.goto(reverse("projects:page", args=[project.pk]))
    assert len(seen) > 8
    for url, body in seen:
        assert SECRET not in body and SECRET not in url, url
        assert f"/marks/{people[2].pk}/" not in body, url
    for name in ("projects:items", "projects:people", "projects:violations"):
        assert page.request.get(page.url.split("/projects/")[0] + reverse(name, args=[project.pk])).status == 403


def test_a_key_that_trembles_decides_once(page, sign_in, project, people, rita):
    [first, *_] = project.dataset.items()
    say(first, people[0], "Thermostat 1-3", "State 5-6")
    say(first, people[1], "SensingObject 1-3", "Activity 5-6")
    sign_in(page, rita)
    page.goto(reverse("quality:review", args=[project.pk, first.pk]))
    page.evaluate("performance.now = () => 0")  # however long this machine takes, the second press comes at once
    page.keyboard.press("1")
    expect(page.locator(".groups .chip.warn")).to_have_count(1)
    settled(page)
    page.keyboard.press("1")
    expect(page.get_by_text("This key was not taken").first).to_be_visible()
    assert told(Annotation.gold(first)) == ["SensingObject 1-3"]
    page.evaluate("performance.now = () => 450")
    page.locator(".deciding-option").first.dblclick()
    settled(page)
    assert GoldDecision.objects.count() == 2


def test_a_slow_answer_lets_no_key_decide_what_nobody_has_seen(page, sign_in, project, people, rita):
    [first, *_] = project.dataset.items()
    say(first, people[0], "Thermostat 1-3", "State 5-6")
    say(first, people[1], "SensingObject 1-3", "Activity 5-6")
    sign_in(page, rita)
    page.goto(reverse("quality:review", args=[project.pk, first.pk]))
    held = []
    page.route("**/decide/*", lambda route: held.append(route))
    page.keyboard.press("1")
    page.keyboard.press("1")
    page.keyboard.press("2")
    expect(page.get_by_text("This key was not taken").first).to_be_visible()
    assert len(held) == 1
    held[0].continue_()
    expect(page.locator(".groups .chip.warn")).to_have_count(1)
    assert told(Annotation.gold(first)) == ["SensingObject 1-3"]
