"""Programs that read a graph, make nodes of forms, and take it with them; and what is no good input, of programs and pages."""

import json
from urllib.parse import quote

import pytest
from django.http import QueryDict
from django.urls import reverse

from annotation_service import jobs
from api.operations import OPERATIONS
from datasets.models import Entity
from graph.counting import refresh
from graph.exports import GRAPH_FORMATS
from graph.likeness import suggestions
from graph.node_list import NodeList
from ontologies.models import OntologyItem
from tests.api.asks import request, token_of
from tests.graph.conftest import form, forms_of_nodes, graph, items, project  # noqa: F401 - fixtures
from tests.quality.conftest import say


@pytest.fixture
def ask(graph):  # noqa: F811
    """Asks an operation of the project, and expects an answer."""
    tokens = {}

    def ask(name, *args, body=None, query="", by="alice", status=200, **headers):
        operation, token = OPERATIONS[name], tokens.get(by) or tokens.setdefault(by, token_of(by))
        answer = request(operation.method, operation.address(graph.project.pk, *args) + query, token, body, **headers)
        assert answer.status_code == status, answer.content
        return answer if answer.streaming or (operation.sends_file and status == 200) else answer.json()

    return ask


@pytest.fixture
def ids(graph):  # noqa: F811
    return {each.text: each.digest for each in graph.forms.all()}


def all_rows(ask, name, *args, query="?"):
    """A list, in pages of one row and in lines: the same."""
    found, cursor = [], ""
    while cursor is not None:
        page = ask(name, *args, query=f"{query}&limit=1{cursor}")
        found += page["results"]
        cursor = page["next"] and "&cursor=" + page["next"].rpartition("cursor=")[2]
    lines = ask(name, *args, query=query, Accept="application/x-ndjson")
    assert [json.loads(line) for line in lines.getvalue().decode().splitlines()] == found
    return found


def marks(rows):
    return {row["words"]: (row["marks"], row["other"]) for row in rows}


def edges(rows):
    return sorted(
        (row["subject"]["words"], row["label"]["fullname"], row["object"]["words"], row["marks"], row["other"])
        for row in rows
    )


# --- Reading -----------------------------------------------------------------------------------------------------------


def test_the_graph_says_whose_marks_there_are(ask):
    found = ask("get_graph")
    assert (found["stem"], found["prefix"], found["version"], found["is_counted"]) == ("", "kg", 0, True)
    assert [each["source"] for each in found["sources"]] == ["all", "given", "@carol", "@dave"]
    assert found["counted_at"].endswith("Z")


def test_nodes_are_listed_as_a_source_has_marked_them(ask, ids):
    found = all_rows(ask, "list_nodes")
    counted = {"thermostat": 3, "not working": 1, "pump": 2, "pump oil": 1, "thermostats": 1}
    assert marks(found) == {words: (number, 0) for words, number in counted.items()}
    [node] = [row for row in found if row["words"] == "thermostat"]
    assert node["id"] == ids["thermostat"] and node["forms"] == [] and node["relations"] == 2
    assert node["label"]["fullname"] == "PhysicalObject/SensingObject/Thermostat"
    assert marks(all_rows(ask, "list_nodes", query="?source=all&agreed=2")) == {"thermostat": (2, 0)}
    compared = marks(all_rows(ask, "list_nodes", query="?source=dave&compare=carol"))
    assert (compared["thermostat"], compared["pump"]) == ((1, 2), (0, 2))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?least=2", {"thermostat", "pump"}),
        ("?q=OIL", {"pump oil"}),
        ("?label=SensingObject", {"thermostat", "thermostats"}),
        ("?relation=hasPart", {"thermostat", "not working", "pump"}),
        ("?person=dave", {"thermostat"}),
        ("?state=alone", {"pump oil", "thermostats"}),
        ("?state=nonsense", set()),
        ("?source=dave&compare=carol&side=both", {"thermostat"}),
        ("?around={pump}", {"pump", "thermostat"}),
        ("?new=2-3", {"pump", "pump oil"}),
        ("?item=1", {"thermostat", "not working"}),
    ],
)
def test_nodes_are_found_as_on_the_page(ask, ids, query, expected):
    assert {row["words"] for row in all_rows(ask, "list_nodes", query=query.format(**ids))} == expected


