"""The pages of a graph: its nodes and edges with their picture and what is behind them, figures, merging, and files."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import reswap, trigger_client_event

from annotation_service.blueprints import Right
from annotation_service.edits import EditForm
from annotation_service.http import Request, refused, show_table
from annotation_service.inputs import Refused, whole_number
from annotation_service.journal_views import history_urls
from annotation_service.json_input import to_json
from annotation_service.models import Job
from annotation_service.words import cut, plural
from projects.forms import answers_refusals, refusals_in, toasts_refusals
from projects.models import Project

from .access import graph_of, nodes_of
from .counting import refresh_quickly
from .exports import GRAPH_FORMATS
from .figures import branch_matrix, growth, most_connected
from .jobs import export_or_start, start_counting
from .likeness import suggestions
from .models import Graph
from .models.graph import CLEANED, LANGUAGES
from .node_evidence import NodeEvidence
from .node_list import SIDES, SIZES, STATES, CountedEdge, CountedNode, NodeList, ends_of
from .voices import ALL, MOST_AGREED, sources_of

# So many nodes are in a dialog, which names each.
MOST_NAMED = 50


def reads(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    return require_GET(lambda request, pk, **options: view(request, graph_of(request, pk), **options))


def _show_all(request: Request, error: Refused) -> HttpResponse:
    """Addresses may name sources that are not there any more. What is shown stays when a field is refused."""
    if request.htmx or not request.GET:
        return reswap(refused(error), "none")
    messages.error(request, str(error))
    return redirect(request.path)


shows_refusals = answers_refusals(_show_all)


def _standing(request: Request, graph: Graph) -> dict[str, Any]:
    rights = graph.project.rights_of(request.user)
    return {
        "section": "projects",
        "project": graph.project,
        "graph": graph,
        "keeps": Right.KEEP in rights,
        "manages": Right.MANAGE in rights,
        "edits": Right.REVIEW in rights,
        # Asked for where their buttons are.
        "undoable": partial(graph.undoable, request.user),
        "redoable": partial(graph.redoable, request.user),
    }


@shows_refusals
@reads
def page(request: Request, graph: Graph) -> HttpResponse:
    """The table of nodes or edges, its picture and what is behind one of them; or one of the parts."""
    shown, chosen = NodeList.of(graph, request.GET), request.GET.get("at", "")
    # What links to evidence begin with: composed for each of 500 rows it would take a quarter of a second.
    asked = {name: str(value) for name, value in request.GET.items() if value and name not in ("at", "places")}
    context = _standing(request, graph) | {"filter": shown, "here": f"?{urlencode({**asked, 'at': ''})}"}
    if request.htmx and request.htmx.target == "evidence":
        return render(request, "graph/_evidence.html", context | _evidence(shown, request, chosen))
    context["is_counted"] = refresh_quickly(graph)
    found = shown.page(request.GET.get("page"))
    context |= {"page": found, "columns": shown.columns, "first": shown.first, "edge_count": shown.count_edges()}
    context["drawn"] = to_json(_drawn(shown, list(found.object_list)))
    with suppress(Http404):  # what was chosen may have gone meanwhile
        context |= _evidence(shown, request, chosen) if chosen else {}
    query = "&".join(filter(None, (shown.query_string(page=found.number), chosen and urlencode({"at": chosen}))))
    context["apart"] = request.htmx and request.htmx.target == "graph"
    return show_table(
        request,
        query,
        "graph/_graph.html",
        "graph/page.html",
        context,
        choices=lambda: {"states": STATES.items(), "sides": SIDES.items(), "sizes": SIZES},
        target="graph",
        is_pushed=request.htmx.current_url_abs_path != request.path + (query and f"?{query}"),
    )


def _drawn(shown: NodeList, rows: list[Any]) -> dict[str, Any]:
    """The nodes and edges of the picture, of which the table has one or the other."""
    if shown.view == "edges":
        return _picture(shown, shown.nodes_of(ends_of(rows)), rows)
    return _picture(shown, rows, shown.edges_between([node.form.pk for node in rows]))


def _picture(shown: NodeList, nodes: Sequence[CountedNode], edges: Iterable[CountedEdge]) -> dict[str, Any]:
    there = {node.id for node in nodes}  # what was counted meanwhile may not be
    return {
        "compared": bool(shown.second),
        "nodes": [
            {
                "id": node.id,
                "words": cut(str(node.form), 60),
                "color": node.label.color if node.label else "#888888",
                "marks": node.marks + node.other,
                "side": node.side,
            }
            for node in nodes
        ],
        "edges": [
            {
                "id": edge.id,
                "subject": edge.subject.digest,
                "object": edge.object.digest,
                "label": edge.label.name,
                "marks": edge.marks + edge.other,
                "side": edge.side,
            }
            for edge in edges
            if {edge.subject.digest, edge.object.digest} <= there
        ],
    }


def _evidence(shown: NodeList, request: Request, chosen: str) -> dict[str, Any]:
    """Of a node, named by the id of any of its forms, or of an edge: “subject,label,object”."""
    ids = chosen.split(",")
    nodes = nodes_of(shown.graph, ids[0], ids[-1])
    label = shown.label_with(ids[1]) if len(ids) == 3 else None
    found = NodeEvidence(shown, nodes[0], label, nodes[-1] if label else None)
    return {"evidence": found, "places": found.page(request.GET.get("places")), "at": found.key}


@toasts_refusals
@reads
def neighbours(request: Request, graph: Graph, node: str) -> JsonResponse:
    """The neighbours of a node, for the picture."""
    shown = NodeList.of(graph, request.GET)
    [head] = nodes_of(graph, node)
    edges = shown.neighbours(head)
    return JsonResponse(_picture(shown, shown.nodes_of(ends_of(edges) | {head.pk}), edges))


@require_POST
def count(request: Request, pk: int) -> HttpResponse:
    """Count what has changed, by a job."""
    return redirect("job", pk=start_counting(graph_of(request, pk), by=request.user).pk)


# --- What people do with nodes -------------------------------------------------------------------------------------------


def _outdated(_: Request, error: Refused) -> HttpResponse:
    """Somebody was quicker: the page shows what is there now."""
    return trigger_client_event(refused(error), "graphChanged", {})


def acts(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    @require_POST
    @answers_refusals(lambda request, error: reswap(_outdated(request, error), "none"))
    def act(request: Request, pk: int, **options: Any) -> HttpResponse:
        return view(request, graph_of(request, pk, Right.REVIEW), **options)

    return act


def changed(answer: HttpResponse, graph: Graph) -> HttpResponse:
    """The parts of the page fetch themselves again."""
    return trigger_client_event(answer, "graphChanged", {"version": graph.version})


def _done(graph: Graph, text: str) -> HttpResponse:
    """What was done, with the offer to undo it if it is in the journal."""
    toast: dict[str, Any] = {"text": text, "kind": "success"}
    if graph.written:
        toast["action"] = {"label": "Undo", "url": f"{graph.get_absolute_url()}undo/?version={graph.version}"}
    answer = trigger_client_event(HttpResponse(), "toast", toast)
    return changed(trigger_client_event(answer, "closeDialog"), graph)


@require_http_methods(["GET", "POST"])
@answers_refusals(_outdated)
def merge(request: Request, pk: int) -> HttpResponse:
    """Several nodes become one: which of them stands for it is chosen in a dialog, or named."""
    graph = graph_of(request, pk, Right.REVIEW)
    sent = request.POST if request.method == "POST" else request.GET
    ids = list(dict.fromkeys(sent.getlist("node")))
    if len(ids) < 2:
        return refused("Select two nodes or more.")
    nodes = list(graph.standing(ids, seen=True).values())
    if request.method == "POST":
        target = sent.get("into") or ids[0]
        graph.merge(target, [each for each in ids if each != target], by=request.user, seen=True)
        [head] = graph.standing([target]).values()
        return _done(graph, f"{plural(len(nodes), 'node is,nodes are')} one now: “{head}”.")
    shown = NodeList.of(graph, request.GET)
    totals = shown.nodes().filter(node__in=[node.pk for node in nodes])
    marks = {row["node"]: row["here"] for row in totals}
    named = ((node, shown.labels.get(node.label), marks.get(node.pk, 0)) for node in nodes)
    rows = sorted(named, key=lambda row: -row[2])
    context = {"rows": rows[:MOST_NAMED], "more": rows[MOST_NAMED:], "total": sum(marks.values())}
    context |= {"labels": len({node.label for node in nodes}), "project": graph.project, "ids": ids}
    return render(request, "graph/_merge.html", context)


@acts
def split(request: Request, graph: Graph) -> HttpResponse:
    """A form becomes a node of its own."""
    form = request.POST.get("form", "")
    graph.split([form], by=request.user)
    return _done(graph, f"“{graph.found([form])[0]}” is a node of its own again.")


@acts
def keep_apart(request: Request, graph: Graph) -> HttpResponse:
    one, other = request.POST.get("one", ""), request.POST.get("other", "")
    graph.keep_apart(one, other, by=request.user, seen=True)
    first, second = graph.found([one, other])
    return _done(graph, f"“{first}” and “{second}” stay two nodes.")


class NodeForm(EditForm):
    name = forms.CharField(required=False, max_length=200, label="Name", help_text="instead of its words")
    iri = forms.CharField(
        required=False, label="IRI", help_text="what it is elsewhere, such as https://www.wikidata.org/entity/Q134574"
    )
    external_id = forms.CharField(required=False, max_length=200, label="Outside id", help_text="in a list of your own")


class GraphForm(EditForm):
    stem = forms.ChoiceField(
        required=False,
        label="Words are stemmed",
        choices=[("", "No: “pump” and “pumps” are two nodes"), *((name, name.capitalize()) for name in LANGUAGES)],
        help_text="Everything is counted anew then. Nodes that were merged rest until words are folded again as they are now.",
    )
    prefix = forms.CharField(label="Prefix", max_length=20, help_text="in files in RDF")  # type: ignore[assignment]
    namespace = forms.CharField(label="Namespace", help_text="with which the IRIs of labels and nodes begin")


def _edited(
    request: Request, graph: Graph, form_class: type[EditForm], what: str, verb: str = "", **about: Any
) -> HttpResponse:
    form = form_class(request.POST if request.method == "POST" else None, **about)
    for name, field in form.fields.items():  # so that what is wrong is told at its field
        field.validators.append(CLEANED[name])  # type: ignore[arg-type]
    if form.save():
        return _done(graph, f"{what}: stored.")
    return render(request, "graph/_edit.html", {"form": form, "title": f"{verb}{what}"}, status=form.status)


@require_http_methods(["GET", "POST"])
def name_node(request: Request, pk: int, node: str) -> HttpResponse:
    """What a node is called, and what it is elsewhere."""
    graph = graph_of(request, pk, Right.REVIEW)
    [head] = nodes_of(graph, node)
    edit = partial(graph.name_node, head.digest, by=request.user)
    return _edited(request, graph, NodeForm, f"“{head}”", "Name ", thing=head, edit=edit)


@require_http_methods(["GET", "POST"])
def edit(request: Request, pk: int) -> HttpResponse:
    """How the graph is made of words, and what files call it."""
    graph = graph_of(request, pk, Right.MANAGE)
    return _edited(request, graph, GraphForm, "The graph", thing=graph)


@shows_refusals
@reads
def suggested(request: Request, graph: Graph) -> HttpResponse:
    """Nodes that may be the same, to be decided one after the other."""
    shown = replace(NodeList.of(graph, request.GET), compare="")
    pairs, after = suggestions(shown, whole_number(request.GET.get("after", "")[:6]) or 0)
    context = _standing(request, graph) | {"filter": shown, "pairs": pairs, "after": after}
    return render(request, "graph/_pairs.html" if request.htmx else "graph/suggestions.html", context)


@shows_refusals
@reads
def figures(request: Request, graph: Graph) -> HttpResponse:
    shown = replace(NodeList.of(graph, request.GET), compare="")
    context = _standing(request, graph) | {
        "filter": shown,
        "growth": growth(shown),
        "connected": most_connected(shown),
        "matrix": branch_matrix(shown),
    }
    return render(request, "graph/figures.html", context)


HISTORY = history_urls(reads, acts, changed)


# --- Files ---------------------------------------------------------------------------------------------------------------


class GraphFileForm(forms.Form):
    format = forms.ChoiceField(choices=lambda: [(each.name, each.title) for each in GRAPH_FORMATS.values()])
    source = forms.ChoiceField(label="Whose marks")
    agreed = forms.CharField(
        label="At least so many people agree", widget=forms.NumberInput({"min": 1, "max": MOST_AGREED})
    )

    def __init__(self, data: Any, project: Project) -> None:
        sources = sources_of(project)
        first = {"format": "json", "source": sources[0][0], "agreed": "1"}
        super().__init__(first | {name: data[name] for name in data if name in self.base_fields})
        choice: Any = self.fields["source"]
        choice.choices = sources
        if self.data["source"] != ALL:
            del self.fields["agreed"]
        if self.data["format"] == "shacl":  # has what nobody marked
            for name in self.fields.keys() - {"format"}:
                self.fields[name].widget = forms.HiddenInput()


@require_http_methods(["GET", "POST"])
def export(request: Request, pk: int) -> HttpResponseBase:
    """The dialog that says what each format has, and the file or, of much, the job that writes it."""
    graph = graph_of(request, pk)
    form = GraphFileForm(request.POST if request.method == "POST" else request.GET, graph.project)
    if request.method == "POST" and form.is_valid():
        with refusals_in(form):
            made = export_or_start(request, graph, **form.cleaned_data)
            return redirect("job", pk=made.pk) if isinstance(made, Job) else made
    context = {"form": form, "graph": graph, "project": graph.project, "format": GRAPH_FORMATS.get(form.data["format"])}
    return render(request, "graph/_export.html", context, status=422 if request.method == "POST" else 200)
