"""The registry of file formats, and what a file is, told by its beginning: asked before anything of it is read or refused.

An app adds its formats to `FORMATS`. The first one that recognises a file has it, the special ones before those that take
almost everything.
"""

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from itertools import groupby, islice
from pathlib import Path, PurePath
from typing import IO, Any, ClassVar, NamedTuple

from . import words
from .inputs import Refused, blocks, unicode_encoding
from .json_input.lists import Element, Elements, json_lines

BEGINNING = 1_000_000
# Pieces to look at, blank and broken ones included: explaining what is wrong with each takes long.
_PIECES, _OBJECTS, _OBJECT_CHARACTERS = 1000, 100, 3_000_000

_PACKED = re.compile(rb"PK\x03\x04.{22}(..)..", re.DOTALL)  # stands before each name, and has its length


@dataclass(frozen=True)
class Beginning:
    """The first bytes of a file or of a pasted text, and the name of the file; ``encoding`` if somebody has chosen one. ``path``
    is for formats that do not begin at the beginning."""

    data: bytes
    name: str = ""
    encoding: str = ""
    path: Path | None = None

    @classmethod
    def of(cls, path: Path, name: str, encoding: str = "") -> "Beginning":
        with path.open("rb") as file:
            return cls(file.read(BEGINNING), name, encoding, path)

    def opened(self) -> IO[bytes]:
        """As much of the file as there is."""
        return self.path.open("rb") if self.path else BytesIO(self.data)

    @property
    def extension(self) -> str:
        return PurePath(self.name).suffix.lower()

    @cached_property
    def text(self) -> str:
        """Whatever its encoding, with what is no text in it replaced; lines end with LF. It may break off anywhere."""
        encoding = self.encoding or unicode_encoding(self.data) or "utf-8-sig"
        data = self.data.removeprefix(codecs.BOM_UTF8) if self.encoding else self.data
        text = codecs.getincrementaldecoder(encoding)("replace").decode(data)
        return text.replace("\r\n", "\n").replace("\r", "\n")

    @cached_property
    def lines(self) -> list[str]:
        """Without the last one, if it may have been cut."""
        lines = self.text.split("\n")
        return lines[:-1] if len(self.data) >= BEGINNING or not lines[-1] else lines

    @cached_property
    def is_json(self) -> bool:
        return self.text.lstrip()[:1] in ("[", "{")

    @cached_property
    def packed_names(self) -> list[str]:
        """Of the files in a zip archive, as they stand before these: the list of them is at the end."""
        headers = islice(_PACKED.finditer(self.data), 5000)
        places = ((match.end(), match.end() + int.from_bytes(match[1], "little")) for match in headers)
        return [self.data[first:end].decode("utf-8", "replace") for first, end in places]

    @cached_property
    def objects(self) -> list[dict[str, Any]]:
        """The first objects of a JSON list or of JSON Lines, or the only one."""
        if not self.is_json:
            return []
        if self.text.lstrip().startswith("["):
            return list(_objects(Elements([self.text], _OBJECT_CHARACTERS)))
        lines = list(_objects(json_lines([self.text], _OBJECT_CHARACTERS)))
        return lines or list(
            _objects(Elements(["[", self.text, "]"], _OBJECT_CHARACTERS))
        )  # one object over many lines


def _objects(pieces: Iterable[Element]) -> Iterator[dict[str, Any]]:
    objects = (piece.value for piece in islice(pieces, _PIECES) if isinstance(piece.value, dict))
    with suppress(Refused):  # the text ends before the document does
        yield from islice(objects, _OBJECTS)


class ReadingChoice(NamedTuple):
    """Something that can be chosen about how a file is read: the values with what they mean, and the one that is usual."""

    name: str
    label: str
    choices: Mapping[str, str]
    default: str
    note: str = ""


@dataclass(frozen=True)
class FileFormat:
    """``seen_in`` tells in words what a file of this format has in it, such as “2 columns, 14 sentences, tags PER, LOC”; nothing
    if it has another format. ``loses`` are the things that the format has no place for, as the list of formats and the help say
    it. ``settings`` are offered for a file that begins like this."""

    name: str
    """As commands call it."""
    label: str
    extensions: tuple[str, ...]
    seen_in: Callable[[Beginning], str | None]
    is_general: bool = field(default=False, kw_only=True)
    """Whether files of almost any content have this format, so that it is asked last, and not by what wants another kind."""
    article: str = field(default="", kw_only=True)
    """What stands before the label in a sentence, such as “a ”."""
    loses: str = field(default="", kw_only=True)
    settings: Callable[[Beginning], list[ReadingChoice]] = field(default=lambda start: [], kw_only=True)

    noun: ClassVar[str] = ""
    """What is made of such a file, with its article."""

    read: Callable[..., Any] | None = field(default=None, kw_only=True)
    write: Callable[..., Any] | None = field(default=None, kw_only=True)

    @property
    def title(self) -> str:
        """The label as lists have it; the names of programs are written as they are."""
        is_common_word = self.article or self.is_general
        return self.label[:1].upper() + self.label[1:] if is_common_word else self.label

    @property
    def ways(self) -> list[str]:
        """“in” and “out”, as far as it goes there."""
        return [way for way, done in (("in", self.read), ("out", self.write)) if done]


FORMATS: list[FileFormat] = []


