"""The page on which a constraint set learns rules from marks."""

import html
import re

import pytest
from django.urls import reverse

from datasets.models import Annotation, Entity
from tests import factories, resource_sets
from tests.datasets import marked

THERMOSTAT = "PhysicalObject/SensingObject/Thermostat"


@pytest.fixture
def dataset(alice):
    """Fifty texts: things inside of states, an activity in one; a few parts."""
    made = marked.dataset(owner=alice, items=[])
    for position in range(50):
        item = marked.add(made, position, "left thermostat not working at all")
        state = marked.mark(item, "State", 0, 3)
        thing = marked.mark(item, THERMOSTAT, 0, 1)
        marked.relate(state, thing, "hasPart")
        if position < 3:
            marked.mark(item, "Activity" if position == 0 else "PhysicalObject", 2, 2)
            marked.relate(thing, state, "hasPart")
    return made


def constraints_of(dataset, alice, format="entity_constraints", document=()):
    ontologies = {"entities": dataset.entity_ontology, "relations": dataset.relation_ontology}
    return resource_sets.make(format, owner=alice, document=list(document), **ontologies)


def url(constraints, dataset, source="given", levels=1, view="learn"):
    return reverse(f"work:{view}", args=[constraints.pk]) + f"?source={dataset.pk}-{source}&levels={levels}"


def proposed(page):
    """By what a rule is for: whether it is ticked, its labels with their counts and whether they are, and what stands beside."""
    found = {}
    for rule in re.findall(r"<article.*?</article>", page, re.S):
        name = re.sub(r"<[^>]+>|\s+", " ", re.search(r"<b title.*?</b>", rule, re.S)[0])
        ticked = "checked" in re.search(r'<input type="checkbox" name="rule".*?>', rule)[0]
        labels = {}
        for choice in re.findall(r'<span class="rule-label">.*?</button></span>', rule, re.S):
            words = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", choice)).split())
            labels[words] = "checked" in choice
        note = re.search(r'<span class="facts">([^<]*)</span>', rule)[1]
        found[" ".join(name.split())] = ticked, labels, note
    return found


def inputs(page):
    """What the form sends as it stands."""
    sent = {}
    for box in re.findall(r'<input type="checkbox"[^>]*checked>', page):
        sent.setdefault(re.search('name="([^"]+)"', box)[1], []).append(re.search('value="([^"]+)"', box)[1])
    return sent


def test_rules_are_proposed_ticked_and_added_in_one_step(as_alice, alice, dataset):
    constraints = constraints_of(dataset, alice)
    page = as_alice.get(url(constraints, dataset)).text
    assert proposed(page) == {
        "PhysicalObject": (True, {}, ""),
        "State": (True, {"PhysicalObject 52": True, "Activity 1": False}, ""),
    }
    assert "Add 2 rules" in page and re.search(r"With them, <b[^>]*>1</b> of 53 pairs breaks", page)
    deep = as_alice.get(url(constraints, dataset, levels=99)).text
    assert proposed(deep)["State"] == (True, {"PhysicalObject 52": True, "Activity 1": False}, "")

    answer = as_alice.post(url(constraints, dataset), inputs(page), follow=True)
    assert "2 rules were learned" in answer.text
    assert resource_sets.document_of(constraints) == [
        {"domain": "PhysicalObject", "excludes": [], "can_contain": []},
        {"domain": "State", "excludes": [], "can_contain": ["PhysicalObject"]},
    ]
    again = as_alice.get(url(constraints, dataset)).text
    assert proposed(again)["State"] == (
        False,
        {"PhysicalObject allowed already 52": True, "Activity 1": False},
        "nothing new: rule 2 allows this",
    )
    constraints.refresh_from_db()
    as_alice.post(reverse("resources:undo", args=[constraints.pk]), {"version": constraints.version})
    assert resource_sets.document_of(constraints) == []


