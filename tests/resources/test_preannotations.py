"""Preannotation sets: documents as tables, and editing rows with a journal."""

import random
from io import BytesIO

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from annotation_service.edits import Conflict, fingerprint
from annotation_service.inputs import Refused
from resources.models import PreannotationChange, PreannotationSet
from tests import factories
from tests.factories import item
from tests.resource_sets import DOCUMENTS, THERMOSTAT, document_of, make
from tests.soak import amount

KINDS = ["entity", "relation"]


def made(kind, source, alice, labels):
    return PreannotationSet.create(
        kind=kind,
        source=source,
        name="Lexicon",
        owner=alice,
        entity_ontology=labels["entities"],
        relation_ontology=labels["relations"] if kind == "relation" else None,
    )


def uid(labels, name):
    return next(label.uid for ontology in labels.values() for label in ontology.labels() if label.name == name)


def forms(thing):
    return [" → ".join(value for key, value in row.items() if "form" in key) for row in document_of(thing)]


# --- Tables ---


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_comes_back_as_it_was(alice, labels, kind):
    made_of_json = make(f"{kind}_preannotations", owner=alice, **labels)
    table = "".join(made_of_json.csv_document())
    again = made(kind, BytesIO(table.encode("utf-8-sig")), alice, labels)
    assert document_of(again) == document_of(made_of_json) == DOCUMENTS[f"{kind}_preannotations"]
    assert "".join(again.csv_document()) == table


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_columns_stand_in_any_order_between_any_delimiter(alice, labels, delimiter, end):
    rows = [
        ["label", " surface_form "],
        ["State", '"a ""b"", c;\td"'],
        [],
        ["", " "],
        ["Replace", ' "no quotes'],
        ["State", '"two\nlines"'],
    ]
    table = "\ufeff" + end.join(delimiter.join(row) for row in rows)
    assert document_of(made("entity", table, alice, labels)) == [
        {"surface_form": 'a "b", c;\td', "label": "State"},
        {"surface_form": '"no quotes', "label": "Activity/Replace"},
        {"surface_form": "two\nlines", "label": "State"},
    ]


@pytest.mark.parametrize(
    ("table", "problems"),
    [
        ("pump,State", ["line 1: The first line of a table names its columns: surface_form, label."]),
        ("surface_form,State", ["line 1: The column “label” is missing."]),
        (
            "\n\nlabel,surface_form,note",
            ["line 3: The column “note” is not known here; known are surface_form, label."],
        ),
        ("label,surface_form,label", ["line 1: A column is named twice."]),
        (
            'surface_form,label\npump\n"a"b,State\nok,State\n,State\nok,State\nx,Stat\n"open,State\n',
            [
                "line 2: 2 values were expected, not 1.",
                "line 3: After a closing quotation mark the next column was expected. One inside a value is written twice.",
                "line 5, surface_form: This must not be empty.",
                "line 6: This text with this label stands already at line 4.",
                "line 7, label: “Stat” is not a label of “entity labels”. The nearest is “State”.",
                "line 8: A quotation mark opens here that is never closed.",
            ],
        ),
        (
            b"surface_form,label\nB\xfccher,State",
            ["line 2: Byte 0xfc is not UTF-8. Choose another encoding, or save it as UTF-8."],
        ),
    ],
)
def test_what_is_wrong_is_told_by_line_and_column(alice, labels, table, problems):
    with pytest.raises(Refused) as caught:
        made("entity", table if isinstance(table, str) else BytesIO(table), alice, labels)
    assert [str(problem) for problem in caught.value.problems] == problems
    assert not PreannotationSet.objects.exists()


@pytest.mark.parametrize(
    ("offset", "problem"),
    [
        ("-1", "at least 0 was expected, not -1"),
        ("near", "A whole number was expected"),
        ("", "A whole number was"),
        ("9" * 12, "at most"),
    ],
)
def test_offsets_of_a_table_are_whole_numbers(alice, labels, offset, problem):
    head, row = (
        "source_surface_form,source_label,target_surface_form,target_label,offset,label",
        "a,State,b,State,{},hasPart",
    )
    with pytest.raises(Refused, match=problem) as caught:
        made("relation", f"{head}\n{row.format(offset)}", alice, labels)
    assert caught.value.problems[0].place == "line 2, offset"
    assert document_of(made("relation", f"{head}\n{row.format(' 7 ')}", alice, labels))[0]["offset"] == 7


