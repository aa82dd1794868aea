"""What a node and its graph may be called."""

import pytest

from annotation_service.inputs import Refused
from graph.models.graph import CLEANED, NAMESPACES


@pytest.mark.parametrize("name", ["name", "iri", "external_id"])
@pytest.mark.parametrize("value", ["", " \n"])
def test_an_empty_text_takes_it_away(name, value):
    assert CLEANED[name](value) == ""


@pytest.mark.parametrize(
    "iri", ["urn:x:1", "database:x", " https://example.org/é?a=b#c ", "HTTP://x/\u200c", "a+b-c.d:e"]
)
def test_an_iri_is_taken(iri):
    assert CLEANED["iri"](iri) == iri.strip()


@pytest.mark.parametrize(
    "iri",
    [
        "x",
        ":x",
        "x:",
        "1x:y",
        "é:x",
        "/a:b",
        "http://a b",
        *(f"http://a{char}b" for char in '\x01\x1f\x7f\x85<>"{}|^`\\'),
    ],
)
def test_what_is_no_iri_is_refused(iri):
    with pytest.raises(Refused, match=r'begins with its scheme, and has no spaces and none of < > " \{ \} \| \^ ` \\'):
        CLEANED["iri"](iri)


@pytest.mark.parametrize("scheme", ["javascript", "JavaScript", "data", "VBScript"])
def test_no_iri_runs_in_what_shows_files(scheme):
    with pytest.raises(Refused, match="Programs that show files run this"):
        CLEANED["iri"](f" {scheme}:alert(1)")


@pytest.mark.parametrize("prefix", ["ev", "dcterms", "prov", "1a", "a.b", "", "x" * 21])
def test_a_prefix_that_would_be_unclear_is_refused(prefix):
    with pytest.raises(Refused):
        CLEANED["prefix"](prefix)


@pytest.mark.parametrize("namespace", ["", "https://x", "https://x/a b/", *NAMESPACES.values()])
def test_a_namespace_is_ones_own_and_ends_where_names_can_follow(namespace):
    with pytest.raises(Refused, match=r"such as https://example\.org/graph/"):
        CLEANED["namespace"](namespace)
    assert CLEANED["namespace"]("https://x#") == "https://x#"
