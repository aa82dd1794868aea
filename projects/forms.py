import re
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.urls import reverse_lazy
from django.utils.text import format_lazy

from annotation_service import limits, words
from annotation_service.blueprint_views import DescriptionField, EditForm, NameField
from annotation_service.inputs import Refused
from annotation_service.models import User, fold
from datasets.forms import FREE_ENTITIES, FREE_RELATIONS, ResourceSetChoice
from datasets.models import Dataset
from ontologies.models import Ontology
from resources.models import ConstraintSet, PreannotationSet
from resources.tally import Tally

from . import roles
from .models import Project
from .violations import foreseen


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
                "hx-get": format_lazy("{}?fresh=1", reverse_lazy("projects:ontologies")),
                "hx-include": "#project-ontologies select",
                "hx-target": "#project-ontologies",
                "hx-swap": "outerHTML",
                "hx-sync": "#project-ontologies:replace",
                # What is chosen or sent meanwhile would miss the answer.
                "hx-disabled-elt": "#project-ontologies select, #create-project",
            }
        ),
    )
    entity_ontology = BlueprintChoice(queryset=Ontology.objects.none(), empty_label="Choose an entity ontology")
    relation_ontology = BlueprintChoice(
        queryset=Ontology.objects.none(),
        required=False,
        empty_label="None: only entities are annotated",
    )
    entity_constraints = ResourceSetChoice(empty_label=FREE_ENTITIES)
    relation_constraints = ResourceSetChoice(empty_label=FREE_RELATIONS)
    entity_preannotations = ResourceSetChoice(empty_label="None: no entities are suggested")
    relation_preannotations = ResourceSetChoice(empty_label="None: no relations are suggested")
    keep_violations = forms.BooleanField(required=False, label="Keep these marks as they are")
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

    def __init__(
        self,
        *args: Any,
        datasets: QuerySet[Dataset],
        ontologies: QuerySet[Ontology],
        constraints: QuerySet[ConstraintSet],
        preannotations: QuerySet[PreannotationSet] | None,
        fresh: bool = False,
        **options: Any,
    ) -> None:
        """``fresh``: another dataset was chosen, which brings its own ontologies. Without ``preannotations``
        none are chosen."""
        super().__init__(*args, **options)
        ontologies = ontologies.with_size().select_related("owner").order_by("name", "pk")  # type: ignore[attr-defined]
        fields: dict[str, Any] = self.fields
        fields["dataset"].queryset = datasets.select_related("owner").order_by("name", "pk")
        for kind in Ontology.Kind.values:
            fields[f"{kind}_ontology"].queryset = ontologies.filter(kind=kind)
            fields[f"{kind}_constraints"].offer(constraints.filter(kind=kind))
            if preannotations is None:
                del fields[f"{kind}_preannotations"]
            else:
                fields[f"{kind}_preannotations"].offer(preannotations.filter(kind=kind))
        self._choose_ontologies(fresh)

    def _choose_ontologies(self, fresh: bool) -> None:
        """A preannotated dataset goes with the ontologies that it was made with, or others that have the labels of its marks."""
        dataset = self.chosen("dataset")
        for own in dataset.given_ontologies() if dataset else []:
            name = f"{own.kind}_ontology"
            self.fields[name].required = True
            self.fields[
                name
            ].help_text = f"The dataset was made with “{own}”. Another one will do if it has all labels of its marks."
            if self.is_bound and name not in self.data:
                self.data = {**dict(self.data.items()), name: own.pk}
            elif not self.is_bound and (fresh or not self.initial.get(name)):
                self.initial[name] = own.pk

    def chosen(self, name: str) -> Any:
        """What is chosen in a field, sent or not; None if that is nothing, or nothing valid."""
        try:
            return self.fields[name].clean(self[name].value())
        except forms.ValidationError:
            return None

    @cached_property
    def mismatches(self) -> dict[str, str]:
        """The fields whose choices do not go together, with the reasons."""
        dataset, ontologies, sets = self._chosen_together()
        asked: list[tuple[str, Callable[[], Any]]] = []
        if dataset:
            for own in dataset.given_ontologies():
                if own.kind in ontologies and ontologies[own.kind] != own:
                    asked.append((f"{own.kind}_ontology", partial(dataset.labels_in, ontologies, [own])))
        if ontologies:
            asked += [(each.format, partial(each.labels_in, ontologies)) for each in (*sets, *self._preannotations())]
        found = {}
        for name, ask in asked:
            try:
                ask()
            except Refused as error:
                found[name] = str(error)
        return found

    @cached_property
    def foreseen(self) -> Tally | None:
        """What the marks of the chosen dataset break; None if it has none, no constraints are chosen, or something does not go
        together."""
        dataset, ontologies, sets = self._chosen_together()
        if not (dataset and dataset.given_ontologies() and sets) or self.mismatches:
            return None
        if {own.kind for own in dataset.given_ontologies()} - ontologies.keys():
            return None
        return foreseen(dataset, ontologies, sets)

    def _chosen_together(self) -> tuple[Dataset | None, dict[str, Ontology], list[ConstraintSet]]:
        kinds = Ontology.Kind.values
        ontologies = {kind: found for kind in kinds if (found := self.chosen(f"{kind}_ontology"))}
        sets = [found for kind in kinds if (found := self.chosen(f"{kind}_constraints"))]
        return self.chosen("dataset"), ontologies, sets

    def _preannotations(self) -> list[PreannotationSet]:
        names = [name for name in self.fields if name.endswith("_preannotations")]
        return [found for name in names if (found := self.chosen(name))]

    def clean(self) -> None:
        for name, reason in self.mismatches.items():
            self.add_error(name, reason)
        if self.foreseen and self.foreseen.total and not self.cleaned_data.get("keep_violations"):
            self.add_error("keep_violations", "Choose other constraints, or keep the marks as they are.")


class ConstraintsForm(forms.Form):
    """A constraint set for a project that is there; what existing marks would break is counted, but hinders nothing."""

    constraints = ResourceSetChoice(empty_label="Choose constraints")

    def __init__(self, *args: Any, kind: str, constraints: QuerySet[ConstraintSet], **options: Any) -> None:
        super().__init__(*args, **options)
        field: Any = self.fields["constraints"]
        field.offer(constraints.filter(kind=kind))
        field.required = True


class PreannotationsForm(forms.Form):
    """A preannotation set for a project that is there."""

    preannotations = ResourceSetChoice(empty_label="Choose preannotations")

    def __init__(self, *args: Any, offered: QuerySet[PreannotationSet], **options: Any) -> None:
        super().__init__(*args, **options)
        field: Any = self.fields["preannotations"]
        field.offer(offered)
        field.required = True


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
