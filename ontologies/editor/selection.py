"""Several items at once: what they have in common, and changes of all of them."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from django.http import HttpResponse

from annotation_service.http import Request, refused
from annotation_service.inputs import Refused
from annotation_service.words import plural

from .. import colors
from ..labels import Label, Labels
from ..models import Ontology
from . import answers
from .answers import acts, chosen_uids, respond
from .views import checks_dialog


@dataclass(frozen=True, slots=True)
class Selected:
    """Some labels in tree order, and those below them that are not selected themselves."""

    labels: list[Label]
    below: list[Label]

    @property
    def uids(self) -> str:
        return ",".join(label.uid for label in self.labels)

    @property
    def on(self) -> int:
        return sum(label.active for label in self.labels)

    @property
    def off(self) -> int:
        return len(self.labels) - self.on

    @property
    def undescribed(self) -> int:
        return sum(not label.description for label in self.labels)

    @property
    def colors(self) -> list[str]:
        return list(dict.fromkeys(label.color for label in self.labels))

    @property
    def shared_terms(self) -> list[str]:
        first, *others = (label.example_terms for label in self.labels)
        return [term for term in first if all(term in terms for terms in others)]

    @property
    def other_terms(self) -> int:
        return len({term for label in self.labels for term in label.example_terms}) - len(self.shared_terms)


def selected(labels: Labels, uids: Collection[str]) -> Selected | None:
    """None if none of them is there."""
    keys = {labels.by_uid[uid].pk for uid in uids if uid in labels.by_uid}
    branches = [label for label in labels if not keys.isdisjoint(labels.lineage(label))]
    below = [label for label in branches if label.pk not in keys]
    return Selected([label for label in branches if label.pk in keys], below) if keys else None


# --- Requests ----------------------------------------------------------------------------------------------------------


@acts
def recolor_items(request: Request, ontology: Ontology) -> HttpResponse:
    """Recolour the selected items, or their branches."""
    uids, color = chosen_uids(request), request.POST.get("color")
    if not uids or not color:
        return refused("Choose items and a colour.")
    count = ontology.recolor_items(uids, color, branch=bool(request.POST.get("reach")), by=request.user)
    return answers.tree_changed(HttpResponse(), ontology, f"{plural(count, 'item was,items were')} recoloured.")


@acts
def separate_colors(request: Request, ontology: Ontology) -> HttpResponse:
    """Give the selected items, which look alike, colours that can be told apart; answer with the checks."""
    count = ontology.separate_colors(chosen_uids(request), by=request.user)
    return answers.tree_changed(
        respond(request, checks_dialog(request, ontology)),
        ontology,
        f"{plural(count, 'item was,items were')} recoloured.",
    )


@acts
def add_terms(request: Request, ontology: Ontology) -> HttpResponse:
    terms = re.split(r"[,\n]", request.POST.get("add", ""))
    uids = chosen_uids(request)
    if not uids or not any(map(str.strip, terms)):
        return refused("Choose items, and type the example terms that all of them shall have.")
    count = ontology.add_example_terms(uids, terms, by=request.user)
    text = f"{plural(count, 'item has,items have')} new example terms."
    return answers.tree_changed(HttpResponse(), ontology, text, unless="All of them have these terms already.")


@acts
def details(request: Request, ontology: Ontology) -> HttpResponse:
    """The details of several items. Nothing is stored; it is a POST because they may not fit into an address."""
    palette = [colors.top_level(index) for index in range(8)]
    return respond(
        request, ("_several", {"ontology": ontology, "selected": _selected(request, ontology), "palette": palette})
    )


def _selected(request: Request, ontology: Ontology) -> Selected:
    found = selected(ontology.labels(), chosen_uids(request))
    if found is None:
        raise Refused("These items are not there any more.")
    return found
