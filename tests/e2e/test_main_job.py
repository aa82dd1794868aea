"""The main job from end to end: from sign-in to the downloaded bundle, as a manager and two annotators."""

import io
import json
import zipfile
from pathlib import Path

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from tests import factories
from tests.e2e.waiting import all_saved, settled

pytestmark = [pytest.mark.e2e, pytest.mark.database, pytest.mark.django_db(transaction=True)]

PASSWORD = "a-long-password"
SHARED = Path(settings.BASE_DIR).parent / "shared" / "data" / "ontonotes_entity.json"
OWN = [
    {"name": "person", "children": [{"name": "artist", "children": [{"name": "author"}]}]},
    {"name": "location", "children": [{"name": "city"}, {"name": "country"}]},
]
RELATIONS = [{"name": "bornIn"}, {"name": "locatedIn"}]
TEXT = """Albert Einstein was born in Ulm, Germany.

🚀 Marie Curie moved from Warsaw to Paris.
Albert Einstein was born in Ulm, Germany.
"""


def sign_in_by_form(page: Page, name: str) -> None:
    page.goto("/")
    page.get_by_label("User name or e-mail address").fill(name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name=f"Hello {name}")).to_be_visible()


def sign_out(page: Page) -> None:
    page.goto("about:blank")  # what the annotation screen still asks for is not asked without a session
    page.context.clear_cookies()


def test_the_main_job(page: Page, tmp_path):
    factories.manager("mary")
    for name in ("anna", "ben"):
        factories.user(name)
    document = json.loads(SHARED.read_text()) if SHARED.is_file() else OWN

    sign_in_by_form(page, "mary")
    create_ontologies(page, document, tmp_path)
    create_dataset(page)
    create_project(page)
    sign_out(page)

    sign_in_by_form(page, "anna")
    annotate_with_the_mouse(page)
    press(page, "Control+Enter")
    expect(page.get_by_role("heading", name="Everything is done")).to_be_visible()
    sign_out(page)
    sign_in_by_form(page, "ben")
    annotate_with_the_keyboard(page)
    sign_out(page)

    sign_in_by_form(page, "mary")
    files = download(page)
    check_bundle(files, document)


def create_ontologies(page: Page, document, tmp_path) -> None:
    path = tmp_path / "labels.json"
    path.write_text(json.dumps(document))
    page.goto("/ontologies/new/")
    page.get_by_label("Name").fill("Places and people")
    page.get_by_text("Upload a file").click()
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_role("button", name="Create ontology").click()
    expect(page.get_by_role("heading", name="Places and people")).to_be_visible()
    expect(page.get_by_role("treeitem", name="person").first).to_be_visible()

    page.goto("/ontologies/new/")
    page.get_by_label("Name").fill("Life events")
    page.get_by_text("Relations", exact=True).click()
    page.get_by_text("Paste a list").click()
    page.locator("textarea[name=text]").fill(json.dumps(RELATIONS))
    page.get_by_role("button", name="Create ontology").click()
    expect(page.get_by_role("treeitem", name="bornIn")).to_be_visible()


def create_dataset(page: Page) -> None:
    page.goto("/datasets/new/")
    page.get_by_label("Name").fill("Biographies")
    page.get_by_label("Paste text or JSON").fill(TEXT)
    page.get_by_label("Remove duplicates").select_option("identical")
    expect(page.locator("#preview")).to_contain_text("duplicate")
    expect(page.locator("#preview .token-list").first).to_contain_text("Germany")
    page.get_by_role("button", name="Check and preview").click()
    page.get_by_role("button", name="Create dataset").click()
    expect(page.get_by_role("heading", name="Biographies")).to_be_visible()
    expect(page.get_by_text("2 items", exact=False).first).to_be_visible()


def create_project(page: Page) -> None:
    settled(page)
    page.get_by_role("button", name="Use in a project").click()
    page.get_by_role("link", name="New project with it").click()
    page.get_by_label("Name").fill("Lives")
    page.get_by_label("Entities and relations").check()
    steps = page.get_by_role("navigation", name="Steps")
    steps.get_by_role("link", name="Ontologies").click()
    page.get_by_label("Entity ontology").select_option(index=1)
    page.get_by_label("Relation ontology").select_option(index=1)
    steps.get_by_role("link", name="People").click()
    page.get_by_role("textbox", name="Annotators", exact=False).first.fill("anna")
    steps.get_by_role("link", name="Review").click()
    page.get_by_role("button", name="Create project").click()
    expect(page.get_by_role("heading", name="Lives")).to_be_visible()
    page.get_by_role("link", name="Add or change").click()
    expect(page.get_by_label("Names", exact=True)).to_be_visible()
    settled(page)
    page.get_by_label("Names", exact=True).fill("ben")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("cell", name="ben").first).to_be_visible()


def token(page: Page, words: str):
    return page.locator(".text [data-i]", has_text=words).first


def drag(page: Page, first: str, last: str) -> None:
    start, end = token(page, first).bounding_box(), token(page, last).bounding_box()
    page.mouse.move(start["x"] + 3, start["y"] + start["height"] / 2)
    page.mouse.down()
    page.mouse.move(end["x"] + end["width"] - 3, end["y"] + end["height"] / 2, steps=5)
    page.mouse.up()


