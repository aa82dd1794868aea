"""Which entities are judged together and how they lie, in each of the ways in which that is asked."""

from itertools import combinations_with_replacement, product

from django.db import connection

from resources.spans import IN_REACH, LIE, Lie, Spans, TokenSpan, pairs_of

SPANS = list(combinations_with_replacement(range(5), 2))


def spans():
    return [TokenSpan(*place) for place in SPANS]


def test_how_two_lie_follows_from_the_tokens_that_they_have():
    for one, other in product(spans(), repeat=2):
        mine, others = (set(range(each.start, each.end + 1)) for each in (one, other))
        expected = (
            Lie.EQUAL if mine == others else Lie.AROUND if mine > others else Lie.INSIDE if mine < others else None
        )
        assert Lie.of(one, other) == (expected or (Lie.CROSSING if mine & others else None))


def test_the_database_says_the_same(db):
    values = ", ".join(map(str, SPANS))
    with connection.cursor() as cursor:
        cursor.execute(f"""
            WITH span (start, "end") AS (VALUES {values})
            SELECT e.start, e."end", o.start, o."end", {LIE.format("e", "o")}
              FROM span e JOIN span o ON {IN_REACH.format("e", "o")}
        """)
        found = {(row[:2], row[2:4]): row[4] for row in cursor.fetchall()}
    pairs = product(SPANS, repeat=2)
    assert found == {pair: lie for pair in pairs if (lie := Lie.of(*(TokenSpan(*place) for place in pair)))}


def test_those_that_are_looked_up_are_those_that_lie_so():
    several = spans()
    kept = Spans(several)
    for one in several:
        assert {*map(id, kept.in_reach(one))} == {id(other) for other in several if Lie.of(one, other)}
    pairs = {frozenset((id(one), id(other))) for one, other, _ in pairs_of(several)}
    assert pairs == {
        frozenset((id(one), id(other)))
        for one, other in product(several, repeat=2)
        if one is not other and Lie.of(one, other)
    }
    assert all(place == max(several.index(one), several.index(other)) for one, other, place in pairs_of(several))