def test_edges_are_listed_and_found(ask):
    both = [("pump", "hasPart", "thermostat"), ("thermostat", "hasPart", "not working")]
    assert edges(all_rows(ask, "list_edges")) == [(*edge, 1, 0) for edge in both]
    assert edges(all_rows(ask, "list_edges", query="?source=dave&compare=all")) == [(*edge, 0, 1) for edge in both]
    for query, expected in (("?label=SensingObject", both[1:]), ("?to=SensingObject", both[:1]), ("?q=pump", both[:1])):
        assert edges(all_rows(ask, "list_edges", query=query)) == [(*edge, 1, 0) for edge in expected]
    assert all_rows(ask, "list_edges", query="?state=broken") == all_rows(ask, "list_edges", query="?least=2") == []


def test_a_node_is_told_with_what_is_behind_it(ask, ids):
    ask("merge_nodes", body={"into": ids["thermostat"], "nodes": [ids["thermostats"]]})
    found = ask("get_node", ids["thermostats"], query="?source=carol")
    assert found["id"] == ids["thermostat"] and (found["marks"], found["relations"]) == (3, 2)
    assert [(each["form"], each["marks"]) for each in found["forms"]] == [("thermostat", 2), ("thermostats", 1)]
    told = [("all", 1, 4), ("all", 2, 2), ("carol", 1, 3), ("dave", 1, 1)]
    assert [(each["source"], each["agreed"], each["marks"]) for each in found["sources"]] == told
    assert {each[0] for each in edges(found["edges"])} == {"pump", "thermostat"}
    unmarked = ask("get_node", ids["pump oil"], query="?source=dave")
    assert (unmarked["marks"], unmarked["edges"]) == (0, [])


def test_places_tell_where_and_by_whom(ask, ids, items):  # noqa: F811
    found = all_rows(ask, "list_node_places", ids["thermostat"])
    assert [(row["item_id"], row["number"], row["people"]) for row in found] == [
        (items[0].pk, 1, 2),
        (items[1].pk, 2, 1),
    ]
    [place] = found[0]["places"]
    assert place["spans"] == [[3, 3]] and place["text"] == items[0].original
    assert {mark["by"] for mark in place["marks"]} == {"carol", "dave"}
    for mark in place["marks"]:
        own = Entity.objects.filter(annotation__annotator__username=mark["by"], annotation__item=items[0])
        assert own.get(uid=mark["id"]).start == 3


def test_places_of_an_edge_have_those_of_its_ends(ask, ids, items):  # noqa: F811
    label = OntologyItem.objects.get(ontology=items[0].dataset.project.relation_ontology, name="hasPart").uid
    [row] = all_rows(ask, "list_edge_places", ids["pump"], label, ids["thermostat"])
    [place] = row["places"]
    assert row["number"] == 2 and place["spans"] == [[4, 4], [2, 2]]
    assert place["text"] == "check the Thermostat and pump" and [each["by"] for each in place["marks"]] == ["carol"]
    assert all_rows(ask, "list_edge_places", ids["thermostat"], label, ids["pump"]) == []


def test_what_was_marked_since_is_counted_when_it_is_asked_for(ask, items, dave):  # noqa: F811
    say(items[2], dave, "PhysicalObject 1")
    assert marks(ask("list_nodes", query="?source=dave")["results"])["pump"] == (1, 0)


# --- What people do with nodes -----------------------------------------------------------------------------------------


