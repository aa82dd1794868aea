"""Who may do what: every address of the service, asked by everybody.

A new address without a row in `ROWS` fails the suite.
"""

import html
import json
import re
import shutil
from dataclasses import dataclass, field

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.sessions.models import Session
from django.core import signing
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_settings
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from annotation_service import blueprints
from annotation_service.blueprints import Described
from annotation_service.inputs import Refused
from annotation_service.models import Job, JobState, User, start_job
from api.models import Delivery, Token, Webhook
from datasets.exports import DOWNLOAD_FORMATS
from datasets.models import Dataset, TextCorrection
from datasets.models.correction import cut_anew
from graph.counting import refresh
from graph.models import Graph
from ontologies.models import Ontology
from projects import bundle
from projects.assignment import item_counts
from projects.bundle_views import SALT
from projects.models import Invitation, Project
from quality.agreement import make_report
from quality.gold_files import FORMATS
from quality.review import refresh_disputes
from tests import factories, faults
from tests.resource_sets import make
from work.models import Batch, Comment, Source, item_work

# The columns of the table: nobody; carol's colleague dave, who is in no project; carol, who annotates in alice's project; bob, a
# project manager who has nothing to do with it; alice, who owns everything here; sam, who is staff.
PEOPLE = ("nobody", "dave", "carol", "bob", "alice", "sam")
SEE_ALL = "302 403 403 200 200 200"  # sections for project managers
BLUEPRINT_CHANGE = "302 404 404 403 200 200"
MEMBERS = "302 404 200 404 200 200"
MANAGERS = "302 404 403 404 200 200"
EVERYBODY = "302 200 200 200 200 200"
# Keys of `world`: what a project's copy has, too, under the same key with `_copy`.
HAVE_COPIES = {"ontology", "dataset", "rules", "lexicon", "item", "removed", "lexicon_row", "corrected", "correction"}
READ_AS = {"kind": "standard", "format": "text", "tokeniser": "punkt", "name": "New", "description": ""}


@dataclass
class Row:
    name: str
    expected: str
    args: tuple[str, ...] = ()  # keys of `world`, or what stands in the address
    data: dict | None = None  # makes it a POST
    json: dict | None = None
    query: str = ""  # may hold {keys} of `world`
    headers: dict = field(default_factory=dict)

    def __str__(self):
        return f"{self.name} {'POST' if self.is_post else 'GET'} {' '.join(self.args)}"

    @property
    def is_post(self):
        return self.data is not None or self.json is not None


def pair(name, thing, *args, data=None, query="", read=None, answer="200", others=None):
    """The rows of what is asked of a blueprint and of a project's copy, which has parts of its own: ``answer`` is what the owner
    gets, ``others`` what staff get if that differs. Sending ``data`` is a change, unless ``read`` says otherwise."""
    read = data is None if read is None else read
    given = f"{answer} {others or answer}"
    to_carol = answer if read and thing == "ontology" else "403"  # annotators read the ontologies of their projects
    copied = [f"{arg}_copy" if arg in HAVE_COPIES else arg for arg in (thing, *args)]
    query_of_copy = re.sub(r"{(\w+)}", lambda key: f"{{{key[1]}_copy}}" if key[1] in HAVE_COPIES else key[0], query)
    return [
        Row(name, f"302 404 404 {answer if read else 403} {given}", (thing, *args), data, query=query),
        Row(name, f"302 404 {to_carol} 404 {given}", tuple(copied), data, query=query_of_copy),
    ]


def pairs(names, thing, *args, **fields):
    """The same for several addresses of an app, as in ``"ontologies:overview version"``."""
    app, _, names = names.partition(":")
    return [row for name in names.split() for row in pair(f"{app}:{name}", thing, *args, **fields)]


def asked_and_done(name, *args, data, **fields):
    """The rows of a change: its form, and what is sent with it."""
    return [row for each in (None, data) for row in pair(name, *args, data=each, read=False, **fields)]


def blueprint_rows(app, thing):
    """The rows that all kinds of blueprints share; `thing` and `thing`_copy are keys of the world."""
    return [
        Row(f"{app}:list", SEE_ALL),
        Row(f"{app}:create", SEE_ALL),
        Row(f"{app}:create", "302 403 403 422 422 422", data={"name": ""}),
        *pairs(f"{app}:page download_json", thing),
        *asked_and_done(f"{app}:edit", thing, data={"name": "New"}),
        Row(f"{app}:duplicate", "302 403 403 200 200 200", (thing,)),
        Row(f"{app}:duplicate", "302 403 403 200 200 200", (thing,), {"name": "New"}),
        # A copy in a project may be duplicated by those who make blueprints and see it.
        Row(f"{app}:duplicate", "302 403 403 404 200 200", (f"{thing}_copy",), {"name": "New"}),
        Row(f"{app}:delete", BLUEPRINT_CHANGE, (thing,)),
        Row(f"{app}:delete", BLUEPRINT_CHANGE, (thing,), {}),
        Row(f"{app}:delete", "302 404 403 404 422 422", (f"{thing}_copy",), {}),
    ]


def upload_rows(name, data=None, answer="200", more=()):
    """What is done with alice's uploads, for a new dataset and for her project's dataset."""
    return [
        Row(name, f"302 404 404 404 {answer} {answer}", ("upload", *more), data),
        Row(name, f"302 404 403 404 {answer} {answer}", ("upload_copy", *more), data),
    ]


# Staff see everything, but annotate only where they are members.
WORK_START = "302 404 302 404 302 403"
WORK = "302 404 200 404 200 403"
ENDS = {"source": "given-mark-0", "target": "given-mark-1"}


def item_rows(name, **fields):
    """What is asked about an item that is given to members of the project, and about one that is not in it."""
    return [
        Row(name, WORK, ("project", "item_copy"), **fields),
        Row(name, "302 404 404 404 404 403", ("project", "item"), **fields),
    ]


def of_project(name, *args, data, expected=MANAGERS):
    """A change of a project: its form, and what is sent with it."""
    return [Row(name, expected, ("project", *args), each) for each in (None, data)]


def gold_rows(name, answer="200", **fields):
    """What those who review ask about an item of the project, and about one that is not in it."""
    return [
        Row(name, MANAGERS.replace("200", answer), ("project", "item_copy"), **fields),
        Row(name, "302 404 403 404 404 404", ("project", "item"), **fields),
    ]


def comment_rows(name, data, *, own="200", of_others="200"):
    """What is done with carol's comment, with one on alice's own work, and with one of another project."""
    return [
        Row(name, f"302 404 {own} 404 {of_others} {of_others}", ("project", "comment"), data),
        Row(name, f"302 404 404 404 {own} {of_others}", ("project", "managers_comment"), data),
        Row(name, "302 404 404 404 404 404", ("project", "comment_elsewhere"), data),
    ]


