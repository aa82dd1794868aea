"""Prints the figures of the speed budgets: python -m tests.benchmarks [--database URL] [--long] [name ...]"""

import argparse
import importlib
import os
import platform
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import figures
from .service import Service, autovacuum

# In this order, because some count the rows that there are. Their functions register themselves.
MODULES = [
    "install",
    "lists",
    "mine",
    "items",
    "assignment",
    "ontologies",
    "editor",
    "browser",
    "long_items",
    "imports",
    "projects",
    "suggestions",
    "marks",
    "alike",
    "programs",
    "quality",
    "graph",
    "constraints",
    "preannotations",
]
WIDTHS = (82, 20, 18, 10, 7)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bin/bench", description="Print the speed figures beside their budgets.")
    parser.add_argument("names", nargs="*", metavar="name", help="what to measure, such as import; all by default")
    parser.add_argument(
        "--database",
        metavar="URL",
        default=os.environ.get("DATABASE_URL", ""),
        help="a PostgreSQL server: a database is made on it and dropped again. By default SQLite, for which the budgets are",
    )
    parser.add_argument("--long", action="store_true", help="a whole minute of saves under load")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # so that everything made here is removed
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, own_database(options.database) as database_url:
        service = Service(Path(folder), database_url, long=options.long)
        try:
            service.start()  # makes the key, the database and the static files
            set_up_django(service)
            if unknown := set(options.names) - figures.BENCHMARKS.keys():
                parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(figures.BENCHMARKS)}")
            failed = run(service, [name for name in figures.BENCHMARKS if name in options.names or not options.names])
        finally:
            service.stop()
    sys.exit(failed)


def run(service: Service, names: list[str]) -> bool:
    """Print the figures; returns whether something could not be measured."""
    from django.db import connection

    print_line("", "measured", "budget", "", "ratio")
    failed = False
    for name in names:
        try:
            for figure in figures.BENCHMARKS[name](service):
                print_line(*figure.columns(connection.vendor))
        except Exception:
            failed = True
            print_line(f"{name}: could not be measured", "", "", "", "")
            traceback.print_exc()
            print(service.log.read_text()[-3000:], file=sys.stderr)
    return failed


def set_up_django(service: Service) -> None:
    """This process uses the database and the key of the service."""
    os.environ.clear()
    os.environ.update(service.environment, VAR_DIR=str(service.folder / "var"))
    os.environ["DJANGO_SETTINGS_MODULE"] = "annotation_service.settings"
    import django
    from django.db import connection

    django.setup()
    for module in MODULES:
        importlib.import_module(f"{__package__}.{module}")
    importlib.import_module(f"{__package__}.data").make_people()
    with connection.cursor() as cursor:
        cursor.execute("SELECT version()" if connection.vendor == "postgresql" else "SELECT sqlite_version()")
        version = cursor.fetchone()[0].split(" on ")[0]
    database = version if connection.vendor == "postgresql" else f"SQLite {version}"
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}, Django {django.__version__}, {database}")
    print(
        "Whole requests over HTTP to bin/run: one web process, eight threads, one worker. Ratios above 1 are too much.\n"
    )


@contextmanager
def own_database(url: str) -> Iterator[str]:
    """A new database on the server of the URL, dropped afterwards; for SQLite nothing, the service makes its own."""
    if not url.startswith("postgres"):
        yield ""
        return
    import psycopg

    name = f"bench_{os.getpid()}"
    with psycopg.connect(url, autocommit=True) as server, autovacuum(server):
        server.execute(f"CREATE DATABASE {name}")
        try:
            yield f"{url.rpartition('/')[0]}/{name}"
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def print_line(*columns: str) -> None:
    what, *numbers = columns
    cells = (f"{number:>{width}}" for number, width in zip(numbers, WIDTHS[1:], strict=True))
    print(f"{what:<{WIDTHS[0]}}{''.join(cells)}".rstrip(), flush=True)


main()
