"""A table is uploaded over an ontology: what it changes, what of it is not done, and that one undo takes all of it back."""

import csv
import io
import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation_service.inputs import Refused
from ontologies.label_files import DOWNLOADS
from ontologies.pasted_lists import TableRow
from ontologies.updates import TreeUpdate
from tests import factories
from tests.answers import events
from tests.soak import amount

CSV = next(format for format in DOWNLOADS if format.name == "csv")


def table_of(ontology):
    return [*csv.DictReader(io.StringIO(CSV.write(ontology)))]


def written(rows):
    fields = list(dict.fromkeys(field for row in rows for field in row))
    file = io.StringIO()
    table = csv.DictWriter(file, fields)
    table.writeheader()
    table.writerows(rows)
    return file.getvalue()


def post(client, ontology, text="", **fields):
    return client.post(reverse("ontologies:update", args=[ontology.pk]), {"text": text, **fields})


def preview(client, ontology, text, **fields):
    """What would be done: the summary, and the notes."""
    answer = post(client, ontology, text, preview="1", **fields)
    assert answer.status_code == 200 and answer["HX-Retarget"] == "#foreseen"
    update = answer.context["update"]
    return update.summary, [str(note) for note in update.notes]


def agree(client, ontology, text):
    """Apply what was seen."""
    seen = post(client, ontology, text, preview="1").context["update"]
    return post(client, ontology, text, agreed=seen.digest)


def again(ontology):
    return type(ontology).objects.get(pk=ontology.pk)


def document(ontology):
    def kept(items):
        return [
            {k: v for k, v in item.items() if k != "updated_at"} | {"children": kept(item["children"])}
            for item in items
        ]

    return kept(json.loads(ontology.as_json()))


def test_a_download_over_itself_changes_nothing(as_alice, ontology):
    assert preview(as_alice, ontology, CSV.write(ontology)) == ("", [])
    answer = post(as_alice, ontology, CSV.write(ontology), agreed="")
    assert answer.status_code == 422 and "Nothing to change" in answer.text
    assert ontology.changes.count() == 1


def test_all_that_a_table_changes_is_one_step(as_alice, alice, ontology):
    rows = table_of(ontology)
    before = document(ontology)
    rows[0] |= {"path": "Thing", "description": "New\nwords", "example_terms": "", "color": "#010203"}
    rows[1]["path"] = "Thing/Sensor"  # below the new name
    rows[2]["path"] = rows[2]["path"].replace("Thermostat", "Thermometer")  # below the old names
    del rows[3]
    rows += [{"path": "Thing/Sensor/Gauge", "description": "x"}, {"path": "New/Below"}]
    agreed, notes = preview(as_alice, ontology, written(rows))
    assert agreed == "3 added, 3 renamed, 1 described anew, 1 given other example terms, 1 recoloured" and notes == []
    answer = agree(as_alice, ontology, written(rows))
    assert answer.status_code == 200 and agreed in events(answer)["toast"]["text"]
    names = {label.fullname for label in again(ontology).labels()}
    assert {"Thing/Sensor/Thermometer", "Thing/Sensor/Gauge", "New/Below"} <= names
    thing = ontology.items()[0]
    assert (thing.name, thing.description, thing.example_terms, thing.color) == ("Thing", "New\nwords", [], "#010203")
    change = ontology.changes.first()
    assert change.verb == "update from file"
    assert {step.field for step in change.steps()} == {"", "name", "description", "example_terms", "color"}
    assert "Thing" in as_alice.get(reverse("ontologies:history", args=[ontology.pk])).text
    after = document(ontology)
    again(ontology).undo(by=alice)
    assert document(ontology) == before
    assert {step.name for step in ontology.changes.first().steps()} >= {"Gauge", "Below"}
    again(ontology).redo(by=alice)
    assert document(ontology) == after
    assert not [*ontology.tree.problems()]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": "ffffffff"}, "line 3: The id ffffffff is not in this ontology."),
        ({"id": "{0}"}, "line 2: The id {0} is in several lines."),
        ({"path": "Elsewhere/SensingObject"}, "line 3: “PhysicalObject/SensingObject” stays where it is."),
        ({"path": "SensingObject"}, "line 3: “PhysicalObject/SensingObject” stays where it is."),
        ({"path": "PhysicalObject/DrivingObject"}, "keeps its name: there is a label “DrivingObject” beside it."),
        ({"active": "no"}, "line 3: “PhysicalObject/SensingObject” is on. Switch it in the tree."),
        ({"id": "", "path": "PhysicalObject"}, "line 3: “PhysicalObject” stands already in line 2."),
    ],
)
def test_what_is_not_done_is_told(as_alice, ontology, change, said):
    rows = table_of(ontology)
    uid = rows[0]["id"].removeprefix("'")  # of one that looks like a number
    rows[1] |= {key: value.replace("{0}", uid) for key, value in change.items()}
    summary, notes = preview(as_alice, ontology, written(rows))
    assert summary == "" and any(said.replace("{0}", uid) in note for note in notes), notes


