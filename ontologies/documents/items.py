"""New items and the rules of their fields, whichever document they come from."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings

from annotation_service.inputs import Refused, check_text

from .. import colors


@dataclass(slots=True)
class NewItem:
    """An item to be created. A list of them is in tree order; ``level`` is 1 at the top."""

    level: int
    name: str
    description: str = ""
    example_terms: list[str] = field(default_factory=list)
    color: str = ""
    active: bool = True
    uid: str = ""
    created_at: datetime | None = None
    updated_at: datetime | None = None


def clean_color(value: str) -> str:
    if not colors.HEX.fullmatch(value):
        raise Refused(f"A colour is written as #RRGGBB, not “{value[:20]}”.")
    return value.upper()


def clean_example_terms(values: Iterable[str]) -> list[str]:
    """Stripped and without repetitions, in the order given."""
    terms = list(dict.fromkeys(filter(None, (unicodedata.normalize("NFC", value).strip() for value in values))))
    if len(terms) > settings.MAX_EXAMPLE_TERMS:
        raise Refused(f"An item has at most {settings.MAX_EXAMPLE_TERMS} example terms; this one has {len(terms)}.")
    for term in terms:
        check_text(term)
        if len(term) > (most := settings.MAX_EXAMPLE_TERM_CHARACTERS):
            raise Refused(f"An example term has at most {most} characters; “{term[:30]}…” has {len(term)}.")
    return terms
