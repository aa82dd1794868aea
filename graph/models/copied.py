"""What people decided about nodes goes along when a project is duplicated: it is about words and labels."""

from django.db.models import OuterRef, Subquery

from annotation_service.db import among, copy_rows
from ontologies.counterparts import counterpart, label_map
from ontologies.models import OntologyItem
from projects.models import Project

from .graph import Graph, NotSame, SurfaceForm


def copy_nodes(project: Project, copy: Project) -> None:
    """The journal stays behind, as do forms whose label was deleted since; marks are counted anew. Forms keep their ids, for
    copies of labels have the same uids."""
    graph = Graph.objects.filter(dataset=project.dataset).first()
    if graph is None:
        return
    new = copy.dataset.pk
    copy_rows(Graph.objects.filter(pk=graph.pk), dataset=new, version=0, signature="", counted_at=None)
    labels, theirs = (
        dict(OntologyItem.objects.filter(ontology__project=each, level__gt=0).values_list("uid", "pk"))
        for each in (project, copy)
    )
    known, forms_there = among(list(labels.values())), SurfaceForm.objects.filter(graph=new)

    def same(form: str) -> Subquery:
        return Subquery(forms_there.filter(digest=OuterRef(f"{form}__digest")).values("pk"))

    forms = graph.edited_forms().filter(label__in=known).order_by("pk")
    pairs = NotSame.objects.filter(graph=graph, one__label__in=known, other__label__in=known).order_by("pk")
    with label_map({pk: theirs[uid] for uid, pk in labels.items()}):
        copy_rows(forms.filter(node=None), graph=new, label=counterpart("label"))
        copy_rows(forms.exclude(node=None), graph=new, label=counterpart("label"), node=same("node"))
    copy_rows(pairs, graph=new, one=same("one"), other=same("other"))
