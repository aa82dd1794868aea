"""The pages and fragments: what they show, whom they let in, how many queries they need."""

import re
import unicodedata

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from datasets.models import Annotation
from ontologies.editor.tree_rows import SENT_WHOLE
from ontologies.models import Ontology
from tests import factories
from tests.answers import events
from tests.queries import queries_of


def url(name, *args):
    return reverse(f"ontologies:{name}", args=args)


def uids_in(answer):
    return re.findall(r'id="i-([0-9a-f]{8})"', answer.text)


# --- List --------------------------------------------------------------------------------------------------------------


def test_the_list_shows_all_blueprints_and_says_which_are_mine(as_alice, bob, alice):
    page = as_alice.get(url("list")).text
    assert "No ontologies yet" in page and url("create") in page
    factories.ontology(owner=bob, kind="relation", name="Bob's")
    project = factories.project(by=alice, relations=False)
    answer = as_alice.get(url("list"))
    assert "entity labels" in answer.text and "Bob&#x27;s" in answer.text
    assert answer.text.count("<b>you</b>") == 1
    assert project.entity_ontology.pk not in [o.pk for o in answer.context["page"].object_list]
    assert answer.context["page"].paginator.count == 2


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("q=maint", {"Maintenance"}),
        ("q=MAINT", {"Maintenance"}),
        ("q=ÄRZTE", {"Ärzte"}),
        ("q=bob", {"Relations", "Ärzte"}),
        ("q=for pumps", {"Relations"}),
        ("q=100%", set()),
        ("q=_", set()),
        ("kind=relation", {"Relations"}),
        ("mine=on", {"Maintenance"}),
        ("mine=on&kind=relation", set()),
        ("kind=nonsense", {"Maintenance", "Relations", "Ärzte"}),
        ("page=999", {"Maintenance", "Relations", "Ärzte"}),
        ("page=x&sort=nonsense", {"Maintenance", "Relations", "Ärzte"}),
    ],
)
def test_the_list_is_narrowed_down(as_alice, bob, ontology, query, found):
    factories.ontology(owner=bob, kind="relation", name="Relations").edit(name="Relations", description="For pumps")
    factories.ontology(owner=bob, name="Ärzte")
    answer = as_alice.get(f"{url('list')}?{query}")
    assert {o.name for o in answer.context["page"].object_list} == found
    if not found:
        assert "No ontology matches" in answer.text


@pytest.mark.parametrize(
    ("sort", "names"),
    [("name", ["a", "B", "c"]), ("-name", ["c", "B", "a"]), ("-size", ["B", "c", "a"]), ("created", ["c", "a", "B"])],
)
def test_the_list_is_sorted(as_alice, alice, sort, names):
    for name, count in (("c", 2), ("a", 1), ("B", 3)):
        factories.ontology(owner=alice, name=name, items=[{"name": str(i)} for i in range(count)])
    answer = as_alice.get(f"{url('list')}?sort={sort}")
    assert [o.name for o in answer.context["page"].object_list] == names


def test_the_list_has_pages_of_25(as_alice, alice):
    for i in range(30):
        factories.ontology(owner=alice, name=f"n{i}", items=[])
    first, second = as_alice.get(url("list")), as_alice.get(f"{url('list')}?page=2")
    names = [o.name for answer in (first, second) for o in answer.context["page"].object_list]
    assert len(first.context["page"].object_list) == 25 and len(set(names)) == 30


def test_the_list_needs_the_same_queries_for_any_number(as_alice, alice, bob):
    def queries(path):
        return len(queries_of(as_alice.get, path))

    factories.ontology(owner=alice)
    few = [queries(url("list")), queries(f"{url('list')}?q=labels")]
    for i in range(12):
        factories.ontology(owner=(alice, bob)[i % 2])
    assert [queries(url("list")), queries(f"{url('list')}?q=labels")] == few


# --- Creating ----------------------------------------------------------------------------------------------------------


def create(client, **fields):
    return client.post(url("create"), {"name": "New", "kind": "entity", "source": "empty"} | fields)


