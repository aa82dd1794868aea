from typing import Any

from django import forms
from django.conf import settings

from annotation_service.blueprint_views import DescriptionField, NameField
from annotation_service.inputs import Problem, Refused, check_size, check_text, decode

from .documents import NewItem, example_json, read_ontology
from .models import Ontology

# A refused file up to this size is put into the text area, to be corrected there.
_EDITABLE = 500_000
SOURCES = [
    ("empty", "Empty", "add items in the editor"),
    ("example", "Small example", "to try things out"),
    ("paste", "Paste JSON", "typed or copied"),
    ("file", "Upload a file", "a .json file"),
]


class ItemsForm(forms.Form):
    """A form with a document of new items."""

    text = forms.CharField(required=False, strip=False, widget=forms.Textarea)

    problems: list[Problem] = []
    total = 0
    refusal = "The content was not taken."

    def items(self) -> list[NewItem]:
        """Only for a valid form."""
        return self.cleaned_data["items"]

    def read(self) -> list[NewItem]:
        raise NotImplementedError

    def clean(self) -> None:
        try:
            self.cleaned_data["items"] = self.read()
        except Refused as error:
            self.problems, self.total = error.problems, error.total
            self.add_error(None, self.refusal)

    def pasted(self) -> str:
        text = self.cleaned_data.get("text", "")
        check_size(len(text.encode("utf-8", "surrogatepass")), settings.MAX_PASTED_BYTES)
        return text


class CreateForm(ItemsForm):
    name = NameField(widget=forms.TextInput(attrs={"autocomplete": "off"}))
    description = DescriptionField(rows=2)
    kind = forms.ChoiceField(choices=Ontology.Kind.choices, initial=Ontology.Kind.ENTITY, widget=forms.RadioSelect)
    source = forms.ChoiceField(
        choices=[(value, label) for value, label, _ in SOURCES], initial="empty", widget=forms.RadioSelect
    )
    file = forms.FileField(required=False, allow_empty_file=True)

    file_text = ""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if not self.is_bound:
            self.fields["name"].widget.attrs["autofocus"] = True

    def read(self) -> list[NewItem]:
        kind = self.cleaned_data.get("kind")
        text = self._text(kind)
        return read_ontology(text, kind) if text and kind else []

    def _text(self, kind: str | None) -> str:
        source = self.cleaned_data.get("source")
        if source == "example" and kind:
            return example_json(kind)
        if source == "paste":
            return check_text(self.pasted())
        if source == "file":
            upload = self.cleaned_data.get("file")
            if not upload:
                raise Refused("Choose a file.")
            check_size(upload.size, settings.MAX_ONTOLOGY_BYTES)
            text = decode(upload.read())
            self.file_text = text if len(text) <= _EDITABLE else ""
            return text
        return ""
