"""The fragments and actions of the tree editor: searching, taking back, lists, several items, checks, usage."""

import re

import pytest

from annotation_service import journal_views
from annotation_service.words import excerpt
from datasets.models import Annotation
from ontologies.models import Ontology
from tests import factories
from tests.answers import events
from tests.ontologies.test_pages import uids_in, url
from tests.queries import queries_of


def names(ontology):
    return [item.name for item in ontology.items()]


# --- The tree again ------------------------------------------------------------------------------------------------------


def test_an_item_is_shown_wherever_it_is(as_alice, large):
    top, hidden = large.items().filter(level=1)[1], large.items().filter(level=2)[200]
    answer = as_alice.post(url("tree", large.pk), {"within": top.uid, "reveal": hidden.uid})
    assert hidden.uid in uids_in(answer) and len(uids_in(answer)) == 70
    assert 'data-branch="' not in answer.text


def test_one_branch_is_shown_alone(as_alice, large):
    top = large.items().filter(level=1)[1]
    branch = [item.uid for item in top.branch()]
    assert uids_in(as_alice.post(url("tree", large.pk), {"within": top.uid})) == branch
    assert uids_in(as_alice.get(f"{url('page', large.pk)}?branch={top.uid}")) == branch
    assert uids_in(as_alice.get(f"{url('items', large.pk)}?levels=9&within={top.uid}")) == branch


@pytest.mark.parametrize("uid", ["\0", "x", "ffffffff", "f" * 300])
def test_odd_names_of_items_are_those_of_no_item(as_alice, ontology, large, uid):
    answer = as_alice.post(url("tree", ontology.pk), {"within": uid, "reveal": uid, "item": uid})
    assert answer.status_code == 200 and 'id="details-none"' in answer.text
    answer = as_alice.post(url("tree", large.pk), {"open": f"{uid},,{large.items()[0].uid}"})
    assert answer.status_code == 200 and len(uids_in(answer)) == 10 + 60


def test_the_details_of_an_item_that_is_gone_give_way(as_alice, alice, ontology):
    gone = ontology.add_item("Gone", by=alice)
    ontology.undo(by=alice)
    page = as_alice.post(url("tree", ontology.pk), {"item": gone.uid}).text
    assert 'id="details-none"' in page
    answer = as_alice.get(url("usage", ontology.pk, gone.uid))
    assert (answer.status_code, answer.content) == (200, b"")
    answer = as_alice.get(url("item", ontology.pk, gone.uid), headers={"HX-Request": "true"})
    assert answer.status_code == 204 and "ontologyChanged" in answer["HX-Trigger"]
    assert as_alice.get(url("item", ontology.pk, gone.uid), headers={"HX-Request": "false"}).status_code == 404


def test_answers_tell_what_they_build_on(as_alice, bob, ontology, item):
    assert as_alice.get(url("item", ontology.pk, item.uid))["X-Ontology-Version"] == "1 1"
    fields = {"name": "Sensor", "was": "SensingObject"}
    assert as_alice.post(url("rename", ontology.pk, item.uid), fields)["X-Ontology-Version"] == "1 2"
    item.describe("by Bob", by=bob)
    assert as_alice.get(url("children", ontology.pk, item.uid))["X-Ontology-Version"] == "3 3"


# --- Searching -----------------------------------------------------------------------------------------------------------


def find(client, ontology, text, **query):
    return client.get(url("find", ontology.pk), {"q": text} | query)


def test_matches_are_shown_within_their_branches(as_alice, ontology):
    answer = find(as_alice, ontology, "thermo")
    assert uids_in(answer) == [i.uid for i in ontology.items()[:3]]
    page = answer.text
    assert page.count("data-match") == 1 and "<mark>Thermo</mark>stat" in page and 'data-total="1"' in page
    assert page.count("<ul") == page.count("</ul>") and page.count("<li ") == page.count("</li>") == 3


@pytest.mark.parametrize(("text", "marked"), [("TOUCHED", "touched"), ("bear", "bear")])
def test_descriptions_and_example_terms_are_searched(as_alice, ontology, text, marked):
    page = find(as_alice, ontology, text).text
    assert f"<mark>{marked}</mark>" in page and page.count("data-match") == 1