def test_an_empty_ontology_is_created(as_alice, alice):
    answer = create(as_alice, description=" For pumps. ")
    ontology = Ontology.objects.get()
    assert answer.status_code == 302 and answer["Location"] == url("page", ontology.pk)
    assert (ontology.owner, ontology.name, ontology.description) == (alice, "New", "For pumps.")
    assert "No items yet" in as_alice.get(answer["Location"]).text


@pytest.mark.parametrize("kind", ["entity", "relation"])
def test_the_small_example_is_of_the_chosen_kind(as_alice, kind):
    create(as_alice, kind=kind, source="example")
    assert Ontology.objects.get(kind=kind).row_count == {"entity": 5, "relation": 4}[kind]


def test_pasted_json_becomes_an_ontology(as_alice):
    create(as_alice, source="paste", text='\r\n[{"name": "A"}]\r\n')
    assert Ontology.objects.get().items().get().name == "A"


def test_example_terms_that_are_left_out_are_told(as_alice):
    answer = create(as_alice, source="paste", text='[{"name": "A", "example_terms": ["x", "x", "y"]}]')
    told = "with 1 item. 1 example term is left out: repeated at the same label, or empty."
    assert told in as_alice.get(answer["Location"]).text
    pasted = {"text": '[{"name": "B", "example_terms": ["x", "x "]}]'}
    answer = as_alice.post(url("paste", Ontology.objects.get().pk), pasted)
    assert "1 item was added. 1 example term is left out" in answer["HX-Trigger"]


def test_what_was_typed_is_kept_when_it_is_refused(as_alice):
    answer = create(as_alice, source="paste", text='[{"nome": "<b>"}]', description="My words")
    page = answer.text
    assert answer.status_code == 422
    for kept in ('value="New"', "My words", "[{&quot;nome&quot;: &quot;&lt;b&gt;&quot;}]", "“nome” is not known"):
        assert kept in page


def test_the_text_of_a_refused_file_is_put_where_it_can_be_mended(as_alice):
    answer = create(as_alice, source="file", file=SimpleUploadedFile("x.json", b'[{"name": "A/B"}]'))
    page = answer.text
    assert "[{&quot;name&quot;: &quot;A/B&quot;}]</textarea>" in page and answer.context["source"] == "paste"
    assert "Choose a file." in create(as_alice, source="file").text


@pytest.mark.parametrize(
    "fields", [{"name": ""}, {"name": "a\x07b"}, {"kind": "thing"}, {"source": "thing"}, {"description": "x" * 10_001}]
)
def test_other_mistakes_in_the_form_are_named(as_alice, fields):
    answer = create(as_alice, **fields)
    assert answer.status_code == 422 and 'class="errors"' in answer.text
    assert not Ontology.objects.exists()


# --- The page ----------------------------------------------------------------------------------------------------------


def test_a_small_tree_comes_whole(as_alice, ontology):
    answer = as_alice.get(url("page", ontology.pk))
    assert uids_in(answer) == [i.uid for i in ontology.items()]
    page = answer.text
    assert (
        page.count("<ul") - page.count("</ul>") == 0
        and page.count('<li role="treeitem"') == page.count("</li>") - 1 == 7
    )  # and that of a new item
    assert "7 items · depth 3 · yours" in page


def test_names_are_escaped(as_alice, alice):
    ontology = factories.ontology(owner=alice, name="<i>x", items=[{"name": '<script>"'}])
    page = as_alice.get(url("page", ontology.pk)).text
    assert "<i>x" not in page and "&lt;script&gt;&quot;" in page


def test_a_tree_of_two_hundred_levels_is_shown(as_alice, alice):
    document = []
    for level in range(200):
        document = [{"name": str(level), "children": document}]
    answer = as_alice.get(url("page", factories.ontology(owner=alice, items=document).pk))
    assert len(uids_in(answer)) == 200


def test_of_a_large_tree_only_open_branches_come(as_alice, large):
    assert large.row_count > SENT_WHOLE
    assert uids_in(as_alice.get(url("page", large.pk))) == [i.uid for i in large.items().filter(level=1)]
    first = large.items()[0]
    below = as_alice.get(url("children", large.pk, first.uid))
    assert uids_in(below) == [i.uid for i in first.children.all()]


