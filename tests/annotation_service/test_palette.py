"""What the command palette finds: for whom, in which order, and how much."""

import re
from operator import itemgetter

import pytest

from ontologies import views
from tests import factories
from tests.queries import queries_of
from tests.resource_sets import make


def found(client, text):
    """By kinds; the palette has an order of its own for these. Without answers of the help, which are found by many words."""
    hits = [(hit["kind"], hit["title"]) for hit in client.get("/find/", {"q": text}).json()["hits"]]
    return sorted((hit for hit in hits if hit[0] != "Help"), key=itemgetter(0))


def in_project(client, project, text):
    hits = client.get("/find/", {"q": text, "project": project.pk}).json()["hits"]
    return {(hit["kind"], hit["title"]): hit["url"] for hit in hits if hit["kind"] in ("This project", "People")}


@pytest.fixture
def project(as_alice, as_carol, labels):
    make("entity_constraints", owner=as_alice.user, name="Pump rules", **labels)
    factories.ontology(
        owner=as_alice.user, name="Pump labels", items=[{"name": "Pump", "children": [{"name": "PumpWheel"}]}]
    )
    return factories.project(by=as_alice.user, name="Pump repairs", annotators=[as_carol.user])


def test_everything_that_a_manager_may_look_at_is_found(as_alice, as_bob, project):
    blueprints = {
        ("Labels", "Pump"),
        ("Labels", "PumpWheel"),
        ("Labels", "PhysicalObject"),  # an example of it is “pump”
        ("Ontologies", "Pump labels"),
        ("Constraints", "Pump rules"),
    }
    assert set(found(as_bob, "pump")) == blueprints  # project managers see each other's blueprints, not their projects
    assert set(found(as_alice, "PUMP")) == blueprints | {("Projects", "Pump repairs")}
    assert found(as_bob, "Work") == [("Datasets", "Work orders")]
    assert found(as_alice, "Work") == 2 * [("Datasets", "Work orders")]


def test_annotators_find_their_projects_and_their_labels(as_carol, as_dave, project):
    assert found(as_carol, "pump") == [("Labels", "PhysicalObject"), ("Projects", "Pump repairs")]
    assert found(as_carol, "work") == []
    assert found(as_dave, "pump") == []


def test_what_fits_best_stands_first_whatever_its_ontology(as_alice, alice):
    for name in ("MotorPump", "Pump", "Warm"):
        factories.ontology(owner=alice, name=name, items=[{"name": name, "description": "A pump."}])
    assert [title for kind, title in found(as_alice, "pump") if kind == "Labels"] == ["Pump", "MotorPump", "Warm"]


def test_a_hit_leads_to_the_label_in_its_ontology(as_alice, alice):
    ontology = factories.ontology(owner=alice)
    [hit] = as_alice.get("/find/", {"q": "thermostat"}).json()["hits"]
    assert hit["url"] == f"/ontologies/{ontology.pk}/?item={factories.item(ontology, 'Thermostat').uid}"
    assert (hit["title"], hit["note"]) == ("Thermostat", "PhysicalObject/SensingObject · entity labels")


def test_few_ontologies_are_read_whether_something_is_found_or_not(as_alice, alice, monkeypatch):
    def read(limit, number):
        monkeypatch.setattr(views, limit, number)
        for name in ("Pump", "Fan", "Hose"):
            factories.ontology(owner=alice, name=name, items=[{"name": name}])
        queries = queries_of(found, as_alice, "nothing like it")
        monkeypatch.undo()
        return sum("ontologies_ontologyitem" in query for query in queries)

    assert read("MOST_ONTOLOGIES", 2) == read("MOST_LABELS", 2) == 2


def test_hits_and_queries_are_few_however_much_there_is(as_alice, alice):
    def fill(count):
        for number in range(count):
            factories.ontology(owner=alice, name=f"Pumps {number}", items=[{"name": f"Pump {n}"} for n in range(20)])
            make(
                "entity_constraints",
                owner=alice,
                name=f"Pump rules {number}",
                entities=factories.ontology(owner=alice),
                relations=None,
            )
        found(as_alice, "pump")
        return len(queries_of(found, as_alice, "pump")), len(found(as_alice, "pump"))

    few, _ = fill(1)
    assert fill(9) == (few, 10 + 6 + 6)
    assert found(as_alice, "") == found(as_alice, " ") == []
    assert not any(kind == "Labels" for kind, _ in found(as_alice, "p"))


# --- The project that one is in ------------------------------------------------------------------------------------------