def test_only_so_many_matches_are_shown_but_all_of_the_branch_are_counted(as_alice, large):
    answer = find(as_alice, large, "c")
    assert answer.text.count("data-match") == 200 and 'data-total="600"' in answer.text
    top = large.items().filter(level=1)[1]
    assert 'data-total="1"' in find(as_alice, large, "C59", within=top.uid).text


@pytest.mark.parametrize("text", ["", " ", "%", "<script>", "x" * 1000])
def test_odd_searches_find_nothing(as_alice, ontology, text):
    answer = find(as_alice, ontology, text)
    assert answer.status_code == 200 and not uids_in(answer)


def test_what_a_search_shows_is_escaped(as_alice, alice):
    items = [
        {"name": "<i>name", "description": "<b>one"},
        {"name": "other", "description": "first line\n<i>line<s>"},
        {"name": "third", "description": "<u>", "children": [{"name": "<i>last"}]},
    ]
    page = find(as_alice, factories.ontology(owner=alice, items=items), "<i>").text
    assert page.count("<mark>&lt;i&gt;</mark>") == 3 and not set(re.findall("<[ibus]>", page))
    assert all(f"{text}</span>" in page for text in ("name", "&lt;b&gt;one", "line&lt;s&gt;", "&lt;u&gt;"))


def test_what_the_preview_of_a_list_shows_is_escaped(as_alice, alice, settings):
    settings.MAX_ONTOLOGY_ITEMS = 3
    ontology = factories.ontology(owner=alice, items=[{"name": "<i>known"}, {"name": "other"}])
    pasted = {"text": "<i>known\n<u>new\n<s>too many"}
    page = as_alice.post(url("preview", ontology.pk), pasted).text
    shown = ("i&gt;known <small>there", "u&gt;new", "s&gt;too many")
    assert [text for text in shown if f"&lt;{text}" not in page] == [] and "at most 3" in page
    assert not re.findall("<[ius]>", page)


def test_a_match_is_cut_out_by_letters_whose_length_depends_on_case():
    assert excerpt("Große Straße", "STRASSE") == ("Große ", "Straße", "")
    assert excerpt("İstanbul", "stan") == ("İ", "stan", "bul")


# --- Undo, redo, history -------------------------------------------------------------------------------------------------


def test_undo_and_redo_by_request(as_alice, alice, ontology, item):
    answer = as_alice.post(url("describe", ontology.pk, item.uid), {"description": "New", "was": ""})
    assert "Undo describe" in answer.text
    item.rename("Sensor", by=alice)
    answer = as_alice.post(url("undo", ontology.pk))
    assert "ontologyChanged" in events(answer) and "Undone: rename" in events(answer)["toast"]["text"]
    assert item.again().name == "SensingObject"
    as_alice.post(url("redo", ontology.pk))
    assert item.again().name == "Sensor"


def test_a_refused_undo_says_why(as_alice, alice, bob, ontology, item):
    item.rename("Sensor", by=alice)
    item.rename("Theirs", by=bob)
    answer = as_alice.post(url("undo", ontology.pk))
    assert answer.status_code == 422 and "bob" in events(answer)["toast"]["text"]
    assert item.again().name == "Theirs"


def test_the_undo_of_a_toast_takes_back_what_it_was_offered_for(as_alice, alice, ontology, item):
    item.switch(False, by=alice)
    ontology.refresh_from_db()
    version = ontology.version
    item.rename("Sensor", by=alice)
    as_alice.post(f"{url('undo', ontology.pk)}?version={version}")
    assert item.again().active and item.again().name == "Sensor"


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("switch", {"active": "0"}),
        ("move", {"to": "", "before": "Activity"}),
        ("recolor", {"color": "#123456", "branch": "on"}),
    ],
)
def test_what_somebody_else_has_done_already_offers_no_undo(as_alice, as_bob, moving, alice, bob, name, fields):
    document = [{"name": "Sensor", "children": [{"name": "Thermostat"}]}, {"name": "Activity"}]
    ontology = factories.ontology(owner=alice, items=document)
    item = ontology.items().get(name="Sensor")
    if "before" in fields:
        fields = fields | {"before": ontology.items().get(name="Activity").uid}
    item.describe("Alice's own earlier step.", by=alice)
    if name == "switch":
        item.switch(False, by=bob)
    elif name == "recolor":
        item.recolor("#123456", branch=True, by=bob)
    answer = as_alice.post(url(name, ontology.pk, item.uid), fields)
    assert [step.verb for step in ontology.changes.filter(user=alice)] == ["describe", "create"]
    toast = events(answer).get("toast", {"text": "Nothing had to be changed."})
    assert toast["text"] == "Nothing had to be changed." and "action" not in toast