@settings(max_examples=amount(40, 1000), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20), max_size=5
    )
)
def test_any_forms_come_back_from_a_table(alice, labels, texts):
    wanted = list(dict.fromkeys(text.replace("\r\n", "\n").replace("\r", "\n").strip() for text in texts))
    document = [{"surface_form": form, "label": "State"} for form in wanted if form]
    thing = make("entity_preannotations", owner=alice, document=document, **labels)
    table = "".join(thing.csv_document())
    assert document_of(thing) == document_of(made("entity", BytesIO(table.encode()), alice, labels)) == document


def test_a_downloaded_table_has_no_formulas_and_comes_back_as_it_was(as_alice, alice, labels, with_preannotations):
    forms = ["=HYPERLINK(1)", "+1", "-5 bar", "@home", "'=1", "'n'", "a=b"]
    document = [{"surface_form": form, "label": "State"} for form in forms]
    thing = make("entity_preannotations", owner=alice, document=document, **labels)
    table = as_alice.get(f"{thing.get_absolute_url()}download.csv").text
    assert [line[: len(form) + 1] for line, form in zip(table.splitlines()[1:5], forms, strict=False)] == [
        f"'{form}" for form in forms[:4]
    ]
    assert document_of(made("entity", BytesIO(table.encode()), alice, labels)) == document


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("download", ["json_document", "csv_document"])
def test_a_set_survives_rename_copy_edit_and_a_way_out_and_in(alice, labels, kind, download):
    thing = make(f"{kind}_preannotations", owner=alice, **labels)
    item(labels["entities"], "PhysicalObject").rename("Thing", by=alice)
    project = factories.project(by=alice)
    item(project.entity_ontology, "PhysicalObject").rename("Thing", by=alice)
    thing = thing.copy_to(
        project, by=alice, ontologies={"entity": project.entity_ontology, "relation": project.relation_ontology}
    )
    first = thing.rows().first()
    thing.change_row(first.pk, {thing.row_model.form_fields[0]: 'an "edited", form'}, by=alice)
    out = "".join(getattr(thing, download)())
    assert "Thing" in out and "edited" in out
    own = {
        "entities": project.entity_ontology.copy_to(by=alice),
        "relations": project.relation_ontology.copy_to(by=alice),
    }
    again = made(kind, out, alice, own)
    assert "".join(getattr(again, download)()) == out


# --- Editing ---


def test_rows_are_added_changed_and_removed(alice, labels):
    thing = make("entity_preannotations", owner=alice, **labels)
    thing.add_row({"surface_form": " Pump ", "label": uid(labels, "Thermostat")}, by=alice)
    first, second, *_ = thing.rows()
    thing.change_row(first.pk, {"surface_form": "Sensor", "label": uid(labels, "Replace")}, by=alice)
    thing.remove_rows(thing.rows().filter(pk=second.pk), by=alice)
    assert document_of(thing) == [
        {"surface_form": "Sensor", "label": "Activity/Replace"},
        {"surface_form": "Ölpumpe 🚀", "label": "PhysicalObject"},
        {"surface_form": "Pump", "label": THERMOSTAT},
    ]
    assert [change.title for change in thing.changes.all()] == ["remove", "change", "add", "create"]
    assert list(thing.rows().values_list("search_text", flat=True)) == ["sensor", "ölpumpe 🚀", "pump"]
    thing.undo(by=alice), thing.undo(by=alice), thing.undo(by=alice)
    assert document_of(thing) == DOCUMENTS["entity_preannotations"]
    assert [row.pk for row in thing.rows()][:2] == [first.pk, second.pk]


def test_rows_of_relations_are_edited_with_offsets(alice, labels):
    thing = make("relation_preannotations", owner=alice, **labels)
    first = thing.rows().first()
    thing.change_row(first.pk, {"offset": " 12 "}, by=alice)
    assert document_of(thing)[0]["offset"] == 12
    (step,) = thing.changes.first().steps()
    assert (step.name, step.field, step.before, step.after) == ("replace → pump", "offset", "0", "12")
    thing.undo(by=alice)
    assert document_of(thing) == DOCUMENTS["relation_preannotations"]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"surface_form": " "}, "A form is needed"),
        ({"surface_form": "x" * 201}, "at most 200 characters"),
        ({"surface_form": "a\0b"}, "NUL"),
        ({"label": "ffffffff"}, "not there any more"),
        ({"label": ""}, "not there any more"),
        ({"surface_form": "thermostat"}, "This text with this label is in this set already"),
    ],
)
def test_what_no_document_may_have_cannot_be_edited_in(alice, labels, values, reason):
    thing = make("entity_preannotations", owner=alice, **labels)
    row = thing.rows().last()
    thing.change_row(row.pk, {"label": uid(labels, "State")}, by=alice)
    before = document_of(thing)
    with pytest.raises(Refused, match=reason):
        thing.change_row(row.pk, values, by=alice)
    with pytest.raises(Refused, match=reason):
        thing.add_row({"surface_form": "new", "label": uid(labels, "State")} | values, by=alice)
    assert document_of(thing) == before


