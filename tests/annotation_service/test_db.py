import threading
import time

import pytest
from django.contrib.auth.models import Group
from django.db import OperationalError, connection

from annotation_service.db import full_disk_refused, snapshot, write
from annotation_service.inputs import Refused


@pytest.mark.django_db(transaction=True)
def test_a_snapshot_does_not_see_what_is_written_meanwhile_and_holds_nobody_up():
    def names():
        return set(Group.objects.values_list("name", flat=True))

    def write_one():
        with write():
            Group.objects.create(name="meanwhile")
        connection.close()

    Group.objects.create(name="before")
    with snapshot():
        before = names()
        writer = threading.Thread(target=write_one)
        start = time.monotonic()
        writer.start()
        writer.join(timeout=10)
        assert not writer.is_alive() and time.monotonic() - start < 5
        during = names()
    assert "before" in before and during == before
    assert names() - before == {"meanwhile"}


@pytest.mark.parametrize(("code", "expected"), [("53100", Refused), ("57014", OperationalError)])
def test_a_full_disk_of_the_database_server_is_told(code, expected):
    class Cause(Exception):
        sqlstate = code

    with pytest.raises(expected), full_disk_refused():
        raise OperationalError from Cause()
