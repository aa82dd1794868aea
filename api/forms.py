"""Forms of pages whose rules hold for programs, too: filled in from JSON."""

from collections.abc import Mapping
from typing import Any

from django.forms import BaseForm

from annotation_service.blueprint_views import DocumentForm
from annotation_service.inputs import Problem, Refused


def problems_in(form: BaseForm) -> list[Problem]:
    """Each with the field as its place."""
    return [
        Problem("" if name == "__all__" else name, str(each)) for name, errors in form.errors.items() for each in errors
    ]


def refusal_of(form: BaseForm) -> Refused:
    """What is wrong with the document that is sent with it or, without one, with its fields."""
    if isinstance(form, DocumentForm) and form.problems:
        return Refused(form.problems, form.total)
    return Refused(problems_in(form))


def valid(form: BaseForm) -> dict[str, Any]:
    """The cleaned values. Raises `Refused` with everything that is wrong."""
    if not form.is_valid():
        raise refusal_of(form)
    return form.cleaned_data


def filled_in(sent: Mapping[str, Any]) -> dict[str, Any]:
    """What a form is bound to: nothing where JSON has null, and lists of names in one text."""
    return {k: ", ".join(v) if isinstance(v, list) else v for k, v in sent.items() if v is not None}
