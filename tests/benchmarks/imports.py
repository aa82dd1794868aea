import json
import re
import sqlite3
import statistics
import time
from collections.abc import Iterator
from itertools import count
from typing import Any

from django.db import connection

from annotation_service.file_formats import BEGINNING, Beginning
from datasets.formats import detect
from datasets.models import Dataset
from ontologies.models import Ontology
from projects.models import Project
from resources.models import ConstraintSet
from tests.workbooks import workbook

from . import data
from .figures import Figure, benchmark, felt, headline, median
from .service import Browser, Program, Service

LINES = 100_000
LINES_OF_TEXT = {"kind": "standard", "format": "text", "tokeniser": "whitespace"}
ITEMS = 10_000
TABLES = {
    "item": ["id", "dataset_id", "position", "original", "tokens", "offsets", "search_text"],
    "annotation": ["id", "item_id", "started_at"],
    "entity": ["id", "annotation_id", "label_id", "uid", "start", "end", "status", "created_at", "updated_at"],
    "relation": [
        "id",
        "annotation_id",
        "source_id",
        "target_id",
        "label_id",
        "uid",
        "status",
        "created_at",
        "updated_at",
    ],
}
OF_A_DATASET = {
    "item": "dataset_id = %s",
    "annotation": "item_id IN (SELECT id FROM datasets_item WHERE dataset_id = %s)",
}
_numbers = count(1)
_progress = re.compile(rb"/jobs/\d+/progress/")


class Import:
    """A file from the form to the dataset's page: what was found is read, then it is stored; each by a job if it is large."""

    def __init__(self, browser: Browser, file: bytes, **fields: object) -> None:
        started = time.perf_counter()
        fields = {"name": f"Import {next(_numbers)}", **fields}
        page = browser.upload("/datasets/new/", file, **fields)
        self.wait(browser, page)
        self.checked = time.perf_counter() - started
        browser.submit(f"{page}store/", expected=302)
        self.address = self.wait(browser, page)
        self.stored = time.perf_counter() - started - self.checked

    @property
    def dataset(self) -> int:
        return int(self.address.split("/")[2])

    def wait(self, browser: Browser, page: str) -> str:
        """Until no job works on the upload; returns where its page leads to, once there is nothing more to do."""
        while True:
            text, address = browser.ask(page, expected=(200, 302))
            if address:
                browser.get(address)
                return address
            if not (progress := _progress.search(text)):
                return page
            while b"hx-trigger" in browser.ask(progress[0].decode())[0]:
                time.sleep(0.05)


@benchmark("import")
def import_lines(service: Service) -> Iterator[Figure]:
    text = data.text(LINES).encode()
    for tokeniser, runs, budget in (("whitespace", 5, 1.6), ("punkt", 3, 3.2)):
        fields = LINES_OF_TEXT | {"tokeniser": tokeniser}
        what = f"import {LINES:,} lines, {tokeniser}"
        yield from _imported(service, what, text, fields, runs=runs, budget=budget)


@benchmark("upsert")
def upsert_items(service: Service) -> Iterator[Figure]:
    """Rich items with external ids: by the page, then by a program, as new ones and once more as they are."""
    document = "".join(
        f"{json.dumps({'original': line, 'tokens': line.split(), 'external_id': f'w{n}', 'extra_fields': {'n': n}})}\n"
        for n, line in enumerate(data.text(LINES).splitlines())
    ).encode()
    service.start()
    browser = Browser(service, data.MANAGER)
    browser.get("/datasets/new/")
    fields = {"kind": "rich", "format": "jsonl", "tokeniser": "whitespace"}
    pages = [Import(browser, document, **fields) for _ in range(3)]
    by_page = statistics.median(each.checked + each.stored for each in pages)
    program = Program(service, data.manager())
    new, same = list[float](), list[float]()
    service.forget_peaks()
    idle = service.memory("status", "VmRSS")
    for _ in range(3):
        made = program.send("/api/v1/datasets?name=Upserted&kind=rich", b'{"original": "a", "tokens": ["a"]}\n')
        for took in (new, same):
            started = time.perf_counter()
            program.done(program.send(f"/api/v1/datasets/{made['id']}/items", document))
            took.append(time.perf_counter() - started)
    peak = service.memory("status", "VmHWM")
    yield Figure(f"import {LINES:,} rich items, form to visible, median of 3", by_page, "s")
    yield Figure("  upserted by a program as new ones, median of 3", statistics.median(new), "s")
    yield Figure("  so many times as long as by the page", statistics.median(new) / by_page, "x", felt(2))
    yield Figure("  once more, which changes nothing, median of 3", statistics.median(same), "s")
    yield Figure("  peak memory over idle, all processes", peak - idle, "MB")


