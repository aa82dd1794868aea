from django import template

from datasets.exports import DownloadFormat

from ..gold_files import FORMATS

register = template.Library()


@register.simple_tag
def gold_formats() -> list[DownloadFormat]:
    """The formats in which gold can be downloaded."""
    return list(FORMATS.values())
