"""What people decided about nodes comes back with a bundle, whatever is wrong in it is told, and then nothing is stored."""

import json

import pytest

from annotation_service.inputs import Refused
from graph.counting import refresh
from graph.models import Graph, GraphChange, NotSame, SurfaceForm
from projects.bundle_import import import_bundle
from projects.models import Project
from tests import factories, faults
from tests.graph.conftest import form, forms_of_nodes
from tests.graph.test_counting import check
from tests.graph.test_life import decided, said  # noqa: F401
from tests.projects.test_bundle_import import contents, files_of, packed, written


def test_what_was_decided_comes_back_and_is_written_again(decided, project, alice, bob):  # noqa: F811
    before = contents(written(project))
    made = import_bundle(written(project), manager=bob)
    assert said(made) == said(project)
    assert contents(written(made))["nodes.json"] == before["nodes.json"]
    assert {name: before["manifest.json"]["counts"][name] for name in ("edited_forms", "not_same")} == {
        "edited_forms": 4,
        "not_same": 1,
    }
    graph = Graph.of(made)
    assert (graph.version, graph.signature, graph.counted_at) == (0, "", None)
    assert not GraphChange.objects.filter(graph=graph) and not faults.orphans()
    refresh(graph)
    check(graph)
    assert contents(written(made))["nodes.json"] == before["nodes.json"]
    graph.split([form(graph, "thermostats")], by=bob)
    assert forms_of_nodes(graph) == [] and len(forms_of_nodes(decided)) == 1


def test_the_file_is_read_by_people(decided, project):  # noqa: F811
    settings, thermostat, *_, apart = files_of(project)["nodes.json"]
    assert settings == {"kind": "graph", "stem": "", "prefix": "pumps", "namespace": "https://example.org/graph/"}
    label = "PhysicalObject/SensingObject/Thermostat"
    named = {"name": "Regulator", "iri": "https://example.org/r", "external_id": ""}
    assert thermostat == {"kind": "form", "label": label, "form": "thermostat", "words": "", "node": None, **named}
    [other] = [each for each in files_of(project)["nodes.json"] if each.get("node")]
    assert (other["form"], other["node"]) == ("thermostats", {"label": label, "form": "thermostat"})
    assert {each["form"] for each in (apart["one"], apart["other"])} == {"pump", "pump oil"}


def test_the_journal_is_left_out_and_counted(decided, project):  # noqa: F811
    [told] = [each for each in files_of(project)["manifest.json"]["left_out"] if each["what"] == "changes of nodes"]
    assert told["count"] == decided.changes.count() == 5


def test_bundles_of_before_have_no_nodes(decided, project, bob):  # noqa: F811
    files = files_of(project)
    del files["nodes.json"]
    made = import_bundle(packed(files), manager=bob)
    assert not Graph.objects.filter(dataset=made.dataset).exists()
    assert files_of(made)["nodes.json"] == []


def test_what_was_decided_about_stemmed_forms_comes_back(decided, project, bob):  # noqa: F811
    decided.edit(stem="english")
    refresh(decided)
    decided.name_node(form(decided, "not work"), name="Broken", by=bob)
    made = import_bundle(written(project), manager=bob)
    assert said(made) == said(project)
    assert SurfaceForm.objects.get(graph__dataset=made.dataset, name="Broken").words == "not working"


def entry(kind, place=0):
    return lambda entries: [each for each in entries if each["kind"] == kind][place]


def put(kind, place=0, **values):
    return lambda entries: entry(kind, place)(entries).update(values)


UNKNOWN = {"label": "State", "form": "unknown"}
PUMP = {"label": "PhysicalObject", "form": "pump"}
THERMOSTATS = {"label": "PhysicalObject/SensingObject/Thermostat", "form": "thermostats"}
BAD = {
    "entry 1: Words are stemmed in one of": put("graph", stem="klingon"),
    "entry 1: A prefix has": put("graph", prefix="1"),
    "entry 1: A namespace is": put("graph", namespace="https://example.org"),
    "entry 1, $": put("graph", stem=1),
    "entry 7: This stands here twice": lambda entries: entries.append(entries[0]),
    "entry 2: “No/such” is not a label": put("form", label="No/such"),
    "entry 2: An IRI begins": put("form", iri="x y"),
    "entry 2: A name has at most": put("form", name="x" * 5000),
    "item 2, $.words: NUL": put("form", words="a\0"),
    "entry 2: There is nothing in it": put("form", form=" "),
    "entry 2, $": put("form", form=""),
    "entry 2, $: ": put("form", digest="0" * 32),
    "entry 2: Its node stands nowhere": put("form", node=UNKNOWN),
    "entry 2: Its node stands nowhere here, or belongs": put("form", node=THERMOSTATS),
    "entry 3: “Gone” is not a label": put("form", 1, node={"label": "Gone", "form": "x"}),
    "entry 7: This stands here twice: ": lambda entries: entries.append(entries[2]),
    "entry 6: One of them stands": put("not the same", one=UNKNOWN),
    "entry 6: One of them stands nowhere here, or both": put("not the same", one=PUMP, other=PUMP),
    "entry 7: This stands here twice: a": lambda entries: entries.append(
        {**entries[-1], "one": entries[-1]["other"], "other": entries[-1]["one"]}
    ),
}


@pytest.mark.parametrize("why", BAD)
def test_what_is_wrong_is_told_with_its_entry_and_nothing_is_stored(decided, project, bob, why):  # noqa: F811
    files, before = json.loads(json.dumps(files_of(project))), faults.rows()
    BAD[why](files["nodes.json"])
    with pytest.raises(Refused) as refused:
        import_bundle(packed(files), manager=bob)
    assert str(refused.value.problems[0]).startswith(f"nodes.json, {why}")
    assert faults.rows() == before


def test_a_form_that_belongs_to_itself_is_refused(decided, project, bob):  # noqa: F811
    files = files_of(project)
    own = entry("form")(files["nodes.json"])
    own["node"] = {name: own[name] for name in ("label", "form")}
    with pytest.raises(Refused, match=r"nodes\.json, entry 2: Its node"):
        import_bundle(packed(files), manager=bob)


def test_relations_have_no_nodes(decided, project, bob):  # noqa: F811
    files = files_of(project)
    put("form", label="hasPart")(files["nodes.json"])
    with pytest.raises(Refused, match="not a label of entity_ontology"):
        import_bundle(packed(files), manager=bob)


def test_a_project_that_nobody_looked_at_as_a_graph_has_none(alice, bob, carol):
    project = factories.project(by=alice, annotators=[carol])
    assert files_of(project)["nodes.json"] == []
    import_bundle(written(project), manager=bob)
    assert not Graph.objects.exists() and not NotSame.objects.exists() and Project.objects.count() == 2
