"""Files of all formats with random damage, and files that are made to harm: whatever comes in, a report comes out."""

import io
import json
import random
import struct
import tracemalloc
import zipfile
import zlib
from importlib import import_module

import pytest

from annotation_service import file_formats, tables
from annotation_service.apart import Unreadable, check_file
from annotation_service.file_formats import Beginning, FileSource
from annotation_service.inputs import ENCODINGS, Refused
from datasets.exports import write_export
from datasets.formats import detect, format_named, readable, uima
from datasets.formats.dataset_format import Export, WrittenEntity, WrittenItem, WrittenLabel, WrittenRelation
from datasets.importing.document import Reader
from datasets.kinds import DatasetKind
from datasets.preprocessing import Preprocessing
from datasets.tokenising import offsets_of
from ontologies import vocabularies
from ontologies.label_files import ONTOLOGY_FORMATS, format_of
from tests import factories
from tests.datasets.documents import Ontologies, document
from tests.datasets.test_fuzz import check_good
from tests.soak import SOAK, amount
from tests.workbooks import workbook

LABELS = {
    "entity": ["Activity", "State", "PhysicalObject", "PhysicalObject/SensingObject"],
    "relation": ["hasPart", "hasParticipant", "hasParticipant/hasPatient"],
}
TEXTS = ["Replace the pump 😀 now", "Left e\u0301tat of valve\nnot working", "ok"]


# --- Files that are right ------------------------------------------------------------------------------------------------------


def items():
    for number, text in enumerate(TEXTS, 1):
        tokens, last = text.split(), len(text.split()) - 1
        entities = [WrittenEntity("e1", "Activity", 0, 0), WrittenEntity("e2", "State", 0, last)] if last else []
        relations = [WrittenRelation("hasPart", "e1", "e2")] if last else []
        yield WrittenItem(
            number, f"d{number}", text, tokens, offsets_of(tokens, text), {"site": "x"}, entities, relations
        )


def written(name):
    labels = {
        kind: [WrittenLabel(each, each.count("/") + 1, "#112233", "") for each in names]
        for kind, names in LABELS.items()
    }
    target = io.BytesIO()
    write_export(format_named(name), Export("Work orders", items(), labels), target)
    return target.getvalue()


def packed(files):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


CONLL_U = """# sent_id = s1
# text = Sie geht zum Markt.
1\tSie\t_\t_\t_\t_\t2\t_\t_\t_
2-3\tzum\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
2\tzu\t_\tADP\t_\tCase=Dat|Gender=Masc\t2\t_\t_\t_
3\tdem\t_\t_\t_\t_\t2\t_\t2:x|3:y\t_
3.1\tist\t_\t_\t_\t_\t_\t_\t_\t_

# text = Ja
1\tJa\t_\t_\t_\t_\t0\troot\t_\t_

"""
WEBANNO = """#FORMAT=WebAnno TSV 3.3
#T_SP=dkpro.NamedEntity|identifier|value
#T_CH=custom.Link|referenceType|referenceRelation
#T_RL=custom.Relation|label|BT_dkpro.NamedEntity


#Text=Ann Lee met  Bo.
1-1\t0-3\tAnn\t*[1]|*[2]\tActivity[1]|State[2]\tpr[1]\tco->1-1\t_\t_\t
1-2\t4-7\tLee\t*[1]\tActivity[1]\t_\t_\t_\t_\t
1-3\t8-11\tmet\t_\t_\t_\t_\t_\t_\t
1-4\t13-15\tBo\t*\tActivity\tpr[1]\tco->1-2\thasPart\t1-1[1_0]\t

"""
TRAINING = json.dumps([["Anna met Bob", {"entities": [[0, 4, "Activity"], [9, 12, "State"]]}]])
TURTLE = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix : <http://example.org/pumps#> .
:pump a skos:Concept ; skos:prefLabel "Pump"@en , "Pumpe"@de ; skos:altLabel "lifter"@en .
:screw a skos:Concept ; skos:prefLabel "Screw pump"@en ; skos:broader :pump ; skos:notation "0.9" .
"""
OWL_XML = """<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [<!ENTITY owl "http://www.w3.org/2002/07/owl#" >]>
<rdf:RDF xmlns="http://example.org/pumps#" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
     xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xmlns:owl="http://www.w3.org/2002/07/owl#">
  <owl:Class rdf:about="#Pump"><rdfs:label xml:lang="en">Pump</rdfs:label></owl:Class>
  <owl:Class rdf:about="#Screw"><rdfs:subClassOf rdf:resource="#Pump"/></owl:Class>
