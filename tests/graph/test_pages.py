"""The pages of a graph: what is listed, filtered, compared and added up, and what stands behind it."""

import re

import pytest
from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone

from annotation_service.inputs import Refused
from datasets.models import Annotation
from graph import figures
from graph.counting import refresh
from graph.likeness import likeness, normal, suggestions
from graph.models import Graph
from graph.node_evidence import NodeEvidence
from graph.node_list import NodeList
from tests import factories
from tests.graph.conftest import form, forms_of_nodes
from tests.quality.conftest import label, say
from tests.queries import queries_of

pytestmark = pytest.mark.django_db


def listed(graph, query=""):
    """The words and marks of the nodes, or the ends and marks of the edges, that an address asks for."""
    shown = NodeList.of(graph, QueryDict(query))
    rows = shown.page(None).object_list
    if shown.view != "edges":
        return [
            (str(node.form), node.marks) if not shown.second else (str(node.form), node.marks, node.other)
            for node in rows
        ]
    return [(edge.subject.text, edge.label.name, edge.object.text, edge.marks) for edge in rows]


def ask(client, graph, name="page", query="", **more):
    return client.get(reverse(f"graph:{name}", args=[graph.project.pk]) + query, **more)


# --- The list -----------------------------------------------------------------------------------------------------------


def test_nodes_are_words_with_a_label_the_most_frequent_first(graph):
    rest = {("not working", 1), ("pump", 2), ("pump oil", 1), ("thermostats", 1)}
    assert listed(graph)[0] == ("thermostat", 3) and set(listed(graph)[1:]) == rest


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("q=THERMO", {"thermostat", "thermostats"}),
        ("label=State", {"not working"}),
        ("label=PhysicalObject", {"thermostat", "thermostats", "pump", "pump oil"}),
        ("label=nothing+like+it", set()),
        ("relation=hasPart", {"thermostat", "pump", "not working"}),
        ("least=3", {"thermostat"}),
        ("person=dave", {"thermostat"}),
        ("state=alone", {"pump oil", "thermostats"}),
        ("state=nonsense", set()),
        ("agreed=2", {"thermostat"}),
        ("source=dave", {"thermostat"}),
        ("source=gold", set()),
        ("item=2", {"thermostat", "pump"}),
        ("item=99999999999999999999", set()),
        ("new=3-4", {"pump oil", "thermostats"}),
        ("around=nothing", set()),
    ],
)
def test_a_filter(graph, query, words):
    assert {name for name, *_ in listed(graph, query)} == words


def test_nodes_around_another(graph):
    assert {name for name, _ in listed(graph, f"around={form(graph, 'not working')}")} == {"not working", "thermostat"}


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("source=nobody", "has begun no item"),
        ("agreed=1000", "from 1 to 999"),
        ("agreed=1.5", "from 1 to 999"),
        ("least=x", "whole number"),
        ("least=-1", "whole number"),
    ],
)
def test_what_can_be_no_answer_is_refused(graph, as_alice, query, why):
    with pytest.raises(Refused, match=why):
        listed(graph, query)
    answer = ask(as_alice, graph, query=f"?{query}", headers={"HX-Request": "true", "HX-Target": "graph"})
    assert answer.status_code == 422 and answer["HX-Reswap"] == "none", "the table stays"


def test_what_only_links_ask_for_stays_when_a_field_is_changed(graph, as_alice):
    page = ask(as_alice, graph, query="?item=2&new=1-3").content.decode()
    assert '<input type="hidden" name="item" value="2"><input type="hidden" name="new" value="1-3">' in page


def test_two_sources_are_compared(graph):
    assert ("thermostat", 2, 1) in listed(graph, "source=carol&compare=dave")
    assert [name for name, *_ in listed(graph, "source=carol&compare=dave&side=both")] == ["thermostat"]
    assert listed(graph, "source=dave&compare=carol&side=one") == []
    assert {name for name, *_ in listed(graph, "source=dave&compare=carol&side=other")} >= {"pump oil", "thermostats"}


