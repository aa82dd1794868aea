import re
from contextlib import suppress
from io import BytesIO
from typing import Any

from django import forms
from django.conf import settings

from annotation_service import csv_tables
from annotation_service.blueprint_views import EDITABLE, DescriptionField, DocumentForm, NameField
from annotation_service.file_formats import BEGINNING, Beginning, FileSource, ReadingChoice
from annotation_service.inputs import (
    ENCODINGS,
    Refused,
    check_size,
    check_text,
    clean_description,
    size_of,
    split_lines,
    text_blocks,
)
from annotation_service.json_input import parse_json
from annotation_service.models import User

from .documents import NewLabel, example_json, read_ontology
from .label_files import OntologyFormat, format_of, read_update
from .models import Ontology, OntologyItem, OntologyKind
from .pasted_lists import ROLES, TableRow, headings_of, read_pasted, read_table, usual_columns


class ItemsForm(DocumentForm):
    """A form with a document of new items: ``items``, once it is valid."""

    def read(self) -> list[Any]:
        raise NotImplementedError

    def clean(self) -> None:
        try:
            self.cleaned_data["items"] = self.read()
        except Refused as error:
            self.problems, self.total = error.problems, error.total
            raise


class LabelFileForm(ItemsForm):
    """A form with labels in any format, which is recognised: ``seen`` tells what it is, ``choices`` are the settings of its
    format with the values that are taken. Those that were sent count only if they were offered for what was ``seen`` then, or if
    nothing is told of that."""

    encoding = forms.ChoiceField(choices=list(ENCODINGS.items()), required=False)

    data: Any
    offers_encoding = False
    seen = ""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.document = FileSource(BytesIO())
        self.choices: list[tuple[ReadingChoice, str]] = []

    def recognise(self, upload: Any) -> OntologyFormat:
        """The format of a file or, without one, of the pasted text, which becomes the ``document``."""
        encoding = self.cleaned_data.get("encoding", "") if upload else ""
        file = upload or BytesIO(check_text(self.pasted()).encode())
        check_size(size_of(file), settings.MAX_ONTOLOGY_BYTES)
        file.seek(0)
        start = Beginning(file.read(BEGINNING), upload.name if upload else "", encoding)
        self.offers_encoding = bool(encoding) or "\ufffd" in start.text
        format, self.seen = format_of(start)
        is_same = self.data.get("seen", self.seen) == self.seen
        for choice in format.settings(start):
            sent = self.data.get(choice.name, choice.default) if is_same else choice.default
            self.choices.append((choice, sent if sent in choice.choices else choice.default))
        file.seek(0)
        chosen = {choice.name: value for choice, value in self.choices}
        self.document = FileSource(file, start.name, encoding, chosen)
        return format


class OntologyForm(LabelFileForm):
    sources = [
        ("empty", "Empty", "add items in the editor"),
        ("example", "Small example", "to try things out"),
        ("paste", "Paste a list", "lines, a table, JSON"),
        ("file", "Upload a file", "a table, JSON, SKOS, OWL"),
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
        kind, source, upload = (self.cleaned_data.get(name) for name in ("kind", "source", "file"))
        if kind and source == "example":
            return read_ontology(example_json(kind), kind)
        if not kind or source not in ("paste", "file"):
            return []
        if source == "file" and not upload:
            raise Refused("Choose a file.")
        format = self.recognise(upload if source == "file" else None)
        try:
            return format.read(self.document, kind)
        except Refused:
            if source == "file" and size_of(self.document.file) <= EDITABLE:
                self.document.file.seek(0)
                with suppress(Refused):  # it may be no text
                    self.file_text = "".join(self.document.blocks())
            raise


class UpdateForm(LabelFileForm):
    """A table that changes labels of an ontology: its rows."""

    def __init__(self, *args: Any, ontology: Ontology) -> None:
        super().__init__(*args)
        self.ontology = ontology

    def read(self) -> list[TableRow]:
        upload = self.cleaned_data.get("file")
        if not upload and not self.pasted().strip():
            return []
        format, places = self.recognise(upload), self.ontology.labels().places(None)
        return read_update(self.document, self.ontology.kind, format, places)


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
            sent = {role: self.data.get(f"column_{role}", heading) for role, heading in self.columns.items()}
            self.columns = {role: heading if heading in self.headings else "" for role, heading in sent.items()}
        records = csv_tables.records(text_blocks(text), self.headings, settings.MAX_PASTED_BYTES)
        return read_table(records, self.columns, self.ontology.labels().places(self.parent and self.parent.uid))

    @property
    def offered(self) -> list[tuple[str, str, str]]:
        """The roles of columns: name, title, and the heading that is taken."""
        columns = {role: heading for role, heading in self.columns.items() if role in ROLES}
        return [(role, ROLES[role].title, heading) for role, heading in columns.items() if ROLES[role].is_offered]


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
