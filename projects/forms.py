from typing import Any

from django import forms
from django.db.models import QuerySet

from annotation_service import limits, words
from annotation_service.blueprint_views import DescriptionField, NameField
from annotation_service.edits import EditForm
from datasets.forms import ResourceSetChoice
from datasets.models import Contents, Dataset
from ontologies.models import Ontology, OntologyKind
from resources.models import ConstraintSet, PreannotationSet

from .models import Project


class BlueprintChoice(forms.ModelChoiceField):
    """A blueprint, shown with its size and owner: names need not be unique."""

    def label_from_instance(self, thing: Any) -> str:
        size = thing.item_count if isinstance(thing, Dataset) else thing.size
        return f"{thing.name} · {words.plural(size, 'item,items')} · {thing.owner}"


class WordsForm(forms.Form):
    name = NameField()
    description = DescriptionField(rows=2)
    guidelines = forms.CharField(
        required=False,
        max_length=limits.MAX_GUIDELINES_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="What annotators should know. They can open it while they work.",
    )


class DetailsForm(EditForm, WordsForm):
    """The words of a project that is there, and what it tells annotators of what was marked before."""

    history = forms.ChoiceField(
        label="Suggestions from marks",
        required=False,
        choices=Project.History.choices,
        help_text="In the items that are opened. What was rejected stays away. With “anybody”, annotators see what others"
        " mark: choose that only if they need not work independently.",
    )
    counted = forms.ChoiceField(
        label="Counts of labels",
        required=False,
        choices=Project.Counted.choices,
        help_text="How often words were given each label is shown where labels are chosen. With “everybody”, annotators see"
        " how often others chose which.",
    )


class ConstraintsForm(forms.Form):
    """A constraint set for a project that is there; what existing marks would break is counted, but hinders nothing."""

    def __init__(self, *args: Any, kind: str, constraints: QuerySet[ConstraintSet], **options: Any) -> None:
        super().__init__(*args, **options)
        sets = constraints.filter(kind=kind)
        self.fields["constraints"] = ResourceSetChoice(sets, required=True, empty_label="Choose constraints")


class PreannotationsForm(forms.Form):
    """A preannotation set for a project that is there."""

    def __init__(self, *args: Any, offered: QuerySet[PreannotationSet], **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["preannotations"] = ResourceSetChoice(offered, required=True, empty_label="Choose preannotations")


class TaskForm(forms.Form):
    """The relation ontology of a project in which only entities are annotated so far."""

    ontology = BlueprintChoice(
        queryset=Ontology.objects.none(), label="Relation ontology", empty_label="Choose a relation ontology"
    )

    def __init__(self, *args: Any, ontologies: QuerySet[Ontology]) -> None:
        super().__init__(*args)
        found = ontologies.filter(kind=OntologyKind.RELATION).with_size()  # type: ignore[attr-defined]
        field: Any = self.fields["ontology"]
        field.queryset = found.select_related("owner").order_by("name", "pk")


# Dialogs stand on pages that have fields of the same names.
IDS_IN_DIALOGS = "dialog_%s"


class DuplicateForm(forms.Form):
    name = NameField(widget=forms.TextInput(attrs={"autofocus": True}))
    people = forms.BooleanField(required=False, label="The people, with their roles and shortcuts")
    contents = forms.ChoiceField(
        label="Items and marks",
        choices=Contents.choices,
        initial=Contents.GIVEN,
        widget=forms.RadioSelect,
        help_text="Removed items, comments and flags stay behind.",
    )

    def __init__(self, data: Any = None, **options: Any) -> None:
        super().__init__(data, auto_id=IDS_IN_DIALOGS, **options)


class DeleteForm(forms.Form):
    name = forms.CharField(
        label="Type the project’s name to confirm", widget=forms.TextInput(attrs={"autocomplete": "off"})
    )

    def __init__(self, data: Any = None, *, project: Project) -> None:
        super().__init__(data, auto_id=IDS_IN_DIALOGS)
        self.project = project

    def clean_name(self) -> str:
        if self.cleaned_data["name"] != self.project.name:
            raise forms.ValidationError("This is not the project’s name.")
        return self.cleaned_data["name"]
