"""The cleaned text: what annotators and managers read, search and count is the same everywhere."""

import importlib
import io
import json
import zipfile
from types import SimpleNamespace

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from annotation_service import words
from annotation_service.inputs import Refused
from datasets.cleaned import NEAR, CleanedText
from datasets.importing.items import NewItem
from datasets.models import Annotation, Item
from datasets.preprocessing import Preprocessing
from datasets.statistics import statistics_of
from datasets.tokenising import offsets_of
from datasets.views.uploads import preview_lines
from projects import bundle
from projects.models import Project
from tests import factories
from tests.datasets import marked
from tests.datasets.test_preprocessing import is_cleaning_local, lines, preprocessings
from tests.soak import amount

CASES = {
    "one space for all white space": ("  a\t b\r\nc ", ["a", "b", "c"], "a b c"),
    "none where none is": ("Don't stop.", ["Do", "n't", "stop", "."], "Don't stop."),
    "what no token has is left out": ("left (old) pump-case", ["left", "old", "pump", "case"], "left old pumpcase"),
    "a token that is not there has spaces": (
        'He said "no."',
        ["He", "said", "``", "no", ".", "''"],
        "He said `` no. ''",
    ),
    "none is there": ("can't", ["not", "at", "all"], "not at all"),
    "one that is too far ahead": (f"ab{' ' * (NEAR + 1)}cd", ["a", "b", "c", "d", "x"], "ab c d x"),
}


@pytest.mark.parametrize("case", CASES)
def test_tokens_stand_as_far_apart_as_in_the_original(case):
    original, tokens, cleaned = CASES[case]
    offsets = offsets_of(tokens, original)
    assert NewItem("", original, tokens, offsets).cleaned(" ".join(tokens)) == cleaned
    text = CleanedText.of(original, tokens, offsets)
    assert str(text) == cleaned and text.between(1, 2) in cleaned and text.between(0, len(tokens) - 1) == cleaned
    assert CleanedText.unfolded(tokens, cleaned.casefold(), len(cleaned)) == text
    assert CleanedText.unfolded(tokens, cleaned.casefold(), 0) == (tokens[:1], [""])


def said_again(item):
    """The cleaned text, in another way than the code says it."""
    text, end = "", None
    for token, (start, stop) in zip(item.tokens, item.offsets, strict=True):
        between = item.original[end:start] if text else ""
        text += (" " if any(char.isspace() for char in between) else "") + token
        end = stop
    return text


def state_of(page):
    _, _, rest = page.text.partition('<script id="state" type="application/json">')
    return json.loads(rest.partition("</script>")[0])["items"][0]


def drawn(response):
    return "".join(piece.text for piece in response.context["drawing"]["pieces"])


def files_of(project):
    target = io.BytesIO()
    bundle.write(project, target)
    with zipfile.ZipFile(target) as archive:
        return {name: json.loads(archive.read(name)) for name in ("dataset.json", "annotations.json")}


def is_stored(char):
    return char != "\0" and not 0xD800 <= ord(char) < 0xE000


readable = st.lists(lines, min_size=1, max_size=4).map(
    lambda some: ["".join(c for c in line if c not in "\r\n\ufeff" and is_stored(c)) for line in some]
)


