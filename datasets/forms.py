from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import PurePath
from typing import Any

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile, UploadedFile
from django.db.models import QuerySet

from annotation_service import inputs, words
from annotation_service.blueprint_views import DescriptionField, NameField
from annotation_service.inputs import Refused
from ontologies.models import Ontology, OntologyKind
from resources.models import ConstraintSet, ResourceSet

from .importing.formats import Format
from .importing.options import DECISIONS
from .kinds import DatasetKind
from .models import Dataset
from .preprocessing import OPERATIONS, Operation

SAMPLE_CHARACTERS = 64_000


class PreprocessingForm(forms.Form):
    """The operations of a standard dataset. Invalid values become form errors."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        operations = [(name, operation.field()) for name, operation in OPERATIONS.items()]
        operations.sort(key=lambda named: not isinstance(named[1], forms.BooleanField))  # boxes to tick come first
        self.fields = {**dict(operations), **self.fields}

    def clean_up(self) -> list[tuple[forms.BoundField, Operation]]:
        """The fields of all operations but the tokeniser."""
        return [(self[name], OPERATIONS[name]) for name in self.fields if name in OPERATIONS and name != "tokeniser"]


class PreviewForm(PreprocessingForm):
    """The beginning of a text or file, to be previewed."""

    sample = forms.CharField(required=False, strip=False)
    file_name = forms.CharField(required=False, max_length=300)
    kind = forms.ChoiceField(choices=DatasetKind.choices)
    format = forms.ChoiceField(choices=Format.choices)


class BlueprintChoice(forms.ModelChoiceField):
    """A blueprint, shown with its size, or the ontologies that it is about, and its owner: names need not be unique."""

    def __init__(self, queryset: QuerySet[Any], **options: Any) -> None:
        ontologies = ["entity_ontology", "relation_ontology"] if issubclass(queryset.model, ResourceSet) else []
        super().__init__(queryset.select_related("owner", *ontologies).order_by("name", "pk"), **options)

    def label_from_instance(self, thing: Any) -> str:
        if isinstance(thing, ResourceSet):
            size = f"about {words.listed(f'“{ontology}”' for ontology in thing.ontologies.values())}"
        else:
            size = words.plural(thing.item_count if isinstance(thing, Dataset) else thing.size, "item,items")
        return f"{thing.name} · {size} · {thing.owner}"


def set_fields(sets: QuerySet[Any], marks: Collection[str]) -> dict[str, BlueprintChoice]:
    """A field for each kind of sets that are about these kinds of marks."""
    return {
        sets.model.format_of(kind): BlueprintChoice(sets.filter(kind=kind), required=False, empty_label=rows.kind.free)
        for kind, rows in sets.model.row_models.items()
        if rows.marks in marks
    }


class SourceForm(forms.Form):
    """Pasted text or a file; neither is needed if a file is kept from before."""

    text = forms.CharField(required=False, strip=False)
    file = forms.FileField(required=False)
    # How it is read, whatever kind of items it has; standard ones are always read as text.
    format = forms.ChoiceField(choices=Format.choices, initial=Format.TEXT)
    duplicates = DECISIONS["duplicates"].field()
    dataset: Dataset | None = None

    def __init__(self, *args: Any, kept: str = "", **options: Any) -> None:
        """``kept`` is the name of the file that is there already."""
        super().__init__(*args, **options)
        self.kept = kept

    def clean_text(self) -> str:
        """The size as the browser sent it, before anything else looks at the text."""
        text = self.cleaned_data["text"]
        try:
            inputs.check_size(len(text.encode("utf-8", "surrogatepass")), settings.MAX_PASTED_BYTES)
        except Refused as error:
            raise forms.ValidationError(f"{error} Upload it as a file instead.") from error
        return text

    def clean_file(self) -> UploadedFile | None:
        file = self.cleaned_data["file"]
        inputs.check_size(file.size if file else 0, settings.MAX_FILE_BYTES)
        return file

    def clean(self) -> None:
        cleaned = self.cleaned_data
        if "text" in cleaned and "file" in cleaned:
            has_text = bool(cleaned["text"].strip())
            if has_text and cleaned["file"]:
                self.add_error("text", "Paste text or choose a file, not both.")
            elif not has_text and not cleaned["file"] and not self.kept:
                self.add_error("text", "Paste some text, or choose a file.")

    @property
    def constraint_fields(self) -> list[tuple[forms.BoundField, str]]:
        """These fields, with the kind of marks that each is about."""
        named = {ConstraintSet.format_of(kind): rows.marks for kind, rows in ConstraintSet.row_models.items()}
        return [(self[name], marks) for name, marks in named.items() if name in self.fields]

    def check_constraints(self, ontologies: Mapping[str, Ontology]) -> None:
        """Whether the chosen constraint sets are about labels of these ontologies, given by kind."""
        for field, marks in self.constraint_fields:
            try:
                if marks in ontologies and (chosen := self.cleaned_data.get(field.name)):
                    chosen.labels_in(ontologies)
            except Refused as error:
                self.add_error(field.name, error)

    @property
    def keeps_its_file(self) -> bool:
        """Whether the file is valid, whatever else is wrong, so that it need not be sent again."""
        return bool(self.cleaned_data.get("file")) and not {"text", "file"} & self.errors.keys()

    @cached_property
    def sent(self) -> UploadedFile | None:
        """What was sent, as a file; None if the kept one stays."""
        if file := self.cleaned_data.get("file"):
            return file
        text = self.cleaned_data.get("text", "")
        return SimpleUploadedFile("Pasted text", text.encode("utf-8", "surrogatepass")) if text.strip() else None

    @property
    def options(self) -> dict[str, Any]:
        """What `models.Upload` keeps; of a form with errors, what there is."""
        values = ((name, value) for name, value in self.cleaned_data.items() if name not in ("text", "file"))
        return {name: getattr(value, "pk", value) for name, value in values}


class NewDatasetForm(SourceForm, PreprocessingForm):
    """A new dataset: its content, how it is read and, for preannotated kinds, the ontologies with its labels."""

    name = NameField(required=False)
    description = DescriptionField(rows=2)
    kind = forms.ChoiceField(choices=DatasetKind.choices, initial=DatasetKind.STANDARD)
    entity_ontology = forms.ModelChoiceField(Ontology.objects.none(), required=False)
    relation_ontology = forms.ModelChoiceField(Ontology.objects.none(), required=False)

    def __init__(
        self, *args: Any, ontologies: QuerySet[Ontology], constraints: QuerySet[ConstraintSet], **options: Any
    ) -> None:
        super().__init__(*args, **options)
        fields: dict[str, Any] = self.fields
        for kind in OntologyKind.values:
            fields[f"{kind}_ontology"].queryset = ontologies.filter(kind=kind)
        self.fields |= set_fields(constraints, OntologyKind.values)
        if self.initial.get("name") == _title_of(self.kept):  # another file brings its own
            self.initial = {**self.initial, "name": ""}

    def clean(self) -> None:
        super().clean()
        cleaned = self.cleaned_data
        if cleaned.get("kind") == DatasetKind.STANDARD:
            cleaned["format"] = Format.TEXT
        kinds = DatasetKind(cleaned.get("kind", DatasetKind.STANDARD)).label_kinds
        for name in (f"{of}_ontology" for of in kinds):
            if not cleaned.get(name) and name not in self.errors:
                self.add_error(name, "Choose the ontology that has the labels.")
        self.check_constraints({kind: found for kind in kinds if (found := cleaned.get(f"{kind}_ontology"))})
        if not cleaned.get("name") and "name" not in self.errors:
            file = cleaned.get("file")
            cleaned["name"] = _title_of(file.name if file else self.kept)
            if not cleaned["name"]:
                self.add_error("name", "Give the dataset a name.")


class AddForm(SourceForm):
    """More items of a dataset, whose kind, preprocessing and ontologies are settled."""

    dataset: Dataset

    def __init__(
        self, *args: Any, dataset: Dataset, constraints: QuerySet[ConstraintSet] | None, **options: Any
    ) -> None:
        """Of a project's dataset the project's own ``constraints`` bind, and there is nothing to choose."""
        super().__init__(*args, **options)
        self.dataset = dataset
        if constraints is not None:
            self.fields |= set_fields(constraints, DatasetKind(dataset.kind).label_kinds)
        if dataset.kind == DatasetKind.STANDARD:
            del self.fields["format"]
        else:
            self.fields["tokeniser"] = OPERATIONS["tokeniser"].field()

    def clean(self) -> None:
        super().clean()
        self.check_constraints({ontology.kind: ontology for ontology in self.dataset.given_ontologies()})


def _title_of(file_name: str) -> str:
    """The name of a dataset that is named after its file; empty if that gives none."""
    try:
        return inputs.clean_title(PurePath(file_name).stem[: settings.MAX_NAME_CHARACTERS])
    except Refused:
        return ""
