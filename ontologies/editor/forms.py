import json
import re
from typing import Any

from django import forms
from django.conf import settings

from annotation_service.blueprint_views import DescriptionField, NameField
from annotation_service.inputs import Problem, Refused, check_size, check_text, clean_name, decode, read_upload

from ..documents import NewItem, clean_color, example_json, read_ontology, read_pasted
from ..models import Ontology

# A refused file up to this size is put into the text area, to be mended there.
_MENDABLE = 500_000


class LabelField(NameField):
    """The name of an item: without “/”."""

    rule = staticmethod(clean_name)


class ListForm(forms.Form):
    """What the list is narrowed down to; what makes no sense is ignored."""

    q = forms.CharField(required=False, max_length=200)
    kind = forms.ChoiceField(required=False, choices=[("", "All kinds"), *Ontology.Kind.choices])
    mine = forms.BooleanField(required=False)


class CreateForm(forms.Form):
    name = NameField(widget=forms.TextInput(attrs={"autocomplete": "off"}))
    description = DescriptionField(widget=forms.Textarea(attrs={"rows": 2}))
    kind = forms.ChoiceField(choices=Ontology.Kind.choices, initial=Ontology.Kind.ENTITY, widget=forms.RadioSelect)
    source = forms.ChoiceField(
        choices=[("empty", "Empty"), ("example", "Small example"), ("paste", "Paste JSON"), ("file", "Upload a file")],
        initial="empty",
        widget=forms.RadioSelect,
    )
    text = forms.CharField(required=False, strip=False, widget=forms.Textarea)
    file = forms.FileField(required=False, allow_empty_file=True)

    problems: list[Problem] = []
    total = 0
    file_text = ""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if not self.is_bound:
            self.fields["name"].widget.attrs["autofocus"] = True

    def items(self) -> list[NewItem]:
        """The items of the chosen source. Only for a valid form."""
        return self.cleaned_data["items"]

    def clean(self) -> None:
        data = self.cleaned_data
        try:
            text = self._text(data.get("source", ""))
            data["items"] = read_ontology(text, data["kind"]) if text and "kind" in data else []
        except Refused as error:
            self.problems, self.total = error.problems, error.total
            self.add_error(None, "The content was not taken.")

    def _text(self, source: str) -> str:
        if source == "example" and "kind" in self.cleaned_data:
            return example_json(self.cleaned_data["kind"])
        if source == "paste" and "text" in self.cleaned_data:
            text = self.cleaned_data["text"]
            check_size(len(text.encode("utf-8", "surrogatepass")), settings.MAX_PASTED_BYTES)
            return check_text(text)
        if source == "file":
            upload = self.cleaned_data.get("file")
            if not upload:
                raise Refused("Choose a file.")
            text = decode(read_upload(upload, settings.MAX_ONTOLOGY_BYTES))
            self.file_text = text if len(text) <= _MENDABLE else ""
            return text
        return ""


class WasField(forms.CharField):
    """The value that the person saw when they began to edit."""

    def __init__(self) -> None:
        super().__init__(required=False, strip=False, widget=forms.HiddenInput)


class ItemNameForm(forms.Form):
    name = LabelField()
    was = WasField()


class AddForm(forms.Form):
    name = LabelField()


class DescriptionForm(forms.Form):
    description = DescriptionField()
    was = WasField()


class ExampleTermsForm(forms.Form):
    """``was`` are the terms as JSON; to them come those in ``add``, from them goes ``drop``."""

    add = forms.CharField(required=False, max_length=50_000)
    drop = forms.CharField(required=False, strip=False)
    was = WasField()

    def clean_was(self) -> list[str]:
        try:
            terms = json.loads(self.cleaned_data["was"] or "[]")
        except (ValueError, RecursionError):
            terms = None
        if not isinstance(terms, list) or not all(isinstance(term, str) for term in terms):
            raise forms.ValidationError("Reload the page and try again.")
        return terms

    def terms(self) -> list[str]:
        """The terms as they shall be."""
        data = self.cleaned_data
        return [term for term in data["was"] if term != data["drop"]] + re.split(r"[,\n]", data["add"])


class ColorForm(forms.Form):
    color = forms.CharField(max_length=7)
    branch = forms.BooleanField(required=False)
    was = WasField()

    def clean_color(self) -> str:
        try:
            return clean_color(self.cleaned_data["color"])
        except Refused as error:
            raise forms.ValidationError(str(error)) from error


class SwitchForm(forms.Form):
    """``active`` is the wanted state; ``reach`` whether it goes for the whole branch."""

    active = forms.ChoiceField(choices=[("1", "on"), ("0", "off")])
    reach = forms.ChoiceField(required=False, choices=[("branch", ""), ("item", "")])

    @property
    def wanted(self) -> bool:
        return self.cleaned_data["active"] == "1"

    @property
    def branch(self) -> bool:
        return self.cleaned_data["reach"] != "item"


class PasteForm(forms.Form):
    """A list of new items: indented lines, paths or a creation document."""

    text = forms.CharField(required=False, strip=False, widget=forms.Textarea)

    problems: list[Problem] = []
    total = 0

    def __init__(self, *args: Any, kind: str) -> None:
        super().__init__(*args)
        self.kind = kind

    def items(self) -> list[NewItem]:
        """Only for a valid form."""
        return self.cleaned_data["items"]

    def clean(self) -> None:
        text = self.cleaned_data.get("text", "")
        try:
            check_size(len(text.encode("utf-8", "surrogatepass")), settings.MAX_PASTED_BYTES)
            self.cleaned_data["items"] = read_pasted(text, self.kind) if text.strip() else []
        except Refused as error:
            self.problems, self.total = error.problems, error.total
            self.add_error(None, "The list was not taken.")


class SelectionForm(forms.Form):
    """Several items, with their branches if ``reach`` is set; the wanted colour or state."""

    uids = forms.CharField(max_length=500_000)
    reach = forms.BooleanField(required=False)
    color = forms.CharField(required=False, max_length=7)
    active = forms.ChoiceField(required=False, choices=[("1", "on"), ("0", "off")])

    def clean_uids(self) -> list[str]:
        return [uid for uid in self.cleaned_data["uids"].split(",") if uid]


class MoveForm(forms.Form):
    """The uids of the new parent, none for the top level, and of the item there before or after which it shall stand."""

    to = forms.CharField(required=False, max_length=8)
    before = forms.CharField(required=False, max_length=8)
    after = forms.CharField(required=False, max_length=8)
