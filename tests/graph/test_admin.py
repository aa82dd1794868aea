"""What Django admin shows of graphs: everything is read there, and nothing is changed."""

import pytest
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from graph.models import Graph, GraphChange, NotSame, SurfaceForm
from tests.graph.test_life import decided  # noqa: F401

SHOWN = (Graph, SurfaceForm, GraphChange, NotSame)


@pytest.mark.parametrize("model", SHOWN)
def test_rows_are_listed_searched_opened_and_kept(decided, as_sam, model):  # noqa: F811
    base = f"admin:graph_{model._meta.model_name}"
    assert model in admin.site._registry
    for asked in ({}, {"q": "a"}, {"q": "therm"}):
        assert as_sam.get(reverse(f"{base}_changelist"), asked).status_code == 200
    assert as_sam.get(reverse(f"{base}_add")).status_code == 403
    thing = model.objects.order_by("pk").first()
    assert as_sam.get(reverse(f"{base}_change", args=[thing.pk])).status_code == 200
    assert as_sam.post(reverse(f"{base}_delete", args=[thing.pk]), {"post": "yes"}).status_code == 403


@pytest.mark.parametrize("model", SHOWN)
def test_queries_of_lists_do_not_grow(decided, as_sam, alice, model):  # noqa: F811
    def counted():
        with CaptureQueriesContext(connection) as queries:
            as_sam.get(reverse(f"admin:graph_{model._meta.model_name}_changelist"))
        return len(queries)

    few = counted()
    project = decided.project.duplicate(name="Again", by=alice, contents="everybody")
    copy = Graph.of(project)
    forms = sorted(copy.forms.filter(node=None).values_list("digest", flat=True))
    for name in ("One", "Two"):
        copy.name_node(forms[0], name=name, by=alice)
    copy.keep_apart(forms[0], forms[-1], by=alice)
    assert counted() == few


def test_the_page_of_a_dataset_leads_to_its_forms(decided, as_sam):  # noqa: F811
    page = as_sam.get(reverse("admin:datasets_dataset_change", args=[decided.pk])).content.decode()
    address = f"{reverse('admin:graph_surfaceform_changelist')}?graph__dataset__id__exact={decided.pk}"
    assert address in page
    assert "thermostats" in as_sam.get(address).content.decode()
