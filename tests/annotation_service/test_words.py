import pytest

from annotation_service.words import cut, excerpt


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
