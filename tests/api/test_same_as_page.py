"""What an operation does is what its page does. Keys are compared, too: SQLite gives them again after a rollback."""

import json

import pytest
from django.apps import apps
from django.db import transaction

from tests.api.asked import ASKS
from tests.api.asks import send, token_of
from tests.test_access import ROWS, ask, built_world, world  # noqa: F401 - fixtures

# Tokens, answers and jobs are of the asking itself; the counts are counted when somebody looks.
NOT_COMPARED = {"api.Token", "api.KeptAnswer", "annotation_service.Job", "projects.ItemCounts"}


def shown(field, row):
    """Of a time, whether there is one."""
    value = field.value_from_object(row)
    return str(value is not None if field.get_internal_type() == "DateTimeField" else value)


def after(what, world):  # noqa: F811
    """What is in the database after it was done."""
    with transaction.atomic():
        what()
        found = {
            model._meta.label: sorted(
                json.dumps(
                    {
                        field.name: shown(field, row)
                        for field in model._meta.concrete_fields
                        if not field.primary_key
                        and field.name
                        not in (
                            "uid",
                            "key",
                            "token_hash",
                            "items",
                            "asked",
                            "file",
                            "color",
                            "target",
                            "result",
                            "off_by",
                            # Drawn anew each time, and of deliveries with the time in it.
                            "secret",
                            "message_id",
                            "body",
                        )
                    }
                )
                for row in model._base_manager.all()
            )
            for model in apps.get_models()
            if model._meta.app_label not in ("sessions", "admin", "contenttypes", "auth")
            and model._meta.label not in NOT_COMPARED
        }
        transaction.set_rollback(True)
    return found


@pytest.mark.parametrize("row", [row for row in ASKS if row.like], ids=str)
def test_a_page_and_its_operation_do_the_same(row, world):  # noqa: F811
    [page] = [
        each for each in ROWS if each.name == row.like and each.is_post and each.args == (row.page_args or row.args)
    ][:1]
    if row.data is not None:
        page.data = row.data
    token = token_of(row.by)
    before = after(lambda: None, world)

    def by_page():
        assert ask(page, world, row.by).status_code in (200, 204, 302)

    def by_operation():
        assert send(row, world, token).status_code < 300

    done = after(by_page, world)
    assert after(by_operation, world) == done
    assert done != before
