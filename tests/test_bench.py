"""The benchmarks do not measure a server that never looks at its tables."""

from types import SimpleNamespace

import pytest

from tests.benchmarks import service
from tests.benchmarks.service import autovacuum


class Server:
    """Of PostgreSQL, what is asked for; ``is_stubborn`` if its command line has switched autovacuum off."""

    def __init__(self, is_on, place="", *, is_stubborn=False, error=None):
        self.is_on, self.place, self.is_stubborn, self.error, self.changes = is_on, place, is_stubborn, error, []

    def execute(self, sql):
        if sql.startswith("ALTER SYSTEM"):
            if self.error:
                raise self.error
            self.changes.append(sql.removeprefix("ALTER SYSTEM "))
            self.is_on = sql.endswith("= on") and not self.is_stubborn
        return SimpleNamespace(fetchone=lambda: (self.place if "sourcefile" in sql else self.is_on,))


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(service.time, "sleep", lambda seconds: None)


@pytest.mark.parametrize(
    ("server", "changes"),
    [
        (Server(True), []),
        (Server(False), ["SET autovacuum = on", "RESET autovacuum"]),
        (Server(False, "/data/postgresql.auto.conf"), ["SET autovacuum = on", "SET autovacuum = off"]),
    ],
)
def test_autovacuum_is_on_meanwhile(server, changes):
    with pytest.raises(ZeroDivisionError), autovacuum(server):
        assert server.is_on
        raise ZeroDivisionError
    assert server.changes == changes


@pytest.mark.parametrize("server", [Server(False, error=OSError("permission denied")), Server(False, is_stubborn=True)])
def test_where_it_cannot_be_switched_on_nothing_is_measured(server):
    with pytest.raises(SystemExit, match="nothing is measured: turn it on"), autovacuum(server):
        pytest.fail("something was measured")
