"""The cells of a workbook (XLSX) as texts. `annotation_service.apart` runs this in a process without Django."""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_CHARACTERS_AT_ONCE = 100_000


def names(path: Path) -> list[str]:
    """The sheets that are not hidden."""
    from python_calamine import CalamineWorkbook, SheetVisibleEnum

    _check(path)
    sheets = CalamineWorkbook.from_path(path).sheets_metadata
    return [sheet.name for sheet in sheets if sheet.visible == SheetVisibleEnum.Visible]


def rows(path: Path, sheet: str) -> Iterator[list[list[str]]]:
    """All rows of a sheet, else of the first, many at once: each by itself takes three times as long."""
    from python_calamine import CalamineWorkbook

    there = names(path)
    if sheet not in there and (sheet or not there):
        raise ValueError(f"There is no sheet “{sheet}” in this workbook; there are {', '.join(there) or 'none'}.")
    batch: list[list[str]] = []
    size = 0
    for cells in CalamineWorkbook.from_path(path).get_sheet_by_name(sheet or there[0]).iter_rows():
        batch.append(list(map(_text, cells)))
        size += len(cells) + sum(map(len, batch[-1]))
        if size > _CHARACTERS_AT_ONCE:
            yield batch
            batch, size = [], 0
    yield batch


def _check(path: Path) -> None:
    """No spreadsheet writes a document type, which is there for entities. The library passes over it: this says so."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for part in archive.namelist():
                with archive.open(part) as file:
                    if b"<!DOCTYPE" in file.read(_CHARACTERS_AT_ONCE):
                        raise ValueError(
                            "XML with a document type or with entities is not taken. Write it without these."
                        )


def _text(cell: Any) -> str:
    if isinstance(cell, str):
        if "\0" in cell:
            raise ValueError("The NUL character stands in a cell, which is not text. Remove it and try again.")
        return cell.replace("\r\n", "\n").replace("\r", "\n")
    if isinstance(cell, float):
        return f"{cell:.0f}" if cell.is_integer() else repr(cell)
    return cell.isoformat() if hasattr(cell, "isoformat") else str(cell).lower()
