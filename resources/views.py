"""The lists of resource sets, creating and downloading; and what the pages of all sets share."""

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from itertools import islice
from typing import Any, NamedTuple, TypeVar, cast

from django.conf import settings
from django.contrib import messages
from django.db.models.functions import Lower
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.text import slugify
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe
from django_htmx.http import trigger_client_event

from annotation_service import access
from annotation_service.blueprint_views import list_context
from annotation_service.blueprints import Right
from annotation_service.http import Request, download, refused
from annotation_service.inputs import Refused
from annotation_service.paging import Column
from annotation_service.views import Hit, blueprints_and_copies, finders
from annotation_service.words import plural
from ontologies.labels import Label, Labels
from ontologies.models import Ontology

from .documents import explained
from .forms import ResourceSetForm
from .models import RESOURCE_SETS, PreannotationSet, ResourceSet
from .models.sets import ResourceSetQuerySet

SHOWN_CHOICES = 200
View = Callable[..., HttpResponse]
S = TypeVar("S", bound=ResourceSet)


def set_view(model: type[S], get: Callable[[Request, type[S], int], S], *methods: str) -> Callable[[View], View]:
    """Fetch the set through an access function. What is refused is shown as a toast."""

    def decorate(view: View) -> View:
        @require_http_methods(methods)
        @wraps(view)
        def answer(request: Request, pk: int, **options: Any) -> HttpResponse:
            try:
                return view(request, get(request, model, pk), **options)
            except Refused as error:
                return refused(error)

        return answer if get is access.readable else model.feature.required(answer)

    return decorate


@require_GET
def list_sets(request: Request, model: type[ResourceSet]) -> HttpResponse:
    found = cast(ResourceSetQuerySet, access.blueprints(request, model)).with_size().defer("description")
    found = found.select_related("entity_ontology", "relation_ontology")
    columns = [
        Column("name", "Name", Lower("name")),
        Column("kind", "Kind", "kind"),
        Column("size", model.row_words.split(",")[1].capitalize(), "size", number=True, big_first=True),
        Column("labels", "Labels of", Lower("entity_ontology__name")),
        Column("state", "State", "uses", big_first=True),
        Column("owner", "Owner", Lower("owner__username")),
        Column("changed", "Changed", "updated_at", big_first=True),
    ]
    context = list_context(request, found, columns, "name", "description", "owner__username", "entity_ontology__name")
    context["off"] = not model.feature.is_on
    if not PreannotationSet.feature.is_on and model is not PreannotationSet:  # no menu leads to those that are there
        context["left"] = access.blueprints(request, PreannotationSet).exists()
    return render(request, f"resources/{model.noun}s/list.html", context)


@require_http_methods(["GET", "POST"])
def create(request: Request, form_class: type[ResourceSetForm]) -> HttpResponse:
    """The form for a new set, or the way to its page."""
    form, model = _create_form(request, form_class), form_class.model
    if request.method == "POST" and (new := form.save(request.user)):
        messages.success(request, f"“{new}” was created with {new.content_in_words()}.")
        if warnings := new.warnings.total:
            text = f"{plural(warnings, 'place in the rules looks,places in the rules look')} like a mistake: see the checks."
            messages.warning(request, text)
        return redirect(new)
    context = {
        "form": form,
        "kinds": {
            kind: {"title": rows.kind.title, "about": rows.kind.about, **explained(model.format_of(kind))}
            for kind, rows in model.row_models.items()
        },
        "source": "paste" if form.file_text else form["source"].value(),
        "section": model.namespace,
        "schema_ending": f"_{model.noun}s",
    }
    status = 422 if request.method == "POST" else 200
    return render(request, f"resources/{model.noun}s/create.html", context, status=status)


@require_POST
def check(request: Request, form_class: type[ResourceSetForm]) -> HttpResponse:
    """What would become of the document: its mistakes, or how many rows it has and what looks wrong."""
    form = _create_form(request, form_class)
    is_sound = form.examine()
    return render(
        request, "resources/_report.html", {"form": form, "is_sound": is_sound}, status=200 if is_sound else 422
    )


