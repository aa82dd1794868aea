"""How colours read."""

from django import template

from .. import colors

register = template.Library()

register.filter("color_name", colors.name_of)
