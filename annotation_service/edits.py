"""Edits of the same fields by several people: nobody overwrites what they have not seen.

An edit brings, beside each wanted value, a fingerprint of the value that its author saw. It is refused only if a field that they
changed has another value in the database by now.
"""

import json
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any

from django import forms

from .inputs import Refused


class Conflict(Exception):
    """Somebody else has changed the same fields meanwhile; ``fields`` are their values of now."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields
        super().__init__(f"Somebody changed the {' and the '.join(fields)} meanwhile.")


def fingerprint(value: Any) -> str:
    """A short hash of a text or of a JSON value."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return blake2b(text.encode(), digest_size=8).hexdigest()


def changes(stored: object, wanted: Mapping[str, Any], was: Mapping[str, str]) -> dict[str, Any]:
    """The wanted values that differ from the database. ``was`` are fingerprints; a field without one is simply stored.

    Raises `Conflict` if somebody else has changed one of them.
    """
    now = {name: getattr(stored, name) for name in wanted}
    # Fingerprints are compared, not values: Python takes 1 and true for equal.
    stored_now = {name: fingerprint(value) for name, value in now.items()}
    changed = {n: value for n, value in wanted.items() if fingerprint(value) not in (was.get(n), stored_now[n])}
    if others := {name: now[name] for name in changed if name in was and was[name] != stored_now[name]}:
        raise Conflict(others)
    return changed


class EditForm(forms.Form):
    """A form over fields of a thing, which are stored by its method ``edit`` or by a given one; ``seen`` are the fingerprints to
    send along."""

    def __init__(self, data: Any = None, *, thing: Any, edit: Callable[..., None] | None = None) -> None:
        stored = {name: getattr(thing, name) for name in self.base_fields}
        super().__init__(data, initial=stored)
        self.edit = edit or thing.edit
        self.seen = {name: (data or {}).get(f"was_{name}") or fingerprint(now) for name, now in stored.items()}
        self.status = 422 if self.is_bound else 200

    def save(self) -> bool:
        """Whether the fields were stored; if not, the form says why at the field and keeps what was typed."""
        if not self.is_valid():
            return False
        try:
            self.edit(was=self.seen, **self.cleaned_data)
        except Conflict as conflict:
            self.status = 409
            for name, value in conflict.fields.items():
                self.seen[name] = fingerprint(value)
                shown = f"“{value}”" if value else "nothing"
                self.add_error(name, f"Somebody changed this meanwhile, to {shown}. Save again to replace it.")
        except Refused as error:
            self.add_error(None, error)
        return self.is_valid()
