"""Constraints and preannotations in projects, in the bundle and in the shell."""

import io
import json
import zipfile

import pytest
from django.core.management import call_command

from annotation_service.inputs import Refused
from projects import bundle
from projects.models import Project
from resources.models import FORMATS, RESOURCE_SETS, ConstraintSet, PreannotationSet
from tests import factories
from tests.queries import queries_of
from tests.resource_sets import DOCUMENTS, document_of, make

pytestmark = pytest.mark.usefixtures("with_preannotations")


@pytest.fixture
def blueprints(alice, labels):
    return [make(format, owner=alice, **labels) for format in FORMATS]


def create(by, labels, resources=(), **options):
    return factories.project(by=by, resources=resources, **labels | options)


def content(project):
    return {resource.format: document_of(resource) for resource in project.resources()}


def read_bundle(project):
    target = io.BytesIO()
    bundle.write(project, target)
    with zipfile.ZipFile(target) as archive:
        return {name: json.loads(archive.read(name)) for name in archive.namelist()}


# --- Copies in projects ---


def test_a_project_gets_copies_about_its_own_labels(alice, labels, blueprints):
    project = create(alice, labels, blueprints)
    assert content(project) == DOCUMENTS
    for resource in project.resources():
        assert resource.project == project and resource.copied_from in blueprints
        assert resource.entity_ontology == project.entity_ontology
        assert resource.relation_ontology in (None, project.relation_ontology)


@pytest.mark.parametrize("place", range(4))
def test_a_project_has_at_most_one_of_each_kind(alice, labels, blueprints, place):
    twin = blueprints[place].copy_to(by=alice)
    with pytest.raises(Refused, match=f"The project “Pumps” has its {twin.kind_in_words} already."):
        create(alice, labels, [*blueprints, twin])
    assert not Project.objects.exists() and not any(m.objects.exclude(project=None).exists() for m in RESOURCE_SETS)


def test_resources_can_be_added_once(alice, labels, blueprints):
    project = create(alice, labels)
    for blueprint in blueprints:
        copy = project.use(blueprint, by=alice)
        assert copy.project == project and document_of(copy) == DOCUMENTS[blueprint.format]
        with pytest.raises(Refused, match="already"):
            project.use(blueprint, by=alice)
    assert content(project) == DOCUMENTS
    project.refresh_from_db()
    assert project.task == "entities_and_relations"


def test_adding_constraints_does_not_change_the_task(alice, labels, blueprints):
    project = create(alice, labels, relations=False)
    project.use(blueprints[0], by=alice)
    project.refresh_from_db()
    assert project.task == "entities"


def test_what_is_about_relations_needs_a_relation_ontology(alice, labels, blueprints):
    project = create(alice, labels, relations=False)
    with pytest.raises(Refused, match="the project needs a relation ontology first"):
        project.use(blueprints[1], by=alice)
    project.use(labels["relations"], by=alice)
    project.use(blueprints[1], by=alice)
    assert list(content(project)) == ["relation_constraints"]


def test_constraints_are_replaced_and_taken_away(alice, labels, blueprints):
    project = create(alice, labels, blueprints[:2])
    first = project.constraint_sets()[0]
    twin = make(
        "entity_constraints", owner=alice, document=[{"domain": "State", "excludes": []}], name="Twin", **labels
    )
    assert project.put_set(twin, by=alice) is None
    assert [str(each) for each in project.constraint_sets()] == ["Twin", "relation constraints"]
    assert project.constraint_sets()[0].copied_from == twin and not ConstraintSet.objects.filter(pk=first.pk).exists()
    project.take_set_away(ConstraintSet, "entity", by=alice)
    assert [str(each) for each in project.constraint_sets()] == ["relation constraints"]
    assert document_of(blueprints[0]) == DOCUMENTS["entity_constraints"]


def test_what_cannot_replace_them_leaves_them(alice, labels, blueprints):
    project = create(alice, labels, blueprints[:1])
    other = factories.ontology(owner=alice, name="Other", items=[{"name": "Fan"}])
    document = [{"domain": "Fan", "excludes": []}]
    stranger = make("entity_constraints", owner=alice, entities=other, relations=None, document=document)
    with pytest.raises(Refused, match="does not have"):
        project.put_set(stranger, by=alice)
    assert [each.copied_from for each in project.constraint_sets()] == blueprints[:1]


