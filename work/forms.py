from typing import Any

from django import forms


class LearnForm(forms.Form):
    """Which marks a constraint set learns from, and how far down the tree."""

    LEVELS = [(1, "the top level"), (2, "two levels"), (3, "three levels"), (99, "all levels, as marked")]

    source = forms.ChoiceField(label="Learn from")
    levels = forms.TypedChoiceField(label="For labels of", choices=LEVELS, coerce=int, required=False, empty_value="1")

    def __init__(self, data: Any, *, choices: list[Any]) -> None:
        super().__init__(data)
        self.fields["source"].choices = [("", "Choose marks…"), *choices]  # type: ignore[attr-defined]
