"""Zip archives: of texts, of texts with brat's marks, or of files of one other format. Nothing is unpacked to the disk: one file
after the other is read where it is, and no more of it than the archive declares."""

import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from posixpath import basename, splitext
from typing import IO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from django.conf import settings

from annotation_service import words
from annotation_service.file_formats import Beginning, ReadingChoice, recognise
from annotation_service.inputs import Refused, WrongEncoding, check_size, size_of
from annotation_service.json_input.lists import Element

from ..kinds import DatasetKind
from .brat import Types, labels_of_conf, read_document
from .dataset_format import DatasetFormat, DatasetSource, element, item_by_characters, refused_element

_MOST_FILES, _MOST_PATH_CHARACTERS = 200_000, 1000
_FILES_LOOKED_AT, _BYTES_LOOKED_AT = 5, 65_536  # of each extension, and of each of these
_ENCRYPTED = 0x61  # three flags: encrypted, patched, strongly encrypted
_DAMAGES = (BadZipFile, zlib.error, EOFError, OSError, UnicodeError)
# Directories, what is hidden or of the Finder, what tells about the files, what configures brat, and what helps other programs.
_ASIDE = re.compile(
    r"(?i)(^|/)($|\.[^/]|__MACOSX/|[^/]*\.(conf|py)$|manifest\.json$|TypeSystem\.xml$|(readme|licen[cs]e)(\.[^./]*)?$)"
)
_OF_TEXTS = (".txt", ".ann")
_OFFICE = ("xl/", "word/", "ppt/", "mimetype", "[Content_Types].xml")
_TEXTS, _MARKED_TEXTS = "texts (.txt)", "texts with brat's marks (.ann)"
_KINDS = {_TEXTS: DatasetKind.RICH, _MARKED_TEXTS: DatasetKind.PREANNOTATED_RELATION}
_ITEMS = ReadingChoice("texts", "Items", {"file": "each file", "lines": "each line of a file"}, "file")


def _seen_in(start: Beginning) -> str | None:
    names = start.packed_names
    if not start.data.startswith((b"PK\3\4", b"PK\5\6")) or any(name.startswith(_OFFICE) for name in names):
        return None
    suffixes = {words.cut(_extension(name), 20) for name in names if name.isprintable() and not _ASIDE.search(name)}
    if ".ann" in suffixes:
        return _MARKED_TEXTS
    return _TEXTS if suffixes == {".txt"} else words.cut(f"files {words.listed(sorted(suffixes))}", 80).strip()


def _extension(path: str) -> str:
    return splitext(path)[1].casefold()


def _archive(file: IO[bytes]) -> ZipFile:
    """Raises `Refused` for one that is damaged, or may take too much."""
    file.seek(0)
    # Before an object is made of each: those of 100 MB would take 1 GB.
    if sum(block.count(b"PK\1\2") for block in iter(partial(file.read, 1 << 20), b"")) > _MOST_FILES:
        raise Refused(f"An archive has at most {words.number(_MOST_FILES)} files.")
    try:
        archive = ZipFile(file)
    except (*_DAMAGES, ValueError, NotImplementedError) as error:
        raise Refused("This zip archive is damaged: the list of its files cannot be read.") from error
    most, size, unpacked, why = settings.MAX_FILE_BYTES, size_of(file), 0, ""
    for member in archive.filelist:
        parts = member.filename.replace("\\", "/").split("/")
        unpacked += member.file_size
        if ".." in parts or parts[0] == "" or parts[0].endswith(":") or len(member.filename) > _MOST_PATH_CHARACTERS:
            why = (
                f"A file has a path inside of its archive, of at most {words.number(_MOST_PATH_CHARACTERS)} characters."
            )
        elif member is not archive.NameToInfo[member.filename]:
            why = "This file is in the archive twice."
        elif member.flag_bits & _ENCRYPTED:
            why = "This file is encrypted. Pack it without a password."
        elif not 0 <= member.header_offset < size:
            why = "This zip archive is damaged: this file lies outside of it."
        elif member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            why = "This file is packed in a way that is not read here. Pack it with “Deflate”, as is usual."
        elif member.file_size > most or unpacked > 10 * most:
            why = f"Unpacked, a file has at most {words.size(most)}, and all of them {words.size(10 * most)}."
        if why:
            raise Refused(why, place=words.cut(member.filename, 200))
    return archive


@contextmanager
def _opened(archive: ZipFile, path: str, source: DatasetSource) -> Iterator[DatasetSource]:
    """A file of the archive as a source of its own. What is wrong in it names it."""
    try:
        with archive.open(path) as file:
            yield replace(source, file=file, name=path)
    except Refused as refused:
        raise _named(refused, path) from None
    except _DAMAGES as error:
        raise Refused("This file of the archive is damaged.", place=path) from error


