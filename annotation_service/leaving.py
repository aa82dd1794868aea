"""Deactivating an account, and anonymising it: what the person has made stays, and nothing says any more who that was."""

import json
from collections.abc import Callable, Collection

from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db.models import Q
from django.utils import timezone

from .db import store, write
from .inputs import Refused
from .models import Mail, User

# Functions that end what apps above keep of a person with these addresses, or raise `Refused`.
leavings: list[Callable[[User, Collection[str]], None]] = []
# Functions that give what apps above share out among people to others, or back, when somebody stops working or starts again.
switchings: list[Callable[[User], None]] = []


def set_active(person: User, is_active: bool) -> None:
    """Let somebody sign in, or no longer."""
    with write():
        store(person, is_active=is_active)
        for switch in switchings:
            switch(person)


def anonymise(person: User) -> None:
    """Deactivate the account and forget name, addresses, rights and sessions, in one transaction."""
    if person.anonymised_at:
        raise Refused(f"“{person}” is anonymous already.")
    with write():
        emails = [person.email, *EmailAddress.objects.filter(user=person).values_list("email", flat=True)]
        addresses = {email.lower() for email in emails if email}
        for leave in leavings:
            leave(person, addresses)
        name = person.username
        EmailAddress.objects.filter(user=person).delete()
        SocialAccount.objects.filter(user=person).delete()
        to_them = [pk for pk, to in Mail.objects.values_list("pk", "to") if to.lower() in addresses]
        Mail.objects.filter(Q(pk__in=to_them) | Q(about=person)).delete()
        person.groups.clear()
        person.user_permissions.clear()
        person.anonymised_at = timezone.now()
        person.username, person.email = f"Former annotator {person.pk}", ""
        person.first_name = person.last_name = person.imported_as = ""
        person.is_active = person.is_staff = person.is_superuser = False
        person.comfort, person.last_login = {}, None
        person.set_unusable_password()
        person.save()
        _rename_in_log(person, name)
    _end_sessions(person)


def _rename_in_log(person: User, name: str) -> None:
    """The log of Django admin keeps as texts: names of accounts, addresses, and memberships, which begin with the name."""
    types = ContentType.objects.get_for_models(User, EmailAddress)
    LogEntry.objects.filter(content_type=types[User], object_id=str(person.pk)).update(
        object_repr=str(person), change_message=""
    )
    # Whose a deleted address was is not known any more.
    addresses = LogEntry.objects.filter(content_type=types[EmailAddress])
    addresses.exclude(object_repr__in=EmailAddress.objects.values("email")).update(object_repr="a deleted address")
    before, after = (json.dumps(f"{each}, ").removesuffix('"') for each in (name, person))
    for entry in LogEntry.objects.filter(change_message__contains=before):
        store(entry, change_message=entry.change_message.replace(before, after))


def _end_sessions(person: User) -> None:
    """Without a password of its own no session of theirs is valid: the rows go, too."""
    own = [each.pk for each in Session.objects.iterator() if each.get_decoded().get("_auth_user_id") == str(person.pk)]
    Session.objects.filter(pk__in=own).delete()