def test_edges_are_listed_from_branch_to_branch(graph):
    assert set(listed(graph, "view=edges")) == {
        ("thermostat", "hasPart", "not working", 1),
        ("pump", "hasPart", "thermostat", 1),
    }
    assert listed(graph, "view=edges&label=Thermostat&to=State") == [("thermostat", "hasPart", "not working", 1)]
    assert listed(graph, "view=edges&q=pump") == [("pump", "hasPart", "thermostat", 1)]
    assert listed(graph, "view=edges&state=alone") == []


def test_edges_are_those_that_a_person_or_an_item_has_not_only_their_ends(graph, alice):
    graph.merge(form(graph, "thermostat"), [form(graph, "pump oil")], by=alice)
    edge, other = ("pump", "hasPart", "thermostat", 1), ("thermostat", "hasPart", "not working", 1)
    assert listed(graph, "view=edges&item=2") == [edge]
    assert listed(graph, "view=edges&item=3") == [], "both ends are there, and nobody has related them"
    assert listed(graph, "view=edges&new=2") == [edge] and listed(graph, "view=edges&new=1") == [other]
    assert set(listed(graph, "view=edges&person=carol")) == {edge, other}
    graph.merge(form(graph, "thermostat"), [form(graph, "pump")], by=alice)
    assert listed(graph, "view=edges&person=dave") == [], "he has marked both ends"


def test_merged_nodes_are_one_in_every_list(graph, alice):
    graph.merge(form(graph, "thermostat"), [form(graph, "thermostats")], by=alice)
    assert listed(graph)[0] == ("thermostat", 4)
    assert listed(graph, "q=thermostats") == [("thermostat", 4)], "found by any of its forms"
    graph.name_node(form(graph, "thermostat"), by=alice, name="Regulator")
    assert listed(graph, "q=regula") == [("Regulator", 4)]
    assert [name for name, _ in listed(graph, "sort=node")] == ["not working", "pump", "pump oil", "Regulator"]


def test_gold_comes_first_where_there_is_any(graph, items):
    assert NodeList.of(graph, QueryDict()).first.name == "all"
    factories.gold(items[0], (label(graph.project, "Thermostat"), 3, 3))
    Annotation.objects.filter(layer="gold").update(done_at=timezone.now())
    refresh(graph)
    assert NodeList.of(graph, QueryDict()).first.name == "gold"
    assert listed(graph) == [("thermostat", 1)]


def test_what_breaks_rules_is_found(graph, project, items, carol):
    rules = [{"relation": "hasPart", "domain": "PhysicalObject", "range": ["Thermostat"]}]
    project.use(constraints(project, rules), by=project.created_by)
    refresh(graph)
    assert listed(graph, "view=edges&state=broken") == [("thermostat", "hasPart", "not working", 1)]


def constraints(project, rules):
    import json

    from resources.models import ConstraintSet

    kinds = {each.kind: each.copied_from for each in project.ontology_set.all()}
    return ConstraintSet.create(
        kind="relation",
        source=json.dumps(rules),
        name="Rules",
        owner=project.created_by,
        entity_ontology=kinds["entity"],
        relation_ontology=kinds["relation"],
    )


# --- Pages ----------------------------------------------------------------------------------------------------------------


def test_the_page_has_the_same_in_table_and_picture(graph, as_alice):
    page = ask(as_alice, graph)
    drawn = page.context["drawn"]
    assert page.status_code == 200 and '"words": "thermostat"' in drawn.replace('":"', '": "')
    assert all(str(node.form) in page.content.decode() for node in page.context["page"].object_list)


def test_queries_do_not_grow_with_nodes(graph, items, carol, as_alice):
    ask(as_alice, graph)
    few = queries_of(ask, as_alice, graph)
    say(
        items[2], carol, *(f"{name} {at}" for name in ("Thermostat", "State", "Activity", "Replace") for at in range(3))
    )
    ask(as_alice, graph)
    assert len(queries_of(ask, as_alice, graph)) <= len(few)


