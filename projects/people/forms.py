"""What is asked about people of a project."""

import re
from typing import Any

from django import forms
from django.urls import reverse_lazy

from annotation_service import limits, words
from annotation_service.models import User, fold

from .. import roles
from ..members import Membership
from ..models import Project


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
