"""Long texts that are typed into forms: stored as typed, or back again, whatever happens to page, session and line."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist
from playwright.sync_api import Locator, Page, expect

from datasets.models import Dataset, Upload
from ontologies.models import Ontology
from projects.models import Invitation, Project
from resources.models import ConstraintSet
from tests import factories
from tests.e2e.typists import as_people_type
from tests.e2e.waiting import settled, until
from tests.resource_sets import make
from work.models import Answer, Comment

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

TEXT = "Mark every pump.⏎⏎Is it “both”? Ask."
DOCUMENT = '[{"name": "Pump"},⏎{"name": "Valve"}]'
CONSTRAINTS = '[{"domain": "State",⏎"excludes": ["Activity"]}]'
LEFT = "Mark every object."
NUMBER_OF_KEEPINGS = """() => {
  const { put } = IDBObjectStore.prototype;
  window.keepings = 0;
  IDBObjectStore.prototype.put = function (...values) {
    window.keepings += 1;
    return put.apply(this, values);
  };
}"""
KEYS_IN_A_LONG_TEXT = """(field) => {
  field.value = "A pump. ".repeat(600_000);
  for (let key = 0; key < 40; key += 1) field.setRangeText("x", 0, 0), field.dispatchEvent(new Event("input", { bubbles: true }));
}"""
KEPT_CHARACTERS = """async () => {
  const request = indexedDB.open("annotating");
  await new Promise((resolve) => (request.onsuccess = resolve));
  const opened = request.result;
  const drafts = opened.transaction("drafts").objectStore("drafts").getAll();
  await new Promise((resolve) => (drafts.onsuccess = resolve));
  opened.close();
  return Math.max(0, ...drafts.result.flatMap(({ value }) => Object.values(value.values).flat()).map(({ length }) => length));
}"""
SLOW_STORE = """
const { open } = IDBFactory.prototype;
IDBFactory.prototype.open = function (...values) {
  const request = {};
  setTimeout(() => {
    const real = open.apply(this, values);
    for (const name of ["onupgradeneeded", "onerror", "onsuccess"]) real[name] = (event) => request[name]?.(event);
    Object.defineProperties(request, { result: { get: () => real.result }, error: { get: () => real.error } });
  }, 1500);
  return request;
};
"""
NO_STORE = 'IDBFactory.prototype.open = () => { throw new Error("as in some private windows") };'


class Place(NamedTuple):
    """Where somebody types: ``fields`` are filled in, and the last one is typed into."""

    path: str
    fields: dict[str, str]
    stored: Callable[[SimpleNamespace], str]
    text: str = TEXT
    chosen: tuple[str, ...] = ()

    @property
    def typed(self) -> str:
        return self.text.replace("⏎", "\n")


def of(thing: str, field: str) -> Callable[[SimpleNamespace], str]:
    def stored(scene: SimpleNamespace) -> str:
        it = getattr(scene, thing)
        it.refresh_from_db()
        return getattr(it, field)

    return stored


def newest(model, field="description") -> Callable[[SimpleNamespace], str]:
    return lambda scene: getattr(model.objects.exclude(pk__in=scene.known[model]).get(), field)


def uploaded(scene) -> str:
    return Upload.objects.get().path.read_text()


NAME, DESCRIPTION = "[name=name]", "[name=description]"
PASTED = ("[name=source][value=paste]",)
PLACES = {
    "settings": Place("/projects/{project}/settings/", {"[name=guidelines]": ""}, of("project", "guidelines")),
    "new ontology": Place("/ontologies/new/", {NAME: "New", DESCRIPTION: ""}, newest(Ontology)),
    "document of labels": Place(
        "/ontologies/new/",
        {NAME: "New", "[name=text]": ""},
        lambda scene: json.dumps([{"name": each.name} for each in Ontology.objects.get(name="New").items()]),
        DOCUMENT,
        PASTED,
    ),
    "constraints": Place(
        "/constraints/new/",
        {NAME: "New", "[name=entity_ontology]": "Ontology", "[name=text]": ""},
        lambda scene: str(ConstraintSet.objects.get(name="New").row_count),
        CONSTRAINTS,
        PASTED,
    ),
    "new dataset": Place("/datasets/new/", {NAME: "New", "#id_text": ""}, uploaded),
    "more items": Place("/datasets/{dataset}/add/", {"#id_text": ""}, uploaded),
    "list of labels": Place(
        "/ontologies/{ontology}/items/paste/",
        {"#pasted": ""},
        lambda scene: "\n".join(scene.ontology.items().values_list("name", flat=True)),
        "Engine⏎Motor oil",
    ),
    "ontology": Place("/ontologies/{ontology}/edit/", {f"#dialog {DESCRIPTION}": ""}, of("ontology", "description")),
    "dataset": Place("/datasets/{dataset}/edit/", {f"#dialog {DESCRIPTION}": ""}, of("dataset", "description")),
    "rules": Place("/constraints/{rules}/edit/", {f"#dialog {DESCRIPTION}": ""}, of("rules", "description")),
    "extra fields": Place(
        "/datasets/{dataset}/items/{item}/edit/",
        {
            "#field-rows .field-row:last-of-type [aria-label=Name]": "note",
            "#field-rows .field-row:last-of-type textarea": "",
        },
        lambda scene: scene.dataset.items().get(pk=scene.item.pk).extra_fields["note"],
    ),
    "invitation": Place(
        "/projects/{project}/people/",
        {"[name=addresses]": ""},
        lambda scene: ", ".join(Invitation.objects.order_by("pk").values_list("address", flat=True)),
        "ann@example.org, ben@example.org",
    ),
    "answer": Place("/projects/{project}/comments/", {".answer textarea": ""}, lambda scene: Answer.objects.get().text),
    "comment": Place(
        "/projects/{project}/comments/",
        {".said form textarea": ""},
        lambda scene: Comment.objects.get().text,
    ),
}


@pytest.fixture
def scene(alice, carol):
    ontology = factories.ontology(owner=alice)
    dataset = factories.dataset(owner=alice)
    project = factories.project(by=alice, entities=ontology, annotators=[carol], guidelines=LEFT)
    Upload.objects.all().delete()
    item = project.dataset.items().first()
    Comment.begin(item, carol, by=alice, text="One thing?")
    scene = SimpleNamespace(project=project, ontology=ontology, dataset=dataset, item=dataset.items().first())
    scene.rules = make("entity_constraints", owner=alice, entities=ontology, relations=None)
    scene.known = {model: list(model.objects.values_list("pk", flat=True)) for model in (Ontology, Dataset, Project)}
    return scene


class Form:
    """A form at one of the places, as alice."""

    def __init__(self, page: Page, place: Place, scene: SimpleNamespace) -> None:
        self.page, self.place, self.scene = page, place, scene
        pks = {name: thing.pk for name, thing in vars(scene).items() if hasattr(thing, "pk")}
        self.path = place.path.format_map(pks)

    @property
    def field(self) -> Locator:
        return self.page.locator(list(self.place.fields)[-1])

    @property
    def note(self) -> Locator:
        return self.page.locator(".draft-note")

    def open(self) -> "Form":
        self.page.goto(self.path)
        return self.ready()

    def ready(self) -> "Form":
        settled(self.page)
        if ".said form textarea" in self.place.fields:
            # Not by a click, which closes it if a draft has opened it at that moment.
            self.page.locator(".comment details").first.evaluate("details => { details.open = true }")
        return self

    def begin(self) -> "Form":
        """Fill in the others, and go to the field in which all is typed."""
        for choice in self.place.chosen:
            self.page.locator(choice).check(force=True)
        for selector, value in list(self.place.fields.items())[:-1]:
            field = self.page.locator(selector)
            field.select_option(index=1) if selector == "[name=entity_ontology]" else field.fill(value)
        self.field.fill("")
        self.field.focus()
        return self

    def looked_for(self) -> "Form":
        """Until the page has looked for a draft: if it goes before, it keeps none, which might take the place of one."""
        self.page.wait_for_function(
            "async () => (await indexedDB.databases()).some(({ name }) => name === 'annotating')"
        )
        self.page.evaluate(KEPT_CHARACTERS)
        return self

    def go_on(self) -> None:
        self.field.focus()
        self.page.keyboard.press("Control+End")

    def send(self) -> None:
        self.field.evaluate("field => field.form.requestSubmit()")

    def is_stored(self) -> None:
        place = self.place
        wanted = {CONSTRAINTS: "1", DOCUMENT: '[{"name": "Pump"}, {"name": "Valve"}]'}.get(place.text, place.typed)

        def as_typed() -> bool:
            try:
                return wanted in place.stored(self.scene).replace("\r\n", "\n")
            except (ObjectDoesNotExist, KeyError, OSError):  # not yet
                return False

        until(as_typed, "what was typed is not stored")
        settled(self.page)

    def comes_back(self, text: str) -> None:
        expect(self.note).to_contain_text("was brought back")
        expect(self.field).to_have_value(text)

    def is_as_stored(self) -> None:
        """Opened anew, without a draft."""
        self.open()
        expect(self.page.locator("#main")).to_be_visible()
        self.page.wait_for_timeout(200)
        expect(self.note).to_have_count(0)


@pytest.fixture
def form(page, sign_in, alice, scene):
    """``form("settings")`` opens the form at a place."""
    sign_in(page, alice)
    return lambda name: Form(page, PLACES[name], scene).open()


@pytest.mark.parametrize("place", PLACES)
@as_people_type(speed=30, latency=50)
def test_a_text_is_stored_as_typed_though_the_page_goes_in_the_middle(form, page, place, typist, problems):
    problems.expect("ERR_INTERNET_DISCONNECTED", "htmx:", "net::")
    written = form(place).begin()
    half = len(written.place.text) // 2
    typist.type(written.place.text[:half])
    typist.mend()
    page.reload()
    written.ready().comes_back(written.place.typed[:half])
    written.go_on()
    typist.type(written.place.text[half:])
    if typist.manner.is_cut:
        written.send()
        page.wait_for_timeout(300)
        typist.mend()
        written.open().comes_back(written.place.typed)
    written.send()
    written.is_stored()
    written.is_as_stored()


@pytest.mark.parametrize("place", PLACES)
def test_a_text_outlives_the_session(form, page, sign_in, alice, place):
    written = form(place).begin().looked_for()
    page.keyboard.insert_text(written.place.typed)
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    written.send()
    expect(page).to_have_url(re.compile("/accounts/login/"))
    sign_in(page, alice)
    written.open().comes_back(written.place.typed)
    written.send()
    written.is_stored()
    written.is_as_stored()


def test_signing_in_again_leads_back_to_the_draft(form, page, sign_in, alice):
    alice.set_password("a long secret")
    alice.save()
    sign_in(page, alice)
    written = form("settings").begin()
    page.keyboard.insert_text("Mark pumps.")
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    written.send()
    expect(page).to_have_url(re.compile("/accounts/login/"))
    page.locator("#id_login").fill("alice")
    page.locator("#id_password").fill("a long secret")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/settings/"))
    written.comes_back("Mark pumps.")


@pytest.mark.parametrize("place", PLACES)
def test_a_draft_can_be_discarded(form, page, place):
    written = form(place)
    before = written.field.input_value()
    written.begin().looked_for()
    page.keyboard.insert_text("Typed.")
    page.reload()
    written.ready().comes_back("Typed.")
    written.note.get_by_role("button", name="Discard").click()
    expect(written.note).to_have_count(0)
    expect(written.field).to_have_value(before)
    expect(written.field.or_(page.locator("form :focus"))).not_to_have_count(0)
    written.is_as_stored()


@pytest.mark.parametrize("place", ["new ontology", "new dataset"])
def test_a_refused_text_stays_a_draft_until_it_is_stored(form, page, place, problems):
    problems.expect("422")
    written = form(place).begin()
    page.keyboard.insert_text(written.place.typed)
    name = "x" * 300
    page.locator(NAME).evaluate("(field, name) => { field.removeAttribute('maxlength'); field.value = name }", name)
    written.send()
    expect(page.locator(".errors li").first).to_be_visible()
    expect(written.note).to_have_count(0)
    written.open().comes_back(written.place.typed)
    page.locator(NAME).fill("New")
    written.send()
    written.is_stored()
    written.is_as_stored()


def test_another_person_at_the_same_browser_sees_nothing_of_a_draft(form, page, sign_in, alice, bob):
    written = form("new ontology").begin()
    page.keyboard.insert_text("Mine alone.")
    sign_in(page, bob)
    written.is_as_stored()
    expect(written.field).to_have_value("")
    written.begin()
    page.keyboard.insert_text("Of bob.")
    sign_in(page, alice)
    written.open().comes_back("Mine alone.")


@pytest.mark.own_context
def test_a_draft_is_gone_after_14_days_and_says_how_old_it_is_until_then(form, page):
    now = datetime.now(UTC)
    page.clock.set_fixed_time(now)
    written = form("new ontology").begin()
    page.keyboard.insert_text("Typed.")
    page.wait_for_timeout(400)
    page.clock.set_fixed_time(now + timedelta(minutes=5))
    written.open()
    expect(written.note).to_contain_text("Your draft of 5 minutes ago was brought back.")
    page.clock.set_fixed_time(now + timedelta(days=13))
    written.open()
    expect(written.note).to_contain_text("Your draft of 13 days ago was brought back.")
    page.clock.set_fixed_time(now + timedelta(days=14, minutes=1))
    written.is_as_stored()
    expect(written.field).to_have_value("")


def test_what_others_stored_meanwhile_is_told_and_not_overwritten_unseen(form, page, scene, problems):
    problems.expect("409", "422")
    written = form("settings").begin()
    page.keyboard.insert_text("Mine.")
    page.wait_for_timeout(400)
    Project.objects.filter(pk=scene.project.pk).update(guidelines="Theirs.")
    written.open().comes_back("Mine.")
    expect(written.note).to_contain_text("What is stored was changed meanwhile")
    written.send()
    expect(page.locator(".errors")).to_contain_text("Somebody changed this meanwhile, to “Theirs.”")
    written.open().comes_back("Mine.")
    written.note.get_by_role("button", name="Discard").click()
    expect(written.field).to_have_value("Theirs.")
    written.is_as_stored()


def test_a_draft_like_what_is_stored_goes_without_a_word(form, page, scene):
    written = form("settings").begin()
    page.keyboard.insert_text("Mine.")
    page.wait_for_timeout(400)
    Project.objects.filter(pk=scene.project.pk).update(guidelines="Mine.")
    written.is_as_stored()
    Project.objects.filter(pk=scene.project.pk).update(guidelines="Theirs.")
    written.is_as_stored()
    expect(written.field).to_have_value("Theirs.")


def test_of_two_windows_the_last_typed_comes_back(form, page, scene):
    first = form("settings").begin()
    second = Form(page.context.new_page(), first.place, scene).open().begin()
    page.keyboard.insert_text("First.")
    page.wait_for_timeout(400)
    second.page.keyboard.insert_text("Second.")
    second.page.wait_for_timeout(400)
    first.send()  # stores what stands in this window, and leaves the draft of the other
    until(lambda: PLACES["settings"].stored(scene) == "First.", "the first is not stored")
    settled(page)
    second.open().comes_back("Second.")


def test_what_is_typed_while_the_browser_is_slow_to_keep_stands_behind_the_draft(form, page):
    written = form("new ontology").begin()
    page.keyboard.type("Mark ")
    page.wait_for_timeout(400)
    page.add_init_script(SLOW_STORE)
    page.reload()
    written.field.focus()
    page.keyboard.type("every pump.", delay=30)
    expect(written.field).to_have_value("every pump.")
    written.comes_back("Mark every pump.")
    page.keyboard.type(" Twice.")
    page.wait_for_timeout(400)
    page.reload()
    written.comes_back("Mark every pump. Twice.")


def test_a_browser_that_keeps_nothing_does_not_hinder(form, page):
    page.add_init_script(NO_STORE)
    written = form("new ontology").begin()
    page.keyboard.type("Mark every pump.")
    written.send()
    page.wait_for_url(re.compile(r"/ontologies/\d+/"))
    assert Ontology.objects.get(name="New").description == "Mark every pump."


def test_a_long_text_is_kept_when_the_keys_rest(form, page):
    written = form("new dataset").begin()
    page.evaluate(NUMBER_OF_KEEPINGS)
    written.field.evaluate(KEYS_IN_A_LONG_TEXT)
    until(lambda: page.evaluate(KEPT_CHARACTERS) > 4_800_000, "it is not kept")
    assert page.evaluate("keepings") <= 2  # what was typed before may be kept late
    page.reload()
    expect(written.note).to_be_visible()
    assert len(written.field.input_value()) > 4_800_000


def test_files_are_not_kept_and_it_is_said(form, page):
    written = form("new dataset").begin()
    page.locator(NAME).fill("Orders")
    file = {"name": "orders.txt", "mimeType": "text/plain", "buffer": b"A pump."}
    page.locator("[name=file]").set_input_files(file)
    page.wait_for_timeout(400)
    page.reload()
    expect(written.note).to_contain_text("Choose “orders.txt” again: files cannot be kept.")
    expect(page.locator(NAME)).to_have_value("Orders")


def test_the_correction_of_a_text_comes_back_with_its_preview(page, sign_in, alice, scene):
    sign_in(page, alice)
    address = f"/datasets/{scene.dataset.pk}/items/{scene.item.pk}/text/"
    page.goto(address)
    page.locator("#corrected-text").fill("Another text.")
    page.wait_for_timeout(500)
    page.reload()
    expect(page.locator(".draft-note")).to_contain_text("was brought back")
    expect(page.locator("#corrected-text")).to_have_value("Another text.")
    expect(page.locator("#text-preview [name=seen]")).to_have_count(1)
    page.get_by_role("button", name="Correct the text", exact=True).click()
    until(lambda: scene.dataset.items().get(pk=scene.item.pk).original == "Another text.", "it is not corrected")
    page.wait_for_url(lambda url: not url.endswith("/text/"))
    page.goto(address)
    expect(page.locator("#corrected-text")).to_have_value("Another text.")
    expect(page.locator(".draft-note")).to_have_count(0)


def test_passwords_and_hidden_fields_are_not_kept(form, page):
    form("settings").begin()
    page.evaluate(
        """() => document.querySelector("[name=guidelines]").form.insertAdjacentHTML("beforeend",
        '<input type="password" name="secret" value="hush"><input type="hidden" name="token" value="hush">')"""
    )
    page.keyboard.type("Mark.")
    page.wait_for_timeout(500)
    kept = page.evaluate(
        """async () => {
          const { draftOf, whoIsHere } = await import("/static/js/kept.js");
          return JSON.stringify(await draftOf(whoIsHere(), location.pathname));
        }"""
    )
    assert "Mark." in kept
    assert "hush" not in kept and "csrf" not in kept