def test_evidence_names_people_and_leads_to_their_marks(graph, carol, dave):
    shown = NodeList.of(graph, QueryDict())
    behind = NodeEvidence(shown, graph.forms.get(digest=form(graph, "thermostat")))
    first, second = behind.page(None).object_list
    assert [name for name, *_ in first.marks] == ["carol", "dave"] and (first.agreed, first.people) == (2, 2)
    assert f"/marks/{carol.pk}/{first.item.pk}/#" in first.marks[0][2]
    assert "".join(piece.text for piece in first.pieces) == "left air conditioner thermostat not working"
    assert [piece.text for piece in first.pieces if piece.role] == ["thermostat"]
    assert {words for _, words, _ in second.others} == {"pump"}
    assert ("all", 2, 2) in behind.voices()


def test_the_evidence_of_two_that_are_compared_is_that_of_both(graph):
    shown = NodeList.of(graph, QueryDict("source=dave&compare=carol"))
    behind = NodeEvidence(shown, graph.forms.get(digest=form(graph, "thermostat")))
    assert [place.item.number for place in behind.page(None).object_list] == [1, 2]
    [node] = [each for each in shown.page(None).object_list if str(each.form) == "thermostat"]
    assert (node.marks, node.other, node.relations) == (1, 2, 2)


def test_evidence_of_an_edge_shows_both_ends(graph):
    shown = NodeList.of(graph, QueryDict())
    [pump] = [each.form for each in shown.page(None).object_list if each.relations and str(each.form) == "pump"]
    part = next(each for each in shown.labels.values() if each.name == "hasPart")
    behind = NodeEvidence(shown, pump, part, graph.forms.get(text="thermostat"))
    [place] = behind.page(None).object_list
    assert [(piece.text, piece.role) for piece in place.pieces if piece.role] == [
        ("Thermostat", "object"),
        ("pump", "subject"),
    ]


def test_long_texts_are_cut_around_what_is_marked(project, carol):
    text = " ".join(f"word{n}" for n in range(500))
    long = factories.project(by=project.created_by, annotators=[carol], text=text + "\n", name="Long")
    say(long.dataset.items()[0], carol, "State 250-251")
    graph = Graph.of(long)
    refresh(graph)
    [place] = NodeEvidence(NodeList.of(graph, QueryDict()), graph.forms.get()).page(None).object_list
    sentence = "".join(piece.text for piece in place.pieces)
    assert sentence.startswith("… word238 ") and sentence.endswith(" word263 …")


@pytest.mark.parametrize("at", ["x", "x,y,z", ",", "0" * 300, "%00"])
def test_what_is_not_there_is_not_found(graph, as_alice, at):
    assert ask(as_alice, graph, query=f"?at={at}", headers={"HX-Target": "evidence"}).status_code in (404, 400)


def test_a_large_change_is_counted_by_a_job(graph, items, carol, as_alice, monkeypatch):
    monkeypatch.setattr("graph.counting.QUICK", 0)
    say(items[3], carol, "State 0")
    page = ask(as_alice, graph)
    assert "Not all is counted" in page.content.decode() and listed(graph, "label=State") == [("not working", 1)]
    answer = as_alice.post(reverse("graph:count", args=[graph.project.pk]))
    assert answer.status_code == 302 and "/jobs/" in answer.url


# --- Figures ----------------------------------------------------------------------------------------------------------------


def test_growth_counts_what_is_new(graph, monkeypatch):
    monkeypatch.setattr("graph.figures.HUNDRED", 2)
    steps = figures.growth(NodeList.of(graph, QueryDict()))
    assert [(step.first, step.last, step.nodes, step.edges) for step in steps] == [(1, 2, 3, 2), (3, 4, 2, 0)]
    assert (steps[-1].all_nodes, steps[-1].all_edges) == (5, 2)
    new = {name for name, _ in listed(graph, "new=3-4")}
    assert len(new) == steps[1].nodes


