"""Waiting for what Playwright does not wait for by itself."""

import time
from collections.abc import Callable

from playwright.sync_api import Page, expect

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


def all_saved(page: Page) -> None:
    """Until the server has everything that was done in the annotation screen."""
    # What is only shown yet is saved when the page is left. While the words are busy, they may be those of before.
    page.wait_for_function("() => dispatchEvent(new Event('beforeunload'))")
    expect(page.locator("#saved:not([aria-busy=true])")).to_have_text("✓ all saved")