def _create_form(request: Request, form_class: type[ResourceSetForm]) -> ResourceSetForm:
    sent = {"data": request.POST, "files": request.FILES} if request.method == "POST" else {}
    return form_class(**sent, ontologies=access.blueprints(request, Ontology))


@require_safe
def download_json(request: Request, pk: int, model: type[ResourceSet]) -> HttpResponseBase:
    thing = access.readable(request, model, pk)
    return download(request, "".join(thing.json_document()), _file_name(thing, "json"), "application/json")


@require_safe
def download_csv(request: Request, pk: int) -> HttpResponseBase:
    thing = access.readable(request, PreannotationSet, pk)
    return download(request, "".join(thing.csv_document()), _file_name(thing, "csv"), "text/csv; charset=utf-8")


def _file_name(thing: ResourceSet, ending: str) -> str:
    return f"{slugify(thing.name)[:80] or f'{thing.noun}s-{thing.pk}'}.{ending}"


@finders.append
def find_sets(request: Request, text: str) -> Iterator[Hit]:
    for model in RESOURCE_SETS:
        yield from blueprints_and_copies(f"{model.noun}s".capitalize(), model)(request, text)


# --- What the pages of all sets show -------------------------------------------------------------------------------------


def standing(request: Request, thing: ResourceSet) -> dict[str, Any]:
    """How things stand with a set."""
    by = request.user
    editable = access.can_edit(by, thing)
    return {
        "resource": thing,
        "section": thing.namespace if thing.is_blueprint else "projects",
        "total": thing.row_count,
        "editable": editable,
        "undoable": editable and thing.undoable(by),
        "redoable": editable and thing.redoable(by),
    }


def uses(request: Request, thing: Any) -> dict[str, Any]:
    """The copies of a set, as far as somebody sees them."""
    seen = access.projects_seen_by(request.user, Right.READ)
    copies = thing.copies.exclude(project=None).select_related("project").with_size()
    return {
        "copies": [copy for copy in copies if copy.project_id in seen],
        "copies_elsewhere": sum(copy.project_id not in seen for copy in copies),
    }


# --- Events --------------------------------------------------------------------------------------------------------------


def complain(answer: HttpResponse, text: str) -> HttpResponse:
    return trigger_client_event(answer, "toast", {"text": text, "kind": "error"})


def offer_undo(answer: HttpResponse, thing: ResourceSet, text: str) -> HttpResponse:
    url = f"{thing.address('undo', thing.pk)}?version={thing.version}"
    shown = {"text": text, "kind": "success", "action": {"label": "Undo", "url": url}}
    return trigger_client_event(answer, "toast", shown)


# --- The dialog in which a label is picked -------------------------------------------------------------------------------


class LabelChoice(NamedTuple):
    """A label in a dialog: ``name`` and ``value`` are sent if it is picked, unless there is a reason ``why_not``. Then it
    may have a ``link`` instead."""

    label: Label
    name: str
    value: str
    is_picked: bool = False
    why_not: str = ""
    link: str = ""


def wanted(request: Request, labels: Labels) -> Iterable[Label]:
    """Those that are looked for."""
    text = _searched(request)
    return labels.find_best_first(text) if text.strip() else labels


def _searched(request: Request) -> str:
    return (request.POST if request.method == "POST" else request.GET).get("q", "")[: settings.MAX_SEARCH_CHARACTERS]


def offer(request: Request, found: Iterable[LabelChoice]) -> dict[str, Any]:
    """What the dialog shows of these choices."""
    left = iter(found)
    return {"choices": list(islice(left, SHOWN_CHOICES)), "more": sum(1 for _ in left), "searched": _searched(request)}


def dialog(request: Request, context: dict[str, Any]) -> HttpResponse:
    """The dialog or, while somebody searches in it, its labels."""
    return render(request, f"resources/{'_choices' if 'q' in request.GET else '_pick'}.html", context)
