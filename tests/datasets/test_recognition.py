"""What is uploaded, pasted or given to the command is told for what it is, and read as something else only if that is said."""

import gzip
import io
import json
import pickle
import random
import tarfile
import zipfile
import zlib
from base64 import b64encode

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation_service.file_formats import BEGINNING, Beginning
from datasets.formats import detect
from datasets.models import Dataset, Item, Upload
from tests import factories
from tests.answers import html
from tests.datasets.test_import_command import run
from tests.workbooks import workbook

FORM = {"kind": "standard", "format": "", "tokeniser": "punkt", "name": "Found"}


def zipped(**files):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), text)
    return target.getvalue()


def tar():
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("lines.txt"))
    return target.getvalue()


UNREADABLE = {
    "report.pdf": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n", "This is a PDF. Take the text out of it first"),
    "report.docx": (zipped(word__document_dot_xml="<w/>"), "This is a Word document (DOCX). Save it as plain text."),
    "table.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504), "a document of an old office program (XLS, DOC or PPT)"),
    "data.parquet": (b"PAR1\x15\x04\x15\x10" + bytes(40) + b"PAR1", "This is a Parquet file. Write it as CSV or JSON Lines"),
    "train.spacy": (zlib.compress(b"\x86\xa7version\xa30.1" * 9), "This is a spaCy DocBin."),
    "lines.txt.gz": (gzip.compress(b"check oil\n" * 50), "This is a gzip archive. Unpack it first"),
    "lines.tar": (tar(), "This is a tar archive. Pack its files as a zip archive instead."),
    "scan.png": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(30), "This is a picture (PNG). Only texts can be annotated."),
    "docs.pkl": (pickle.dumps(["check oil"] * 3, protocol=4), "This is a Python pickle. Write it as JSON Lines or CSV."),
    "weights.bin": (bytes(range(256)) * 4, "This is not a text file, and in none of the formats that the help lists."),
}  # fmt: skip
CONLL = "EU\tB-ORG\nrejects\tO\n\nPeter\tB-PER\nBlackburn\tI-PER\n\n"
LABEL_STUDIO = [
    {
        "id": 1,
        "data": {"text": "Anna lives in Paris"},
        "annotations": [
            {
                "result": [
                    {"id": "a", "type": "labels", "value": {"start": 0, "end": 4, "labels": ["PER"], "text": "Anna"}}
                ]
            }
        ],
    }
]
SKOS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix ex: <http://example.org/> .
ex:scheme a skos:ConceptScheme .
ex:pump a skos:Concept ; skos:prefLabel "Pump"@en ; skos:inScheme ex:scheme .
"""
OWL = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="http://www.w3.org/2002/07/owl#"
 xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">
<owl:Class rdf:about="http://example.org/Pump"><rdfs:label>Pump</rdfs:label></owl:Class>
</rdf:RDF>
"""
# A file of another kind than lines of text: its name, what it is said to be, and how many lines of text it has.
OF_OTHER_PROGRAMS = {
    "eng.conll": (CONLL, "This is CoNLL: 2 columns, 2 sentences, tags ORG, PER.", 4),
    "orders.csv": ("id,text\n1,replace the pump\n2,check oil level\n3,left it\n", "2 columns separated by commas", 4),
    "admin.jsonl": ('{"id": 1, "text": "check oil", "label": [[6, 9, "Oil"]]}\n', "This is doccano JSONL", 1),
    "project.json": (json.dumps(LABEL_STUDIO), "This is Label Studio JSON", 1),
    "one.ann": ("T1\tPer 0 5\tAlice\n", "This is brat standoff: marks without their text, labels Per.", 1),
}  # fmt: skip
VOCABULARIES = {"labels.ttl": (SKOS, "This is SKOS", 4), "labels.owl": (OWL, "This is OWL", 5)}
# Of what is lines of text, whatever it looks like at first sight.
LINES = {
    "prose with commas": "The pump leaks, the seal is worn, and oil drips.\nCheck it, please, and replace it.\n",
    "prose with semicolons": "Pump leaks; seal worn; oil drips\nFan broken; belt torn; motor hot\nNo fault; all well; done\n",
    "headings with commas": "Dear Sir,\nthe pump leaks,\nplease come,\nyours\n",
    "a line": "replace pump",
    "markdown": "# Pumps\n\n* check **oil**\n* see [this](http://example.org)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
    "python": "import os\n\n\ndef name(path):\n    return os.path.basename(path)\n",
    "c": "#include <stdio.h>\nint main(void) {\n\treturn 0;\n}\n",
    "css": "{% comment %}\nbody { color: red; }\np { margin: 0; }\n",
    "log": "2024-05-01 12:00:01,123 INFO started\n2024-05-01 12:00:02,456 ERROR pump 3 failed: code=7, retry\n",
    "tabbed log": "12:00:01\tINFO\tstarted the pump\n12:00:02\tERROR\tpump failed at once\n12:00:03\tINFO\tstopped it\n",
    "chat": "Anna: does it leak?\nBen: yes, a bit\nAnna: ok, I come\n",
    "irc": "[12:01] <anna> does it leak?\n[12:02] <ben> yes\n",
    "numbers": "1. replace the pump\n2. check the oil\n3. go home\n",
    "addresses": "Anna Smith, 12 High Street, Leeds, LS1 4AB\nBen Jones, 3 Mill Lane, York, YO1 7EP\n",
    "web addresses": "http://example.org/a?b=1,2\nhttps://example.org/c;d\n",
    "brackets": "[sic] the pump\n[2] the oil\n",
    "braces": "{pump} is a placeholder\n{oil} is another\n",
    "tags of roads": "take the I-95 north\nthen the A1 south\n",
    "words one a line": "pump\nO\nseal\nO\n\noil\nfan\n",
    "quotations": "\"It leaks,\" she said.\n\"No,\" he said, \"it drips.\"\n",
    "arabic": "المضخة تسرب، والختم بال\nافحص الزيت، من فضلك\n",
    "chinese": "更换水泵，检查机油\n左侧恒温器不工作，请修理\n",
    "empty fields": "a,,b\nsome words here\n,,\n",
    "xml like": "<p>The pump leaks</p>\n<p>Check oil</p>\n",
}  # fmt: skip


