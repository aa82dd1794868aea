"""What preannotations suggest on the items of a project, and what becomes of it."""

from contextlib import suppress

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection

from annotation_service import jobs
from annotation_service.db import execute, write
from annotation_service.inputs import Refused
from annotation_service.models import Job, JobState
from datasets.models import Annotation, Entity, Relation, TextCorrection
from datasets.models.correction import cut_anew
from projects.models import Project
from resources.models import PreannotationSet
from tests import factories, faults
from tests.annotations.test_constraints import constrain
from tests.resource_sets import make
from tests.soak import amount
from tests.threads import at_once
from work import placing as matching
from work.suggestions.decisions import Figures, figures_of

TEXT = "check engine oil pump\nOil pump broken\nreplace the oil pump of the engine\n"
ENTITIES = [
    {"surface_form": "oil pump", "label": "PhysicalObject"},
    {"surface_form": "engine", "label": "PhysicalObject/DrivingObject"},
    {"surface_form": "engine", "label": "State"},
    {"surface_form": "oil", "label": "State"},  # only inside a longer form
]
RELATIONS = [
    {
        "source_surface_form": "replace",
        "source_label": "Activity/Replace",
        "target_surface_form": "oil pump",
        "target_label": "PhysicalObject",
        "offset": 1,
        "label": "hasParticipant/hasPatient",
    }
]


pytestmark = pytest.mark.usefixtures("with_preannotations")


@pytest.fixture
def blueprints(alice, labels):
    """``blueprints(entities, relations)``: preannotation sets about the labels of `project`."""

    def made(entities=None, relations=None, **fields):
        documents = {"entity_preannotations": entities, "relation_preannotations": relations}
        sets = [make(f, owner=alice, document=d, **labels) for f, d in documents.items() if d is not None]
        PreannotationSet.objects.filter(pk__in=[each.pk for each in sets]).update(**fields)
        return list(PreannotationSet.objects.filter(pk__in=[each.pk for each in sets]).order_by("kind"))

    return made


@pytest.fixture
def project(alice, carol, dave, labels):
    return factories.project(by=alice, text=TEXT, annotators=[carol, dave], **labels)


def marks(project, annotator=None, status="suggested", origin="preannotation"):
    """The marks of all items, as “1 oil pump PhysicalObject” and “1 replace hasPatient oil pump”."""
    which = {"annotation__item__dataset__project": project, "annotation__annotator": annotator}
    which |= {"status": status, "origin": origin, "annotation__item__removed_at": None}
    found = [
        f"{e.annotation.item.number} {e.annotation.item.cleaned.between(e.start, e.end)} {e.label.name}"
        for e in Entity.objects.filter(**which).order_by("annotation__item__position", "start", "label")
    ]
    for r in Relation.objects.filter(**which).order_by("annotation__item__position", "source__start"):
        between = r.annotation.item.cleaned.between
        ends = between(r.source.start, r.source.end), between(r.target.start, r.target.end)
        found.append(f"{r.annotation.item.number} {ends[0]} {r.label.name} {ends[1]}")
    return found


def put(project, sets, by):
    for each in sets:
        assert project.put_set(each, by=by) is None


def mark(project, number, annotator):
    """``mark(…)("oil pump", "PhysicalObject")``: that mark of somebody's on an item."""
    annotation = Annotation.start(project.dataset.items()[number - 1], annotator)

    def find(text, label):
        between = annotation.item.cleaned.between
        return next(e for e in annotation.entity_set.filter(label__name=label) if between(e.start, e.end) == text)

    return find


FOUND = ["1 engine DrivingObject", "1 engine State", "1 oil pump PhysicalObject"]
FOUND_BELOW = ["3 oil pump PhysicalObject", "3 engine DrivingObject", "3 engine State"]


def test_entities_are_suggested_on_the_given_annotations(project, alice, blueprints):
    put(project, blueprints(ENTITIES), alice)
    assert marks(project) == [*FOUND, *FOUND_BELOW]
    assert project.preannotation_sets().get().is_matched
    assert not Annotation.objects.exclude(annotator=None).exists()