def test_what_is_ticked_is_checked_before_it_is_added(as_alice, alice, dataset):
    constraints = constraints_of(dataset, alice)
    sent = inputs(as_alice.get(url(constraints, dataset)).text)
    state = factories.item(dataset.entity_ontology, "State").uid
    check = url(constraints, dataset, view="check_lesson")
    for rules, lists, expected in (
        (sent["rule"], sent[f"list-{state}"], r"Add 2 rules.*>1</b> of 53 pairs"),
        ([state], [], r"Add 1 rule<.*With it, <b[^>]*>53</b>"),
        ([state, "gone"], [factories.item(dataset.entity_ontology, "Activity").uid, "gone"], "Add 1 rule<.*>52</b>"),
        ([], [], "disabled.*None of 53 pairs"),
    ):
        text = as_alice.post(check, {"rule": rules, f"list-{state}": lists}).text
        assert re.search(expected, text, re.S), text
    nothing = as_alice.post(url(constraints, dataset), {"rule": []})
    assert (nothing.status_code, resource_sets.document_of(constraints)) == (422, [])
    assert "Tick the rules" in nothing.text


def test_the_marks_behind_a_figure_are_shown(as_alice, alice, dataset):
    constraints = constraints_of(dataset, alice)
    page = as_alice.get(url(constraints, dataset)).text
    links = [html.unescape(link) for link in re.findall('hx-get="([^"]+examples[^"]+)"', page)]
    things, activities = (as_alice.get(link).text for link in links)
    assert "The first 20 of 52" in things
    assert re.search(r"left thermostat not working <span[^>]*>contains</span> left thermostat", things)
    assert "Activity inside State" in activities and "1 place." in activities
    assert as_alice.get(re.findall('href="([^"]+)"', activities)[0]).status_code == 200
    for broken in (links[0] + "x", links[0].replace("rule=", "rule=x"), links[0].replace("source=", "source=x")):
        assert as_alice.get(broken).status_code == 422


def test_rules_that_stand_already_are_added_to(as_alice, alice, dataset):
    document = [{"domain": "State", "excludes": ["PhysicalObject"], "can_contain": ["Activity"]}]
    constraints = constraints_of(dataset, alice, document=document)
    page = as_alice.get(url(constraints, dataset)).text
    labels = {"PhysicalObject excluded by rule 1 52": False, "Activity allowed already 1": False}
    assert proposed(page)["State"] == (False, labels, "nothing new: rule 1 allows this")
    state, thing = (factories.item(dataset.entity_ontology, name).uid for name in ("State", "PhysicalObject"))
    # A label that the rule excludes cannot be listed as well: nothing is stored, and the ticks stay.
    answer = as_alice.post(url(constraints, dataset), {"rule": [state], f"list-{state}": [thing]})
    assert answer.status_code == 422 and proposed(answer.text)["State"][1]["PhysicalObject excluded by rule 1 52"]
    assert resource_sets.document_of(constraints) == document


def test_what_another_rule_excludes_is_an_exception(as_alice, alice, dataset):
    """Exclusion holds in both directions and for all that is below."""
    document = [{"domain": "PhysicalObject", "excludes": ["State"]}, {"domain": "Activity", "excludes": []}]
    constraints = constraints_of(dataset, alice, document=document)
    page = as_alice.get(url(constraints, dataset)).text
    state = (False, {"PhysicalObject excluded by rule 1 52": False, "Activity 1": False}, "")
    assert proposed(page)["State"] == state
    assert re.search(r"<b[^>]*>52</b> of 53 pairs break", page)
    deep = as_alice.get(url(constraints, dataset, levels=99)).text
    assert not any(proposed(deep)["State"][1].values())
    # Ticking it for what something else contains takes no exclusion away.
    uid = factories.item(dataset.entity_ontology, "PhysicalObject").uid
    foot = as_alice.post(url(constraints, dataset, view="check_lesson"), {"rule": [uid]}).text
    assert re.search(r"<b[^>]*>52</b> of 53 pairs break", foot)


def test_relations(as_alice, alice, dataset):
    constraints = constraints_of(dataset, alice, "relation_constraints")
    page = as_alice.get(url(constraints, dataset)).text
    assert proposed(page) == {
        "hasPart from PhysicalObject": (False, {"State 3": True}, "rare"),
        "hasPart from State": (True, {"PhysicalObject 50": True}, ""),
    }
    assert re.search(r"With it, <b[^>]*>3</b> of 53 relations break", page)
    as_alice.post(url(constraints, dataset), inputs(page))
    assert resource_sets.document_of(constraints) == [
        {"relation": "hasPart", "domain": "State", "range": ["PhysicalObject"]}
    ]


