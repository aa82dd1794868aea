"""What a person waits for in the browser: the longest time that the page does not react to anything."""

import os
import random
import shutil
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from annotation_service.db import store
from annotation_service.models import User
from datasets.models import Annotation, Item, Relation
from ontologies.documents import NewLabel
from ontologies.models import Ontology
from projects.models import Project
from tests import gold
from tests.e2e.practised import PractisedKeys, PractisedMouse
from tests.e2e.waiting import all_saved

from . import data
from .figures import KEY, Figure, benchmark, felt
from .service import Browser, Service

BRANCHES, BRANCH = 20, 500
LABELS, RULES, MARKS, TOKENS = 10_000, 1000, 300, 620
DENSE_TOKENS, DENSE_MARKS, DENSE_RELATIONS = 1200, 500, 200
RUNS = 5
# Tasks shorter than 50 ms are not told.
WATCH = """
window.longest = 0;
new PerformanceObserver((list) => list.getEntries().forEach((task) => (window.longest = Math.max(window.longest, task.duration))))
  .observe({ type: "longtask", buffered: true });
"""
# Until the page would react to the next key.
ANSWER = """(key) => new Promise((done) => {
  const began = performance.now();
  const input = document.querySelector("#picker:not([hidden]) input");
  const to = input ?? document.querySelector(".text");
  if (input && key.length === 1) {
    input.value += key;
    input.dispatchEvent(new Event("input"));
  } else to.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
})"""
PICKER_KEYS = {
    "go to a word": "ArrowRight",
    "open the list": "Enter",
    "a letter": "l",
    "another letter": "a",
    "next row": "ArrowDown",
}

# What is done to a dense item, in turns: what, the key or what is clicked, and how often.
DENSE_STEPS = (
    ("next mark", "Tab", 10),
    ("next word", "ArrowRight", 10),
    ("open the list", "Enter", 1),
    ("new mark", "Enter", 1),
    ("undo", "Ctrl+z", 1),
    ("redo", "Ctrl+y", 1),
    ("select a mark", ".mark-name", 3),
    ("remove a mark", "Delete", 1),
    ("undo", "Ctrl+z", 1),
    ("select an arc", ".arc", 3),
    ("select a mark", ".mark-name", 1),
    ("relate", "r", 1),
    ("next target", "Tab", 2),
    ("leave that", "Escape", 1),
)
LATENCIES, GOING, WAITING = (0, 150, 600), 8, 10  # ms; items at each, and marks of each
PRACTISED = {
    "by keys alone": (PractisedKeys, {"entity": 3.5, "relation": 3.5}),
    "by mouse alone": (PractisedMouse, {"entity": 2.6, "relation": 2.0}),
}
# Until the browser has drawn what it answers.
DRAWN = """([what, at]) => new Promise((done) => {
  const [key, ctrlKey] = [what.replace("Ctrl+", ""), what.startsWith("Ctrl+")];
  const clicked = what.startsWith(".") && document.querySelectorAll(what)[at];
  const to = clicked || (document.querySelector("#picker:not([hidden]) input") ?? document.querySelector(".text"));
  const all = { key, ctrlKey, bubbles: true, cancelable: true };
  const event = clicked ? new MouseEvent("click", all) : new KeyboardEvent("keydown", all);
  requestAnimationFrame(() => setTimeout(() => {
    const began = performance.now();
    to.dispatchEvent(event);
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
  }));
})"""


@benchmark("browser")
def browser(service: Service) -> Iterator[Figure]:
    items = [
        NewLabel(level, f"Label {n}-{m}") for n in range(BRANCHES) for m, level in enumerate([1] + [2] * (BRANCH - 1))
    ]
    ontology = Ontology.create(kind="entity", name="Wide", owner=data.manager(), items=items)
    cookies = Browser(service, data.MANAGER).headers["Cookie"]
    with chromium(service, cookies) as page:
        times: dict[str, list[float]] = {}
        for _ in range(RUNS):
            for what, longest in _tasks(page, f"/ontologies/{ontology.pk}/"):
                times.setdefault(what, []).append(longest)
    for what, values in times.items():
        figures = statistics.median(values), max(values)
        yield Figure(f"browser, longest task, p50 / worst: {what}", figures, "ms", KEY)