BY_HAND = {"items": "{item_copy}", "count": "1", "people": "{carol}", "agree": "1"}
ALIKE = {"verb": "propagate", "kind": "entity", "form": {"tokens": ["pump"], "label": "{label}"}}
WEBHOOK = {"url": "https://example.org/hook", "events": ["item.done", "job.done"]}
HOOK = ("project", "webhook")
LABEL_ROW = {"theirs": "x", "action": "skip", "ours": ""}
ROWS = [
    Row("home", EVERYBODY),
    Row("help", EVERYBODY),
    Row("find", EVERYBODY, query="?q=pump"),
    Row("api:openapi", "200 200 200 200 200 200"),
    Row("api:reference", EVERYBODY),
    Row("api:tokens", EVERYBODY),
    Row("api:tokens", EVERYBODY, data={"name": "Nightly export", "scope": "read"}),
    Row("api:revoke_token", "302 404 404 404 302 404", ("api_token",), {}),
    Row("api:webhooks", MANAGERS, ("project",)),
    Row("api:webhooks", "302 404 403 404 302 302", ("project",), WEBHOOK),
    Row("api:webhooks", "302 404 403 404 422 422", ("project",), {**WEBHOOK, "url": "https://127.0.0.1/"}),
    Row("api:webhook", MANAGERS, HOOK),
    Row("api:webhook", "302 404 403 404 404 404", ("bare_project", "webhook")),
    Row("api:webhook", "302 404 403 404 302 302", HOOK, WEBHOOK),
    Row("api:webhook_secret", MANAGERS, HOOK),
    Row("api:webhook_secret", MANAGERS, HOOK, {}),
    Row("api:ping_webhook", "302 404 403 404 302 302", HOOK, {}),
    Row("api:switch_webhook", "302 404 403 404 302 302", HOOK, {"is_on": "0"}),
    Row("api:delete_webhook", MANAGERS, HOOK),
    Row("api:delete_webhook", MANAGERS, HOOK, {}),
    Row("api:send_again", "302 404 403 404 302 302", (*HOOK, "delivery"), {}),
    Row("api:send_again", "302 404 403 404 404 404", ("bare_project", "webhook", "delivery"), {}),
    Row("job", "302 404 404 404 200 200", ("job",)),
    Row("job_progress", "302 404 404 404 200 200", ("job",)),
    Row("cancel_job", "302 404 404 404 302 302", ("job",), {}),
    Row("job_file", "302 404 404 404 200 200", ("finished_job",)),
    *blueprint_rows("ontologies", "ontology"),
    Row("ontologies:look", "302 403 403 200 200 200", data={"source": "empty"}),
    *asked_and_done("ontologies:update", "ontology", data={"text": "", "preview": "1"}),
    Row("ontologies:schema", EVERYBODY, ("entity",)),
    *pairs(
        "ontologies:items overview version download_text download_csv download_skos codebook download_codebook",
        "ontology",
    ),
    *pairs("ontologies:figures checks history", "ontology"),
    *pair("ontologies:find", "ontology", query="?q=obj"),
    *pair("ontologies:codebook", "ontology", query="?branch={uid}&off=yes&sentences=no"),
    *pair("ontologies:step", "ontology", "version"),
    *pairs("ontologies:item row children usage", "ontology", "uid"),
    Row("ontologies:item", "302 404 404 404 404 404", ("ontology", "ffffffff")),
    *pair("ontologies:tree", "ontology", data={}, read=True),
    *pair("ontologies:add_item", "ontology", data={"name": "New"}),
    *pair("ontologies:add_child", "ontology", "uid", data={"name": "New"}),
    *pair("ontologies:rename", "ontology", "uid", data={"name": "New", "was": "PhysicalObject"}),
    *pair("ontologies:describe", "ontology", "uid", data={"description": "New", "was": "Things that can be touched."}),
    *pair("ontologies:example_terms", "ontology", "uid", data={"add": "New", "was": '["pump", "bearing"]'}),
    *pair("ontologies:recolor", "ontology", "uid", data={"color": "#112233", "was": "{color}"}),
    *asked_and_done("ontologies:switch", "ontology", "uid", data={"active": "0"}),
    *asked_and_done("ontologies:paste", "ontology", data={"text": "New"}),
    *asked_and_done("ontologies:paste_below", "ontology", "uid", data={"text": "New"}),
    *pair("ontologies:preview", "ontology", data={"text": "New"}),
    *pair("ontologies:preview_below", "ontology", "uid", data={"text": "New"}),
    *pair("ontologies:recolor_items", "ontology", data={"uids": "{uid}", "color": "#112233"}),
    *pairs("ontologies:separate_colors several", "ontology", data={"uids": "{uid}"}),
    *pairs("ontologies:ask_switch switch_items", "ontology", data={"uids": "{uid}", "active": "0"}),
    *pair("ontologies:add_terms", "ontology", data={"uids": "{uid}", "add": "pump"}),
    # Moving is switched off unless an installation wants it.
    *asked_and_done("ontologies:move", "ontology", "uid", data={}, answer="422"),
    # Each person has nothing of their own to undo, except alice, whose things these are.
    *pair("ontologies:undo", "ontology", data={}, others="422"),
    *pair("ontologies:redo", "ontology", data={}, answer="422"),
    *pair("ontologies:revert", "ontology", "version", data={}),
    *blueprint_rows("resources", "rules"),
    Row("resources:check", "302 403 403 422 422 422", data={}),
    *pairs("resources:checks rules matrix history", "rules"),
    *pair("resources:cell", "rules", query="?row={uid}&column={uid}"),
    *pair(
        "resources:set_cell",
        "rules",
        data={"row": "{uid}", "column": "{uid}", "list": "excludes", "wanted": "1"},
    ),
    *pair("resources:step", "rules", "rules_version"),
    *asked_and_done("resources:add_rule", "rules", data={"key": "{uid}"}),
    *asked_and_done("resources:pick", "rules", "ruled", "excludes", data={"add": "{uid}"}),
    *pair("resources:remove_rule", "rules", "ruled", data={}),
    *pair("resources:revert", "rules", "rules_version", data={}),
    *pair("resources:undo", "rules", data={}, others="422"),
    *pair("resources:redo", "rules", data={}, answer="422"),
    *pair("work:learn", "rules", read=False),
    *pairs("work:learn check_lesson", "rules", data={}, answer="422"),
    *pair("work:lesson_examples", "rules", read=False, answer="422"),
    *blueprint_rows("preannotations", "lexicon"),
    Row("preannotations:check", "302 403 403 422 422 422", data={}),
    *pairs("preannotations:download_csv standing history", "lexicon"),
    *pair("preannotations:step", "lexicon", "rules_version"),
    *pair("preannotations:row", "lexicon", "lexicon_row"),
    *asked_and_done("preannotations:cell", "lexicon", "lexicon_row", "surface_form", data={"value": "new"}),
    *asked_and_done("preannotations:add_row", "lexicon", data={"surface_form": "new", "label": "{uid}"}),
    *pair("preannotations:remove_rows", "lexicon", data={"all": "1", "count": "1"}),
    *pair("preannotations:revert", "lexicon", "rules_version", data={}),
    *pair("preannotations:undo", "lexicon", data={}, others="422"),
    *pair("preannotations:redo", "lexicon", data={}, answer="422"),
    # The rows of another set are not reached.
    Row("preannotations:row", "302 404 404 422 422 422", ("lexicon", "lexicon_row_copy")),
    Row("preannotations:cell", "302 404 404 403 422 422", ("lexicon", "lexicon_row_copy", "surface_form"), {}),
    *blueprint_rows("datasets", "dataset"),
    Row("datasets:preview", EVERYBODY, data={"sample": "a b", **READ_AS}),
    Row("datasets:ontologies", SEE_ALL, ("entity",)),
    Row("datasets:schema", EVERYBODY, ("rich",)),
    Row("datasets:example", EVERYBODY, ("rich",)),
    *pairs("datasets:uploads statistics figures vocabulary", "dataset"),
    *[
        row
        for form in DOWNLOAD_FORMATS
        if form.name != "json"
        for row in pair(f"datasets:download_{form.name}", "dataset")
    ],
    *pair("datasets:add_items", "dataset", read=False),
    *pair("datasets:add_items", "dataset", data={"text": ""}, answer="422"),
    *upload_rows("datasets:upload"),
    *upload_rows("datasets:change_upload"),
    *upload_rows("datasets:change_upload", {"duplicates": "x"}, answer="422"),
    *upload_rows("datasets:decide", {"duplicates": "skip"}, answer="302"),
    *upload_rows("datasets:store_upload", {}, answer="302"),
    *upload_rows("datasets:discard_upload", {}, answer="302"),
    *upload_rows("datasets:upload_problems"),
    *upload_rows("datasets:bad_items"),
    *upload_rows("datasets:map_labels", LABEL_ROW, "404", more=("relation",)),
    *upload_rows("datasets:map_labels", LABEL_ROW, "302", more=("entity",)),
    *upload_rows("datasets:make_ontology", {}, "302", more=("entity",)),
    *upload_rows("datasets:map_labels", {**LABEL_ROW, "action": "add"}, "302", more=("entity",)),
    *(row for data in (None, {"format": "conll"}) for row in pair("datasets:export", "dataset", data=data, read=True)),
    *pair("datasets:export", "dataset", data={"format": "x"}, read=True, answer="422"),
    *pair("datasets:item", "dataset", "item"),
    *pair("datasets:item", "dataset", "removed"),
    Row("datasets:item", "302 404 404 404 404 404", ("dataset", "item_copy")),
    *asked_and_done("datasets:edit_item", "dataset", "item", data={"external_id": "WO 1", "fields": "[]"}),
    *asked_and_done("datasets:correct_text", "dataset", "corrected", data={"text": "New text"}),
    Row("datasets:correct_text", "302 404 404 403 404 404", ("dataset", "item_copy")),
    *pair("datasets:undo_correction", "dataset", "corrected", "correction", data={}),
    Row("datasets:undo_correction", "302 404 404 403 404 404", ("dataset", "item", "correction"), {}),
    Row("datasets:edit_item", "302 404 404 403 404 404", ("dataset", "item_copy")),
    Row("datasets:edit_item", "302 404 404 403 404 404", ("dataset", "item_copy"), {"external_id": "", "fields": "[]"}),
    *pair("datasets:remove", "dataset", read=False, query="?items={item}"),
    *pair("datasets:remove", "dataset", data={"count": "1"}, query="?items={item}"),
    *pair("datasets:remove", "dataset", read=False, query="?all=1"),
    *pair("datasets:remove", "dataset", data={"count": "2"}, query="?all=1"),
    # The items of another dataset are not reached.
    Row("datasets:remove", "302 404 404 403 422 422", ("dataset",), {"count": "1"}, query="?items={item_copy}"),
    Row("datasets:restore", BLUEPRINT_CHANGE, ("dataset",), {"items": "{removed}"}, query="?bin=1"),
    Row("datasets:restore", MANAGERS, ("dataset_copy",), {"items": "{removed_copy}"}, query="?bin=1"),
    Row("datasets:restore", "302 404 404 403 422 422", ("dataset",), {"items": "{removed_copy}"}, query="?bin=1"),
    Row("projects:list", EVERYBODY),
    Row("projects:create", SEE_ALL),
    Row("projects:create", "302 403 403 422 422 422", data={"name": ""}),
    Row("projects:check", SEE_ALL, data={"name": "", "step": "task"}),
    Row("projects:check", SEE_ALL, data={"name": "New", "dataset": "{dataset}"}),
    Row("projects:ontologies", SEE_ALL, query="?dataset={dataset}"),
    Row("projects:upload_bundle", SEE_ALL),
    Row("projects:upload_bundle", "302 403 403 422 422 422", data={"file": ""}),
    Row("projects:import_bundle", "302 403 403 404 200 404", ("bundle",)),
    Row("projects:import_bundle", "302 403 403 404 302 404", ("bundle",), {}),
    Row("projects:use", SEE_ALL, query="?ontology={ontology}"),
    Row("projects:use", SEE_ALL, query="?dataset={dataset}"),
    Row("projects:use", "302 403 403 404 404 404", query="?dataset=x"),
    Row("projects:page", MEMBERS, ("project",)),
    *[
        Row(f"projects:{name}", MANAGERS, ("project",))
        for name in ("figures", "items", "violations", "violations_count", "people", "invitations")
    ],
    Row(
        "projects:items",
        MANAGERS,
        ("project",),
        query="?q=pump&state=done-1&has=disputed&label={label}&person={carol}&sort=-marks",
    ),
    Row("projects:items", "302 404 403 404 302 302", ("project",), query="?number=2"),
    Row("projects:give_items", MANAGERS, ("project",), {"all": "1"}),
    *[
        Row(f"projects:{verb}_items", expected, ("project",), data)
        for verb in ("give", "take")
        for data, expected in (({}, "302 404 403 404 422 422"), (BY_HAND, MANAGERS))
    ],
    Row("projects:undo_by_hand", "302 404 403 404 422 422", ("project",), {"change": "1"}),
    Row("projects:item", MANAGERS, ("project", "item_copy")),
    Row("projects:item", "302 404 403 404 404 404", ("project", "item")),
    Row("projects:item", "302 404 403 404 404 404", ("project", "removed_copy")),
    Row("projects:violations_of_rules", MANAGERS, ("project", "rules_copy")),
    Row("projects:comments", MEMBERS, ("project",)),
    Row("projects:comments", MEMBERS, ("project",), query="?q=pump&flag=issue&state=waiting&who={carol}&sort=changed"),
    *comment_rows("projects:answer_comment", {"text": "Yes"}),
    *comment_rows("projects:answer_comment", {"resolve": "1"}),
    *comment_rows("projects:answer_comment", {"text": ""}, of_others="422", own="422"),
    *comment_rows("projects:edit_comment", {"text": "Changed"}, of_others="422"),
    *comment_rows("projects:delete_comment", {}, of_others="422"),
    *comment_rows("projects:reopen_comment", {}),
    *of_project("projects:edit", data={"name": "New"}),
    Row("projects:settings", MANAGERS, ("project",)),
    Row("projects:settings", "302 404 403 404 302 302", ("project",), {"name": "New"}),
    Row("projects:archive", "302 404 403 404 302 302", ("project",), {}),
    Row("projects:restore", "302 404 403 404 302 302", ("project",), {}),
    Row("projects:duplicate", "302 403 403 404 200 200", ("project",)),
    Row("projects:duplicate", "302 403 403 404 200 200", ("project",), {"name": "New", "contents": "everybody"}),
    Row("projects:bin", EVERYBODY),
    Row("projects:take_out_of_bin", "302 404 404 404 302 302", ("binned",), {}),
    Row("projects:take_out_of_bin", "302 404 404 404 404 404", ("project",), {}),
    Row("projects:delete_for_good", "302 404 404 404 200 200", ("binned",)),
    Row("projects:delete_for_good", "302 404 404 404 200 200", ("binned",), {"name": "Pumps"}),
    *of_project("projects:delete", data={"name": "Pumps"}),
    Row("projects:download", MANAGERS, ("project",), {}),
    *of_project("projects:export", data={"format": "conll", "whose": "given"}),
    Row("projects:export", MANAGERS, ("project",), query="?format=brat&whose=@carol&suggested=on"),
    Row("projects:export", "302 404 403 404 422 422", ("project",), {"format": "conll", "whose": "@dave"}),
    Row("projects:people", MANAGERS, ("project",), query="?q=carol&sort=-done"),
    Row("projects:find_people", SEE_ALL, query="?q=ca"),
    Row("projects:find_people", "302 404 403 404 200 200", query="?q=ca&project={project}"),
    Row("projects:add_members", MANAGERS, ("project",), {"people": "dave", "role": "annotator"}),
    Row("projects:invite", MANAGERS, ("project",), {"addresses": "new@example.org", "role": "observer"}),
    Row("projects:invite_by_link", MANAGERS, ("project",), {"role": "observer"}),
    Row("projects:revoke_invitation", MANAGERS, ("project", "invitation"), {}),
    Row("projects:revoke_invitation", "302 404 403 404 404 404", ("project", "invitation_elsewhere"), {}),
    Row(
        "projects:answer_request", "302 404 403 404 422 422", ("project", "invitation"), {"person": "1", "confirm": "1"}
    ),
    Row(
        "projects:answer_request", "302 404 403 404 200 200", ("project", "asked"), {"person": "{dave}", "decline": "1"}
    ),
    Row("projects:answer_request", "302 404 403 404 404 404", ("project", "invitation_elsewhere"), {"confirm": "1"}),
    Row("projects:invitation", "200 200 200 200 200 200", ("token",)),
    Row("projects:invitation", "422 302 302 302 302 302", ("token",), {"accept": "1"}),
    Row("projects:invitation", "302 302 302 302 302 302", ("token",), {"decline": "1"}),
    Row("projects:answer_invitation", "302 302 404 404 404 404", ("invitation",), {"accept": "1"}),  # it is dave's
    Row("projects:answer_invitation", "302 404 404 404 404 404", ("invitation_elsewhere",), {"accept": "1"}),
    *of_project("projects:change_role", "membership", data={"role": "reviewer"}),
    Row("projects:change_role", "302 404 403 404 404 404", ("project", "membership_elsewhere"), {"role": "reviewer"}),
    *of_project(
        "projects:hand_over", data={"to": "{membership}", "role": "observer"}, expected="302 404 403 404 200 404"
    ),
    Row("projects:hand_over", "302 404 403 404 422 404", ("project",), {"to": "{membership_elsewhere}"}),
    Row("projects:leave", "302 404 200 404 200 404", ("project",)),
    Row("projects:leave", "302 404 200 404 422 404", ("project",), {}),
    *of_project("projects:remove_member", "membership", data={}),
    Row("projects:remove_member", "302 404 403 404 404 404", ("project", "membership_elsewhere"), {}),
    Row("projects:use", SEE_ALL, query="?constraints={constraints}"),
    *of_project("projects:assignment", data={"annotators_per_item": "1", "overlap": "", "calibration": ""}),
    *of_project("projects:even_pairs", data={}),
    *of_project("projects:constraints", "entity", data={"constraints": "{constraints}"}),
    Row("projects:constraints", "302 404 403 404 404 404", ("project", "rich")),
    *of_project("projects:remove_constraints", "entity", data={}),
    Row("projects:remove_constraints", "302 404 403 404 404 404", ("project", "relation"), {}),
    Row("projects:use", SEE_ALL, query="?preannotations={lexicon}"),
    *of_project("projects:preannotations", "entity", data={"preannotations": "{lexicon}"}),
    Row("projects:preannotations", "302 404 403 404 404 404", ("project", "rich")),
    *of_project("projects:remove_preannotations", "entity", data={}),
    Row("projects:remove_preannotations", "302 404 403 404 404 404", ("project", "relation"), {}),
    Row("projects:match_preannotations", MANAGERS, ("project",), {}),
    Row("projects:preannotation_figures", MANAGERS, ("project", "entity")),
    Row("projects:source", MANAGERS, ("project", "source")),
    Row("projects:source", "302 404 403 404 404 404", ("bare_project", "source")),
    *of_project("projects:switch_source", "source", data={"on": "0"}),
    *of_project("projects:put_labels", "entity", data={"ontology": "{ontology}", "count": "0"}),
    Row(
        "projects:put_labels",
        "302 404 403 404 200 200",
        ("bare_project", "relation"),
        {"ontology": "{relation_ontology}"},
    ),
    Row("projects:put_labels", "302 404 403 404 422 422", ("project", "entity"), {"ontology": "{relation_ontology}"}),
    Row("projects:put_labels", "302 404 403 404 404 404", ("project", "rich")),
    *of_project("projects:copy_items", data={"dataset": "{dataset}"}),
    Row("projects:copy_items", "302 404 403 404 422 422", ("project",), {"dataset": "{dataset_copy}"}),
    Row("annotations:start", WORK_START, ("project",)),
    *item_rows("annotations:item"),
    Row("annotations:items", WORK, ("project",), query="?q=pump&state=undone"),
    Row("annotations:items", WORK_START, ("project",), query="?number=1"),
    Row("annotations:own_marks", WORK, ("project",), query="?q=pump&label=State"),
    Row("annotations:work", WORK, ("project",), query="?zone=Europe/Berlin"),
    *item_rows("annotations:place"),
    Row("annotations:skip", WORK.replace("200", "204"), ("project", "item_copy"), {}),
    Row("annotations:skip", "302 404 404 404 404 403", ("project", "item"), {}),
    *item_rows("annotations:take_up", data={}),
    Row("annotations:progress", WORK, ("project",)),
    Row("annotations:labels", MEMBERS, ("project", "ffffffff")),
    Row("annotations:rules", MEMBERS, ("project", "ffffffff")),
    Row("annotations:read_start", "302 404 302 404 302 302", ("project", "carol")),
    Row("annotations:read_start", "302 404 403 404 302 302", ("project", "alice")),
    Row("annotations:read", MEMBERS, ("project", "carol", "item_copy")),
    Row("annotations:read", MANAGERS, ("project", "alice", "item_copy")),
    Row("annotations:read", "302 404 403 404 404 404", ("project", "dave", "item_copy")),
    *item_rows("annotations:marks"),
    *item_rows("annotations:text", json={"spans": [[1, 0, 0]]}),
    Row("annotations:words", "302 404 200 404 200 200", ("project",), query="?text=pump"),
    Row("annotations:shortcuts", WORK, ("project",), json={"kind": "entity", "key": "1", "label": "{label}"}),
    Row("annotations:alike_preview", WORK, ("project",), json=ALIKE),
    Row("annotations:alike_places", WORK, ("project",), json={**ALIKE, "after": "0:0-0"}),
    Row("annotations:alike_apply", WORK, ("project",), json=ALIKE),
    Row("annotations:batches", WORK, ("project",)),
    *of_project("annotations:confirm_undo", "batch", data={}, expected="302 404 200 404 404 403"),
    Row("annotations:batch", "302 404 200 404 404 403", ("project", "batch")),
    Row("annotations:undo_batch", "302 404 200 404 404 403", ("project", "batch"), json={}),
    Row("annotations:redo_batch", "302 404 422 404 404 403", ("project", "batch"), json={}),
    Row("annotations:comfort", EVERYBODY, json={"name": "size", "value": "l"}),
    *item_rows("annotations:add_entity", json={"uid": "new-entity", "label": "{label}", "start": 0, "end": 1}),
    *item_rows("annotations:relabel_entity", json={"uid": "given-mark-0", "label": "{label}"}),
    *item_rows("annotations:resize_entity", json={"uid": "given-mark-0", "start": 0, "end": 1}),
    *item_rows("annotations:remove_entity", json={"uid": "given-mark-0"}),
    *item_rows("annotations:suggest_entity", json={"uid": "given-mark-2", "label": "{label}"}),
    *item_rows("annotations:add_relation", json={"uid": "new-relation", "label": "{relation_label}", **ENDS}),
    *item_rows("annotations:relabel_relation", json={"uid": "given-rel", "label": "{relation_label}"}),
    *item_rows("annotations:reverse_relation", json={"uid": "given-rel"}),
    *item_rows("annotations:remove_relation", json={"uid": "given-rel"}),
    *item_rows("annotations:suggest_relation", json={"uid": "given-rel", "label": "{relation_label}"}),
    *item_rows("annotations:done", json={"done": True}),
    *item_rows("annotations:operations", json={"operations": []}),
    *item_rows("annotations:suggest_history", json={}),
    *item_rows("annotations:flag", json={"kind": "issue", "is_set": True, "why": "Two machines"}),
    *item_rows("annotations:comment", data={"text": "Why?"}),
    Row(
        "annotations:comment", WORK, ("project", "item_copy"), {"text": "Why?", "kind": "entity", "uid": "given-mark-0"}
    ),
    Row("annotations:comment_on", MANAGERS, ("project", "carol", "item_copy"), {"text": "Why?"}),
    Row("annotations:comment_on", "302 404 403 404 404 404", ("project", "dave", "item_copy"), {"text": "Why?"}),
    Row("annotations:comment_on", "302 404 403 404 404 404", ("project", "carol", "item"), {"text": "Why?"}),
    Row("quality:reviews", MANAGERS, ("project",), query="?q=pump&state=disputed&mine=1&sort=-done"),
    Row("quality:next", MANAGERS.replace("200", "302"), ("project",), query="?after=0"),
    *of_project("quality:rule", data={"agreed": "all", "agreed_least": "2"}),
    *of_project("quality:share", data={"people": "{alice}"}),
    Row("quality:take_agreed", MANAGERS, ("project",), {}),
    Row("quality:take_given", MANAGERS, ("project",), {}),
    *[Row(f"quality:download_{form.name}", MANAGERS, ("project",)) for form in FORMATS],
    *(Row("quality:gold_dataset", "302 403 403 404 200 200", ("project",), data) for data in (None, {"name": "New"})),
    Row("quality:lessons", WORK, ("project",)),
    *(Row(f"quality:{name}", MANAGERS, ("project",)) for name in ("agreement", "agreement_changed", "agreement_json")),
    Row("quality:agreement_part", MANAGERS, ("project", "labels")),
    Row("quality:agreement_csv", MANAGERS, ("project", "pairs")),
    Row("quality:agreement_places", MANAGERS, ("project",), query="?kind=span&one=alice&label=1&week=2026-W01"),
    Row("quality:count_agreement", MANAGERS.replace("200", "302"), ("project",), {}),
    *gold_rows("quality:review"),
    *gold_rows("quality:decide", data={"sign": "", "choice": "1"}, answer="422"),
    *gold_rows("quality:undo", data={}, answer="422"),
    *gold_rows("quality:redo", data={}, answer="422"),
    *gold_rows("quality:finish", data={"sign": ""}, answer="422"),
    *gold_rows("quality:reopen", data={}),
    *gold_rows("quality:edit"),
    *gold_rows("quality:begin_edit", data={}),
    *gold_rows("quality:marks"),
    *gold_rows("quality:text", json={"spans": [[1, 0, 0]]}),
    *gold_rows("quality:operations", json={"operations": []}),
    *gold_rows("quality:add_entity", json={"uid": "new-entity", "label": "{label}", "start": 0, "end": 1}),
    *gold_rows("quality:relabel_entity", json={"uid": "gold0", "label": "{label}"}),
    *gold_rows("quality:resize_entity", json={"uid": "gold0", "start": 0, "end": 1}),
    *gold_rows("quality:remove_entity", json={"uid": "gold0"}),
    *gold_rows(
        "quality:add_relation",
        json={"uid": "new-relation", "label": "{relation_label}", "source": "gold0", "target": "gold1"},
    ),
    *gold_rows("quality:relabel_relation", json={"uid": "goldr0", "label": "{relation_label}"}),
    *gold_rows("quality:reverse_relation", json={"uid": "goldr0"}),
    *gold_rows("quality:remove_relation", json={"uid": "goldr0"}),
    Row("graph:page", MANAGERS, ("project",), query="?source=all&agreed=2&compare=given&q=e&least=1&sort=-relations"),
    Row("graph:page", MANAGERS, ("project",), query="?view=edges&relation={relation_label}&at={node}"),
    Row("graph:page", MANAGERS.replace("200", "302"), ("project",), query="?source=nobody"),
    *(Row(f"graph:{name}", MANAGERS, ("project",)) for name in ("suggestions", "figures", "export", "history")),
    Row("graph:neighbours", MANAGERS, ("project", "node")),
    Row("graph:neighbours", "302 404 403 404 404 404", ("project", "uid")),
    Row("graph:count", MANAGERS.replace("200", "302"), ("project",), {}),
    Row("graph:export", MANAGERS, ("project",), {"format": "json", "source": "all"}),
    Row("graph:export", "302 404 403 404 422 422", ("project",), {"format": "x"}),
    Row("graph:merge", MANAGERS, ("project",), query="?node={node}&node={other_node}"),
    Row("graph:merge", MANAGERS, ("project",), {"node": ["{node}", "{other_node}"], "into": "{node}"}),
    Row("graph:merge", "302 404 403 404 422 422", ("project",), {"node": "{uid}"}),
    Row("graph:split", MANAGERS, ("project",), {"form": "{further_form}"}),
    Row("graph:split", "302 404 403 404 422 422", ("project",), {"form": "{node}"}),
    Row("graph:keep_apart", MANAGERS, ("project",), {"one": "{node}", "other": "{other_node}"}),
    *of_project("graph:name_node", "node", data={"name": "New"}),
    Row("graph:name_node", "302 404 403 404 404 404", ("project", "uid")),
    *of_project("graph:edit", data={"prefix": "new", "namespace": "https://example.org/new/"}),
    Row("graph:step", MANAGERS, ("project", "version")),
    Row("graph:undo", "302 404 403 404 200 422", ("project",), {}),
    Row("graph:redo", "302 404 403 404 422 422", ("project",), {}),
    Row("graph:revert", MANAGERS, ("project", "version"), {}),
]


