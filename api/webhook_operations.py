"""What programs do with a project's webhooks: as on its pages."""

from typing import Any

from annotation_service.blueprints import Right
from projects import access

from .models import Scope
from .operations import ApiSection, Call, Rows, attributes
from .webhook_pages import delivery_of, webhook_of
from .webhooks import Delivery, Webhook

ALL, ONE = "projects/<int:project>/webhooks", "projects/<int:project>/webhooks/<int:webhook>"
LOG = f"{ONE}/deliveries"
webhooks = ApiSection("Webhooks", reads=Scope.MANAGE)


def show_webhook(webhook: Webhook) -> dict[str, Any]:
    return attributes(webhook, "id url events is_on off_reason created_by created_at")


def show_delivery(delivery: Delivery) -> dict[str, Any]:
    names = "id message_id event state attempts code error created_at next_at delivered_at"
    return attributes(delivery, names)


@webhooks.list(ALL, "Webhook")
def list_webhooks(call: Call, project: int) -> Rows:
    """List the webhooks of a project."""
    found = access.project(call, project, Right.MANAGE).webhooks.select_related("created_by")
    return Rows(found, lambda webhooks: map(show_webhook, webhooks))


@webhooks.create(ALL, "NewWebhook", "WebhookWithSecret", pages="api:webhooks")
def create_webhook(call: Call, project: int) -> Any:
    """Have an address told what happens in a project.

    The answer has the secret with which all that is sent is signed, as Standard Webhooks have it.
    """
    made = Webhook.make(access.project(call, project, Right.MANAGE), by=call.user, **call.sent)
    return {**show_webhook(made), "secret": made.secret}


@webhooks.get(ONE, "Webhook")
def get_webhook(call: Call, project: int, webhook: int) -> Any:
    """Read what a webhook tells, and whether it is on."""
    return show_webhook(webhook_of(call, project, webhook))


@webhooks.patch(ONE, "WebhookChange", "Webhook", pages="api:webhook api:switch_webhook")
def change_webhook(call: Call, project: int, webhook: int) -> Any:
    """Change address or events, or switch it off or on."""
    found = webhook_of(call, project, webhook)
    found.change(**call.sent)
    return show_webhook(found)


@webhooks.delete(ONE, pages="api:delete_webhook")
def delete_webhook(call: Call, project: int, webhook: int) -> None:
    """Delete a webhook and its log."""
    webhook_of(call, project, webhook).erase()


@webhooks.post(f"{ONE}/secret", answer="WebhookWithSecret", pages="api:webhook_secret")
def renew_webhook_secret(call: Call, project: int, webhook: int) -> Any:
    """Make another secret: all that is sent from now on is signed with it."""
    found = webhook_of(call, project, webhook)
    found.renew_secret()
    return {**show_webhook(found), "secret": found.secret}


@webhooks.create(f"{ONE}/ping", answer="Delivery", pages="api:ping_webhook")
def ping_webhook(call: Call, project: int, webhook: int) -> Any:
    """Send a test event."""
    return show_delivery(webhook_of(call, project, webhook).ping())


@webhooks.list(LOG, "Delivery")
def list_deliveries(call: Call, project: int, webhook: int) -> Rows:
    """List what a webhook was told within 30 days, the oldest first, and how that went."""
    return Rows(webhook_of(call, project, webhook).deliveries.all(), lambda rows: map(show_delivery, rows))


@webhooks.post(f"{LOG}/<int:delivery>/again", answer="Delivery", pages="api:send_again")
def send_delivery_again(call: Call, project: int, webhook: int, delivery: int) -> Any:
    """Send an event once more, with the same id."""
    found = delivery_of(call, project, webhook, delivery)
    found.send_again()
    return show_delivery(found)
