"""The annotation screen as somebody uses it."""

from typing import Self

from playwright.sync_api import Page, Route, expect

from annotation_service.db import store
from datasets.models import Annotation, Item
from ontologies.models import OntologyItem
from tests import factories
from tests.e2e.waiting import all_saved, until

TEXT = "left air conditioner thermostat not working replace\nreplace engine oil\ncheck coolant level\n"

KEPT = """async ([person, place, address]) => {
  const { keptPage } = await import("/static/js/kept.js");
  return Boolean(await keptPage(person, place, address));
}"""


def arrived(page: Page, number: int) -> None:
    """At the item with this number, whose keys work."""
    expect(page.locator(".item-bar > b")).to_have_text(str(number))
    expect(page.locator("html[data-ready]")).to_be_attached()


class Desk:
    def __init__(self, page: Page, project, user) -> None:
        self.page, self.project, self.user = page, project, user

    def open(self, number: int = 1) -> Self:
        self.page.goto(f"/projects/{self.project.pk}/annotate/{self.item(number).pk}/")
        self.ready(number)
        return self

    def ready(self, number: int) -> None:
        arrived(self.page, number)

    def has_fetched(self, number: int) -> bool:
        address = f"/projects/{self.project.pk}/annotate/{self.item(number).pk}/"
        return self.page.evaluate(KEPT, [self.user.pk, f"project {self.project.pk}", address])

    def at_hand(self, number: int) -> None:
        """Until the item is gone to without the server."""
        until(lambda: self.has_fetched(number), f"item {number} was not fetched")

    def token(self, i: int):
        return self.page.locator(f".tok[data-i='{i}']")

    def resize(self, width: int, height: int) -> None:
        """Until the text is broken anew."""
        self.page.set_viewport_size({"width": width, "height": height})
        for _ in range(2):
            self.page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")

    def drag(self, start: int, end: int) -> None:
        boxes = [self.token(i).bounding_box() for i in (start, end)]
        places = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes]
        self.page.mouse.move(*places[0])
        self.page.mouse.down()
        self.page.mouse.move(*places[1], steps=4)
        self.page.mouse.up()

    def mark(self, token: int, name: str) -> None:
        self.token(token).click()
        self.pick(name)

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

    # --- What is stored ------------------------------------------------------------------------------------------------

    def stored(self, number: int = 1) -> list[tuple]:
        return sorted(self.work(number).entity_set.values_list("start", "end", "label__name"))

    def related(self) -> list[tuple]:
        return list(self.work().relation_set.values_list("source__start", "label__name", "target__start"))

    def work(self, number: int = 1) -> Annotation:
        """What the user did in an item, when all of it is saved."""
        self.saved()
        return Annotation.objects.get(item=self.item(number), annotator=self.user)

    def item(self, number: int) -> Item:
        return self.project.dataset.items()[number - 1]

    def label(self, name: str) -> OntologyItem:
        return factories.item(self.project.entity_ontology, name)

    def switch_off(self, name: str) -> None:
        """A label, while the page still offers it."""
        self.label(name).switch(False, by=self.project.created_by)

    def suggest(self, *places: tuple[str, int, int], number: int = 1, user=None) -> Annotation:
        """Marks given to everybody, or those of a user, as label, first and last word; seen when the item is opened."""
        came = factories.annotation(self.item(number), user)
        for n, (name, start, end) in enumerate(places):
            label = self.label(name)
            came.entity_set.create(
                uid=f"given-{n}", label=label, start=start, end=end, status="suggested", origin="given"
            )
        return came

    def set_words(self, *words: str) -> None:
        """Of the first item, which have no place in its text then."""
        store(self.item(1), tokens=list(words), offsets=None)


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
