"""Nothing that hangs on a project is forgotten: each model, and each field of it, is in the bundle or left out for a reason."""

import io
import json
import zipfile

import pytest
from django.apps import apps
from django.contrib.admin.models import LogEntry

from annotation_service.models import Job, User
from projects import bundle
from projects.models import Project
from tests.projects.test_bundle_import import rich  # noqa: F401

OURS = (
    "annotation_service",
    "ontologies",
    "resources",
    "datasets",
    "work",
    "projects",
    "annotations",
    "quality",
    "graph",
    "api",
)
ANEW, HISTORY, PLACE = "counted anew", "the history is in the service alone", "told by the place in the file"
CACHE, HERE = "a cache", "of this service alone"
# Those that no file has, with the reasons.
LEFT_OUT = {
    "ontologies.OntologyChange": HISTORY,
    "resources.ConstraintChange": HISTORY,
    "resources.PreannotationChange": "its rows are named by keys; " + HISTORY,
    "datasets.TextCorrection": HISTORY + ", with all that it moved, by keys",
    "datasets.Upload": HISTORY,
    "datasets.Judged": CACHE,
    "datasets.BrokenRule": CACHE,
    "work.BatchChange": "what an undo takes back, by keys; " + HISTORY,
    "work.ItemWork": ANEW,
    "work.ItemLabel": ANEW,
    "projects.ItemCounts": ANEW,
    "projects.HandChange": "kept for a day, for an undo",
    "projects.Invitation": "an address is nobody else’s business, and a token opens this service alone",
    "quality.KeptAgreement": CACHE,
    "quality.MarkDifference": CACHE,
    "quality.AgreementReport": CACHE,
    "graph.GraphChange": HISTORY,
    "graph.CountedItem": CACHE,
    "graph.ItemNode": CACHE,
    "graph.ItemEdge": CACHE,
    "graph.NodeTotal": CACHE,
    "graph.EdgeTotal": CACHE,
    "api.Token": "it opens this service alone",
    "api.KeptAnswer": "it is told to this service’s programs again",
    "api.Webhook": "receivers know this service alone, by a secret",
    "api.Delivery": HISTORY,
}
KEYS = dict.fromkeys(
    ("id", "ontology", "resource_set", "project", "dataset", "annotation", "position", "item", "decision", "comment"),
    PLACE,
)
OWNED = {
    "owner": "whoever imports it",
    "copied_from": "blueprints are not in it",
    "deleted_at": "nothing deleted is in it",
    "updated_at": "when it was changed here last",
    "version": "of its " + HISTORY,
    "kind": "told by its name",
    "entity_ontology": "follows from the kind",
    "relation_ontology": "follows from the kind",
}
# Where the others are: objects of the bundle that have their fields.
OBJECTS = {
    "ontologies.Ontology": lambda f: f["manifest.json"]["resources"]["entity_ontology"],
    "ontologies.OntologyItem": lambda f: (
        f["entity_ontology.json"][0] | f["manifest.json"]["resources"]["entity_ontology"]
    ),
    "resources.ConstraintSet": lambda f: f["manifest.json"]["resources"]["entity_constraints"],
    "resources.PreannotationSet": lambda f: (
        f["manifest.json"]["resources"]["entity_preannotations"] | f["manifest.json"]
    ),
    "resources.EntityConstraint": lambda f: f["entity_constraints.json"][0],
    "resources.RelationConstraint": lambda f: f["relation_constraints.json"][0],
    "resources.EntityPreannotation": lambda f: f["entity_preannotations.json"][0],
    "resources.RelationPreannotation": lambda f: f["relation_preannotations.json"][0],
    "datasets.Dataset": lambda f: f["manifest.json"]["resources"]["dataset"],
    "datasets.Item": lambda f: (
        f["items.json"][0] | f["dataset.json"][0] | next(each for each in f["dataset.json"] if "external_id" in each)
    ),
    "datasets.Annotation": lambda f: f["annotations.json"][0],
    "datasets.Rejection": lambda f: f["annotations.json"][0],
    "datasets.Entity": lambda f: next(each["entities"][0] for each in f["annotations.json"] if each["entities"]),
    "datasets.Relation": lambda f: next(each["relations"][0] for each in f["annotations.json"] if each["relations"]),
    "work.Batch": lambda f: f["batches.json"][0],
    "work.Source": lambda f: f["manifest.json"]["sources"][0],
    "work.Flag": lambda f: f["annotations.json"][0] | next(e["flags"][0] for e in f["annotations.json"] if e["flags"]),
    "work.Comment": lambda f: f["annotations.json"][0] | comment(f),
    "work.Answer": lambda f: comment(f)["answers"][0],
    "projects.Project": lambda f: f["manifest.json"]["project"],
    "projects.Membership": lambda f: f["manifest.json"]["members"][0],
    "projects.FormerMember": lambda f: f["manifest.json"]["former_members"][0],
    "projects.Assignment": lambda f: next(each["given_to"][0] for each in f["items.json"] if each["given_to"]),
    "projects.Withheld": lambda f: next(each["taken_from"][0] for each in f["items.json"] if each["taken_from"]),
    "quality.GoldDecision": lambda f: decision(f),
    "quality.Verdict": lambda f: decision(f)["verdicts"][0],
    "quality.Overruled": lambda f: decision(f),
    "quality.ReviewAssignment": lambda f: f["reviewers.json"][0],
    "graph.Graph": lambda f: f["nodes.json"][0],
    "graph.SurfaceForm": lambda f: f["nodes.json"][1],
    "graph.NotSame": lambda f: f["nodes.json"][-1],
}
LISTS = {
    "resources.EntityConstraint_excludes",
    "resources.EntityConstraint_can_contain",
    "resources.RelationConstraint_range",
}
# The keys there that stand for fields of other names, or why none does.
CALLED = {
    "ontologies.OntologyItem": {
        "uid": "id",
        "parent": "children",
        **dict.fromkeys(("tree_id", "lft", "rght", "level"), "children"),
    },
    "resources.EntityConstraint": {"limits_contents": "can_contain"},
    "resources.EntityPreannotation": {"search_text": ANEW},
    "resources.RelationPreannotation": {"search_text": ANEW},
    "resources.PreannotationSet": {"ignore_case": "ignoring_case", "matched_version": "is_matched"},
    "datasets.Dataset": {"item_count": ANEW, "token_count": ANEW, "kind": "kind"},
    "datasets.Item": {
        "position": "position",
        "search_text": ANEW,
        "token_count": ANEW,
        "removed_at": "removed items are left out, and counted",
        "removed_by": "removed items are left out, and counted",
        "text_version": "corrections are left out, and counted",
    },
    "datasets.Annotation": dict.fromkeys(("revision", "counted", "accepted", "suggested", "touched_at"), ANEW)
    | {"layer": PLACE},
    "datasets.Rejection": {"what": "rejected"},
    "datasets.Entity": {"uid": "id", "words_key": ANEW},
    "datasets.Relation": {"uid": "id", "source": "source_id", "target": "target_id"},
    "work.Batch": {
        "person": "annotator",
        "label": "label_id",
        "job": HERE,
        "search_text": ANEW,
        "asked": "items by keys; " + HISTORY,
    },
    "work.Flag": {"person": "annotator"},
    "work.Comment": {
        "person": "annotator",
        "kind": "about",
        "uid": "mark_id",
        "last_by": "answers",
        "last_at": "answers",
    },
    "projects.Project": {
        "created_by": "whoever imports it",
        "updated_at": "when it was changed here last",
        "review_key": CACHE,
        "deleted_at": "nothing deleted is in it",
    },
    "quality.Verdict": {"what": "label", "is_taken": "taken"},
    "quality.Overruled": {"person": "overruled"},
    "quality.ReviewAssignment": {"person": "reviewer"},
    "graph.Graph": {
        "version": "of its " + HISTORY,
        "signature": ANEW,
        "counted_at": ANEW,
        "updated_at": "when it was changed here last",
    },
    "graph.SurfaceForm": {"graph": PLACE, "digest": ANEW, "text": "form", "search_text": ANEW},
    "graph.NotSame": {"graph": PLACE},
}