def test_case_is_ignored_if_the_set_says_so(project, alice, blueprints):
    put(project, blueprints(ENTITIES, ignore_case=True), alice)
    assert marks(project) == [*FOUND, "2 Oil pump PhysicalObject", *FOUND_BELOW]


def test_forms_go_through_the_preprocessing_of_the_dataset(alice, blueprints, labels):
    dataset = factories.dataset(
        owner=alice, text="The Oil-Pump, (broken)", tokeniser="punkt", lowercase=True, remove_characters="-"
    )
    project = Project.create(name="P", by=alice, dataset=dataset, entity_ontology=labels["entities"])
    forms = ["OIL-PUMP,", "(Broken", "---"]
    put(project, blueprints([{"surface_form": form, "label": "State"} for form in forms]), alice)
    assert marks(project) == ["1 oilpump, State", "1 (broken State"]


def test_a_relation_is_suggested_with_its_missing_ends(project, alice, blueprints):
    put(project, blueprints(None, RELATIONS), alice)
    assert marks(project) == ["3 replace Replace", "3 oil pump PhysicalObject", "3 replace hasPatient oil pump"]
    put(project, blueprints(ENTITIES), alice)
    assert marks(project) == [*FOUND, "3 replace Replace", *FOUND_BELOW, "3 replace hasPatient oil pump"]


def test_what_an_annotator_begins_with_is_decided_for_good(project, alice, carol, blueprints):
    put(project, blueprints(ENTITIES), alice)
    find = mark(project, 1, carol)
    find("engine", "State").remove()
    find("oil pump", "PhysicalObject").accept()
    assert marks(project, carol) == ["1 engine DrivingObject"]
    project.match_preannotations(by=alice)
    put(project, blueprints(ENTITIES), alice)  # another set
    assert marks(project, carol) == ["1 engine DrivingObject"]
    assert marks(project, carol, "accepted") == ["1 oil pump PhysicalObject"]
    assert marks(project) == [*FOUND, *FOUND_BELOW]


@pytest.mark.parametrize("way", ["remove", "accept and remove", "relabel", "resize"])
def test_what_was_rejected_in_any_way_is_not_suggested_again(project, alice, carol, blueprints, way):
    put(project, blueprints(ENTITIES), alice)
    suggested = mark(project, 1, carol)("oil pump", "PhysicalObject")
    if way == "accept and remove":
        suggested.accept()
    if way in ("remove", "accept and remove"):
        suggested.remove()
    elif way == "relabel":
        suggested.relabel(factories.item(project.entity_ontology, "Activity"))
    else:
        suggested.resize(3, 3)
    Entity.objects.filter(status="rejected").delete()  # the mark need not be there
    [own] = project.preannotation_sets()
    removed = own.rows().filter(surface_form="oil pump")
    own.remove_rows(removed, by=alice)
    project.match_preannotations(by=alice)
    own.undo(by=alice)
    assert not own.is_matched
    project.match_preannotations(by=alice)
    assert not any("oil pump PhysicalObject" in each for each in marks(project, carol))
    assert marks(project) == [*FOUND, *FOUND_BELOW]


def test_a_rejected_relation_and_a_rejected_end_stay_away(project, alice, carol, dave, blueprints):
    put(project, blueprints(ENTITIES, RELATIONS), alice)
    annotation = Annotation.start(project.dataset.items()[2], carol)
    annotation.relation_set.get().remove()
    mark(project, 3, dave)("replace", "Replace").remove()
    for _ in range(2):
        project.match_preannotations(by=alice)
        assert [each for each in marks(project, carol) if "hasPatient" in each] == []
        assert [each for each in marks(project, dave) if "replace" in each] == []
    # What was decided stays, and so does its end, when nothing finds it any more.
    project.take_set_away(PreannotationSet, "relation", by=alice)
    assert marks(project, carol) == ["3 replace Replace", *FOUND_BELOW]
    assert marks(project, dave) == FOUND_BELOW
    assert marks(project) == [*FOUND, *FOUND_BELOW]


