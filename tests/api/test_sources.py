"""Suggestions that programs bring by the API: what is made, refused, withdrawn, and what became of it."""

import pytest

from api.models import Token
from datasets.models import Entity
from tests import factories
from tests.api.asks import request


@pytest.fixture
def project(alice):
    return factories.project(by=alice)


@pytest.fixture
def ask(project, alice):
    token = Token.make(alice, "t", scope="manage")[1]

    def ask(method, path, body=None):
        return request(method, f"/api/v1/projects/{project.pk}/sources{path}", token, body).json()

    return ask


def line(item, *marks):
    entities = ", ".join(
        f'{{"start": {start}, "end": {end}, "label": "{label}", "score": 0.5}}' for start, end, label in marks
    )
    return f'{{"id": {item.pk}, "entities": [{entities}]}}'


def test_what_a_program_suggests_is_made_once_and_withdrawn_when_it_is_not_said_again(ask, project):
    first, second = project.dataset.items()[:2]
    label = project.entity_ontology.items().first().uid
    body = f"{line(first, (0, 0, label))}\n\n{line(second, (0, 0, label), (0, 99, label))}\nno json\n".encode()
    told = ask("PUT", "/tagger/suggestions?model_version=1", body)
    assert (told["made"], told["unchanged"], told["withdrawn"]) == (2, 0, 0)
    assert [(each["line"], each["place"]) for each in told["refused"]] == [(3, "$.entities[1]"), (4, "$")]
    assert ask("PUT", "/tagger/suggestions?model_version=1", body)["unchanged"] == 2
    told = ask("PUT", "/tagger/suggestions?model_version=2&finish=1", line(first).encode())
    assert told["withdrawn"] == 2 and not Entity.objects.filter(suggested_by__name="tagger")
    [source] = ask("GET", "")["results"]
    assert (source["name"], source["version"], source["kind"], source["is_on"]) == ("tagger", "2", "program", True)


def test_a_source_that_is_off_suggests_nothing(ask, project):
    item, label = project.dataset.items().first(), project.entity_ontology.items().first()
    body = line(item, (0, 0, label.uid)).encode()
    ask("PUT", "/tagger/suggestions", body)
    [figures] = ask("GET", "/tagger")["labels"]
    assert (figures["label"], figures["made"], figures["open"]) == (label.name, 1, 1)
    assert ask("PATCH", "/tagger", {"is_on": False})["is_on"] is False
    assert ask("GET", "/tagger")["labels"] == []
    assert ask("PUT", "/tagger/suggestions", body)["status"] == 422
    assert ask("PATCH", "/tagger", {"is_on": True})["is_on"] is True
    assert ask("PUT", "/tagger/suggestions", body)["made"] == 1


def test_names_of_the_services_own_sources_are_refused(ask, project):
    assert ask("PUT", "/History/suggestions", b"")["status"] == 422
