"""The pages on which a bundle becomes a project: its file, then what is in it, with an account for each person who has one."""

from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.core import signing
from django.core.files import File
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from annotation_service.access import require_creator
from annotation_service.db import among
from annotation_service.http import Request
from annotation_service.inputs import check_size
from annotation_service.models import Job, User, fold, kept_file, new_file, start_job

from .bundle import in_words
from .bundle_import import BundleReader, import_bundle
from .forms import refusals_in, tells_on_list
from .models import Project

SALT = "projects.bundle"


class BundleFileForm(forms.Form):
    file = forms.FileField(label="Bundle", help_text="A zip file, as it is downloaded on the page of a project.")


class MatchingForm(forms.Form):
    """Which accounts the members in a bundle, and the importer, have here. Those of the same names are offered; nobody is matched
    without being chosen, and all others are ``authors`` without an account."""

    def __init__(self, manifest: dict[str, Any], importer: User, *args: Any) -> None:
        super().__init__(*args)
        members = {fold(member["user"]) for member in manifest["members"]} | {importer.username_folded}
        names = {folded: name for name in manifest["people"] if (folded := fold(name)) in members}
        found = User.objects.filter(is_active=True, username_folded__in=among(names.keys()))
        self.accounts = {str(person.pk): person for person in found.order_by("username_folded")}
        for pk, person in self.accounts.items():
            choices = [("", "a named author without an account"), (pk, f"the account {person}")]
            name = names[person.username_folded]
            self.fields[f"person-{pk}"] = forms.ChoiceField(label=name, choices=choices, required=False)
        offered = {field.label for field in self.fields.values()}
        self.authors = [name for name in manifest["people"] if name not in offered]

    @property
    def people(self) -> dict[str, User]:
        chosen = {field: pk for field, pk in self.cleaned_data.items() if pk}
        return {str(self.fields[field].label): self.accounts[pk] for field, pk in chosen.items()}


@require_http_methods(["GET", "POST"])
def upload(request: Request) -> HttpResponse:
    require_creator(request)
    form = BundleFileForm(request.POST, request.FILES) if request.method == "POST" else BundleFileForm()
    if form.is_valid():
        file = form.cleaned_data["file"]
        with refusals_in(form, "file"):
            check_size(file.size, settings.MAX_FILE_BYTES)
            BundleReader(file)
            return redirect("projects:import_bundle", signing.dumps([keep(file), request.user.pk], salt=SALT))
    context = {"section": "projects", "form": form}
    return render(request, "projects/upload_bundle.html", context, status=422 if form.is_bound else 200)


@require_http_methods(["GET", "POST"])
@tells_on_list
def import_page(request: Request, token: str) -> HttpResponse:
    """What is in an uploaded bundle; then the project is made, at once or by a job."""
    require_creator(request)
    path = _uploaded(request, token)
    with path.open("rb") as file:
        manifest = BundleReader(file).manifest
        form = MatchingForm(manifest, request.user, *([request.POST] if request.method == "POST" else []))
        if form.is_valid():
            with refusals_in(form):
                made = import_or_start(path, manifest, form.people, by=request.user, again=request.path)
                return redirect("job", made.pk) if isinstance(made, Job) else redirect(made)
    context = {"section": "projects", "manifest": manifest, "contents": in_words(manifest), "form": form}
    return render(request, "projects/import_bundle.html", context, status=422 if form.is_bound else 200)


def keep(file: File) -> str:
    """For a day; returns the name under which it is kept."""
    with new_file() as (name, target):
        target.writelines(file.chunks())
    return name


def import_or_start(path: Path, manifest: Any, people: dict[str, User], *, by: User, again: str = "") -> Project | Job:
    """At once, or by a job if it is large, whose page leads back to where to try ``again``. Its file goes when it is done."""
    if sum(manifest["counts"].values()) > settings.JOB_ROWS or path.stat().st_size > settings.JOB_FILE_BYTES:
        keys = {name: person.pk for name, person in people.items()}
        target = {"file": path.name, "people": keys, **({"again": again} if again else {})}
        return start_job("import_bundle", title=f"Import “{manifest['project']['name']}”", by=by, target=target)
    with path.open("rb") as file:
        project = import_bundle(file, manager=by, people=people)
    path.unlink(missing_ok=True)
    return project


def _uploaded(request: Request, token: str) -> Path:
    """For whoever has uploaded it, as long as it waits: for a day, or until it is imported."""
    try:
        name, person = signing.loads(token, salt=SALT)
    except signing.BadSignature:
        raise Http404 from None
    if person != request.user.pk or not kept_file(name).is_file():
        raise Http404
    return kept_file(name)
