"""The labels of a file that the ontology does not have: what becomes of them, and ontologies that are made of them."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from datasets.label_table import rows_of
from datasets.models import Dataset, Entity, Relation, Upload
from ontologies.models import Ontology
from tests import factories
from tests.answers import html
from tests.datasets.test_import_command import run

FORM = {"format": "", "tokeniser": "punkt", "name": "Found"}
CONLL = "EU\tB-ORG\nrejects\tO\nGerman\tB-MISC\n\nPeter\tB-PER\nBlackburn\tI-PER\n\nBonn\tB-ORG\nand\tO\n\n"
RELATED = [
    {
        "id": 1,
        "text": "Anna lives in Paris",
        "entities": [
            {"id": 1, "start_offset": 0, "end_offset": 4, "label": "person"},
            {"id": 2, "start_offset": 14, "end_offset": 19, "label": "place"},
        ],
        "relations": [{"id": 1, "from_id": 1, "to_id": 2, "type": "lives in"}],
        "Comments": [],
    }
]
PEOPLE = [{"name": "Agent", "children": [{"name": "Person"}, {"name": "Organisation"}]}, {"name": "Misc"}]


@pytest.fixture
def labels(alice):
    return factories.ontology(owner=alice, name="People", items=PEOPLE)


def post(client, text, name, kind="preannotated_entity", **values):
    file = SimpleUploadedFile(name, text.encode())
    response = client.post("/datasets/new/", {**FORM, "kind": kind, "file": file, **values})
    return response if response.status_code != 302 else Upload.objects.latest("pk")


def post_conll(client, labels):
    return post(client, CONLL, "eng.conll", entity_ontology=labels.pk)


def post_table(client, upload, rows, kind="entity"):
    theirs, action, ours = zip(*rows, strict=True)
    data = {"theirs": theirs, "action": action, "ours": ours}
    return client.post(f"{upload.get_absolute_url()}labels/{kind}/", data)


def store(client, upload):
    client.post(f"{upload.get_absolute_url()}store/")
    upload.refresh_from_db()
    return upload


def marked():
    return sorted(
        (entity.label.fullname, entity.start, entity.end) for entity in Entity.objects.select_related("label")
    )


ALL = [("ORG", "becomes", "Agent/Organisation"), ("PER", "becomes", "Person"), ("MISC", "becomes", "Misc")]


def test_the_page_asks_about_each_label_that_the_ontology_lacks_the_most_frequent_first(as_alice, labels):
    upload = post_conll(as_alice, labels)
    assert upload.state == "refused"
    page = html(as_alice.get(upload.get_absolute_url()))
    places = [page.index(f'name="theirs" value="{name}"') for name in ("ORG", "MISC", "PER")]
    assert places == sorted(places)
    assert "is our label" in page and "is left out" in page and "is added as a new label" in page


def test_labels_become_others(as_alice, labels):
    upload = post_conll(as_alice, labels)
    assert post_table(as_alice, upload, ALL).status_code == 302
    upload.refresh_from_db()
    assert upload.state == "checked"
    store(as_alice, upload)
    assert marked() == [("Agent/Organisation", 0, 0)] * 2 + [("Agent/Person", 0, 1), ("Misc", 2, 2)]


def test_marks_of_labels_that_are_left_out_are_counted(as_alice, labels):
    upload = post_conll(as_alice, labels)
    post_table(as_alice, upload, [("ORG", "skip", ""), *ALL[1:]])
    upload.refresh_from_db()
    page = html(as_alice.get(upload.get_absolute_url()))
    assert (upload.state, upload.found.left_out, upload.found.entities) == ("checked", 2, 2)
    assert "without 2 marks" in page and "Everything is in order" not in page
    store(as_alice, upload)
    assert marked() == [("Agent/Person", 0, 1), ("Misc", 2, 2)]


def test_new_labels_are_added_to_the_ontology(as_alice, labels):
    upload = post_conll(as_alice, labels)
    post_table(as_alice, upload, [("ORG", "add", ""), *ALL[1:]])
    labels.refresh_from_db()
    assert "ORG" in labels.labels().by_fullname
    store(as_alice, upload)
    assert marked() == [("Agent/Person", 0, 1), ("Misc", 2, 2), ("ORG", 0, 0), ("ORG", 0, 0)]


def test_who_may_not_change_the_ontology_adds_no_labels(as_bob, labels):
    upload = post_conll(as_bob, labels)
    before = labels.labels().by_fullname.keys()
    assert post_table(as_bob, upload, [("ORG", "add", ""), *ALL[1:]]).status_code == 403
    upload.refresh_from_db()
    assert Ontology.objects.get(pk=labels.pk).labels().by_fullname.keys() == before
    assert (upload.state, upload.options["labels"]) == ("refused", {})
    post_table(as_bob, upload, ALL)  # but says what they are
    upload.refresh_from_db()
    assert upload.state == "checked"


def test_others_decide_nothing(as_alice, as_bob, as_carol, labels):
    upload = post_conll(as_alice, labels)
    assert [post_table(each, upload, ALL).status_code for each in (as_bob, as_carol)] == [404, 404]
    upload.refresh_from_db()
    assert upload.options["labels"] == {}


@pytest.mark.parametrize(
    ("ours", "said"),
    [
        ("Persn", "“Persn” is not a label of “People”. The nearest is “Agent/Person”."),
        ("Agent/Nobody", "“Agent/Nobody” is not a label of “People”."),
    ],
)
def test_a_label_that_the_ontology_does_not_have_is_refused_with_a_sentence(as_alice, labels, ours, said):
    upload = post_conll(as_alice, labels)
    response = post_table(as_alice, upload, [("PER", "becomes", ours), ALL[0], ALL[2]])
    assert said in html(as_alice.get(response["Location"]))
    upload.refresh_from_db()
    assert (upload.state, upload.options["labels"]) == ("refused", {})


def test_an_added_label_that_no_label_may_be_called_is_refused_and_nothing_added(as_alice, labels):
    upload = post_conll(as_alice, labels)
    before = labels.labels().by_fullname.keys()
    response = post_table(as_alice, upload, [("a//b", "add", ""), ("NEW", "add", "")])
    assert "message error" in html(as_alice.get(response["Location"]))
    assert Ontology.objects.get(pk=labels.pk).labels().by_fullname.keys() == before


def test_rows_that_say_nothing_stay_undecided(as_alice, labels):
    upload = post_conll(as_alice, labels)
    post_table(as_alice, upload, [("ORG", "becomes", " "), *ALL[1:]])
    upload.refresh_from_db()
    assert upload.state == "refused"
    assert upload.options["labels"] == {"entity": {"PER": "Agent/Person", "MISC": "Misc"}}
    assert upload.found.unusable_labels["entity"] == {"ORG": 2}


def test_what_was_decided_is_kept_for_the_next_file_and_can_be_changed(as_alice, labels):
    upload = post_conll(as_alice, labels)
    post_table(as_alice, upload, [("MISC", "skip", ""), *ALL[:2]])
    dataset = store(as_alice, upload).dataset
    more = SimpleUploadedFile("more.conll", b"Nato\tB-ORG\nis\tO\nDutch\tB-MISC\n\nAnna\tB-PER\n\n")
    as_alice.post(f"/datasets/{dataset.pk}/add/", {"format": "", "tokeniser": "punkt", "file": more})
    upload = Upload.objects.latest("pk")
    assert (upload.state, upload.found.left_out) == ("checked", 1)
    assert 'name="theirs" value="MISC"' in html(as_alice.get(upload.get_absolute_url()))
    post_table(as_alice, upload, [("MISC", "becomes", "Misc")])
    store(as_alice, upload)
    assert marked()[-1] == ("Misc", 2, 2) and upload.found.left_out == 0


def test_a_table_of_a_kind_that_the_file_has_no_marks_of_is_not_there(as_alice, labels):
    upload = post_conll(as_alice, labels)
    for kind in ("relation", "x"):
        assert post_table(as_alice, upload, ALL, kind).status_code == 404


def proposed(labels, *theirs):
    return {row.theirs: (row.action, row.ours) for row in rows_of(labels, dict.fromkeys(theirs, 1), {})}


def test_labels_that_differ_in_case_spaces_and_underlines_are_proposed(alice):
    items = [
        {"name": "Physical Object", "children": [{"name": "Pump"}]},
        {"name": "State", "children": [{"name": "Pump"}]},
    ]
    labels = factories.ontology(owner=alice, items=[*items, {"name": "wornOut"}])
    alike = ("PHYSICAL_OBJECT", "physicalobject", "physical-object", "Physical  Object")
    assert proposed(labels, *alike) == dict.fromkeys(alike, ("becomes", "Physical Object"))
    assert proposed(labels, "worn_out", "x/Worn Out") == dict.fromkeys(
        ("worn_out", "x/Worn Out"), ("becomes", "wornOut")
    )
    assert proposed(labels, "state/PUMP") == {"state/PUMP": ("becomes", "State/Pump")}
    assert proposed(labels, "PUMP", "Seal", "__", "") == dict.fromkeys(("PUMP", "Seal", "__", ""), ("becomes", ""))


def test_decided_labels_follow_those_that_are_unknown(alice, labels):
    rows = list(rows_of(labels, {"ORG": 2}, {"ORG": "Misc", "PER": "", "MISC": "Misc"}))
    assert [tuple(row) for row in rows[1:]] == [("PER", 0, "skip", ""), ("MISC", 0, "becomes", "Misc")]
    assert rows[0].theirs == "ORG"


# --- Relations ---


def test_relations_that_lose_an_end_are_left_out_with_it(as_alice, alice):
    entities = factories.ontology(owner=alice, items=[{"name": "Person"}])
    relations = factories.ontology(owner=alice, kind="relation", items=[{"name": "livesIn"}])
    given = {"entity_ontology": entities.pk, "relation_ontology": relations.pk}
    upload = post(as_alice, json.dumps(RELATED[0]), "a.jsonl", kind="preannotated_relation", **given)
    post_table(as_alice, upload, [("person", "becomes", "Person"), ("place", "skip", "")])
    post_table(as_alice, upload, [("lives in", "becomes", "livesIn")], "relation")
    upload.refresh_from_db()
    assert (upload.state, upload.found.left_out, upload.found.entities, upload.found.relations) == ("checked", 2, 1, 0)
    store(as_alice, upload)
    assert marked() == [("Person", 0, 0)] and not Relation.objects.exists()


def test_nobody_is_offered_to_add_labels_to_an_ontology_that_they_may_not_change(as_alice, as_bob, labels):
    pages = [html(each.get(post_conll(each, labels).get_absolute_url())) for each in (as_alice, as_bob)]
    assert ["is added as a new label" in page for page in pages] == [True, False]


def test_no_labels_are_added_for_an_upload_that_is_over(as_alice, labels):
    upload = post_conll(as_alice, labels)
    before = labels.labels().by_fullname.keys()
    as_alice.post(f"{upload.get_absolute_url()}discard/")
    post_table(as_alice, upload, [("NEW", "add", "")])
    assert Ontology.objects.get(pk=labels.pk).labels().by_fullname.keys() == before


def test_two_labels_of_the_file_that_become_one_leave_one_mark(as_alice, alice):
    entities = factories.ontology(owner=alice, items=[{"name": "Person"}, {"name": "Place"}])
    relations = factories.ontology(owner=alice, kind="relation", items=[{"name": "in"}])
    marks = [(1, 0, 4, "PER"), (2, 0, 4, "Person"), (3, 14, 19, "Place")]
    item = RELATED[0] | {
        "entities": [{"id": i, "start_offset": s, "end_offset": e, "label": label} for i, s, e, label in marks],
        "relations": [{"id": n, "from_id": n, "to_id": 3, "type": "in"} for n in (1, 2)],
    }
    given = {"entity_ontology": entities.pk, "relation_ontology": relations.pk}
    upload = post(as_alice, json.dumps(item), "a.jsonl", kind="preannotated_relation", **given)
    post_table(as_alice, upload, [("PER", "becomes", "Person")])
    upload.refresh_from_db()
    assert (upload.state, upload.found.left_out) == ("checked", 2)
    store(as_alice, upload)
    assert marked() == [("Person", 0, 0), ("Place", 3, 3)]
    assert Relation.objects.get().source == Entity.objects.get(label__name="Person")


# --- Ontologies of the labels that occur ---


MAKE = {"make_entity_ontology": "on", "make_relation_ontology": "on"}


def test_ontologies_are_made_of_the_labels_that_occur(as_alice):
    upload = post(as_alice, json.dumps(RELATED[0]), "a.jsonl", kind="preannotated_relation", **MAKE)
    page = html(as_alice.get(upload.get_absolute_url()))
    assert "The entity ontology “Found” was made with 2 items" in page
    assert upload.state == "checked"
    store(as_alice, upload)
    made = {each.kind: set(each.labels().by_fullname) for each in Ontology.objects.all()}
    assert made == {"entity": {"person", "place"}, "relation": {"lives in"}}
    assert {each.owner for each in Ontology.objects.all()} == {as_alice.user}
    assert Relation.objects.get().label.fullname == "lives in"


def test_one_that_is_chosen_is_not_made_anew(as_alice, labels):
    upload = post(
        as_alice, json.dumps(RELATED[0]), "a.jsonl", kind="preannotated_relation", make_relation_ontology="on",
        entity_ontology=labels.pk,
    )  # fmt: skip
    assert [each.kind for each in Ontology.objects.exclude(pk=labels.pk)] == ["relation"]
    assert upload.options["entity_ontology"] == labels.pk


def test_labels_below_each_other_become_a_tree(as_alice):
    text = "EU\tB-Agent/Org\nrejects\tO\n\nAnna\tB-Agent\nsaw\tO\n\n"
    store(as_alice, post(as_alice, text, "eng.conll", make_entity_ontology="on"))
    assert list(Ontology.objects.get().labels().by_fullname) == ["Agent", "Agent/Org"]


def test_without_it_an_ontology_has_to_be_chosen(as_alice):
    response = post(as_alice, CONLL, "eng.conll")
    assert response.status_code == 422 and "Choose the ontology that has the labels." in html(response)
    assert not Ontology.objects.exists() and not Dataset.objects.exists()


def test_the_command_makes_them_too(alice, tmp_path):
    (tmp_path / "eng.conll").write_text(CONLL)
    assert run(tmp_path / "eng.conll", kind="preannotated_entity")[0] == 1
    assert not Ontology.objects.exists()
    code, out, errors = run(tmp_path / "eng.conll", "--make-ontologies", kind="preannotated_entity")
    assert (code, errors) == (0, "") and out[-1] == str(Dataset.objects.get().pk)
    assert set(Ontology.objects.get().labels().by_fullname) == {"ORG", "PER", "MISC"}
    assert [label for label, *_ in marked()] == ["MISC", "ORG", "ORG", "PER"]


def test_another_is_made_instead_of_the_chosen_one_and_what_is_decided_about_relations_stays(as_alice, alice, labels):
    relations = factories.ontology(owner=alice, kind="relation", items=[{"name": "livesIn"}])
    given = {"entity_ontology": labels.pk, "relation_ontology": relations.pk}
    upload = post(as_alice, json.dumps(RELATED[0]), "a.jsonl", kind="preannotated_relation", **given)
    post_table(as_alice, upload, [("lives in", "becomes", "livesIn")], "relation")
    as_alice.post(f"{upload.get_absolute_url()}labels/entity/make/")
    upload.refresh_from_db()
    assert upload.state == "checked" and upload.options["relation_ontology"] == relations.pk
    made = Ontology.objects.get(pk=upload.options["entity_ontology"])
    assert made != labels and set(made.labels().by_fullname) == {"person", "place"}


BAD = RELATED[0] | {"relations": [RELATED[0]["relations"][0] | {"type": "a//b"}]}


def test_where_a_label_can_be_none_no_ontology_is_made_and_the_chosen_one_stays(as_alice, labels):
    upload = post(as_alice, json.dumps(BAD), "a.jsonl", kind="preannotated_relation", **MAKE)
    assert not Ontology.objects.exclude(pk=labels.pk)
    page = html(as_alice.get(upload.get_absolute_url()))
    assert "message error" in page and "Not checked yet." in page
    upload.change({**upload.options, "entity_ontology": labels.pk, "relation_ontology": labels.pk})
    as_alice.post(f"{upload.get_absolute_url()}labels/relation/make/")
    upload.refresh_from_db()
    assert upload.options["relation_ontology"] == labels.pk and not Ontology.objects.exclude(pk=labels.pk)


def test_the_command_leaves_none_behind_where_the_items_are_refused(alice, tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({**RELATED[0], "text": ""}))
    assert run(tmp_path / "a.jsonl", "--make-ontologies", "--format", "doccano", kind="preannotated_relation")[0] == 1
    assert not Ontology.objects.exists()