@pytest.mark.parametrize("is_first", [True, False])
def test_colours_that_are_apart_already_offer_no_undo(as_alice, alice, bob, is_first):
    ontology = factories.ontology(owner=alice, items=[{"name": name, "color": "#123456"} for name in ("A", "B")])
    uids = [item.uid for item in ontology.items()]
    if not is_first:
        ontology.separate_colors(uids, by=bob)
    toast = events(as_alice.post(url("separate_colors", ontology.pk), {"uids": ",".join(uids)}))["toast"]
    assert toast["text"] == ("1 item was recoloured." if is_first else "Nothing had to be changed.")
    assert ("action" in toast) == is_first


def test_a_list_that_somebody_adds_meanwhile_is_not_added_again(as_alice, bob, ontology, monkeypatch):
    locked = Ontology.locked

    def add_first(self):
        monkeypatch.setattr(Ontology, "locked", locked)
        Ontology.objects.get(pk=self.pk).add_item("Fan", by=bob)
        return self.locked()

    monkeypatch.setattr(Ontology, "locked", add_first)
    answer = as_alice.post(url("paste", ontology.pk), {"text": "Fan"})
    assert events(answer)["toast"] == {"text": "Nothing had to be changed.", "kind": "success"}
    assert answer["X-Ontology-Version"] == "2 2"


def test_the_undo_of_a_toast_takes_back_no_other_step(as_alice, alice, bob, ontology, item):
    item.rename("Sensor", by=alice)
    item.switch(False, by=bob)
    answer = as_alice.post(f"{url('undo', ontology.pk)}?version=3")
    assert answer.status_code == 422 and "Open the history: “Revert”" in events(answer)["toast"]["text"]
    assert item.again().name == "Sensor" and not item.again().active


@pytest.mark.parametrize("version", ["x", "9" * 30, "-1", "٣"])
def test_an_odd_version_is_no_error(as_alice, ontology, version):
    assert as_alice.post(f"{url('undo', ontology.pk)}?version={version}").status_code == 422


def test_the_history_shows_before_and_after_and_only_its_owner_reverts(as_alice, as_bob, alice, ontology, item):
    item.rename("Sensor", by=alice)
    page, theirs = (client.get(url("history", ontology.pk)).text for client in (as_alice, as_bob))
    assert "SensingObject" in page and "Sensor" in page and "alice" in page and "Revert" in page
    assert "Sensor" in theirs and "hx-post" not in theirs
    assert "by alice" in as_bob.get(url("usage", ontology.pk, item.uid)).text


def test_the_history_shows_the_first_of_several_items_and_reverts_no_undo(as_alice, alice, ontology):
    uids = [item.uid for item in ontology.items()[:5]]
    ontology.recolor_items(uids, "#112233", by=alice)
    ontology.undo(by=alice)
    page = as_alice.get(url("history", ontology.pk)).text
    in_short = page.split('<ul class="differences">')[1].split("</ul>")[0]
    assert in_short.count("dark blue #112233") == in_short.count("<li>") == 3 and "and 2 more" in page
    assert "Undo recolour" in page and "Revert" not in page and page.count(">undone<") == 1


def test_the_history_has_pages_and_needs_the_same_queries_for_any_length(as_alice, alice, ontology, item):
    def queries():
        return len(queries_of(as_alice.get, url("history", ontology.pk)))

    item.describe("one", by=alice)
    few = queries()
    for i in range(39):
        item.describe(str(i), by=alice)
    assert queries() == few
    first = as_alice.get(url("history", ontology.pk)).text
    second = as_alice.get(f"{url('history', ontology.pk)}?start=30").text
    assert first.count("<b>") == 30 and "?start=30" in first
    assert second.count("<b>") == 11 and "?start=" not in second


