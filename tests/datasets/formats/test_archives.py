"""Zip archives as they are recognised, refused and read."""

import io
import json
import struct
import tracemalloc
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation_service import file_formats
from annotation_service.file_formats import Beginning, FileFormat, Recognised, recognise
from annotation_service.inputs import Refused, WrongEncoding
from datasets.formats.archives import ARCHIVE
from datasets.formats.brat import BRAT
from datasets.formats.dataset_format import DatasetFormat, DatasetSource, element, found_item, refused_element
from datasets.kinds import DatasetKind


def read_words(source):
    """A format for these tests: after a line “words” each line is an item, “wrong” is wrong."""
    for number, line in source.lines():
        if line == "wrong":
            yield refused_element("line", number, "This is wrong.")
        elif number > 1:
            source.leave_out("commas", line.count(","))
            yield element("line", number, found_item(source, line, line.split()))


WORDS = DatasetFormat(
    "words", "Words", (".words",), lambda start: "words" * start.text.startswith("words") or None, read=read_words
)
NUMBERS = DatasetFormat(
    "numbers",
    "Numbers",
    (".n",),
    lambda start: "" if start.text[:1].isdigit() else None,
    is_general=True,
    read=read_words,
)
OTHER = FileFormat("other", "Other", (".other",), lambda start: "" if start.text.startswith("other") else None)


@pytest.fixture(autouse=True)
def formats(monkeypatch):
    monkeypatch.setattr(file_formats, "FORMATS", [ARCHIVE, BRAT, WORDS, NUMBERS, OTHER])


def packed(files, compression=zipfile.ZIP_DEFLATED):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


def read(data, **chosen):
    source = DatasetSource(io.BytesIO(data if isinstance(data, bytes) else packed(data)), "a.zip", chosen=chosen)
    return list(ARCHIVE.read(source))


def why_not(data, **chosen):
    with pytest.raises(Refused) as error:
        read(data, **chosen)
    problem = error.value.problems[0]
    return problem.text, problem.place


# --- Recognising ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "seen", "kind"),
    [
        (["a.txt", "x/", "x/b.txt", "README.md", "__MACOSX/._a.txt"], "texts (.txt)", DatasetKind.RICH),
        (["a.txt", "a.ann", "annotation.conf"], "texts with brat's marks (.ann)", DatasetKind.PREANNOTATED_RELATION),
        (["a.conll", "b.conll"], "files .conll", None),
        (["a.json", "b.csv"], "files .csv and .json", None),
        (["a.txt", "b.csv"], "files .csv and .txt", None),
        (["a", "README"], "files", None),
    ],
)
def test_what_is_in_an_archive_is_seen_at_its_beginning(names, seen, kind):
    data = packed(dict.fromkeys(names, "text " * 100))
    start = Beginning(data[: data.index(b"PK\1\2")])
    assert (ARCHIVE.seen_in(start), ARCHIVE.kind_of(start)) == (seen, kind)
    assert bool(ARCHIVE.settings(start)) == (seen == "texts (.txt)")
    assert recognise(start, DatasetFormat).format is ARCHIVE


@pytest.mark.parametrize(
    "names",
    [["[Content_Types].xml", "xl/workbook.xml"], ["x.xml", "word/document.xml"], ["mimetype", "a.xml"], ["ppt/a.xml"]],
)
def test_documents_of_office_programs_are_not_taken(names):
    assert ARCHIVE.seen_in(Beginning(packed(dict.fromkeys(names, "x")))) is None


@pytest.mark.parametrize("data", [b"", b"PK", b"PKZIP is a program", b"text PK\3\4" + bytes(40)])
def test_other_files_are_not_taken(data):
    assert ARCHIVE.seen_in(Beginning(data)) is None
    assert ARCHIVE.kind_of(Beginning(data)) is None and ARCHIVE.settings(Beginning(data)) == []


def test_the_names_in_a_large_one_are_seen():
    start = Beginning(packed({f"{number}.txt": str(number) for number in range(20_000)})[:1_000_000])
    assert ARCHIVE.seen_in(start) == "texts (.txt)"


# --- Reading -------------------------------------------------------------------------------------------------------------------


def test_each_file_is_an_item_with_its_path_as_external_id():
    found = read({"a.txt": "One.\nTwo.", "x/": "", "x/ü.txt": "\ufeffThree.\r\n"})
    assert [(each.place, each.value["original"], each.value["external_id"]) for each in found] == [
        ("a.txt", "One.\nTwo.", "a"),
        ("x/ü.txt", "Three.\n", "x/ü"),
    ]


def test_each_line_of_a_file_is_an_item_if_so_chosen():
    found = read({"a.txt": "One.\n\nTwo.", "b.txt": "Three."}, texts="lines")
    assert [(each.place, each.value["original"]) for each in found] == [
        ("a.txt, line 1", "One."),
        ("a.txt, line 3", "Two."),
        ("b.txt, line 1", "Three."),
    ]


def test_marks_are_not_taken_for_lines_of_text():
    (found,) = read({"a.txt": "One.\nTwo.", "a.ann": "T1\tX 0 3\tOne\n"}, texts="lines")
    assert found.value["entities"]