def by_noun() -> list[tuple[str, list[FileFormat]]]:
    """All formats by what is made of them, sorted by what people call them."""
    order = sorted(FORMATS, key=lambda each: (each.noun, each.label.casefold()))
    return [(noun, list(formats)) for noun, formats in groupby(order, key=lambda each: each.noun)]


class Recognised(NamedTuple):
    """What a file is. Without a format nothing here can read it, and ``seen`` says what it is and what to do."""

    format: FileFormat | None
    seen: str

    def __str__(self) -> str:
        if self.format is None:
            return self.seen
        return f"This is {self.format.article}{self.format.label}{f': {self.seen}' if self.seen else ''}."


# What the beginning of a file that nothing can read looks like, what it is, and what to do.
_OFFICE = "Save it as a table (XLSX or CSV) or as plain text."
_UNREADABLE: list[tuple[bytes, str, str]] = [
    (b"%PDF", "a PDF", "Take the text out of it first, for example with pdftotext."),
    (b"{\\rtf", "a document in Rich Text Format", "Save it as plain text."),
    (b"\xd0\xcf\x11\xe0", "a document of an old office program (XLS, DOC or PPT)", _OFFICE),
    (b"PAR1", "a Parquet file", "Write it as CSV or JSON Lines, for example with pandas."),
    (b"ARROW1", "an Arrow file", "Write it as CSV or JSON Lines, for example with pandas."),
    (b"SQLite format 3", "an SQLite database", "Export a table of it as CSV."),
    (b"\x1f\x8b", "a gzip archive", "Unpack it first; of archives only zip is read."),
    (b"BZh", "a bzip2 archive", "Unpack it first; of archives only zip is read."),
    (b"\xfd7zXZ", "an xz archive", "Unpack it first; of archives only zip is read."),
    (b"7z\xbc\xaf", "a 7-Zip archive", "Unpack it first; of archives only zip is read."),
    (b"Rar!", "a RAR archive", "Unpack it first; of archives only zip is read."),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive", "Unpack it first; of archives only zip is read."),
    (b"\x89PNG", "a picture (PNG)", "Only texts can be annotated."),
    (b"\xff\xd8\xff", "a picture (JPEG)", "Only texts can be annotated."),
    (b"GIF8", "a picture (GIF)", "Only texts can be annotated."),
    (b"\x80\x04\x95", "a Python pickle", "Write it as JSON Lines or CSV."),
    (b"\x93NUMPY", "a NumPy array", "Write it as CSV."),
]
_SPACY = "a spaCy DocBin", "Write it as JSON Lines with docs_to_json, or as one of the formats that the help lists."
_ZIPPED = [  # what a zip archive that is a document has in it
    (b"word/", "a Word document (DOCX)", "Save it as plain text."),
    (b"ppt/", "a presentation (PPTX)", "Save it as plain text."),
    (b"mimetypeapplication/vnd.oasis.opendocument", "an OpenDocument file", "Save it as XLSX, CSV or plain text."),
    (b"mimetypeapplication/epub", "an e-book (EPUB)", "Save it as plain text."),
]


_CONTROLS = re.compile("[\0-\x1f\x7f]")


def recognise(start: Beginning, kind: type[FileFormat]) -> Recognised:
    """What a file is that somebody wants to read by a format of a kind; one of another kind is told for what it is."""
    if reason := _unreadable(start):
        return Recognised(None, "This is {}. {}".format(*reason))
    order = sorted(FORMATS, key=lambda each: (each.is_general, not isinstance(each, kind)))
    for format in order:
        if isinstance(format, kind) or not format.is_general:
            seen = format.seen_in(start)
            if seen is not None:
                return Recognised(format, words.cut(_CONTROLS.sub("�", seen), 800))
    return Recognised(None, "This is not a text file, and in none of the formats that the help lists.")


def _unreadable(start: Beginning) -> tuple[str, str] | None:
    data = start.data
    for signature, what, advice in _UNREADABLE:
        if data.startswith(signature):
            return what, advice
    if start.extension == ".spacy" or data[:2] in (b"x\x9c", b"x\xda", b"x\x01"):  # msgpack in a zlib stream
        return _SPACY
    if data.startswith(b"PK"):
        return next(((what, advice) for sign, what, advice in _ZIPPED if sign in data), None)
    if data[257:262] == b"ustar":
        return "a tar archive", "Pack its files as a zip archive instead."
    return None


def named(name: str, kind: type[FileFormat]) -> FileFormat:
    """The format of a kind with this name."""
    if found := next((each for each in FORMATS if isinstance(each, kind) and each.name == name), None):
        return found
    raise Refused(f"“{words.cut(name, 40)}” is not a format that can be read here.")


# --- A file that is read -------------------------------------------------------------------------------------------------------


@dataclass
class FileSource:
    """A file that is being read by a format. ``chosen`` are the settings of the format by their names; ``left_out`` counts what
    is not read, in words such as “discontinuous entities”."""

    file: IO[bytes]
    name: str = ""
    encoding: str = ""
    chosen: Mapping[str, str] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)

    def blocks(self) -> Iterator[str]:
        """Its text; lines end with LF. Raises `Refused`, naming the line, for what is no text in the encoding."""
        return blocks(self.file, self.encoding)

    def leave_out(self, what: str, count: int = 1) -> None:
        if count:
            self.left_out[what] = self.left_out.get(what, 0) + count
