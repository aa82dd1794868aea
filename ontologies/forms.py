import re
from typing import IO, Any

from django import forms
from django.conf import settings

from annotation_service.blueprint_views import DescriptionField, DocumentForm, NameField
from annotation_service.inputs import Refused, check_text, clean_description, split_lines
from annotation_service.json_input import parse_json
from annotation_service.models import User

from .documents import NewLabel, example_json, read_ontology
from .models import Ontology, OntologyItem, OntologyKind
from .pasted_lists import ROLES, headings_of, read_pasted, read_table, usual_columns


class ItemsForm(DocumentForm):
    """A form with a document of new items: ``items``, once it is valid."""

    def read(self) -> list[NewLabel]:
        raise NotImplementedError

    def clean(self) -> None:
        try:
            self.cleaned_data["items"] = self.read()
        except Refused as error:
            self.problems, self.total = error.problems, error.total
            raise


class OntologyForm(ItemsForm):
    sources = [
        ("empty", "Empty", "add items in the editor"),
        ("example", "Small example", "to try things out"),
        ("paste", "Paste JSON", "typed or copied"),
        ("file", "Upload a file", "a .json file"),
    ]

    name = NameField(widget=forms.TextInput(attrs={"autocomplete": "off"}))
    description = DescriptionField(rows=2)
    kind = forms.ChoiceField(choices=OntologyKind.choices, initial=OntologyKind.ENTITY)
    source = forms.ChoiceField(choices=[(value, label) for value, label, _ in sources], initial="empty")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if not self.is_bound:
            self.fields["name"].widget.attrs["autofocus"] = True

    def read(self) -> list[NewLabel]:
        kind = self.cleaned_data.get("kind")
        source = self._source(kind)
        return read_ontology(source, kind) if source and kind else []

    def _source(self, kind: str | None) -> str | IO[bytes]:
        source = self.cleaned_data.get("source")
        if source == "example" and kind:
            return example_json(kind)
        if source == "paste":
            return check_text(self.pasted())
        if source == "file":
            return self.uploaded(settings.MAX_ONTOLOGY_BYTES)
        return ""


class PasteForm(ItemsForm):
    """A list of new items below an item or at the top level: lines, a table, or a creation document.

    ``columns`` are those of a table, with what was chosen for the table with these headings.
    """

    as_lines = forms.BooleanField(required=False)
    headings: list[str] = []
    columns: dict[str, str] = {}

    data: Any

    def __init__(self, *args: Any, ontology: Ontology, parent: OntologyItem | None) -> None:
        super().__init__(*args)
        self.ontology, self.parent = ontology, parent

    def read(self) -> list[NewLabel]:
        text = self.pasted()
        if not text.strip():
            return []
        self.headings = headings_of(check_text(text))
        if not self.headings or self.cleaned_data["as_lines"]:
            return read_pasted(text, self.ontology.kind)
        self.columns = usual_columns(self.headings)
        if not self.ontology.is_entity:
            del self.columns["example_terms"]
        if self.data.getlist("heading") == self.headings:
            sent = {role: self.data.get(f"column_{role}", "") for role in self.columns}
            self.columns = {role: heading if heading in self.headings else "" for role, heading in sent.items()}
        return read_table(text, self.columns, self.ontology.labels().places(self.parent and self.parent.uid))

    @property
    def offered(self) -> list[tuple[str, str, str]]:
        """The roles of columns: name, title, and the heading that is taken."""
        return [(role, ROLES[role].title, heading) for role, heading in self.columns.items()]


# --- Items ---------------------------------------------------------------------------------------------------------------


class FieldForm(forms.Form):
    """One field of an item, saved by the item's method ``verb`` and shown by the template. ``was`` is the value that the person
    saw when they began to edit."""

    verb: str
    template: str
    was = forms.CharField(required=False, strip=False, widget=forms.HiddenInput)

    def __init__(self, data: Any, *, item: OntologyItem) -> None:
        super().__init__(data)
        self.item = item

    def save(self, by: User) -> OntologyItem:
        return getattr(self.item, self.verb)(**self.cleaned_data, by=by)


class NewItemForm(forms.Form):
    """``uid`` is made by the page, so that it can send a name again whose answer it did not get."""

    name = NameField()
    uid = forms.RegexField("^[0-9a-f]{8}$", required=False)


class ItemNameForm(FieldForm):
    verb, template = "rename", "_name_fields"
    name = NameField()


class DescriptionForm(FieldForm):
    verb, template = "describe", "_description"
    description = DescriptionField()

    def clean_was(self) -> str:
        return clean_description(self.cleaned_data["was"])


class ExampleTermsForm(FieldForm):
    """``was`` are the terms as JSON; those in ``add`` are added to them, ``drop`` is removed."""

    template = "_example_terms"
    add = forms.CharField(required=False, max_length=50_000)
    drop = forms.CharField(required=False, strip=False)

    def clean_was(self) -> list[str]:
        terms = parse_json(self.cleaned_data["was"] or "[]")
        if not isinstance(terms, list) or not all(isinstance(term, str) for term in terms):
            raise forms.ValidationError("Reload the page and try again.")
        return terms

    def save(self, by: User) -> OntologyItem:
        was, drop, add = (self.cleaned_data[name] for name in ("was", "drop", "add"))
        # A browser sends another line end than it was given.
        terms = [term for term in was if split_lines(term) != split_lines(drop)] + re.split(r"[,\n]", add)
        return self.item.set_example_terms(terms, was=was, by=by)


class ColorForm(FieldForm):
    verb, template = "recolor", "_color"
    color = forms.CharField(max_length=7)
    branch = forms.BooleanField(required=False)
