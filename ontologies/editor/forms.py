import re
from typing import Any

from django import forms

from annotation_service.blueprint_views import DescriptionField, NameField
from annotation_service.inputs import clean_description, clean_name
from annotation_service.json_input import parse_json
from annotation_service.models import User

from ..documents import NewItem, clean_color, read_pasted
from ..forms import ItemsForm
from ..models import OntologyItem


class AddForm(forms.Form):
    name = NameField(clean_name)


class FieldForm(forms.Form):
    """One field of an item. ``was`` is the value that the person saw when they began to edit."""

    was = forms.CharField(required=False, strip=False, widget=forms.HiddenInput)

    def __init__(self, data: Any, *, item: OntologyItem) -> None:
        super().__init__(data)
        self.item = item

    def save(self, by: User) -> OntologyItem:
        raise NotImplementedError


class ItemNameForm(FieldForm):
    name = NameField(clean_name)

    def save(self, by: User) -> OntologyItem:
        return self.item.rename(self.cleaned_data["name"], was=self.cleaned_data["was"], by=by)


class DescriptionForm(FieldForm):
    description = DescriptionField()

    def save(self, by: User) -> OntologyItem:
        was = clean_description(self.cleaned_data["was"])
        return self.item.describe(self.cleaned_data["description"], was=was, by=by)


class ExampleTermsForm(FieldForm):
    """``was`` are the terms as JSON; those in ``add`` are added to them, ``drop`` is removed."""

    add = forms.CharField(required=False, max_length=50_000)
    drop = forms.CharField(required=False, strip=False)

    def clean_was(self) -> list[str]:
        terms = parse_json(self.cleaned_data["was"] or "[]")
        if not isinstance(terms, list) or not all(isinstance(term, str) for term in terms):
            raise forms.ValidationError("Reload the page and try again.")
        return terms

    def save(self, by: User) -> OntologyItem:
        was, drop, add = (self.cleaned_data[name] for name in ("was", "drop", "add"))
        terms = [term for term in was if term != drop] + re.split(r"[,\n]", add)
        return self.item.set_example_terms(terms, was=was, by=by)


class ColorForm(FieldForm):
    color = forms.CharField(max_length=7)
    branch = forms.BooleanField(required=False)

    def clean_color(self) -> str:
        return clean_color(self.cleaned_data["color"])

    def save(self, by: User) -> OntologyItem:
        data = self.cleaned_data
        return self.item.recolor(data["color"], branch=data["branch"], was=data["was"], by=by)


class ActiveField(forms.TypedChoiceField):
    """The wanted state: on or off."""

    def __init__(self, **options: Any) -> None:
        choices = [("1", "on"), ("0", "off")]
        super().__init__(choices=choices, coerce=lambda value: value == "1", empty_value=None, **options)


class SwitchForm(forms.Form):
    """``reach`` tells whether the whole branch is switched."""

    active = ActiveField()
    reach = forms.ChoiceField(required=False, choices=[("branch", ""), ("item", "")])

    def clean_reach(self) -> bool:
        return self.cleaned_data["reach"] != "item"


class SelectionForm(forms.Form):
    """Several items, with their branches if ``reach`` is set; the wanted colour or state."""

    uids = forms.CharField(max_length=500_000)
    reach = forms.BooleanField(required=False)
    color = forms.CharField(required=False, max_length=7)
    active = ActiveField(required=False)

    def clean_uids(self) -> list[str]:
        return [uid for uid in self.cleaned_data["uids"].split(",") if uid]


class PasteForm(ItemsForm):
    """A list of new items: indented lines, paths or a creation document."""

    refusal = "The list was not taken."

    def __init__(self, *args: Any, kind: str) -> None:
        super().__init__(*args)
        self.kind = kind

    def read(self) -> list[NewItem]:
        text = self.pasted()
        return read_pasted(text, self.kind) if text.strip() else []
