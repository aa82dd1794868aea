"""Backups: the database as it is at one moment, the kept files and the key, in one zip file.

A new one is read again as a whole before it gets its name. It is restored in one transaction: whatever stops that leaves the
database as it was.
"""

import json
import os
import shutil
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, OperationalError, connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from . import words
from .db import execute, refresh_statistics, snapshot, write
from .inputs import Refused
from .models import kept_file

DATABASE, FILES, KEY, MANIFEST = "database", "files", "secret_key", "manifest.json"
Rows = dict[str, int]
Manifest = dict[str, Any]
Say = Callable[[str], object]


class SQLiteDump:
    """A copy of the database in a folder."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "database.sqlite3"

    def write(self) -> Manifest:
        """Write all tables. Returns the number of rows of each."""
        connection.ensure_connection()
        with closing(sqlite3.connect(self.file)) as copy:
            # All pages in one step, beside which people save. In many steps it begins anew whenever somebody has saved.
            connection.connection.backup(copy)
            return {"rows": _rows(copy.cursor(), _tables())}

    def count(self, manifest: Manifest) -> Rows:
        """Read all tables."""
        with closing(sqlite3.connect(self.file)) as copy:
            if (found := copy.execute("PRAGMA integrity_check(1)").fetchone()[0]) != "ok":
                raise BadZipFile(found)
            return _rows(copy.cursor(), manifest["rows"])

    def load(self, manifest: Manifest) -> None:
        """Put them into the place of those that are there."""
        with closing(sqlite3.connect(self.file)) as copy:
            copy.backup(connection.connection)

    @staticmethod
    def is_in_use() -> bool:
        """Whether anybody else is connected to the database."""
        try:
            execute("PRAGMA journal_mode = DELETE")  # SQLite does so only for somebody who is alone
        except OperationalError:
            return True
        execute("PRAGMA journal_mode = WAL")
        return False


# The database fills the others itself.
_STORED_COLUMNS = """
SELECT column_name FROM information_schema.columns
 WHERE table_schema = current_schema() AND table_name = %s AND is_generated = 'NEVER' ORDER BY ordinal_position
"""


class PostgreSQLDump:
    """A file for each table in the text format of COPY. Any version of the server reads it, and pg_dump is not needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self) -> Manifest:
        rows, columns = {}, {}
        with snapshot(), connection.cursor() as cursor:
            for table in _tables():
                cursor.execute(_STORED_COLUMNS, [table])
                columns[table] = [name for (name,) in cursor]
                with (
                    (self.folder / table).open("wb") as target,
                    cursor.copy(f"COPY {_quoted(table)} ({_quoted(*columns[table])}) TO STDOUT") as source,
                ):
                    target.writelines(source)
                rows[table] = cursor.rowcount
            own = "last_value IS NOT NULL AND schemaname = current_schema()"
            cursor.execute(f"SELECT sequencename, last_value FROM pg_sequences WHERE {own}")
            return {"rows": rows, "columns": columns, "sequences": cursor.fetchall()}

    def count(self, manifest: Manifest) -> Rows:
        rows = {}
        for table in manifest["rows"]:
            with (self.folder / table).open("rb") as lines:
                rows[table] = sum(1 for _ in lines)
        return rows

    def load(self, manifest: Manifest) -> None:
        """Make the tables as the migrations of that time made them, and fill them."""
        with write(), connection.cursor() as cursor:
            cursor.execute("".join(f'DROP TABLE "{table}" CASCADE;' for table in _tables()))
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # a table with rows still to be checked cannot be altered
            executor = MigrationExecutor(connection)
            plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
            made = {tuple(name) for name in manifest["migrations"]}
            executor.migrate(None, [step for step in plan if (step[0].app_label, step[0].name) in made])
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")
            cursor.execute("".join(f'DELETE FROM "{table}";' for table in _tables()))
            for table, columns in manifest["columns"].items():
                with (
                    (self.folder / table).open("rb") as source,
                    cursor.copy(f"COPY {_quoted(table)} ({_quoted(*columns)}) FROM STDIN") as target,
                ):
                    shutil.copyfileobj(source, target)
            cursor.executemany("SELECT setval(quote_ident(%s), %s)", manifest["sequences"])

    @staticmethod
    def is_in_use() -> bool:
        others = "datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        return execute(f"SELECT 1 FROM pg_stat_activity WHERE {others}") > 0


DUMPS: dict[str, type[SQLiteDump] | type[PostgreSQLDump]] = {"SQLite": SQLiteDump, "PostgreSQL": PostgreSQLDump}


def create(path: Path, say: Say) -> str:
    """Write a backup, which takes the place of a file of that name when it is complete. Returns in words what is in it."""
    with _errors_in_words("No backup was made"), TemporaryDirectory(prefix=".backup-", dir=path.parent) as name:
        folder, new, kind = Path(name), Path(name, "new"), connection.display_name
        say("Copying the database")
        (folder / DATABASE).mkdir()
        manifest: Manifest = {"database": kind, "made_at": f"{timezone.now():%Y-%m-%d %H:%M} UTC"}
        manifest |= DUMPS[kind](folder / DATABASE).write()
        manifest["migrations"] = sorted(MigrationExecutor(connection).loader.applied_migrations)
        say("Writing the backup")
        with ZipFile(new, "w", ZIP_DEFLATED, compresslevel=1, strict_timestamps=False) as archive:
            for part, source in ((DATABASE, folder / DATABASE), (FILES, kept_file(""))):
                for file in filter(Path.is_file, source.glob("*")):
                    with suppress(FileNotFoundError):  # an upload that nobody needs any more, or is told to send again
                        archive.write(file, f"{part}/{file.name}")
            archive.writestr(KEY, settings.SECRET_KEY)
            archive.writestr(MANIFEST, json.dumps(manifest | {"names": archive.namelist()}))
        shutil.rmtree(folder / DATABASE)
        say("Reading it again")
        manifest = _read_manifest(new)
        _unpack(new, manifest, folder)
        new.chmod(0o600)
        with new.open("rb") as written:
            os.fsync(written)
        new.replace(path)
    return f"{in_words(manifest['rows'])}; {words.size(path.stat().st_size)}"


