"""Moving items: only where the installation allows it."""

from itertools import islice

from django.conf import settings
from django.http import HttpResponse

from annotation_service.http import Request
from annotation_service.inputs import Refused

from ..models import Ontology, OntologyItem
from .answers import edits, find_item, get_item, refused, respond, tree_changed
from .forms import MoveForm

SHOWN = 50


@edits
def move(request: Request, ontology: Ontology, uid: str) -> HttpResponse:
    """Below another item or to the top level: last there, or before or after one that stands there. Asked without a place, it
    offers those to choose from."""
    item = get_item(ontology, uid)
    if not settings.ONTOLOGY_MOVE_ITEMS:
        return refused("Moving items is switched off in this installation.")
    if request.method == "GET":
        text = request.GET.get("q", "")[:200]
        context = {"ontology": ontology, "item": item, "places": _places(ontology, item, text), "text": text}
        return respond(request, ("_places" if "q" in request.GET else "_move", context))
    form = MoveForm(request.POST)
    form.is_valid()
    try:
        places = {name: _place(ontology, uid) for name, uid in form.cleaned_data.items()}
        item = item.move(by=request.user, **places)
    except Refused as error:
        return refused(error)
    return tree_changed(HttpResponse(), ontology, f"“{item.name}” was moved.", uid=item.uid)


def _place(ontology: Ontology, uid: str) -> OntologyItem | None:
    item = find_item(ontology, uid)
    if uid and item is None:
        raise Refused("The place is not there any more.")
    return item


def _places(ontology: Ontology, item: OntologyItem, text: str) -> list[object]:
    """The items below which it could stand, by name."""
    inside = set(item.branch().values_list("uid", flat=True))
    wanted = text.casefold().strip()
    labels = (label for label in ontology.labels() if wanted in label.name.casefold() and label.uid not in inside)
    return list(islice(labels, SHOWN))