@pytest.fixture
def shared(as_alice, as_bob, as_carol, as_dave, labels):
    rules = make("entity_constraints", owner=as_alice.user, name="Pump rules", **labels)
    project = factories.project(
        by=as_alice.user,
        name="Pump repairs",
        annotators=[as_carol.user],
        entities=labels["entities"],
        resources=[rules],
    )
    project.add_members([as_bob.user], "reviewer")
    return project


def test_pages_of_the_project_are_found_by_those_who_may_open_them(as_alice, as_bob, as_carol, as_dave, as_sam, shared):
    """By every letter, so that nothing is left out."""
    found = {}
    for client in (as_alice, as_bob, as_carol, as_dave, as_sam):
        hits = {}
        for letter in "aeiou":
            hits |= in_project(client, shared, letter)
        for hit, url in hits.items():
            assert client.get(url.partition("#")[0], follow=True).status_code == 200, hit
        found[client] = {title for kind, title in hits if kind == "This project"}
    assert {"Items", "People", "Settings", "Comments", "Download", "Guidelines", "Broken rules"} < found[as_alice]
    assert {"Annotate", "Your items", "Comments", "Guidelines"} < found[as_carol]
    assert not {"Items", "People", "Settings", "Download", "Broken rules"} & found[as_carol]
    assert "Items" in found[as_bob] and not {"Settings", "Download", "Annotate"} & found[as_bob]
    assert not found[as_dave] and "Settings" in found[as_sam] and "Annotate" not in found[as_sam]


def test_all_tabs_are_found(as_alice, shared):
    page = as_alice.get(shared.get_absolute_url()).text
    tabs = re.findall(r'<a href="([^"]+)"[^>]*>(\w+)</a>', page[page.index('class="tabs"') :].partition("</nav>")[0])
    assert len(tabs) == 8
    for url, name in tabs:
        assert in_project(as_alice, shared, name)["This project", name] == url


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("setti", "Settings"),
        ("members", "People"),
        ("export", "Download"),
        ("history rules", "History: Pump rules"),
        ("ontology", "Entity ontology: entity labels"),
        ("dataset figures", "Statistics: Work orders"),
        ("constraints pump", "Entity constraints: Pump rules"),
    ],
)
def test_pages_are_found_by_other_words_too(as_alice, shared, text, title):
    assert ("This project", title) in in_project(as_alice, shared, text)


def test_members_lead_to_what_they_have(as_alice, as_bob, as_carol, shared, carol, dave):
    assert in_project(as_alice, shared, "CARO") == {
        ("People", "carol"): f"/projects/{shared.pk}/items/?person={carol.pk}"
    }
    assert in_project(as_bob, shared, "alice") == {("People", "alice"): f"/projects/{shared.pk}/people/?q=alice"}
    assert in_project(as_alice, shared, "dave") == in_project(as_carol, shared, "alice") == {}
    assert "no longer" not in as_alice.get(f"/projects/{shared.pk}/items/?person={carol.pk}").text


@pytest.mark.parametrize("project", ["", "0", "x", "9" * 30])
def test_what_is_no_project_has_no_pages(as_alice, shared, project):
    hits = as_alice.get("/find/", {"q": "items", "project": project}).json()["hits"]
    assert not any(hit["kind"] in ("This project", "People") for hit in hits)


def test_answers_of_the_help_are_found_by_their_questions_and_hidden_words(as_carol):
    def answers(text):
        hits = as_carol.get("/find/", {"q": text}).json()["hits"]
        return {hit["title"]: hit["url"] for hit in hits if hit["kind"] == "Help"}

    page = as_carol.get("/help/").text
    for text in ("synchronise blueprint", "how do", "register"):
        assert 0 < len(answers(text)) <= 6
        for title, url in answers(text).items():
            path, _, anchor = url.partition("#")
            assert path == "/help/" and f'id="{anchor}"><h3><a href="#{anchor}">{title}</a>' in page
    assert answers("nothing of that") == {}


def test_members_and_pages_take_the_same_queries_with_many(as_alice, shared):
    shared.add_members([factories.user("person")])
    in_project(as_alice, shared, "person")
    few = len(queries_of(in_project, as_alice, shared, "person"))
    shared.add_members([factories.user(f"person{n}") for n in range(9)])
    assert len(queries_of(in_project, as_alice, shared, "person")) == few
    assert len([kind for kind, _ in in_project(as_alice, shared, "person") if kind == "People"]) == 6
