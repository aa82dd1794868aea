"""Workbooks (XLSX) by ECMA-376, of which nothing is there but what readers need."""

from datetime import date
from io import BytesIO
from xml.sax.saxutils import escape, quoteattr
from zipfile import ZIP_DEFLATED, ZipFile

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
DAY_0 = date(1899, 12, 30)


def workbook(**sheets):
    """Sheets by their names: rows of texts, numbers, booleans and dates; a sheet whose name begins with “_” is hidden."""
    types = '<Default Extension="xml" ContentType="application/xml"/>'
    formats = '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
    shown = "".join(map(named, sheets, range(1, 99)))
    targets = {f"r{n}": ("worksheet", f"worksheets/sheet{n}.xml") for n in range(1, len(sheets) + 1)}
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">{types}</Types>',
        "_rels/.rels": relations({"r1": ("officeDocument", "xl/workbook.xml")}),
        "xl/_rels/workbook.xml.rels": relations({"styles": ("styles", "styles.xml")} | targets),
        "xl/styles.xml": f'<styleSheet xmlns="{MAIN}">{formats}</styleSheet>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{shown}</sheets></workbook>',
    }
    for n, rows in enumerate(sheets.values(), 1):
        data = "".join(
            f'<row r="{y}">{"".join(cell(x, y, v) for x, v in enumerate(row))}</row>' for y, row in enumerate(rows, 1)
        )
        parts[f"xl/worksheets/sheet{n}.xml"] = f'<worksheet xmlns="{MAIN}"><sheetData>{data}</sheetData></worksheet>'
    file = BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')
    return file.getvalue()


def relations(targets):
    each = (
        f'<Relationship Id="{id}" Type="{OFFICE}/{kind}" Target="{target}"/>' for id, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{PACKAGE}/relationships">{"".join(each)}</Relationships>'


def named(name, number):
    state = ' state="hidden"' if name.startswith("_") else ""
    return f'<sheet name={quoteattr(name)} sheetId="{number}" r:id="r{number}"{state}/>'


def cell(x, y, value):
    place = f'r="{chr(ord("A") + x)}{y}"'
    if value is None:
        return ""
    if isinstance(value, str):
        return f'<c {place} t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'
    if isinstance(value, bool):
        return f'<c {place} t="b"><v>{int(value)}</v></c>'
    if isinstance(value, date):
        return f'<c {place} s="1"><v>{(value - DAY_0).days}</v></c>'
    return f"<c {place}><v>{value!r}</v></c>"
