"""A new project: its form, one for all steps, so that nothing is lost between them; the steps and their review; its pages."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import Any

from django import forms
from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.text import format_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation_service import access as blueprint_access
from annotation_service import words
from annotation_service.blueprint_views import NameField
from annotation_service.http import PREANNOTATIONS, Request
from annotation_service.inputs import Refused
from annotation_service.models import Job, User, start_job
from datasets.forms import BlueprintChoice, set_fields
from datasets.models import Dataset, Mark
from ontologies.models import Ontology, OntologyKind
from resources.models import FORMATS, ConstraintSet, PreannotationSet, ResourceSet
from resources.rules import Tally

from .assignment.rule import AssignmentRule
from .assignment_page import AssignmentForm, Pairs
from .forms import PeopleField, WordsForm, refusals_in
from .models import Project
from .progress import given_marks
from .violation_report import foreseen

BLUEPRINTS = ("dataset", "entity_ontology", "relation_ontology", *FORMATS)
ABOUT_RELATIONS = {
    "relation_ontology",
    *(name for name, (model, kind) in FORMATS.items() if model.row_models[kind].marks == "relation"),
}
ENTITIES, BOTH = Project.Task.ENTITIES, Project.Task.ENTITIES_AND_RELATIONS


class ProjectForm(WordsForm, AssignmentForm):
    name = NameField(widget=forms.TextInput(attrs={"autofocus": True}))
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
        dataset, ontologies, sets = self.chosen("dataset"), self.chosen_ontologies, self.chosen_sets()
        asked: list[tuple[str, Callable[[], Any]]] = []
        if dataset:
            for own in dataset.given_ontologies():
                if own.kind in ontologies and ontologies[own.kind] != own:
                    asked.append((f"{own.kind}_ontology", partial(dataset.labels_in, ontologies, [own])))
        if ontologies:
            asked += [(each.format, partial(each.labels_in, ontologies)) for each in sets]
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
        dataset, ontologies, sets = self.chosen("dataset"), self.chosen_ontologies, self.chosen_sets(ConstraintSet)
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

    @property
    def chosen_ontologies(self) -> dict[str, Any]:
        """By their kinds."""
        return {kind: found for kind in OntologyKind.values if (found := self.chosen(f"{kind}_ontology"))}

    def chosen_sets(self, model: Any = ResourceSet) -> list[Any]:
        names = [name for name in FORMATS if issubclass(FORMATS[name][0], model) and name in self.fields]
        return [found for name in names if (found := self.chosen(name))]

    @property
    def chosen_rule(self) -> AssignmentRule:
        values = {name: self.chosen(name) or default for name, default in asdict(AssignmentRule()).items()}
        return AssignmentRule(**values)

    def pairs(self) -> Pairs | None:
        """Who would share how many items with whom, where not everybody gets every item."""
        dataset, people, rule = self.chosen("dataset"), self.chosen("annotators") or [], self.chosen_rule
        return Pairs.of_new(dataset, people, rule) if dataset and people and rule.annotators_per_item else None

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


# What a step is in, for the mark beside its name: unknown until somebody has left it.
UNKNOWN, SOUND, WRONG = "", "ok", "bad"


@dataclass(frozen=True, slots=True)
class CreationStep:
    name: str
    title: str
    fields: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return f"step-{self.name}"


STEPS = (
    CreationStep("task", "Task", ("name", "description", "task", "guidelines")),
    CreationStep("dataset", "Dataset", ("dataset",)),
    CreationStep("ontologies", "Ontologies", ("entity_ontology", "relation_ontology")),
    CreationStep("constraints", "Constraints", (*FORMATS, "keep_violations")),
    CreationStep("given", "Given marks", ("given_marks",)),
    CreationStep("people", "People", ("annotators", "annotators_per_item", "overlap", "calibration")),
    CreationStep("review", "Review"),
)


class StepOfForm:
    """A step as it is filled in; whether it is sound is told when the form is ``checked``."""

    def __init__(self, step: CreationStep, form: ProjectForm, *, checked: bool) -> None:
        self.step, self.form = step, form
        self.fields = [form[name] for name in step.fields if name in form.fields]
        self.errors = [f"{field.label}: {error}" for field in self.fields for error in field.errors] if checked else []
        self.state = UNKNOWN if not checked or step.name == "review" else WRONG if self.errors else SOUND

    def lines(self) -> list[str]:
        """What it comes to, for the review."""
        describe = getattr(self, f"_{self.step.name}", None)
        return [line for line in describe() if line] if describe else []

    def _task(self) -> Iterator[str]:
        yield str(self.form.chosen("name") or "")
        yield "Entities and relations" if self.form.chosen("relation_ontology") else "Entities"
        yield "" if self.form.chosen("guidelines") else "Without guidelines: you can write them later, too."

    def _dataset(self) -> Iterator[str]:
        if dataset := self.form.chosen("dataset"):
            yield f"“{dataset}”: {words.plural(dataset.item_count, 'item,items')}"
            if not dataset.item_count:
                yield "There is nothing to annotate in it yet."

    def _ontologies(self) -> Iterator[str]:
        for ontology in self.form.chosen_ontologies.values():
            yield f"“{ontology}” with {words.plural(ontology.size, 'label,labels')}"

    def _constraints(self) -> Iterator[str]:
        chosen = self.form.chosen_sets()
        yield from (f"“{each}”: {each.content_in_words()}" for each in chosen)
        yield "" if chosen else "None: every label can be applied everywhere."
        if (tally := self.form.foreseen) and tally.total:
            yield f"Marks of the dataset break them {words.plural(tally.total, 'time,times')}."

    def _given(self) -> Iterator[str]:
        dataset: Dataset | None = self.form.chosen("dataset")
        if dataset is None or not dataset.given_ontologies():
            yield "The dataset came without marks."
            return
        counts = given_marks(dataset)
        entities = words.plural(counts["given_entities"], "entity,entities")
        relations = words.plural(counts["given_relations"], "relation,relations")
        accepted = self.form.chosen("given_marks") == Mark.Status.ACCEPTED
        yield f"{entities} and {relations}, {'accepted' if accepted else 'suggested'}"

    def _people(self) -> Iterator[str]:
        people = self.form.chosen("annotators") or []
        yield words.listed((str(person) for person in people), 10) if people else ""
        yield "" if people or self.errors else "Nobody annotates yet: you can add people on the project’s page."
        rule = self.form.chosen_rule
        yield str(rule)
        dataset, per_item = self.form.chosen("dataset"), rule.annotators_per_item
        if people and dataset and per_item and rule == AssignmentRule(per_item):
            share = -(-dataset.item_count * min(per_item, len(people)) // len(people))
            yield f"That is {words.plural(share, 'item,items')} for each, at most."
        if per_item and 0 < len(people) < per_item:
            yield f"There are only {words.number(len(people))}: until more come, they all get every item."


def steps_of(form: ProjectForm, *, checked: bool) -> list[StepOfForm]:
    return [StepOfForm(step, form, checked=checked) for step in STEPS]


def totals(form: ProjectForm) -> dict[str, Any]:
    """What the project will have, in figures."""
    dataset: Dataset | None = form.chosen("dataset")
    return {
        "items": dataset.item_count if dataset else 0,
        "labels": sum(ontology.size for ontology in form.chosen_ontologies.values()),
        "people": len(form.chosen("annotators") or []),
    }


@require_http_methods(["GET", "POST"])
def create(request: Request) -> HttpResponse:
    """The whole form makes a project; scripts need not know the steps."""
    blueprint_access.require_creator(request)
    form = _asked_form(request)
    if request.method == "POST" and form.is_valid():
        with refusals_in(form):
            made = create_or_start(form.values(), by=request.user)
            return redirect("job" if isinstance(made, Job) else "projects:page", pk=made.pk)
    there = {name: form.fields[name].queryset.exists() for name in ("dataset", "entity_ontology")}  # type: ignore[attr-defined]
    context = {"section": "projects", "form": form, "there": there, "steps": steps_of(form, checked=form.is_bound)}
    return render(request, "projects/create.html", context, status=422 if form.is_bound else 200)


@require_GET
def ontologies(request: Request) -> HttpResponse:
    """The choice of ontologies and constraints, with what the marks of the chosen dataset would break."""
    return render(request, "projects/creation/_chosen.html", {"form": _asked_form(request)})


@require_POST
def check(request: Request) -> HttpResponse:
    """What is wrong with a step that somebody leaves or, without one, the review of all steps."""
    blueprint_access.require_creator(request)
    form, name = _asked_form(request), request.POST.get("step", "")
    steps = [each for each in steps_of(form, checked=True) if name in ("", each.step.name)]
    context: dict[str, Any] = {"form": form, "steps": steps}
    if name in ("", "people"):
        context |= {"with_pairs": True, "pairs": form.pairs()}
    if not name:
        context |= {"totals": totals(form), "wrong": [each for each in steps if each.state == WRONG]}
        context["is_large"] = form.is_valid() and is_large(form.values())
    return render(request, "projects/creation/_checked.html", context)


def _asked_form(request: Request) -> ProjectForm:
    chosen = {name: request.GET.get(name, "") for name in (*BLUEPRINTS, "task")}
    return project_form(request, request.POST or None, initial=chosen, fresh="fresh" in request.GET)


def project_form(request: Request, data: Any, **options: Any) -> ProjectForm:
    """The form with what somebody may choose."""
    models = {"datasets": Dataset, "ontologies": Ontology, "constraints": ConstraintSet}
    found: dict[str, Any] = {name: blueprint_access.blueprints(request, model) for name, model in models.items()}
    found["preannotations"] = blueprint_access.blueprints(request, PreannotationSet) if PREANNOTATIONS.is_on else None
    return ProjectForm(data, **options, **found)


def create_or_start(values: dict[str, Any], *, by: User) -> Project | Job:
    """At once, or by a job if much has to be copied. The ``values`` are those of a valid form."""
    if not is_large(values):
        sets = [found for name in FORMATS if (found := values.pop(name, None))]
        return Project.create(by=by, resources=sets, **values)
    target = {name: getattr(value, "pk", value) for name, value in values.items()}
    target["annotators"] = [person.pk for person in values["annotators"]]
    return start_job("create_project", title=f"Create “{values['name']}”", by=by, target=target)


def is_large(values: dict[str, Any]) -> bool:
    rows = sum(thing.row_count for name in BLUEPRINTS if (thing := values.get(name)))
    rows += values["dataset"].item_count * (values["annotators_per_item"] or 0)
    return rows > settings.JOB_ROWS
