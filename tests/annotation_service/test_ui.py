from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from annotation_service.templatetags.ui import ago, left, passed, percent
from annotation_service.words import number, plural, size

NOW = datetime(2026, 6, 15, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (timedelta(seconds=-30), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(minutes=59), "59 minutes ago"),
        (timedelta(hours=3), "3 hours ago"),
        (timedelta(hours=13), "yesterday"),
        (timedelta(hours=35), "yesterday"),
        (timedelta(days=2), "2 days ago"),
        (timedelta(days=30), "30 days ago"),
        (timedelta(days=31), "15 May 2026"),
        (datetime(2026, 6, 15, 12, 0) - datetime(2023, 4, 4), "4 Apr 2023"),
    ],
)
def test_time_passed(before, words):
    assert passed(NOW - before, NOW) == words


def test_an_hour_before_midnight_is_not_yesterday():
    assert passed(datetime(2026, 6, 14, 23, 0, tzinfo=UTC), datetime(2026, 6, 15, 2, 0, tzinfo=UTC)) == "3 hours ago"


def test_ago_tells_the_exact_time():
    assert ago(datetime(2023, 4, 14, 9, 5, 7, tzinfo=UTC)) == (
        '<time datetime="2023-04-14T09:05:07+00:00" title="14 Apr 2023, 09:05:07 UTC">14 Apr 2023</time>'
    )


def test_ago_without_a_time():
    assert ago(None) == "never"


@pytest.mark.parametrize(
    ("value", "words"), [(0, "0"), (999, "999"), (12408, "12\u202f408"), (-1200, "-1\u202f200"), (None, "")]
)
def test_number(value, words):
    assert number(value) == words


@pytest.mark.parametrize(
    ("value", "forms", "words"),
    [
        (0, "item,items", "0 items"),
        (1, "item,items", "1 item"),
        (12408, "entity,entities", "12\u202f408 entities"),
        (2, "mark", "2 marks"),
        (None, "item,items", "0 items"),
    ],
)
def test_plural(value, forms, words):
    assert plural(value, forms) == words


@pytest.mark.parametrize(
    ("value", "total", "result"), [(0, 0, 0), (1, 3, 33), (1999, 2000, 99), (5, 5, 100), (None, 4, 0)]
)
def test_percent(value, total, result):
    assert percent(value, total) == result


@pytest.mark.parametrize(
    ("value", "words"), [(0, "0 bytes"), (1, "1 byte"), (12_400, "12 kB"), (999_600, "1 MB"), (52_428_800, "52.4 MB")]
)
def test_size(value, words):
    assert size(value) == words


@pytest.mark.parametrize(
    ("ahead", "words"),
    [
        (timedelta(days=30), "30 days left"),
        (timedelta(days=29, minutes=5), "30 days left"),
        (timedelta(hours=23), "1 day left"),
        (timedelta(seconds=-5), "0 days left"),
    ],
)
def test_left(ahead, words):
    assert left(timezone.now() + ahead) == words
