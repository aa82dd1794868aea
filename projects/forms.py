import re
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.urls import reverse_lazy

from annotation_service import limits, words
from annotation_service.blueprint_views import DescriptionField, EditForm, NameField
from annotation_service.models import User, fold
from datasets.models import Dataset
from ontologies.models import Ontology

from . import roles
from .models import Project


class BlueprintChoice(forms.ModelChoiceField):
    """A blueprint, shown with its size and owner: names need not be unique."""

    def label_from_instance(self, thing: Any) -> str:
        size = thing.item_count if isinstance(thing, Dataset) else thing.size
        return f"{thing.name} · {words.plural(size, 'item,items')} · {thing.owner}"


class PeopleField(forms.CharField):
    """User names, separated by commas, spaces or line ends; cleaned to a list of users."""

    MOST = 500

    def clean(self, value: str) -> list[User]:
        names = {fold(name): name for name in re.split(r"[\s,;]+", super().clean(value)) if name}
        if len(names) > self.MOST:
            raise forms.ValidationError(
                f"At most {self.MOST} people can be added at once; these are {words.number(len(names))}."
            )
        active = User.objects.filter(is_active=True, username_folded__in=names)
        found = {user.username_folded: user for user in active}
        if missing := [name for folded, name in names.items() if folded not in found]:
            some = " or ".join(f"“{name}”" for name in missing[:10])
            more = f" (and {words.number(len(missing) - 10)} more)" if len(missing) > 10 else ""
            raise forms.ValidationError(
                f"There is no account with the user name {some}{more}. Accounts are made by an administrator."
            )
        return [found[folded] for folded in names]


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
    """The words of a project that is there."""


class ProjectForm(WordsForm):
    dataset = BlueprintChoice(
        queryset=Dataset.objects.none(),
        empty_label="Choose a dataset",
        widget=forms.Select(
            attrs={
                "hx-get": reverse_lazy("projects:ontologies"),
                "hx-include": "[name=entity_ontology], [name=relation_ontology]",
                "hx-target": "#project-ontologies",
                "hx-swap": "outerHTML",
            }
        ),
    )
    entity_ontology = BlueprintChoice(queryset=Ontology.objects.none(), empty_label="Choose an entity ontology")
    relation_ontology = BlueprintChoice(
        queryset=Ontology.objects.none(),
        required=False,
        empty_label="None: only entities are annotated",
    )
    annotators = PeopleField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "placeholder": "anna, ben"}),
        help_text="User names, separated by commas or spaces. You can add people later, too.",
    )
    annotators_per_item = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=100,
        label="Annotators per item",
        help_text="Empty: every annotator gets every item. A number: items are dealt out evenly.",
    )

    def __init__(self, *args: Any, datasets: QuerySet[Dataset], ontologies: QuerySet[Ontology], **options: Any) -> None:
        super().__init__(*args, **options)
        ontologies = ontologies.with_size().select_related("owner").order_by("name", "pk")  # type: ignore[attr-defined]
        fields: dict[str, Any] = self.fields
        fields["dataset"].queryset = datasets.select_related("owner").order_by("name", "pk")
        fields["entity_ontology"].queryset = ontologies.filter(kind=Ontology.Kind.ENTITY)
        fields["relation_ontology"].queryset = ontologies.filter(kind=Ontology.Kind.RELATION)
        self._lock_ontologies()

    def _lock_ontologies(self) -> None:
        """A preannotated dataset goes with the ontologies that it was made with: its marks carry their labels."""
        try:
            dataset = self.fields["dataset"].clean(self["dataset"].value())
        except forms.ValidationError:
            return
        for name in ("entity_ontology", "relation_ontology"):
            if made_with := getattr(dataset, f"{name}_id"):
                field = self.fields[name]
                field.disabled = field.required = True
                self.initial[name] = made_with
                field.help_text = "The dataset was made with this ontology: its marks carry these labels."


class MembersForm(forms.Form):
    people = PeopleField(widget=forms.TextInput(attrs={"placeholder": "user names", "autocomplete": "off"}))
    role = forms.ChoiceField(choices=roles.choices, initial=roles.ANNOTATOR)


class DeleteForm(forms.Form):
    name = forms.CharField(
        label="Type the project’s name to confirm", widget=forms.TextInput(attrs={"autocomplete": "off"})
    )

    def __init__(self, *args: Any, project: Project) -> None:
        super().__init__(*args)
        self.project = project

    def clean_name(self) -> str:
        if self.cleaned_data["name"] != self.project.name:
            raise forms.ValidationError("This is not the project’s name.")
        return self.cleaned_data["name"]
