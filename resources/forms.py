from contextlib import suppress
from functools import cached_property
from typing import IO, Any

from django import forms
from django.conf import settings
from django.db.models import QuerySet
from django.db.models.functions import Lower

from annotation_service.blueprint_views import BlueprintForm, DescriptionField, DocumentForm, NameField
from annotation_service.inputs import Problems, Refused, check_text
from annotation_service.models import User
from ontologies.models import Ontology, OntologyKind

from .models import ConstraintSet, PreannotationSet, ResourceSet


class IgnoreCaseField(forms.BooleanField):
    def __init__(self) -> None:
        super().__init__(
            required=False,
            label="Ignore upper and lower case",
            help_text="“Pump” in a text is then an occurrence of “pump”.",
        )


class ResourceSetForm(DocumentForm):
    """A new set: its words, what it is about, and a document of rows. ``ontologies`` are those to choose from."""

    model: type[ResourceSet] = ConstraintSet
    sources = [
        ("empty", "Empty", "add rules in the editor"),
        ("paste", "Paste JSON", "typed or copied"),
        ("file", "Upload a file", "a .json file"),
    ]

    name = NameField(widget=forms.TextInput(attrs={"autocomplete": "off"}))
    description = DescriptionField(rows=2)
    kind = forms.ChoiceField()
    entity_ontology = forms.ModelChoiceField(Ontology.objects.none(), label="Entity labels of", empty_label="Choose…")
    relation_ontology = forms.ModelChoiceField(
        Ontology.objects.none(), label="Relation labels of", empty_label="Choose…"
    )
    source = forms.ChoiceField(choices=[(value, label) for value, label, _ in sources], initial="empty")

    use_required_attribute = False  # a browser would ask for what is hidden
    row_count = 0
    warnings: Problems | None = None

    def __init__(self, *args: Any, ontologies: QuerySet[Ontology], **options: Any) -> None:
        super().__init__(*args, **options)
        fields: dict[str, Any] = self.fields
        fields["kind"].choices = self.model.kinds().items()
        fields["kind"].initial = next(iter(self.model.row_models))
        for kind in OntologyKind.values:
            fields[f"{kind}_ontology"].queryset = ontologies.filter(kind=kind).order_by(Lower("name"), "pk")
        if self.is_bound and self.data.get("kind") not in self.about_relations:
            fields["relation_ontology"].clean = lambda value: None  # it is hidden, whatever was chosen there before
        if not self.is_bound:
            self.fields["name"].widget.attrs["autofocus"] = True

    @property
    def about_relations(self) -> list[str]:
        """The kinds that take a relation ontology."""
        return [kind for kind, rows in self.model.row_models.items() if rows.relation_field]

    @cached_property
    def _document(self) -> str | IO[bytes]:
        source = self.cleaned_data.get("source")
        if source == "paste":
            return check_text(self.pasted())
        if source == "file":
            return self.uploaded(settings.MAX_RESOURCE_BYTES)
        return "[]"

    def _values(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in ("kind", "entity_ontology", "relation_ontology")}

    def examine(self) -> bool:
        """Read the document without storing anything: whether it would be taken. A name is not needed for that."""
        self.is_valid()
        if set(self.errors) - {"name", "description"}:
            return False
        new = self.model(**self._values())
        try:
            self.row_count = len(new.read(self._document))
        except Refused as error:
            self._refuse(error)
            return False
        self.warnings = new.warnings
        return True

    def save(self, owner: User) -> ResourceSet | None:
        """The new set, or None if something is refused: the form then says what."""
        if not self.is_valid():
            return None
        words = {name: self.cleaned_data[name] for name in ("name", "description")}
        try:
            return self._create(owner=owner, source=self._document, **words, **self._values())
        except Refused as error:
            self._refuse(error)
            return None

    def _create(self, **options: Any) -> ResourceSet:
        return self.model.create(**options)

    def _refuse(self, error: Refused) -> None:
        self.problems, self.total = error.problems, error.total
        self.add_error(None, error)


class PreannotationSetForm(ResourceSetForm):
    model = PreannotationSet
    ignore_case = IgnoreCaseField()
    add_labels = forms.BooleanField(required=False)  # offered by the dry run

    lacking: dict[Ontology, list[str]] = {}  # labels that the document names
    sources = [
        ("empty", "Empty", "add rows in the table"),
        ("paste", "Paste", "JSON, or rows of a table"),
        ("file", "Upload a file", "a .json or .csv file"),
    ]

    def examine(self) -> bool:
        is_sound = super().examine()
        if self.total:
            new = PreannotationSet(**self._values())
            with suppress(Refused):  # of what cannot be read nothing more is told
                self.lacking = {new.ontologies[kind]: names for kind, names in new.lacking(self._document).items()}
        return is_sound

    def _create(self, **options: Any) -> ResourceSet:
        return PreannotationSet.create(add_labels=self.cleaned_data["add_labels"], **options)

    def _values(self) -> dict[str, Any]:
        return super()._values() | {"ignore_case": self.cleaned_data["ignore_case"]}


class PreannotationsEditForm(BlueprintForm):
    ignore_case = IgnoreCaseField()