@pytest.mark.parametrize("place", range(4))
def test_the_projects_ontologies_must_have_the_labels(alice, labels, blueprints, place):
    other = factories.ontology(owner=alice, name="Other", items=[{"name": "State"}])
    with pytest.raises(Refused, match="which “Other” does not have"):
        create(alice, {**labels, "entities": other}, [blueprints[place]])
    assert not Project.objects.exists()


@pytest.mark.parametrize("place", range(4))
def test_any_ontologies_that_cover_the_labels_by_full_name_will_do(alice, labels, blueprints, place):
    """Not the bare name: elsewhere in the tree it is another label."""
    others = {name: factories.ontology(owner=alice, kind=o.kind, name="Other") for name, o in labels.items()}
    project = create(alice, others, [blueprints[place]])
    assert content(project) == {blueprints[place].format: DOCUMENTS[blueprints[place].format]}
    items = [{"name": "Things", "children": factories.ENTITIES}]
    deeper = factories.ontology(owner=alice, name="Deeper", items=items)
    with pytest.raises(Refused, match="which “Deeper” does not have"):
        create(alice, {**labels, "entities": deeper}, [blueprints[place]])


def test_a_copy_of_the_ontology_will_do(alice, labels, blueprints):
    """What counts are the uids of the items: names and places may have changed."""
    twin = labels["entities"].copy_to(by=alice, name="Twin")
    twin.items().get(name="State").rename("Condition", by=alice)
    project = create(alice, {**labels, "entities": twin}, blueprints)
    domains = [row["domain"] for row in content(project)["entity_constraints"]]
    assert domains == ["PhysicalObject", "Condition", "Activity/Replace"]


def test_preannotations_stay_outside_while_they_are_off(alice, labels, blueprints, settings):
    project = create(alice, labels)
    settings.PREANNOTATION_RESOURCES = False
    for blueprint in blueprints[2:]:
        with pytest.raises(Refused, match="The setting PREANNOTATION_RESOURCES enables them"):
            project.use(blueprint, by=alice)
        with pytest.raises(Refused, match="The setting PREANNOTATION_RESOURCES enables them"):
            create(alice, labels, [blueprint])
    project.use(blueprints[0], by=alice)
    assert not PreannotationSet.objects.exclude(project=None).exists()


def test_they_go_with_the_project(alice, labels, blueprints):
    kept = create(alice, labels, blueprints)
    project = create(alice, labels, blueprints)
    for resource in project.resources():
        with pytest.raises(Refused, match="goes when the project is deleted"):
            resource.erase()
    project.erase()
    assert content(kept) == DOCUMENTS
    assert [model.objects.count() for model in RESOURCE_SETS] == [4, 4]
    kept.erase()
    for model in RESOURCE_SETS:
        for rows in model.row_models.values():
            assert not rows.objects.exclude(resource_set__project=None).exists()


# --- The bundle ---


def test_the_bundle_has_them_in_their_download_format(alice, labels, blueprints):
    project = create(alice, labels, blueprints)
    project.entity_ontology.items().get(name="State").rename("Condition", by=alice)
    files = read_bundle(project)
    assert {format: files[f"{format}.json"] for format in FORMATS} == content(project) != DOCUMENTS
    assert files["entity_constraints.json"][1]["domain"] == "Condition"
    counts = files["manifest.json"]["counts"]
    assert {format: counts[format] for format in FORMATS} == {f: len(DOCUMENTS[f]) for f in FORMATS}
    assert {f"{format}.json" for format in FORMATS} <= set(files["manifest.json"]["files"])


def test_what_was_made_is_exported_while_preannotations_are_off(alice, labels, blueprints, settings):
    project = create(alice, labels, blueprints)
    settings.PREANNOTATION_RESOURCES = False
    assert read_bundle(project)["entity_preannotations.json"] == DOCUMENTS["entity_preannotations"]
    assert read_bundle(project)["manifest.json"]["ignoring_case"] == []
    project.preannotation_sets().filter(kind="relation").update(ignore_case=True)
    assert read_bundle(project)["manifest.json"]["ignoring_case"] == ["relation_preannotations"]


