"""What is asked about projects and their people, and how a refusal is told."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse, reverse_lazy
from django_htmx.http import HttpResponseClientRedirect

from annotation_service import limits, words
from annotation_service.blueprint_views import DescriptionField, NameField
from annotation_service.edits import EditForm
from annotation_service.http import Request, refused
from annotation_service.inputs import Refused
from annotation_service.models import User, fold
from datasets.forms import BlueprintChoice
from datasets.models import Contents

from . import roles
from .members import Membership
from .models import Project

View = Callable[..., HttpResponse]


@contextmanager
def refusals_in(form: forms.BaseForm, field: str | None = None) -> Iterator[None]:
    """What is refused is told in the form, at the field that it is about if there is one."""
    try:
        yield
    except Refused as error:
        first = error.problems[0]
        if field is None and first.place in form.fields:
            form.add_error(first.place, first.text)
        else:
            form.add_error(field, str(error))


def answers_refusals(answer: Callable[[Request, Refused], HttpResponse]) -> Callable[[View], View]:
    """For views whose refusals are about no field: somebody else was quicker."""

    def decorate(view: View) -> View:
        @wraps(view)
        def told(request: Request, *args: Any, **options: Any) -> HttpResponse:
            try:
                return view(request, *args, **options)
            except Refused as error:
                return answer(request, error)

        return told

    return decorate


def _on_list(request: Request, error: Refused) -> HttpResponse:
    messages.error(request, str(error))
    address = reverse("projects:list")
    return HttpResponseClientRedirect(address) if request.htmx else redirect(address)


toasts_refusals = answers_refusals(lambda _, error: refused(error))
tells_on_list = answers_refusals(_on_list)  # where the page of the project may have gone, too


class WordsForm(forms.Form):
    name = NameField()
    description = DescriptionField(rows=2)
    guidelines = forms.CharField(
        required=False,
        max_length=limits.MAX_GUIDELINES_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="What annotators should know. They can open it while they work.",
    )


class DetailsForm(EditForm, WordsForm):
    """The words of a project that is there, and what it tells annotators of what was marked before."""

    history = forms.ChoiceField(
        label="Suggestions from marks",
        required=False,
        choices=Project.History.choices,
        help_text="In the items that are opened. What was rejected stays away. With “anybody”, annotators see what others"
        " mark: choose that only if they need not work independently.",
    )
    counted = forms.ChoiceField(
        label="Counts of labels",
        required=False,
        choices=Project.Counted.choices,
        help_text="How often words were given each label is shown where labels are chosen. With “everybody”, annotators see"
        " how often others chose which.",
    )


class PutForm(forms.Form):
    """A blueprint for a project that is there."""

    def __init__(self, *args: Any, name: str, offered: QuerySet[Any], **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields[name] = BlueprintChoice(offered, empty_label=f"Choose {name}")


# Dialogs stand on pages that have fields of the same names.
IDS_IN_DIALOGS = "dialog_%s"


class DuplicateForm(forms.Form):
    name = NameField(widget=forms.TextInput(attrs={"autofocus": True}))
    people = forms.BooleanField(required=False, label="The people, with their roles and shortcuts")
    contents = forms.ChoiceField(
        label="Items and marks",
        choices=Contents.choices,
        initial=Contents.GIVEN,
        widget=forms.RadioSelect,
        help_text="Removed items, comments and flags stay behind.",
    )

    def __init__(self, data: Any = None, **options: Any) -> None:
        super().__init__(data, auto_id=IDS_IN_DIALOGS, **options)


class DeleteForm(forms.Form):
    name = forms.CharField(
        label="Type the project’s name to confirm", widget=forms.TextInput(attrs={"autocomplete": "off"})
    )

    def __init__(self, data: Any = None, *, project: Project) -> None:
        super().__init__(data, auto_id=IDS_IN_DIALOGS)
        self.project = project

    def clean_name(self) -> str:
        if self.cleaned_data["name"] != self.project.name:
            raise forms.ValidationError("This is not the project’s name.")
        return self.cleaned_data["name"]


def _role_label(name: str) -> str:
    role = roles.ROLES[name]
    return f"{role.label}: {role.explanation}"


class PeopleField(forms.CharField):
    """User names, separated by commas, spaces or line ends; cleaned to a list of users. Names are completed as they are typed."""

    MOST = 500

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        found = {"data-complete": reverse_lazy("projects:find_people"), "autocomplete": "off", "spellcheck": "false"}
        return super().widget_attrs(widget) | found

    def clean(self, value: str) -> list[User]:
        names = {fold(name): name for name in re.split(r"[\s,;]+", super().clean(value)) if name}
        if len(names) > self.MOST:
            raise forms.ValidationError(
                f"At most {self.MOST} people can be added at once; these are {words.number(len(names))}."
            )
        active = User.objects.filter(is_active=True, username_folded__in=names)
        found = {user.username_folded: user for user in active}
        if missing := [name for folded, name in names.items() if folded not in found]:
            some = " or ".join(f"“{words.cut(name, 60)}”" for name in missing[:10])
            more = f" (and {words.number(len(missing) - 10)} more)" if len(missing) > 10 else ""
            raise forms.ValidationError(
                f"There is no account with the user name {some}{more}. Invite people who have none."
            )
        return [found[folded] for folded in names]


class MembersForm(forms.Form):
    people = PeopleField(widget=forms.TextInput(attrs={"placeholder": "user names"}))
    role = forms.ChoiceField(choices=roles.choices, initial=roles.ANNOTATOR)

    def __init__(self, *args: Any, project: Project, **options: Any) -> None:
        super().__init__(*args, **options)
        attrs = self.fields["people"].widget.attrs
        attrs["data-complete"] = f"{attrs['data-complete']}?project={project.pk}"  # without its members


class RoleForm(forms.Form):
    role = forms.ChoiceField(
        choices=[(name, _role_label(name)) for name in roles.ROLES], widget=forms.RadioSelect, label="Role"
    )


class EndForm(forms.Form):
    """Whether somebody's marks stay when they are removed; to delete them, their name has to be typed."""

    marks = forms.ChoiceField(
        choices=[("keep", "Keep their marks"), ("delete", "Delete their marks")],
        initial="keep",
        widget=forms.RadioSelect,
    )
    name = forms.CharField(
        required=False,
        label="To delete the marks, type the user name",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def __init__(self, data: Any = None, *, member: Membership) -> None:
        super().__init__({"marks": "keep", **data.dict()} if data is not None else None)
        self.member = member

    def clean(self) -> None:
        if self.deletes and self.cleaned_data.get("name") != self.member.user.get_username():
            self.add_error("name", "This is not the user name: nothing was deleted.")

    @property
    def deletes(self) -> bool:
        return self.cleaned_data.get("marks") == "delete"


class HandOverForm(forms.Form):
    """To whom a manager hands the project over, and what they are themselves from then on."""

    to = forms.ModelChoiceField(
        Membership.objects.none(),
        label=f"New {roles.ROLES[roles.MANAGER]}",
        to_field_name="pk",
        empty_label="Choose a member",
    )
    role = forms.ChoiceField(
        label="Your role from then on",
        choices=[each for each in roles.choices() if each[0] != roles.MANAGER],
        initial=roles.OBSERVER,
    )

    def __init__(self, *args: Any, project: Project, own: Membership, **options: Any) -> None:
        super().__init__(*args, **options)
        others = project.members().exclude(pk=own.pk).filter(user__is_active=True)
        to: Any = self.fields["to"]
        to.queryset = others.select_related("user").order_by("user__username_folded")
        to.label_from_instance = lambda each: f"{each.user}, {each.get_role_display().lower()}"


class AddressesField(forms.CharField):
    """Mail addresses, separated by commas, spaces or line ends; cleaned to a list."""

    def clean(self, value: str) -> list[str]:
        addresses = {each.lower(): each for each in re.split(r"[\s,;<>]+", super().clean(value)) if each}
        most = limits.MAX_INVITED_AT_ONCE
        if len(addresses) > most:
            raise forms.ValidationError(f"At most {most} people can be invited at once; these are {len(addresses)}.")
        wrong = [each for each in addresses.values() if not _is_address(each)]
        if wrong:
            raise forms.ValidationError(
                f"“{words.cut(wrong[0], 60)}” is no mail address. Separate addresses by commas."
            )
        return list(addresses.values())


def _is_address(text: str) -> bool:
    try:
        forms.EmailField().clean(text)
    except forms.ValidationError:
        return False
    return len(text) <= 254 and len(fold(text)) <= User.MAX_FOLDED_ADDRESS


class InviteForm(forms.Form):
    addresses = AddressesField(
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 2, "placeholder": "anna@example.org, ben@example.org"}),
        label="Mail addresses",
    )
    role = forms.ChoiceField(choices=roles.choices, initial=roles.ANNOTATOR)


class LinkForm(forms.Form):
    """A link can be passed on: `Invitation.make` says which roles it can give."""

    role = forms.ChoiceField(choices=[each for each in roles.choices() if each[0] != roles.MANAGER])
