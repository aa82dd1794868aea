from tests.api.asks import MANAGERS, Ask

HOOK = ("project", "webhook")
NEW = {"url": "https://example.org/hook", "events": ["item.done", "job.done"]}
ELSEWHERE = "401 404 403 404 404 404"
ASKS = [
    Ask("list_webhooks", MANAGERS, ("project",)),
    Ask("create_webhook", MANAGERS, ("project",), NEW, like="api:webhooks"),
    Ask("create_webhook", "401 404 403 404 422 422", ("project",), {**NEW, "url": "https://10.0.0.1/"}),
    Ask("get_webhook", MANAGERS, HOOK),
    Ask("get_webhook", ELSEWHERE, ("bare_project", "webhook")),
    Ask("change_webhook", MANAGERS, HOOK, NEW, like="api:webhook"),
    Ask("change_webhook", MANAGERS, HOOK, {"is_on": False}, like="api:switch_webhook"),
    Ask("delete_webhook", MANAGERS, HOOK, like="api:delete_webhook"),
    Ask("renew_webhook_secret", MANAGERS, HOOK),
    Ask("ping_webhook", MANAGERS, HOOK, like="api:ping_webhook"),
    Ask("list_deliveries", MANAGERS, HOOK),
    Ask("send_delivery_again", MANAGERS, (*HOOK, "delivery"), like="api:send_again"),
    Ask("send_delivery_again", ELSEWHERE, ("bare_project", "webhook", "delivery")),
]