def _named(refused: Refused, path: str) -> Refused:
    problem = refused.problems[0]
    return type(refused)(problem.text, place=f"{path}, {problem.place}".removesuffix(", "))


def _read(source: DatasetSource) -> Iterator[Element]:
    archive = _archive(source.file)
    paths = [path for path in archive.namelist() if not _ASIDE.search(path)]
    paths = [path for path in paths if _extension(path) in _OF_TEXTS or archive.getinfo(path).file_size]
    by_extension = defaultdict[str, list[str]](list)
    for path in paths:
        by_extension[_extension(path)].append(path)
    formats: dict[DatasetFormat | None, str] = {}
    for extension, alike in by_extension.items():
        formats.setdefault(None if extension in _OF_TEXTS else _format_of_all(archive, alike, source), alike[0])
    if len(formats) != 1:
        here = words.listed(f"{format.label if format else 'text'} ({path})" for format, path in formats.items())
        raise Refused(f"An archive has files of one kind to read; here is {here or 'none'}.")
    read: Callable[[DatasetSource], Iterable[Element]] = _lines
    if (format := next(iter(formats))) and format.read:
        read = format.read
    elif source.chosen.get("texts") != "lines" or ".ann" in by_extension:
        read = partial(_document, archive, _types(archive, source))
    for number, path in enumerate(paths, 1):
        try:
            with _opened(archive, path, source) as inner:
                for found in read(inner):
                    name = path if found.name == path else f"{path}, {found.place}"
                    yield found._replace(name=name, refused=found.refused and _named(found.refused, path))
        except WrongEncoding:  # another one can be chosen, for all files
            raise
        except Refused as refused:
            yield refused_element("file", number, refused.problems[0].text, name=refused.problems[0].place)


def _format_of_all(archive: ZipFile, paths: list[str], source: DatasetSource) -> DatasetFormat:
    """The format of all files with one extension, told by the first ones: a special one before a general one, for a file without
    a mark looks like less than it is."""
    found: list[DatasetFormat] = []
    refusals: list[Refused] = []
    for path in paths[:_FILES_LOOKED_AT]:
        try:
            found.append(_format_of(archive, path, source))
        except Refused as refused:
            refusals.append(refused)
    if not found:
        raise refusals[0]
    return min(found, key=lambda format: format.is_general)


def _format_of(archive: ZipFile, path: str, source: DatasetSource) -> DatasetFormat:
    with _opened(archive, path, source) as inner:
        start = Beginning(inner.file.read(_BYTES_LOOKED_AT), path, source.encoding)
        found = recognise(start, DatasetFormat)
        if start.data.startswith(b"PK"):
            raise Refused("This is an archive or a document of an office program. Take it out of the archive.")
        if not isinstance(found.format, DatasetFormat) or not found.format.read:
            raise Refused(f"{found} No dataset can be made of it.")
        return found.format


def _lines(source: DatasetSource) -> Iterator[Element]:
    for number, line in source.lines():
        if line.strip():
            yield element("line", number, item_by_characters(source, line))


def _types(archive: ZipFile, source: DatasetSource) -> Types:
    """Of the topmost `annotation.conf`, for a dataset has one ontology."""
    confs = [path for path in archive.namelist() if basename(path) == "annotation.conf"]
    if not confs:
        return labels_of_conf("")
    with _opened(archive, min(confs, key=len), source) as inner:
        check_size(archive.getinfo(inner.name).file_size, settings.MAX_ONTOLOGY_BYTES)
        return labels_of_conf("".join(inner.blocks()))


def _document(archive: ZipFile, types: Types, source: DatasetSource) -> Iterator[Element]:
    """The item of a text, with the marks of the file beside it."""
    stem, other = splitext(source.name)[0], ".txt" if _extension(source.name) == ".ann" else ".ann"
    beside = next((path for path in (stem + other, stem + other.upper()) if path in archive.NameToInfo), "")
    if other == ".txt":
        if not beside:
            raise Refused(f"The text of these marks is missing: {stem}.txt.")
        return
    check_size(archive.getinfo(source.name).file_size, 4 * settings.MAX_ITEM_CHARACTERS)
    text = "".join(source.blocks())
    external_id = stem if len(stem) <= settings.MAX_EXTERNAL_ID_CHARACTERS else ""
    if not text.strip():
        raise Refused("There is nothing in it: the text is empty.")
    if beside:
        with _opened(archive, beside, source) as marks:
            value = read_document(marks, text, types, external_id=external_id)
    else:
        value = item_by_characters(source, text, external_id=external_id)
    yield element("file", 1, value, name=source.name)


ARCHIVE = DatasetFormat(
    "zip",
    "zip archive",
    (".zip",),
    _seen_in,
    is_packed=True,
    article="a ",
    read=_read,
    settings=lambda start: [_ITEMS] if _seen_in(start) == _TEXTS else [],
    kind_of=lambda start: _KINDS.get(_seen_in(start) or ""),
)