@benchmark("tables")
def import_tables(service: Service) -> Iterator[Figure]:
    """The same texts as lines, as CSV and as a workbook, with an id and a field of their own in each row."""
    lines = data.text(LINES).splitlines()
    rows = [["id", "text", "site"], *([f"w{n}", line, "north"] for n, line in enumerate(lines))]
    files = {
        "text": ("\n".join(lines).encode(), {"kind": "standard", "format": "text"}, 0.0),
        "CSV": (
            "".join(f'{i},"{text}",{site}\n' for i, text, site in rows).encode(),
            {"kind": "rich", "format": "csv"},
            1.3,
        ),
        "XLSX": (workbook(Orders=rows), {"kind": "rich", "format": "xlsx"}, 2.0),
    }
    service.start()
    browser = Browser(service, data.MANAGER)
    browser.get("/datasets/new/")
    for tokeniser in ("whitespace", "punkt"):
        text = 0.0
        for name, (file, fields, budget) in files.items():
            runs = [Import(browser, file, tokeniser=tokeniser, **fields) for _ in range(3)]
            took = statistics.median(each.checked + each.stored for each in runs)
            text = text or took
            yield Figure(f"import {LINES:,} lines as {name}, {tokeniser}, median of 3", took, "s")
            if budget:
                yield Figure("  so many times as long as the text file", took / text, "x", felt(budget))


# What makes looking for a format slow, each again and again.
TIRESOME = (
    *(
        "a\n",
        "a B-X\n",
        "a\tb\tc\td\tO\n\n",
        "1\n\n",
        "#\n",
        "\n",
        "word " * 20,
        "T1\tX 0 1\ta\n",
        "# text = a\n1\ta\n\n",
    ),
    *("#T_SP=" + "." * 1000, "#FORMAT=WebAnno TSV 3.3\n#T_SP=a.B|value\n\n\n#Text=a\n1-1\t0-1\ta\tX\t\n", "a|" * 100),
    *(
        "<!",
        "<?>",
        "<a>",
        "PK\3\4",
        "http:///uima",
        '{"%TYPE":"a.',
        '{"text":1}\n',
        "[" * 100,
        '"a","b"\n',
        "a;b,c|d\te\n",
    ),
)