def test_nodes_are_merged_split_named_and_all_is_taken_back(ask, ids, graph):  # noqa: F811
    one, other = ids["thermostat"], ids["thermostats"]
    done = ask("merge_nodes", body={"into": one, "nodes": [other, ids["pump"]]})
    assert done == {"changed": 2, "version": 1, "remark": ""}
    assert marks(all_rows(ask, "list_nodes"))["thermostat"] == (6, 0)
    assert ask("split_nodes", body={"forms": [ids["pump"]]})["version"] == 2
    assert forms_of_nodes(graph) == [["thermostat", "thermostats"]]
    ask("change_node", other, body={"name": "Regulator", "iri": "https://example.org/r", "was": {"name": ""}})
    assert ask("change_node", one, body={"name": "X", "was": {"name": ""}}, status=409)["status"] == 409
    found = ask("get_node", other)
    assert (found["id"], found["name"], found["iri"]) == (one, "Regulator", "https://example.org/r")
    assert [row["verb"] for row in all_rows(ask, "list_graph_changes")] == ["merge", "split", "name"]
    undone = {step["field"]: step["before"] for step in ask("undo_graph")["steps"]}
    assert undone == {"name": "Regulator", "IRI": "https://example.org/r"}
    assert ask("redo_graph")["kind"] == "redo"
    assert ask("revert_graph", 3)["title"] == "revert name"
    assert ask("get_graph_change", 2)["steps"][0]["name"] == "pump"
    assert "later step" in ask("revert_graph", 1, status=422)["detail"]
    ask("revert_graph", 2)
    ask("revert_graph", 1)
    assert forms_of_nodes(graph) == []


def test_pairs_are_suggested_until_they_are_kept_apart(ask, ids):
    found = ask("get_node_suggestions")
    [pair] = found["pairs"]
    assert (pair["node"]["words"], pair["other"]["words"]) == ("thermostat", "thermostats") and pair["likeness"] > 0.9
    assert found["next"] is None
    ask("keep_nodes_apart", body={"one": ids["thermostats"], "other": ids["thermostat"]})
    assert ask("get_node_suggestions")["pairs"] == []
    ask("undo_graph")
    assert len(ask("get_node_suggestions")["pairs"]) == 1


def test_no_node_is_like_itself_where_two_sources_are_compared(graph, items, dave):  # noqa: F811
    say(items[2], dave, "PhysicalObject 1")
    refresh(graph)
    pairs, _ = suggestions(NodeList.of(graph, QueryDict("source=carol&compare=dave")))
    assert [(str(pair.node.form), str(pair.other.form)) for pair in pairs] == [("thermostat", "thermostats")]


def test_settings_are_protected_from_those_who_have_not_seen_them(ask):
    assert ask("change_graph", body={"stem": "english", "was": {"stem": ""}})["stem"] == "english"
    ask("change_graph", body={"stem": "german", "was": {"stem": ""}}, status=409)
    assert "two" not in marks(ask("list_nodes")["results"])
    assert marks(ask("list_nodes")["results"])["thermostat"] == (4, 0)


# --- Figures and files -------------------------------------------------------------------------------------------------


def test_figures_are_those_of_the_page(ask):
    found = ask("get_graph_figures")
    assert found["growth"] == [{"first": 1, "last": 4, "nodes": 5, "edges": 2, "all_nodes": 5, "all_edges": 2}]
    assert next((each["node"]["words"], each["neighbours"]) for each in found["connected"]) == ("thermostat", 2)
    assert [(each["subject"]["fullname"], each["object"]["fullname"], each["marks"]) for each in found["branches"]] == [
        ("PhysicalObject", "PhysicalObject", 1),
        ("PhysicalObject", "State", 1),
    ]


@pytest.mark.parametrize("name", GRAPH_FORMATS)
def test_a_file_is_that_of_the_page(ask, as_alice, graph, name):  # noqa: F811
    address = reverse("graph:export", args=[graph.project.pk])
    by_page = as_alice.post(address, {"format": name, "source": "all", "agreed": "2"})
    by_program = ask("export_graph", query=f"?format={name}&source=all&agreed=2")
    assert by_program["Content-Disposition"] == by_page["Content-Disposition"]
    if name == "neo4j":  # an archive has the times of its files
        assert len(by_program.getvalue()) == len(by_page.getvalue()) > 0
    else:
        assert by_program.getvalue() == by_page.getvalue() != b""


