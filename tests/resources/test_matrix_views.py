"""The page of the matrix, and what it says of a cell."""

import html
import re

import pytest
from django.urls import reverse

from tests import factories, resource_sets
from tests.answers import events

CELL = re.compile(r'<td class="([^"]+)"(?: title="([^"]*)")?>(.?)</td>')


def fetch(client, constraints, **values):
    response = client.get(reverse("resources:matrix", args=[constraints.pk]), values, HTTP_HX_REQUEST="true")
    assert response.status_code == 200
    return response.text


def table(page):
    """The cells by the labels of row and column: a letter for the state, large for the rule's own, and the rule."""
    found = {}
    heads = re.findall(r'<th scope="col"[^>]*><span>([^<]+)</span>', page)
    for row in re.findall(r'<th scope="row".*?</tr>', page, re.S):
        name = re.search(r'<span class="name">([^<]+)<', row)[1]
        cells = CELL.findall(row)
        assert len(cells) == len(heads)
        for column, (style, title, _) in zip(heads, cells, strict=True):
            letter = style[0].upper() if style.endswith(" own") else style[0]
            found[name, column] = letter, html.unescape(title)
    return found


def test_entities(as_alice, alice, labels):
    constraints = resource_sets.make("entity_constraints", owner=alice, **labels)
    page = fetch(as_alice, constraints)
    cells = table(page)
    assert list(dict(cells))[:3] == [
        ("PhysicalObject", name) for name in ("PhysicalObject", "SensingObject", "Thermostat")
    ]
    assert cells["PhysicalObject", "State"] == ("E", "Rule 1: PhysicalObject excludes State and Activity")
    assert cells["State", "PhysicalObject"] == cells["PhysicalObject", "State"]
    assert cells["Thermostat", "Replace"][0] == "e"
    assert cells["PhysicalObject", "Thermostat"][0] == "I"
    assert cells["SensingObject", "PhysicalObject"] == (
        "i",
        "Rule 1: PhysicalObject can contain only Thermostat and PhysicalObject",
    )
    assert cells["Replace", "State"] == ("O", "Rule 3: Replace can contain nothing")
    assert cells["State", "Replace"] == ("f", "")
    assert "DrivingObject" not in page
    whole = fetch(as_alice, constraints, tree=f"{factories.item(labels['entities'], 'PhysicalObject').uid}*")
    assert ("DrivingObject", "DrivingObject") in table(whole)


def test_relations(as_alice, alice, labels):
    constraints = resource_sets.make("relation_constraints", owner=alice, **labels)
    cells = table(fetch(as_alice, constraints))  # of the first relation that has rules
    assert cells["PhysicalObject", "Thermostat"] == (
        "L",
        "Rule 1: hasPart leads from PhysicalObject only to DrivingObject and Thermostat",
    )
    assert cells["DrivingObject", "Thermostat"][0] == "l"
    assert cells["Activity", "Thermostat"] == ("B", "Rule 2: hasPart leads from Activity nowhere")
    patient, participant = (factories.item(labels["relations"], name) for name in ("hasPatient", "hasParticipant"))
    cells = table(fetch(as_alice, constraints, relation=patient.uid))
    assert set(cells) == {(a, b) for a in ("PhysicalObject", "Activity") for b in ("PhysicalObject", "Activity")}
    assert [cells["Activity", "PhysicalObject"][0], cells["PhysicalObject", "Activity"]] == ["L", ("b", "")]
    free = fetch(as_alice, constraints, relation=participant.uid)
    assert "No rule limits “hasParticipant”" in free
    assert set(table(free).values()) == {("l", "")}  # of all labels of the top level


def test_of_many_relations_those_with_rules_are_offered(as_alice, alice, labels, monkeypatch):
    monkeypatch.setattr("resources.matrix.OFFERED_RELATIONS", 0)
    constraints = resource_sets.make("relation_constraints", owner=alice, **labels)
    offered = re.compile(r"<option[^>]*>([^<]+?) *<")
    with_rules = ["hasPart · 2 rules", "hasParticipant/hasPatient · 1 rule"]
    assert offered.findall(fetch(as_alice, constraints)) == with_rules
    free = factories.item(labels["relations"], "hasParticipant").uid
    chosen = offered.findall(fetch(as_alice, constraints, relation=free))
    assert chosen == ["hasPart · 2 rules", "hasParticipant · free", "hasParticipant/hasPatient · 1 rule"]


