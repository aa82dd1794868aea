"""What the browser finds when somebody types is what the editor finds, and what they used before comes first."""

import random
from collections import Counter
from collections.abc import Iterator

import pytest

from ontologies.search import Index, rank
from tests import long_names
from tests.soak import amount

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

FIND = """async (cases) => {
  const { Index } = await import("/static/js/annotate/search.js");
  return cases.map(({ names, texts, above, asked }) => {
    const index = new Index(names, texts, above);
    return asked.map((text) => {
      const grade = index.ranker(text);
      return [index.find(text), names.map((_, place) => grade(place))];
    });
  });
}"""

WORDS = [
    "Sensing",
    "Object",
    "sensing",
    "pump",
    "HVAC",
    "Straße",
    "Öl",
    "Σας",
    "2nd",
    "body",
    "İl",
    "of",
    "Électro",
    "ab",
]
JOINS = ["", "", "_", " ", "-", ".", " ("]


class Case:
    """A tree of labels, and what is typed to find them."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.names, self.above = [], []
        path: list[int] = []
        for place in range(chance.randrange(1, 30)):
            del path[chance.randint(0, len(path)) :]
            self.names.append(self.text(3))
            self.above.append(path[-1] if path else None)
            path.append(place)
        self.texts = ["\0".join([name, *(self.text(4) for _ in range(chance.randrange(3)))]) for name in self.names]
        self.asked = [self.question() for _ in range(20)]

    def text(self, most: int) -> str:
        words = self.chance.choices(WORDS, k=self.chance.randint(1, most))
        return "".join(word + self.chance.choice(JOINS) for word in words).strip()

    def question(self) -> str:
        words = [self.word() for _ in range(self.chance.choice([1, 1, 1, 2, 3]))]
        return self.chance.choice([" ", " ", "/", " / ", "//"]).join(words) + self.chance.choice(["", "", "/", " "])

    def word(self) -> str:
        """Of a name: a piece of it, the beginnings of its parts, or one with a typing error."""
        name = self.chance.choice(self.names)
        kind = self.chance.randrange(4)
        start = self.chance.randrange(len(name))
        piece = name[start : start + self.chance.randint(1, 9)]
        if kind == 0:
            return piece.lower()
        if kind == 1:
            letters = list(name)
            letters[start] = self.chance.choice(["x", "", letters[start] * 2])
            return "".join(letters)
        if kind == 2:
            return "".join(word[:2].capitalize() for word in name.replace("_", " ").split())
        return piece

    def for_browser(self) -> dict:
        above = [-1 if parent is None else parent for parent in self.above]
        return {"names": self.names, "texts": self.texts, "above": above, "asked": self.asked}

    def expected(self) -> Iterator[list]:
        index = Index(self.names, self.texts, self.above)
        for text in self.asked:
            yield [index.find(text), [rank(text, name) for name in self.names]]


def test_the_browser_finds_what_the_editor_finds(page):
    page.goto("/accounts/login/")
    cases = [Case(random.Random(seed)) for seed in range(amount(100, 3000))]
    answers = page.evaluate(FIND, [case.for_browser() for case in cases])
    hits = 0
    for seed, (case, found) in enumerate(zip(cases, answers, strict=True)):
        for text, said, expected in zip(case.asked, found, case.expected(), strict=True):
            assert said == expected, (seed, text, case.names)
            hits += bool(expected[0])
    assert hits > len(cases)


def test_many_capitals_are_looked_for_in_many_capitals_at_once(page):
    page.goto("/accounts/login/")
    case = Case(random.Random(0))
    case.names, case.texts, case.above = ["A" * 200, "aA1" * 60], ["A" * 200, "aA1" * 60], [None, None]
    case.asked = ["A" * 30 + "B", "A" * 30, "Aa" * 30 + "B", "A1" * 60, "A1" * 61]
    assert page.evaluate(FIND, [case.for_browser()]) == [list(case.expected())]


OFFER = """async ([items, before, asked]) => {
  const { Labels } = await import("/static/js/annotate/labels.js");
  const { Offer } = await import("/static/js/annotate/offer.js");
  const { Ranking } = await import("/static/js/annotate/ranking.js");
  const rows = items.map(([name, parent, active = 1]) => [name, name, parent ?? -1, "#000000", active, "", []]);
  const recent = { uids: [], counts: {}, ...before.recent };
  const against = (label) => (before.barred?.includes(label.name) ? { note: "no" } : null);
  const offer = new Offer({ labels: new Labels(rows), ranking: new Ranking(recent, before.uses), against });
  return asked.map((text) => offer.rows(text, null).map(({ label, number = "", isRecent }) =>
    `${number} ${label.name} ${offer.ranking.count(label.uid)}${isRecent ? "last" : ""}`.trim()));
}"""

PUMPS = [["Pump"], ["PumpA"], ["PumpB"], ["PumpC"], ["PumpD"], ["WaterPump"], ["Sump"], ["PumpOff", None, 0]]


def test_what_was_used_before_comes_first_among_names_that_fit_as_well(page):
    page.goto("/accounts/login/")
    uses = {"own": {"PumpC": 2}, "given": {"PumpD": 1, "Sump": 9, "PumpOff": 5}, "project": {"PumpC": 7, "PumpD": 30}}
    recent = {"uids": ["PumpB", "PumpC", "Pump"], "counts": {"PumpA": 50, "PumpB": 1, "PumpC": 1, "Pump": 9}}
    before = {"uses": uses, "recent": recent, "barred": ["PumpD"]}
    tree = [
        "1 Pump last",
        "2 PumpA",
        "3 PumpB last",
        "4 PumpC 2× by you",
        "5 PumpD 1× given",
        "6 WaterPump",
        "7 Sump 9× given",
    ]
    rest = ["PumpA", "WaterPump", "PumpD 1× given"]
    assert page.evaluate(OFFER, [PUMPS, before, ["", "pump", "ump", "nothing"]]) == [
        tree,
        ["Pump", "PumpC 2× by you", "PumpB", *rest],  # a whole name before all
        ["PumpC 2× by you", "Sump 9× given", "PumpB", "Pump", *rest],
        [],
    ]


def test_labels_with_long_names_are_found_by_their_initials(page):
    """Each whose initials at most two share is the first or the second; those whose initials begin with the text come before all
    that have it elsewhere."""
    page.goto("/accounts/login/")
    names = [name for name, _ in long_names.rows()]
    initials = {name: "".join(filter(str.isupper, name)) for name in names}
    shared = Counter(initials.values())
    asked = [name for name in names if shared[initials[name]] <= 2]
    assert len(names) == 220 and len(asked) > 200
    texts = [initials[name] for name in asked] + [initials[name][:2] for name in asked]
    found = page.evaluate(OFFER, [long_names.rows(), {}, texts])
    labels = Index(names, names, [above for _, above in long_names.rows()])
    for name, text, rows in zip(asked + asked, texts, found, strict=True):
        assert name in rows[:2] or len(text) < len(initials[name])
        leading = [each for each in names if initials[each].startswith(text)]
        assert set(rows[: len(leading)]) == set(leading)
        assert rows == sorted((names[place] for place in labels.find(text)), key=lambda each: rank(text, each))


def test_of_a_long_level_what_was_used_stands_above_and_the_digits_have_no_gap(page):
    page.goto("/accounts/login/")
    before = {"recent": {"uids": ["L10", "L2"]}, "uses": {"own": {"L11": 1}}}
    [rows] = page.evaluate(OFFER, [[[f"L{n}"] for n in range(12)], before, [""]])
    tree = ["01 L0", "02 L1", "03 L2 last", *(f"{n + 1:02} L{n}" for n in range(3, 10))]
    assert rows == ["L11 1× by you", "L10 last", *tree]


def test_a_level_of_more_than_nine_has_two_digits(page):
    page.goto("/accounts/login/")
    for count, first, last in [(9, "1", "9"), (10, "01", "10"), (99, "01", "99"), (120, "01", "")]:
        [rows] = page.evaluate(OFFER, [[[f"L{n}"] for n in range(count)], {}, [""]])
        assert (rows[0], rows[-1], len(rows)) == (f"{first} L0", f"{last} L{count - 1}".strip(), count)
