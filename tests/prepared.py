"""The empty test database, ready to be copied: migrating one takes 7 of the 9 seconds of processor time before a first test."""

import hashlib
import os
import shutil
from pathlib import Path

from django.conf import settings
from django.db import connection

HERE = Path(__file__).parent.parent


def _prepared() -> Path:
    """Where it is kept as long as nothing changes that it depends on."""
    sources = [*sorted(HERE.glob("*/migrations/*.py")), HERE / "requirements-test.lock"]
    digest = hashlib.sha256(b"\0".join(str(each).encode() + each.read_bytes() for each in sources)).hexdigest()
    return settings.VAR_DIR / f"test-{digest[:12]}.sqlite3"


def take_prepared() -> bool:
    """Let the test database be a copy of the one that was kept, if there is one. Only for SQLite."""
    if connection.vendor != "sqlite":
        return False
    name, kept = Path(connection.settings_dict["TEST"]["NAME"]), _prepared()
    for old in name.parent.glob(f"{name.name}*"):
        if old.name in {name.name, f"{name.name}-wal", f"{name.name}-shm"}:
            old.unlink()
    if kept.exists():
        shutil.copyfile(kept, name)
    return kept.exists()


def keep_prepared() -> None:
    """Keep the test database as it is now, for the next time; what was kept before other migrations goes."""
    if connection.vendor != "sqlite" or (kept := _prepared()).exists():
        return
    for old in kept.parent.glob("test-*.sqlite3"):
        old.unlink(missing_ok=True)
    new = kept.with_suffix(f".{os.getpid()}")
    with connection.cursor() as cursor:
        cursor.execute("VACUUM INTO %s", [str(new)])
    new.rename(kept)
