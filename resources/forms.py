from functools import cached_property
from typing import IO, Any

from django import forms
from django.conf import settings
from django.db.models import QuerySet
from django.db.models.functions import Lower

from annotation_service.blueprint_views import DescriptionField, DocumentForm, NameField
from annotation_service.inputs import Problems, Refused, check_text
from annotation_service.models import User
from ontologies.models import Ontology

from .models import ConstraintSet

SOURCES = [
    ("empty", "Empty", "add rules in the editor"),
    ("paste", "Paste JSON", "typed or copied"),
    ("file", "Upload a file", "a .json file"),
]


class CreateForm(DocumentForm):
    """New constraints: their words, what they are about, and a document of rules. ``ontologies`` are those to choose from."""

    name = NameField(widget=forms.TextInput(attrs={"autocomplete": "off"}))
    description = DescriptionField(rows=2)
    kind = forms.ChoiceField(choices=ConstraintSet.Kind.choices, initial=ConstraintSet.Kind.ENTITY)
    entity_ontology = forms.ModelChoiceField(Ontology.objects.none(), label="Entity labels of", empty_label="Choose…")
    relation_ontology = forms.ModelChoiceField(
        Ontology.objects.none(), label="Relation labels of", empty_label="Choose…"
    )
    source = forms.ChoiceField(choices=[(value, label) for value, label, _ in SOURCES], initial="empty")

    use_required_attribute = False  # a browser would ask for what is hidden
    rule_count = 0
    warnings: Problems | None = None

    def __init__(self, *args: Any, ontologies: QuerySet[Ontology], **options: Any) -> None:
        super().__init__(*args, **options)
        for kind in Ontology.Kind.values:
            field: Any = self.fields[f"{kind}_ontology"]
            field.queryset = ontologies.filter(kind=kind).order_by(Lower("name"), "pk")
        if self.is_bound and self.data.get("kind") != ConstraintSet.Kind.RELATION:
            relations: Any = self.fields["relation_ontology"]
            relations.clean = lambda value: None  # it is hidden, whatever was chosen there before
        if not self.is_bound:
            self.fields["name"].widget.attrs["autofocus"] = True

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
        constraints = ConstraintSet(**self._values())
        try:
            self.rule_count = len(constraints.read(self._document))
        except Refused as error:
            self._refuse(error)
            return False
        self.warnings = constraints.warnings
        return True

    def save(self, owner: User) -> ConstraintSet | None:
        """The new set, or None if something is refused: the form then says what."""
        if not self.is_valid():
            return None
        words = {name: self.cleaned_data[name] for name in ("name", "description")}
        try:
            return ConstraintSet.create(owner=owner, source=self._document, **words, **self._values())
        except Refused as error:
            self._refuse(error)
            return None

    def _refuse(self, error: Refused) -> None:
        self.problems, self.total = error.problems, error.total
        self.add_error(None, error)
