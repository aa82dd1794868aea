from base64 import b64decode
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile, TemporaryUploadedFile, UploadedFile
from django.db.models import QuerySet

from annotation_service import inputs, words
from annotation_service.blueprint_views import DescriptionField, NameField
from annotation_service.file_formats import BEGINNING, Beginning
from annotation_service.inputs import Refused
from ontologies.models import Ontology, OntologyKind
from resources.models import ConstraintSet, ResourceSet

from .formats import Detected, detect, readable
from .formats.own import TEXT
from .importing.options import DECISIONS
from .kinds import DatasetKind
from .models import Dataset, Mark, Upload
from .preprocessing import OPERATIONS, Operation

SAMPLE_CHARACTERS = 64_000
MAKE = "Make a new one of the labels that occur in the file"
ARRIVE_AS = [Mark.Status.ACCEPTED, Mark.Status.SUGGESTED]


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


def format_choices() -> list[tuple[str, str]]:
    return [("", "What it looks like"), *((format.name, format.title) for format in readable())]


class PreviewForm(PreprocessingForm):
    """The beginning of a text or file, to be previewed."""

    sample = forms.CharField(required=False, strip=False)
    # Instead, of a file that is not UTF-8: in base 64.
    sample_bytes = forms.CharField(required=False, max_length=2 * SAMPLE_CHARACTERS)
    file_name = forms.CharField(required=False, max_length=300)
    kind = forms.ChoiceField(choices=DatasetKind.choices)
    format = forms.ChoiceField(choices=format_choices, required=False)

    def clean_sample_bytes(self) -> bytes:
        try:
            return b64decode(self.cleaned_data["sample_bytes"], validate=True)
        except ValueError as error:
            raise forms.ValidationError("Choose the file again.") from error


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
    format = forms.ChoiceField(choices=format_choices, required=False)
    as_lines = forms.BooleanField(required=False, label="Take it as lines of text all the same")
    duplicates = DECISIONS["duplicates"].field()
    dataset: Dataset | None = None

    @property
    def blueprint(self) -> Dataset | None:
        """The dataset that gets more items, unless it is that of a project, which may become of a wider kind."""
        return self.dataset if self.dataset and self.dataset.is_blueprint else None

    not_kept = ("text", "file", "as_lines", "make_entity_ontology", "make_relation_ontology")

    def __init__(self, *args: Any, kept: Upload | None = None, **options: Any) -> None:
        """``kept`` has the file that is there already."""
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
        if self.detected and not self.errors:
            self._settle_format(self.detected)

    @cached_property
    def detected(self) -> Detected | None:
        """What was sent or kept, told by its beginning."""
        if not self.sent:
            return detect(Beginning.of(self.kept.path, self.kept.name)) if self.kept and self.kept.size else None
        data, name = self.sent.read(BEGINNING), self.cleaned_data["file"].name if self.cleaned_data["file"] else ""
        self.sent.seek(0)
        path = Path(self.sent.temporary_file_path()) if isinstance(self.sent, TemporaryUploadedFile) else None
        return detect(Beginning(data, name, path=path))

    def _settle_format(self, found: Detected) -> None:
        """Read it as what it is, unless somebody has chosen another format; as lines of text only if that is meant."""
        cleaned = self.cleaned_data
        if self.sent and self.kept and "format" not in self.changed_data:  # that of the file before
            cleaned["format"] = ""
        is_text = DatasetKind.STANDARD in (cleaned.get("kind"), self.blueprint and self.blueprint.kind)
        if cleaned["as_lines"] or cleaned["format"] == TEXT.name or (is_text and found.format == TEXT):
            cleaned["format"] = TEXT.name
        elif is_text and found.format:
            do = f"To read it as that, choose the kind “{found.kind.label}”."
            if self.blueprint:
                do = "A standard dataset takes lines of text alone."
            self.add_error("as_lines", f"{found.recognised} {do}")
        elif not cleaned["format"] and found.format:
            cleaned["format"] = found.format.name
        elif not cleaned["format"]:
            self.add_error("as_lines" if found.recognised.format else "file", str(found))

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
    def makes_ontologies(self) -> bool:
        return any(self.cleaned_data.get(name) for name in self.not_kept if name.startswith("make_"))

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
        values = ((name, value) for name, value in self.cleaned_data.items() if name not in self.not_kept)
        return {name: getattr(value, "pk", value) for name, value in values}


class NewDatasetForm(SourceForm, PreprocessingForm):
    """A new dataset: its content, how it is read and, for preannotated kinds, the ontologies with its labels."""

    name = NameField(required=False)
    description = DescriptionField(rows=2)
    kind = forms.ChoiceField(choices=DatasetKind.choices, initial=DatasetKind.STANDARD)
    entity_ontology = forms.ModelChoiceField(Ontology.objects.none(), required=False)
    relation_ontology = forms.ModelChoiceField(Ontology.objects.none(), required=False)
    # Instead of one that is chosen, perhaps by the preview.
    make_entity_ontology = forms.BooleanField(required=False, label=MAKE)
    make_relation_ontology = forms.BooleanField(required=False, label=MAKE)

    def __init__(
        self, *args: Any, ontologies: QuerySet[Ontology], constraints: QuerySet[ConstraintSet], **options: Any
    ) -> None:
        super().__init__(*args, **options)
        fields: dict[str, Any] = self.fields
        for kind in OntologyKind.values:
            fields[f"{kind}_ontology"].queryset = ontologies.filter(kind=kind)
        self.fields |= set_fields(constraints, OntologyKind.values)
        if self.kept and self.initial.get("name") == _title_of(self.kept.name):  # another file brings its own
            self.initial = {**self.initial, "name": ""}

    def clean(self) -> None:
        super().clean()
        cleaned = self.cleaned_data
        kinds = DatasetKind(cleaned.get("kind", DatasetKind.STANDARD)).label_kinds
        for name in (f"{of}_ontology" for of in kinds):
            if cleaned[f"make_{name}"]:
                cleaned[name] = None
            if not cleaned.get(name) and name not in self.errors and not cleaned[f"make_{name}"]:
                self.add_error(name, "Choose the ontology that has the labels.")
        self.check_constraints({kind: found for kind in kinds if (found := cleaned.get(f"{kind}_ontology"))})
        if not cleaned.get("name") and "name" not in self.errors:
            file = cleaned.get("file")
            cleaned["name"] = _title_of(file.name if file else self.kept.name if self.kept else "")
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
        if dataset.kind != DatasetKind.STANDARD:
            self.fields["tokeniser"] = OPERATIONS["tokeniser"].field()
        if project := dataset.its_project:
            as_given = f"what came with the dataset, {dataset.given_status} as its other marks"
            choices = [("", as_given), *((status, f"what came with the dataset, {status}") for status in ARRIVE_AS)]
            members = [(f"@{member.username}", f"{member}’s own") for member in project.annotating_members()]
            self.fields["whose"] = forms.ChoiceField(
                choices=choices + members, required=False, label="Marks in the file are"
            )

    def clean(self) -> None:
        super().clean()
        if self.dataset.project_id and self.detected and self.cleaned_data.get("format") != TEXT.name:
            self.cleaned_data["file_kind"] = self.detected.kind
        self.check_constraints({ontology.kind: ontology for ontology in self.dataset.given_ontologies()})


def _title_of(file_name: str) -> str:
    """The name of a dataset that is named after its file; empty if that gives none."""
    try:
        return inputs.clean_title(PurePath(file_name).stem[: settings.MAX_NAME_CHARACTERS])
    except Refused:
        return ""