def test_many_labels_are_cut_to_those_that_matter(as_alice, alice, monkeypatch):
    items = [{"name": f"L{n}"} for n in range(70)]
    made = marked.dataset(owner=alice, items=[])
    made.entity_ontology = factories.ontology(owner=alice, items=items)
    made.save()
    item = marked.add(made, 0, " ".join("ab" * 40))
    marked.mark(item, "L0", 0, 79)
    for place in range(1, 61):
        marked.mark(item, f"L{place}", place, place)
    constraints = constraints_of(made, alice)
    page = as_alice.get(url(constraints, made)).text
    assert len(proposed(page)["L0"][1]) == 50 and "and 10 labels more, all rare" in page
    monkeypatch.setattr("work.views.SHOWN_RULES", 1)
    for start in (1, 3):
        marked.mark(item, "L61", start, start + 1)
    page = as_alice.get(url(constraints, made)).text
    assert list(proposed(page)) == ["L61"] and "These are the 1 of 2 rules" in page


def test_a_project_learns_from_what_its_annotators_are_done_with(as_alice, alice, dataset, client):
    constraints, ben = constraints_of(dataset, alice), factories.user("ben")
    project = factories.project(by=alice, of=dataset, resources=[constraints], annotators=[ben])
    own, copied = project.constraintset_set.get(), project.dataset
    page = as_alice.get(url(own, copied, "done")).text
    assert "Nothing to learn from" in page and "Pumps: done by annotators" in page
    assert "Nobody has finished an item yet: rules are learnt from finished items, and 0 of 50 items are done." in page
    Annotation.start(copied.items()[1], ben).finish()
    page = as_alice.get(url(own, copied, "done")).text
    assert "1 of 50 items is done, and they have no marks of two or more tokens" in page
    assert "State" in proposed(as_alice.get(url(own, copied)).text)
    annotation = Annotation.start(copied.items()[0], ben)
    for entity in Entity.objects.filter(annotation=annotation):
        entity.accept()
    annotation.finish()
    found = proposed(as_alice.get(url(own, copied, "done")).text)
    assert found["State"] == (False, {"Activity 1": True, "PhysicalObject 1": True}, "rare")


def test_given_marks_that_are_not_there_are_named(as_alice, alice):
    constraints = constraints_of(marked.dataset(owner=alice, items=[]), alice, "relation_constraints")
    page = as_alice.get(url(constraints, marked.dataset(owner=alice, items=[]))).text
    assert "No relations with labels of this set’s ontologies came with the dataset." in page


def test_only_marks_that_somebody_may_read_are_offered(as_alice, alice, dataset, client):
    constraints = constraints_of(dataset, alice)
    bob = factories.manager("bob")
    theirs = factories.project(by=bob, name="Theirs")
    joined = factories.project(by=bob, name="Joined", annotators=[alice])  # annotators do not read others' marks
    plain = factories.dataset(owner=alice, name="Without marks")
    page = as_alice.get(reverse("work:learn", args=[constraints.pk])).text
    assert "Marked" in page and "Let marks propose the rules" in page
    assert not any(name in page for name in ("Theirs", "Joined", "Without marks"))
    for other in (theirs.dataset, joined.dataset, plain):
        assert as_alice.get(url(constraints, other)).status_code == 422
    for query in ("?source=x", "?source=", f"?source={dataset.pk}-given&levels=x"):
        assert as_alice.get(reverse("work:learn", args=[constraints.pk]) + query).status_code == 422


def test_a_kind_of_which_nothing_is_learned_has_no_such_page(as_alice, alice, dataset, monkeypatch):
    constraints = constraints_of(dataset, alice)
    monkeypatch.setattr("resources.entity_constraints.EntityConstraints.learned_list", "")
    asked = [as_alice.get(url(constraints, dataset, view=view)) for view in ("learn", "lesson_examples")]
    asked += [as_alice.post(url(constraints, dataset, view=view)) for view in ("learn", "check_lesson")]
    assert [answer.status_code for answer in asked] == [404] * 4