@benchmark("picker")
def picker(service: Service) -> Iterator[Figure]:
    """Keys in the workspace where the rules have much to say: whole tokens are marked within whole texts."""
    project = data.project(10, name="Picker", labels=LABELS)
    names = [label.fullname for label in project.entity_ontology.labels()]
    rules = [
        {"domain": name, "excludes": names[-10 - n : -n], "can_contain": names[:20]}
        for n, name in enumerate(names[:RULES], 1)
    ]
    data.constrain(project, rules)
    item = project.dataset.items()[0]
    store(item, tokens=["word"] * TOKENS, offsets=None)
    annotation = Annotation.objects.create(item=item, annotator=User.objects.get(username=data.ANNOTATORS[0]))
    labels = project.entity_ontology.items()[:MARKS]
    for n, label in enumerate(labels):
        annotation.entity_set.create(uid=f"m{n}", start=n, end=n if n % 10 else TOKENS - 1 - n, label=label)
    times: dict[str, list[float]] = {}
    for page in opened(service, f"/projects/{project.pk}/annotate/{item.pk}/"):
        for what, key in PICKER_KEYS.items():
            times.setdefault(what, []).append(page.evaluate(ANSWER, key))
    at = f"{MARKS} marks, {LABELS:,} labels, {RULES:,} rules"
    for what, values in times.items():
        yield Figure(f"key at {at}, p50 / worst: {what}", (statistics.median(values), max(values)), "ms", KEY)


@benchmark("workspace")
def workspace(service: Service) -> Iterator[Figure]:
    """Keys and clicks where a long text is full of marks."""
    project = data.project(10, name="Dense", labels=224)
    item = dense_item(project, tokens=DENSE_TOKENS, marks=DENSE_MARKS, relations=DENSE_RELATIONS)
    times: dict[str, list[float]] = {}
    for page in opened(service, f"/projects/{project.pk}/annotate/{item.pk}/"):
        for n in range(4):
            for what, how, often in DENSE_STEPS:
                for k in range(often):
                    times.setdefault(what, []).append(page.evaluate(DRAWN, [how, 40 * n + 7 * k]))
    at = f"{DENSE_MARKS} marks, {DENSE_RELATIONS} relations"
    for what, values in times.items():
        yield Figure(f"key or click at {at}, p50 / worst: {what}", (statistics.median(values), max(values)), "ms", KEY)
    yield from actions(service)
    yield from going_on(service)


def going_on(service: Service) -> Iterator[Figure]:
    """From one item to the next on slow lines, with marks that are not saved yet."""
    project = data.project(2 + GOING * len(LATENCIES), name="Going on", labels=224)
    with chromium(service, Browser(service, data.ANNOTATORS[0]).headers["Cookie"]) as page:
        page.goto(f"/projects/{project.pk}/annotate/")
        page.locator("html[data-ready]").wait_for(state="attached")
        line = page.context.new_cdp_session(page)
        for latency in LATENCIES:
            limits = {"offline": False, "latency": latency, "downloadThroughput": -1, "uploadThroughput": -1}
            line.send("Network.emulateNetworkConditions", limits)
            times: list[float] = []
            for _ in range(GOING):
                number = int(page.text_content("#number") or 0)
                page.wait_for_timeout(1000 + 4 * latency)  # somebody reads
                for _ in range(WAITING):
                    for key in ("Control+ArrowRight", "Enter", "Enter"):
                        page.keyboard.press(key)
                times.append(page.evaluate(DRAWN, ["Ctrl+Enter", 0]))
                if page.text_content("#number") != str(number + 1):
                    raise RuntimeError(f"The text after {number} was not at hand.")
            what = f"done and next, {WAITING} marks waiting, latency of {latency} ms, p50 / worst"
            yield Figure(what, (statistics.median(times), max(times)), "ms", felt(50, None))
            page.wait_for_timeout(20 * latency)
        all_saved(page)
    done = Annotation.objects.filter(item__dataset=project.dataset, done_at__isnull=False)
    if (made := [each.entity_set.count() for each in done]) != [WAITING] * GOING * len(LATENCIES):
        raise RuntimeError(f"Not all was saved: {made}")