</rdf:RDF>
"""
MARKED = json.dumps(document(DatasetKind.PREANNOTATED_RELATION), ensure_ascii=False)
CSV = "id,text,label\n1,Replace the pump,State\n2,“x”; 😀 now,State\n3,ok then,Activity\n"
ANN = "T1\tActivity 0 7\tReplace\nT2\tState 8 16\tthe pump\nR1\thasPart Arg1:T1 Arg2:T2\nE1\tActivity:T1\n"
TREE = "level 1,level 2,description\nA,,x\n,B,“y”\nC,,\n"


def samples():
    """Files of each format that reads datasets, by their format: their names and contents."""
    archives = {
        "a.zip": packed({"a.txt": TEXTS[0], "b.txt": TEXTS[1]}),
        "b.zip": packed({"x/1.conll": written("conll"), "x/2.conll": written("conll")}),
        "c.zip": packed({"1.jsonl": written("doccano"), "readme.md": "x"}),
        **{f"{name}.zip": written(name) for name in ("brat", "spacy", "hf")},
    }
    return {
        "text": {"a.txt": "\r\n".join(TEXTS).encode(), "b.txt": TEXTS[1].encode("utf-16")},
        "json": {"a.json": MARKED.encode(), "b.json": MARKED.encode("utf-16")},
        "jsonl": {"a.jsonl": "".join(f"{json.dumps(each)}\n" for each in json.loads(MARKED)).encode()},
        "xmi": {"a.xmi": unpacked("xmi", ".xmi"), "a.zip": written("xmi")},
        "casjson": {"a.json": unpacked("casjson", ".cas.json"), "a.zip": written("casjson")},
        "zip": archives,
        "brat": {"a.ann": ANN.encode()},
        "doccano": {"a.jsonl": written("doccano")},
        "labelstudio": {"a.json": written("labelstudio")},
        "spacy": {"a.jsonl": unpacked("spacy", ".jsonl"), "b.json": TRAINING.encode()},
        "hf": {"a.jsonl": unpacked("hf", ".jsonl")},
        "webanno": {"a.tsv": WEBANNO.encode()},
        "conllu": {"a.conllu": CONLL_U.encode()},
        "conll": {"a.conll": written("conll"), "b.conll": written("conll-layers")},
        "csv": {"a.csv": CSV.encode(), "b.csv": written("csv")},
        "tsv": {"a.tsv": CSV.replace(",", "\t").encode(), "b.tsv": written("tsv")},
        "xlsx": {"a.xlsx": workbook(Orders=[["id", "text"], ["1", "Replace 😀"], ["2", 3.5]], _more=[[True]])},
    }


def unpacked(name, extension):
    with zipfile.ZipFile(io.BytesIO(written(name))) as archive:
        return archive.read(next(each for each in archive.namelist() if each.endswith(extension)))


VOCABULARIES = {
    "skos": ("a.ttl", TURTLE.encode()),
    "owl": ("a.owl", OWL_XML.encode()),
    "xlsx": ("a.xlsx", workbook(Labels=[["name", "parent"], ["A", None], ["B", "A"]])),
    "tsv": ("a.tsv", TREE.replace(",", "\t").encode()),
    "csv": ("a.csv", TREE.encode()),
    "json": ("a.json", json.dumps(factories.ENTITIES).encode()),
    "text": ("a.txt", b"A\n  B\n\tC\n  D\nE\n"),
}


# --- Damage --------------------------------------------------------------------------------------------------------------------

PUT = rb"""
    " ' [ ] { } < > </ &x; <!ENTITY <!DOCTYPE <![CDATA[ ]]> <? \ \u0000 \ud800 # -DOCSTART- | ( ; @prefix
    -1 999999999999999999999999999999 NaN null true {} [[ / ../ , % B- I- 1.1 99999-3 1-1.1 #T_SP= #T_RL= [1_2] _ * =
""".split()
PUT += [b"\0", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\t", b"\n\n", b"\r", b" ", b"PK\3\4", b"\x1b", b"\x0c"]
PUT += [b"\xe2\x80\xa8", b"\xed\xa0\x80", "😀".encode()]
PUT += [b"[" * 3000, b'{"a":' * 3000, b"<a>" * 3000, b"x" * 5000, b'"' * 501, b"\xcc\x81" * 200]


def mutated(rng, data):
    """The file with bits flipped, parts cut out, doubled, or swapped, or something put in; of archives also what is inside."""
    if data.startswith(b"PK") and rng.random() < 0.6:
        data = with_other_members(rng, data)
    for _ in range(rng.choice([0, 1, 1, 2, 4]) if data.startswith(b"PK") else rng.randint(1, 5)):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice([0, 1, 1, 4, 30, 300]))
        match rng.randrange(8):
            case 0 | 1 if at < len(data):
                data = data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
            case 2:
                data = data[:at] + data[end:]
            case 3:
                data = data[:end] + data[at:]
            case 4:
                data = data[:at] + data[end : end + 7] + data[at:end] + data[end + 7 :]
            case 5 if rng.random() < 0.2:
                data = data[:at]
            case _:
                data = data[:at] + rng.choice(PUT) + data[end if rng.random() < 0.3 else at :]
    return data


def with_other_members(rng, data):
    """An archive in which one of the files is another one, has another name, or stands twice."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = [(each, archive.read(each)) for each in archive.namelist()]
    at = rng.randrange(len(files))
    name, content = files[at]
    match rng.randrange(6):
        case 0:
            files[at] = (
                rng.choice(["../a.txt", "/etc/x", "C:\\x.txt", "a" * 3000, "é😀\u202e.txt", "a/", ".x"]),
                content,
            )
        case 1:
            files.append(rng.choice([("b.pdf", b"%PDF-1.7"), ("c.zip", data), ("d.txt", b"\xff"), ("e.ann", b"T1\tx")]))
        case 2:
            del files[at]
        case _:
            files[at] = name, mutated(rng, content)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return target.getvalue()


def beginnings():
    """Files that are known and cannot be read, by what they are."""
    tar = bytes(257) + b"ustar\x0000" + bytes(500)
    zipped = {
        what: packed({"[Content_Types].xml": "x", sign.decode(): "x" * 50})
        for sign, what, _ in file_formats._ZIPPED
        if sign.endswith(b"/")
    }
    signed = {what: sign + bytes(range(256)) for sign, what, _ in file_formats._UNREADABLE}
    return signed | zipped | {"a tar archive": tar, "a spaCy DocBin": zlib.compress(b"msgpack" * 40)}


# --- What comes out ------------------------------------------------------------------------------------------------------------


def read_here(function, path, *arguments):
    """As `read_apart`, without its processes, which take half a second each."""
    check_file(path)
    module, _, name = function.partition(":")
    try:
        for value in getattr(import_module(module), name)(path, *arguments):
            yield json.loads(json.dumps(value))
    except ValueError as error:
        raise Unreadable(str(error)) from error
    except Exception as error:
        raise Unreadable(f"This file is damaged, or is something else ({type(error).__name__}).") from error


@pytest.fixture
def in_this_process(monkeypatch):
    for module in uima, tables, vocabularies:
        monkeypatch.setattr(module, "read_apart", read_here)


@pytest.fixture
def ontologies(alice):
    return Ontologies(factories.ontology(owner=alice), factories.ontology(owner=alice, kind="relation"))


@pytest.fixture
def rng():
    seed = random.randrange(2**32) if SOAK else 7
    print("seed", seed)  # shown if the test fails
    return random.Random(seed)


def report_of(rng, path, name, ontologies):
    """The report of a file that is looked at and checked, with anything that can be chosen; most are read as what they are."""
    encoding = rng.choice(["", "", "", *ENCODINGS])
    start = Beginning.of(path, name, encoding)
    found = detect(start)
    assert is_text(said := str(found.recognised)) and len(said) < 2000
    format = found.format if found.format and rng.random() < 0.9 else rng.choice(readable())
    choices = format.settings(start)
    assert all(is_text(choice) for choice in choices)
    reading = {each.name: rng.choice(list(each.choices)) for each in choices if rng.random() < 0.5}
    kind = found.kind if rng.random() < 0.7 else rng.choice(list(DatasetKind))
    options = ontologies.options(
        kind,
        format.name,
        encoding=encoding,
        reading=reading,
        preprocessing=Preprocessing(tokeniser=rng.choice(["whitespace", "punkt"])),
        bad=rng.choice(["refuse", "drop"]),
        duplicates=rng.choice(["refuse", "skip", "replace"]),
    )
    problems = []
    report = Reader(path, options, on_problem=problems.append).check()
    assert is_text(report.as_json())
    assert all(problem.text and is_text(str(problem)) and len(str(problem)) < 800 for problem in problems)
    assert report.is_good or problems
    if report.is_good:
        kept = list(Reader(path, options))
        assert len(kept) == report.items
        for item in kept:
            check_good(item, options)
    return report


def is_text(value):
    """Whether any database takes it, alone or in JSON."""
    written = json.dumps(value, ensure_ascii=False)
    written.encode()
    return "\\u0000" not in written.replace("\\\\", "")


def test_each_format_that_reads_has_files_here():
    assert samples().keys() == {format.name for format in readable()}
    assert VOCABULARIES.keys() == {format.name for format in ONTOLOGY_FORMATS}


@pytest.mark.parametrize("name", [format.name for format in readable()])
def test_they_are_recognised_and_read_as_they_are(name, ontologies, tmp_path, in_this_process):
    for file, data in samples()[name].items():
        (path := tmp_path / file).write_bytes(data)
        found = detect(Beginning.of(path, file))
        assert found.format and found.format.name == name
        report = Reader(path, ontologies.options(found.kind, name)).check() if name != "brat" else None
        assert name == "brat" or report.items > 0


@pytest.mark.soak
@pytest.mark.parametrize("name", [format.name for format in readable()])
def test_of_a_damaged_file_a_report_comes_out(name, rng, ontologies, tmp_path, in_this_process):
    files, path, good = list(samples()[name].items()), tmp_path / "file", 0
    for _ in range(number := amount(40, 5000)):
        file, data = rng.choice(files)
        path.write_bytes(mutated(rng, data))
        good += report_of(rng, path, file, ontologies).is_good
    assert good < number


@pytest.mark.parametrize("kind", [DatasetKind.PREANNOTATED_ENTITY, DatasetKind.PREANNOTATED_RELATION, DatasetKind.RICH])
@pytest.mark.parametrize(
    "marks", [{"entities": 5}, {"entities": [5]}, {"relations": [{"source_id": []}]}, {"entities": [{"label": "x"}]}]
)
@pytest.mark.parametrize("format", ["csv", "json"])
def test_wrong_marks_are_refused_in_words_also_where_labels_are_changed(kind, marks, format, ontologies, tmp_path):
    item = {"original": "a", "tokens": ["a"], **marks}
    names, cells = list(item), [each if isinstance(each, str) else json.dumps(each) for each in item.values()]
    rows = [",".join("x" if each == "original" else each for each in names).replace("x", "text", 1)]
    rows.append(",".join('"' + each.replace('"', '""') + '"' for each in cells))
    path = tmp_path / "file"
    path.write_text(json.dumps([item]) if format == "json" else "\n".join(rows))
    labels = {"entity": {"x": ""}, "relation": {"y": "hasPart"}}
    reading = {f"column{at}": "text" if name == "original" else name for at, name in enumerate(names, 1)}
    report = Reader(path, ontologies.options(kind, format, labels=labels, reading=reading)).check()
    assert report.problems.first or format == "csv" or kind == DatasetKind.RICH or marks["entities"] == [{"label": "x"}]


@pytest.mark.soak
def test_of_what_cannot_be_read_a_report_comes_out(rng, ontologies, tmp_path, in_this_process):
    path = tmp_path / "file"
    for what, data in beginnings().items():
        assert what in str(detect(Beginning(data, "a.txt")).recognised)
        for _ in range(amount(4, 500)):
            path.write_bytes(mutated(rng, data))
            report_of(rng, path, rng.choice(["a", "a.txt", "a.json", "a.csv", "a.zip"]), ontologies)


@pytest.mark.soak
@pytest.mark.parametrize("name", VOCABULARIES)
def test_a_damaged_file_of_labels_is_read_or_refused(name, rng, tmp_path, in_this_process):
    file, data = VOCABULARIES[name]
    path, done = tmp_path / "file", 0
    for _ in range(amount(40, 5000)):
        path.write_bytes(mutated(rng, data))
        start = Beginning.of(path, file, rng.choice(["", "", "", *ENCODINGS]))
        try:
            format, said = format_of(start)
            choices = {each.name: rng.choice(list(each.choices)) for each in format.settings(start)}
            with path.open("rb") as opened:
                source = FileSource(opened, file, start.encoding, choices if rng.random() < 0.5 else {})
                labels = format.read(source, rng.choice(["entity", "relation"]))
            assert is_text(said) and all(is_text(label.name + label.description) for label in labels)
            done += bool(labels)
        except Refused as refused:
            assert refused.problems[0].text and is_text(str(refused))
    assert done


# --- Files that are made to harm -----------------------------------------------------------------------------------------------


def nested(depth):
    data = packed({"a.txt": "x" * 1_000_000})
    for number in range(depth):
        data = packed({f"{number}{each}.zip": data for each in range(5)})
    return data


def overlapping(count, size):
    """An archive whose files share what is packed: each has, as it stands there, the head of the next one before it, so that it
    unpacks to almost as much, and all together to their number times that."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    text = b"pump " * (size // 5)
    body, heads, entries = packer.compress(text) + packer.flush(), [], []
    for number in range(count, 0, -1):
        name = f"{number:04}.txt".encode()
        about = struct.pack("<HHHHHLLLHH", 20, 0, 8, 0, 33, zlib.crc32(text), len(body), len(text), len(name), 0)
        head = b"PK\3\4" + about + name
        entries.append((about, name, len(body)))
        heads.append(head)
        # The block of deflate that says: the next bytes as they are.
        body = b"\0" + struct.pack("<HH", len(head), len(head) ^ 0xFFFF) + head + body
        text = head + text
    data = body[5:]
    listed = b""
    for about, name, length in entries:
        at = len(data) - length - 30 - len(name)
        listed += b"PK\1\2" + struct.pack("<H", 20) + about + struct.pack("<HHHLL", 0, 0, 0, 0, at) + name
    return data + listed + b"PK\5\6" + struct.pack("<HHHHLLH", 0, 0, count, count, len(listed), len(data), 0)


def declared(size):
    """An archive that says of its file that it has so many bytes."""
    data = bytearray(packed({"a.txt": "x" * 1000}))
    more = struct.pack("<HHQ", 1, 8, size)
    at = data.index(b"PK\1\2")
    data[at + 24 : at + 28], data[at + 30 : at + 32] = b"\xff" * 4, struct.pack("<H", len(more))
    data[at + 51 : at + 51] = more
    end = data.index(b"PK\5\6")
    data[end + 12 : end + 16] = struct.pack("<L", end - at)
    return bytes(data)


ZIP_BOMBS = {
    "nested": (nested(4), "Take it out of the archive"),
    "overlapping": (overlapping(300, 4_000_000), "all of them 1"),
    "overlapping, less of it": (overlapping(100, 200_000), ""),
    "of 10 GB, as it says": (declared(10_000_000_000), "Unpacked, a file has at most 100"),
    "of more than it says": (
        packed({"a.txt": "x" * 3_000_000}).replace(struct.pack("<L", 3_000_000), struct.pack("<L", 10)),
        "",
    ),
    "of one text": (packed({"a.txt": b" " * 90_000_000}), "the limit is"),
    "of one line": (packed({"a.jsonl": b'{"text": "' + b"x" * 90_000_000}), ""),
}


@pytest.mark.parametrize("bomb", ZIP_BOMBS)
@pytest.mark.parametrize("format", ["zip", "xlsx", "xmi", "text"])
def test_archives_that_unpack_to_too_much_are_refused(bomb, format, ontologies, tmp_path):
    data, said = ZIP_BOMBS[bomb]
    (path := tmp_path / "a.zip").write_bytes(data)
    found = detect(Beginning.of(path, "a.zip"))
    assert found.format and found.format.name == "zip"
    kind = DatasetKind.STANDARD if format == "text" else DatasetKind.RICH
    tracemalloc.start()
    report = Reader(path, ontologies.options(kind, format)).check()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert not report.is_good and report.items == 0
    if format == "zip":
        assert said in str(report.problems.first[0])
    assert peak < 30_000_000


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "lol"}">' for n in range(10))
XML_BOMBS = {
    "billion laughs": (f"[{LAUGHS}]", "&l9;"),
    "quadratic blow-up": (f'[<!ENTITY q "{"x" * 50_000}">]', "&q;" * 20_000),
    "a file": ('[<!ENTITY f SYSTEM "file:///etc/passwd">]', "&f;"),
    "a file by a parameter": ('[<!ENTITY % f SYSTEM "file:///etc/passwd"> %f;]', "x"),
    "a DTD": ('SYSTEM "file:///etc/passwd" []', "x"),
}


def of_xmi(doctype, text):
    return with_doctype(unpacked("xmi", ".xmi").decode(), doctype).replace("Replace the pump", text), "a.xmi"


def of_xlsx(doctype, text):
    files = {}
    with zipfile.ZipFile(io.BytesIO(workbook(Orders=[["id", "text"], ["1", "Replace the pump"]]))) as archive:
        for name in archive.namelist():
            content = archive.read(name).decode()
            files[name] = (
                with_doctype(content, doctype).replace("Replace the pump", text) if "sheet1" in name else content
            )
    return packed(files), "a.xlsx"


def with_doctype(xml, doctype):
    head, mark, rest = xml.partition("?>")
    return f"{head}{mark}<!DOCTYPE x {doctype}>{rest}" if mark else f"<!DOCTYPE x {doctype}>{xml}"


@pytest.mark.parametrize("bomb", XML_BOMBS)
@pytest.mark.parametrize("made", [of_xmi, of_xlsx])
def test_items_have_nothing_of_the_entities_of_xml(bomb, made, ontologies, tmp_path):
    data, name = made(*XML_BOMBS[bomb])
    (path := tmp_path / name).write_bytes(data.encode() if isinstance(data, str) else data)
    detect(Beginning.of(path, name))
    format = format_named(path.suffix[1:])
    format.settings(Beginning.of(path, name))
    report = Reader(path, ontologies.options(DatasetKind.PREANNOTATED_RELATION, format.name)).check()
    said = json.dumps(report.as_json())
    assert not report.is_good
    assert not any(each in said for each in ["root:", "lollol", "x" * 60_000])


def of_skos(doctype, text):
    xml = OWL_XML.replace("owl:Class", "skos:Concept").replace("rdfs:label", "skos:prefLabel")
    return of_owl(
        doctype, text, xml.replace("xmlns:owl", 'xmlns:skos="http://www.w3.org/2004/02/skos/core#" xmlns:owl')
    )


def of_owl(doctype, text, xml=OWL_XML):
    head, _, rest = xml.partition("<!DOCTYPE")
    return f"{head}<!DOCTYPE rdf:RDF {doctype}>{rest.partition(']>')[2]}".replace(">Pump<", f">{text}<")


@pytest.mark.parametrize("bomb", XML_BOMBS)
@pytest.mark.parametrize("made", [of_owl, of_skos])
def test_labels_have_nothing_of_the_entities_of_xml(bomb, made):
    data = made(*XML_BOMBS[bomb]).encode()
    format, _ = format_of(Beginning(data, "a.owl"))
    assert f"of_{format.name}" == made.__name__
    format.settings(Beginning(data, "a.owl"))
    with pytest.raises(Refused) as refused:
        format.read(FileSource(io.BytesIO(data), "a.owl"), "entity")
    assert "root:" not in str(refused.value) and "lollol" not in str(refused.value)