def test_they_are_added_to_what_was_begun_and_not_to_what_is_finished(project, alice, carol, dave, blueprints):
    items = project.dataset.items()
    label = factories.item(project.entity_ontology, "Activity")
    for person in (carol, dave):
        Annotation.start(items[0], person).add_entity(uid="own", label=label, start=0, end=0)
    Annotation.start(items[0], dave).finish()
    put(project, blueprints(ENTITIES), alice)
    assert marks(project, carol) == FOUND
    assert marks(project, dave) == []
    assert Annotation.start(items[0], dave).entity_set.count() == 1


def test_what_is_there_already_is_not_suggested_on_top(project, alice, carol, blueprints):
    annotation = Annotation.start(project.dataset.items()[0], carol)
    label = factories.item(project.entity_ontology, "PhysicalObject")
    annotation.add_entity(uid="own", label=label, start=2, end=3)
    put(project, blueprints(ENTITIES), alice)
    assert marks(project, carol) == FOUND[:2]
    assert marks(project, carol, "accepted", "person") == ["1 oil pump PhysicalObject"]


def test_what_breaks_a_rule_against_accepted_marks_is_told_as_a_number(project, alice, carol, blueprints):
    constrain(project, entities=[{"domain": "State", "excludes": ["PhysicalObject"]}], relations=[])
    annotation = Annotation.start(project.dataset.items()[0], carol)
    label = factories.item(project.entity_ontology, "PhysicalObject")
    annotation.add_entity(uid="own", label=label, start=0, end=1)
    put(project, blueprints(ENTITIES), alice)
    assert marks(project, carol) == ["1 engine DrivingObject", "1 oil pump PhysicalObject"]
    assert FOUND[1] in marks(project)
    outcome = project.suggest()
    assert (outcome.entities, outcome.relations, outcome.against_rules) == (6, 0, 1)
    assert (
        outcome.in_words()
        == "The preannotations suggest 6 entities and 0 relations; 1 more would break the constraints."
    )


def test_suggestions_stand_only_where_there_is_room(project, alice, carol, blueprints, settings):
    annotation = Annotation.start(project.dataset.items()[0], carol)
    for name in ("Activity", "PhysicalObject"):
        annotation.add_entity(uid=name, label=factories.item(project.entity_ontology, name), start=1, end=1)
    settings.MAX_TOKEN_MARKS = 3
    put(project, blueprints(ENTITIES), alice)  # two for “engine”, which has room for one
    assert annotation.entity_set.filter(start=1).count() == 3 and annotation.entity_set.count() == 4
    assert [project.suggest().crowded for _ in "ab"] == [1, 1] and annotation.entity_set.count() == 4
    assert "; 1 more would share a word with too many others." in project.suggest().in_words()
    assert len(marks(project)) == 6  # nobody's: beside nothing


def test_a_relation_that_no_rule_allows_is_not_suggested(project, alice, blueprints):
    constrain(project, entities=[], relations=[{"relation": "hasPatient", "domain": "State", "range": []}])
    put(project, blueprints(None, RELATIONS), alice)
    assert marks(project) == []
    assert project.suggest().against_rules == 1


def test_items_that_come_later_get_theirs(project, alice, carol, blueprints):
    put(project, blueprints(ENTITIES, RELATIONS), alice)
    factories.upload(
        "one more oil pump\n", by=alice, options={"kind": "standard", "format": "text"}, dataset=project.dataset
    ).store()
    assert marks(project)[-2:] == ["4 oil pump PhysicalObject", "3 replace hasPatient oil pump"]
    first = project.dataset.items().filter(position=0)
    project.dataset.remove(first, by=alice)
    own = project.preannotation_sets().get(kind="entity")
    own.remove_rows(own.rows().filter(surface_form="engine"), by=alice)
    project.match_preannotations(by=alice)
    assert not any("engine" in each for each in marks(project))
    project.dataset.restore(project.dataset.bin())
    assert marks(project)[0] == "1 oil pump PhysicalObject"


