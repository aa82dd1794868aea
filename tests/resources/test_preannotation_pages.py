"""The list and the page of preannotation sets, and what is changed there."""

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation_service.edits import fingerprint
from annotation_service.inputs import Refused
from ontologies.models import Ontology
from resources.models import PreannotationSet
from resources.urls import preannotation_urls
from tests import factories
from tests.answers import text_of, toast
from tests.factories import item
from tests.queries import queries_of
from tests.resource_sets import DOCUMENTS, document_of, make, uid


@pytest.fixture
def lexicon(alice, labels):
    return make("entity_preannotations", owner=alice, name="Lexicon", **labels)


@pytest.fixture
def pairs(alice, labels):
    return make("relation_preannotations", owner=alice, name="Pairs", **labels)


def url(name, thing, *args):
    return reverse(f"preannotations:{name}", args=[thing.pk, *args])


def rows_of(client, thing, **asked):
    """The cells of each row on the page."""
    body = client.get(thing.get_absolute_url(), asked).text
    found = re.findall(r'<tr id="row-\d+">(.*?)</tr>', body, re.S)
    cells = (re.findall(r'<td class="(?:num )?cell"[^>]*>(.*?)</td>', row, re.S) for row in found)
    return [[" ".join(re.sub(r"<[^>]*>", " ", cell).split()) for cell in row] for row in cells]


def test_the_list_and_the_menu(as_bob, lexicon, pairs):
    found = text_of(as_bob.get(reverse("preannotations:list")))
    assert "Lexicon Entities 3 entity labels Blueprint in no project alice" in found
    assert "Pairs Relations 2 entity labels, relation labels Blueprint" in found
    hits = as_bob.get(reverse("find"), {"q": "lexi"}).json()["hits"]
    assert hits[0]["url"] == lexicon.get_absolute_url()
    assert "2 sets of preannotations" in found and "Constraints Preannotations Datasets" in found


CONTROLS = "Add a row|Duplicate…|Rename or describe|Delete…|Use in a project|Match again|Undo|Revert"
READ_WHILE_OFF = ("page", "standing", "row", "history", "change", "download_json", "download_csv", "step")


@pytest.mark.parametrize("pattern", preannotation_urls[-1].url_patterns, ids=lambda pattern: pattern.name)
def test_off_every_address_that_changes_something_says_which_setting_enables_it(as_alice, lexicon, settings, pattern):
    settings.PREANNOTATION_RESOURCES = False
    args = [7] * ("row_pk" in str(pattern.pattern) or "version" in str(pattern.pattern))
    args += ["label"] * ("field" in str(pattern.pattern))
    place = url(pattern.name, lexicon, *args)
    if pattern.name in READ_WHILE_OFF:
        assert as_alice.post(place).status_code == 405
        return
    for each in (place, reverse("preannotations:create")):
        answer = (as_alice.post if pattern.name in ("undo", "redo", "revert", "remove_rows") else as_alice.get)(each)
        if each == place or answer.status_code != 405:
            assert answer.status_code == 403 and "PREANNOTATION_RESOURCES" in text_of(answer)


def test_off_the_sets_that_are_there_are_found_read_and_downloaded_and_nothing_offers_to_change_them(
    as_alice, alice, lexicon, labels, settings
):
    project = factories.project(by=alice, entities=labels["entities"], relations=labels["relations"])
    project.put_set(lexicon, by=alice)
    copy = project.preannotation_sets().get()
    addresses = {thing: [thing.get_absolute_url(), url("history", thing)] for thing in (lexicon, copy)}
    figures = reverse("projects:preannotation_figures", args=[project.pk, "entity"])
    with_controls = [
        as_alice.get(each).text for each in (lexicon.get_absolute_url(), reverse("preannotations:list"), figures)
    ]
    assert all("Duplicate…" in text or "New preannotations" in text for text in with_controls)
    documents = {name: as_alice.get(url(name, lexicon)).text for name in ("download_json", "download_csv")}
    settings.PREANNOTATION_RESOURCES = False
    for name, document in documents.items():
        assert as_alice.get(url(name, lexicon)).text == document
    for address in (*addresses[lexicon], *addresses[copy], figures, reverse("preannotations:list")):
        answer = as_alice.get(address)
        assert answer.status_code == 200
        offered = re.findall(CONTROLS, answer.text)
        assert not offered and "New preannotations" not in answer.text and 'class="check"' not in answer.text
    assert len(rows_of(as_alice, copy)) == 3
    assert f'href="{copy.get_absolute_url()}"' in as_alice.get(project.get_absolute_url()).text
    assert f'href="{reverse("preannotations:list")}"' in as_alice.get(reverse("resources:list")).text
    hits = as_alice.get(reverse("find"), {"q": "Lexicon"}).json()["hits"]
    assert lexicon.get_absolute_url() in [hit["url"] for hit in hits]


