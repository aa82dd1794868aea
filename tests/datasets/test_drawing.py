import json
from html.parser import HTMLParser

from django.template.loader import render_to_string
from hypothesis import given
from hypothesis import strategies as st

from datasets import drawing
from ontologies.labels import Label


def label(pk, name):
    values = {"pk": pk, "uid": f"{pk:08}", "name": name, "fullname": f"Top/{name}", "color": "#4C9A6B"}
    return Label(**{field: values.get(field) for field in Label._fields})


LABELS = {n: label(n, name) for n, name in enumerate("ABCDE")}
TEXT, TOKENS = "LEFT  air conditioner-*old\tleaks*", ["left", "air", "conditioner", "-old", "leaks"]
OFFSETS = [[0, 4], [6, 9], [10, 21], [21, 26], [27, 32]]
CLEANED = "left air conditioner-old leaks"


def draw(*entities, relations=(), given=None, **options):
    entities = [dict(zip(("label", "start", "end"), mark, strict=True), uid=f"e{n}") for n, mark in enumerate(entities)]
    relations = [dict(zip(("uid", "label", "source", "target"), mark, strict=True)) for mark in relations]
    item = given or {"original": TEXT, "tokens": TOKENS, "offsets": OFFSETS}
    return drawing.draw(item | {"entities": entities, "relations": relations}, labels=LABELS, **options)


def boxes(drawn):
    """The drawing as a text in which each box is [its words|its name]."""
    found = ""
    for piece in drawn["pieces"]:
        found += "[" * len(piece.opens) + piece.text
        for box in piece.closes:
            found += f"|{'…' * box.comes_from}{box.label.name}{'…' * box.goes_on}]"
    return found


def test_the_cleaned_text_stands_with_its_marks_around_the_words():
    assert boxes(draw((0, 1, 2))) == "left [air conditioner|A]-old leaks"
    assert boxes(draw()) == CLEANED


def test_marks_inside_each_other_are_boxes_inside_each_other():
    assert boxes(draw((0, 1, 3), (1, 2, 2), (2, 2, 2))) == "left [air [[conditioner|C]|B]-old|A] leaks"


def test_a_mark_that_crosses_another_goes_on_behind_it():
    assert boxes(draw((0, 0, 1), (1, 1, 3))) == "[left [air|B…]|A] [conditioner-old|…B] leaks"


def test_of_a_long_text_the_beginning_is_drawn_and_the_rest_is_counted():
    drawn = draw((0, 1, 3), (1, 4, 4), most=2)
    assert boxes(drawn) == "left [air|A]"
    assert (drawn["tokens_left_out"], drawn["marks_left_out"]) == (3, 1)


def test_tokens_that_are_not_in_the_text_stand_for_it():
    drawn = draw((0, 0, 1), given={"original": "can't", "tokens": ["can", "not"], "offsets": None})
    assert boxes(drawn) == "[can not|A]"


def test_relations_are_told_by_their_ends():
    drawn = draw((0, 1, 2), (1, 4, 4), relations=[("r", 2, "e0", "e1"), ("r", 2, "e0", "gone"), ("r", 99, "e0", "e1")])
    [(source, _, label, target, _)] = drawn["arcs"]
    assert (source, label.name, target) == ("air conditioner", "C", "leaks")


def test_a_mark_whose_label_is_gone_is_left_out():
    assert boxes(draw((99, 0, 1))) == CLEANED


class Words(HTMLParser):
    def __init__(self):
        super().__init__()
        self.words, self.open = "", []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "i" not in self.open:
            self.words += data


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)), max_size=8))
def test_any_marks_leave_the_text_whole_and_every_box_is_closed(marks):
    marks = [(name, min(start, end), max(start, end)) for name, start, end in marks]
    drawn = draw(*marks)
    opened = sum(len(piece.opens) for piece in drawn["pieces"])
    assert opened == sum(len(piece.closes) for piece in drawn["pieces"])
    assert sum(not box.comes_from for piece in drawn["pieces"] for box in piece.opens) == len(marks)
    page = Words()
    page.feed(render_to_string("datasets/_marked.html", {"drawing": drawn}))
    assert page.words.strip() == CLEANED and not page.open


def test_a_script_gets_what_the_arcs_connect():
    drawn = draw((0, 1, 2), (1, 3, 3), relations=[("r1", 2, "e0", "e1"), ("r2", 2, "e0", "gone")])
    sheet = json.loads(drawn["sheet"])
    assert sheet["item"] == {"tokens": TOKENS, "gaps": ["", " ", " ", "", " "]}
    assert sheet["entities"][0] == {"uid": "e0", "label": 0, "start": 1, "end": 2}
    assert sheet["relations"] == [{"uid": "r1", "label": 2, "source": "e0", "target": "e1"}]
    assert [(pk, shown["name"]) for pk, shown in sheet["labels"]] == [(0, "A"), (1, "B"), (2, "C")]
    assert not draw((0, 1, 2))["sheet"]
