"""A real browser in front of a real server. Whatever goes wrong inside the page fails the test at its end.

A test asks for ``live_server`` and ``page``, and signs in with ``sign_in(page, user)``:

    @pytest.mark.e2e
    @pytest.mark.django_db(transaction=True)
    def test_a_thing_works(page, sign_in, alice): ...

In the long form every answer comes late, some later than the next: what is on the screen must be right all the same.
``settled(page)`` of `tests.e2e.waiting` waits until the answers are on the screen.
"""

import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connections
from django.http import HttpRequest, HttpResponse
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, BrowserType, ConsoleMessage, Page, expect, sync_playwright

from tests import factories
from tests.e2e.desk import TEXT, Desk
from tests.e2e.typists import Typist, line
from tests.e2e.waiting import until
from tests.soak import SOAK

LATE = 0.3  # seconds at most, before and after an answer is made
PATIENCE = 20_000  # milliseconds: a machine with much to do is no defect of a page
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# All pages of a context in one process, which has read and compiled the scripts of the page before.
ONE_PROCESS = "--process-per-site"
REPORT_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) =>
  console.error(`CSP: ${event.violatedDirective} blocked ${event.blockedURI || "inline"} at ${event.sourceFile}`));
"""
# The scripts of a page that has just come may not listen yet: a click before they do would be lost. So it waits.
NO_CLICK_TOO_EARLY = """
const sheet = new CSSStyleSheet();
sheet.replaceSync("html { pointer-events: none }");
document.adoptedStyleSheets = [sheet];
addEventListener("load", () => (document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== sheet)));
"""
FAILED = pytest.StashKey[bool]()
# What htmx says when it gives a request up for a newer one. One that fails is reported under other names.
GIVEN_UP = ("htmx:sendAbort,", "htmx:afterRequest,")


class PageProblems(list[str]):
    """What the page complained about. A test that provokes a complaint names a part of it with ``expect``."""

    def __init__(self) -> None:
        self.expected = list(GIVEN_UP)

    def expect(self, *parts: str) -> None:
        self.expected += parts

    def unexpected(self) -> list[str]:
        return [problem for problem in self if not any(part in problem for part in self.expected)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("e2e"):
            item.add_marker(pytest.mark.soak)


_under_way: set[HttpRequest] = set()
_watched: list[BrowserContext] = []  # the browser contexts of the test that runs


def watched_answers(get_response):
    def late(request: HttpRequest, from_browser: bool) -> None:
        if SOAK and from_browser:
            time.sleep(random.uniform(0, LATE))
        if not request.path.startswith(settings.STATIC_URL):
            time.sleep(line.delay())

    def answer(request):
        from_browser = request.META["SERVER_NAME"] != "testserver"
        _under_way.add(request)
        try:
            if from_browser and not _watched:
                # Sent before its test ended. The database is being emptied, and the settings of the tests do not hold now.
                return HttpResponse(status=503)
            late(request, from_browser)
            response = get_response(request)
            late(request, from_browser)
            # The page of an earlier test may have asked this: it must not end the session of the test that runs now.
            if (cookie := response.cookies.get(settings.SESSION_COOKIE_NAME)) and not cookie.value:
                del response.cookies[settings.SESSION_COOKIE_NAME]
            return response
        finally:
            _under_way.remove(request)

    return answer


@pytest.fixture(scope="session", autouse=True)
def network() -> None:
    """Must come before the server, which reads the list once."""
    settings.MIDDLEWARE = [f"{__name__}.watched_answers", *settings.MIDDLEWARE]


def chromium(kind: BrowserType) -> str:
    own = kind.executable_path
    system = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    path = os.environ.get("CHROMIUM") or (own if Path(own).exists() else system)
    if not path:
        pytest.fail("There is no Chromium on this machine: bin/test installs it, or says how.")
    return path


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium: the one that CHROMIUM names, Playwright's own, or the system's."""
    # Playwright keeps an event loop in this thread, in which Django would otherwise refuse to touch the database.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    expect.set_options(timeout=PATIENCE)
    connections.close_all()  # once Playwright runs, this thread has others, and nobody would close these
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium(playwright.chromium), args=[*ARGUMENTS, ONE_PROCESS]
        )
        yield browser
        browser.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def problems() -> PageProblems:
    return PageProblems()


@contextmanager
def kept_context(browser: Browser, live_server) -> Iterator[BrowserContext]:
    """What one test after the other uses: scripts are fetched and compiled once. Its first page only keeps the process alive."""
    context = browser.new_context(**of_server(live_server))
    prepare(context)
    keeper = context.new_page()
    keeper.route("**/*", lambda route: route.fulfill(body=""))  # the server may not touch the database yet
    keeper.goto("/")
    yield context
    context.close()


@pytest.fixture(scope="session")
def context(browser: Browser, live_server) -> Iterator[BrowserContext]:
    with kept_context(browser, live_server) as context:
        yield context


@pytest.fixture(scope="session")
def other_context(browser: Browser, live_server) -> Iterator[BrowserContext]:
    with kept_context(browser, live_server) as context:
        yield context


