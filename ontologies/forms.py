from typing import Any

from django import forms
from django.conf import settings

from annotation_service.blueprint_views import DescriptionField, NameField
from annotation_service.inputs import Problem, Refused, check_size, check_text, decode, read_upload

from .documents import NewItem, example_json, read_ontology
from .models import Ontology

# A refused file up to this size is put into the text area, to be corrected there.
_EDITABLE = 500_000


class ListForm(forms.Form):
    """The filters of the list. Invalid ones are ignored."""

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
            self.file_text = text if len(text) <= _EDITABLE else ""
            return text
        return ""
