"""The empty test database, ready to be copied: migrating one takes 7 of the 9 seconds of processor time before a first test.

It is kept as long as nothing changes that it depends on. While there is none, one process makes it, and the others wait.
"""

import fcntl
import hashlib
import os
import shutil
from pathlib import Path

from django.conf import settings
from django.db import connection

HERE = Path(__file__).parent.parent


def _digest() -> str:
    sources = [*sorted(HERE.glob("*/migrations/*.py")), HERE / "requirements-test.lock"]
    return hashlib.sha256(b"\0".join(str(each).encode() + each.read_bytes() for each in sources)).hexdigest()[:12]


class Prepared:
    """The one that is kept. It is taken before the test database is made, and kept after."""

    def __init__(self) -> None:
        self.turn = (settings.VAR_DIR / "prepared.lock").open("w")
        fcntl.flock(self.turn, fcntl.LOCK_EX)

    def take(self) -> bool:
        """Let the test database be a copy of it, if there is one. Returns whether the copy is there already."""
        if self.is_there():
            self.turn.close()
            return self.copy()
        return False

    def keep(self) -> None:
        """Keep the test database as it is now, for the next time; what was kept before other migrations goes."""
        if not self.turn.closed:
            self.replace()
            self.turn.close()


class PreparedFile(Prepared):
    def __init__(self) -> None:
        super().__init__()
        self.kept = settings.VAR_DIR / f"test-{_digest()}.sqlite3"
        name = Path(connection.settings_dict["TEST"]["NAME"])
        for old in ("", "-wal", "-shm"):
            name.with_name(name.name + old).unlink(missing_ok=True)

    def is_there(self) -> bool:
        return self.kept.exists()

    def copy(self) -> bool:
        shutil.copyfile(self.kept, connection.settings_dict["TEST"]["NAME"])
        return True

    def replace(self) -> None:
        for old in self.kept.parent.glob("test-*.sqlite3"):
            old.unlink()
        new = self.kept.with_suffix(f".{os.getpid()}")
        with connection.cursor() as cursor:
            cursor.execute("VACUUM INTO %s", [str(new)])
        new.rename(self.kept)


class PreparedDatabase(Prepared):
    def __init__(self) -> None:
        super().__init__()
        self.prefix = f"prepared_{connection.settings_dict['NAME']}_"
        self.kept = self.prefix + _digest()

    def names(self) -> list[str]:
        with connection._nodb_cursor() as cursor:
            cursor.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [self.prefix])
            return [name for (name,) in cursor]

    def is_there(self) -> bool:
        return self.kept in self.names()

    def copy(self) -> bool:
        connection.settings_dict["TEST"]["TEMPLATE"] = self.kept  # Django copies it
        return False

    def replace(self) -> None:
        olds = self.names()
        connection.close()  # none that is in use can be copied
        with connection._nodb_cursor() as cursor:
            for old in olds:
                cursor.execute(f'DROP DATABASE "{old}"')
            cursor.execute(f'CREATE DATABASE "{self.kept}" TEMPLATE "{connection.settings_dict["NAME"]}"')


def prepared() -> Prepared:
    return PreparedFile() if connection.vendor == "sqlite" else PreparedDatabase()
