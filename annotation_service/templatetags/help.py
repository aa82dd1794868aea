"""What the parts of the help page are written with: answers, pictures, and the names of controls and keys."""

import re
from typing import NamedTuple

from django import template
from django.template import Context
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()


class Answer(NamedTuple):
    anchor: str
    question: str
    words: str  # by which it is found in the command palette


@register.simple_block_tag(takes_context=True)
def answer(context: Context, content: str, anchor: str, question: str) -> SafeString:
    """One answer, with an address of its own, for the table of contents in ``questions``. Further words to find it by are
    hidden in it."""
    hidden = " ".join(re.findall(r"<p hidden>(.*?)</p>", content, re.DOTALL))
    context["questions"].append(Answer(anchor, question, f"{question} {hidden}".casefold()))
    return format_html(
        '<article class="answer" id="{0}"><h3><a href="#{0}">{1}</a></h3>{2}</article>', anchor, question, content
    )


@register.simple_tag
def control(name: str) -> SafeString:
    """A button, link or field, by the name that stands on the screen: a test finds it in the templates or the code."""
    return format_html("<b>{}</b>", name)


@register.simple_tag
def keys(*names: str) -> SafeString:
    """Keys, as the lists of keys name them: a test finds them there."""
    return format_html_join(" ", "<kbd>{}</kbd>", ((name,) for name in names))


@register.simple_tag
def picture(name: str, width: int, height: int, alt: str) -> SafeString:
    """A picture that bin/pictures made, in the colours of the page."""
    pictures = ((theme, static(f"help/{name}-{theme}.webp"), width, height, alt) for theme in ("light", "dark"))
    image = '<img class="for-{}" src="{}" width="{}" height="{}" alt="{}" loading="lazy">'
    return format_html('<p class="picture">{}</p>', format_html_join("", image, pictures))