@pytest.mark.parametrize("document", ["json", "csv"])
@pytest.mark.parametrize("source", ["paste", "file"])
def test_a_set_is_checked_created_and_downloaded(as_alice, alice, labels, document, source):
    model = make("relation_preannotations", owner=alice, name="Model", **labels)
    text = "".join(getattr(model, f"{document}_document")())
    content = {"text": text} if source == "paste" else {"file": SimpleUploadedFile(f"x.{document}", text.encode())}
    about = {"entity_ontology": labels["entities"].pk, "relation_ontology": labels["relations"].pk}
    data = {"name": "Way in", "kind": "relation", "source": source, **about}
    assert "2 preannotations can be stored" in text_of(as_alice.post(reverse("preannotations:check"), data | content))
    for each in content.values():
        each.seek(0) if source == "file" else None
    as_alice.post(reverse("preannotations:create"), data | content)
    made = PreannotationSet.objects.get(name="Way in")
    answer = as_alice.get(url(f"download_{document}", made))
    assert answer.text == text
    assert f'filename="way-in.{document}"' in answer["Content-Disposition"]


def test_what_is_wrong_with_a_table_is_told_beside_the_text(as_alice, labels):
    data = {"name": "x", "kind": "entity", "source": "paste", "entity_ontology": labels["entities"].pk}
    answer = as_alice.post(reverse("preannotations:create"), data | {"text": "surface_form;label\nworn;Stat"})
    assert answer.status_code == 422 and "worn;Stat" in answer.text
    assert "line 2, label “Stat” is not a label" in text_of(answer)
    assert "line 2, label" in text_of(
        as_alice.post(reverse("preannotations:check"), data | {"text": "surface_form;label\na;b"})
    )


def test_the_dry_run_offers_to_add_the_labels_that_are_missing(as_alice, as_bob, alice, labels):
    labels["relations"].edit(name="entity labels")  # names need not be unique
    about = {"entity_ontology": labels["entities"].pk, "relation_ontology": labels["relations"].pk}
    head = "source_surface_form,source_label,target_surface_form,target_label,offset,label"
    text = f"{head}\nx,Tool/Hammer,y,Tool,0,usedFor\nx,Tool/Hammer,z,State,0,hasPart"
    data = {"name": "New", "kind": "relation", "source": "paste", "text": text, **about}
    offered = text_of(as_alice.post(reverse("preannotations:check"), data))
    assert "to “entity labels”: Tool/Hammer, Tool to “entity labels”: usedFor Add them when I create this" in offered
    create = reverse("preannotations:create")
    assert as_alice.post(create, data).status_code == 422
    theirs = as_bob.post(create, data | {"add_labels": "on"})
    assert theirs.status_code == 422 and "Only its owner can add labels to “entity labels”" in text_of(theirs)
    twice = data | {"text": f"{text}\nx,Tool/Hammer,y,Tool,0,usedFor"}
    assert as_alice.post(create, twice | {"add_labels": "on"}).status_code == 422
    assert not labels["entities"].items().filter(name="Tool").exists()
    as_alice.post(create, data | {"add_labels": "on"})
    made = PreannotationSet.objects.get()
    assert [row["source_label"] for row in document_of(made)] == ["Tool/Hammer"] * 2
    assert [change.title for change in labels["entities"].changes.all()[:1]] == ["add"]
    with pytest.raises(Refused):
        Ontology.objects.get(pk=labels["entities"].pk).undo(by=alice)
    made.erase()
    Ontology.objects.get(pk=labels["entities"].pk).undo(by=alice)
    assert not labels["entities"].items().filter(name__in=["Tool", "Hammer"]).exists()


