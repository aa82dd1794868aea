"""What may come in as text, what may not, and that a refused text leaves nothing behind."""

import pytest
from django.core.files.base import ContentFile

from annotation_service.inputs import Refused, check_text
from datasets.importing import storage
from datasets.models import Annotation, Dataset, Item, Upload
from datasets.tokenising import TOKENISERS
from tests import factories

REFUSED = {
    "NUL": (b"fine\na\0b\n", "line 2, column 2", "NUL"),
    "Latin-1": ("fine\nnaïve\n".encode("latin-1"), "line 2", "not UTF-8"),
    "cut character": ("fine\n€".encode()[:-1], "line 2", "not UTF-8"),
    "lone surrogate": (b"fine\n\xed\xa0\x80\n", "line 2", "not UTF-8"),
    "empty": (b"", "", "empty"),
    "only a BOM": (b"\xef\xbb\xbf", "", "empty"),
    "only blank lines": (b"\n \n\t\r\n\n", "", "empty"),
    "binary": (bytes(range(256)), "line 3", "not a text file"),
}

ACCEPTED = {
    "BOM": (b"\xef\xbb\xbffine\n", ["fine"]),
    "CRLF": (b"a\r\nb\r\n", ["a", "b"]),
    "UTF-16, little": ("fine\n".encode("utf-16-le"), ["fine"]),
    "UTF-16 with BOM": ("fine\r\nM\xfcller".encode("utf-16"), ["fine", "M\xfcller"]),
    "UTF-16, big, with BOM": (b"\xfe\xff" + "fine\n".encode("utf-16-be"), ["fine"]),
    "UTF-32": ("fine".encode("utf-32"), ["fine"]),
    "CR": (b"a\rb\r", ["a", "b"]),
    "mixed line ends": (b"a\nb\r\nc\rd", ["a", "b", "c", "d"]),
    "no line end at the end": (b"a\nb", ["a", "b"]),
    "blank lines between": (b"\n\na\n \n\t\nb\n\n", ["a", "b"]),
    "white space around": (b"  a b  \n", ["  a b  "]),
    "one character": (b"a", ["a"]),
    "other separators": (
        "a\u2028b\u2029c\x0bd\x0ce\x85f\x1cg\x1dh\x1ei\n".encode(),
        ["a\u2028b\u2029c\x0bd\x0ce\x85f\x1cg\x1dh\x1ei"],
    ),
    "astral, combining, right to left": (
        "😀 e\u0301 \u202eabc\u202c 👩‍👩‍👧\n".encode(),
        ["😀 e\u0301 \u202eabc\u202c 👩‍👩‍👧"],
    ),
    "quotes, backslashes, tabs": (b'a "b" \\n \\\\ \t c\\\n', ['a "b" \\n \\\\ \t c\\']),
    "what COPY takes for an end": (b"\\.\n\\N\n", ["\\.", "\\N"]),
    "control characters": (b"a\x01b\x7fc\x1bd\n", ["a\x01b\x7fc\x1bd"]),
}


def nothing_is_stored():
    return not (Dataset.objects.exists() or Item.with_removed.exists() or Annotation.objects.exists())


def upload(data, alice, **preprocessing):
    options = {"kind": "standard", "format": "text", "name": "x", **preprocessing}
    return Upload.begin(ContentFile(data, "x.txt"), by=alice, options=options)


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_file_is_refused_with_its_place(alice, case):
    data, place, text = REFUSED[case]
    bad = upload(data, alice)
    [problem] = bad.examine().problems.first
    assert problem.place.startswith(place) and text in problem.text
    with pytest.raises(Refused) as refused:
        bad.store()
    assert refused.value.problems == [problem]
    assert nothing_is_stored()


@pytest.mark.parametrize("tokeniser", ["whitespace", "punkt"])
@pytest.mark.parametrize("case", ACCEPTED)
def test_a_good_file_is_stored_as_it_is(alice, case, tokeniser):
    data, originals = ACCEPTED[case]
    items = list(upload(data, alice, tokeniser=tokeniser).store().items())
    assert [item.original for item in items] == originals
    for item in items:
        assert item.tokens == [item.original[start:end] for start, end in item.offsets]
        assert "".join(item.tokens) == "".join(item.original.split())
        assert item.search_text == " ".join(item.original.split()).casefold()
        assert (item.external_id, item.extra_fields, item.removed_at) == ("", {}, None)


def test_pasted_text_with_half_a_surrogate_pair_is_refused():
    with pytest.raises(Refused):
        check_text("a\ud800b")


def test_tokens_that_need_escapes_in_json_come_back(alice):
    text = 'say "no" to C:\\new\\table \x01\x02 ],[ "],["\n'
    item = factories.dataset(owner=alice, text=text).items().get()
    assert item.tokens == text.split()


def test_the_figures_of_a_dataset_are_those_of_its_items(alice):
    good = upload(b"a b\n\na b\n*\nc\n", alice, remove_duplicates="identical", remove_characters="*")
    dataset = good.store()
    assert (dataset.item_count, dataset.token_count) == (2, 3)
    assert [item.position for item in dataset.items()] == [0, 1]
    good.refresh_from_db()
    found = "2 items, 3 tokens, 1 blank line skipped, 1 text identical to another, 1 duplicate dropped"
    assert good.found.in_words() == f"{found}, 1 line without a token dropped"


@pytest.mark.parametrize("phase", ["add", "store"])
def test_a_failure_in_the_middle_leaves_nothing(alice, monkeypatch, phase):
    class Broken(Exception):
        pass

    spool = storage.Spool
    original = getattr(spool, phase)

    def half(self, *args):
        if phase == "store":
            original(self, *args)
        raise Broken

    monkeypatch.setattr(spool, phase, half)
    with pytest.raises(Broken):
        factories.dataset(owner=alice)
    assert nothing_is_stored()
    monkeypatch.undo()
    assert factories.dataset(owner=alice).items().count() == 3


def test_a_line_that_is_too_long_is_never_cut_into_tokens(alice, settings, monkeypatch):
    settings.MAX_ITEM_CHARACTERS = 10
    cut = []
    punkt = TOKENISERS["punkt"]
    monkeypatch.setitem(TOKENISERS, "punkt", punkt._replace(cut=lambda lines: cut.extend(lines) or punkt.cut(lines)))
    text = "short\n" + "x" * 11 + "\nnot any more\nnor I\n" + "y" * 13 + "\n"
    with pytest.raises(Refused) as refused:
        factories.dataset(owner=alice, text=text, tokeniser="punkt")
    assert [problem.place for problem in refused.value.problems] == ["line 2", "line 3", "line 5"]
    assert cut == ["short", "nor I"]


def test_after_a_line_with_too_many_tokens_the_others_are_only_measured(alice, settings, monkeypatch):
    settings.MAX_ITEM_CHARACTERS, settings.MAX_ITEM_TOKENS = 10, 2
    spooled = []
    monkeypatch.setattr(storage.Spool, "add", lambda self, items: spooled.extend(items))
    text = "a b c\n" + "fine\n" * 250 + "x" * 11 + "\n"  # more lines than are cut at once
    with pytest.raises(Refused) as refused:
        factories.dataset(owner=alice, text=text)
    assert [problem.place for problem in refused.value.problems] == ["line 1", "line 252"]
    assert spooled == []
