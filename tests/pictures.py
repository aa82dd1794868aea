"""The pictures of the help page: what people see in the demo, in both themes."""

import base64
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, FloatRect, Locator, Page, expect, sync_playwright

from tests.benchmarks.service import ROOT, Service
from tests.e2e.waiting import settled

FOLDER = ROOT / "static" / "help"
MOST_BYTES = 60_000
WIDTH = 960
SHARPNESS = 1.5  # pixels of the picture for each of the page
# No package for pictures is needed: the browser writes WebP, too.
TO_WEBP = """async (png) => {
  const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
  const canvas = Object.assign(document.createElement("canvas"), { width: bitmap.width, height: bitmap.height });
  canvas.getContext("2d").drawImage(bitmap, 0, 0);
  return canvas.toDataURL("image/webp", 0.85).split(",")[1];
}"""
Scene = Callable[[Page], FloatRect]
SCENES: dict[str, tuple[str, Scene]] = {}


def scene(person: str) -> Callable[[Scene], Scene]:
    """A picture of what this person of the demo sees: the function brings the page there, and returns what is taken."""

    def register(take: Scene) -> Scene:
        SCENES[take.__name__] = (person, take)
        return take

    return register


def from_the_top_of(page: Page, selector: str, height: int) -> FloatRect:
    """The whole width of the page, from where an element begins."""
    box = page.locator(selector).first.bounding_box()
    assert box
    return {"x": 0, "y": box["y"], "width": WIDTH, "height": height}


@scene("manager")
def tree(page: Page) -> FloatRect:
    page.goto("/ontologies/1/")
    page.get_by_role("treeitem", name="SensingObject").locator(".name").first.click()
    expect(page.locator("#details h2")).to_contain_text("SensingObject")
    settled(page)
    page.keyboard.press("Control+Enter")
    page.keyboard.type("FlowSensor")
    return from_the_top_of(page, ".tools", 380)


@scene("manager")
def paste(page: Page) -> FloatRect:
    page.goto("/ontologies/1/")
    page.get_by_role("button", name="Paste list…").click()
    page.locator("#pasted").fill("Activity\n  Lubricate\n  Replace\nTool\n  Torque wrench\n  Jack")
    expect(page.locator("#preview .planned li")).to_have_count(6)
    box = page.locator("#dialog").bounding_box()
    assert box
    return box


@scene("manager")
def dataset(page: Page) -> FloatRect:
    page.goto("/datasets/new/")
    page.locator("#id_text").fill(
        "Left air conditioner thermostat not working\nPump P-101 leaking at the seal, replaced the bearing."
    )
    expect(page.locator(".token-list").first).to_be_visible()
    settled(page)
    return from_the_top_of(page, ".incoming", 400)


@scene("manager")
def project(page: Page) -> FloatRect:
    page.goto("/projects/1/")
    expect(page.locator(".meter-row").first).to_be_visible()
    return from_the_top_of(page, ".page-head", 520)


@scene("manager")
def rules(page: Page) -> FloatRect:
    page.goto("/constraints/1/")
    settled(page)
    return from_the_top_of(page, ".tabs", 400)


def open_item(page: Page, number: int) -> None:
    """Open an item of the demo's project in the workspace, from the first one that is not done."""
    page.goto("/projects/1/annotate/")
    while (here := int(page.locator(".item-bar > b").inner_text())) != number:
        page.locator("#next" if here < number else "#previous").click()
        expect(page.locator(".item-bar > b")).not_to_have_text(str(here))
    expect(page.locator("html[data-ready]")).to_be_attached()


def word(page: Page, text: str) -> Locator:
    return page.locator(".tok").get_by_text(text, exact=True).first


def choose_words(page: Page, first: str, last: str) -> None:
    """Drag over words, which opens the list of labels."""
    word(page, first).hover()
    page.mouse.down()
    word(page, last).hover()
    page.mouse.up()
    expect(page.locator("#picker")).to_be_visible()


@scene("ben")
def picker(page: Page) -> FloatRect:
    open_item(page, 7)
    choose_words(page, "fan", "belt")
    return from_the_top_of(page, ".work-bar", 420)


@scene("ben")
def grey(page: Page) -> FloatRect:
    open_item(page, 4)
    choose_words(page, "lift", "hose")
    page.keyboard.type("guiding")
    page.keyboard.press("Enter")
    expect(page.locator(".mark-name")).to_be_visible()
    word(page, "lift").dblclick()
    page.keyboard.type("act")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".option.dim").first).to_be_visible()
    return from_the_top_of(page, ".workspace", 420)


@scene("anna")
def relation(page: Page) -> FloatRect:
    open_item(page, 2)
    expect(page.locator(".arc").first).to_be_attached()
    settled(page)
    return from_the_top_of(page, ".workspace", 400)


def take(browser: Browser, service: Service, passwords: dict[str, str], names: list[str]) -> None:
    for name in names or SCENES:
        person, scene = SCENES[name]
        context = browser.new_context(
            base_url=f"http://127.0.0.1:{service.port}",
            viewport={"width": WIDTH, "height": 640},
            device_scale_factor=SHARPNESS,
            reduced_motion="reduce",
        )
        page = context.new_page()
        page.goto("/accounts/login/")
        page.locator("[name=login]").fill(person)
        page.locator("[name=password]").fill(passwords[person])
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator("h1")).to_contain_text("Hello")
        clip = scene(page)
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            png = base64.b64encode(page.screenshot(clip=clip, animations="disabled", caret="initial")).decode()
            webp = base64.b64decode(context.new_page().evaluate(TO_WEBP, png))
            assert len(webp) <= MOST_BYTES, f"{name}, {theme}: {len(webp)} bytes are too many"
            (FOLDER / f"{name}-{theme}.webp").write_bytes(webp)
        print(f"{name}: {clip['width']:.0f} x {clip['height']:.0f}, {len(webp) // 1000} kB", flush=True)
        context.close()


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        service = Service(Path(folder), "", long=False)
        service.start()
        command = [".venv/bin/python", "manage.py", "demo"]
        subprocess.run(command, cwd=service.folder, env=service.environment, check=True, stdout=subprocess.DEVNULL)
        accounts = (service.folder / "var" / "demo_accounts.txt").read_text()
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            take(browser, service, dict(line.split() for line in accounts.splitlines()), sys.argv[1:])
        finally:
            browser.close()
            service.stop()


if __name__ == "__main__":
    main()