def test_the_most_connected_and_the_matrix(graph):
    shown = NodeList.of(graph, QueryDict())
    first, neighbours = figures.most_connected(shown)[0]
    assert (str(first.form), first.relations, neighbours) == ("thermostat", 2, 2)
    matrix = {
        (one.name, other.name): marks
        for one, cells in figures.branch_matrix(shown)
        for other, marks, _ in cells
        if marks
    }
    assert matrix == {("PhysicalObject", "State"): 1, ("PhysicalObject", "PhysicalObject"): 1}


# --- Likeness ---------------------------------------------------------------------------------------------------------------

SAME = ["hydr. pump=hydraulic pump", "hyd pump=hydraulic pump", "enigne=engine", "pumps=pump", "air con=aircon"]
SAME += ["pump hydraulic=hydraulic pump", "altenator=alternator", "thermostats=thermostat", "leak=leaking"]
OTHERS = [
    "fuel filter=oil filter",
    "pump 1=pump 2",
    "left=right",
    "hydraulic hose=hydraulic pump",
    "engine oil=engine coolant",
]
OTHERS += ["air conditioner=air conditioner thermostat", "pump=bearing"]


@pytest.mark.parametrize(("pair", "is_like"), [*((pair, True) for pair in SAME), *((pair, False) for pair in OTHERS)])
def test_what_is_alike(pair, is_like):
    one, other = map(normal, pair.split("="))
    assert (likeness(one, other) >= 0.86) is is_like
    assert likeness(one, other) == likeness(other, one)


def test_suggestions_are_decided_once(graph, alice):
    shown = NodeList.of(graph, QueryDict())
    [pair], after = suggestions(shown)
    assert {str(node.form) for node in pair[:2]} == {"thermostat", "thermostats"} and after is None
    graph.keep_apart(pair.node.id, pair.other.id, by=alice)
    assert suggestions(shown) == ([], None)
    graph.undo(by=alice)
    assert len(suggestions(shown)[0]) == 1
    graph.merge(pair.node.id, [pair.other.id], by=alice)
    assert suggestions(NodeList.of(graph, QueryDict())) == ([], None)


def test_only_what_is_in_the_journal_offers_undo(graph, as_alice):
    """Another step would be undone otherwise."""
    graph.merge(form(graph, "thermostat"), [form(graph, "thermostats")], by=graph.project.created_by)
    settings = {"stem": "", "prefix": "own", "namespace": "https://example.org/own/"}
    answer = as_alice.post(reverse("graph:edit", args=[graph.project.pk]), settings)
    assert "The graph: stored." in answer["HX-Trigger"] and "action" not in answer["HX-Trigger"]
    node = {"name": "Regulator", "iri": "", "external_id": ""}
    for trigger in (True, False):  # the second time nothing is changed
        answer = as_alice.post(reverse("graph:name_node", args=[graph.project.pk, form(graph, "thermostat")]), node)
        assert ("action" in answer["HX-Trigger"]) is trigger


def test_what_somebody_has_merged_meanwhile_is_looked_at_again(graph, alice, as_alice):
    """Otherwise nodes would end up where nobody has put them."""

    def sent(name, **data):
        return as_alice.post(reverse(f"graph:{name}", args=[graph.project.pk]), data)

    one, other, pump, oil = (form(graph, text) for text in ("thermostat", "thermostats", "pump", "pump oil"))
    assert "closeDialog" in sent("merge", node=[other, one], into=one)["HX-Trigger"]
    for name, data in (
        ("merge", {"node": [pump, other], "into": other}),
        ("merge", {"node": [pump, other], "into": pump}),
        ("merge", {"node": [pump, oil], "into": other}),
        ("merge", {"node": [one, other], "into": one}),
        ("keep_apart", {"one": pump, "other": other}),
    ):
        answer = sent(name, **data)
        assert answer.status_code == 422 and "merged or split these meanwhile" in answer["HX-Trigger"], data
        assert "graphChanged" in answer["HX-Trigger"]
    assert forms_of_nodes(graph) == [["thermostat", "thermostats"]] and not graph.notsame_set.exists()
    assert "merged or split" in ask(as_alice, graph, "merge", f"?node={pump}&node={other}")["HX-Trigger"]
    graph.split([other], by=alice)
    answer = sent("split", form=other)
    assert "a node of its own already" in answer["HX-Trigger"] and "graphChanged" in answer["HX-Trigger"]


