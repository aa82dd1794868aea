import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation_service.words import added_and_dropped, cut, difference, excerpt


@pytest.mark.parametrize(("text", "short"), [("", ""), ("abcde", "abcde"), ("abcdef", "abcd…")])
def test_a_long_text_is_cut(text, short):
    assert cut(text, 5) == short


@pytest.mark.parametrize(
    ("text", "wanted", "found"),
    [
        ("Pump leaks", "pump", ("", "Pump", " leaks")),
        ("a Pump", " PUMP ", ("a ", "Pump", "")),
        ("ßß Pump ß", "pump", ("ßß ", "Pump", " ß")),
        ("Maß", "ss", ("Ma", "ß", "")),
        ("1234567 x 1234567", " x ", ("…34567 ", "x", " 1234…")),
        ("Pump", "oil", None),
        ("Pump", " ", None),
    ],
)
def test_an_excerpt_is_the_text_around_what_is_searched_for(text, wanted, found):
    assert excerpt(text, wanted, before=6, after=6) == found


def test_an_excerpt_is_the_whole_text_unless_it_is_limited():
    assert excerpt("x" * 500 + "Pump" + "y" * 500, "PUMP") == ("x" * 500, "Pump", "y" * 500)


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("", "New words", ("", "", "New words", "")),
        ("Old words", "", ("", "Old words", "", "")),
        ("The old pump leaks", "The new pump leaks", ("The", "old", "new", "pump …")),
        ("A very long pump leaks", "A very long pump drips", ("…ng pump", "leaks", "drips", "")),
        ("one two", "one two two", ("one two", "", "two", "")),
        ("a\nb", "a c\nb", ("a", "", "c", "b")),
        ("abcdefghijklmn", "x", ("", "abcdefghi…", "x", "")),
    ],
)
def test_a_difference_is_the_words_that_differ_with_a_little_around_them(before, after, found):
    assert difference(before, after, around=7, most=10) == found


@given(st.text("ab \n"), st.text("ab \n"))
def test_a_difference_has_all_words_of_both_texts(before, after):
    found = difference(before, after, around=10_000, most=10_000)
    assert f"{found.start} {found.before} {found.end}".split() == before.split()
    assert f"{found.start} {found.after} {found.end}".split() == after.split()


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [([], ["a"], "+ a"), (["a", "b"], ["c", "d", "b"], "+ c and d, − a"), (["a", "b"], ["b", "a"], "in another order")],
)
def test_lists_differ_by_what_came_and_went(before, after, text):
    assert added_and_dropped(before, after) == text