def post(client, content, name="", **values):
    data = {**FORM, **values}
    data |= {"file": SimpleUploadedFile(name, content)} if name else {"text": content}
    return client.post("/datasets/new/", data)


def is_nothing_kept():
    return not (Dataset.objects.exists() or Item.with_removed.exists() or Upload.objects.exclude(state="new").exists())


@pytest.mark.parametrize("kind", ["standard", "rich", "preannotated_entity"])
@pytest.mark.parametrize("name", UNREADABLE)
def test_an_uploaded_file_that_nothing_reads_is_told_for_what_it_is(as_alice, name, kind):
    content, said = UNREADABLE[name]
    response = post(as_alice, content, name, kind=kind)
    assert response.status_code == 422
    assert said in html(response)
    assert "Everything is in order" not in html(response)
    assert is_nothing_kept()


@pytest.mark.parametrize("name", UNREADABLE)
def test_the_command_tells_it_too_and_keeps_nothing(alice, tmp_path, name):
    content, said = UNREADABLE[name]
    (tmp_path / name).write_bytes(content)
    code, out, errors = run(tmp_path / name, kind="rich")
    assert (code, out) == (1, [])
    assert said in errors and "Traceback" not in errors
    assert is_nothing_kept()


@pytest.mark.parametrize("name", UNREADABLE)
def test_the_command_tells_it_where_lines_of_text_are_wanted(alice, tmp_path, name):
    (tmp_path / name).write_bytes(UNREADABLE[name][0])
    code, out, errors = run(tmp_path / name)
    assert (code, out) == (1, [])
    assert UNREADABLE[name][1] in errors
    assert is_nothing_kept()


@pytest.mark.parametrize("name", OF_OTHER_PROGRAMS | VOCABULARIES)
def test_the_command_takes_it_as_lines_of_text_only_if_that_is_given(alice, tmp_path, name):
    text, said, count = (OF_OTHER_PROGRAMS | VOCABULARIES)[name]
    (tmp_path / name).write_text(text)
    code, out, errors = run(tmp_path / name)
    assert (code, out) == (1, [])
    assert said in errors and "To take it as lines of text all the same, add --format text." in errors
    assert is_nothing_kept()
    assert run(tmp_path / name, "--format", "text")[0] == 0
    assert Dataset.objects.get().item_count == count


@pytest.mark.parametrize(("text", "said"), [("%PDF-1.7\nstream", "This is a PDF."), ("{\\rtf1 a}", "Rich Text Format")])
def test_a_pasted_text_that_is_none_is_told_for_what_it_is(as_alice, text, said):
    response = post(as_alice, text)
    assert response.status_code == 422 and said in html(response)
    assert is_nothing_kept()


@pytest.mark.parametrize("name", OF_OTHER_PROGRAMS | VOCABULARIES)
def test_a_file_of_another_program_becomes_lines_of_text_only_if_somebody_says_so(as_alice, name):
    text, said, count = (OF_OTHER_PROGRAMS | VOCABULARIES)[name]
    response = post(as_alice, text.encode(), name)
    page = html(response)
    assert response.status_code == 422
    assert said in page and "Take it as lines of text all the same" in page
    assert is_nothing_kept()
    page = html(as_alice.get(post(as_alice, text.encode(), name, as_lines="on")["Location"]))
    assert said in page and "But it was read as lines of text. Is that what you want?" in page
    assert "message warning" in page and "message success" not in page
    upload = Upload.objects.latest("pk")
    as_alice.post(f"{upload.get_absolute_url()}store/")
    assert Dataset.objects.get().item_count == count


@pytest.mark.parametrize("name", VOCABULARIES)
@pytest.mark.parametrize("kind", ["rich", "preannotated_entity"])
def test_a_vocabulary_is_no_dataset_of_any_kind(as_alice, name, kind):
    response = post(as_alice, VOCABULARIES[name][0].encode(), name, kind=kind)
    assert response.status_code == 422
    assert VOCABULARIES[name][1] in html(response)
    assert is_nothing_kept()