def test_a_download_takes_no_more_queries_with_more_rows(alice, labels):
    counts = []
    for size in (1, 40):
        document = [{"surface_form": f"word {n}", "label": "State"} for n in range(size)]
        resource = make("entity_preannotations", owner=alice, document=document, **labels)
        counts.append(len(queries_of(document_of, resource)))
    assert counts[0] == counts[1]


# --- The shell ---


@pytest.fixture
def file(tmp_path):
    def write(document):
        path = tmp_path / "document.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    return write


def imported(path, labels, format, **options):
    relations = {"relation_ontology": labels["relations"].pk} if format.startswith("relation") else {}
    given = {"name": "Rules", "owner": "alice", "entity_ontology": labels["entities"].pk} | relations | options
    call_command("import_resource", path, kind=format, **given)


def test_import_warns_of_labels_that_are_off(alice, labels, file, capsys):
    factories.item(labels["entities"], "State").switch(False, by=alice)
    path = file([{"domain": "State", "excludes": []}])
    imported(path, labels, "entity_constraints")
    out, errors = capsys.readouterr()
    assert ConstraintSet.objects.get(pk=out.splitlines()[-1]).row_count == 1
    assert errors.startswith(f"{path}: item 1, $.domain: “State” is switched off in “entity labels”")


@pytest.mark.parametrize("format", FORMATS)
def test_import_prints_the_id_as_the_last_line_and_export_gives_the_document_back(
    alice, labels, file, format, capsys, tmp_path
):
    imported(file(DOCUMENTS[format]), labels, format)
    first, last = capsys.readouterr().out.splitlines()
    resource = FORMATS[format][0].objects.get(pk=last)
    assert first == f"“Rules”: {resource.content_in_words()}."
    assert (resource.owner, resource.name, resource.kind) == (alice, "Rules", FORMATS[format][1])
    call_command("export", format.split("_")[1], resource.pk, output=tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text()) == DOCUMENTS[format]


@pytest.mark.parametrize(
    ("document", "options", "words"),
    [
        ([{"domain": "State"}], {}, "document.json: item 1: “excludes” is missing."),
        ("", {}, "document.json: There is nothing in it: the text is empty."),
        ([], {"owner": "nobody"}, "There is no active user “nobody”."),
        ([], {"entity_ontology": 999}, "There is no ontology blueprint with the id 999."),
        ([], {"relation_ontology": 999}, "There is no ontology blueprint with the id 999."),
        ([], {"name": "a\x07b"}, "A name cannot contain control characters."),
    ],
)
def test_import_refuses_with_the_reason(alice, labels, file, capsys, document, options, words):
    with pytest.raises(SystemExit) as stop:
        imported(file(document), labels, "entity_constraints", **options)
    assert stop.value.code == 1
    printed = capsys.readouterr()
    assert printed.out == "" and words in printed.err
    assert not ConstraintSet.objects.exists()


def test_import_refuses_preannotations_while_they_are_off(alice, labels, file, capsys, settings):
    settings.PREANNOTATION_RESOURCES = False
    with pytest.raises(SystemExit):
        imported(file([]), labels, "entity_preannotations")
    assert "The setting PREANNOTATION_RESOURCES enables them" in capsys.readouterr().err
    assert not PreannotationSet.objects.exists()


def test_a_project_is_created_with_them(alice, labels, blueprints, capsys):
    constraints, preannotations = blueprints[:2], blueprints[2:]
    options = {
        "name": "Pumps",
        "manager": "alice",
        "dataset": factories.dataset(owner=alice).pk,
        "entity_ontology": labels["entities"].pk,
        "relation_ontology": labels["relations"].pk,
        "preannotations": [resource.pk for resource in preannotations],
    }
    call_command("create_project", constraints=[resource.pk for resource in constraints], **options)
    assert content(Project.objects.get()) == DOCUMENTS
    with pytest.raises(SystemExit):
        call_command("create_project", constraints=[999], **options)
    assert "There is no constraint set blueprint with the id 999." in capsys.readouterr().err
    assert Project.objects.count() == 1


def test_the_page_of_a_project_lists_its_constraints(as_alice, alice, labels, blueprints):
    project = create(alice, labels, blueprints)
    page = " ".join(as_alice.get(project.get_absolute_url()).text.split())
    for resource in project.resources():
        assert f"{resource.name}</a> <span" in page and resource.content_in_words() in page