def test_a_large_tree_can_be_opened_in_one_request(as_alice, large):
    answer = as_alice.get(f"{url('items', large.pk)}?levels=1000")
    assert uids_in(answer) == [i.uid for i in large.items()]
    page = answer.text
    assert page.count("<li ") == page.count("</li>") == 610 and page.count("<ul") == page.count("</ul>") == 11


@pytest.mark.parametrize("levels", ["", "x", "-1", "99999999999"])
def test_nonsense_levels_are_no_error(as_alice, large, levels):
    assert as_alice.get(f"{url('items', large.pk)}?levels={levels}").status_code == 200


def test_an_address_can_name_an_item(as_alice, large):
    item = large.items()[200]
    answer = as_alice.get(f"{url('page', large.pk)}?item={item.uid}")
    assert item.uid in uids_in(answer) and f'id="details-{item.uid}"' in answer.text
    assert len(uids_in(answer)) == 70


def test_the_page_needs_the_same_queries_for_any_size(as_alice, ontology, large):
    counts = []
    for thing in (ontology, large):
        item = thing.items()[1]
        for path in (url("page", thing.pk), url("item", thing.pk, item.uid), url("children", thing.pk, item.uid)):
            counts.append(len(queries_of(as_alice.get, path)))
    assert counts[:3] == counts[3:] and max(counts) <= 10


def test_a_copy_of_a_project_leads_to_its_project(as_alice, alice):
    project = factories.project(by=alice)
    page = as_alice.get(url("page", project.entity_ontology.pk)).text
    assert "Project: Pumps" in page and "Use in a project" not in page


def test_downloads_are_files_named_after_the_ontology(as_bob, ontology):
    rich, text = as_bob.get(url("download_json", ontology.pk)), as_bob.get(url("download_text", ontology.pk))
    assert rich["Content-Disposition"] == 'attachment; filename="maintenance.json"'
    assert rich.json()[0]["name"] == "PhysicalObject"
    assert text.text.splitlines()[:3] == ["PhysicalObject", "  SensingObject", "    Thermostat"]


@pytest.mark.parametrize("name", ["車", 'a"b\r\nX: y', "../../etc"])
def test_odd_names_make_safe_file_names(as_alice, alice, name):
    ontology = factories.ontology(owner=alice)
    Ontology.objects.filter(pk=ontology.pk).update(name=name)
    header = as_alice.get(url("download_json", ontology.pk))["Content-Disposition"]
    assert re.fullmatch(r'attachment; filename="[a-z0-9-]+\.json"', header)


# --- Editing -----------------------------------------------------------------------------------------------------------


def post(client, verb, item, /, **fields):
    return client.post(url(verb, item.ontology_id, item.uid), fields, headers={"HX-Request": "true"})


def test_rename_answers_with_the_row(as_alice, item):
    answer = post(as_alice, "rename", item, name="Sensor", was="SensingObject")
    page = answer.text
    assert answer.status_code == 200 and item.again().name == "Sensor"
    assert page.startswith(f'<div class="row" id="row-{item.uid}">') and "Thermostat" not in page
    assert f'<div id="details-{item.uid}" data-uid="{item.uid}">' in page.partition("<div data-updates>")[2]


@pytest.mark.parametrize(("name", "words"), [("DrivingObject", "already an item"), ("a/b", "cannot contain"), ("", "")])
def test_a_refused_rename_keeps_what_was_typed(as_alice, item, name, words):
    answer = post(as_alice, "rename", item, name=name, was="SensingObject")
    page = answer.text
    assert answer.status_code == 422 and words in page and f'name="name" value="{name}"' in page
    assert 'name="was" value="SensingObject"' in page and item.again().name == "SensingObject"


def test_a_conflict_shows_both_values_and_mine_can_win(as_alice, bob, item):
    item.rename("Theirs", by=bob)
    answer = post(as_alice, "rename", item, name="Mine", was="SensingObject")
    page = answer.text
    assert answer.status_code == 409 and "Theirs" in page and 'value="Mine"' in page
    assert 'name="was" value="Theirs"' in page and "Keep theirs" in page
    post(as_alice, "rename", item, name="Mine", was="Theirs")
    assert item.again().name == "Mine"