def pick(page: Page, label: str) -> None:
    page.get_by_role("combobox", name="Find a label").fill(label)
    page.get_by_role("option", name=label).first.click()


def mark(page: Page, name: str):
    return page.locator(".mark-name", has_text=name).first


def annotate_with_the_mouse(page: Page) -> None:
    """Anna marks a nested and an overlapping span, relates two, changes a label, removes a mark, and is done."""
    page.get_by_role("link", name="Annotate").click()
    expect(page.locator(".text")).to_contain_text("Albert Einstein was born in Ulm, Germany.")
    labels_are_there(page)
    drag(page, "Albert", "Einstein")
    pick(page, "author")
    drag(page, "Ulm", "Germany")
    pick(page, "location")
    token(page, "Germany").dblclick()
    pick(page, "city")
    mark(page, "city").click()
    page.get_by_role("button", name="Change label").click()
    pick(page, "country")
    drag(page, "was", "was")
    pick(page, "person")
    mark(page, "person").click()
    page.get_by_role("button", name="Remove").click()
    expect(page.locator(".mark-name")).to_have_count(3)
    mark(page, "author").click()
    page.get_by_role("button", name="Relate").click()
    mark(page, "location").click()
    pick(page, "bornIn")
    expect(page.locator("#relations")).to_contain_text("bornIn")
    all_saved(page)
    page.reload()
    expect(page.locator(".mark-name")).to_have_count(3)
    expect(page.locator("#relations")).to_contain_text("bornIn")
    page.get_by_role("button", name="Done").click()
    expect(page.locator(".text")).to_contain_text("Marie Curie")
    labels_are_there(page)  # and the keys work


def annotate_with_the_keyboard(page: Page) -> None:
    """Ben uses keys only, from the project to the end of the work."""
    page.get_by_role("link", name="Annotate").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".text")).to_contain_text("Albert Einstein")
    expect(page.locator(".mark-name")).to_have_count(0)  # nobody sees the marks of others
    labels_are_there(page)
    press(page, "Home", "Shift+ArrowRight")
    page.keyboard.type("person")
    press(page, "Enter")
    expect(mark(page, "person")).to_be_visible()
    all_saved(page)
    press(page, "Control+Enter")
    expect(page.locator(".text")).to_contain_text("Marie Curie")
    labels_are_there(page)
    press(page, "Home", "ArrowRight", "Shift+ArrowRight", "Enter")
    page.keyboard.type("person")
    press(page, "Enter")
    expect(mark(page, "person")).to_be_visible()
    all_saved(page)
    press(page, "Control+Enter")
    expect(page.get_by_role("heading", name="Everything is done")).to_be_visible()


def labels_are_there(page: Page) -> None:
    expect(page.locator("#label-tree")).to_contain_text("person")


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def download(page: Page) -> dict:
    page.get_by_role("link", name="Lives").first.click()
    with page.expect_download() as started:
        page.get_by_role("button", name="Download").click()
    assert started.value.suggested_filename.startswith("lives-")
    with zipfile.ZipFile(io.BytesIO(Path(started.value.path()).read_bytes())) as archive:
        return {name: json.loads(archive.read(name)) for name in archive.namelist()}


def check_bundle(files: dict, document) -> None:
    assert files["manifest.json"]["counts"] == {
        "items": 2,
        "entity_labels": len(list(names(document))),
        "relation_labels": 2,
        "annotations": 4,
        "annotations_done": 4,
        "entities": 5,
        "relations": 1,
        "suggested_entities": 0,
        "suggested_relations": 0,
        "batches": 0,
        "flags": 0,
        "comments": 0,
        "open_comments": 0,
        **dict.fromkeys(("edited_forms", "not_same"), 0),
        **dict.fromkeys(("gold", "gold_decided", "gold_decisions", "gold_entities", "gold_relations"), 0),
    }
    assert [item["original"] for item in files["dataset.json"]] == [TEXT.splitlines()[0], TEXT.splitlines()[2]]
    anna, _, ben, ben_too = sorted(files["annotations.json"], key=lambda row: (row["annotator"], row["item_id"]))
    assert (anna["annotator"], ben["annotator"], ben_too["annotator"]) == ("anna", "ben", "ben")
    assert {(e["text"], e["label"]) for e in anna["entities"]} == {
        ("Albert Einstein", "person/artist/author"),
        ("Ulm, Germany", "location"),
        ("Germany", "location/country"),
    }
    entities = {e["id"]: e for e in anna["entities"]}
    [relation] = anna["relations"]
    assert relation["label"] == "bornIn"
    assert entities[relation["source_id"]]["text"] == "Albert Einstein"
    assert entities[relation["target_id"]]["text"] == "Ulm, Germany"
    [curie] = ben_too["entities"]
    assert (curie["start"], curie["end"], curie["text"]) == (1, 2, "Marie Curie")
    for row in files["annotations.json"]:
        item = files["dataset.json"][row["item_id"] - 1]
        assert row["done_at"]
        for entity in row["entities"]:
            assert item["original"][entity["start_char"] : entity["end_char"]] == entity["text"]
            assert item["tokens"][entity["start"]] in entity["text"]


def names(document):
    for item in document:
        yield item["name"]
        yield from names(item.get("children", []))