def test_a_long_path_is_no_external_id(settings):
    settings.MAX_EXTERNAL_ID_CHARACTERS = 3
    assert ["external_id" in each.value for each in read({"abc.txt": "a", "abcd.txt": "b"})] == [True, False]


ASIDE = [
    "__MACOSX/._a.txt",
    ".DS_Store",
    "x/.git/config",
    "x/.hidden.txt",
    "annotation.conf",
    "x/visual.conf",
    "kb_shortcuts.conf",
]
ASIDE += ["README", "x/README.md", "readme.txt", "LICENSE", "License.txt", "manifest.json", "x/"]


def test_what_lies_beside_the_files_is_no_item():
    paths = ["./a.txt", "x/readme_first.txt", "licenses/b.txt", "my manifest.txt", "c.conf.txt"]
    assert [each.place for each in read(dict.fromkeys([*ASIDE, *paths], "text"))] == paths
    assert why_not(dict.fromkeys(ASIDE, "text"))[0] == "An archive has files of one kind to read; here is none."
    assert "here is none" in why_not({})[0]


def test_files_of_one_other_format_are_read_one_after_the_other():
    source = DatasetSource(io.BytesIO(packed({"a.words": "words\none\nwrong\ntwo, 2", "x/b.tsv": "words\n3,3"})))
    found = list(ARCHIVE.read(source))
    assert [each.place for each in found] == [
        "a.words, line 2",
        "a.words, line 3",
        "a.words, line 4",
        "x/b.tsv, line 2",
    ]
    assert found[1].refused.problems[0].place == "a.words, line 3"
    assert found[3].value["original"] == "3,3"
    assert source.left_out == {"commas": 2}


def test_files_of_several_kinds_are_refused_with_one_of_each():
    files = {"a.txt": "a", "b.txt": "b", "c.words": "words", "d.n": "1\n2"}
    assert why_not(files)[0].endswith("here is text (a.txt), Words (c.words) and Numbers (d.n).")


def test_a_file_follows_the_others_of_its_extension_and_empty_ones_are_passed_over():
    files = {"plain.words": "1\na", "x/empty.words": "", "anna.WORDS": "words\none", "odd.words": "other\ntwo"}
    assert [each.value["original"] for each in read(files)] == ["a", "one", "two"]


def test_what_is_packed_is_recognised_by_the_beginnings_of_a_few_files(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "datasets.formats.archives.recognise", lambda start, kind: seen.append(start) or Recognised(WORDS, "")
    )
    assert len(read({f"{number}.words": "words\n" + "one\n" * 20_000 for number in range(9)})) == 180_000
    assert len(seen) < 9 and {len(start.data) for start in seen} == {65_536}


def test_extensions_may_be_in_capitals():
    files = {"A.TXT": "One.", "A.ANN": "T1\tX 0 3\tOne\n", "b.txt": "Two."}
    assert ARCHIVE.seen_in(Beginning(packed(files))) == "texts with brat's marks (.ann)"
    assert [(each.place, len(each.value["entities"])) for each in read(files)] == [("A.TXT", 1), ("b.txt", 0)]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("other", "This is Other. No dataset can be made of it."),
        (b"\x00\x01\x02", "in none of the formats"),
        (b"%PDF-1.7", "This is a PDF."),
        (packed({"a.txt": "a"}), "Take it out of the archive"),
        (packed({"xl/a.xml": "a"}), "Take it out of the archive"),
    ],
)
def test_a_file_that_nothing_can_read_is_told_for_what_it_is(content, told):
    text, place = why_not({"a.words": "words\na", "x.bin": content})
    assert told in text and place == "x.bin"


def test_one_wrong_text_does_not_hide_the_next():
    found = read({"a.txt": "  \n", "b.txt": b"some\0text", "c.txt": "fine"})
    assert [each.place for each in found] == ["a.txt", "b.txt, line 1, column 5", "c.txt"]
    assert [bool(each.refused) for each in found] == [True, True, False]
    assert "the text is empty" in str(found[0].refused)


def test_for_a_wrong_encoding_another_one_can_be_chosen():
    data = packed({"a.txt": "größer".encode("latin-1")})
    with pytest.raises(WrongEncoding) as error:
        read(data)
    assert error.value.problems[0].place == "a.txt, line 1"
    source = DatasetSource(io.BytesIO(data), encoding="latin-1")
    assert [each.value["original"] for each in ARCHIVE.read(source)] == ["größer"]


def test_a_text_may_have_as_many_bytes_as_an_item_has_characters(settings):
    settings.MAX_ITEM_CHARACTERS = 10
    assert [bool(each.refused) for each in read({"a.txt": "😀" * 10, "b.txt": "a" * 41})] == [False, True]


# --- What may be harmful -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["../a.txt", "x/../../a.txt", "/etc/a.txt", "C:\\a.txt", "..\\a.txt", "C:/a.txt", "../README"]
)
def test_paths_that_lead_out_are_refused(path):
    text, place = why_not({"b.txt": "b", path: "a"})
    assert "inside of its archive" in text and place == path


