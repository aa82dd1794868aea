"""What a person reads in an answer, and what its page is told to do."""

import json
import re
from html import unescape


def html(answer):
    return unescape(answer.text)


def text_of(answer):
    """The words of a page, without its tags."""
    return " ".join(re.sub(r"<[^>]*>", " ", answer.text).split())


def events(answer):
    """What the scripts of the page are told."""
    return json.loads(answer.get("HX-Trigger", "{}"))


def toast(answer):
    return events(answer)["toast"]["text"]
