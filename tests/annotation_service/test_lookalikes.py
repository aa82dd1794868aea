"""User names: a letter at least, scripts that belong together, and no look-alike of another one."""

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from hypothesis import given
from hypothesis import strategies as st

from annotation_service.leaving import anonymise
from annotation_service.lookalikes import drawn
from annotation_service.models import User, skeleton
from tests import factories
from tests.people import PASSWORD

PEOPLE = "/admin/annotation_service/user/"
CHANGE = {"date_joined_0": "2026-01-01", "date_joined_1": "10:00:00", "is_active": "on"}
# Small letters of Cyrillic that look like Latin ones.
AIE, ER, ES, HA = "\u0430", "\u0440", "\u0441", "\u0445"


def new(name):
    return User.objects.create_user(name, "", PASSWORD)


@pytest.mark.parametrize(
    ("stored", "typed"),
    [
        ("paypal", "paypa1"),
        ("paypal", "PAYPAI"),
        ("paypal", "paypaI"),
        ("bob", "b0b"),
        ("modern", "rnodern"),
        ("MODERN", "rnodern"),
        ("cax", f"{ES}{AIE}{HA}"),
        (f"{ES}{AIE}{HA}", "CAX"),
        ("İnci", "i̇nci"),
        ("力", "カ"),
    ],
)
def test_a_name_that_looks_like_another_is_nobodys(stored, typed, db):
    new(stored)
    with pytest.raises(ValidationError, match=r"looks like one|already exists"):
        new(typed)
    assert User.objects.count() == 1


@pytest.mark.parametrize("name", [f"p{AIE}ypal", "Σwan", "ж漢", "한カ", "ЖΣ"])
def test_scripts_that_look_alike_are_not_mixed(name, db):
    with pytest.raises(ValidationError, match="mixes letters of scripts"):
        new(name)


@pytest.mark.parametrize("name", ["123", "_._", "+1", "٣٤"])
def test_a_name_has_a_letter(name, db):
    with pytest.raises(ValidationError, match="needs a letter"):
        new(name)


@pytest.mark.parametrize(
    "name", ["anna", "Жанна", "Σίσυφος", "山田taro", "ひろカナ漢", "김kim", "李Liㄅ", "u.2+x@y-z_", "ägir"]
)
def test_other_names_are_as_good_as_before(name, db):
    assert new(name).username_skeleton


def test_every_way_to_a_name_is_told_why(client, as_sam, settings, no_attempts_yet):
    factories.user("paypal")
    settings.OPEN_REGISTRATION = True
    passwords = {"password1": PASSWORD, "password2": PASSWORD}
    other = factories.user("other")
    for typed, why in (("paypa1", "looks like one"), (f"p{AIE}ypal", "Cyrillic and Latin"), ("12", "needs a letter")):
        page = client.post("/accounts/signup/", {"username": typed, "email": "new@example.org", **passwords})
        assert page.status_code == 200 and why in page.text
        page = as_sam.post(f"{PEOPLE}add/", {"username": typed, "usable_password": "true", **passwords})
        assert why in page.text
        page = as_sam.post(f"{PEOPLE}{other.pk}/change/", {**CHANGE, "username": typed, "email": other.email})
        assert why in page.text
    assert User.objects.count() == 3


def test_the_database_keeps_look_alikes_out_that_come_at_the_same_time(db, monkeypatch):
    new("paypal")
    monkeypatch.setattr(User, "looks_like_another", lambda self: False)
    with pytest.raises(IntegrityError), transaction.atomic():
        new("paypa1")


def test_whoever_has_a_name_may_write_it_otherwise_and_others_get_it_after_them(db, carol):
    carol.username = "CAR0L"
    carol.save()
    anonymise(carol)
    assert new("carol").username_skeleton == skeleton("car0l")


@given(st.text(max_size=30))
def test_a_skeleton_is_its_own(text):
    assert drawn(drawn(text)) == drawn(text)


@pytest.mark.django_db(transaction=True)
def test_names_that_are_there_stay_and_the_first_of_those_that_look_alike_counts():
    call_command("migrate", "annotation_service", "0004", verbosity=0)
    people = MigrationExecutor(connection).loader.project_state([("annotation_service", "0004_leaving_and_mails")])
    old = people.apps.get_model("annotation_service", "User")
    names = ["paypal", "paypa1", f"p{AIE}ypal", "12", "Former annotator 5"]
    for name in names:
        old.objects.create(
            username=name, username_folded=name, anonymised_at="2026-01-01T00:00:00Z" if " " in name else None
        )
    call_command("migrate", verbosity=0)
    has = dict(User.objects.values_list("username", "username_skeleton"))
    assert has == {"paypal": "paypal", "paypa1": None, f"p{AIE}ypal": None, "12": "l2", "Former annotator 5": None}
    for person in User.objects.filter(anonymised_at=None):
        person.first_name = "Still here"
        person.full_clean(exclude=["password"])
        person.save()
    assert has == dict(User.objects.values_list("username", "username_skeleton"))
    with pytest.raises(ValidationError, match="looks like one"):
        new("paypaI")
