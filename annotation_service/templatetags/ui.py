"""How times, numbers and sizes read on a page."""

import math
from datetime import UTC, datetime
from typing import Any

from django import template
from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.utils import timezone
from django.utils.html import format_html, json_script
from django.utils.safestring import SafeString

from annotation_service import words

register = template.Library()

MINUTE, HOUR, DAY = 60, 3600, 86400

register.filter("number", words.number)
register.filter("plural", words.plural)
register.filter("size", words.size)


@register.simple_tag
def limit(name: str) -> int:
    """For ``maxlength``: ``{% limit "MAX_NAME_CHARACTERS" %}``."""
    return getattr(settings, name)


class _CompactEncoder(DjangoJSONEncoder):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options | {"ensure_ascii": False, "separators": (",", ":")})


@register.filter
def compact_script(value: Any, element_id: str) -> SafeString:
    """``json_script`` without spaces between values, and with letters of all scripts as they are."""
    return json_script(value, element_id, _CompactEncoder)


@register.filter
def percent(value: float | None, total: float | None) -> int:
    """Rounded down, so that 100 means all and nothing less."""
    return int(100 * (value or 0) / total) if total else 0


@register.filter
def ago(value: datetime | None) -> str | SafeString:
    """How long ago, with the exact time on hover. Times ahead of the clock read "just now"."""
    if not value:
        return "never"
    exact = value.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        exact.isoformat(timespec="seconds"),
        f"{day_of(exact)}, {exact:%H:%M:%S} UTC",
        passed(exact, timezone.now().astimezone(UTC)),
    )


@register.filter
def left(value: datetime | None) -> str:
    """How long until then, begun days counted: "30 days left"."""
    seconds = (value - timezone.now()).total_seconds() if value else 0
    return f"{words.plural(max(0, math.ceil(seconds / DAY)), 'day,days')} left"


def day_of(moment: datetime) -> str:
    return f"{moment.day} {moment:%b %Y}"


def passed(then: datetime, now: datetime) -> str:
    seconds = (now - then).total_seconds()
    days = (now.date() - then.date()).days
    if seconds < MINUTE:
        return "just now"
    if seconds < HOUR:
        return f"{words.plural(int(seconds // MINUTE), 'minute,minutes')} ago"
    if days == 0 or (days == 1 and seconds < 12 * HOUR):
        return f"{words.plural(int(seconds // HOUR), 'hour,hours')} ago"
    if days == 1:
        return "yesterday"
    if days <= 30:
        return f"{words.plural(days, 'day,days')} ago"
    return day_of(then)