def test_a_step_is_reverted_where_nothing_later_depends_on_it(as_alice, alice, ontology, item):
    item.rename("Sensor", by=alice)
    item.describe("later", by=alice)
    answer = as_alice.post(url("revert", ontology.pk, 2))
    assert answer["HX-Retarget"] == "#dialog" and item.again().name == "SensingObject"
    refusal = as_alice.post(url("revert", ontology.pk, 2))
    assert refusal.status_code == 422 and "undone already" in refusal.text


def test_a_large_step_can_be_seen_whole_or_says_how_much_is_left_out(as_alice, alice, large, monkeypatch):
    large.items()[0].switch(False, by=alice)
    page = as_alice.get(url("history", large.pk)).text
    assert "Show more of 61 items" in page
    whole = as_alice.get(url("step", large.pk, 2)).text
    assert whole.count('scope="row"') == 61 and "more" not in whole
    monkeypatch.setattr(journal_views, "SHOWN_STEPS", 50)
    some = as_alice.get(url("step", large.pk, 2)).text
    assert some.count('scope="row"') == 50 and "and 11 more" in some


# --- Lists ---------------------------------------------------------------------------------------------------------------


def test_the_preview_tells_new_from_existing(as_alice, ontology):
    answer = as_alice.post(url("preview", ontology.pk), {"text": "State\n  Good\nProcess"})
    page = answer.text
    assert "2 items</b> will be added, 1 item is there already" in page.replace("\u202f", " ")
    assert ontology.row_count == 7


def test_a_pasted_list_is_added_in_one_step(as_alice, alice, ontology, item):
    answer = as_alice.post(url("paste_below", ontology.pk, item.uid), {"text": "Gauge/Old\nGauge/New\nThermostat"})
    assert events(answer)["toast"]["text"] == "3 items were added."
    assert [i.name for i in item.again().branch()] == ["SensingObject", "Thermostat", "Gauge", "Old", "New"]
    as_alice.post(url("undo", ontology.pk))
    assert ontology.row_count == 7


def test_the_editor_says_that_what_is_added_starts_off(as_alice, alice, ontology, item):
    item.switch(False, by=alice)
    answer = as_alice.post(url("add_child", ontology.pk, item.uid), {"name": "Gauge"})
    assert events(answer)["toast"]["text"] == "“Gauge” starts off, like “SensingObject” above it."
    assert '<span class="chip off">off</span>' in answer.text
    answer = as_alice.post(
        url("paste_below", ontology.pk, ontology.items()[0].uid), {"text": "SensingObject/Fan\nRotor"}
    )
    assert events(answer)["toast"]["text"] == "2 items were added. 1 starts off, like the item above."
    preview = as_alice.post(url("preview_below", ontology.pk, item.uid), {"text": "A\nB"}).text
    assert "2 start off, like the item above." in preview.replace("\u202f", " ") and preview.count("<small>off") == 2
    assert "toast" not in events(as_alice.post(url("add_item", ontology.pk), {"name": "Place"}))


def test_what_is_there_is_skipped_whatever_its_case_and_spacing(as_alice, ontology):
    text = "state\n  Worn\nPhysical object/Sensing Object\n  Gauge\nState"
    preview = as_alice.post(url("preview", ontology.pk), {"text": text}).text
    assert "2 items</b> will be added" in preview and "4 items are there already and stay as they are" in preview
    assert "there already as “SensingObject”" in preview
    before = {i.fullname for i in ontology.labels()}
    as_alice.post(url("paste", ontology.pk), {"text": text})
    ontology.refresh_from_db()
    added = {i.fullname for i in ontology.labels()} - before
    assert added == {"State/Worn", "PhysicalObject/SensingObject/Gauge"}
    as_alice.post(url("undo", ontology.pk))
    assert ontology.row_count == 7