def test_a_path_has_a_limit():
    assert read({f"{'x' * 996}.txt": "a"})
    assert "at most 1\u202f000 characters" in why_not({f"{'x' * 997}.txt": "a"})[0]


def patched(data, flags=None, method=None):
    """With other flags or another method in all headers."""
    for signature, at in (b"PK\3\4", 6), (b"PK\1\2", 8):
        place = data.find(signature)
        while place >= 0:
            if flags is not None:
                data = data[: place + at] + struct.pack("<H", flags) + data[place + at + 2 :]
            if method is not None:
                data = data[: place + at + 2] + struct.pack("<H", method) + data[place + at + 4 :]
            place = data.find(signature, place + 4)
    return data


@pytest.mark.parametrize("flags", [1, 0x20, 0x41])
def test_encrypted_files_are_refused(flags):
    assert "encrypted" in why_not(patched(packed({"a.txt": "text"}), flags))[0]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, 9, 99])
def test_methods_without_a_limit_are_refused(method):
    assert "“Deflate”" in why_not(patched(packed({"a.txt": "text"}), method=method))[0]


def test_what_is_too_large_unpacked_is_refused(settings):
    settings.MAX_FILE_BYTES = 100
    assert len(read({f"{number}.txt": "a" * 100 for number in range(10)})) == 10
    assert why_not({"a.txt": "a" * 101})[1] == "a.txt"
    assert why_not({f"{number}.txt": "a" * 100 for number in range(11)})[1] == "10.txt"


def test_no_more_is_read_than_is_declared():
    data = packed({"a.txt": "a" * 10_000_000})
    size = struct.pack("<L", 10_000_000)
    data = data.replace(size, struct.pack("<L", 1000))
    (found,) = read(data)
    assert found.refused.problems[0].text == "This file of the archive is damaged."


def test_too_many_files_are_refused_before_an_object_is_made_of_each(monkeypatch):
    monkeypatch.setattr("datasets.formats.archives._MOST_FILES", 1000)
    files = {f"{number}.txt": "" for number in range(1001)}
    data = packed(files, zipfile.ZIP_STORED)
    monkeypatch.setattr("datasets.formats.archives.ZipFile", None)
    assert why_not(data)[0] == "An archive has at most 1\u202f000 files."


def test_two_files_of_one_name_are_refused():
    data = packed({"a.txt": "one", "b.txt": "two"}).replace(b"b.txt", b"a.txt")
    assert "in the archive twice" in why_not(data)[0]


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_damaged_file_is_told_and_the_next_is_read(compression):
    text = "".join(map(chr, range(97, 122))) * 3
    data = packed({"a.txt": text, "b.txt": "fine"}, compression)
    at = data.index(b"a.txt") + 10
    found = read(data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :])
    assert [(each.place.split(",")[0], bool(each.refused)) for each in found] == [("a.txt", True), ("b.txt", False)]


def test_a_file_that_lies_outside_of_its_archive_is_refused():
    data = packed({"a.txt": "text"}, zipfile.ZIP_STORED)
    entry, end = data.index(b"PK\1\2"), data.index(b"PK\5\6")
    more = struct.pack("<HHQ", 1, 8, 2**63)  # the place of the file, where 32 bits are too few
    header = data[entry : entry + 30] + struct.pack("<H", len(more)) + data[entry + 32 : entry + 42] + b"\xff" * 4
    tail = data[end : end + 12] + struct.pack("<L", end - entry + len(more)) + data[end + 16 :]
    text, place = why_not(data[:entry] + header + b"a.txt" + more + tail)
    assert "damaged" in text and place == "a.txt"


def test_an_archive_that_is_cut_is_refused():
    data = packed({"a.txt": "text", "b.txt": "text"})
    for size in range(4, len(data) - 1):
        assert "damaged" in why_not(data[:size])[0]


def test_a_file_at_a_time_is_in_memory():
    def peak(count):
        source = DatasetSource(io.BytesIO(packed({f"{number}.txt": "some words " * 2000 for number in range(count)})))
        tracemalloc.start()
        for _ in ARCHIVE.read(source):
            pass
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak(40) < 1.3 * peak(4)


FILES = {"x/a.txt": "Alice met Bob.", "x/a.ann": "T1\tPerson 0 5\tAlice\n", "annotation.conf": "[entities]\nPerson\n"}
SAMPLES = [packed(FILES), packed(FILES, zipfile.ZIP_STORED), packed({"a.words": "words\na\nb"}), packed({"a.txt": "a"})]


@given(
    st.sampled_from(SAMPLES),
    st.lists(st.tuples(st.integers(0, 1000), st.binary(min_size=1, max_size=4)), min_size=1, max_size=6),
)
def test_damaged_archives_are_refused_and_nothing_else(data, damages):
    content = bytearray(data)
    for at, bytes_ in damages:
        at %= len(content)
        content[at : at + len(bytes_)] = bytes_
    ARCHIVE.seen_in(Beginning(bytes(content)))
    try:
        json.dumps([each.place for each in read(bytes(content))])
    except Refused as error:
        assert error.problems[0].text
