"""Several items at once: what they have in common, and changes of all of them."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from itertools import islice

from django.conf import settings
from django.http import HttpResponse
from django_htmx.http import trigger_client_event

from annotation_service.http import Request, refused
from annotation_service.inputs import Refused
from annotation_service.words import plural

from .. import colors
from ..labels import Label, Labels
from ..models import Ontology, OntologyItem
from . import answers
from .answers import acts, chosen_uids, edits, find_item, get_item, respond
from .views import checks_dialog

SHOWN_PLACES = 50


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
    context = {"ontology": ontology, "selected": _selected(ontology, chosen_uids(request)), "palette": palette}
    return respond(request, ("_several", context | {"can_move": settings.ONTOLOGY_MOVE_ITEMS}))


def _selected(ontology: Ontology, uids: Collection[str]) -> Selected:
    found = selected(ontology.labels(), uids)
    if found is None:
        raise Refused("These items are not there any more.")
    return found


# --- Moving: only where the installation allows it ---------------------------------------------------------------------------


@edits
def move(request: Request, ontology: Ontology, uid: str) -> HttpResponse:
    """Move the selected items, or else this one, below another one or to the top level: last there, or before or after a sibling.
    Without a place, offer the places."""
    uids = chosen_uids(request) or [get_item(ontology, uid).uid]
    if not settings.ONTOLOGY_MOVE_ITEMS:
        return refused("Moving items is switched off in this installation.")
    if "to" not in request.POST:
        return _offer_places(request, ontology, uids)
    place = {name: _place(ontology, request.POST.get(name)) for name in ("to", "before", "after")}
    moved = ontology.move_items(uids, by=request.user, **place)
    what = f"“{moved[0].name}” was" if len(moved) == 1 else plural(len(moved), "label was,labels were")
    answer = answers.tree_changed(
        HttpResponse(), ontology, f"{what} moved {_where(ontology, moved, **place)}.", uid=moved[0].uid
    )
    return trigger_client_event(answer, "closeDialog")


def _offer_places(request: Request, ontology: Ontology, uids: Collection[str]) -> HttpResponse:
    labels, chosen = ontology.labels(), _selected(ontology, uids)
    text = request.POST.get("q", "")[: settings.MAX_SEARCH_CHARACTERS]
    inside = {label.uid for label in chosen.labels + chosen.below}
    found = labels.find_best_first(text) if text.strip() else labels
    places = islice((label for label in found if label.uid not in inside), SHOWN_PLACES)
    context = {"ontology": ontology, "selected": chosen, "places": places, "searched": text}
    return respond(request, ("_places" if "q" in request.POST else "_move", context))


def _where(
    ontology: Ontology,
    moved: list[OntologyItem],
    to: OntologyItem | None,
    before: OntologyItem | None,
    after: OntologyItem | None,
) -> str:
    """Where items, as they were, have been moved to."""
    if before or after:
        return f"before “{before}”" if before else f"after “{after}”"
    if {item.parent_id for item in moved} == {(to or ontology.root).pk}:
        return f"to the end below “{to}”" if to else "to the end of the top level"
    return f"below “{to}”" if to else "to the top level"


def _place(ontology: Ontology, uid: str | None) -> OntologyItem | None:
    item = find_item(ontology, uid)
    if uid and item is None:
        raise Refused("The place is not there any more.")
    return item