def test_a_list_of_what_is_there_adds_nothing(as_alice, ontology):
    names = "\n".join(label.fullname for label in ontology.labels())
    answer = as_alice.post(url("paste", ontology.pk), {"text": f"{names}\n{names}"})
    assert answer.status_code == 422 and ontology.row_count == 7
    assert "<b>Nothing to add</b>" in answer.text and "7 lines repeat" in answer.text


def test_the_columns_of_a_table_are_offered_and_can_be_chosen(as_alice, ontology):
    sent = {"text": "Label;Text;Parent\nGauge;Shows a value.;SensingObject\nState;;"}
    preview = as_alice.post(url("preview", ontology.pk), sent).text
    assert "<option selected>Label</option>" in preview and "1 item</b> will be added" in preview
    sent |= {"heading": ["Label", "Text", "Parent"], "column_description": "Text", "column_name": "Label"}
    sent |= {"column_parent": "Parent"}
    as_alice.post(url("paste", ontology.pk), sent)
    ontology.refresh_from_db()
    gauge = ontology.labels().by_fullname["PhysicalObject/SensingObject/Gauge"]
    assert (gauge.description, ontology.row_count) == ("Shows a value.", 8)


def test_another_table_has_other_columns(as_alice, ontology):
    chosen = {"heading": ["a", "name"], "column_name": "a", "column_description": "name"}
    preview = as_alice.post(url("preview", ontology.pk), {"text": "name,note\nA,b", **chosen}).text
    assert "</b> A" in preview and "</b> b" not in preview


def test_a_table_may_be_taken_for_lines(as_alice, ontology):
    preview = as_alice.post(url("preview", ontology.pk), {"text": "Name, full\nName, short", "as_lines": "on"}).text
    assert "</b> Name, full" in preview and "</b> Name, short" in preview and "checked" in preview


def test_wrong_cells_are_told_with_line_and_column_and_nothing_is_stored(as_alice, ontology):
    answer = as_alice.post(url("paste", ontology.pk), {"text": "name,colour\nA,#FF0000\nB,red"})
    assert answer.status_code == 422 and ontology.row_count == 7
    assert '<span class="place">line 3, column “colour”</span>' in answer.text


@pytest.mark.parametrize("text", ["", "State", "[{", "A/B/\n", "a\x07"])
def test_a_list_that_cannot_be_added_is_kept_with_the_reason(as_alice, ontology, text):
    answer = as_alice.post(url("paste", ontology.pk), {"text": text})
    assert answer.status_code == 422 and ontology.row_count == 7
    assert 'id="preview"' in answer.text


# --- Several items -------------------------------------------------------------------------------------------------------


def test_several_items_are_recoloured_in_one_step(as_alice, ontology):
    few = ontology.items().filter(name__in=["Thermostat", "State"])
    uids = ",".join(i.uid for i in few)
    answer = as_alice.post(url("recolor_items", ontology.pk), {"uids": uids, "color": "#123456"})
    assert events(answer)["toast"]["text"] == "2 items were recoloured."
    assert {i.color for i in few.all()} == {"#123456"}
    as_alice.post(url("undo", ontology.pk))
    assert "#123456" not in {i.color for i in few.all()}


def test_several_items_get_example_terms_in_one_step_and_not_too_many(as_alice, ontology, settings):
    few = ontology.items().filter(name__in=["PhysicalObject", "State"])
    uids = ",".join(i.uid for i in few)
    answer = as_alice.post(url("add_terms", ontology.pk), {"uids": uids, "add": "pump, valve"})
    assert events(answer)["toast"]["text"] == "2 items have new example terms."
    assert [i.example_terms for i in few.all()] == [["pump", "bearing", "valve"], ["pump", "valve"]]
    as_alice.post(url("undo", ontology.pk))
    assert [i.example_terms for i in few.all()] == [["pump", "bearing"], []]
    settings.MAX_EXAMPLE_TERMS = 3
    answer = as_alice.post(url("add_terms", ontology.pk), {"uids": uids, "add": "valve, fan"})
    assert events(answer)["toast"]["text"] == "“PhysicalObject”: An item has at most 3 example terms; this one has 4."
    assert [i.example_terms for i in few.all()] == [["pump", "bearing"], []]


