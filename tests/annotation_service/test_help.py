"""The help page: what it names is on the screens, and what leads to it finds an answer."""

import ast
import re

from django.contrib.staticfiles import finders

from annotation_service.file_formats import FORMATS
from annotation_service.views import HELP
from datasets.formats.dataset_format import DatasetFormat
from ontologies.label_files import OntologyFormat
from tests.test_imports import APPS, ROOT

TEMPLATES = ROOT / "templates"
PARTS = sorted((TEMPLATES / "help").glob("_*.html"))
MARKUP = re.compile(r"<[^>]*>|{%.*?%}|{{.*?}}|{#.*?#}")


def written(tag):
    """What the parts of the help say with a template tag: the arguments of each use."""
    for part in PARTS:
        for arguments in re.findall(rf"{{% {tag} (.*?) ?%}}", part.read_text()):
            yield [words or count for words, count in re.findall(r'"(.*?)"|(?<= )(\d+)(?= )', arguments)]


def answers():
    return [anchor for anchor, *_ in written("answer")]


def screens():
    return [" ".join(path.read_text().split()) for path in TEMPLATES.rglob("*.html") if path.parent.name != "help"]


def names_on_screens():
    """Texts between tags, labels of controls, and the strings of the code that makes them."""
    names = set()
    for text in screens():
        names.update(part.strip() for part in MARKUP.sub("\0", text).split("\0"))
        names.update(re.findall(r'(?:aria-label|placeholder|title)="([^"]*)"', text))
    for path in (path for app in APPS for path in (ROOT / app).rglob("*.py")):
        names.update(
            node.value
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        )
    for path in (ROOT / "static" / "js").rglob("*.js"):
        names.update(re.findall(r'"([^"\n]*)"', path.read_text()))
    return names


def test_every_control_is_on_a_screen_under_its_name():
    names = names_on_screens()
    named = {name for (name,) in written("control")}
    # Fields without a label of their own are called after themselves.
    assert [name for name in named if name not in names and name.lower().replace(" ", "_") not in names] == []


def test_every_key_is_named_on_a_screen():
    lists = "".join(screens())
    chords = {" ".join(f"<kbd>{key}</kbd>" for key in keys) for keys in written("keys")}
    assert [chord for chord in chords if chord not in lists] == []


def test_each_role_has_its_first_twenty_questions():
    assert {path.stem.strip("_") for path in PARTS} == set(HELP)
    for role in ("manager", "annotator"):
        assert (TEMPLATES / "help" / f"_{role}.html").read_text().count("{% answer ") >= 20
    assert len(set(answers())) == len(answers())


def test_every_link_to_an_answer_finds_it():
    linked = {anchor for part in PARTS for anchor in re.findall(r'href="#([^"]+)"', part.read_text())}
    linked |= {anchor for text in screens() for anchor in re.findall(r"{% url 'help' %}#([\w-]+)", text)}
    assert linked and linked <= set(answers())


def test_pictures_are_there_in_both_themes_and_small():
    wanted = {f"{name}-{theme}.webp" for name, *_ in written("picture") for theme in ("light", "dark")}
    files = {path.name: path.stat().st_size for path in (ROOT / "static" / "help").iterdir()}
    assert wanted == files.keys()
    assert max(files.values()) <= 60_000 and sum(files.values()) <= 1_000_000
    assert all(finders.find(f"help/{name}") for name in files)


def test_the_part_of_the_own_role_comes_first(as_alice, as_carol):
    for client, titles in ((as_alice, list(HELP.values())), (as_carol, list(HELP.values())[::-1])):
        page = client.get("/help/").text
        assert re.findall(r'<h2 id="\w+">(.*?)</h2>', page) == titles


def test_the_contents_lead_to_every_answer(as_carol, settings):
    assert 'id="forms"' not in as_carol.get("/help/").text  # it is about a feature that is switched off
    settings.PREANNOTATION_RESOURCES, settings.OIDC_ISSUER = True, "https://example.org"
    page = as_carol.get("/help/").text
    contents = page[page.index('<nav class="help-contents') : page.index("help-answers")]
    assert sorted(re.findall(r'<li><a href="#([\w-]+)">', contents)) == sorted(answers())
    assert "Can a word belong to two marks?" in contents


def rows_of_formats(client):
    """What the table says: the noun, label, whether it comes in and goes out, and what it loses."""
    page = client.get("/help/").text
    rows, noun = [], ""
    for row in re.findall(r"<tr>(.*?)</tr>", page[page.index('id="formats"') :].split("</article>")[0], re.S):
        cells = [" ".join(MARKUP.sub("", cell).split()) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.S)]
        if len(cells) == 1:
            noun = cells[0].removeprefix("For ")
        elif noun:
            rows.append((noun, *cells))
    return rows


def test_all_formats_are_listed_by_what_is_made_of_them_and_by_name(as_alice):
    rows = rows_of_formats(as_alice)
    assert len(rows) == len(FORMATS) and [row[:2] for row in rows] == sorted(
        (row[:2] for row in rows), key=lambda row: (row[0], row[1].casefold())
    )
    assert ("a dataset", "WebAnno TSV 3 .tsv .webanno", "yes", "no") in [row[:4] for row in rows]
    assert ("a dataset", "CoNLL with layers .conll", "no", "yes") in [row[:4] for row in rows]
    assert ("an ontology", "SKOS .ttl .rdf", "yes", "yes", "colours, ids, times and what is switched off") in rows


def test_a_new_format_appears_in_the_help_by_itself(as_alice, monkeypatch):
    texts = DatasetFormat("knots", "Knots", (".knot",), lambda start: None, loses="bows", read=lambda source: ())
    labels = OntologyFormat("quipu", "Quipu", (".cord",), lambda start: None, read=lambda source, kind: [])
    monkeypatch.setattr("annotation_service.file_formats.FORMATS", [labels, *FORMATS, texts])
    rows = rows_of_formats(as_alice)
    assert ("a dataset", "Knots .knot", "yes", "no", "bows") in rows
    assert ("an ontology", "Quipu .cord", "yes", "no", "") in rows
    hits = as_alice.get("/find/", {"q": "knots"}).json()["hits"]
    assert [hit["url"] for hit in hits if hit["kind"] == "Help"] == ["/help/#formats"]