# Addresses for programs are asked in `tests.api.test_operations`.
ELSEWHERE = ("admin", "operations")


def all_names(patterns=None, namespace=""):
    """The names of all addresses, except those of the admin and of the accounts, which have tests of their own."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(pattern, URLResolver):
            of_accounts = any(name in str(pattern.urlconf_name) for name in ("allauth", "annotation_service.identity"))
            if pattern.namespace not in ELSEWHERE and not of_accounts:
                yield from all_names(pattern.url_patterns, f"{pattern.namespace or namespace}")
        elif isinstance(pattern, URLPattern):
            yield f"{namespace}:{pattern.name}" if namespace else pattern.name


@pytest.fixture(scope="module")
def built_world(django_db_setup, django_db_blocker, tmp_path_factory):
    """One world for all tests of this file, in a transaction that is taken back."""
    folder = tmp_path_factory.mktemp("world") / "uploads"
    with django_db_blocker.unblock(), transaction.atomic():
        with override_settings(UPLOAD_DIR=folder, PREANNOTATION_RESOURCES=True):
            world = build_world(folder)
        yield world
        transaction.set_rollback(True)


@pytest.fixture
def world(built_world, db, settings):
    """The world as it was built: what a test does to its rows and files is taken back."""
    shutil.copytree(built_world["folder"], settings.UPLOAD_DIR)
    settings.PREANNOTATION_RESOURCES = True
    return built_world


def build_world(folder):
    alice, bob = factories.manager("alice"), factories.manager("bob")
    carol, dave = factories.user("carol"), factories.user("dave")
    sam = factories.user("sam", is_staff=True, is_superuser=True)
    rita, otto = factories.user("rita"), factories.user("otto")
    project = factories.project(by=alice, annotators=[carol])
    project.add_members([rita], "reviewer")
    project.add_members([otto], "observer")
    bare = factories.project(by=alice, annotators=[carol], relations=False)
    elsewhere = factories.project(by=bob)
    binned = factories.project(by=alice, annotators=[carol])
    binned.put_into_bin()
    ontology, dataset = project.entity_ontology.copied_from, project.dataset.copied_from
    rules = make(
        "entity_constraints",
        owner=alice,
        entities=ontology.copy_to(by=alice, name="Labels of rules"),  # with the same uids
        relations=None,
        document=[{"domain": "State", "excludes": []}],
    )
    rules_copy = project.use(rules, by=alice)
    for each in (rules, rules_copy):  # the same steps, so that the same address works for both
        ruled = each.rules_with_keys().get().key
        each.changes.all().delete()
        each.touch(version=0)
        each.change_rule(ruled, can_contain=[], by=alice)
    document = [{"surface_form": "worn", "label": "State"}]
    lexicon = make(
        "entity_preannotations", owner=alice, document=document, entities=rules.entity_ontology, relations=None
    )
    lexicon_copy = project.use(lexicon, by=alice)
    for each in (lexicon, lexicon_copy):
        each.changes.all().delete()
        each.touch(version=0)
        each.change_row(each.rows().get().pk, {"surface_form": "worn out"}, by=alice)
    batch = Batch.objects.create(
        dataset=project.dataset,
        person=carol,
        verb="propagate",
        kind="entity",
        label=project.entity_ontology.items().first().uid,
        words="pump",
    )
    finished = start_job("test", title="t", by=alice, target={})
    Job.objects.filter(pk=finished.pk).update(state=JobState.RUNNING)
    item = project.dataset.items().first()
    label, relation_label = project.entity_ontology.items().first(), project.relation_ontology.items().first()
    for person in (None, carol, alice):  # the same marks for everybody, so that the same address works for all
        annotation = factories.annotation(item, person)
        for place in (0, 1, 2):
            annotation.add_entity(uid=f"given-mark-{place}", label=label, start=place, end=place)
        annotation.add_relation(uid="given-rel", label=relation_label, source="given-mark-0", target="given-mark-1")
        for marks in (annotation.entity_set, annotation.relation_set):
            marks.update(origin="given")
    factories.gold(item, *((label, place, place) for place in (0, 1, 2)), relations=[(relation_label, 0, 1)])
    factories.gold(project.dataset.items()[1], (label, 0, 0)).finish()
    project.reviews_own = project.shows_decisions = True
    project.save(update_fields=["reviews_own", "shows_decisions"])
    for tree in (ontology, project.entity_ontology):  # the first steps of both
        while tree.version < 2:
            tree.items().last().describe(f"Step {tree.version}", by=alice)
            tree.refresh_from_db()
    for each in (dataset, project.dataset):
        each.remove(each.items().filter(position=2), by=alice)
    corrected = [each.items()[1] for each in (dataset, project.dataset)]
    corrections = [
        TextCorrection.make(each, cut_anew(each, "left air conditioner"), by=alice, was_version=1) for each in corrected
    ]
    (folder / "done").write_text("done")
    with (folder / "bundle").open("wb") as file:
        bundle.write(elsewhere, file)
    refresh_disputes(project, 60)
    finished.finish(file="done", name="done.txt")
    read_as = {**READ_AS, "entity_ontology": ontology.pk, "file_kind": "preannotated_entity"}
    upload, upload_copy = (
        factories.upload("[]", by=alice, options=read_as, dataset=target) for target in (None, project.dataset)
    )
    for each in (upload, upload_copy):
        each.problems_path.write_text("item 1: This is wrong.\n")
        each.bad_path.write_text("{}\n")
    comments = [
        Comment.begin(on, person, by=person, text="Is this right?")
        for on, person in ((item, carol), (item, alice), (elsewhere.dataset.items().first(), bob))
    ]
    invitation, _ = Invitation.make(project, role="annotator", by=alice, address="dave@example.org")
    elsewheres, token = Invitation.make(elsewhere, role="annotator", by=bob)
    asked, _ = Invitation.make(project, role="observer", by=alice, address="nina@example.org")
    asked.accept(dave)
    item_counts.refresh()  # so that no reader has to
    item_work.refresh(project.dataset.pk, 60)
    make_report(project)
    graph = Graph.of(project)
    refresh(graph)
    nodes = [graph.forms.get(text=text).digest for text in item.tokens[:3]]
    graph.merge(nodes[0], nodes[2:], by=alice)
    graph.name_node(nodes[0], name="Left one", by=alice)
    webhook = Webhook.make(project, url="https://example.org/there", events=["item.done"], by=alice)
    delivery = webhook.ping()
    Delivery.objects.filter(pk=delivery.pk).update(attempts=1, next_at=None)
    return {
        "comment": comments[0].pk,
        "managers_comment": comments[1].pk,
        "comment_elsewhere": comments[2].pk,
        "folder": folder,
        "bundle": signing.dumps(["bundle", alice.pk], salt=SALT),
        "upload": upload.pk,
        "upload_copy": upload_copy.pk,
        "constraints": rules.pk,
        "ontology": ontology.pk,
        "ontology_copy": project.entity_ontology.pk,
        "relation_ontology": project.relation_ontology.copied_from.pk,
        "uid": ontology.items().first().uid,
        "rules": rules.pk,
        "rules_copy": rules_copy.pk,
        "rules_version": 1,
        "ruled": ruled,
        "lexicon": lexicon.pk,
        "lexicon_copy": lexicon_copy.pk,
        "lexicon_row": lexicon.rows().get().pk,
        "lexicon_row_copy": lexicon_copy.rows().get().pk,
        "color": ontology.items().first().color,
        "version": 2,
        "dataset": dataset.pk,
        "dataset_copy": project.dataset.pk,
        "item": dataset.items().first().pk,
        "item_copy": project.dataset.items().first().pk,
        "corrected": corrected[0].pk,
        "corrected_copy": corrected[1].pk,
        "correction": corrections[0].pk,
        "correction_copy": corrections[1].pk,
        "removed": dataset.bin().get().pk,
        "removed_copy": project.dataset.bin().get().pk,
        "project": project.pk,
        "batch": batch.pk,
        "source": Source.of(project.dataset, "tagger").pk,
        "bare_project": bare.pk,
        "binned": binned.pk,
        "membership": project.membership_set.get(user=carol).pk,
        "membership_elsewhere": elsewhere.membership_set.get().pk,
        "invitation": invitation.pk,
        "invitation_elsewhere": elsewheres.pk,
        "asked": asked.pk,
        "token": token,
        "job": start_job("test", title="t", by=alice, target={}).pk,
        "finished_job": finished.pk,
        "api_token": Token.make(alice, "t")[0].pk,
        "node": nodes[0],
        "other_node": nodes[1],
        "further_form": nodes[2],
        "webhook": webhook.pk,
        "delivery": delivery.pk,
        "carol": carol.pk,
        "alice": alice.pk,
        "dave": dave.pk,
        "label": label.uid,
        "relation_label": relation_label.uid,
        "sessions": {person.username: session_of(person) for person in (dave, carol, bob, alice, sam, rita, otto)},
    }


def session_of(person):
    """Signing in takes as long as many answers: everybody does it once."""
    client = Client()
    client.force_login(person)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def signed_in(world, person, client=None):
    client = client or Client()
    if person != "nobody":
        client.cookies[settings.SESSION_COOKIE_NAME] = world["sessions"][person]
    return client


def filled(value, world):
    if isinstance(value, dict):
        return {key: filled(each, world) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, world) for each in value]
    return value.format(**world) if isinstance(value, str) else value


def arguments(row, world):
    return [world.get(key, key) for key in row.args]


def ask(row, world, person, client=None):
    client = signed_in(world, person, client)
    url = reverse(row.name, args=arguments(row, world)) + row.query.format(**world)
    if row.json is not None:
        return client.post(url, filled(row.json, world), content_type="application/json", headers=row.headers)
    if row.data is not None:
        return client.post(url, filled(row.data, world), headers=row.headers)
    return client.get(url, headers=row.headers)


def test_every_address_has_a_row():
    assert {row.name for row in ROWS} == set(all_names())


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_everybody_gets_what_they_may_have(row, world):
    found = []
    for person in PEOPLE:
        with transaction.atomic(), CaptureQueriesContext(connection) as queries:
            response = ask(row, world, person)
            found.append(str(response.status_code))
            transaction.set_rollback(True)
        if not row.is_post:
            writes = [q["sql"] for q in queries if q["sql"].startswith(("INSERT", "UPDATE", "DELETE"))]
            assert not [sql for sql in writes if "session" not in sql and "last_login" not in sql], "a GET wrote"
        assert "frame-ancestors 'none'" in response["Content-Security-Policy"]
        assert response["X-Content-Type-Options"] == "nosniff"
        assert response["X-Frame-Options"] == "DENY"
        if person == "nobody":
            assert response["Location"].startswith("/accounts/login/") if response.status_code == 302 else True
        else:
            assert "public" not in response["Cache-Control"]
    assert " ".join(found) == row.expected


# What members may do besides what all of them may, who are not managers. All other changes are up to managers.
READS = {
    *(f"datasets:{name}" for name in ["page", "item", "uploads", "statistics", "figures", "vocabulary", "export"]),
    *(f"datasets:download_{form.name}" for form in DOWNLOAD_FORMATS),
    *(
        f"resources:{name}"
        for name in ["page", "download_json", "checks", "rules", "matrix", "cell", "history", "step"]
    ),
    *(
        f"preannotations:{name}"
        for name in ["page", "download_json", "download_csv", "standing", "history", "step", "row"]
    ),
    *(
        f"projects:{name}"
        for name in ["people", "items", "item", "figures", "violations", "violations_count", "violations_of_rules"]
    ),
    *("projects:preannotation_figures", "projects:source"),
    *("annotations:read_start", "annotations:read"),
    *("quality:reviews", "quality:review", "quality:agreement", "quality:agreement_part", "quality:agreement_changed"),
    *(f"quality:{name}" for name in ("agreement_csv", "agreement_json", "agreement_places", "count_agreement")),
    *(
        f"graph:{name}"
        for name in ("page", "neighbours", "suggestions", "figures", "export", "history", "step", "count")
    ),
}
REVIEWS = {f"projects:{verb}_comment" for verb in ("answer", "edit", "delete", "reopen")} | {
    "annotations:comment_on",
    "annotations:words",
}
REVIEWS |= {row.name for row in ROWS if row.name.startswith("quality:")} - READS - {"quality:lessons"}
REVIEWS -= {f"quality:{name}" for name in ("rule", "share", "take_given", "gold_dataset")}
REVIEWS -= {f"quality:download_{form.name}" for form in FORMATS}
REVIEWS |= {f"graph:{name}" for name in ("merge", "split", "keep_apart", "name_node", "undo", "redo", "revert")}
ROWS_OF_PROJECT = [row for row in ROWS if row.args and (row.args[0] == "project" or row.args[0].endswith("_copy"))]


def expected_of(row, role):
    """What a reviewer or an observer gets, by what an annotator and a manager get."""
    _, _, annotator, _, _, staff = row.expected.split()
    if row.name in READS:
        return staff
    if row.name in REVIEWS:
        is_not_there = staff == "404" and row.name.startswith("projects:")  # what it is about is found first
        return staff if role == "reviewer" or is_not_there else "403"
    return "403" if staff == "403" else annotator  # staff annotate nothing


def statuses(world, person):
    """What somebody gets of all that the project has; what they do is taken back."""
    found = {}
    for row in ROWS_OF_PROJECT:
        with transaction.atomic():
            found[str(row), row.query, str(row.data)] = str(ask(row, world, person).status_code)
            transaction.set_rollback(True)
    return found


@pytest.mark.parametrize(("person", "role"), [("rita", "reviewer"), ("otto", "observer")])
def test_reviewers_and_observers_get_what_their_rights_are_for(world, person, role):
    expected = {(str(row), row.query, str(row.data)): expected_of(row, role) for row in ROWS_OF_PROJECT}
    assert statuses(world, person) == expected


@pytest.mark.parametrize("person", ["carol", "alice"])
def test_a_member_who_was_removed_gets_nothing_any_more(world, person):
    """From the next request of the same session on, like somebody who never was a member."""
    project = Project.objects.get(pk=world["project"])
    if person == "alice":
        project.add_members([User.objects.get(username="bob")], "manager")
    project.remove_member(project.membership_set.get(user__username=person))
    stranger = PEOPLE.index("bob" if person == "alice" else "dave")
    expected = {(str(row), row.query, str(row.data)): row.expected.split()[stranger] for row in ROWS_OF_PROJECT}
    assert statuses(world, person) == expected


def in_turn(rows):
    """One row after the other; what is done in the turn of each is taken back."""
    for row in rows:
        with transaction.atomic():
            yield row
            transaction.set_rollback(True)


def of_app(app, rows=ROWS):
    return [row for row in rows if row.name.rpartition(":")[0] == app]


def about(*things):
    """One row for each address of these things and way to ask, whatever is sent."""
    return {(row.name, row.is_post, row.args): row for row in ROWS if row.args and row.args[0] in things}.values()


ADDRESSES = {(row.name, row.is_post): row for row in ROWS}.values()  # of whatever thing
APPS = sorted({row.name.rpartition(":")[0] for row in ROWS})


@pytest.mark.parametrize("app", APPS)
def test_on_a_full_disk_all_is_read_and_what_is_written_is_refused(app, world):
    client, disk = signed_in(world, "alice"), faults.FullDisk()
    client.raise_request_exception = False
    disk.begin()
    for row in in_turn(of_app(app)):
        expected = dict(zip(PEOPLE, row.expected.split(), strict=True))["alice"]
        with connection.execute_wrapper(disk):
            found = str(ask(row, world, "nobody", client).status_code)
        assert found == expected or (row.is_post and found == "507"), row


@pytest.mark.parametrize("app", APPS)
def test_nothing_is_found_under_a_number_that_is_not_there(app, world):
    for row in of_app(app, [row for row in ADDRESSES if row.args]):
        for number in (0, 2**31, 2**63, 10**30):
            assert ask(row, {**world, row.args[0]: number}, "sam").status_code == 404, (row, number)


@pytest.mark.parametrize("app", APPS)
def test_an_action_needs_the_token_against_forgery(app, world):
    for row in of_app(app, [row for row in ADDRESSES if row.is_post]):
        # Asked by somebody who would not get a 403 with the token: who may do it, or else who is told that it is not there.
        others = [(status, p) for status, p in zip(row.expected.split(), PEOPLE, strict=True) if status != "403"][1:]
        person = next((p for status, p in others if status not in ("302", "404")), others[-1][1])
        assert ask(row, world, person, client=Client(enforce_csrf_checks=True)).status_code == 403, row


@pytest.mark.parametrize("app", APPS)
def test_browsers_keep_drafts_of_all_forms_with_long_texts(app, world):
    client = signed_in(world, "alice")
    for row in of_app(app):
        if row.is_post:
            continue
        answer = ask(row, world, "alice", client)
        if answer.status_code != 200 or "html" not in answer["Content-Type"]:
            continue
        for form in re.findall(r"<form\b.*?</form>", answer.content.decode(), re.DOTALL):
            tag = form[: form.index(">")]
            # The editor of ontologies sends by itself what is typed, and keeps it until then.
            if "<textarea" in form and not re.search('class="(coming|field description)"', tag):
                assert "data-draft" in tag, f"{row}: {tag}"


def test_actions_are_not_done_by_reading(world):
    as_sam = signed_in(world, "sam")
    reads = {row.name for row in ROWS if not row.is_post}
    for row in ROWS:
        if row.is_post and row.name not in reads:
            url = reverse(row.name, args=arguments(row, world))
            assert as_sam.get(url).status_code == 405, row.name


@pytest.mark.parametrize("app", APPS)
def test_an_address_shows_a_whole_page_and_its_dialog_is_open_there(app, world):
    """In a browser, whatever the scripts of the pages get from there."""
    for row in of_app(app):
        able = [p for status, p in zip(row.expected.split(), PEOPLE, strict=True) if status in ("200", "422")]
        if row.is_post or not able:
            continue
        shown, part = (ask(row, world, able[0], Client(headers=headers)) for headers in ({}, {"HX-Request": "true"}))
        if shown.streaming or "text/html" not in shown["Content-Type"]:
            continue
        assert shown.content.startswith(b"<!doctype html>") and shown.content.count(b"</html>") == 1, row
        _, dialog = shown.content.split(b'<dialog id="dialog"')
        is_dialog = b"dialog-head" in part.content and not part.content.startswith(b"<!doctype")
        heading = re.search(b"(?s)<h2.*?</h2>", part.content)[0] if is_dialog else b"></dialog>"
        assert heading in dialog, row


def test_the_admin_is_for_staff(world):
    assert signed_in(world, "alice").get("/admin/", follow=True).status_code == 403
    assert Client().get("/admin/", follow=True).request["PATH_INFO"] == "/accounts/login/"
    assert signed_in(world, "sam").get("/admin/").status_code == 200


def test_staff_without_further_permissions_see_the_service_in_the_admin_but_not_accounts(world):
    client = Client()
    client.force_login(factories.user("tom", is_staff=True))
    assert client.get("/admin/projects/project/").status_code == 200
    assert client.get(f"/admin/ontologies/ontology/{world['ontology']}/change/").status_code == 200
    assert client.get("/admin/annotation_service/user/").status_code == 403


def test_what_is_deleted_answers_like_what_never_was(world, monkeypatch):
    """At once, before any of its rows is deleted."""
    monkeypatch.setattr(blueprints, "purge_deleted", lambda seconds: 0)
    gone = {
        key: world[key] for key in ("project", "dataset", "ontology", "dataset_copy", "ontology_copy", "upload_copy")
    }
    rows = about(*gone)
    Project.objects.get(pk=gone["project"]).erase()
    Dataset.objects.get(pk=gone["dataset"]).erase()
    Ontology.objects.get(pk=gone["ontology"]).erase()
    never = world | {key: pk + 10_000 for key, pk in gone.items()}
    assert len(rows) > 150
    for row in rows:
        for person in ("carol", "sam"):
            status = ask(row, world, person).status_code
            assert status == ask(row, never, person).status_code and status in (403, 404), (row, person)


OF_THE_PROJECT = ("project", "dataset_copy", "ontology_copy", "rules_copy", "lexicon_copy", "upload_copy")


def test_what_is_in_the_bin_answers_like_what_never_was(world):
    Project.objects.get(pk=world["project"]).put_into_bin()
    rows = [row for row in about(*OF_THE_PROJECT) if row.name != "projects:take_out_of_bin"]
    assert len(rows) > 150
    for row in rows:
        for person in ("alice", "sam"):
            assert ask(row, world, person).status_code == 404, (row, person)


# What those who manage an archived project may still do with it, or only looks like an action.
STILL_DONE = {"projects:download", "projects:duplicate", "projects:restore", "projects:delete", "ontologies:tree"}
STILL_DONE |= {
    *("datasets:export", "projects:export"),
    "quality:gold_dataset",
    *("quality:count_agreement", "graph:count", "graph:export"),
    *(f"quality:download_{form.name}" for form in FORMATS),
}
STILL_DONE |= {f"{app}:duplicate" for app in ("ontologies", "datasets", "resources", "preannotations")}


def test_an_archived_project_is_read_and_not_changed(world):
    Project.objects.get(pk=world["project"]).archive()
    for row in about(*OF_THE_PROJECT):
        for person, expected in zip(PEOPLE, row.expected.split(), strict=True):
            if person not in ("carol", "alice", "sam"):
                continue
            with transaction.atomic():
                status = str(ask(row, world, person).status_code)
                transaction.set_rollback(True)
            if row.is_post and row.name not in STILL_DONE:
                refused = ("403", "404", "422") if row.name == "projects:leave" else ("403", "404")
                assert status in refused, (row, person)
            else:
                # One's own items are read there.
                assert status in (expected, "403") or (row.name, status) == ("annotations:item", "302"), (row, person)


def stored():
    """All rows of all tables, except what somebody's requests leave in their session."""
    models = (model for model in apps.get_models() if model is not Session)
    return {model._meta.label: sorted(map(repr, model._base_manager.values_list())) for model in models}


