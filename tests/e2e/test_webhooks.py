"""A manager adds a webhook, tries it, sees in its log how it went, and ends it."""

import re

import pytest
from playwright.sync_api import expect

from api.sending import Sender
from api.webhooks import Delivery, Webhook
from tests.api.receivers import receiving
from tests.e2e.test_axe import serious

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def test_a_webhook_from_its_first_event_to_its_end(page, sign_in, alice, project, settings, problems):
    problems.expect("422")
    settings.WEBHOOK_PRIVATE_ADDRESSES = True
    sign_in(page, alice)
    page.goto(f"/projects/{project.pk}/settings/")
    page.get_by_role("link", name="Webhooks").click()
    expect(page.get_by_text("Nobody is told yet.")).to_be_visible()
    assert serious(page) == []
    page.get_by_label("Address").fill("https://user:secret@example.org/")
    page.get_by_label("item.done").check()
    page.get_by_role("button", name="Add").click()
    address = page.get_by_label("Address")
    expect(address).to_have_accessible_description(re.compile("An address has no name"))
    address.fill(f"https://example.org/{'x' * 500}")
    page.get_by_role("button", name="Add").click()
    expect(address).to_have_accessible_description(re.compile("500 characters at most"))
    expect(address).to_have_value(re.compile("x{500}"))
    expect(page.get_by_label("item.done")).to_be_checked()
    with receiving() as server:
        page.get_by_label("Address").fill(server.url)
        page.get_by_role("button", name="Add").click()
        expect(page.get_by_text("Nothing yet.")).to_be_visible()
        # Its secret, and another one.
        secret = Webhook.objects.get().secret
        page.get_by_role("button", name="Show the secret…").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_text(secret)).to_be_visible()
        dialog.get_by_role("button", name="Make another").click()
        expect(dialog.get_by_text(secret)).to_have_count(0)
        expect(dialog.get_by_text(Webhook.objects.get().secret)).to_be_visible()
        dialog.get_by_role("button", name="Close").last.click()
        # A test event: the log looks by itself how it goes on.
        server.codes = [500, 200]
        page.get_by_role("button", name="Send a test event").click()
        row = page.get_by_role("row").nth(1)
        expect(row).to_contain_text("waits")
        assert Sender()()
        expect(row).to_contain_text("500")
        expect(row).to_contain_text("tried again")
        row.get_by_role("button", name="again").click()
        assert Sender()()
        expect(row).to_contain_text("delivered")
        assert len(server.got) == 2
    assert serious(page) == []
    page.get_by_role("button", name="Switch off").click()
    expect(page.get_by_role("button", name="Send a test event")).to_be_disabled()
    expect(page.get_by_role("button", name=re.compile("^Send msg"))).to_have_count(0)
    Webhook.objects.get().switch_off("The receiver has taken nothing for 10 attempts in three days.")
    page.reload()
    expect(page.get_by_text("The service has switched it off.")).to_be_visible()
    page.goto(f"/projects/{project.pk}/webhooks/")
    expect(page.get_by_text("switched off")).to_be_visible()
    page.get_by_role("link", name=re.compile("localhost")).click()
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Nobody is told yet.")).to_be_visible()
    assert Delivery.objects.count() == 0
