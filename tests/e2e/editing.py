"""The page of an ontology as somebody uses it."""

from typing import NamedTuple

from playwright.sync_api import APIResponse, Locator, Page, Route, expect

from ontologies.models import Ontology
from tests.e2e.waiting import until

ROWS = """() => [...document.querySelectorAll("#tree li[role=treeitem]")].map((li) => [
  Number(li.getAttribute("aria-level")), li.querySelector(".name")?.textContent,
  li.querySelector(".swatch").style.getPropertyValue("--c"), !li.firstElementChild.matches(".off")])"""


def wide(tops: int, children: int) -> list[dict]:
    """A tree with branches that are so large that they are fetched when they are opened: T0 with C0.0, C0.1 and so on."""
    return [
        {"name": f"T{top}", "children": [{"name": f"C{top}.{child}"} for child in range(children)]}
        for top in range(tops)
    ]


class Stored(NamedTuple):
    level: int
    name: str
    color: str
    active: bool
    description: str
    example_terms: tuple[str, ...]


class Late:
    """Answers that the server has made, and that do not come before `arrive`."""

    def __init__(self, page: Page, addresses: str) -> None:
        self.page, self.addresses, self.late = page, addresses, True
        self.held: list[tuple[Route, APIResponse]] = []
        page.route(addresses, self.take)

    def take(self, route: Route) -> None:
        # Asked again where the server has just closed the connection that was kept from an earlier test.
        self.held.append((route, route.fetch(max_retries=2))) if self.late else route.fallback()

    def made(self, count: int = 1) -> None:
        for _ in range(200):
            if len(self.held) >= count:
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"nothing was asked of {self.addresses}")

    def arrive(self) -> None:
        self.late = False
        for route, response in self.held:
            route.fulfill(response=response)


class Editor:
    def __init__(self, page: Page, ontology: Ontology) -> None:
        self.page, self.ontology = page, ontology
        self.details, self.dialog = page.locator("#details"), page.locator("#dialog")

    def open(self) -> "Editor":
        self.page.goto(f"/ontologies/{self.ontology.pk}/")
        self.page.evaluate("window.sameDocument = true")
        return self

    # --- Where things are --------------------------------------------------------------------------------------------

    def uid(self, name: str) -> str:
        return self.ontology.items().get(name=name).uid

    def item(self, name: str) -> Locator:
        return self.page.locator(f"#i-{self.uid(name)}")

    def row(self, name: str) -> Locator:
        return self.page.locator(f"#row-{self.uid(name)}")

    def shown(self, name: str) -> Locator:
        """A row by what it shows; it may not be stored yet."""
        return self.page.locator("#tree .row", has=self.page.locator(".name", has_text=name))

    def button(self, name: str) -> Locator:
        """One of the details pane."""
        return self.details.get_by_role("button", name=name)

    @property
    def name_field(self) -> Locator:
        return self.page.locator("#tree .row-edit input[name=name]")

    def names(self) -> list[str]:
        return self.page.locator("#tree .row > .name").all_text_contents()

    def visible_names(self) -> list[str]:
        return self.page.locator("#tree .row:visible > .name").all_text_contents()

    # --- Mouse -------------------------------------------------------------------------------------------------------

    def select(self, name: str) -> None:
        self.row(name).locator(".name").click()
        expect(self.details.locator("h2")).to_contain_text(name)
        self.settled()

    # --- Keys alone --------------------------------------------------------------------------------------------------

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def tab_to(self, place: Locator, key: str = "Tab") -> None:
        """As somebody without a mouse gets there."""
        for _ in range(60):
            self.page.keyboard.press(key)
            if place.evaluate("(element) => element === document.activeElement"):
                return
        raise AssertionError(f"{place} is not reached with Tab")

    def go(self, name: str) -> None:
        """To a visible item: Tab into the tree, then its name."""
        if not self.page.evaluate("document.activeElement.matches('#tree li')"):
            self.tab_to(self.page.locator("#tree li[tabindex='0']"))
        self.press("Escape", "Home")
        self.page.keyboard.type(name)
        expect(self.item(name)).to_be_focused()
        expect(self.details.locator("h2")).to_contain_text(name)
        self.settled()

    def focus(self, name: str) -> None:
        """As soon as its branch is open."""
        until(
            lambda: self.item(name).evaluate("li => (li.focus(), document.activeElement === li)"),
            f"{name} has no focus",
        )

    def type(self, name: str) -> None:
        """Into the field of a new or renamed item."""
        expect(self.name_field).to_be_focused()
        self.page.keyboard.type(name)
        self.press("Enter")

    def type_one(self, name: str) -> None:
        """The name of a new item, and no other after it."""
        self.type(name)
        self.press("Escape")

    # --- Steps -------------------------------------------------------------------------------------------------------

    def undo(self, what: str) -> None:
        button = self.page.locator("#undo-button")
        expect(button).to_contain_text(f"Undo {what}")
        button.click()

    # --- What is on the screen ---------------------------------------------------------------------------------------

    def settled(self) -> None:
        """Until every answer is on the screen."""
        self.page.wait_for_function("() => !document.querySelector('[class*=htmx-]')")

    def stored(self) -> list[Stored]:
        fields = ("level", "name", "color", "active", "description", "example_terms")
        return [Stored(*rest, tuple(terms)) for *rest, terms in self.ontology.items().values_list(*fields)]

    def changed(self, before: list[Stored]) -> list[Stored]:
        """Until something else is stored, and on the screen too."""
        until(lambda: self.stored() != before, "nothing was changed")
        self.in_step()
        return self.stored()

    def in_step(self) -> None:
        """Until the screen shows what is stored: the whole tree, and in the details what is edited there."""
        wanted = [list(row[:4]) for row in self.stored()]
        until(lambda: self.page.evaluate(ROWS) == wanted, f"{self.page.evaluate(ROWS)} is shown, not {wanted}")
        self.settled()
        if self.details.locator("#details-none, #details-several").count():
            return
        by_name = {row.name: row for row in self.stored()}
        until(lambda: self.detailed_name() in by_name, "the details are those of another item")
        row = by_name[self.detailed_name()]
        expect(self.details.locator("textarea")).to_have_value(row.description)
        expect(self.details.locator(".chips-input > span")).to_have_count(len(row.example_terms))

    def detailed_name(self) -> str:
        return self.details.locator("h2").text_content().removesuffix(" off").strip()

    def stays(self) -> None:
        assert self.page.evaluate("window.sameDocument") is True, "the page was loaded again"
