import io
import json

import pytest
from django.core.management import CommandError, call_command

from datasets.models import Dataset, Entity, Upload
from ontologies.models import Ontology
from tests import factories

from .documents import entity, item


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "orders.txt"
    path.write_text("Replace pump.\n\nreplace pump.\nCheck #oil\n")
    return path


def run(path, *options, kind="standard", owner="alice", name="Orders", into=None):
    out, errors, code = io.StringIO(), io.StringIO(), 0
    target = ["--into", str(into)] if into else ["--kind", kind, "--name", name]
    try:
        call_command("import_dataset", str(path), *target, "--owner", owner, *options, stdout=out, stderr=errors)
    except SystemExit as exit:
        code = exit.code
    return code, out.getvalue().splitlines(), errors.getvalue()


def test_the_id_is_the_last_line(alice, path):
    code, out, errors = run(path)
    dataset = Dataset.objects.get()
    assert (code, errors) == (0, "")
    assert out == ["“Orders”: 3 items, 9 tokens, 1 blank line skipped.", str(dataset.pk)]
    assert (dataset.owner, dataset.name, dataset.kind) == (alice, "Orders", "standard")
    assert dataset.preprocessing["tokeniser"] == "punkt"


def test_every_operation_can_be_chosen(alice, path):
    run(path, "--lowercase", "--remove-characters", "#", "--remove-duplicates", "--tokeniser", "whitespace")
    assert [item.tokens for item in Dataset.objects.get().items()] == [["replace", "pump."], ["check", "oil"]]


def test_duplicates_are_compared_as_wanted_and_counted(alice, tmp_path):
    path = tmp_path / "Lines.txt"
    path.write_text("a b\na  b\na b\n")
    for options, compared, left in (([], "identical", 2), (["identical"], "identical", 2), (["spacing"], "spacing", 1)):
        _, out, _ = run(path, "--remove-duplicates", *options)
        assert (
            f"1 text identical to another, 1 text the same as another but for white space, {3 - left} duplicate"
            in out[0]
        )
        dataset = Dataset.objects.latest("pk")
        assert (dataset.preprocessing["remove_duplicates"], dataset.item_count) == (compared, left)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kind": "preannotated_entity"}, "the blueprint of their entity ontology"),
        ({"into": 999}, "There is no dataset 999."),
        ({"owner": "nobody"}, "There is no active user “nobody”."),
        ({"name": "a\x07b"}, "control characters"),
        ({"name": "a\udcffb"}, "control characters"),
        ({"name": " "}, "A name is needed."),
    ],
)
def test_refusals_are_plain_sentences(alice, path, options, said):
    code, out, errors = run(path, **options)
    assert (code, out) == (1, [])
    assert said.lower() in errors.lower() and "Traceback" not in errors
    assert not Dataset.objects.exists() and not Upload.unfinished_of(alice).exists()


@pytest.mark.parametrize("name", ["none.txt", ""])
def test_what_is_no_file_is_said(alice, tmp_path, name):
    code, _, errors = run(tmp_path / name)
    assert code == 1 and f"{name or tmp_path.name}: The file cannot be read" in errors


def test_limits_hold_here_too(alice, path, settings):
    settings.MAX_ITEM_TOKENS = 1
    code, _, errors = run(path)
    assert code == 1
    assert f"{path}: line 1: An item has at most 1 token; this line has 3. (and 2 more)" in errors.splitlines()
    settings.MAX_FILE_BYTES = 10
    assert "the limit is 10 bytes" in run(path)[2]
    assert not Dataset.objects.exists()


def test_an_ontology_is_refused_for_a_standard_dataset(alice, path):
    ontology = factories.ontology(owner=alice)
    code, _, errors = run(path, "--entity-ontology", str(ontology.pk))
    assert code == 1 and "takes no entity ontology" in errors


def test_clean_up_is_refused_for_items_that_come_as_tokens(alice, path, labels):
    for kind, given in (("rich", []), ("preannotated_entity", labels)):
        for options in (["--lowercase"], ["--remove-characters", "x"], ["--remove-duplicates"]):
            code, out, errors = run(path, *options, *given, kind=kind)
            assert (code, out) == (1, []) and f"{options[0]} is for a standard dataset" in errors
    assert not Dataset.objects.exists()
    code, out, _ = run(path, "--format", "text", "--tokeniser", "whitespace", kind="rich")
    assert code == 0


def test_unknown_choices_are_refused(alice, path):
    with pytest.raises(CommandError):
        run(path, "--tokeniser", "magic")
    with pytest.raises(CommandError):
        run(path, kind="nonsense")


@pytest.fixture
def labels(alice):
    entities, relations = factories.ontology(owner=alice), factories.ontology(owner=alice, kind="relation")
    return ["--entity-ontology", str(entities.pk), "--relation-ontology", str(relations.pk)]


