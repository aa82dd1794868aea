"""The list of blueprints, creating, downloading, and the codebook."""

from typing import cast

from django.contrib import messages
from django.db.models.functions import Lower
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.text import slugify
from django.views.decorators.http import require_GET, require_http_methods

from annotation_service import access
from annotation_service.blueprint_views import list_context
from annotation_service.finding import blueprints_and_copies, finders
from annotation_service.http import Request, download
from annotation_service.paging import Column
from annotation_service.schemas import PUBLISHED, published

from . import markdown
from .codebook import Codebook
from .documents import example_json, indented_text
from .finding import find_labels
from .forms import CreateForm
from .models import Ontology
from .models.ontology import OntologyQuerySet

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
    form = CreateForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        values = {name: form.cleaned_data[name] for name in ("kind", "name", "description", "items")}
        ontology = Ontology.create(owner=request.user, **values)
        messages.success(request, f"“{ontology}” was created with {ontology.content_in_words()}.")
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


@require_GET
def download_tree(request: Request, pk: int, extension: str) -> HttpResponseBase:
    ontology = access.readable(request, Ontology, pk)
    text = ontology.as_json() if extension == "json" else indented_text(ontology.items())
    content_type = "application/json" if extension == "json" else "text/plain; charset=utf-8"
    name = slugify(ontology.name)[:80] or f"ontology-{ontology.pk}"
    return download(request, text, f"{name}.{extension}", content_type)


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


@require_GET
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
    name = f"{kind}_ontology" if kind in Ontology.Kind.values else kind
    if name not in PUBLISHED:
        raise Http404
    return download(request, published(PUBLISHED[name]), f"{name}.schema.json", "application/json")


finders += [find_labels, blueprints_and_copies("Ontologies", Ontology)]