def restore(path: Path, say: Say, *, replace: bool) -> str:
    """Put a backup into the place of all that is there, for which ``replace`` is needed. Returns in words what was in it."""
    settings.VAR_DIR.mkdir(parents=True, exist_ok=True)
    with (
        _errors_in_words("Nothing was restored"),
        TemporaryDirectory(prefix=".restore-", dir=settings.VAR_DIR) as name,
    ):
        manifest = _read_manifest(path)
        with connection.cursor() as cursor:
            there = in_words(_rows(cursor, _tables()))
        content = in_words(manifest["rows"])
        if there and not replace:
            raise Refused(
                f"The database is not empty. With --replace, you lose what it has now: {there}. "
                f"In its place comes what there was on {manifest['made_at']}: {content}."
            )
        if DUMPS[manifest["database"]].is_in_use():
            raise Refused("The service is running. Stop it first, with its workers, on all machines.")
        say("Reading the backup")
        folder = Path(name)
        dump = _unpack(path, manifest, folder)
        say(f"Replacing {there}" if there else "Filling the database")
        _keep_files(folder / FILES)
        dump.load(manifest)
        _keep_key(folder / KEY, say)
    call_command("migrate", verbosity=0)
    call_command("createcachetable", verbosity=0)
    refresh_statistics(*_tables())
    return content


def in_words(rows: Rows) -> str:
    """What there is in the service's own tables: "3 users, 12 jobs"."""
    own = [
        m._meta for m in apps.get_models() if not (m._meta.proxy or m.__module__.startswith(("django.", "allauth.")))
    ]
    counts = [(rows.get(meta.db_table, 0), f"{meta.verbose_name},{meta.verbose_name_plural}") for meta in own]
    return ", ".join(words.plural(count, forms) for count, forms in counts if count)


def _tables() -> list[str]:
    return sorted({*connection.introspection.table_names()} - {settings.CACHES["default"]["LOCATION"]})


def _quoted(*names: str) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _rows(cursor: Any, tables: Iterable[str]) -> Rows:
    return {table: cursor.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0] for table in tables}


def _read_manifest(path: Path) -> Manifest:
    """The manifest of a backup that fits this service."""
    with _damage_in_words(path), ZipFile(path) as archive:
        manifest = json.loads(archive.read(MANIFEST))
        if missing := {"database", "made_at", "migrations", "names", "rows"} - {*manifest}:
            raise KeyError(*missing)
        # They become parts of SQL and of paths.
        if not all(map(str.isidentifier, chain(manifest["rows"], *manifest.get("columns", {}).values()))):
            raise BadZipFile("a table or a column has an odd name")
    if (kind := manifest["database"]) != (ours := connection.display_name):
        raise Refused(f"This is a backup of {kind}, and the service uses {ours}: see DATABASE_URL.")
    known = MigrationExecutor(connection).loader.disk_migrations
    if unknown := [".".join(name) for name in manifest["migrations"] if tuple(name) not in known]:
        raise Refused(f"Another version of the service made this backup, one that has {', '.join(unknown)}: use that.")
    return manifest


def _unpack(path: Path, manifest: Manifest, folder: Path) -> SQLiteDump | PostgreSQLDump:
    """All that is in a backup, checked: each file has a checksum, each table a number of rows."""
    with _damage_in_words(path), ZipFile(path) as archive:
        archive.extractall(folder)
        dump = DUMPS[manifest["database"]](folder / DATABASE)
        if [*manifest["names"], MANIFEST] != archive.namelist() or dump.count(manifest) != manifest["rows"]:
            raise BadZipFile("files or rows are missing")
    return dump


def _keep_files(folder: Path) -> None:
    """Beside those that are there: their names are random, and the worker deletes what nothing refers to."""
    kept_file("").mkdir(parents=True, exist_ok=True)
    for file in folder.glob("*"):
        shutil.move(file, part := kept_file(f"{file.name}.part"))
        part.replace(kept_file(file.name))


def _keep_key(file: Path, say: Say) -> None:
    if settings.LOCAL:
        file.chmod(0o600)
        file.replace(settings.VAR_DIR / KEY)
    elif file.read_text() != settings.SECRET_KEY:
        say("People have to sign in again: the backup has another SECRET_KEY, in its file secret_key.")


@contextmanager
def _damage_in_words(path: Path) -> Iterator[None]:
    try:
        yield
    except (BadZipFile, KeyError, EOFError, ValueError, NotImplementedError, zlib.error) as error:
        raise Refused(f"This is not a backup, or it is damaged: {error}.", place=str(path)) from error


@contextmanager
def _errors_in_words(what: str) -> Iterator[None]:
    try:
        with connection.wrap_database_errors:
            yield
    except (OSError, DatabaseError) as error:
        raise Refused(f"{what}: {str(error).strip()}") from error