def test_taking_a_set_away_takes_what_nobody_touched(project, alice, carol, blueprints):
    put(project, blueprints(ENTITIES, RELATIONS), alice)
    find = mark(project, 1, carol)
    find("oil pump", "PhysicalObject").accept()
    find("engine", "State").remove()
    project.take_set_away(PreannotationSet, "entity", by=alice)
    assert marks(project) == ["3 replace Replace", "3 oil pump PhysicalObject", "3 replace hasPatient oil pump"]
    assert marks(project, carol) == []
    assert marks(project, carol, "accepted") == ["1 oil pump PhysicalObject"]
    project.take_set_away(PreannotationSet, "relation", by=alice)
    assert marks(project) == [] and not project.preannotation_sets().exists()


def test_a_label_that_is_off_is_not_suggested(project, alice, blueprints):
    factories.item(project.entity_ontology, "State").switch(False, by=alice)
    put(project, blueprints(ENTITIES), alice)
    assert not any("State" in each for each in marks(project)) and marks(project)


def test_while_they_are_off_nothing_changes_and_what_is_there_can_be_decided(
    project, alice, carol, blueprints, settings
):
    put(project, blueprints(ENTITIES), alice)
    settings.PREANNOTATION_RESOURCES = False
    for verb in (project.match_preannotations, lambda by: project.take_set_away(PreannotationSet, "entity", by=by)):
        with pytest.raises(Refused, match="PREANNOTATION_RESOURCES"):
            verb(by=alice)
    factories.upload(
        "one more oil pump\n", by=alice, options={"kind": "standard", "format": "text"}, dataset=project.dataset
    ).store()
    assert marks(project) == [*FOUND, *FOUND_BELOW]
    find = mark(project, 1, carol)
    find("engine", "State").remove()
    find("oil pump", "PhysicalObject").accept()
    assert marks(project, carol) == ["1 engine DrivingObject"]


def test_a_project_is_created_with_suggestions(alice, blueprints, labels):
    project = factories.project(by=alice, text=TEXT, resources=blueprints(ENTITIES, RELATIONS), **labels)
    assert marks(project) == [*FOUND, "3 replace Replace", *FOUND_BELOW, "3 replace hasPatient oil pump"]
    assert all(each.is_matched for each in project.preannotation_sets())


def test_many_are_matched_by_a_job(project, alice, blueprints, settings):
    settings.JOB_ROWS = 3
    [blueprint] = blueprints(ENTITIES)
    job = project.put_set(blueprint, by=alice)
    assert project.match_preannotations(by=alice) == job  # one that waits does it all
    assert marks(project) == [] and not project.preannotation_sets().get().is_matched
    factories.upload(
        "one more oil pump\n", by=alice, options={"kind": "standard", "format": "text"}, dataset=project.dataset
    ).store()
    jobs.run(jobs.claim())
    job.refresh_from_db()
    assert job.state == JobState.DONE and job.result["text"].startswith("The preannotations suggest 7 entities")
    assert len(marks(project)) == 7 and project.preannotation_sets().get().is_matched
    assert jobs.claim() is None


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(not connection.features.has_select_for_update, reason="whoever writes waits for all others")
def test_a_job_that_shall_do_it_all_does_not_begin_before_all_is_there(project, alice, blueprints, settings):
    settings.JOB_ROWS = 3
    job = project.put_set(*blueprints(ENTITIES), by=alice)

    def take():
        with suppress(OperationalError), write():
            return Job.objects.select_for_update(nowait=True).get(pk=job.pk)

    with write():
        assert project.match_preannotations(by=alice) == job
        taken = at_once(take)
    assert taken == [None]


def figures(project, kind="entity"):
    own = project.preannotation_sets().get(kind=kind)
    found = figures_of(own, project.dataset)
    assert found.keys() <= set(own.rows().values_list("pk", flat=True))
    return [tuple(found.get(pk, Figures())) for pk in own.rows().values_list("pk", flat=True)]