def told(response):
    """What an answer says: in the page, in a toast, or in a message on the page that it leads to."""
    toast = json.loads(response.headers.get("HX-Trigger", "{}")).get("toast", {}).get("text", "")
    messages = getattr(response.wsgi_request, "_messages", ())
    return " ".join([html.unescape(response.text), toast, *map(str, messages)])


# What these change is not the thing as a whole: they lock an upload, a comment, or a project in the bin.
LOCK_SOMETHING_ELSE = {
    *(f"datasets:{verb}" for verb in ("decide", "map_labels", "make_ontology", "store_upload", "discard_upload")),
    "projects:copy_items",
    *(f"projects:{verb}_comment" for verb in ("answer", "edit", "delete")),
    *("projects:take_out_of_bin", "projects:delete_for_good"),
    "projects:import_bundle",  # something new, that nobody else knows
    "graph:count",  # begins a job, which finds out by itself
}


@pytest.mark.parametrize("app", ["ontologies", "resources", "preannotations", "datasets", "projects", "graph"])
def test_whoever_was_too_late_is_told_and_changes_nothing(app, world, monkeypatch):
    """Others archive a project, or delete things, after the right was checked and before the lock is there."""
    late = []

    def gone(thing):
        late.append(f"“{thing}” was deleted meanwhile.")
        raise Refused(late[-1])

    monkeypatch.setattr(Described, "locked", gone)
    monkeypatch.setattr(Project, "locked", gone)
    before = stored()
    for row in in_turn(of_app(app)):
        statuses = dict(zip(PEOPLE, row.expected.split(), strict=True))
        person = next((person for person in ("alice", "carol") if statuses[person] in ("200", "302")), None)
        if row.is_post and person:
            late.clear()
            response = ask(row, world, person)
            assert not late or (response.status_code in (302, 422) and late[-1] in told(response)), row
            assert stored() == before or (not late and row.name in LOCK_SOMETHING_ELSE), row
