"""What people decided about nodes goes along when a project is duplicated with everybody's marks."""

from collections.abc import Mapping

from django.db.models import OuterRef, Subquery

from annotation_service.db import among, copy_rows
from datasets.models import Dataset
from ontologies.counterparts import counterpart

from .graph import Graph, NotSame, SurfaceForm


def copy_nodes(source: Dataset, copy: Dataset, labels: Mapping[int, int]) -> None:
    """The journal stays behind, as do forms whose label was deleted since; marks are counted anew. Forms keep their ids, for
    copies of labels have the same uids."""
    graph = Graph.objects.filter(dataset=source).first()
    if graph is None:
        return
    copy_rows(Graph.objects.filter(dataset=source), dataset=copy.pk, version=0, signature="", counted_at=None)
    known = among(list(labels))
    theirs = SurfaceForm.objects.filter(graph=copy.pk)

    def same(form: str) -> Subquery:
        return Subquery(theirs.filter(digest=OuterRef(f"{form}__digest")).values("pk"))

    forms = graph.edited_forms().filter(label__in=known).order_by("pk")
    copy_rows(forms.filter(node=None), graph=copy.pk, label=counterpart("label"))
    copy_rows(forms.exclude(node=None), graph=copy.pk, label=counterpart("label"), node=same("node"))
    pairs = NotSame.objects.filter(graph=graph, one__label__in=known, other__label__in=known)
    copy_rows(pairs.order_by("pk"), graph=copy.pk, one=same("one"), other=same("other"))
