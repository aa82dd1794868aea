"""Documents that are refused, and are made to take as much time and memory as their size allows."""

import json


def filled(begin, part, end, size):
    """A document of about the size, from a beginning, as many parts as fit, and an end that makes it wrong."""
    begin, part, end = begin.encode(), part.encode(), end.encode()
    return begin + part * ((size - len(begin) - len(end)) // len(part)) + end


def numbered(row, size, end, most):
    """A list of good rows, as many as fit or are allowed, each with its number, and the end."""
    parts, length = [], 0
    for number in range(most):
        parts.append(row(number))
        length += len(parts[-1].encode()) + 1
        if length > size - len(end) - 300:
            break
    return ("[" + ",".join(parts) + end).encode()


def ontology_item(number, **fields):
    return json.dumps({"name": f"Label {number}", **fields}, ensure_ascii=False)


BROKEN = ',{"name":"a/b"}]'
ONTOLOGIES = {
    "empty objects": lambda size: filled("[", "{},", "{}]", size),
    "empty lists": lambda size: filled("[", "[],", "[]]", size),
    "numbers": lambda size: filled("[", "1,", "1]", size),
    "brackets": lambda size: b"[" * size,
    "one long text": lambda size: filled('["', "x", '"]', size),
    "one long name": lambda size: filled('[{"name":"', "\U0001f600", '"}]', size),
    "a text that does not end": lambda size: filled('[{"name":"', "x", "", size),
    "short names, one too many": lambda size: numbered(lambda n: f'{{"name":"{n}"}}', size, BROKEN, 60_000),
    "levels": lambda size: filled("", '[{"name":"a","children":', "", size),
    "50,000 items, the last one wrong": lambda size: numbered(
        lambda n: ontology_item(n, description="é" + "d" * (size // 50_000 - 70)), size, BROKEN, 49_999
    ),
    "50,000 long names": lambda size: numbered(
        lambda n: ontology_item(f"\U0001f600{n}{'n' * 180}"), size, BROKEN, 49_999
    ),
    "descriptions with an emoji": lambda size: numbered(
        lambda n: ontology_item(n, description="\U0001f600" + "d" * 9990), size, BROKEN, 49_999
    ),
    "example terms": lambda size: numbered(
        lambda n: ontology_item(n, example_terms=[f"{t:03}" for t in range(size // 50_000 // 7)]), size, BROKEN, 49_999
    ),
    "one list of example terms": lambda size: filled('[{"name":"a","example_terms":["a"', ',"ab"', "]}]", size),
    "paths": lambda size: numbered(
        lambda n: ontology_item(n, path=list(range(size // 50_000 // 5))), size, BROKEN, 49_999
    ),
    "many mistakes": lambda size: numbered(
        lambda n: ontology_item(n, color="red", id=1, active=0, path={}), size, "]", 49_999
    ),
    "combining marks": lambda size: filled('[{"name":"', "\u0301\u0327", '"}]', size),
    "descriptions of combining marks": lambda size: numbered(
        lambda n: ontology_item(n, description="\u0301\u0327" * 4999), size, "]", 49_999
    ),
}
LISTS = {
    "blank lines": lambda size: b"\n" * (size - 1) + b"/",
    "short lines": lambda size: filled("", "a\n", "", size),
    "empty objects": lambda size: filled("x\n", "{},\n", "", size),
    "one long line": lambda size: b"x" * size,
    "slashes": lambda size: b"a/" * (size // 2),
    "paths": lambda size: b"".join(b"%d" % n + b"/a" * 190 + b"\n" for n in range(size // 390)),
    "spaces": lambda size: b" " * (size - 2) + b"/x",
    "combining marks": lambda size: filled("", "\u0301\u0327", "", size),
    "50,000 names, the last one wrong": lambda size: (
        "".join(f"Label {n} {'n' * (size // 50_000 - 15)}\n" for n in range(49_999)).encode() + b"x" * 201
    ),
    "digits": lambda size: b"1." * (size // 2),
}


RESOURCES = {
    "entity_constraints": {
        "empty objects": lambda size: filled("[", "{},", "{}]", size),
        "empty lists": lambda size: filled("[", "[],", "[]]", size),
        "brackets": lambda size: b"[" * size,
        "one long list": lambda size: filled('[{"domain":"State","excludes":["State"', ',"State"', "]}]", size),
        "a list of empty lists": lambda size: filled('[{"domain":"State","excludes":[[]', ",[]", "]}]", size),
        "a long unknown label": lambda size: filled('[{"excludes":[],"domain":"', "x", '"}]', size),
        "labels of accents": lambda size: numbered(
            lambda n: '{"excludes":[],"domain":"%s"}' % ("\u0301\u0327" * 50_000), size, "]", 200_000
        ),
    },
    "entity_preannotations": {
        "too many rows": lambda size: numbered(
            lambda n: f'{{"surface_form":"{n}","label":"State"}}', size, ",{}]", 200_000
        ),
        "the last row wrong": lambda size: numbered(
            lambda n: f'{{"surface_form":"{n}{"x" * (size // 200_000 - 45)}","label":"State"}}', size, ",{}]", 199_999
        ),
        "unknown labels": lambda size: numbered(
            lambda n: f'{{"surface_form":"{n}","label":"{n}{"y" * 20}"}}', size, "]", 199_999
        ),
    },
}
