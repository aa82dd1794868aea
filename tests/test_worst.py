"""Documents that are made to take much are refused in words, and with little memory: whatever their size."""

import io
import tracemalloc

import pytest

from annotation_service.inputs import Refused
from ontologies.documents import read_ontology
from ontologies.pasted_lists import read_pasted
from resources.models import FORMATS
from tests import factories, worst
from tests.soak import amount

MOST = amount(20_000_000, 50_000_000)


@pytest.fixture(autouse=True)
def limits(settings):
    """The short form reads small documents, so that fewer items have to do."""
    settings.PREANNOTATION_RESOURCES = True
    settings.MAX_ONTOLOGY_ITEMS = amount(5000, settings.MAX_ONTOLOGY_ITEMS)
    settings.MAX_RESOURCE_ROWS = amount(5000, settings.MAX_RESOURCE_ROWS)


def size(full):
    return amount(1_000_000, full)


def refusal(read):
    tracemalloc.start()
    try:
        with pytest.raises(Refused) as refused:
            read()
        return refused.value, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def check(read):
    refused, peak = refusal(read)
    assert refused.problems[0].text and peak < MOST, f"{peak:,}"


@pytest.mark.soak
@pytest.mark.parametrize("name", worst.ONTOLOGIES)
def test_ontologies(name):
    data = worst.ONTOLOGIES[name](size(20_000_000))
    check(lambda: read_ontology(io.BytesIO(data), "entity"))


@pytest.mark.soak
@pytest.mark.parametrize("name", worst.LISTS)
def test_pasted_lists(name):
    text = worst.LISTS[name](size(5_000_000)).decode()
    check(lambda: read_pasted(text, "entity"))


@pytest.mark.soak
@pytest.mark.parametrize(
    ("format", "name"), [(format, name) for format in worst.RESOURCES for name in worst.RESOURCES[format]]
)
def test_resources(alice, format, name):
    model, kind = FORMATS[format]
    labels = factories.ontology(owner=alice)
    data = io.BytesIO(worst.RESOURCES[format][name](size(20_000_000)))
    check(lambda: model.create(kind=kind, source=data, name="x", owner=alice, entity_ontology=labels))