def test_two_nodes_or_more_are_merged(graph, as_alice):
    one, other = form(graph, "thermostat"), form(graph, "thermostats")
    for query in ("", f"?node={one}", f"?node={one}&node={one}"):
        answer = ask(as_alice, graph, "merge", query)
        assert answer.status_code == 422 and "Select two nodes or more." in answer["HX-Trigger"]
        assert "graphChanged" not in answer["HX-Trigger"], "what is selected stays"
    address = f"?node={one}&node={other}"
    assert "different labels" not in ask(as_alice, graph, "merge", address).content.decode()
    address += f"&node={form(graph, 'not working')}"
    assert "These have different labels" in ask(as_alice, graph, "merge", address).content.decode()


@pytest.mark.parametrize(("field", "why"), [("iri", "none of &lt;"), ("name", "turns the direction")])
def test_what_is_no_name_is_told_at_its_field(graph, as_alice, field, why):
    values = {"name": "", "iri": "", "external_id": "", field: "https://x/<\u202e>"}
    answer = as_alice.post(reverse("graph:name_node", args=[graph.project.pk, form(graph, "pump")]), values)
    told = answer.context["form"]
    assert answer.status_code == 422 and list(told.errors) == [field] and why in str(told.errors[field])
    assert "Name “pump”" in answer.content.decode()


@pytest.mark.parametrize(("field", "value"), [("prefix", "1"), ("namespace", "https://example.org")])
def test_what_is_no_setting_is_told_at_its_field(graph, as_alice, field, value):
    values = {"stem": "", "prefix": "own", "namespace": "https://example.org/own/", field: value}
    answer = as_alice.post(reverse("graph:edit", args=[graph.project.pk]), values)
    assert answer.status_code == 422 and list(answer.context["form"].errors) == [field]


def test_the_download_asks_what_a_format_needs(graph, as_alice):
    def fields(format):
        answer = ask(as_alice, graph, "export", f"?format={format}&source=all")
        return [each.name for each in answer.context["form"].visible_fields()], "IRIs in it" in answer.content.decode()

    for format in ("trig", "jsonld", "ttl"):
        assert fields(format) == (["format", "source", "agreed"], True)
    for format in ("json", "graphml", "neo4j"):
        assert fields(format) == (["format", "source", "agreed"], False)
    assert fields("shacl") == (["format"], True)


@pytest.mark.parametrize("agreed", ["0", "1000", "x"])
def test_how_many_agree_is_told_at_its_field(graph, as_alice, agreed):
    data = {"format": "json", "source": "all", "agreed": agreed}
    answer = as_alice.post(reverse("graph:export", args=[graph.project.pk]), data)
    assert answer.context["form"].errors == {"agreed": ["This must be a number of people, from 1 to 999."]}


WHOLE = {"HX-Request": "false"}


@pytest.mark.parametrize(("name", "part"), [("page", "graph"), ("suggestions", "pairs")])
def test_only_what_can_be_undone_or_redone_is_offered(graph, as_alice, name, part):
    def offered():
        pages = [ask(as_alice, graph, name, headers=headers) for headers in (WHOLE, {"HX-Target": part})]
        [found, same] = [re.findall("</span> (Undo|Redo)( merge|)</button>", each.content.decode()) for each in pages]
        assert found == same
        return [step + verb for step, verb in found]

    alice = graph.project.created_by
    assert offered() == ["Undo"]
    graph.merge(form(graph, "thermostat"), [form(graph, "pump")], by=alice)
    assert offered() == ["Undo merge"]
    graph.undo(by=alice)
    assert offered() == ["Undo", "Redo merge"]


def test_suggestions_tell_whose_marks_they_are_of(graph, as_alice):
    for query, whose in (("?source=carol", "carol"), ("", "Everybody")):
        page = ask(as_alice, graph, "suggestions", query, headers=WHOLE).content.decode()
        assert f"Whose marks: {whose}" in page