def comment(files):
    return next(each for entry in files["annotations.json"] for each in entry["comments"] if each["answers"])


def decision(files):
    return next(each for gold in files["gold.json"] for each in gold["decisions"] if each["overruled"])


def hangs_on_project():
    """All models from which foreign keys lead to a project; what belongs to people or to the service alone does not."""
    found, grows = {Project}, True
    models = [m for app in OURS for m in apps.get_app_config(app).get_models(include_auto_created=True)]
    while grows:
        more = {
            model
            for model in models
            if model not in {User, Job, LogEntry}
            for field in model._meta.concrete_fields
            if field.is_relation and field.related_model in found
        }
        grows = not more <= found
        found |= more
    return sorted(found, key=lambda model: model._meta.label)


@pytest.fixture
def files(rich):  # noqa: F811
    target = io.BytesIO()
    bundle.write(rich, target)
    with zipfile.ZipFile(target) as archive:
        return {name: json.loads(archive.read(name)) for name in archive.namelist()}


def test_each_model_and_each_field_is_in_the_bundle_or_left_out_for_a_reason(files):
    labels = {model._meta.label for model in hangs_on_project()}
    assert labels == {*LEFT_OUT, *OBJECTS, *LISTS}
    for model in hangs_on_project():
        if (label := model._meta.label) in OBJECTS:
            own = OWNED if hasattr(model, "copied_from") else {}
            called, names = {**KEYS, **own, **CALLED.get(label, {})}, OBJECTS[label](files)
            for field in model._meta.concrete_fields:
                name = called.get(field.name, field.name)
                assert name in names or " " in name, f"{label}.{field.name}"


ALWAYS = {"items", "changes of labels and rules", "changes by batches", "corrections of texts", "changes of nodes"}


def test_what_is_left_out_for_good_is_counted_where_there_is_some(files):
    told = {each["what"] for each in files["manifest.json"]["left_out"]}
    assert told == {*ALWAYS, "annotations"} & told
    assert told >= ALWAYS