def test_each_preannotation_is_counted(project, alice, carol, dave, blueprints):
    put(project, blueprints(ENTITIES, RELATIONS), alice)
    nothing = (0, 0, 0, 0)
    assert figures(project) == [(2, 0, 0, 2), (2, 0, 0, 2), (2, 0, 0, 2), nothing]
    assert figures(project, "relation") == [(1, 0, 0, 1)]
    find = mark(project, 1, carol)
    find("oil pump", "PhysicalObject").accept()
    find("engine", "State").remove()
    find("engine", "DrivingObject").relabel(factories.item(project.entity_ontology, "State"))
    find("engine", "State").remove()
    mark(project, 3, carol)("oil pump", "PhysicalObject")  # begun, not decided
    find = mark(project, 1, dave)
    find("oil pump", "PhysicalObject").remove()
    find("engine", "State").accept()
    Annotation.start(project.dataset.items()[2], dave).relation_set.get().accept()
    taken_back = find("engine", "State")  # accepted, removed, and made anew by hand
    taken_back.remove()
    annotation = Annotation.start(project.dataset.items()[0], dave)
    annotation.add_entity(uid="again", label=taken_back.label, start=1, end=1)
    assert figures(project) == [(2, 2, 1, 0), (2, 0, 1, 1), (2, 1, 1, 1), nothing]
    assert figures(project, "relation") == [(1, 1, 0, 0)]
    assert Figures.total([Figures(2, 1, 1, 0), Figures(1, 0, 0, 1)]) == (3, 1, 1, 1)
    assert Figures.total([]) == nothing


def test_figures_know_case_and_take_few_queries(project, alice, blueprints, django_assert_max_num_queries):
    put(project, blueprints(ENTITIES, ignore_case=True), alice)
    assert figures(project)[0] == (3, 0, 0, 3)
    own, dataset = project.preannotation_sets().get(), project.dataset
    with django_assert_max_num_queries(8):
        figures_of(own, dataset)


def test_commands_end_when_everything_is_matched(project, alice, labels, blueprints, tmp_path, capsys, settings):
    settings.JOB_ROWS = 3
    [entities] = blueprints(ENTITIES)
    keys = {f"{kind}_ontology": labels[name].pk for kind, name in NAMES.items()}
    blueprint = project.dataset.copied_from.pk
    call_command("create_project", name="P", manager="alice", dataset=blueprint, preannotations=[entities.pk], **keys)
    made = Project.objects.get(name="P")
    assert marks(made) == [*FOUND, *FOUND_BELOW]
    path = tmp_path / "more.txt"
    path.write_text("one more oil pump\n")
    call_command("import_dataset", str(path), into=made.dataset.pk, owner="alice")
    assert marks(made)[-1] == "4 oil pump PhysicalObject"
    own = made.preannotation_sets().get()
    own.remove_rows(own.rows().filter(surface_form="engine"), by=alice)
    capsys.readouterr()
    call_command("match_preannotations", str(made.pk))
    assert capsys.readouterr().out == "The preannotations suggest 3 entities and 0 relations.\n"
    assert not Job.objects.exclude(state="done").exists()
    settings.PREANNOTATION_RESOURCES = False
    with pytest.raises(SystemExit):
        call_command("match_preannotations", str(made.pk))
    assert "PREANNOTATION_RESOURCES" in capsys.readouterr().err


NAMES = {"entity": "entities", "relation": "relations"}


@pytest.mark.parametrize("point", range(8))
def test_a_failure_leaves_all_or_nothing(project, alice, carol, blueprints, monkeypatch, point):
    """Wherever it breaks off; afterwards it is done again as if nothing had been."""
    put(project, blueprints(ENTITIES), alice)
    mark(project, 1, carol)("engine", "State").remove()
    [own], [other] = project.preannotation_sets(), blueprints(None, RELATIONS)
    own.remove_rows(own.rows().filter(surface_form="engine"), by=alice)
    before = marks(project), marks(project, carol)
    calls = []

    def failing(statement, params=None):
        calls.append(statement)
        if len([each for each in calls if "datasets_" in each]) > point:
            raise RuntimeError
        return execute(statement, params)

    with monkeypatch.context() as patch:
        patch.setattr(matching, "execute", failing)
        with pytest.raises(RuntimeError):
            project.put_set(other, by=alice)
    assert (marks(project), marks(project, carol)) == before and project.preannotation_sets().count() == 1
    project.put_set(other, by=alice)
    assert marks(project) == [FOUND[2], "3 replace Replace", FOUND_BELOW[0], "3 replace hasPatient oil pump"]
    assert marks(project, carol) == [FOUND[2]]