@pytest.mark.parametrize("kind", ["rich", "preannotated_entity", "preannotated_relation"])
@pytest.mark.parametrize("lines", [True, False])
def test_every_kind_is_imported_in_every_format(alice, tmp_path, labels, kind, lines):
    document = [item(external_id=str(n)) for n in range(2)]
    options = []
    if kind != "rich":
        options = labels if kind == "preannotated_relation" else labels[:2]
        identified = {"id": "e1"} if kind == "preannotated_relation" else {}
        document[0]["entities"] = [entity(0, 1, **identified)]
    path = tmp_path / ("orders.jsonl" if lines else "orders.json")
    path.write_text("".join(f"{json.dumps(each)}\n" for each in document) if lines else json.dumps(document))
    code, out, errors = run(path, *options, kind=kind)
    assert (code, errors) == (0, "")
    dataset = Dataset.objects.get(pk=out[-1])
    assert (dataset.kind, dataset.item_count, Entity.objects.count()) == (kind, 2, int(kind != "rich"))
    upload = dataset.uploads.get()
    assert (upload.name, upload.by, upload.number, upload.state) == (path.name, alice, 1, "stored")


def test_items_are_added_to_a_dataset(alice, tmp_path, labels):
    path = tmp_path / "orders.json"
    path.write_text(json.dumps([item(external_id="A")]))
    dataset = Dataset.objects.get(pk=run(path, kind="rich")[1][-1])
    code, _, errors = run(path, into=dataset.pk)
    assert code == 1 and f"{path}: item 1, $.external_id: “A” is the external id of item 1" in errors
    code, out, _ = run(path, "--duplicates", "replace", into=dataset.pk)
    assert code == 0 and out[-1] == str(dataset.pk)
    assert dataset.items().get().position == 1
    path.write_text("check it, now\n")
    assert run(path, "--format", "text", "--tokeniser", "punkt", into=dataset.pk)[0] == 0
    assert dataset.items().last().tokens == ["check", "it", ",", "now"]


def test_marks_with_labels_that_are_off_are_kept_if_asked_for(alice, tmp_path, labels):
    path = tmp_path / "orders.json"
    path.write_text(json.dumps([item(entities=[entity(0, 0, "State"), entity(1, 1)])]))
    factories.item(Ontology.objects.get(pk=labels[1]), "State").switch(False, by=alice)
    code, _, errors = run(path, *labels[:2], kind="preannotated_entity")
    assert code == 1 and f"{path}: item 1, $.entities[0].label: “State” is switched off in" in errors
    assert "add --inactive keep." in errors and "--violations" not in errors
    code, out, _ = run(path, *labels[:2], "--inactive", "keep", kind="preannotated_entity")
    assert code == 0 and "1 mark with labels that are switched off" in out[0]
    dataset = Dataset.objects.get(pk=out[-1])
    assert [mark.label.active for mark in Entity.objects.order_by("start")] == [False, True]
    assert run(path, into=dataset.pk)[0] == 1
    assert run(path, "--inactive", "keep", into=dataset.pk)[0] == 0
    code, _, errors = run(path, "--inactive", "keep", kind="rich")
    assert code == 1 and "A rich dataset has no marks, so --inactive is not for it." in errors


def test_rich_items_for_a_kind_with_marks_are_stored_only_if_that_is_said(alice, tmp_path, labels):
    path = tmp_path / "orders.json"
    path.write_text(json.dumps([item()]))
    code, _, errors = run(path, *labels[:2], kind="preannotated_entity")
    assert code == 1 and "Not one item has “entities”: these are rich items." in errors
    assert "To take items without marks as they are, add --unmarked keep." in errors
    assert run(path, *labels[:2], "--unmarked", "keep", kind="preannotated_entity")[0] == 0
    assert Dataset.objects.get().item_count == 1


def test_items_are_added_by_those_who_may_change_the_dataset(alice, bob, carol, path):
    dataset = factories.dataset(owner=alice)
    for owner in ("bob", "carol"):
        code, _, errors = run(path, owner=owner, into=dataset.pk)
        assert code == 1 and f"“{owner}” may not add items to “Work orders”." in errors
    assert dataset.items().count() == 3


def test_what_only_a_new_dataset_takes_is_refused_for_an_addition(alice, path, labels):
    dataset = factories.dataset(owner=alice)
    for options in (labels, ["--lowercase"], ["--name", "x"], ["--remove-characters", "x"]):
        code, out, errors = run(path, *options, into=dataset.pk)
        assert (code, out) == (1, []) and "is for a new dataset" in errors
    with pytest.raises(CommandError):
        call_command("import_dataset", str(path), "--kind", "rich", "--into", str(dataset.pk), "--owner", "alice")


def test_the_name_of_a_file_need_not_be_text(alice, path):
    odd = path.rename(path.with_name("a\udcff.txt"))  # the byte FF
    call_command("import_dataset", str(odd), "--kind", "standard", "--owner", "alice", stdout=io.StringIO())
    # Without another name the dataset has that of the file.
    dataset = Dataset.objects.get()
    assert (dataset.name, dataset.uploads.get().name) == ("a\ufffd", "a\ufffd.txt")
    assert run(odd, into=dataset.pk)[0] == 0


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_progress_is_drawn_on_a_terminal_only(alice, path, stream):
    path.write_text("a line\n" * 5000)
    errors, out = stream(), io.StringIO()
    call_command("import_dataset", str(path), "--kind", "standard", "--owner", "alice", stderr=errors, stdout=out)
    if stream is Terminal:
        assert "\rreading ██" in errors.getvalue() and "5\u202f000 of about 5\u202f000" in errors.getvalue()
        assert errors.getvalue().endswith("\r\033[K")
    else:
        assert errors.getvalue() == ""
    assert out.getvalue().splitlines()[-1] == str(Dataset.objects.get().pk)