def test_what_stands_below_an_unknown_id_is_not_done(as_alice, ontology):
    text = "id,path\nffffffff,X\n,X/Y\n,Z"
    summary, notes = preview(as_alice, ontology, text)
    assert summary == "1 added" and len(notes) == 2 and "line 3: It stands below" in notes[1]


def test_a_path_may_have_the_new_name_of_what_is_above_and_the_old_one_of_the_label(as_alice, ontology):
    first, *_ = table_of(ontology)
    below = next(label for label in ontology.labels() if label.level == 3)
    path = ["Thing", *below.fullname.split("/")[1:]]
    rows = [{"id": first["id"], "path": "Thing", "description": first["description"]}]
    rows += [
        {"path": "/".join(path), "description": "Quite new"},
        {"path": "/".join([*path, "Part"]), "description": ""},
    ]
    assert preview(as_alice, ontology, written(rows)) == ("1 added, 1 renamed, 1 described anew", [])
    agree(as_alice, ontology, written(rows))
    labels = again(ontology).labels().by_fullname
    assert labels["/".join(path)].uid == below.uid and "/".join([*path, "Part"]) in labels


def test_names_that_two_rows_want_are_given_once(as_alice, ontology):
    rows = table_of(ontology)
    rows[0]["path"] = rows[-1]["path"] = "Same"
    rows.append({"path": "Other"})
    summary, notes = preview(as_alice, ontology, written(rows))
    assert summary.startswith("1 added, 1 renamed") and len(notes) == 1


def test_what_a_table_has_no_column_for_stays(as_alice, ontology):
    rows = table_of(ontology)
    assert preview(as_alice, ontology, written([{"id": row["id"], "path": row["path"]} for row in rows])) == ("", [])
    blank = [{**row, "description": "", "color": ""} for row in rows]
    assert preview(as_alice, ontology, written(blank))[0].endswith("described anew")


def test_what_has_changed_since_it_was_seen_is_shown_again(as_alice, alice, ontology):
    text = "path\tdescription\nNew\tx\nNewer\ty"
    agreed = post(as_alice, ontology, text, preview="1").context["update"].digest
    other = "path\tdescription\nNew\tx\nOther\ty"  # as much as that, but something else
    assert post(as_alice, ontology, other, agreed=agreed).status_code == 422
    ontology.add_item("New", by=alice)
    answer = post(as_alice, ontology, text, agreed=agreed)
    assert answer.status_code == 422 and "changed meanwhile" in answer.text
    assert answer.context["update"].summary == "1 added, 1 described anew"
    with pytest.raises(Refused, match="Meanwhile"):
        again(ontology).update_from([TableRow(2, ["Third"], "", {})], by=alice, agreed=agreed)
    assert agree(as_alice, ontology, text).status_code == 200


@pytest.mark.parametrize(
    ("text", "said"),
    [('[{"name": "A"}]', "This is JSON. A table is needed here"), ("path,color\nA,red", "written as #RRGGBB")],
)
def test_what_is_no_such_table_is_refused(as_alice, ontology, text, said):
    answer = post(as_alice, ontology, text, preview="1")
    assert said in answer.text and 'name="agreed" value=""' in answer.text


def test_the_table_may_be_a_file_in_another_encoding(as_alice, ontology):
    file = SimpleUploadedFile("x.csv", "path;definition\nTür;x\n".encode("cp1252"))
    answer = post(as_alice, ontology, preview="1", file=file)
    assert "Choose another encoding" in answer.text and 'name="encoding"' in answer.text
    file.seek(0)
    answer = post(as_alice, ontology, preview="1", file=file, encoding="cp1252")
    assert [step.name for step in answer.context["steps"]] == ["Tür"]


def test_the_address_of_the_dialog_opens_it_in_the_page(client, alice, ontology):
    client.force_login(alice)
    answer = client.get(reverse("ontologies:update", args=[ontology.pk]))
    assert "Upload over" in answer.text and "<dialog" in answer.text


PATHS = st.lists(st.sampled_from("ABC"), min_size=1, max_size=3).map("/".join)


@settings(max_examples=amount(25, 1000), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(-1, 8), PATHS), max_size=8))
def test_whatever_is_foreseen_can_be_done_and_undone(alice, changes):
    items = [{"name": a, "children": [{"name": b} for b in "AB"]} for a in "ABC"]
    ontology = factories.ontology(owner=alice, items=items)
    labels = ontology.labels()
    rows = [
        TableRow(line, path.split("/"), "", {"uid": labels[at].uid, "description": "x"} if at >= 0 else {})
        for line, (at, path) in enumerate(changes, 2)
    ]
    before, update = document(ontology), TreeUpdate(labels, rows)
    ontology.update_from(rows, by=alice, agreed=update.digest)
    assert len([*update.steps()]) >= bool(update.summary)
    assert bool(ontology.written) == bool(update.summary)
    assert not [*ontology.tree.problems()]
    now = {label.uid: label for label in again(ontology).labels()}
    assert all(now[label.uid].parent_uid == label.parent_uid for label in labels)
    if ontology.written:
        after = document(ontology)
        ontology.undo(by=alice)
        assert document(ontology) == before
        ontology.redo(by=alice)
        assert document(ontology) == after