def test_several_items_say_what_they_share_and_what_is_below_them(as_alice, ontology, alice):
    chosen = [ontology.items().get(name=name) for name in ("PhysicalObject", "SensingObject", "State")]
    chosen[2].switch(False, by=alice)
    uids = {"uids": ",".join(i.uid for i in chosen)}
    page = as_alice.post(url("several", ontology.pk), uids).text
    assert "3 items selected" in page and "2 others below them" in page and "2 on, 1 off" in page
    assert "differ in 2 terms" in page and "3 colours" in page and "2 without description" in page
    asked = as_alice.post(url("ask_switch", ontology.pk), uids | {"active": "0"}).text
    asked = " ".join(asked.split())
    assert "Switch 3 items off?" in asked and "4 items go off</b>, everything below them among them" in asked
    assert "1 item was off already: “State”. What was off already stays off" in asked
    assert ontology.facts().off == 1


def test_several_items_are_switched_off_with_their_branches_and_on_also_alone(as_alice, ontology):
    uids = ",".join(ontology.items().get(name=name).uid for name in ("PhysicalObject", "State"))
    switch = lambda **fields: as_alice.post(url("switch_items", ontology.pk), {"uids": uids} | fields)  # noqa: E731
    assert switch(active="0", reach="item").status_code == 422 and ontology.facts().off == 0
    assert events(switch(active="0"))["toast"]["text"] == "5 items were switched off."
    assert ontology.facts().off == 5
    switch(active="1", reach="item")
    assert ontology.facts().off == 3


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("recolor_items", {"uids": ""}),
        ("recolor_items", {"uids": "ffffffff", "color": "#123456"}),
        ("recolor_items", {"uids": "{uid}", "color": "red"}),
        ("switch_items", {"uids": "{uid}"}),
        ("separate_colors", {"uids": "\0"}),
        ("add_terms", {"uids": "\0", "add": "pump"}),
        ("several", {"uids": ""}),
        ("ask_switch", {"uids": "ffffffff", "active": "0"}),
        ("add_terms", {"uids": "{uid}", "add": " , "}),
        ("add_terms", {"uids": "ffffffff", "add": "pump"}),
        ("switch_items", {"uids": "{uid}", "active": "flip"}),
    ],
)
def test_what_makes_no_sense_for_several_items_is_refused_in_words(as_alice, ontology, item, name, fields):
    fields = {key: value.format(uid=item.uid) for key, value in fields.items()}
    answer = as_alice.post(url(name, ontology.pk), fields)
    assert answer.status_code == 422 and events(answer)["toast"]["text"]


# --- Figures -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_annotator", [False, True])
def test_usage_counts_the_copies_and_hides_other_peoples_projects(as_alice, as_bob, alice, bob, is_annotator):
    """Those who annotate in a project see everybody's work in it as little as strangers do."""
    project = factories.project(by=alice, name="Secret", annotators=[bob] if is_annotator else [])
    blueprint = project.entity_ontology.copied_from
    label = project.entity_ontology.items()[0]
    annotation = Annotation.objects.create(item=project.dataset.items()[0], annotator=alice)
    annotation.add_entity(uid="a-mark-00", label=label, start=0, end=0)
    counted = {"own": {label.uid: 1}, "below": {}}
    columns = as_alice.get(url("figures", blueprint.pk)).json()["columns"]
    assert columns == {"datasets": {"own": {}, "below": {}}, "projects": counted}
    assert as_alice.get(url("figures", project.entity_ontology.pk)).json()["columns"] == {"marks": counted}
    mine = as_alice.get(url("usage", blueprint.pk, label.uid)).text
    theirs = as_bob.get(url("usage", blueprint.pk, label.uid)).text
    assert "Secret" in mine and "1 mark" in mine
    assert "Secret" not in theirs and "1 mark in other projects" in theirs.replace("\u202f", " ")


def test_the_figures_need_the_same_queries_for_any_size(as_alice, alice, ontology, large):
    counts = []
    for tree in (ontology, large):
        as_alice.get(url("figures", tree.pk))
        tree.items()[0].rename("New", by=alice)
        counts.append(len(queries_of(as_alice.get, url("figures", tree.pk))))
    assert counts[0] == counts[1]


