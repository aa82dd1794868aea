"""What people do with nodes: they merge, split and name them, and take that back."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from annotation_service.edits import Conflict, fingerprint
from annotation_service.inputs import Refused
from datasets.models import Annotation, Entity, Rejection, Relation
from graph.counting import refresh
from graph.models import Graph, NotSame
from graph.models import graph as nodes
from graph.models.graph import MAX_IRI_CHARACTERS, digest, fold_words
from tests import factories
from tests.graph.conftest import form, forms_of_nodes
from tests.quality.conftest import say
from tests.threads import at_once


def state(graph):
    """What people decided, apart from the journal."""
    fields = ("digest", "node", "name", "iri", "external_id", "search_text")
    return list(graph.forms.order_by("pk").values_list(*fields)), list(NotSame.objects.values_list("one", "other"))


def test_merging_makes_one_node_and_changes_no_mark(graph, alice):
    def marks():
        return [list(m.objects.order_by("pk").values()) for m in (Entity, Relation, Annotation, Rejection)]

    before = marks()
    graph.merge(form(graph, "thermostat"), [form(graph, "thermostats"), form(graph, "pump")], by=alice)
    assert forms_of_nodes(graph) == [["thermostat", "pump", "thermostats"]]
    assert marks() == before and all(before[:3])


def test_the_nodes_of_merged_forms_are_merged_whichever_form_is_named(graph, alice):
    graph.merge(form(graph, "pump"), [form(graph, "pump oil")], by=alice)
    graph.merge(form(graph, "thermostat"), [form(graph, "thermostats")], by=alice)
    graph.merge(form(graph, "thermostats"), [form(graph, "pump oil")], by=alice)
    assert forms_of_nodes(graph) == [["thermostat", "pump", "pump oil", "thermostats"]]
    assert not graph.forms.exclude(node=None).filter(node__node__isnull=False)
    graph.undo(by=alice)
    assert forms_of_nodes(graph) == [["pump", "pump oil"], ["thermostat", "thermostats"]]


def test_merging_what_is_one_already_changes_nothing(graph, alice):
    one, other = form(graph, "thermostat"), form(graph, "thermostats")
    graph.merge(one, [other], by=alice)
    version = graph.version
    graph.merge(other, [one, other], by=alice)
    graph.merge(one, [], by=alice)
    assert graph.version == version and forms_of_nodes(graph) == [["thermostat", "thermostats"]]


def test_a_node_takes_the_iri_that_it_has_not(graph, alice):
    one, other = form(graph, "thermostat"), form(graph, "thermostats")
    graph.name_node(other, name="Regulator", iri="https://example.org/r", by=alice)
    graph.name_node(one, name="Thermostat", by=alice)
    graph.merge(one, [other], by=alice)
    head = graph.forms.get(digest=one)
    assert (head.name, head.iri) == ("Thermostat", "https://example.org/r")
    graph.split([other], by=alice)
    assert graph.forms.get(digest=other).name == "Regulator"


def test_forms_are_split_off_again(graph, alice):
    three = [form(graph, text) for text in ("thermostat", "thermostats", "pump")]
    graph.merge(three[0], three[1:], by=alice)
    graph.split([three[2]], by=alice)
    assert forms_of_nodes(graph) == [["thermostat", "thermostats"]]
    with pytest.raises(Refused, match="stands for its node"):
        graph.split([three[0], three[1]], by=alice)
    with pytest.raises(Refused, match="“pump” is a node of its own already"):
        graph.split([three[2]], by=alice)
    assert forms_of_nodes(graph) == [["thermostat", "thermostats"]]


def test_names_are_cleaned_searched_and_taken_away(graph, alice):
    one = form(graph, "pump")
    graph.name_node(one, name="  The\n PUMP ", iri=" https://example.org/p#1 ", external_id="Q1", by=alice)
    row = graph.forms.get(digest=one)
    assert (row.name, row.iri, row.external_id) == ("The PUMP", "https://example.org/p#1", "Q1")
    assert row.search_text.split("\n") == ["the pump", "pump", "q1", "https://example.org/p#1"]
    graph.name_node(one, name="", iri=" ", external_id="", by=alice)
    row.refresh_from_db()
    assert (row.name, row.iri, row.external_id) == ("", "", "")


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"iri": "no scheme"}, "begins with its scheme"),
        ({"iri": "https:"}, "begins with its scheme"),
        ({"iri": "https://example.org/<x>"}, "has no spaces"),
        ({"iri": "https://x/" + "x" * MAX_IRI_CHARACTERS}, "at most"),
        ({"name": "x" * 10_000}, "at most"),
        ({"external_id": "\0"}, "control characters"),
    ],
)
def test_what_is_no_name_or_iri_is_refused(graph, alice, values, why):
    before = state(graph)
    with pytest.raises(Refused, match=why):
        graph.name_node(form(graph, "pump"), by=alice, **values)
    assert state(graph) == before and not graph.changes.exists()


def test_nobody_overwrites_a_name_that_they_have_not_seen(graph, alice, bob):
    one = form(graph, "pump")
    graph.name_node(one, name="Alice's", by=alice)
    with pytest.raises(Conflict) as conflict:
        graph.name_node(one, name="Bob's", was={"name": fingerprint("")}, by=bob)
    assert conflict.value.fields == {"name": "Alice's"}
    graph.name_node(one, name="Bob's", was={"name": fingerprint("Alice's")}, by=bob)
    assert graph.forms.get(digest=one).name == "Bob's"


def test_two_are_kept_apart_whichever_is_named_first(graph, alice):
    one, other = form(graph, "thermostat"), form(graph, "thermostats")
    graph.keep_apart(other, one, by=alice)
    version = graph.version
    graph.keep_apart(one, other, by=alice)
    pair = NotSame.objects.get()
    assert [pair.one.digest, pair.other.digest] == sorted([one, other]) and graph.version == version
    graph.undo(by=alice)
    assert not NotSame.objects.exists()
    graph.redo(by=alice)
    assert NotSame.objects.count() == 1
    graph.merge(one, [other], by=alice)
    with pytest.raises(Refused, match="one node already"):
        graph.keep_apart(one, other, by=alice)


def test_what_a_step_is_about_names_both_nodes(graph, alice):
    one, other = form(graph, "thermostat"), form(graph, "thermostats")
    graph.merge(one, [other], by=alice)
    assert graph.undo(by=alice).outcome() == "Undone: merge, “thermostats” and “thermostat”."
    graph.redo(by=alice)
    graph.split([other], by=alice)
    assert graph.written.subject() == "“thermostats” and “thermostat”"
    graph.name_node(one, name="Regulator", by=alice)
    assert graph.written.subject() == "“Regulator”"


def test_everything_is_undone_step_by_step_and_done_again(graph, alice):
    one, two, three = (form(graph, text) for text in ("thermostat", "thermostats", "pump"))
    steps = [state(graph)]
    for step in (
        lambda: graph.name_node(two, name="Regulator", iri="https://example.org/r", by=alice),
        lambda: graph.merge(one, [two, three], by=alice),
        lambda: graph.split([three], by=alice),
        lambda: graph.keep_apart(one, three, by=alice),
        lambda: graph.name_node(one, iri="", by=alice),
        lambda: graph.merge(three, [two], by=alice),
    ):
        step()
        steps.append(state(graph))
    for before in reversed(steps[:-1]):
        graph.undo(by=alice)
        assert state(graph)[0] == before[0] and len(state(graph)[1]) == len(before[1])
    with pytest.raises(Refused, match="nothing to undo"):
        graph.undo(by=alice)
    for after in steps[1:]:
        graph.redo(by=alice)
        assert state(graph)[0] == after[0]
    assert [row.title for row, _ in graph.history()][-6:][::-1] == [
        "name", "merge", "split", "keep apart", "name", "merge",
    ]  # fmt: skip


def test_each_takes_back_their_own_unless_somebody_built_on_it(graph, alice, bob):
    one, two, three = (form(graph, text) for text in ("thermostat", "thermostats", "pump"))
    graph.merge(one, [two], by=alice)
    graph.name_node(three, name="Pump", by=bob)
    graph.undo(by=alice)
    assert forms_of_nodes(graph) == [] and graph.forms.get(digest=three).name == "Pump"
    graph.redo(by=alice)
    graph.merge(three, [two], by=bob)
    before = state(graph)
    with pytest.raises(Refused, match="by a later step: merge"):
        graph.undo(by=alice)
    assert state(graph) == before
    graph.revert(graph.changes.filter(verb="merge", user=bob).first(), by=alice)
    assert forms_of_nodes(graph) == [["thermostat", "thermostats"]]


def test_the_history_names_forms_and_pairs(graph, alice):
    one, other = form(graph, "thermostat"), form(graph, "thermostats")
    graph.keep_apart(one, other, by=alice)
    graph.merge(one, [other], by=alice)
    (_, [moved]), (_, [apart]) = graph.history()
    assert (moved.name, moved.field, moved.before, moved.after) == ("thermostats", "node", "its own", "thermostat")
    assert apart.name in ("thermostat and thermostats", "thermostats and thermostat")
    assert "thermostats" in graph.changes.first().in_words()


def test_unknown_forms_are_refused(graph, alice):
    one, unknown = form(graph, "thermostat"), digest("x", "y")
    for refused in (
        lambda: graph.merge(one, [unknown], by=alice),
        lambda: graph.merge(unknown, [one], by=alice),
        lambda: graph.split([unknown], by=alice),
        lambda: graph.name_node(unknown, name="x", by=alice),
        lambda: graph.keep_apart(one, unknown, by=alice),
    ):
        with pytest.raises(Refused, match="no such node"):
            refused()
    assert not graph.changes.exists()


def test_too_many_are_not_merged_at_once(graph, alice, monkeypatch):
    monkeypatch.setattr(nodes, "MOST_MERGED", 1)
    with pytest.raises(Refused, match="At most 1"):
        graph.merge(form(graph, "pump"), [form(graph, "thermostat"), form(graph, "thermostats")], by=alice)


def test_nothing_is_changed_in_an_archived_project(graph, project, alice):
    one, other = form(graph, "thermostat"), form(graph, "thermostats")
    graph.merge(one, [other], by=alice)
    project.archive()
    graph = Graph.of(type(project).objects.get(pk=project.pk))
    for refused in (
        lambda: graph.merge(one, [form(graph, "pump")], by=alice),
        lambda: graph.split([other], by=alice),
        lambda: graph.name_node(one, name="x", by=alice),
        lambda: graph.keep_apart(one, form(graph, "pump"), by=alice),
        lambda: graph.undo(by=alice),
        lambda: graph.edit(stem="english"),
    ):
        with pytest.raises(Refused, match="archived"):
            refused()
    refresh(graph)
    assert forms_of_nodes(graph) == [["thermostat", "thermostats"]]


def test_a_merge_rests_while_words_are_stemmed_and_is_there_again(graph, alice):
    graph.merge(form(graph, "thermostat"), [form(graph, "thermostats")], by=alice)
    graph.edit(stem="english")
    refresh(graph)
    assert fold_words("Thermostats pumping", "english") == "thermostat pump"
    assert set(graph.nodetotal_set.filter(marks__gt=0).values_list("node__text", flat=True)) >= {
        "thermostat",
        "pump oil",
    }
    graph.edit(stem="")
    refresh(graph)
    assert forms_of_nodes(graph) == [["thermostat", "thermostats"]]


@pytest.mark.django_db(transaction=True)
def test_two_merges_at_once_leave_no_node_of_a_node():
    alice, carol = factories.manager("alice"), factories.user("carol")
    project = factories.project(by=alice, annotators=[carol], text="a b c d e f\n")
    [item] = project.all_items()
    say(item, carol, *(f"State {place}" for place in range(6)))
    graph = Graph.of(project)
    refresh(graph)
    a, b, c, d, e, f = (form(graph, text) for text in "abcdef")

    def merging(*pairs):
        def work():
            mine = Graph.of(type(project).objects.get(pk=project.pk))
            for target, other in pairs:
                mine.merge(target, [other], by=alice)

        return work

    at_once(merging((a, b), (c, d), (b, e)), merging((b, c), (d, a), (f, c)), lambda: refresh(graph))
    assert not graph.forms.exclude(node=None).exclude(node__node=None)
    assert forms_of_nodes(graph)[0][1:] == sorted(set("abcdef") - {forms_of_nodes(graph)[0][0]})
    assert graph.changes.count() == type(graph).objects.get(pk=graph.pk).version


def test_no_step_taken_back_makes_a_node_of_a_node(graph, alice, bob):
    """Then marks would be counted twice."""
    a, b, c = (form(graph, text) for text in ("thermostats", "thermostat", "not working"))
    graph.merge(b, [a], by=alice)
    graph.split([a], by=alice)
    split = graph.changes.get(verb="split")
    graph.merge(c, [b], by=alice)
    with pytest.raises(Refused, match="belongs to another one"):
        graph.revert(split, by=alice)
    graph.undo(by=alice)
    graph.merge(c, [b], by=alice)
    graph.undo(by=alice)
    graph.merge(b, [a], by=bob)
    with pytest.raises(Refused, match="belongs to another one"):
        graph.redo(by=alice)
    assert not graph.forms.filter(node__node__isnull=False).exists()


def test_what_a_form_brought_goes_with_it_when_it_is_split_off(graph, alice):
    one, other, third = (form(graph, text) for text in ("thermostat", "thermostats", "not working"))
    for node in (other, third):
        graph.name_node(node, by=alice, iri="https://example.org/1", external_id=node[:5])
    graph.merge(one, [other, third], by=alice)
    head = graph.forms.get(digest=one)
    assert (head.iri, head.external_id) == ("https://example.org/1", graph.forms.get(digest=other).external_id)
    graph.split([other], by=alice)
    head.refresh_from_db()
    assert (head.iri, head.external_id) == ("https://example.org/1", ""), "another form has the IRI, too"


def test_stems_are_the_same_in_all_threads():
    words = [f"المكتبات{n} الكاتبون{n}" for n in range(300)]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(lambda text: fold_words(text, "arabic"), words))
    assert together == [fold_words(text, "arabic") for text in words]
    assert fold_words("-", "arabic") == "-"