@pytest.mark.parametrize("name", [name for name in OF_OTHER_PROGRAMS if name != "one.ann"])
def test_with_another_kind_it_is_read_as_what_it_is(as_alice, name):
    text = OF_OTHER_PROGRAMS[name][0]
    page = html(as_alice.get(post(as_alice, text.encode(), name, kind="rich")["Location"]))
    assert "Everything is in order" in page or "left out" in page
    upload = Upload.objects.get()
    assert upload.state == "checked" and upload.options["format"] in ("conll", "csv", "doccano", "labelstudio")


def test_a_zip_archive_of_brat_is_refused_where_lines_of_text_are_wanted(as_alice):
    content = zipped(one_dot_txt="Alice went", one_dot_ann="T1\tPer 0 5\tAlice\n")
    response = post(as_alice, content, "corpus.zip")
    assert response.status_code == 422
    assert "Zip archive" in html(response)
    assert is_nothing_kept()


def test_a_workbook_is_refused_where_lines_of_text_are_wanted_and_read_as_a_rich_dataset(as_alice):
    content = workbook(Orders=[["id", "text"], ["1", "replace pump"], ["2", "check oil"]])
    response = post(as_alice, content, "orders.xlsx")
    assert response.status_code == 422 and "workbook (XLSX)" in html(response)
    post(as_alice, content, "orders.xlsx", kind="rich")
    as_alice.post(f"{Upload.objects.latest('pk').get_absolute_url()}store/")
    assert [(item.external_id, item.original) for item in Item.objects.all()] == [
        ("1", "replace pump"),
        ("2", "check oil"),
    ]


@pytest.mark.parametrize("what", LINES)
def test_what_people_write_is_lines_of_text(as_alice, what):
    text = LINES[what]
    for name in ("", "lines.txt"):
        response = post(as_alice, text.encode() if name else text, name)
        assert response.status_code == 302, html(response)
        assert "Everything is in order" in html(as_alice.get(response["Location"]))
    found = Upload.objects.first().found
    assert (found.items, found.problems.total) == (sum(bool(line.strip()) for line in text.split("\n")), 0)


def test_more_lines_of_a_standard_dataset_are_looked_at_the_same_way(as_alice):
    dataset = factories.dataset(owner=as_alice.user)
    data = {"text": CONLL, "format": ""}
    response = as_alice.post(f"/datasets/{dataset.pk}/add/", data)
    assert response.status_code == 422
    assert "This is CoNLL" in html(response) and "A standard dataset takes lines of text alone." in html(response)
    response = as_alice.post(f"/datasets/{dataset.pk}/add/", {**data, "as_lines": "on"})
    assert "But it was read as lines of text" in html(as_alice.get(response["Location"]))


def test_the_preview_tells_what_a_file_is(as_alice):
    for name, (text, said, _) in OF_OTHER_PROGRAMS.items():
        data = {**FORM, "sample": text, "file_name": name}
        assert said in html(as_alice.post("/datasets/new/preview/", data))
    page = html(as_alice.post("/datasets/new/preview/", {**FORM, "sample": SKOS, "file_name": "labels.ttl"}))
    assert "This is SKOS" in page


def test_the_kind_of_what_is_packed_is_told_by_all_of_it(as_alice, tmp_path):
    """Its beginning alone cannot be read."""
    rng = random.Random(3)
    many = "".join(f"{rng.getrandbits(200):x}\tO\nEU\tB-ORG\n\n" for _ in range(36_000))
    path = tmp_path / "texts.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.conll", many)
    assert path.stat().st_size > BEGINNING
    assert detect(Beginning.of(path, path.name)).kind == "preannotated_entity"
    form = {"format": "", "tokeniser": "punkt", "name": "Many", "kind": "standard"}
    sent = {"file": SimpleUploadedFile(path.name, path.read_bytes())}
    assert "choose the kind “Preannotated entity dataset”" in html(as_alice.post("/datasets/new/", {**form, **sent}))
    start = b64encode(path.read_bytes()[:64_000]).decode()
    answer = as_alice.post(
        "/datasets/new/preview/", {"sample_bytes": start, "file_name": path.name, "kind": "rich", "tokeniser": "punkt"}
    )
    assert "Whether there are marks in it is found out" in html(answer)
    assert json.loads(answer["HX-Trigger"])["detected"]["kind"] == ""


def test_an_external_id_in_two_files_of_an_archive_is_there_twice(alice, tmp_path):
    with zipfile.ZipFile(tmp_path / "both.zip", "w") as archive:
        for name in ("anna", "ben"):
            archive.writestr(f"{name}.jsonl", json.dumps({"id": "1", "text": name, "label": [], "Comments": []}))
    code, _, errors = run(tmp_path / "both.zip", kind="rich")
    assert code == 1 and "“1” is the external id of anna.jsonl, line 1" in errors
    code, out, _ = run(tmp_path / "both.zip", "--duplicates", "skip", kind="rich")
    assert (
        code == 0 and out[0].startswith("“Orders”: 1 item, ") and "1 item with a taken external id left out" in out[0]
    )