def test_the_table_is_searched_and_sorted_by_every_column(as_alice, alice, labels, lexicon, pairs):
    lexicon.add_row({"surface_form": "Absperrhahn", "label": uid(lexicon, "Activity")}, by=alice)
    forms = lambda **asked: [row[0] for row in rows_of(as_alice, lexicon, **asked)]  # noqa: E731
    assert forms() == ["thermostat", "thermostat", "Ölpumpe 🚀", "Absperrhahn"]
    assert forms(sort="-number") == forms()[::-1]
    assert forms(sort="surface_form") == ["Absperrhahn", "thermostat", "thermostat", "Ölpumpe 🚀"]
    assert [row[1] for row in rows_of(as_alice, lexicon, sort="label")] == [
        "Activity",
        "PhysicalObject",
        "State",
        "Thermostat",
    ]
    assert [row[1] for row in rows_of(as_alice, lexicon, sort="-label")] == [
        "Thermostat",
        "State",
        "PhysicalObject",
        "Activity",
    ]
    assert (
        forms(q="ÖLPUMPE") == ["Ölpumpe 🚀"] and forms(q="activ") == ["Absperrhahn"] and forms(q="TAT") == forms()[:2]
    )
    assert forms(q="%") == [] == forms(q="nothing")
    offsets = {sort: [row[4] for row in rows_of(as_alice, pairs, sort=sort)] for sort in ("offset", "-offset")}
    assert offsets == {"offset": ["0", "3"], "-offset": ["3", "0"]}
    for sort in ("source_label", "target_surface_form", "-target_label", "label", "nonsense"):
        assert len(rows_of(as_alice, pairs, sort=sort)) == 2


def test_pages_by_label_have_every_row_once(as_alice, alice, labels, monkeypatch):
    monkeypatch.setattr("resources.preannotations_page.PAGE_SIZE", 4)
    names = ["Activity", "State", "PhysicalObject"]
    document = [{"surface_form": f"form {n:02}", "label": names[n * n % 3 if n < 17 else 1]} for n in range(23)]
    thing = make("entity_preannotations", owner=alice, document=document, **labels)
    for sort, falls in (("label", False), ("-label", True)):
        seen = [tuple(row[1::-1]) for page in range(1, 7) for row in rows_of(as_alice, thing, sort=sort, page=page)]
        wanted = sorted((row["label"], row["surface_form"]) for row in document)
        assert seen == sorted(wanted, key=lambda row: row[0], reverse=falls)
    assert rows_of(as_alice, thing, sort="label", page=99) == rows_of(as_alice, thing, sort="label", page=6)


def test_the_queries_are_the_same_for_few_and_for_many_rows(as_alice, alice, labels):
    def queries(count, **asked):
        names = ["Activity", "State", "PhysicalObject"]
        document = [{"surface_form": f"form {n}", "label": names[n % 3]} for n in range(count)]
        thing = make("entity_preannotations", owner=alice, document=document, **labels)
        as_alice.get(thing.get_absolute_url())
        return len(queries_of(as_alice.get, thing.get_absolute_url(), asked))

    for asked in ({}, {"sort": "surface_form"}, {"q": "form"}):
        assert queries(3, **asked) == queries(49, **asked)
    assert queries(400, sort="label", page=3) <= queries(3, sort="label") + 2


def test_a_value_is_edited_where_it_stands(as_alice, lexicon):
    row = lexicon.rows().first()
    form = as_alice.get(url("cell", lexicon, row.pk, "surface_form")).text
    assert (
        'value="thermostat"' in form
        and "autofocus" in form
        and f'name="was" value="{fingerprint("thermostat")}"' in form
    )
    seen = {"was": fingerprint("thermostat")}
    answer = as_alice.post(url("cell", lexicon, row.pk, "surface_form"), seen | {"value": "regulator"})
    assert "regulator" in text_of(answer) and "rowChanged" in answer["HX-Trigger"]
    stale = as_alice.post(url("cell", lexicon, row.pk, "surface_form"), seen | {"value": "mine"})
    assert stale.status_code == 409 and 'value="mine"' in stale.text
    assert "Somebody changed this meanwhile, to “regulator”. Save again to replace it." in text_of(stale)
    again = {"was": fingerprint("regulator"), "value": "mine"}
    assert again["was"] in stale.text
    as_alice.post(url("cell", lexicon, row.pk, "surface_form"), again)
    assert document_of(lexicon)[0]["surface_form"] == "mine"
    wrong = as_alice.post(url("cell", lexicon, row.pk, "surface_form"), {"value": "  "})
    assert wrong.status_code == 422 and "A form is needed" in text_of(wrong)
    assert as_alice.get(url("cell", lexicon, row.pk, "offset")).status_code == 404


