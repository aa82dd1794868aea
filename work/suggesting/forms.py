"""The forms of preannotation sets, cut into tokens as the texts of a dataset were."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from datasets.kinds import Kind
from datasets.models import Dataset
from datasets.preprocessing import Counts, Preprocessing
from resources.matching import EntityForm, Matcher, RelationForm
from resources.models import PreannotationSet

Form = EntityForm | RelationForm


def matcher_of(sets: Iterable[PreannotationSet], dataset: Dataset) -> Matcher:
    """Finds the forms of all rows whose labels can be applied."""
    entities: list[EntityForm] = []
    relations: list[RelationForm] = []
    for each in sets:
        active = {label.pk for labels in each.labels().values() for label in labels if label.active}
        for _, form in forms_of(each, dataset):
            if isinstance(form, EntityForm):
                entities += [form] * (form.label in active)
            else:
                relations += [form] * ({form.source.label, form.target.label, form.label} <= active)
    return Matcher(entities, relations)


def forms_of(preannotations: PreannotationSet, dataset: Dataset) -> Iterator[tuple[int, Form]]:
    """The primary keys of rows, with their forms; without those of which the preprocessing leaves nothing."""
    model, ignores_case = preannotations.row_model, preannotations.ignore_case
    rows = preannotations.rows()
    texts = {text for field in model.form_fields for text in rows.values_list(field, flat=True)}
    tokens = tokens_of(texts, dataset)
    fields = [field.attname for field in model.content_fields()]
    for pk, *values in rows.values_list("pk", *fields).iterator():
        if preannotations.kind == "entity":
            text, label = values
            if text in tokens:
                yield pk, EntityForm(tokens[text], label, ignores_case)
        else:
            source, source_label, target, target_label, offset, label = values
            if source in tokens and target in tokens:
                ends = (
                    EntityForm(tokens[source], source_label, ignores_case),
                    EntityForm(tokens[target], target_label, ignores_case),
                )
                yield pk, RelationForm(*ends, offset, label)


def tokens_of(texts: Collection[str], dataset: Dataset) -> dict[str, tuple[str, ...]]:
    """The tokens of texts, as those of the dataset's lines; at white space where its items came with tokens."""
    if dataset.kind != Kind.STANDARD:
        return {text: tuple(text.split()) for text in texts}
    preprocessing = replace(Preprocessing(**dataset.preprocessing), remove_duplicates=False)
    lines = list(texts)
    prepared = preprocessing.prepare(enumerate(lines), Counts())
    return {lines[each.number]: tuple(each.tokens) for each in prepared}
