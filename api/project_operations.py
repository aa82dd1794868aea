"""Projects: what they consist of, their life from the first to the last, what goes out of them and comes in."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.http import Http404
from django.http.response import HttpResponseBase

from annotation_service import access as blueprint_access
from annotation_service.blueprints import Right
from annotation_service.inputs import Refused
from annotation_service.models import Job, User, fold, kept_file
from annotation_service.paging import named
from datasets.importing.options import DECISIONS
from datasets.models import BrokenRule, Contents, Dataset, Upload
from datasets.models.judged import places_of
from datasets.views.exporting import ExportForm
from ontologies.models import Ontology, OntologyKind
from projects import access, bundle_views, creation, progress, resource_views, views, work_export
from projects.assignment import item_counts
from projects.bundle import in_words
from projects.bundle_import import BundleReader
from projects.forms import DeleteForm, DuplicateForm, PutForm
from projects.item_views import COUNT_SECONDS
from projects.models import Project
from projects.violation_report import GIVEN, PLACES, Selection, ViolationReport, foreseen_in
from resources.models import FORMATS, RESOURCE_SETS, ConstraintSet, PreannotationSet, ResourceSet
from work.models.item_work import refresh
from work.suggestions.decisions import figures_of

from .blueprint_operations import seen_by
from .forms import filled_in, problems_in, valid
from .item_operations import discarded_if_refused
from .operations import FILE, ApiSection, Call, Rows, attributes, project_of
from .problems import show_problems

project_of["binned"] = project_of["project"]
projects = ApiSection("Projects")
PROJECT = "projects/<int:project>"
RESOURCES = ("dataset", *(f"{kind}_ontology" for kind in OntologyKind.values), *FORMATS)


def show_projects(user: User, some: Iterable[Project]) -> list[dict[str, Any]]:
    """With a fixed number of queries; the progress is that of all or, for who annotates, their own."""
    item_counts.refresh()
    found: list[Any] = progress.with_progress(some, user)
    parts: dict[int, dict[str, int | None]] = defaultdict(lambda: dict.fromkeys(RESOURCES))
    models: tuple[Any, ...] = (Dataset, Ontology, *RESOURCE_SETS)
    for model in models:
        for thing in model._default_manager.filter(project__in=found).only("pk", "project", "kind"):
            name = {Dataset: "dataset", Ontology: f"{thing.kind}_ontology"}.get(model)
            parts[thing.project_id][name or thing.format] = thing.pk
    return [
        {
            **attributes(project, "id name description guidelines task history counted"),
            **attributes(project, "created_by created_at updated_at archived_at"),
            "role": project.role and project.role.label.lower(),
            "resources": parts[project.pk],
            "progress": {
                "of": "own" if project.is_own else "all",
                **attributes(project.progress, "total untouched begun done"),
            },
        }
        for project in found
    ]


def _show(call: Call, made: Project | Job) -> Any:
    return made if isinstance(made, Job) else show_projects(call.user, [made])[0]


@projects.list("projects", "Project", query="q archived")
def list_projects(call: Call) -> Rows:
    """The projects that the person is in; staff see all. Archived ones are listed for themselves."""
    found = access.projects(call.user).filter(archived_at__isnull=not call.asked["archived"])
    found = named(found, call.asked["q"] or "").select_related("created_by")
    return Rows(found, lambda some: show_projects(call.user, some))


@projects.get(PROJECT, "Project")
def get_project(call: Call, project: int) -> Any:
    """Its words and settings, what it consists of, and how far it is."""
    return _show(call, access.project(call, project))


@projects.create("projects", "NewProject", "ProjectMade", query="dry_run", long=True, pages="projects:create")
def create_project(call: Call) -> Any:
    """Make a project with copies of blueprints; a large one by a job. A dry run tells what it would be, and what does not fit."""
    blueprint_access.require_creator(call)
    form = creation.project_form(call, filled_in(call.sent))
    if call.asked["dry_run"]:
        return _review(form)
    valid(form)
    return _show(call, creation.create_or_start(form.values(), by=call.user))


def _review(form: creation.ProjectForm) -> dict[str, Any]:
    problems, pairs = problems_in(form), form.pairs()
    return {
        "problems": show_problems(problems),
        "summary": {step.step.name: step.lines() for step in creation.steps_of(form, checked=True)},
        **creation.totals(form),
        "given_marks": form.given_count,
        "broken_rules": broken_rules_of(form.foreseen),
        "pairs": pairs and pairs.range,
        "takes_long": not problems and creation.is_large(form.values()),
    }


def broken_rules_of(tally: Any) -> list[dict[str, Any]]:
    return tally.rows() if tally else []


@projects.patch(PROJECT, "ProjectChange", "Project", pages="projects:edit projects:settings")
def change_project(call: Call, project: int) -> Any:
    """Change its words, or what annotators are shown of marks that are there. How it is reviewed has an address of its own."""
    access.project(call, project, Right.MANAGE).edit(was=seen_by(call), **call.sent)
    return get_project(call, project)


@projects.post(f"{PROJECT}/archive", answer="Project", pages="projects:archive")
def archive_project(call: Call, project: int) -> Any:
    """Let everybody read and nobody change it."""
    found = access.project(call, project, Right.MANAGE)
    found.archive()
    return _show(call, found)


@projects.post(f"{PROJECT}/restore", answer="Project", pages="projects:restore")
def restore_project(call: Call, project: int) -> Any:
    """Let people work in an archived project again."""
    found = access.project(call, project, Right.KEEP)
    found.restore()
    return _show(call, found)


@projects.create(f"{PROJECT}/copies", "ProjectCopy", "Project", long=True, pages="projects:duplicate")
def copy_project(call: Call, project: int) -> Any:
    """Make a new project like this one; a large one by a job."""
    blueprint_access.require_creator(call)
    found = access.project(call, project, Right.KEEP)
    wishes = valid(DuplicateForm({"contents": Contents.GIVEN, **filled_in(call.sent)}))
    return _show(call, views.duplicate_or_start(found, by=call.user, **wishes))


# --- The bin -----------------------------------------------------------------------------------------------------------


@projects.delete(PROJECT, query="name", pages="projects:delete")
def delete_project(call: Call, project: int) -> None:
    """Put it into the bin, with everything that it has; its name confirms that it is the one that is meant."""
    found = access.project(call, project, Right.KEEP)
    valid(DeleteForm({"name": call.asked["name"]}, project=found))
    found.put_into_bin()


@projects.list("bin", "BinnedProject")
def list_bin(call: Call) -> Rows:
    """The deleted projects that the person may bring back."""
    return Rows(access.binned(call), lambda some: (attributes(each, "id name deleted_at gone_at") for each in some))


@projects.post("bin/<int:binned>/restore", answer="Project", pages="projects:take_out_of_bin")
def take_out_of_bin(call: Call, binned: int) -> Any:
    """Give it back to everybody, as it was."""
    access.in_bin(call, binned).take_out_of_bin()
    return get_project(call, binned)


@projects.delete("bin/<int:binned>", query="name", pages="projects:delete_for_good")
def delete_for_good(call: Call, binned: int) -> None:
    """Delete a project that is in the bin without waiting until its time there is over; its name confirms it."""
    found = access.in_bin(call, binned)
    valid(DeleteForm({"name": call.asked["name"]}, project=found))
    found.erase_from_bin()


# --- Bundles and exports -----------------------------------------------------------------------------------------------


@projects.post(f"{PROJECT}/bundle", answer="Job", status=202, pages="projects:download")
def make_bundle(call: Call, project: int) -> Job:
    """Write everything of it into one zip file: always by a job, whose file it is."""
    return views.start_bundle(access.project(call, project, Right.KEEP), by=call.user)


@projects.post(
    f"{PROJECT}/export", "WorkExport", "Losses", query="dry_run", sends_file=True, long=True, pages="projects:export"
)
def export_work(call: Call, project: int) -> HttpResponseBase | Job | dict[str, Any]:
    """The work in the format of another program: the file, or a job that writes it. A dry run tells what the format loses."""
    found = access.project(call, project, Right.KEEP)
    chosen = valid(ExportForm(call.sent, work_export.whose_choices(found)))
    if not call.asked["dry_run"]:
        return work_export.export_or_start(call, found, chosen)
    if work_export.rows_of(found) > settings.JOB_ROWS:
        raise Refused("Of so many marks the job tells what is lost, with the file.", place="dry_run")
    return {"losses": work_export.losses_of(found, chosen)}


@projects.create(
    "bundles",
    FILE,
    "ProjectOfBundle",
    query="people dry_run",
    long=True,
    pages="projects:upload_bundle projects:import_bundle",
)
def import_bundle(call: Call) -> Any:
    """Make a project of a bundle; of a large one by a job. A dry run tells what is in it, and which people have accounts here."""
    blueprint_access.require_creator(call)
    manifest = BundleReader(call.sent).manifest
    offered = bundle_views.MatchingForm(manifest, call.user)
    names = {name: str(field.label) for name, field in offered.fields.items()}
    if call.asked["dry_run"]:
        told = {"name": manifest["project"]["name"], "contents": in_words(manifest), "counts": manifest["counts"]}
        return {**told, "people": [*names.values()], "authors": offered.authors}
    wanted = {fold(name) for name in call.asked["people"]}
    matched = {name: name.removeprefix("person-") for name, label in names.items() if fold(label) in wanted}
    if len(matched) < len(wanted):
        raise Refused("Not all of these are members in the bundle with an account of this name here.", place="people")
    form = bundle_views.MatchingForm(manifest, call.user, matched)
    valid(form)
    path = kept_file(bundle_views.keep(call.sent))
    return _show(call, bundle_views.import_or_start(path, manifest, form.people, by=call.user))


# --- What a project gets afterwards ------------------------------------------------------------------------------------


def _blueprint(call: Call, name: str, offered: QuerySet[Any]) -> Any:
    return valid(PutForm(filled_in(call.sent), name=name, offered=offered))[name]


@projects.post(
    f"{PROJECT}/ontologies/<str:kind>", "LabelsPut", "LabelsForeseen", query="dry_run", pages="projects:put_labels"
)
def put_labels(call: Call, project: int, kind: str) -> Any:
    """Put the labels of a blueprint among the project’s own: those that it does not have. “count” agrees to so many new ones."""
    found = access.project(call, project, Right.MANAGE)
    if kind not in OntologyKind.values:
        raise Http404
    offered: Any = blueprint_access.blueprints(call, Ontology).filter(kind=kind)
    chosen = _blueprint(call, "ontology", offered.with_size())
    told = resource_views.foreseen_labels(found.ontology_set.filter(kind=kind).first(), chosen)
    if not call.asked["dry_run"]:
        if "count" not in call.sent:
            raise Refused("Say how many labels are to come: a dry run tells.", place="count")
        found.put_labels(chosen, by=call.user, agreed=call.sent["count"])
    pairs = {"elsewhere": ("name", "here"), "wrong": ("name", "text")}
    lists = {name: [dict(zip(keys, each, strict=True)) for each in told.get(name, [])] for name, keys in pairs.items()}
    return {
        "count": len(told["new"]),
        "new": told["new"],
        "same": told.get("same", 0),
        "off": told.get("off", 0),
        **lists,
    }


@projects.post(
    f"{PROJECT}/copied-items", "ItemsPut", "ItemsForeseen", query="dry_run", long=True, pages="projects:copy_items"
)
def put_items(call: Call, project: int) -> Any:
    """Add the items of a blueprint to the project’s own; many by a job. Nothing comes if something is wrong with one of them,
    unless it is decided otherwise."""
    found = access.project(call, project, Right.MANAGE)
    chosen = _blueprint(call, "dataset", blueprint_access.blueprints(call, Dataset))
    decided = call.sent.get("decisions", {})
    for name, value in decided.items():
        if name not in DECISIONS or value not in DECISIONS[name].values:
            raise Refused("There is no such decision.", place=f"$.decisions.{name}")
    upload = Upload.begin_copy(chosen, by=call.user, dataset=found.dataset)
    with discarded_if_refused(upload):
        upload.change({**upload.options, **decided})
        if upload.is_large:
            return upload.start_job("check_upload" if call.asked["dry_run"] else "store_upload", by=call.user)
        report = upload.examine()
        if not call.asked["dry_run"]:
            upload.store()
    if call.asked["dry_run"]:
        upload.discard()
    counts = attributes(report, "items entities relations skipped items_refused")
    problems = {"problems": show_problems(report.problem_lines), "total": report.problems.total}
    return {**counts, **problems, "broken_rules": report.violations}


def _sets(model: type[ResourceSet], name: str, *, tells: str, takes: str) -> None:
    """The operations about constraints, or preannotations: a project has one set for each kind of labels."""
    path = f"{PROJECT}/{name}/<str:kind>"

    def put(call: Call, project: int, kind: str) -> Any:
        model.feature.check()
        found = access.project(call, project, Right.MANAGE)
        resource_views.own_set(found, model, kind)
        chosen = _blueprint(call, name, blueprint_access.blueprints(call, model).filter(kind=kind))
        if call.asked["dry_run"]:
            tally = foreseen_in(found, chosen)
            return {"total": tally.total if tally else 0, "broken_rules": broken_rules_of(tally)}
        return found.put_set(chosen, by=call.user) or get_project(call, project)

    def take_away(call: Call, project: int, kind: str) -> Any:
        model.feature.check()
        found = access.project(call, project, Right.MANAGE)
        resource_views.set_there(found, model, kind)
        return found.take_set_away(model, kind, by=call.user) or get_project(call, project)

    what = f"the project’s {name} about one kind of labels"
    add = f"Add a copy of a blueprint as {what}, in the place of those that it has. Marks stay. {tells}"
    at = {"name": f"put_{name}", "query": "dry_run", "pages": f"projects:{name}", "about": add}
    projects.put(path, f"{name.capitalize()}Put", "SetPut", long=True, **at)(put)
    at = {"name": f"take_{name}_away", "pages": f"projects:remove_{name}", "about": f"Take away {what}. {takes}"}
    projects.delete(path, answer="Project", long=True, **at)(take_away)


_sets(
    ConstraintSet,
    "constraints",
    tells="A dry run tells which rules marks would break.",
    takes="All marks stay as they are.",
)
_sets(
    PreannotationSet,
    "preannotations",
    tells="They are matched with the items, with many by a job.",
    takes="Suggestions that nobody has touched go with them.",
)


@projects.post(f"{PROJECT}/match", long=True, pages="projects:match_preannotations")
def match_preannotations(call: Call, project: int) -> Job | None:
    """Match the preannotations with the items again, because rows have changed since; many by a job."""
    return access.project(call, project, Right.MANAGE).match_preannotations(by=call.user)


@projects.list(f"{PROJECT}/preannotations/<str:kind>/figures", "PreannotationFigures")
def list_preannotation_figures(call: Call, project: int, kind: str) -> Rows:
    """How often each row was suggested, and what people decided; rows that were never suggested are left out."""
    found = access.project(call, project, Right.READ)
    thing = resource_views.set_there(found, PreannotationSet, kind)
    figures = sorted(figures_of(thing, found.dataset).items())
    return Rows(figures, lambda some: ({"row": pk, **each._asdict()} for pk, each in some))


# --- Figures -----------------------------------------------------------------------------------------------------------


@projects.get(f"{PROJECT}/figures", "ProjectFigures")
def get_project_figures(call: Call, project: int) -> Any:
    """How many marks people made or accepted, and which labels they use."""
    told = progress.marks(access.project(call, project, Right.READ))
    labels = [
        {"label": each["label"].uid, "name": each["label"].fullname, "count": each["count"]} for each in told["labels"]
    ]
    names = ("entities", "relations", "unused", "label_count", "given_entities", "given_relations")
    return {**{name: told[name] for name in names}, "labels": labels}


@projects.get(f"{PROJECT}/violations/count", "ViolationCounts")
def count_violations(call: Call, project: int) -> Any:
    """How often marks break the constraints, by rule and by person; none for those that came with the dataset."""
    found = access.project(call, project, Right.READ)
    is_counted = refresh(found.dataset.pk, COUNT_SECONDS)
    report = ViolationReport(found)
    shown = Selection(report, rule="", who="")
    rules = [
        {
            "rule": each["key"],
            "set": each["set"] and each["set"].name,
            **{k: each[k] for k in ("number", "text", "count")},
        }
        for each in shown.rules()
    ]
    people = [{"person": each["name"] or None, "count": each["count"]} for each in shown.people()]
    return {"total": report.total, "rules": rules, "people": people, "is_counted": is_counted}


@projects.list(f"{PROJECT}/violations", "ProjectViolation", query="rule person")
def list_violations(call: Call, project: int) -> Rows:
    """The marks that break rules: what breaks one in somebody’s item, with the first places."""
    found = access.project(call, project, Right.READ)
    refresh(found.dataset.pk, COUNT_SECONDS)
    report, who = ViolationReport(found), call.asked["person"] or ""
    if who not in ("", GIVEN):
        who = str(getattr(access.somebody_of(found, who), "pk", 0))

    def show(rows: Iterable[BrokenRule]) -> Iterable[dict[str, Any]]:
        for row, places in places_of(report.judge, rows, PLACES) if report.judge else ():
            yield {
                "item": row.annotation.item_id,
                "external_id": row.annotation.item.external_id or None,
                "person": report.people.get(row.annotation.annotator_id or 0),
                "rule": row.rule,
                "count": row.count,
                "places": [{"marks": list(place.uids), "text": place.text} for place in places],
            }

    return Rows(Selection(report, rule=call.asked["rule"] or "", who=who).broken(), show)