@benchmark("recognise")
def recognise(service: Service) -> Iterator[Figure]:
    """What the first million bytes of a file are, and what labels are in them: asked again while somebody types."""
    slowest = {"": 0.0}
    for line in TIRESOME:
        start = Beginning((line * (BEGINNING // len(line) + 1))[:BEGINNING].encode())
        started = time.perf_counter()
        detect(start)
        slowest[line] = 1000 * (time.perf_counter() - started)
    line = max(slowest, key=slowest.__getitem__)
    yield Figure(
        f"recognise a megabyte, the slowest of {len(TIRESOME)}: {line[:20]!r}", slowest[line], "ms", felt(1000)
    )
    yield Figure("  median", statistics.median(slowest.values()), "ms")


@benchmark("marked")
def import_marks(service: Service) -> Iterator[Figure]:
    """JSON with 30,000 entities and 15,000 relations."""
    ontologies = data.ontology(100), data.ontology(20, "relation")
    fields = {"kind": "preannotated_relation", "format": "json", "tokeniser": "whitespace"}
    fields |= {f"{ontology.kind}_ontology": str(ontology.pk) for ontology in ontologies}
    document = json.dumps(list(data.marked_items(ITEMS, *ontologies)), ensure_ascii=False).encode()
    what = f"import {ITEMS:,} items, 30,000 entities, 15,000 relations"
    yield from _imported(service, what, document, fields, runs=5, budget=1.5)
    # Every mark is looked up in them, and none breaks one.
    tops = [label.fullname for label in ontologies[0].labels() if label.level == 1]
    entity_rules = [{"domain": top, "excludes": [], "can_contain": tops} for top in tops]
    relations = [label.fullname for label in ontologies[1].labels()]
    relation_rules = [{"relation": name, "domain": top, "range": tops} for name in relations for top in tops]
    sets = {
        f"{kind}_constraints": str(_constraints(kind, rules, *ontologies).pk)
        for kind, rules in (("entity", entity_rules), ("relation", relation_rules))
    }
    what = "import them with constraints for every label"
    yield from _imported(service, what, document, fields | sets, runs=5, budget=1.5)
    dataset = Dataset.objects.filter(kind="preannotated_relation").latest("pk")
    made = []

    def create() -> None:
        made.append(Project.create(name="Copy", by=data.manager(), dataset=dataset, **blueprints))

    blueprints = {f"{ontology.kind}_ontology": ontology for ontology in ontologies}
    yield Figure("  a project with copies of it and its ontologies, method, median of 3", median(3, create), "s")


def _constraints(kind: str, rules: list[dict[str, Any]], entities: Ontology, relations: Ontology) -> ConstraintSet:
    return ConstraintSet.create(
        kind=kind,
        source=json.dumps(rules),
        name="Rules",
        owner=data.manager(),
        entity_ontology=entities,
        relation_ontology=relations if kind == "relation" else None,
    )


def _imported(
    service: Service, what: str, file: bytes, fields: dict[str, str], *, runs: int, budget: float
) -> Iterator[Figure]:
    service.start()
    browser = Browser(service, data.MANAGER)
    browser.get("/datasets/new/")
    service.forget_peaks()
    idle = service.memory("status", "VmRSS")
    imports = [Import(browser, file, **fields)]
    peak = service.memory("status", "VmHWM")
    imports += [Import(browser, file, **fields) for _ in range(runs - 1)]
    checked, stored = (statistics.median(getattr(i, name) for i in imports) for name in ("checked", "stored"))
    took = statistics.median(i.checked + i.stored for i in imports)
    yield Figure(f"{what}, form to visible, median of {runs}", took, "s", headline(budget))
    yield Figure("  of that from the form to what was found in it", checked, "s")
    yield Figure("  and from there to the dataset", stored, "s")
    yield Figure("  peak memory over idle, all processes", peak - idle, "MB", headline(60))
    plain = _plain_insert(service, imports[0].dataset)
    yield Figure("  the same rows by a plain executemany into SQLite, median of 5", plain, "s")
    yield Figure(
        "  so many times as long takes the whole import",
        took / plain,
        "x",
        headline(4.5) if fields == LINES_OF_TEXT else None,
    )
    yield Figure("  so many times as long takes it from “store” to the dataset", stored / plain, "x")


def _plain_insert(service: Service, dataset: int) -> float:
    """What SQLite itself needs for the rows: the floor."""
    rows = {table: _rows(table, dataset) for table in TABLES}
    plain = sqlite3.connect(service.folder / "plain.sqlite3")
    plain.execute("PRAGMA journal_mode=WAL")

    def insert() -> None:
        for table, columns in TABLES.items():
            names = ", ".join(f'"{column}"' for column in columns)
            plain.execute(f"DROP TABLE IF EXISTS {table}")
            plain.execute(f"CREATE TABLE {table} ({names.replace('id', 'id INTEGER PRIMARY KEY', 1)})")
            plain.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", rows[table])
        plain.commit()

    return median(5, insert)


def _rows(table: str, dataset: int) -> list[tuple[object, ...]]:
    in_annotations = f"annotation_id IN (SELECT id FROM datasets_annotation WHERE {OF_A_DATASET['annotation']})"
    names = ", ".join(f'CAST("{column}" AS TEXT)' for column in TABLES[table])
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {names} FROM datasets_{table} WHERE {OF_A_DATASET.get(table, in_annotations)} ORDER BY id",
            [dataset],
        )
        return cursor.fetchall()
