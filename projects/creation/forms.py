"""The form of a new project: one for all steps, so that nothing is lost between them."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.urls import reverse_lazy
from django.utils.text import format_lazy

from annotation_service.inputs import Refused
from datasets.forms import set_fields
from datasets.models import Dataset, Mark
from ontologies.models import Ontology, OntologyKind
from resources.models import FORMATS, ConstraintSet, PreannotationSet, ResourceSet
from resources.rules import Tally

from ..assignment_page import AssignmentForm
from ..forms import BlueprintChoice, WordsForm
from ..models import Project
from ..people.forms import PeopleField
from ..progress import given_marks
from ..violations import foreseen

BLUEPRINTS = ("dataset", "entity_ontology", "relation_ontology", *FORMATS)
ABOUT_RELATIONS = {
    "relation_ontology",
    *(name for name, (model, kind) in FORMATS.items() if model.row_models[kind].marks == "relation"),
}
ENTITIES, BOTH = Project.Task.ENTITIES, Project.Task.ENTITIES_AND_RELATIONS


class ProjectForm(WordsForm, AssignmentForm):
    # Scripts that leave it out get what the ontologies tell.
    task = forms.ChoiceField(choices=Project.Task.choices, required=False, widget=forms.RadioSelect)
    dataset = BlueprintChoice(
        queryset=Dataset.objects.none(),
        empty_label="Choose a dataset",
        widget=forms.Select(
            attrs={
                "hx-get": format_lazy("{}?fresh=1", reverse_lazy("projects:ontologies")),
                "hx-include": "#project-ontologies select, [name=task]",
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
        queryset=Ontology.objects.none(), required=False, empty_label="Choose a relation ontology"
    )
    keep_violations = forms.BooleanField(required=False, label="Keep these marks as they are")
    given_marks = forms.ChoiceField(
        required=False,
        label="Marks that came with the dataset",
        choices=[
            (Mark.Status.SUGGESTED, "Suggested: annotators accept, change or reject each"),
            (Mark.Status.ACCEPTED, "Accepted: annotators find them done, and change what is wrong"),
        ],
        initial=Mark.Status.SUGGESTED,
        widget=forms.RadioSelect,
    )
    annotators = PeopleField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "placeholder": "anna, ben"}),
        help_text="User names, separated by commas or spaces. You can add people later, too.",
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
        for kind in OntologyKind.values:
            fields[f"{kind}_ontology"].queryset = ontologies.filter(kind=kind)
        for sets in (constraints, preannotations):
            fields |= set_fields(sets, OntologyKind.values) if sets is not None else {}
        self._choose_ontologies(fresh)
        if not self.initial.get("task"):
            self.initial["task"] = BOTH if self.initial.get("relation_ontology") else ENTITIES

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

    @property
    def is_about_relations(self) -> bool:
        """Whether relations are annotated, too: if not, all that is about them is left out, whatever was chosen."""
        return self["task"].value() != ENTITIES

    def chosen(self, name: str) -> Any:
        """What is chosen in a field, sent or not; None if that is nothing, or nothing valid."""
        if name in ABOUT_RELATIONS and not self.is_about_relations:
            return None
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
            asked += [
                (each.format, partial(each.labels_in, ontologies)) for each in (*sets, *self._sets(PreannotationSet))
            ]
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

    @cached_property
    def given_count(self) -> int:
        """How many marks came with the chosen dataset."""
        dataset = self.chosen("dataset")
        return sum(given_marks(dataset).values()) if dataset and dataset.given_ontologies() else 0

    def _chosen_together(self) -> tuple[Dataset | None, dict[str, Ontology], list[ConstraintSet]]:
        kinds = OntologyKind.values
        ontologies = {kind: found for kind in kinds if (found := self.chosen(f"{kind}_ontology"))}
        return self.chosen("dataset"), ontologies, self._sets(ConstraintSet)

    def _sets(self, model: type[ResourceSet]) -> list[Any]:
        names = [name for name in FORMATS if FORMATS[name][0] is model and name in self.fields]
        return [found for name in names if (found := self.chosen(name))]

    @property
    def set_fields(self) -> list[tuple[forms.BoundField, bool]]:
        """The fields in which sets are chosen, and whether they are about relations."""
        return [(self[name], name in ABOUT_RELATIONS) for name in FORMATS if name in self.fields]

    def clean(self) -> None:
        for name, reason in self.mismatches.items():
            self.add_error(name, reason)
        if self.foreseen and self.foreseen.total and not self.cleaned_data.get("keep_violations"):
            self.add_error("keep_violations", "Choose other constraints, or keep the marks as they are.")
        self._clean_task()

    def _clean_task(self) -> None:
        values, dataset = self.cleaned_data, self.cleaned_data.get("dataset")
        if values.get("task") == ENTITIES:
            for name in ABOUT_RELATIONS & self.fields.keys():
                values[name] = None
                self.errors.pop(name, None)
            if dataset and dataset.relation_ontology:
                both = "let the task be entities and relations, or choose another dataset"
                self.add_error("dataset", f"The marks of “{dataset}” are relations, too: {both}.")
        elif values.get("task") and not (values.get("relation_ontology") or self.has_error("relation_ontology")):
            self.add_error("relation_ontology", "Choose one, or let the task be entities alone.")

    def values(self) -> dict[str, Any]:
        """What `Project.create` takes, when it is valid; the sets by their names."""
        values = {**self.cleaned_data, "given_marks": self.cleaned_data["given_marks"] or Mark.Status.SUGGESTED}
        del values["task"]  # follows from the ontologies
        return values