def test_much_is_written_and_counted_by_jobs(ask, settings, graph):  # noqa: F811
    settings.JOB_ROWS = 1
    address = f"/api/v1/projects/{graph.project.pk}/graph"
    started = request("POST", f"{address}/exports?format=json&source=carol", token_of("alice"))
    assert started.status_code == 202 and started.json()["kind"] == "export_graph"
    jobs.run(jobs.claim())
    file = request("GET", f"{started['Location']}/file", token_of("alice"))
    assert json.loads(file.getvalue())
    counting = request("POST", f"{address}/count", token_of("alice"))
    jobs.run(jobs.claim())
    job = request("GET", counting["Location"], token_of("alice")).json()
    assert (job["kind"], job["state"]) == ("count_graph", "done")


# --- No good input -----------------------------------------------------------------------------------------------------

ODD = ("\0", "9" * 19, "9" * 30, "-1", "1-", "²", "x" * 5000, "é,,", "f" * 32)
PARAMETERS = (
    "source agreed compare label relation to least q person state side around item new after cursor limit format"
)
FILTERS = f"{PARAMETERS} view size sort page at places node start version into form one other"


@pytest.mark.parametrize("value", ODD)
def test_odd_queries_are_answered_in_words(ask, ids, graph, value):  # noqa: F811
    token = token_of("alice")
    for operation in OPERATIONS.values():
        if operation.section != "Graphs":
            continue
        args = [ids["pump"] if kind == "str" else 1 for kind, _ in operation.arguments[1:]]
        address = operation.address(graph.project.pk, *args)
        for name in operation.query:
            answer = request(operation.method, f"{address}?{name}={quote(value)}", token)
            assert answer.status_code in (200, 202, 400, 404, 422), (operation.name, name)
        for place in range(len(args)):
            if operation.arguments[place + 1][0] == "str":
                odd = [*args[:place], quote(value, safe=""), *args[place + 1 :]]
                answer = request(operation.method, operation.address(graph.project.pk, *odd), token)
                assert answer.status_code in (400, 404, 422), (operation.name, place)


FILTERS = "source agreed compare label relation to least q person state side around item new view size sort page"
PAGES = {
    "page": f"{FILTERS} at places",
    "suggestions": f"{FILTERS} after",
    "figures": FILTERS,
    "merge": f"{FILTERS} node into",
    "neighbours": FILTERS,
    "export": "format source agreed",
    "history": "start",
}


@pytest.mark.parametrize("name", PAGES)
def test_odd_addresses_of_pages_are_answered(as_alice, ids, graph, name):  # noqa: F811
    args = [ids["pump"]] if name == "neighbours" else []
    address = reverse(f"graph:{name}", args=[graph.project.pk, *args])
    ways = ("", "view=edges&compare=carol&") if name == "page" else ("",)
    for start in ways:
        for field in PAGES[name].split():
            for value in ODD:
                answer = as_alice.get(f"{address}?{start}{field}={quote(value)}")
                assert answer.status_code in (200, 302, 400, 404, 422), (start, field, value)


@pytest.mark.parametrize("value", ODD)
def test_odd_names_of_what_is_shown_are_not_there(as_alice, ids, graph, value):  # noqa: F811
    for at in (f"{value},{value},{value}", f"{ids['pump']},{value},{ids['pump']}", f"{ids['pump']},{value}"):
        answer = as_alice.get(reverse("graph:page", args=[graph.project.pk]), {"at": at})
        assert answer.status_code in (200, 400, 404), at


@pytest.mark.parametrize("value", ODD)
def test_odd_forms_are_answered(as_alice, ids, graph, value):  # noqa: F811
    project, pump = graph.project.pk, ids["pump"]  # noqa: F811
    for page, args, data in (
        ("merge", (), {"node": [pump, value]}),
        ("merge", (), {"node": pump, "into": value}),
        ("merge", (), {}),
        ("split", (), {"form": value}),
        ("keep_apart", (), {"one": value, "other": pump}),
        ("name_node", (pump,), {"name": value, "iri": value, "external_id": value, "was_name": value}),
        ("edit", (), {"stem": value, "prefix": value, "namespace": value, "was_stem": value}),
        ("export", (), {"format": value, "source": value, "agreed": value}),
        ("export", (), {"format": "json", "source": "all", "agreed": value}),
        ("undo", (), {"version": value}),
    ):
        answer = as_alice.post(reverse(f"graph:{page}", args=[project, *args]), data)
        assert answer.status_code in (200, 302, 404, 409, 422), (page, data)