def test_labels_that_are_off_are_not_chosen_but_stay_and_come_back(alice, labels):
    thing = make("entity_preannotations", owner=alice, **labels)
    item(labels["entities"], "State").switch(False, by=alice)
    thing = PreannotationSet.objects.get(pk=thing.pk)
    first, second, _ = thing.rows()
    with pytest.raises(Refused, match="“State” is switched off in “entity labels”, so it cannot be used"):
        thing.change_row(first.pk, {"label": uid(labels, "State")}, by=alice)
    thing.change_row(second.pk, {"surface_form": "cold"}, by=alice)
    thing.remove_rows(thing.rows(), by=alice)
    thing.undo(by=alice), thing.undo(by=alice)
    assert document_of(thing) == DOCUMENTS["entity_preannotations"]


def test_nobody_overwrites_what_they_have_not_seen(alice, labels):
    thing = make("entity_preannotations", owner=alice, **labels)
    row = thing.rows().first()
    seen = {"surface_form": fingerprint(row.surface_form)}
    thing.change_row(row.pk, {"surface_form": "theirs"}, was=seen, by=alice)
    with pytest.raises(Conflict) as caught:
        thing.change_row(row.pk, {"surface_form": "mine"}, was=seen, by=alice)
    assert caught.value.fields == {"surface_form": "theirs"}
    with pytest.raises(Refused, match="another number"):
        thing.remove_rows(thing.rows(), agreed=2, by=alice)
    assert thing.row_count == 3


def test_a_row_that_came_meanwhile_is_not_in_the_way_of_an_undo(alice, bob, labels):
    thing = make("entity_preannotations", owner=alice, **labels)
    last = thing.rows().last()
    thing.remove_rows(thing.rows().filter(pk=last.pk), by=alice)
    thing.add_row({"surface_form": "new", "label": uid(labels, "State")}, by=bob)
    thing.undo(by=alice)
    assert forms(thing) == ["thermostat", "thermostat", "new", "Ölpumpe 🚀"]
    thing.remove_rows(thing.rows().filter(pk=last.pk), by=alice)
    thing.add_row({"surface_form": last.surface_form, "label": last.label.uid}, by=bob)
    with pytest.raises(Refused, match="This text with this label is in this set already"):
        thing.undo(by=alice)


def test_the_history_names_rows_that_are_gone(alice, labels):
    thing = make("entity_preannotations", owner=alice, **labels)
    row = thing.rows().first()
    thing.change_row(row.pk, {"label": uid(labels, "Replace")}, by=alice)
    thing.remove_rows(thing.rows().filter(pk=row.pk), by=alice)
    told = [(change.title, [step.name for step in steps]) for change, steps in thing.history()]
    assert told == [("remove", ["thermostat"]), ("change", ["thermostat"]), ("create", [])]
    change = PreannotationChange.objects.get(verb="change")
    assert [(step.field, step.before, step.after) for step in change.steps()] == [("label", "Thermostat", "Replace")]
    with pytest.raises(Refused, match="“thermostat” was changed by a later step: remove"):
        thing.revert(change, by=alice)


def test_random_edits_are_undone_to_the_beginning_and_done_again(alice, labels):
    chance = random.Random(1)
    thing = make("relation_preannotations", owner=alice, **labels)
    entities = [label.uid for label in labels["entities"].labels()]
    states = [document_of(thing)]
    for step in range(amount(30, 300)):
        rows = list(thing.rows())
        verb = chance.choice(["add", "change", "remove"]) if rows else "add"
        if verb == "remove":
            chosen = chance.sample(rows, chance.randint(1, len(rows)))
            thing.remove_rows(thing.rows().filter(pk__in=[row.pk for row in chosen]), by=alice)
        elif verb == "change":
            thing.change_row(
                chance.choice(rows).pk, {"target_surface_form": f"form {step}", "offset": str(step + 7)}, by=alice
            )
        else:
            ends = {"source_label": chance.choice(entities), "target_label": chance.choice(entities)}
            values = {
                "source_surface_form": "a",
                "target_surface_form": str(step),
                "offset": "0",
                "label": uid(labels, "hasPart"),
            }
            thing.add_row(values | ends, by=alice)
        states.append(document_of(thing))
    for state in states[-2::-1]:
        thing.undo(by=alice)
        assert sorted(map(str, document_of(thing))) == sorted(map(str, state))
    for state in states[1:]:
        thing.redo(by=alice)
        assert sorted(map(str, document_of(thing))) == sorted(map(str, state))
    assert not thing.redoable(alice)