@pytest.mark.soak
@pytest.mark.django_db
@settings(max_examples=amount(15, 500), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(readable, preprocessings.filter(lambda how: all(map(is_stored, how.remove_characters))))
@example(["*LEFT*  air-con. [x]", "a  b", "İΣ ΑΣ,*İ."], Preprocessing("*[", lowercase=True, tokeniser="punkt"))
@example(["a b, c"], Preprocessing(" ", tokeniser="punkt"))
def test_everybody_reads_the_same(as_alice, as_carol, carol, trees, text_lines, operations):
    """Annotators' view, table, item page, search, statistics, bundle, copies and preview."""
    options = {name: getattr(operations, name) for name in operations.__slots__}
    try:
        blueprint = factories.dataset(owner=as_alice.user, text="\n".join(text_lines), **options)
    except Refused as error:
        assert "No line is left" in str(error) or "nothing in it" in str(error)
        return
    project = Project.create(name="P", by=as_alice.user, dataset=blueprint, entity_ontology=trees, annotators=[carol])
    items, copies = list(blueprint.items()), list(project.dataset.items())
    texts = [said_again(item) for item in items]
    numbered = list(enumerate(text_lines, start=1))
    kept = [row for row in preview_lines(numbered, operations)["rows"] if not row[-1]]
    assert [(cleaned, tokens) for _, _, cleaned, tokens, _ in kept] == [
        (text, item.tokens) for text, item in zip(texts, items, strict=True)
    ]
    pages = [as_alice.get(f"/datasets/{dataset.pk}/") for dataset in (blueprint, project.dataset)]
    for page in pages:
        assert [found.before for _, found, _ in page.context["rows"]] == [words.cut(text, 300) for text in texts]
    assert statistics_of(blueprint)["vocabulary"] == len({token for item in items for token in item.tokens})
    assert statistics_of(blueprint)["tokens"] == sum(len(item.tokens) for item in items)
    for text, item, copy in zip(texts, items, copies, strict=True):
        for token, (start, end) in zip(item.tokens, item.offsets, strict=True):
            assert is_cleaning_local(operations, token, item.original[start:end])
        same = ("original", "tokens", "offsets", "search_text")
        assert [getattr(item, name) for name in same] == [getattr(copy, name) for name in same]
        assert item.search_text == text.casefold() and str(item.cleaned) == text
        assert CleanedText.unfolded(item.tokens, item.search_text, len(item.search_text)) == item.cleaned
        looked_for = text[len(text) // 3 : 2 * len(text) // 3 + 1]
        for dataset, one in ((blueprint, item), (project.dataset, copy)):
            assert one in dataset.items().containing(looked_for)
            assert drawn(as_alice.get(f"/datasets/{dataset.pk}/items/{one.pk}/")) == text
        shown = state_of(as_carol.get(f"/projects/{project.pk}/annotate/{copy.pk}/"))["item"]
        gaps = ("" if number in shown["glued"] else " " for number in range(len(item.tokens)))
        assert (
            "".join(gap + token for gap, token in zip(gaps, shown["tokens"].split(shown["separator"]), strict=True))
            == text
        )
    last = len(copies[0].tokens) - 1
    annotation = Annotation.start(copies[0], carol)
    annotation.add_entity(uid="all-words", label=project.entity_ontology.items()[0], start=0, end=last)
    files = files_of(project)
    assert [(item["original"], item["tokens"]) for item in files["dataset.json"]] == [
        (item.original, item.tokens) for item in items
    ]
    [entity] = files["annotations.json"][0]["entities"]
    assert entity["tokens"] == copies[0].tokens
    assert entity["text"] == copies[0].original[entity["start_char"] : entity["end_char"]]


@pytest.fixture
def trees(alice):
    return factories.ontology(owner=alice)


def test_search_takes_any_white_space_for_one_space(alice):
    dataset = factories.dataset(owner=alice, text="Replace \t ENGINE*  oil\n", remove_characters="*", lowercase=True)
    [item] = dataset.items()
    for text in ("replace engine", " Engine\t oil "):
        assert item in dataset.items().containing(text)
    assert not dataset.items().containing("engine*").exists()
    assert item.excerpt("Engine  OIL") == ("replace ", "engine oil", "")


def test_the_migration_rebuilds_the_search_in_steps(alice, monkeypatch, django_assert_max_num_queries):
    dataset = factories.dataset(
        owner=alice, text="".join(f"Pump*  no. {n}\n" for n in range(25)), remove_characters="*"
    )
    without = marked.add(dataset, 25, "can't  stop", offsets=None)
    Item.objects.filter(pk=without.pk).update(tokens=["can", "not", "stop"])
    right = dict(Item.with_removed.values_list("pk", "search_text")) | {without.pk: "can not stop"}
    for item in dataset.items():
        Item.with_removed.filter(pk=item.pk).update(search_text=item.original.casefold())
    Item.objects.filter(position=3).update(removed_at=dataset.created_at)
    migration = importlib.import_module("datasets.migrations.0005_search_in_cleaned_text")
    monkeypatch.setattr(migration, "ITEMS", 10)
    apps = MigrationLoader(connection).project_state(("datasets", "0004_deleted_at")).apps
    for _ in range(2):
        with django_assert_max_num_queries(12):  # 26 items in three steps
            migration.rebuild(apps, SimpleNamespace(connection=connection))
        assert dict(Item.with_removed.values_list("pk", "search_text")) == right