@pytest.mark.soak
@pytest.mark.django_db(transaction=True)
def test_a_kill_at_any_moment_leaves_all_or_nothing(project, alice, carol, blueprints):
    put(project, blueprints(ENTITIES), alice)
    mark(project, 1, carol)("engine", "State").remove()
    [own], [other] = project.preannotation_sets(), blueprints(None, RELATIONS)
    own.remove_rows(own.rows().filter(surface_form="engine"), by=alice)

    def now():
        return marks(project), marks(project, carol), project.preannotation_sets().count()

    before = now()
    after = [FOUND[2], "3 replace Replace", FOUND_BELOW[0], "3 replace hasPatient oil pump"], [FOUND[2]], 2
    kills = 0
    while faults.killed_at(1 + kills * amount(9, 1), lambda: project.put_set(other, by=alice)):
        kills += 1
        assert now() in (before, after) and not faults.orphans()
    assert kills > 5 and now() == after


def test_nothing_is_suggested_on_a_text_that_is_corrected_after_it_was_read(project, alice, blueprints, monkeypatch):
    def correct(number, text):
        item = project.dataset.items()[number - 1]
        TextCorrection.make(item, cut_anew(item, text), by=alice, was_version=item.text_version)

    def correct_after(reader, *args):
        read(reader, *args)
        correct(1, "engine check oil pump")
        correct(2, "engine broken")

    correct(2, "an oil pump broken")
    read = matching.Matching.read
    monkeypatch.setattr(matching.Matching, "read", correct_after)
    put(project, blueprints(ENTITIES), alice)
    assert marks(project) == FOUND_BELOW
    monkeypatch.undo()
    project.suggest()
    assert marks(project)[:2] == ["1 engine DrivingObject", "1 engine State"]
    assert marks(project)[-len(FOUND_BELOW) - 2 : -len(FOUND_BELOW)] == ["2 engine DrivingObject", "2 engine State"]


def test_a_matching_is_a_change_of_the_marks_that_it_adds_and_withdraws_and_of_no_others(
    project, alice, carol, dave, blueprints
):
    first, _, third = project.dataset.items()
    begun = Annotation.start(first, carol)
    Annotation.start(third, dave).finish()  # gets no suggestions any more

    def revisions():
        rows = Annotation.objects.order_by("item__position", "annotator__username")
        return {(a.item.number, str(a.annotator or "")): a.revision for a in rows.select_related("item", "annotator")}

    assert revisions() == {(1, "carol"): 1, (3, "dave"): 1}
    put(project, blueprints(ENTITIES[:1]), alice)
    given = {(1, ""): 1, (2, ""): 1, (3, ""): 1}
    given.pop((2, ""))  # “Oil pump” is in another case
    assert revisions() == {**given, (1, "carol"): 2, (3, "dave"): 1}
    project.suggest()
    assert revisions() == {**given, (1, "carol"): 2, (3, "dave"): 1}
    put(project, blueprints(relations=RELATIONS), alice)
    assert revisions() == {**given, (3, ""): 2, (1, "carol"): 2, (3, "dave"): 1}
    begun.refresh_from_db()
    begun.entity_set.get().accept()  # which no preannotation takes back
    for kind in ("relation", "entity"):
        project.take_set_away(PreannotationSet, kind, by=alice)
    assert revisions() == {(1, ""): 2, (3, ""): 4, (1, "carol"): 2, (3, "dave"): 1}
