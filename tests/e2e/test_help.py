"""Finding an answer."""

import pytest
from playwright.sync_api import expect

from tests.e2e.test_axe import fits, sound

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

DISTORTION = """async (image) => {
  await image.decode();
  return Math.abs(image.naturalWidth / image.naturalHeight - image.width / image.height);
}"""


def test_search_finds_answers_as_one_types_and_the_address_keeps_it(page, sign_in, carol):
    sign_in(page, carol)
    page.goto("/help/")
    answers = page.locator(".answer:visible")
    expect(page.locator(".answer h3").first).to_have_text("Where do I find my work?")
    page.keyboard.press("/")
    page.keyboard.type("relabel")  # a word that the answer itself does not have
    expect(answers).to_have_count(1)
    expect(answers).to_contain_text("I chose the wrong label")
    expect(page.locator(".help-contents li:visible")).to_have_count(1)
    expect(page.locator("#help-found")).to_have_text("1 answer")
    assert page.evaluate("location.search") == "?q=relabel"
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="I chose the wrong label. How do I change it?").last).to_be_focused()
    page.keyboard.press("Enter")
    page.reload()
    expect(answers).to_have_count(1)
    expect(page.locator(":target")).to_have_id("change-label")
    page.get_by_role("searchbox").fill("trees mistake UNDÓ")  # in any order, whatever the case and the accents
    expect(answers).to_contain_text("I broke something in the tree")
    page.get_by_role("searchbox").fill("zzz")
    expect(page.locator("#help-nothing b")).to_have_text("No answer has “zzz”")
    expect(page.locator("[data-part]:visible")).to_have_count(0)
    page.get_by_role("button", name="Show all answers").click()
    expect(page.locator(".answer:visible")).not_to_have_count(0)
    assert page.evaluate("location.search") == ""


def test_a_link_to_an_answer_that_the_search_hides_shows_it(page, sign_in, alice):
    sign_in(page, alice)
    page.goto("/help/?q=adjudicate#compare")
    expect(page.locator(".answer:visible")).to_have_count(1)
    page.locator("#compare").get_by_role("link", name="Annotators per item").click()
    expect(page.locator("#share-out")).to_be_in_viewport()
    expect(page.get_by_role("searchbox")).to_have_value("")


def test_pictures_have_the_colours_and_the_shape_of_the_page(page, sign_in, alice):
    sign_in(page, alice)
    page.goto("/help/#type-labels")
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        picture = page.locator("#type-labels img:visible")
        expect(picture).to_have_attribute("src", f"/static/help/tree-{theme}.webp")
    for image in page.locator(".picture .for-dark").all():
        image.scroll_into_view_if_needed()
        assert image.evaluate(DISTORTION) < 0.01
    page.evaluate("document.documentElement.dataset.theme = 'light'")
    expect(page.locator("#type-labels img:visible")).to_have_attribute("src", "/static/help/tree-light.webp")


def test_on_a_phone_and_without_scripts(page, browser, sign_in, carol, live_server):
    sign_in(page, carol)
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto("/help/")
    sound(page)
    page.get_by_role("searchbox").fill("grey")
    sound(page)
    plain = browser.new_context(
        base_url=live_server.url, java_script_enabled=False, storage_state=page.context.storage_state()
    )
    without = plain.new_page()
    without.goto("/help/")
    expect(without.get_by_role("searchbox")).to_have_count(0)
    without.locator(".help-contents").get_by_role("link", name="Why are some labels grey?").click()
    expect(without.locator("#grey")).to_be_in_viewport()
    plain.close()


def test_operations_of_programs_are_found_as_answers_are(page, sign_in, carol):
    sign_in(page, carol)
    page.goto("/help/")
    page.get_by_role("link", name="For programs").click()
    expect(page.get_by_placeholder("What shall the program do?")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("webhooks secret")
    found = page.locator(".answer:visible")
    expect(page.locator("#help-found")).to_have_text(f"{found.count()} operations")
    expect(page.locator("#renew_webhook_secret")).to_be_visible()
    expect(page.locator("#list_ontologies")).to_be_hidden()
    sound(page)
    page.get_by_role("searchbox").fill("zzz")
    expect(page.locator("#help-nothing b")).to_have_text("No operation has “zzz”")
    page.set_viewport_size({"width": 360, "height": 740})
    page.get_by_role("button", name="Show all operations").click()
    expect(page.locator("#list_ontologies")).to_be_visible()
    assert page.locator(".help-contents").bounding_box()["height"] < 1000
    fits(page)
