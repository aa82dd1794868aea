"""CoNLL-U, the format of the Universal Dependencies, of which the sentences and their tokens are read."""

import re
from functools import partial
from typing import Any

from annotation_service import words
from annotation_service.file_formats import Beginning
from annotation_service.inputs import Refused

from ..kinds import DatasetKind
from ..tokenising import offsets_of
from .conll import first_blocks, sentences
from .dataset_format import DatasetFormat, DatasetSource, found_item

_is_row = re.compile(r"[0-9]+(?:[-.][0-9]+)?(?:\t[^\t]*){9}").fullmatch


def _seen_in(start: Beginning) -> str | None:
    blocks, at_least = first_blocks(start)
    found = [rows for lines in blocks if (rows := [line for line in lines if not line.startswith("#")])]
    right = [rows for rows in found if all(map(_is_row, rows))]
    count = words.plural(len(found), "sentence,sentences")
    return f"10 columns, {at_least}{count}" if 2 * len(right) > len(found) else None


def _sentence(source: DatasetSource, line: int, lines: list[str]) -> dict[str, Any] | None:
    import conllu

    try:
        [sentence] = conllu.parse("\n".join(lines))
    except Exception as error:  # it meets damaged lines with anything
        raise Refused(f"It is damaged: {words.cut(str(error), 200)}", place=f"line {line}") from error
    units, last = list[Any](), -1
    for unit in sentence:
        match unit.get("id"):
            case (_, ".", _):
                source.leave_out("empty nodes")
            case number if not isinstance(number, int) or number > last:  # no word of the multiword token before
                last = number[2] if isinstance(number, tuple) else last
                units.append(unit)
    tokens, given = [unit.get("form") or "" for unit in units], sentence.metadata
    comments = sum(each.startswith("#") for each in lines)
    source.leave_out("comments without a value, or with the name of a later one", comments - len(given))
    original = given.pop("text", "")
    if offsets_of(tokens, original) is None:
        spaces = ["" if (unit.get("misc") or {}).get("SpaceAfter") == "No" else " " for unit in units]
        original = "".join(token + space for token, space in zip(tokens, spaces, strict=True)).rstrip()
    external_id, others = given.pop("sent_id", ""), {name: value or "" for name, value in given.items()}
    return found_item(source, original, tokens, external_id=external_id, extra_fields=others) if tokens else None


CONLL_U = DatasetFormat(
    "conllu",
    "CoNLL-U",
    (".conllu", ".conll-u"),
    _seen_in,
    loses="lemmas, tags, features and trees, the words inside of multiword tokens, and empty nodes",
    read=partial(sentences, read=_sentence),
    kind_of=lambda start: DatasetKind.RICH,
)
