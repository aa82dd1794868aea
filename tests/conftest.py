"""The people of the tests, and what keeps every test honest.

alice manages projects and owns the things of a test; bob is another project manager; carol annotates; dave annotates
elsewhere; sam is staff.
"""

import math
import re

import hypothesis
import pytest
from django.core.cache import cache
from django.core.management.commands import flush
from django.db import connection
from django.test import Client

from annotation_service import blueprints
from ontologies.models import Ontology
from tests import databases, factories, prepared
from tests.soak import SOAK, amount

# How long an example takes depends on the machine, and fails no test. The short form tries the same examples each time, so that
# a change is judged by what it changes; the long form looks for new ones.
hypothesis.settings.register_profile("service", deadline=None, derandomize=not SOAK, max_examples=amount(50, 1000))
hypothesis.settings.load_profile("service")

# Nobody cuts the power while a test runs: no commit has to wait for the disk.
if connection.vendor == "sqlite":
    connection.settings_dict["OPTIONS"]["init_command"] += "; PRAGMA synchronous=OFF"
else:
    connection.settings_dict["OPTIONS"]["options"] += " -c synchronous_commit=off"

NEEDS_DATABASE = {"db", "transactional_db", "live_server"}
KEPT = ("django_content_type", "auth_permission")


def sql_flush(self, style, tables, **options):
    """Empties what has rows, in 0.01 s; Django empties all tables and makes content types and permissions anew in 0.1 to 0.5 s.
    Foreign keys are checked at the end of the transaction."""
    quoted = {table: self.quote_name(table) for table in tables if table not in KEPT}
    with self.connection.cursor() as cursor:
        has_rows = (f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {name})" for table, name in quoted.items())
        cursor.execute(" UNION ALL ".join(has_rows))
        return [f"DELETE FROM {quoted[table]}" for (table,) in cursor]


type(connection.ops).sql_flush = sql_flush
flush.emit_post_migrate_signal = lambda *args: None


def pytest_collection_modifyitems(items):
    """What a database can answer differently is marked, to be asked on each kind of database. Browser tests and those of all apps
    together are marked by hand. Random examples have a long form."""
    for item in items:
        folder, module = item.path.parent, item.path.stem.removeprefix("test_")
        works_with_one = item.get_closest_marker("django_db") or NEEDS_DATABASE & set(item.fixturenames)
        by_hand = item.get_closest_marker("e2e") or folder == databases.HERE
        if works_with_one and not by_hand and module not in databases.ON_SQLITE_ALONE.get(folder.name, ()):
            item.add_marker("database")
        if hasattr(item.obj, "hypothesis"):
            item.add_marker("soak")


@pytest.fixture(scope="session")
def prepared_database(django_db_modify_db_settings, django_db_blocker):
    with django_db_blocker.unblock():
        return prepared.prepared()


@pytest.fixture(scope="session")
def django_db_keepdb(prepared_database, django_db_blocker):
    with django_db_blocker.unblock():
        return prepared_database.take()


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, prepared_database, django_db_blocker):
    with django_db_blocker.unblock():
        prepared_database.keep()


@pytest.fixture(autouse=True)
def surroundings(settings, tmp_path, monkeypatch):
    """Static files without a manifest, uploads in a folder of the test, quick passwords; what is deleted goes at once."""
    monkeypatch.setattr(blueprints, "AT_ONCE", math.inf)
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
    settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)
    settings.UPLOAD_DIR = tmp_path / "uploads"
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"


@pytest.fixture(autouse=True)
def sound_trees(request):
    """After each test that had a database, every tree that it made or changed is sound."""
    needs = NEEDS_DATABASE & set(request.fixturenames)
    for name in needs:
        request.getfixturevalue(name)  # so that the check comes before the database is emptied
    before = _versions() if needs else {}
    yield
    after = _versions() if needs else {}
    for ontology in Ontology.objects.filter(pk__in=dict(after.items() - before.items())) if after != before else ():
        assert not list(ontology.tree.problems()), ontology


def _versions():
    with connection.cursor() as cursor:  # before and after each test: the ORM takes ten times as long
        cursor.execute("SELECT id, version FROM ontologies_ontology")
        return dict(cursor.fetchall())


class Reader(Client):
    """Reads pages as browsers do: white space is one space, except where it is kept. So lines of templates may break anywhere."""

    SPACES = re.compile(r"[ \t\r\n]+")
    KEPT = re.compile(
        r'(<pre\b.*?</pre>|<textarea\b.*?</textarea>|<(?:p|div) class="(?:marked|prose).*?</(?:p|div)>)', re.DOTALL
    )

    def request(self, **request):
        response = super().request(**request)
        if not response.streaming and response.get("Content-Type", "").startswith("text/html"):
            page = re.sub(r"<[^<>]*>", lambda tag: self.SPACES.sub(" ", tag[0]), response.content.decode())
            parts = self.KEPT.split(page.replace(" >", ">"))
            parts[::2] = [self.SPACES.sub(" ", part) for part in parts[::2]]
            response.content = "".join(parts).encode()
        return response


@pytest.fixture
def client():
    return Reader()


def _signed_in(user):
    """A client that asks as the scripts of the pages do: a part of a page comes alone."""
    client = Reader(headers={"HX-Request": "true"})
    client.force_login(user)
    client.user = user
    return client


alice = pytest.fixture(lambda db: factories.manager("alice"))
bob = pytest.fixture(lambda db: factories.manager("bob"))
carol = pytest.fixture(lambda db: factories.user("carol"))
dave = pytest.fixture(lambda db: factories.user("dave"))
sam = pytest.fixture(lambda db: factories.user("sam", is_staff=True, is_superuser=True))
as_alice = pytest.fixture(lambda alice: _signed_in(alice))
as_bob = pytest.fixture(lambda bob: _signed_in(bob))
as_carol = pytest.fixture(lambda carol: _signed_in(carol))
as_dave = pytest.fixture(lambda dave: _signed_in(dave))
as_sam = pytest.fixture(lambda sam: _signed_in(sam))


@pytest.fixture
def with_preannotations(settings):
    settings.PREANNOTATION_RESOURCES = True


@pytest.fixture
def no_attempts_yet(db):
    cache.clear()


@pytest.fixture
def labels(alice):
    """What `tests.resource_sets.make` takes."""
    return {
        "entities": factories.ontology(owner=alice),
        "relations": factories.ontology(owner=alice, kind="relation"),
    }
