import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from annotation_service import limits
from annotation_service.inputs import (
    Refused,
    check_size,
    clean_description,
    clean_name,
    clean_title,
    decode,
    normalized,
    split_lines,
    whole_number,
)
from annotation_service.json_input import parse_json
from annotation_service.models import fold
from annotation_service.schemas import PUBLISHED, load


def refusal(function, *args):
    with pytest.raises(Refused) as caught:
        function(*args)
    return caught.value.problems[0]


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ('[{"name": "a",}]', "line 1, column 15", "comma before this “}”, but nothing behind it. Remove the comma."),
        ('["a", \n]', "line 2, column 1", "comma before this “]”, but nothing behind it. Remove the comma."),
        ("{name: 1}", "line 1, column 2", "the name of a field in double quotes"),
        ('{"name" 1}', "line 1, column 9", "a colon was expected"),
        ('{\n "a": 1\n "b": 2}', "line 3, column 2", "not JSON"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "$.b", "“c” stands twice"),
        ("[1, NaN]", "line 1, column 5", "NaN"),
        ("[-Infinity]", "line 1, column 2", "-Infinity"),
        ("[9223372036854775808]", "line 1, column 2", "64 bits"),
        ("[" + "9" * 5000 + "]", "line 1, column 2", "64 bits"),
        ("[1e999]", "line 1, column 2", "too large"),
        ('[{"a": "\\ud800"}]', "$[0].a", "surrogate"),
        ('[{"a": "\\u0000"}]', "$[0].a", "NUL"),
        ('[{"\\u0000": 1}]', "$[0]", "NUL"),
        ("[" * 201 + "]" * 201, "line 1, column 201", "too deep"),
        ("[" * 5_000_000, "line 1, column 201", "too deep"),
        ('{"a":' * 201, "line 1, column 1001", "too deep"),
    ],
)
def test_json_is_refused_with_place_and_reason(text, place, reason):
    problem = refusal(parse_json, text)
    assert problem.place == place
    assert reason in problem.text


def test_places_are_those_of_the_file_that_the_text_is_a_part_of():
    for text, place in (
        ("[1,]", "line 7, column 8"),
        ("[1,\r\n NaN]", "line 8, column 2"),
        ("[" * 201, "line 7, column 205"),
    ):
        with pytest.raises(Refused) as caught:
            parse_json(text, line=7, column=5)
        assert caught.value.problems[0].place == place


def test_escapes_are_the_characters_that_they_mean():
    assert parse_json(r'["\\u0000", "\\\ud83d\ude00", "\\ud83d", "\u00e9"]') == [r"\u0000", "\\😀", r"\ud83d", "é"]
    assert refusal(parse_json, r'["\\ud83d\ude00"]').place == "$[0]"


def test_deep_json_is_taken_up_to_the_limit():
    assert parse_json("[" * 200 + "]" * 200)
    assert parse_json("[" * 400 + "]" * 400, 400)


def test_brackets_in_strings_are_not_levels():
    text = json.dumps(["[" * 500, '\\"' + "{" * 500])
    assert parse_json(text) == json.loads(text)


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**63 - 1)
        | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), inner)
        ),
    )
)
def test_whatever_json_can_write_is_read_again(value):
    assert parse_json(json.dumps(value)) == value
    assert parse_json(json.dumps(value, ensure_ascii=False)) == value


@pytest.mark.parametrize(
    ("data", "place", "reason"),
    [
        (b"good\nM\xfcller\n", "line 2", "0xfc is not UTF-8"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "line 1", "not a text file"),
        (b"a\nb\0c", "line 2, column 2", "NUL"),
        (b"", "", "empty"),
        (b" \n\t\r\n", "", "empty"),
        (b"\xef\xbb\xbf", "", "empty"),
    ],
)
def test_bytes_are_refused_with_place_and_reason(data, place, reason):
    problem = refusal(decode, data)
    assert problem.place == place
    assert reason in problem.text


def test_a_byte_order_mark_is_no_text():
    assert decode(b"\xef\xbb\xbfabc") == "abc"


def test_only_lf_crlf_and_cr_end_a_line():
    inside = "a\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029b"
    assert list(split_lines(f"{inside}\nc\r\nd\re")) == [inside, "c", "d", "e"]
    assert list(split_lines("a\n\nb\n")) == ["a", "", "b"]