def actions(service: Service) -> Iterator[Figure]:
    """How many keys, clicks and drags marks take under a tree of 220 labels: tests compare them with the gold marks."""
    items = gold.work_orders()
    for annotator, (how, (hands, most)) in zip(data.ANNOTATORS, PRACTISED.items(), strict=False):
        person = User.objects.get(username=annotator)
        project = gold.project_of_work_orders(items, by=data.manager(), annotators=[person])
        with chromium(service, Browser(service, annotator).headers["Cookie"]) as page:
            hand = hands(page)
            hand.annotate_all(project, items)
        at = f"actions {how}, {len(items)} texts, 220 labels"
        for kind, limit in most.items():
            counts = hand.actions[kind]
            yield Figure(f"{at}: {kind}, of {len(counts)}", statistics.mean(counts), "", felt(limit))
        yield Figure(f"{at}: preparation, in all", sum(hand.actions["preparation"]))


def opened(service: Service, path: str) -> Iterator[Page]:
    """A page of an annotator, opened anew for each run."""
    with chromium(service, Browser(service, data.ANNOTATORS[0]).headers["Cookie"]) as page:
        for _ in range(RUNS):
            page.goto(path)
            page.locator("html[data-ready]").wait_for(state="attached")
            yield page


def dense_item(project: Project, *, tokens: int, marks: int, relations: int) -> Item:
    """Words with marks of one to three words, some inside others; most relations are short, some are not."""
    rng = random.Random(1)
    item = project.dataset.items()[0]
    store(item, tokens=data.text(tokens // 15 + 1).split()[:tokens], offsets=None)
    annotation = Annotation.objects.create(item=item, annotator=User.objects.get(username=data.ANNOTATORS[0]))
    labels, relation_labels = list(project.entity_ontology.items()), list(project.relation_ontology.items())
    entities = [
        annotation.entity_set.create(
            uid=f"m{n}", start=start, end=start + rng.choice((0, 0, 1, 2)), label=labels[n % 224]
        )
        for n, start in enumerate(sorted(rng.choices(range(tokens - 3), k=marks)))
    ]
    drawn = (
        Relation(
            annotation=annotation,
            uid=f"r{n}",
            source=entities[at := rng.randrange(marks - 40)],
            target=entities[at + (rng.randint(1, 5) if n % 10 else 40)],
            label=relation_labels[n % 20],
        )
        for n in range(relations)
    )
    Relation.objects.bulk_create(drawn, ignore_conflicts=True)  # one may be drawn twice
    return item


def _tasks(page: Page, path: str) -> Iterator[tuple[str, float]]:
    page.goto(path)
    yield f"open the tree editor at {BRANCHES * BRANCH:,}", longest(page)
    page.locator("button.twisty").first.click()
    page.locator(f"li[role=treeitem]:nth-child({BRANCH - 1})").wait_for()
    yield f"open a branch of {BRANCH}", longest(page)
    page.get_by_role("button", name="Expand all").click()
    page.locator("li[role=treeitem]").nth(BRANCHES * BRANCH - 1).wait_for(state="attached")
    yield f"expand all {BRANCHES * BRANCH:,}", longest(page)
    page.keyboard.press("ArrowDown")
    yield "go to the next item", longest(page)
    page.get_by_role("button", name="Collapse all").click()
    yield "collapse all", longest(page)


def longest(page: Page) -> float:
    """Since the last time, once the page has come to rest."""
    page.wait_for_load_state("networkidle")
    page.evaluate("new Promise((done) => requestIdleCallback(() => setTimeout(done, 100)))")
    return page.evaluate("[window.longest, window.longest = 0][0]")


@contextmanager
def chromium(service: Service, cookies: str) -> Iterator[Page]:
    """A signed-in page of the browser that CHROMIUM names, Playwright's own, or the system's."""
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # Playwright keeps an event loop in this thread
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
        path = os.environ.get("CHROMIUM") or (own if Path(own).exists() else shutil.which("chromium"))
        if not path:
            raise RuntimeError("There is no Chromium on this machine: bin/test installs it.")
        program = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        address = f"http://127.0.0.1:{service.port}"
        context = program.new_context(base_url=address, viewport={"width": 1400, "height": 800})
        pairs = (cookie.split("=", 1) for cookie in cookies.split("; "))
        context.add_cookies([{"name": name, "value": value, "url": address} for name, value in pairs])
        context.add_init_script(WATCH)
        yield context.new_page()
        program.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]