@pytest.mark.parametrize(
    ("name", "change", "fields", "theirs"),
    [
        ("describe", lambda i, by: i.describe("their words", by=by), {"description": "mine", "was": ""}, "their words"),
        ("recolor", lambda i, by: i.recolor("#010203", by=by), {"color": "#040506", "was": "#000000"}, "#010203"),
    ],
)
def test_every_field_answers_a_conflict_with_both_values(as_alice, bob, item, name, change, fields, theirs):
    change(item, bob)
    answer = post(as_alice, name, item, **fields)
    page = answer.text
    mine = next(iter(fields.values()))
    assert answer.status_code == 409 and theirs in page and mine in page and "Keep theirs" in page


def test_a_description_with_line_ends_does_not_conflict_with_itself(as_alice, item):
    post(as_alice, "describe", item, description="one\r\ntwo", was="")
    assert item.again().description == "one\ntwo"
    answer = post(as_alice, "describe", item, description="three", was="one\r\ntwo")
    assert answer.status_code == 200 and item.again().description == "three"


def test_a_text_is_counted_as_it_is_stored(as_alice, item, settings):
    """A browser sends two characters for each line end that it counted as one, and “é” may come in two."""
    description = "é\n" * (settings.MAX_DESCRIPTION_CHARACTERS // 2 - 1) + "é"
    sent = unicodedata.normalize("NFD", description).replace("\n", "\r\n")
    assert post(as_alice, "describe", item, description=sent, was="").status_code == 200
    assert item.again().description == description
    name = "é" * settings.MAX_NAME_CHARACTERS
    sent = unicodedata.normalize("NFD", name)
    assert post(as_alice, "rename", item, name=sent, was=item.name).status_code == 200
    assert item.again().name == name


def test_example_terms_come_and_go_one_by_one(as_alice, item):
    post(as_alice, "example_terms", item, was="[]", add="a, b\nc")
    assert item.again().example_terms == ["a", "b", "c"]
    post(as_alice, "example_terms", item, was='["a", "b", "c"]', drop="b")
    assert item.again().example_terms == ["a", "c"]
    item.set_example_terms(["a\nb", "c"], by=as_alice.user)
    post(as_alice, "example_terms", item, was=r'["a\nb", "c"]', drop="a\r\nb")  # as a browser names it
    assert item.again().example_terms == ["c"]


def test_a_term_goes_although_somebody_added_another_meanwhile(as_alice, bob, item):
    item.set_example_terms(["a", "x & y"], by=as_alice.user)
    item.again().set_example_terms(["a", "x & y", "theirs"], by=bob)
    answer = post(as_alice, "example_terms", item, was='["a", "x & y"]', drop="x & y")
    assert answer.status_code == 409 and "changed-meanwhile" in answer.text  # the page sends it again, with their terms
    post(as_alice, "example_terms", item, was='["a", "x & y", "theirs"]', drop="x & y")
    assert item.again().example_terms == ["a", "theirs"]


@pytest.mark.parametrize("was", ["{", "7", "[1]", "[" * 5000, "null"])
def test_odd_example_terms_are_refused(as_alice, item, was):
    assert post(as_alice, "example_terms", item, was=was, add="a").status_code == 422


def test_relation_items_refuse_example_terms_in_words(as_alice, alice):
    item = factories.ontology(owner=alice, kind="relation").items()[0]
    answer = post(as_alice, "example_terms", item, was="[]", add="a")
    assert answer.status_code == 422 and "no example terms" in answer.text


def test_recolouring_a_branch_has_the_tree_fetched_again(as_alice, ontology):
    top = ontology.items()[0]
    answer = post(as_alice, "recolor", top, color="#3366CC", was=top.color, branch="on")
    assert "ontologyChanged" in answer["HX-Trigger"] and "4 items" in answer["HX-Trigger"]
    tree = as_alice.post(url("tree", ontology.pk), {"open": top.uid})
    assert all(f'--c:{i.color}"' in tree.text for i in top.again().branch())
    alone = post(as_alice, "recolor", top, color="#4477DD", was="#3366CC")
    assert "HX-Trigger" not in alone and f'id="row-{top.uid}"' in alone.text


@pytest.mark.parametrize("color", ["red", "#12345", "#000000;background:url(//x)", ""])
def test_other_colours_are_refused(as_alice, item, color):
    answer = post(as_alice, "recolor", item, color=color, was=item.color)
    assert answer.status_code == 422 and item.again().color == item.color


def dialog(as_alice, item):
    page = as_alice.get(url("switch", item.ontology_id, item.uid)).text
    return " ".join(page.replace("\u202f", " ").split())


def chosen_reach(page):
    """The values of the choices in the dialog, and the one that is checked."""
    return re.findall(r'name="reach" value="(\w+)"', page), re.findall(r'value="(together|branch|item)" checked', page)


def test_switching_off_asks_with_the_number_of_items_that_go(as_alice, alice):
    ontology = factories.project(by=alice).entity_ontology
    top, leaf = ontology.items()[0], ontology.items().get(name="Thermostat")
    annotation = Annotation.start(ontology.project.dataset.item_set.first(), alice)
    annotation.add_entity(uid="aaaaaaaa", label=leaf, start=0, end=0)
    question = dialog(as_alice, top)
    assert "4 items go off" in question and "the 1 mark with it or labels below it" in question
    assert chosen_reach(question) == ([], []) and "off already" not in question
    post(as_alice, "switch", leaf, active="0")
    question = dialog(as_alice, top)
    assert "3 items go off" in question and "1 item was off already: “Thermostat”." in question
    assert post(as_alice, "switch", top, active="0", reach="item").status_code == 422
    answer = post(as_alice, "switch", top, active="0")
    assert ontology.facts().off == 4
    assert events(answer)["toast"]["text"] == (
        "“PhysicalObject” was switched off, with 2 others. 1 item was off already: “Thermostat”."
    )


def test_switching_on_offers_what_went_off_with_it(as_alice, ontology):
    top, leaf = ontology.items()[0], ontology.items().get(name="Thermostat")
    post(as_alice, "switch", leaf, active="0")
    post(as_alice, "switch", top, active="0")
    question = dialog(as_alice, top)
    assert chosen_reach(question) == (["together", "branch", "item"], ["together"])
    assert "With the 2 items that went off with it" in question and "With all 3 items that are off below" in question
    assert "1 item stays off that was retired on its own: “Thermostat”." in question
    assert "3 items below stay off" in question and 'name="up"' not in question
    assert post(as_alice, "switch", top, active="1", reach="everything").status_code == 422
    assert ontology.facts().off == 4
    post(as_alice, "switch", top, active="1")
    assert ontology.facts().off == 1
    history = as_alice.get(url("history", ontology.pk)).text
    assert "1 item stays off that was retired on its own: “Thermostat”." in history
    post(as_alice, "switch", top, active="0")
    post(as_alice, "switch", top, active="1", reach="item")
    post(as_alice, "switch", top, active="0")
    assert chosen_reach(dialog(as_alice, top)) == (["branch", "item"], ["item"])


def test_the_way_up_is_offered_in_the_dialog_and_where_switching_on_is_refused(as_alice, ontology, alice):
    leaf = ontology.items().get(name="Thermostat")
    ontology.items()[0].switch(False, by=alice)
    for page in (dialog(as_alice, leaf), (refused := post(as_alice, "switch", leaf, active="1")).text):
        assert "Switch on 2 above it, too: “PhysicalObject” and “SensingObject”" in page
    assert refused.status_code == 422 and "above are off: switch on 2 above it, too" in refused.text
    several = {"uids": leaf.uid, "active": "1"}
    refused = as_alice.post(url("switch_items", ontology.pk), several)
    assert refused.status_code == 422 and "switch on 2 above it, too" in refused.text
    assert ontology.facts().off == 4
    post(as_alice, "switch", leaf, active="1", up="on")
    assert [i.name for i in ontology.items() if not i.active] == ["DrivingObject"]


def test_switching_says_the_wanted_state(as_alice, item):
    for _ in range(2):
        assert post(as_alice, "switch", item, active="0").status_code == 200
    assert not item.again().active
    assert post(as_alice, "switch", item, active="flip").status_code == 422


def test_a_name_that_is_sent_again_is_added_once(as_alice, as_sam, ontology, item):
    for _ in range(2):
        answer = post(as_alice, "add_child", item, name="Gauge", uid="0123abcd")
        assert answer.status_code == 200 and 'id="row-0123abcd"' in answer.text
    assert ontology.items().filter(name="Gauge").count() == 1 == ontology.changes.filter(verb="add").count()
    post(as_alice, "add_child", item, name="Meter", uid=item.uid)  # which is taken, by chance
    assert ontology.items().get(name="Meter").uid != item.uid
    assert post(as_alice, "add_child", item, name="Lever", uid="nothing").status_code == 422
    assert post(as_sam, "add_child", item, name="Gauge", uid="0123abcd").status_code == 422


def test_adding_answers_with_the_item_and_leads_to_it(as_alice, ontology, item):
    answer = post(as_alice, "add_child", item, name="Gauge")
    new = ontology.items().get(name="Gauge")
    page = answer.text
    assert page.startswith('<div class="row"') and f'id="row-{new.uid}"' in page.partition("<div data-updates>")[0]
    assert new.uid in answer["HX-Trigger-After-Swap"]
    updates = page.partition("<div data-updates>")[2]
    assert f'id="row-{item.uid}"' in updates and f'id="row-{item.parent.uid}"' in updates and "8 items" in updates


def test_branches_that_were_open_stay_open(as_alice, large):
    first, second = large.items().filter(level=1)[:2]
    answer = as_alice.post(url("tree", large.pk), {"open": f"{first.uid},{second.uid}"})
    assert len(uids_in(answer)) == 10 + 120
    assert 'id="facts"' in answer.text and 'id="undo"' in answer.text
    assert answer.text.count('aria-expanded="true"') == 2


def test_a_refused_new_item_keeps_what_was_typed(as_alice, item):
    answer = post(as_alice, "add_child", item, name="Thermostat")
    page = answer.text
    assert answer.status_code == 422 and 'value="Thermostat"' in page and "already an item" in page


def test_an_unknown_item_is_not_found(as_alice, alice, ontology):
    other = factories.ontology(owner=alice).items()[0]
    for uid in ("ffffffff", "x", other.uid, ontology.root.uid):
        for name in ("row", "children"):
            assert as_alice.get(url(name, ontology.pk, uid)).status_code == 404
        assert as_alice.get(url("item", ontology.pk, uid)).status_code == 204  # as one that was undone meanwhile
        assert as_alice.get(url("item", ontology.pk, uid), headers={"HX-Request": "false"}).status_code == 404
        for name in ("add_child", "rename", "describe", "example_terms", "recolor"):
            assert as_alice.post(url(name, ontology.pk, uid), FIELDS).status_code == 404


# --- Rights ------------------------------------------------------------------------------------------------------------

FIELDS = {
    "name": "Hacked",
    "was": "SensingObject",
    "description": "Hacked",
    "add": "hacked",
    "color": "#000000",
    "active": "0",
}


def test_another_manager_is_offered_no_changes_and_may_duplicate(as_bob, bob, ontology, item):
    page = as_bob.get(f"{url('page', ontology.pk)}?item={item.uid}").text
    for control in ("data-editable", "data-add", "hx-post", "Rename", url("delete", ontology.pk)):
        assert control not in page
    assert as_bob.post(url("duplicate", ontology.pk), {"name": "Mine"}).status_code == 200
    assert Ontology.objects.get(name="Mine").owner == bob


def test_the_list_tells_in_how_many_projects_a_blueprint_is(as_alice, alice):
    used = factories.ontology(owner=alice, name="Used")
    factories.ontology(owner=alice, name="Unused")
    used.copy_to(by=alice, name="Duplicate")  # is no project
    factories.project(by=alice)
    Ontology.objects.filter(project__isnull=False, kind="entity").update(copied_from=used)
    found = {each.name: each.uses for each in as_alice.get("/ontologies/?sort=-state").context["page"].object_list}
    assert found["Used"] == 1 and found["Unused"] == 0
    assert "in 1 project" in as_alice.get("/ontologies/").text