def test_checks_name_their_items(as_alice, alice):
    ontology = factories.ontology(owner=alice, items=[{"name": "Pump"}, {"name": "pump"}])
    page = as_alice.get(url("checks", ontology.pk)).text
    assert "differ only in case" in page
    assert all(f'data-go="{item.uid}"' in page for item in ontology.items())
    assert as_alice.get(url("figures", ontology.pk)).json()["checks"] >= 1
    fresh = factories.ontology(owner=alice, items=[{"name": "Pump", "children": [{"name": "Piston"}]}])
    assert as_alice.get(url("figures", fresh.pk)).json()["checks"] == 0
    page = as_alice.get(url("checks", fresh.pk)).text
    assert page.index("Nothing wrong") < page.index("Hints: ") < page.index("has a single item below")
    empty = factories.ontology(owner=alice, items=[])
    assert "Nothing found" in as_alice.get(url("checks", empty.pk)).text


# --- Moving --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def moving(settings):
    settings.ONTOLOGY_MOVE_ITEMS = True


def test_moving_is_off_by_default_and_says_so(as_alice, ontology, item):
    page = as_alice.get(f"{url('page', ontology.pk)}?item={item.uid}").text
    assert "data-movable" not in page and "Move to" not in page
    answer = as_alice.post(url("move", ontology.pk, item.uid), {"to": ""})
    assert answer.status_code == 422 and "switched off" in events(answer)["toast"]["text"]
    assert item.again().level == 2


def test_an_item_is_moved_below_or_beside_another_one_and_moved_back(as_alice, moving, ontology, item):
    state, activity = (ontology.items().get(name=name) for name in ("State", "Activity"))
    answer = as_alice.post(url("move", ontology.pk, item.uid), {"to": state.uid})
    assert events(answer)["ontologyChanged"]["uid"] == item.uid
    assert events(answer)["toast"]["text"] == "“SensingObject” was moved below “State”."
    assert item.again().parent == state
    as_alice.post(url("undo", ontology.pk))
    assert item.again().parent.name == "PhysicalObject"
    as_alice.post(url("move", ontology.pk, item.uid), {"to": "", "before": activity.uid})
    tops = [i.name for i in ontology.items() if i.level == 1]
    assert tops == ["PhysicalObject", "SensingObject", "Activity", "State"]


def test_impossible_moves_are_refused_in_words(as_alice, moving, ontology, item):
    below = item.children.all()[0]
    for fields in ({"to": below.uid}, {"to": "ffffffff"}, {"to": "", "after": below.uid}):
        answer = as_alice.post(url("move", ontology.pk, item.uid), fields)
        assert answer.status_code == 422 and events(answer)["toast"]["text"]


def test_places_are_found_by_name_without_the_own_branch(as_alice, moving, ontology, item):
    page = as_alice.get(url("move", ontology.pk, item.uid)).text
    assert "To the top level" in page and "DrivingObject" in page and "Thermostat" not in page
    found = as_alice.post(url("move", ontology.pk, item.uid), {"q": "DRIV"}).text
    assert "DrivingObject" in found and "Activity" not in found


def names_of(ontology):
    return [f"{label.level} {label.name}" for label in ontology.items()]


def test_all_that_are_selected_are_moved_in_one_step(as_alice, moving, ontology):
    labels = {label.name: label for label in ontology.items()}
    before = names_of(ontology)

    def send(*selected, **place):
        uids = [labels[name].uid for name in selected]
        return as_alice.post(url("move", ontology.pk, uids[0]), {"uids": ",".join(uids)} | place)

    asked = send("SensingObject", "Thermostat", "State")
    assert "Move 3 labels" in asked.text and "Activity" in asked.text and "Thermostat" not in asked.text
    answer = send("State", "Thermostat", "SensingObject", to=labels["Activity"].uid)
    assert events(answer)["toast"]["text"] == "2 labels were moved below “Activity”."
    after = [
        "1 PhysicalObject",
        "2 DrivingObject",
        "1 Activity",
        "2 Replace",
        "2 SensingObject",
        "3 Thermostat",
        "2 State",
    ]
    assert names_of(ontology) == after
    change = ontology.changes.first()
    assert change.items.keys() == {labels["SensingObject"].uid, labels["State"].uid}
    as_alice.post(url("undo", ontology.pk))
    assert names_of(ontology) == before
    as_alice.post(url("redo", ontology.pk))
    assert names_of(ontology) == after


