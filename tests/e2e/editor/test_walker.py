"""Somebody who does anything in two windows of one tree: clicks, keys, texts, back, reload. A text names the label for which it
is typed, and is never found at another one."""

import random
import re

import pytest
from playwright.sync_api import expect

from ontologies.models import OntologyItem
from tests.e2e.editing import Editor, wide
from tests.e2e.typists import line
from tests.soak import amount

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

STEPS = amount(100, 10_000)
# Who has the focus and, of its row or of the pane, the item.
WHERE = """() => {
  const { activeElement: element } = document;
  const name = (place) => place?.querySelector(".name, h2")?.textContent.replace(/ off$/, "").trim() ?? "";
  if (element.matches("#details .coming [name]")) return [element.name, name(element.closest(".coming"))];
  if (element.matches("#details :is(textarea, input[name=add])")) return [element.name, name(element.closest("[data-uid]"))];
  return ["", ""];
}"""


class Walker:
    def __init__(self, editors: list[Editor], seed: int) -> None:
        self.editors, self.random, self.number = editors, random.Random(seed), 0
        self.did = [f"seed {seed}"]

    def step(self) -> None:
        editor = self.random.choice(self.editors)
        acts = [self.click_row] * 6 + [self.type_text] * 6 + [self.press] * 4 + [self.add, self.rename, self.elsewhere]
        if self.random.random() < 0.03:
            acts = [self.reload, self.back]
        act = self.random.choice(acts)
        self.did.append(f"{self.editors.index(editor)} {act.__name__}")
        act(editor)

    def click_row(self, editor: Editor) -> None:
        rows = editor.page.locator("#tree li[role=treeitem] > .row:visible > .name").all()
        if rows:
            row = self.random.choice(rows)
            self.did.append(row.evaluate("(row) => (row.click(), row.textContent)") or "")

    def type_text(self, editor: Editor) -> None:
        """Where a field of the pane stands: for the item that the pane names once it has the focus."""
        selector = self.random.choice(["textarea", "input[name=add]"])
        fields = editor.details.locator(f":is({selector}):visible")
        places = fields.evaluate_all("(fields) => fields.map((field) => field.getBoundingClientRect().toJSON())")
        if not places:
            return
        box = places[0]
        if self.random.random() < 0.5:
            self.click_row(editor)
        editor.page.mouse.click(box["x"] + 5, box["y"] + 5)
        name, label = editor.page.evaluate(WHERE)
        if not name:
            return
        self.number += 1
        self.did.append(f"types {self.number} for {label}")
        editor.page.keyboard.type(f" {self.number} for <{label}>", delay=self.random.choice([0, 5, 20]))
        if name == "add":
            editor.press("Enter")

    def press(self, editor: Editor) -> None:
        keys = [
            "ArrowDown",
            "ArrowUp",
            "ArrowLeft",
            "ArrowRight",
            "Tab",
            "Shift+Tab",
            "Escape",
            "Control+Enter",
            "Home",
            "End",
        ]
        key = self.random.choice(keys)
        self.did.append(key)
        editor.press(key)

    def add(self, editor: Editor) -> None:
        editor.page.evaluate("document.querySelector('#add-top').click()")
        self.number += 1
        editor.page.keyboard.type(f"New {self.number}")
        editor.press(*self.random.choice([["Enter", "Escape"], ["Enter"], ["Escape"]]))

    def rename(self, editor: Editor) -> None:
        uid = editor.page.evaluate(
            "document.activeElement.matches('#tree li') ? document.activeElement.id.slice(2) : ''"
        )
        if uid:
            editor.press("F2", "End")
            editor.page.keyboard.type("'")
            editor.press(self.random.choice(["Enter", "Escape"]))

    def elsewhere(self, editor: Editor) -> None:
        editor.page.locator("h1").click()

    def reload(self, editor: Editor) -> None:
        editor.page.reload()

    def back(self, editor: Editor) -> None:
        editor.page.goto("/ontologies/")
        editor.page.go_back()
        expect(editor.page.locator("#tree")).to_be_visible()

    def check(self) -> None:
        for item in OntologyItem.objects.filter(ontology=self.editors[0].ontology, level__gt=0):
            for text in (item.description, *item.example_terms):
                for label in re.findall(r"for <([^<>]*)>", text):
                    known = label.replace("'", "") == item.name.replace("'", "")
                    assert known, f"“{text}” stands at {item.name}: {self.did[0]}, {self.did[-60:]}"


def test_a_text_is_never_found_at_a_label_for_which_it_was_not_typed(page, sign_in, edit, problems):
    problems.expect("409 (Conflict)", "422 (Unprocessable", "404 (Not Found)", "AbortError", "htmx:")
    first = edit(wide(4, 3))
    second = Editor(page.context.new_page(), first.ontology).open()
    for each in (page, second.page):
        each.on("dialog", lambda dialog: dialog.accept())
    walker = Walker([first, second], seed=random.randrange(1_000_000))
    with line.slow(0):
        for number in range(STEPS):
            line.latency = walker.random.choice([0, 0, 50, 150, 400])
            walker.step()
            if number % 10 == 0:
                walker.check()
    for editor in (first, second):
        walker.elsewhere(editor)
        editor.settled()
    walker.check()
    assert walker.number > STEPS / 10
