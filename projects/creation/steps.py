"""The steps in which a project is made: which fields each has, what is wrong with it, and what the review says of it."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from annotation_service import words
from datasets.models import Dataset, Mark
from resources.models import FORMATS

from ..progress import given_marks
from ..rule import Rule
from .forms import ProjectForm

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
        for kind in ("entity", "relation"):
            if ontology := self.form.chosen(f"{kind}_ontology"):
                yield f"“{ontology}” with {words.plural(ontology.size, 'label,labels')}"

    def _constraints(self) -> Iterator[str]:
        chosen = [found for name in FORMATS if name in self.form.fields and (found := self.form.chosen(name))]
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
        rule = Rule(**{name: self.form.chosen(name) or default for name, default in asdict(Rule()).items()})
        yield str(rule)
        dataset, per_item = self.form.chosen("dataset"), rule.annotators_per_item
        if people and dataset and per_item and rule == Rule(per_item):
            share = -(-dataset.item_count * min(per_item, len(people)) // len(people))
            yield f"That is {words.plural(share, 'item,items')} for each, at most."
        if per_item and 0 < len(people) < per_item:
            yield f"There are only {words.number(len(people))}: until more come, they all get every item."


def steps_of(form: ProjectForm, *, checked: bool) -> list[StepOfForm]:
    return [StepOfForm(step, form, checked=checked) for step in STEPS]


def totals(form: ProjectForm) -> dict[str, Any]:
    """What the project will have, in figures."""
    dataset: Dataset | None = form.chosen("dataset")
    ontologies = [found for kind in ("entity", "relation") if (found := form.chosen(f"{kind}_ontology"))]
    return {
        "items": dataset.item_count if dataset else 0,
        "labels": sum(ontology.size for ontology in ontologies),
        "people": len(form.chosen("annotators") or []),
    }
