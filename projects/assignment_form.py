"""The fields of a rule by which items are given to people: where a project is made, and where its rule is changed."""

from django import forms

from .rule import NUMBERS, Rule


class NumberField(forms.IntegerField):
    """A field of the rule. Whatever is wrong with its number, it says which ones it takes."""

    def __init__(self, field: str, help_text: str) -> None:
        numbers = NUMBERS[field]
        super().__init__(
            required=False,
            min_value=numbers.least,
            max_value=numbers.most,
            label=numbers.name,
            help_text=help_text,
            error_messages=dict.fromkeys(("invalid", "min_value", "max_value"), str(numbers)),
        )


class AssignmentForm(forms.Form):
    """Empty fields: everybody gets every item."""

    annotators_per_item = NumberField(
        "annotators_per_item",
        "Empty: every annotator gets every item. A number: items are dealt out evenly.",
    )
    overlap = NumberField(
        "overlap",
        "So many percent of the items go to everybody instead, evenly spread, so that you can compare people.",
    )
    calibration = NumberField(
        "calibration",
        "So many items at the beginning go to everybody. Whoever has not done these gets no others yet.",
    )

    @property
    def rule(self) -> Rule:
        """What was filled in, when it is valid."""
        return Rule(**{name: self.cleaned_data[name] for name in AssignmentForm.base_fields})

    def clean_overlap(self) -> int:
        share = self.cleaned_data["overlap"] or 0
        if share and "annotators_per_item" in self.cleaned_data and not self.cleaned_data["annotators_per_item"]:
            raise forms.ValidationError(
                "Everybody gets every item: say how many annotators each of the others goes to."
            )
        return share

    def clean_calibration(self) -> int:
        return self.cleaned_data["calibration"] or 0