@pytest.fixture
def page(request, live_server, problems: PageProblems) -> Iterator[Page]:
    """A page 1400 pixels wide, of a browser that knows nothing yet; addresses are relative to the server.

    A test that changes what `clear` cannot take back, such as the clock, is marked with ``own_context``.
    """
    own = request.node.get_closest_marker("own_context")
    used = request.getfixturevalue("browser" if own else "context")
    with (watched_page if own else cleared_page)(used, live_server, problems) as page:
        yield page
        if request.node.stash.get(FAILED, False):
            folder = settings.VAR_DIR / "e2e"
            folder.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=folder / f"{request.node.name}.png")
    assert not problems.unexpected()


@pytest.fixture
def other_page(other_context: BrowserContext, live_server, problems: PageProblems) -> Iterator[Page]:
    """The page of somebody else at the same time."""
    with cleared_page(other_context, live_server, problems) as page:
        yield page


@pytest.fixture
def page_without_scripts(browser: Browser, live_server, problems: PageProblems) -> Iterator[Page]:
    with watched_page(browser, live_server, problems, scripts=False) as page:
        yield page


@contextmanager
def watched_page(browser: Browser, live_server, problems: PageProblems, *, scripts=True, **options) -> Iterator[Page]:
    context = browser.new_context(**of_server(live_server), java_script_enabled=scripts, **options)
    prepare(context, scripts=scripts)
    with watched(context, problems):
        yield context.new_page()


@pytest.fixture
def lasting_browser(browser: Browser, live_server, problems: PageProblems, tmp_path):
    """``with lasting_browser() as page``: a browser of its own, which finds what the one before it kept. Each of its pages has a
    process of its own."""

    @contextmanager
    def start() -> Iterator[Page]:
        kind = browser.browser_type
        context = kind.launch_persistent_context(
            tmp_path, executable_path=chromium(kind), args=ARGUMENTS, **of_server(live_server)
        )
        prepare(context)
        with watched(context, problems):
            yield context.new_page()

    return start


@pytest.fixture
def typist(request, page, problems: PageProblems) -> Iterator[Typist]:
    """Somebody who types with a certain speed over a certain line: see `as_people_type` of `tests.e2e.typists`."""
    problems.expect("ERR_INTERNET_DISCONNECTED", "htmx:sendError", "htmx:afterRequest")
    with line.slow(request.param.latency):
        yield Typist(page, request.param)


def of_server(live_server) -> dict[str, Any]:
    return {"base_url": live_server.url, "viewport": {"width": 1400, "height": 800}}


@contextmanager
def cleared_page(context: BrowserContext, live_server, problems: PageProblems) -> Iterator[Page]:
    """A page of a context that was used before, without what the tests before have left in it."""
    with watched(context, problems, leave=clear):
        page = context.new_page()
        session = context.new_cdp_session(page)
        session.send(
            "Storage.clearDataForOrigin", {"origin": live_server.url, "storageTypes": "local_storage,indexeddb"}
        )
        session.detach()
        yield page


def clear(context: BrowserContext) -> None:
    for page in context.pages[1:]:
        page.close()
    context.clear_cookies()
    context.clear_permissions()
    context.unroute_all()
    context.set_offline(False)


@contextmanager
def watched(
    context: BrowserContext, problems: PageProblems, leave: Callable[[BrowserContext], None] = BrowserContext.close
) -> Iterator[BrowserContext]:
    """A context whose pages say what goes wrong in them."""

    def watch(new: Page) -> None:
        new.on("pageerror", lambda error: problems.append(f"{error.name}: {error.message}"))
        new.on("console", note)

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            problems.append(f"{message.text} ({message.location.get('url', '')})")

    context.on("page", watch)
    _watched.append(context)
    yield context
    context.remove_listener("page", watch)
    leave(context)
    _watched.remove(context)
    # Nobody waits for these answers any more, but the server works on them, and the database is about to be emptied.
    until(lambda: not _under_way, "the server does not answer")


def prepare(context: BrowserContext, *, scripts: bool = True) -> None:
    context.set_default_timeout(PATIENCE)
    if scripts:
        context.add_init_script(REPORT_VIOLATIONS)
        context.add_init_script(f"{{ {NO_CLICK_TOO_EARLY} }}")


@pytest.fixture
def sign_in(live_server):
    """``sign_in(page, user)``: with a session's cookie, without the form."""

    def sign_in(page: Page, user) -> None:
        client = Client()
        client.force_login(user)
        name = settings.SESSION_COOKIE_NAME
        page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": live_server.url}])

    return sign_in


@pytest.fixture
def project(alice, carol):
    """What `desk` is about; a module may have another one."""
    return factories.project(by=alice, annotators=[carol], text=TEXT, guidelines="Mark every object.")


@pytest.fixture
def desk(page, sign_in, project, carol) -> Desk:
    sign_in(page, carol)
    return Desk(page, project, carol).open()


@pytest.fixture
def desk_about(page, sign_in, alice, carol):
    """``desk_about(dataset, items, kind=Desk)``: a project with these labels, and no relations, is opened."""

    def desk_about(dataset, items=None, kind=Desk) -> Desk:
        labels = factories.ontology(owner=alice, items=items)
        fields = {"name": "Other", "by": alice, "dataset": dataset, "entity_ontology": labels, "annotators": [carol]}
        sign_in(page, carol)
        return kind(page, factories.Project.create(**fields), carol).open()

    return desk_about
