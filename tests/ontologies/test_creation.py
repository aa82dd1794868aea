"""New ontologies from files of all formats, in the browser and in the shell; and their downloads."""

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from ontologies.label_files import DOWNLOADS
from ontologies.models import Ontology
from tests.ontologies.test_commands import run
from tests.ontologies.test_label_files import OWL_XML, TURTLE


def ask(client, verb, data="", called="", **fields):
    """Asks for a new ontology of a pasted text or, if it is called something, of a file."""
    sent = {"source": "file", "file": SimpleUploadedFile(called, data)} if called else {"source": "paste", "text": data}
    return client.post(reverse(f"ontologies:{verb}"), {"name": "New", "kind": "entity", **sent, **fields})


def names(ontology):
    return [label.fullname for label in ontology.labels()]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Pump\n  Piston pump\nValve", ["Pump", "Pump/Piston pump", "Valve"]),
        ("Pump/Piston pump", ["Pump", "Pump/Piston pump"]),
        ("name,parent\nPiston pump,Pump\nPump,", ["Pump", "Pump/Piston pump"]),
        ('[{"name": "Pump"}]', ["Pump"]),
        (TURTLE, ["Pump", "Pump/Screw pump", "Pump/Piston pump", "Ventil"]),
    ],
)
def test_all_that_can_be_pasted_can_be_a_file_too(as_alice, text, found):
    ask(as_alice, "create", text)
    ask(as_alice, "create", text.encode(), "x.txt")
    assert [names(ontology) for ontology in Ontology.objects.all()] == [found, found]


def test_what_was_left_out_is_told(as_alice):
    answer = ask(as_alice, "create", OWL_XML.encode(), "pumps.owl")
    page = as_alice.get(answer["Location"]).text
    assert "was created with 4 items. Left out: restrictions (1), individuals (1), object properties (2)" in page


def test_a_file_is_looked_at_before_anything_is_made_of_it(as_alice):
    page = ask(as_alice, "look", OWL_XML.encode(), "pumps.owl", name="").text
    assert "This is OWL: 4 classes, 2 object properties, labels in en and pt. <b>4 items</b> will be created." in page
    assert "Left out: restrictions (1)" in page and '<option value="en" selected>en</option>' in page
    seen = re.search('name="seen" value="([^"]*)"', page)[1]
    answer = ask(as_alice, "create", OWL_XML.encode(), "pumps.owl", seen=seen, language="pt")
    assert answer.status_code == 302 and names(Ontology.objects.get())[0] == "Bomba"


def test_settings_of_another_file_do_not_count(as_alice):
    ask(as_alice, "create", OWL_XML.encode(), "pumps.owl", seen="This is OWL.", language="pt")
    assert names(Ontology.objects.get())[0] == "Pump"


def test_columns_are_offered_and_taken(as_alice):
    data = b"Begriff;Sinn\nPumpe;hebt\n"
    answer = ask(as_alice, "look", data, "x.csv")
    assert 'name="column_description"' in answer.text and "This is a table (CSV)" in answer.text
    seen = answer.context["form"].seen
    ask(as_alice, "create", data, "x.csv", seen=seen, column_name="Begriff", column_description="Sinn")
    assert Ontology.objects.get().labels()[0].description == "hebt"


def test_another_encoding_can_be_chosen(as_alice):
    data = "Tür\nÖl".encode("cp1252")
    answer = ask(as_alice, "create", data, "x.txt")
    assert answer.status_code == 422 and 'name="encoding"' in answer.text and "Choose another encoding" in answer.text
    assert ask(as_alice, "create", data, "x.txt", encoding="cp1252").status_code == 302
    assert names(Ontology.objects.get()) == ["Tür", "Öl"]


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"%PDF-1.7", "This is a PDF."), (b"\0\1\2\3", "not a text file"), (b"PK\x03\x04" + b" " * 30 + b"xl/", "")],
)
def test_what_cannot_be_read_is_told_in_the_form(as_alice, data, said):
    for verb, status in (("create", 422), ("look", 200)):
        answer = ask(as_alice, verb, data, "x")
        assert answer.status_code == status and said in answer.text and answer.context["form"].total
    assert not Ontology.objects.exists()


def test_each_format_that_can_be_written_is_a_download_that_can_be_read(as_bob, as_alice, ontology):
    page = as_bob.get(reverse("ontologies:page", args=[ontology.pk])).text
    for format in DOWNLOADS:
        answer = as_bob.get(address := reverse(f"ontologies:download_{format.name}", args=[ontology.pk]))
        ending = format.extensions[0]
        assert address.endswith(f"/download{ending}") and address in page
        assert answer["Content-Disposition"] == f'attachment; filename="maintenance{ending}"'
        assert answer["Content-Type"] == format.content_type
        ask(as_alice, "create", answer.content, f"x{ending}")
        assert names(Ontology.objects.latest("pk")) == names(ontology)


# --- In the shell ------------------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path):
    def make(data, name):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return str(path)

    return make


GIVEN = {"kind": "entity", "name": "x", "owner": "alice"}


def test_the_command_sees_what_a_file_is_and_tells_what_it_leaves_out(alice, file):
    code, output, errors = run("import_ontology", file(OWL_XML, "x"), **GIVEN, language="pt")
    first, left, last = output.splitlines()
    assert (code, errors, last) == (0, "", str(Ontology.objects.get().pk))
    assert first == "“x”: 4 items." and left.startswith("Left out: restrictions (1)")
    assert names(Ontology.objects.get())[0] == "Bomba"


def test_the_command_takes_a_format_and_an_encoding(alice, file):
    run("import_ontology", file("name,type\nTür,x".encode("cp1252"), "x"), **GIVEN, format="text", encoding="cp1252")
    assert names(Ontology.objects.get()) == ["name,type", "Tür,x"]
    code, _, errors = run("import_ontology", file("Tür".encode("cp1252"), "y"), **GIVEN)
    assert code == 1 and "Choose another encoding" in errors
    code, _, errors = run("import_ontology", file("%PDF", "y"), **GIVEN)
    assert code == 1 and "This is a PDF." in errors
