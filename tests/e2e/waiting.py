"""Waiting for what Playwright does not wait for by itself."""

import time
from collections.abc import Callable

from playwright.sync_api import Page

SETTLED = "() => document.readyState === 'complete' && !document.querySelector('.htmx-request, .htmx-swapping, .htmx-settling')"


def until(condition: Callable[[], bool], reason: str) -> None:
    for _ in range(400):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(reason)


def settled(page: Page) -> None:
    """Until the page has come, and every answer that htmx asked for is on it.

    A page that a click leads to comes a moment later: look first for something that it alone has.
    """
    page.wait_for_function(SETTLED)