@given(st.lists(st.text(st.characters(exclude_characters="\r\n"))))
def test_joined_lines_come_apart_again(parts):
    assert list(split_lines("".join(f"{part}\n" for part in parts))) == parts


def test_sizes_are_refused_in_words():
    assert "2 MB; the limit is 1 MB" in refusal(check_size, 2_000_000, 1_000_000).text


@pytest.mark.parametrize(
    ("name", "reason"),
    [("", "needed"), ("  ", "needed"), ("a/b", "/"), ("a\tb", "control"), ("x" * 201, "200"), ("a\x7fb", "control")],
)
def test_names_are_refused_with_the_rule(name, reason):
    assert reason in refusal(clean_name, name).text


UNSEEN = {
    "zero width": "\u200b\u200d\u2060\ufeff",
    "direction": "\u200e\u200f\u061c",
    "soft hyphen": "\u00ad",
    "blank letters": "\u3164\u115f\uffa0",
    "blank pattern": "\u2800",
    "accents without a letter": "\u0301\u20dd\ufe0f",
    "tags": "\U000e0041\U000e007f",
    "spaces between": "\u200b\u3000\u200b",
}


@pytest.mark.parametrize("name", UNSEEN.values(), ids=UNSEEN.keys())
def test_names_that_nobody_can_see_are_refused(name):
    for clean in (clean_name, clean_title):
        assert "nothing to see" in refusal(clean, name).text


@pytest.mark.parametrize("char", "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
def test_names_do_not_turn_the_text_beside_them(char):
    assert f"U+{ord(char):04X}" in refusal(clean_title, f"in{char}voice").text


SEEN = ["می\u200cخواهم", "👩\u200d🔧", "❤\ufe0f", "שלום\u200f!", "क्\u200dष", "…", "한글", "1", "\U0001facd"]


@pytest.mark.parametrize("name", SEEN)
def test_names_in_any_script_and_of_signs_are_taken(name):
    assert clean_title(name) == name


def test_titles_may_have_a_slash_and_names_of_labels_may_not():
    assert clean_title("2024/25 orders") == "2024/25 orders"
    assert "/" in refusal(clean_name, "2024/25 orders").text


def test_names_are_normalised_and_stripped():
    assert clean_name("  Cafe\u0301 ") == "Café"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("007", 7),
        ("9" * 18, 10**18 - 1),
        *((odd, None) for odd in ("9" * 19, "", "-1", "1.5", "²", "٣", "1_0", " 1")),
    ],
)
def test_a_number_is_written_in_digits(text, number):
    assert whole_number(text) == number


def test_a_number_has_as_many_digits_as_its_column_holds():
    assert (whole_number("123", digits=3), whole_number("1234", digits=3)) == (123, None)


def test_a_published_schema_has_the_numbers_of_the_settings(settings):
    settings.MAX_NAME_CHARACTERS, settings.MAX_DESCRIPTION_CHARACTERS, settings.MAX_LEVELS = 300, 20_000, 7
    properties = load(PUBLISHED["entity_ontology"])["$defs"]["item"]["properties"]
    assert (properties["name"]["maxLength"], properties["description"]["maxLength"]) == (300, 20_000)
    assert "up to 7 levels" in properties["children"]["description"]


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_no_number_is_missing_in_a_published_schema(name):
    Draft202012Validator.check_schema(schema := load(PUBLISHED[name]))
    assert "MAX_" not in json.dumps(schema)


def test_no_migration_depends_on_a_limit_of_the_environment():
    changeable = re.findall(r"^(\w+) = env_int", Path(limits.__file__).read_text(), re.MULTILINE)
    environment = {**os.environ, **dict.fromkeys(changeable, "123")}
    command = [sys.executable, "manage.py", "makemigrations", "--check", "--dry-run"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert len(changeable) > 10 and done.returncode == 0, done.stdout


@pytest.mark.parametrize("clean", [clean_name, clean_title, clean_description, fold, normalized])
def test_a_million_accents_on_one_letter_are_not_put_in_order(clean):
    """That would take half an hour. The test would not come to its end."""
    text = "a" + "\u0301\u0327" * 500_000
    if clean is fold:
        assert len(fold(text)) <= 1000
    else:
        assert "accents" in refusal(clean, text).text


def test_accents_of_a_word_are_put_in_order():
    assert normalized("e\u0301\u0323") == "\u1eb9\u0301"
    assert normalized("a" + "\u0301" * 30) == "\u00e1" + "\u0301" * 29