def test_moving_several_is_refused_as_a_whole(as_alice, moving, ontology, alice):
    ontology.add_item("Replace", by=alice)
    labels = {label.fullname: label for label in ontology.labels()}
    ontology.refresh_from_db()
    before, version = names_of(ontology), ontology.version
    for selected, to, reason in [
        (["State", "Replace"], "Activity", "already an item “Replace”"),  # it is there
        (["Replace", "Activity/Replace"], "State", "already an item “Replace”"),  # both would come
        (["State", "PhysicalObject"], "PhysicalObject/DrivingObject", "“PhysicalObject” cannot be moved into its own"),
    ]:
        uids = ",".join(labels[name].uid for name in selected)
        answer = as_alice.post(url("move", ontology.pk, uids[:8]), {"uids": uids, "to": labels[to].uid})
        assert answer.status_code == 422 and reason in events(answer)["toast"]["text"]
    gone = as_alice.post(url("move", ontology.pk, uids[:8]), {"uids": f"{uids},ffffffff", "to": ""})
    assert gone.status_code == 422 and "not there any more" in events(gone)["toast"]["text"]
    ontology.refresh_from_db()
    assert (names_of(ontology), ontology.version) == (before, version)


def test_a_move_says_where_to_and_never_from_the_top_level_to_the_top_level(as_alice, moving, ontology):
    labels = {label.name: label for label in ontology.items()}
    state, activity, objects = (labels[name] for name in ("State", "Activity", "PhysicalObject"))
    said = [
        events(as_alice.post(url("move", ontology.pk, moved.uid), place))["toast"]["text"]
        for moved, place in [
            (state, {"to": "", "before": activity.uid}),
            (state, {"to": "", "after": activity.uid}),
            (objects, {"to": ""}),
            (labels["SensingObject"], {"to": objects.uid}),
            (labels["DrivingObject"], {"to": ""}),
        ]
    ]
    assert said == [
        "“State” was moved before “Activity”.",
        "“State” was moved after “Activity”.",
        "“PhysicalObject” was moved to the end of the top level.",
        "“SensingObject” was moved to the end below “PhysicalObject”.",
        "“DrivingObject” was moved to the top level.",
    ]
    history = as_alice.get(url("history", ontology.pk)).text
    assert "from place 1 to place 3" in history
    steps = "".join(as_alice.get(url("step", ontology.pk, change.version)).text for change in ontology.changes.all())
    for page in (history, steps):
        assert not re.search(r"\(top level\)\W*(</?[a-z ]+[^>]*>|\s|→)*\(top level\)", page)


# --- What is gone meanwhile ---


GONE = [
    ("rename", {"name": "New"}),
    ("describe", {"description": "New"}),
    ("example_terms", {"add": "new"}),
    ("recolor", {"color": "#112233"}),
    ("recolor", {"color": "#112233", "branch": "on"}),
    ("switch", {"active": "0"}),
    ("move", {"to": ""}),
    ("add_child", {"name": "New"}),
    ("paste_below", {"text": "New"}),
]


@pytest.mark.parametrize(("name", "data"), GONE)
def test_an_item_whose_addition_is_undone_meanwhile(as_alice, alice, ontology, monkeypatch, settings, name, data):
    """Between the moment in which the request found it and the one in which it got the lock."""
    settings.ONTOLOGY_MOVE_ITEMS = True
    parent = ontology.add_item("Here for a moment", by=alice)
    locked = Ontology.locked

    def undo_first(self):
        monkeypatch.setattr(Ontology, "locked", locked)
        Ontology.objects.get(pk=self.pk).undo(by=alice)
        return self.locked()

    monkeypatch.setattr(Ontology, "locked", undo_first)
    answer = as_alice.post(url(name, ontology.pk, parent.uid), data, headers={"HX-Request": "true"})
    assert answer.status_code == 422
    assert "not there any more" in answer.text + answer.get("HX-Trigger", "")
