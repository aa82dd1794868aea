"""The list of blueprints, creating, downloading, the codebook, and labels for the command palette."""

from collections.abc import Iterable
from typing import cast

from django.contrib import messages
from django.db.models.functions import Lower
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.text import slugify
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from annotation_service import access
from annotation_service.blueprint_views import list_context
from annotation_service.http import Request, download
from annotation_service.paging import Column
from annotation_service.schemas import PUBLISHED, published
from annotation_service.views import Hit, blueprints_and_copies, finders

from . import markdown
from .codebook import Codebook
from .documents import example_json, notes_on
from .forms import OntologyForm
from .label_files import OntologyFormat, left_out
from .labels import Label
from .models import Ontology, OntologyKind
from .models.ontology import OntologyQuerySet
from .search import rank

COLUMNS = [
    Column("name", "Name", Lower("name")),
    Column("kind", "Kind", "kind"),
    Column("size", "Items", "size", number=True, big_first=True),
    Column("state", "State", "uses", big_first=True),
    Column("owner", "Owner", Lower("owner__username")),
    Column("created", "Created", "created_at", big_first=True),
    Column("changed", "Changed", "updated_at", big_first=True),
]


@require_GET
def list_ontologies(request: Request) -> HttpResponse:
    found = cast(OntologyQuerySet, access.blueprints(request, Ontology)).with_size().defer("description")
    context = list_context(request, found, COLUMNS, "name", "description", "owner__username")
    return render(request, "ontologies/list.html", context)


@require_http_methods(["GET", "POST"])
def create(request: Request) -> HttpResponse:
    access.require_creator(request)
    form = OntologyForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        values = {name: form.cleaned_data[name] for name in ("kind", "name", "description", "items")}
        ontology = Ontology.create(owner=request.user, **values)
        notes = notes_on(values["items"]) + left_out(form.document)
        messages.success(request, f"“{ontology}” was created with {ontology.content_in_words()}.{notes}")
        return redirect(ontology)
    context = {
        "form": form,
        "kinds": {
            kind: {"title": title, "about": about, "example": example_json(kind)}
            for kind, title, about in (
                ("entity", "Entities", "What spans of text are: pump, activity, person."),
                ("relation", "Relations", "How two entities belong together: has part, works for."),
            )
        },
        "source": "paste" if form.file_text else form["source"].value(),
        "section": "ontologies",
        "schema_ending": "",
    }
    return render(request, "ontologies/create.html", context, status=422 if request.method == "POST" else 200)


@require_POST
def look(request: Request) -> HttpResponse:
    """What a pasted text or a file is and what would come of it, beside the form for a new ontology."""
    access.require_creator(request)
    form = OntologyForm(request.POST, request.FILES)
    form.is_valid()
    items = form.cleaned_data.get("items", [])
    context = {"form": form, "items": items, "notes": notes_on(items) + left_out(form.document)}
    context |= {"problems": form.problems, "total": form.total}
    return render(request, "ontologies/_recognised.html", context)


@require_safe
def download_tree(request: Request, pk: int, format: OntologyFormat) -> HttpResponseBase:
    ontology = access.readable(request, Ontology, pk)
    assert format.write
    name = slugify(ontology.name)[:80] or f"ontology-{ontology.pk}"
    return download(request, format.write(ontology), f"{name}{format.extensions[0]}", format.content_type)


@require_GET
def codebook(request: Request, pk: int) -> HttpResponse:
    book = _codebook(request, pk)
    context = {
        "book": book,
        "ontology": book.ontology,
        "branches": book.branches(),
        "with_sentences": _with_sentences(request),
        "query": request.GET.urlencode(),
        "section": "ontologies" if book.ontology.is_blueprint else "projects",
    }
    return render(request, "ontologies/codebook.html", context)


@require_safe
def download_codebook(request: Request, pk: int) -> HttpResponseBase:
    book = _codebook(request, pk)
    return download(request, markdown.document(book), book.file_name, "text/markdown; charset=utf-8")


def _codebook(request: Request, pk: int) -> Codebook:
    """As the address wants it: ``branch`` is the uid of a label, ``off`` “yes”, ``sentences`` “no”."""
    ontology = access.readable(request, Ontology, pk)
    uid = request.GET.get("branch")
    branch = ontology.labels().by_uid.get(uid) if uid else None
    if uid and branch is None:
        raise Http404("This label is not there any more.")
    book = Codebook(ontology, branch, with_off=request.GET.get("off") == "yes")
    if _with_sentences(request):
        book.add_sentences(request)
    return book


def _with_sentences(request: Request) -> bool:
    return request.GET.get("sentences") != "no"


@require_GET
def schema(request: Request, kind: str) -> HttpResponseBase:
    """The published JSON Schema of a kind of ontology, or of another document such as “relation_constraints”."""
    name = f"{kind}_ontology" if kind in OntologyKind.values else kind
    if name not in PUBLISHED:
        raise Http404
    return download(request, published(PUBLISHED[name]), f"{name}.schema.json", "application/json")


# --- For the command palette ---------------------------------------------------------------------------------------------

MOST_HITS = 10
# So many are looked at, of the ontologies that were changed last: 10 ms for each 10,000 labels, and a query for each ontology
# that is not in memory.
MOST_LABELS = 30_000
MOST_ONTOLOGIES = 100
FEWEST_LETTERS = 2


def find_labels(request: Request, text: str) -> Iterable[Hit]:
    """The labels whose names fit best, of the ontologies that the user may look at."""
    if len(text) < FEWEST_LETTERS:
        return
    found: list[tuple[int, Ontology, Label]] = []
    seen = 0
    readable = access.all_readable(request, Ontology).select_related("project").order_by("-updated_at", "-pk")
    for ontology in readable[:MOST_ONTOLOGIES]:
        if seen >= MOST_LABELS:
            break
        labels = ontology.labels()
        seen += len(labels)
        best = labels.find_best_first(text, exact=True)[:MOST_HITS]
        found += [(rank(text, label.name), ontology, label) for label in best]
    for _, ontology, label in sorted(found, key=lambda hit: hit[0])[:MOST_HITS]:
        above = label.fullname.rpartition("/")[0]
        places = [above, f"{ontology} in {ontology.project}" if ontology.project else str(ontology)]
        url = f"{ontology.get_absolute_url()}?item={label.uid}"
        yield Hit("Labels", label.name, " · ".join(filter(None, places)), url, label.color)


finders += [find_labels, blueprints_and_copies("Ontologies", Ontology)]