def test_a_set_without_rules_and_odd_addresses(as_alice, alice, labels):
    empty = resource_sets.make("entity_constraints", owner=alice, document=[], **labels)
    assert set(table(fetch(as_alice, empty)).values()) == {("f", "")}
    assert len(table(fetch(as_alice, empty))) == 3 * 3
    full = resource_sets.make("entity_constraints", owner=alice, **labels)
    expected = table(fetch(as_alice, full))
    for tree in ("gone,-gone,gone*", "⁂,'--", "," * 5000, "x" * 20_000):
        assert table(fetch(as_alice, full, tree=tree, relation="⁂")) == expected
    page = as_alice.get(reverse("resources:matrix", args=[full.pk]), headers={"HX-Request": ""}).text
    assert "<h1>" in page and table(page) == expected
    cell = reverse("resources:cell", args=[full.pk])
    for values in ({}, {"row": "gone", "column": "⁂"}):
        assert as_alice.get(cell, values).status_code == 404


@pytest.mark.parametrize(
    ("row", "column", "sentences"),
    [
        (
            "Thermostat",
            "Replace",
            ["“Thermostat” cannot share words with “Replace”: rule 1 of “Rules” excludes “Activity”"],
        ),
        (
            "PhysicalObject",
            "DrivingObject",
            [
                "“DrivingObject” may stand inside “PhysicalObject”: rule 1 lists “PhysicalObject”",
                "“PhysicalObject” may stand inside “DrivingObject”: rule 1",
            ],
        ),
        ("State", "State", ["no rule limits what “State” can contain"]),
    ],
)
def test_a_cell_is_explained(as_alice, alice, labels, row, column, sentences):
    constraints = resource_sets.make("entity_constraints", owner=alice, name="Rules", **labels)
    uids = {side: factories.item(labels["entities"], name).uid for side, name in (("row", row), ("column", column))}
    page = html.unescape(as_alice.get(reverse("resources:cell", args=[constraints.pk]), uids).text)
    assert len(re.findall("<p>", page)) == len(sentences)
    assert all(sentence in page for sentence in sentences)
    for link in re.findall('href="([^"]+)"', page):
        place, _, anchor = link.partition("#")
        assert f'id="{anchor}"' in as_alice.get(place).text
    assert ("Go to rule 1" in page) == (row != "State")


def test_a_large_tree_is_shown_in_part_and_with_few_queries(as_alice, alice, django_assert_max_num_queries):
    items = [{"name": f"B{n}", "children": [{"name": f"B{n}.{k}"} for k in range(100)]} for n in range(20)]
    entities = factories.ontology(owner=alice, items=items)
    document = [{"domain": f"B{n}/B{n}.{k}", "excludes": [f"B{n}"]} for n in range(20) for k in range(0, 100, 10)]
    constraints = resource_sets.make(
        "entity_constraints", owner=alice, entities=entities, relations=None, document=document
    )
    fetch(as_alice, constraints)
    with django_assert_max_num_queries(12):
        page = fetch(as_alice, constraints)
    assert len(table(page)) == 40 * 40 and "10 below" in page
    opened = [label.uid for label in entities.labels() if label.level == 1]
    assert len(table(fetch(as_alice, constraints, tree="*,".join([*opened, ""])))) == 100 * 100


# --- Setting and removing --------------------------------------------------------------------------------------------------


def put(client, constraints, row, column, wanted, lists="excludes", relation="", status=200):
    entities, relations = constraints.entity_ontology, constraints.relation_ontology
    uid = factories.item(entities, row).uid
    query = {
        "relation": factories.item(relations, relation).uid if relation else "",
        "lines": lines_of(client, constraints, tree="*"),
    }
    answer = client.post(
        reverse("resources:set_cell", args=[constraints.pk], query=query),
        {"row": uid, "column": factories.item(entities, column).uid, "list": lists, "wanted": wanted},
    )
    assert answer.status_code == status
    return answer.text if status == 200 else events(answer)["toast"]["text"]


def lines_of(client, constraints, **values):
    page = fetch(client, constraints, **values)
    return ",".join(re.findall(r'<th scope="row" data-uid="(\w+)"', page))