def test_a_label_is_picked_in_the_dialog(as_alice, alice, labels, lexicon):
    item(labels["entities"], "Replace").switch(False, by=alice)
    row = lexicon.rows().first()
    shown = text_of(as_alice.get(url("cell", lexicon, row.pk, "label")))
    assert "Label of “thermostat”" in shown and "Thermostat chosen now" in shown and "Replace switched off" in shown
    was = fingerprint(uid(lexicon, "Thermostat"))
    place = f"{url('cell', lexicon, row.pk, 'label')}?was={was}"
    answer = as_alice.post(place, {"value": uid(lexicon, "Activity")})
    assert answer["HX-Retarget"] == f"#row-{row.pk}" and "closeDialog" in answer["HX-Trigger"]
    stale = as_alice.post(place, {"value": uid(lexicon, "PhysicalObject")})
    assert stale.status_code == 409 and stale["HX-Retarget"] == "#dialog"
    assert toast(stale) == "Somebody changed this meanwhile, to “Activity”. Pick again to replace it."
    off = as_alice.post(url("cell", lexicon, row.pk, "label"), {"value": uid(lexicon, "Replace")})
    assert off.status_code == 422 and "“Activity/Replace” is switched off" in toast(off)
    assert document_of(lexicon)[0]["label"] == "Activity"


def test_rows_with_labels_that_are_off_are_marked(as_alice, alice, labels, lexicon):
    item(labels["entities"], "State").switch(False, by=alice)
    assert [row[1] for row in rows_of(as_alice, lexicon)] == ["Thermostat", "State off", "PhysicalObject"]


def test_a_row_is_added_with_labels_that_are_picked_on_the_way(as_alice, pairs):
    place = url("add_row", pairs)
    typed = {"source_surface_form": "check", "target_surface_form": "level", "offset": ""}
    picking = as_alice.post(place, typed)
    assert "Source label of “check”" in text_of(picking)
    kept = re.search(r'hx-get="([^"]*pick=source_label[^"]*)"', picking.text)[1].replace("&amp;", "&")
    back = as_alice.get(f"{kept}&source_label={uid(pairs, 'Replace')}")
    assert 'value="check"' in back.text and "Activity/Replace" in text_of(back)
    ends = {"source_label": uid(pairs, "Replace"), "target_label": uid(pairs, "State"), "label": uid(pairs, "hasPart")}
    answer = as_alice.post(place, typed | ends)
    assert toast(answer) == "“check → level” was added." and "rowsChanged" in answer["HX-Trigger"]
    assert document_of(pairs)[-1]["offset"] == 0 and document_of(pairs)[-1]["target_label"] == "State"
    again = as_alice.post(place, typed | ends)
    assert again.status_code == 422 and "The same preannotation is in this set already" in text_of(again)
    assert 'value="check"' in again.text


def test_removal_says_how_many_rows_go(as_alice, lexicon):
    place = url("remove_rows", lexicon)
    assert "Choose the rows first" in toast(as_alice.post(place))
    first = lexicon.rows().first()
    assert "Remove “thermostat”?" in text_of(as_alice.post(place, {"items": str(first.pk)}))
    matching = f"{place}?q=thermo"
    assert "Remove 2 rows? × These are all rows with “thermo”" in text_of(as_alice.post(matching, {"all": "1"}))
    changed = as_alice.post(matching, {"all": "1", "count": "3"})
    assert changed.status_code == 409 and "another number of rows" in text_of(changed)
    answer = as_alice.post(matching, {"all": "1", "count": "2"})
    assert toast(answer) == "2 rows were removed." and lexicon.row_count == 1
    as_alice.post(url("undo", lexicon))
    assert document_of(lexicon) == DOCUMENTS["entity_preannotations"]
    told = text_of(as_alice.get(url("history", lexicon)))
    assert "Undo remove" in told and "2 preannotations" in told


def test_who_may_only_read_edits_nothing(as_bob, lexicon):
    shown = as_bob.get(lexicon.get_absolute_url()).text
    assert "data-check" not in shown and 'id="add-row"' not in shown and "thermostat" in shown


def test_a_row_of_whatever_number_is_not_there(as_alice, lexicon):
    for number in (0, 2**31, 2**63, 10**30):
        for asked in (as_alice.get, as_alice.post):
            answer = asked(url("cell", lexicon, number, "surface_form"), {"value": "pump"})
            assert answer.status_code == 422 and "removed meanwhile" in toast(answer)