def test_a_cell_sets_and_removes_its_rule_in_one_step_each(as_alice, alice, labels):
    constraints = resource_sets.make("entity_constraints", owner=alice, document=[], **labels)
    documents = [resource_sets.document_of(constraints)]
    steps = [
        ("State", "Activity", "1", "excludes"),
        ("Activity", "State", "0", "excludes"),  # it holds both ways
        ("State", "Activity", "1", "excludes"),
        ("State", "Activity", "1", "can_contain"),  # it leaves the other list
        ("Activity", "State", "1", "excludes"),
        ("State", "PhysicalObject", "1", "can_contain"),
        ("State", "PhysicalObject", "0", "can_contain"),
        ("State", "State", "1", "excludes"),
    ]
    for row, column, wanted, lists in steps:
        page = put(as_alice, constraints, row, column, wanted, lists)
        state = "E" if lists == "excludes" else "I"
        assert (table(page)[row, column][0] == state) == (wanted == "1")
        documents.append(resource_sets.document_of(constraints))
    domains = [[(rule["domain"], rule["excludes"], rule.get("can_contain")) for rule in each] for each in documents]
    assert domains == [
        [],
        [("State", ["Activity"], None)],
        [],  # it says nothing any more
        [("State", ["Activity"], None)],
        [("State", [], ["Activity"])],
        [("State", [], ["Activity"]), ("Activity", ["State"], None)],
        [("State", [], ["Activity", "PhysicalObject"]), ("Activity", ["State"], None)],
        [("State", [], ["Activity"]), ("Activity", ["State"], None)],
        [("State", ["State"], ["Activity"]), ("Activity", ["State"], None)],
    ]
    constraints.refresh_from_db()
    assert constraints.version == len(steps)
    for document in documents[-2::-1]:
        as_alice.post(reverse("resources:undo", args=[constraints.pk]))
        assert resource_sets.document_of(constraints) == document
    for document in documents[1:]:
        as_alice.post(reverse("resources:redo", args=[constraints.pk]))
        assert resource_sets.document_of(constraints) == document


def test_sending_a_cell_twice_stores_it_once(as_alice, alice, labels):
    constraints = resource_sets.make("entity_constraints", owner=alice, document=[], **labels)
    for _ in range(2):
        put(as_alice, constraints, "State", "Activity", "1")
    constraints.refresh_from_db()
    assert constraints.version == 1


def test_cells_of_relations(as_alice, alice, labels):
    constraints = resource_sets.make("relation_constraints", owner=alice, document=[], **labels)
    page = put(as_alice, constraints, "State", "Activity", "1", "range", relation="hasPart")
    cells = table(page)
    assert cells["State", "Activity"][0] == "L" and {cells[each][0] for each in cells} == {"L", "b", "B"}
    put(as_alice, constraints, "State", "State", "1", "range", relation="hasPart")
    put(as_alice, constraints, "State", "Activity", "0", "range", relation="hasPart")
    page = put(as_alice, constraints, "State", "State", "0", "range", relation="hasPart")
    assert (
        table(page)["State", "State"][0] == "B"
    )  # with its last label the source leads nowhere: only this cell changed
    assert resource_sets.document_of(constraints) == [{"relation": "hasPart", "domain": "State", "range": []}]


def test_what_an_inherited_exclusion_forbids_cannot_be_allowed_in_a_cell(as_alice, alice, labels):
    constraints = resource_sets.make("entity_constraints", owner=alice, **labels)
    before = resource_sets.document_of(constraints)
    reason = put(as_alice, constraints, "Thermostat", "State", "1", "can_contain", status=422)
    assert "“Thermostat” cannot share words with “State”" in reason and "As long as that holds" in reason
    assert resource_sets.document_of(constraints) == before
    for values in ({}, {"row": "x"}, {"row": "{uid}", "column": "{uid}", "list": "domain"}):
        uid = factories.item(labels["entities"], "State").uid
        sent = {name: value.format(uid=uid) for name, value in values.items()}
        assert as_alice.post(reverse("resources:set_cell", args=[constraints.pk]), sent).status_code == 404


def test_lines_that_are_shown_stay_when_no_rule_names_them_any_more(as_alice, alice, labels):
    constraints = resource_sets.make("entity_constraints", owner=alice, document=[], **labels)
    put(as_alice, constraints, "Thermostat", "State", "1")
    kept = lines_of(as_alice, constraints)
    constraints.undo(by=alice)
    assert len(table(fetch(as_alice, constraints))) == 3 * 3
    assert lines_of(as_alice, constraints, lines=kept) == kept and "Thermostat" in fetch(
        as_alice, constraints, lines=kept
    )


def test_the_list_leads_into_the_matrix_and_back_to_its_place(as_alice, alice, labels):
    constraints = resource_sets.make("entity_constraints", owner=alice, **labels)
    uid = factories.item(labels["entities"], "State").uid
    listed = as_alice.get(reverse("resources:page", args=[constraints.pk], query={"q": "stat"})).text
    (link,) = re.findall(rf'href="([^"]+rule={uid}[^"]*)"\s+id="matrix-{uid}"', listed)
    page = as_alice.get(html.unescape(link), headers={"HX-Request": ""}).text
    assert f'data-at="{uid}"' in page
    back = reverse("resources:page", args=[constraints.pk], query={"rule": uid, "q": "stat"})
    assert f'href="{back}#rule-{uid}"'.replace("&", "&amp;") in page


def test_those_who_only_read_have_no_controls(as_bob, alice, labels):
    constraints = resource_sets.make("entity_constraints", owner=alice, **labels)
    page = as_bob.get(reverse("resources:matrix", args=[constraints.pk]), headers={"HX-Request": ""}).text
    assert table(page) and not {word for word in ("data-editable", "matrix-modes", "data-step") if word in page}
