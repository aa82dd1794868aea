"""Which labels are on: what goes off and comes back together, whatever was done in between."""

import copy
import json
import random

import pytest

from annotation_service.inputs import Refused
from ontologies.documents import NewLabel, read_ontology
from ontologies.models import Ontology
from tests import factories
from tests.ontologies.plain_switching import PlainTree
from tests.soak import amount

item = factories.item


@pytest.fixture(autouse=True)
def moving(settings):
    settings.ONTOLOGY_MOVE_ITEMS = True


@pytest.fixture
def ontology(alice):
    return made(alice, "A\n  B\n    C\n  D\nE")


def made(owner, text):
    """From lines; an item that ends in “-” is off."""
    document, path = [], []
    for line in text.split("\n"):
        depth = (len(line) - len(line.lstrip())) // 2
        label = {"name": line.strip(" -"), "active": not line.endswith("-"), "children": []}
        (path[depth - 1]["children"] if depth else document).append(label)
        path[depth:] = [label]
    items = read_ontology(json.dumps(document), "entity")
    return Ontology.create(kind="entity", name="Labels", owner=owner, items=items)


def switch(ontology, name, active, **options):
    item(ontology, name).switch(active, by=ontology.owner, **options)


def move(ontology, name, to=None):
    item(ontology, name).move(to=to and item(ontology, to), by=ontology.owner)


def off(ontology):
    assert not list(ontology.tree.problems())
    return "".join(sorted(item.name for item in ontology.items() if not item.active))


# --- A second implementation -------------------------------------------------------------------------------------------


class Both:
    """The service and the plain tree, which are given the same to do."""

    def __init__(self, chance, owner):
        self.chance, self.owner = chance, owner
        self.ontology = self.uploaded("[]")
        self.plain = PlainTree([])
        self.number = 0

    def uploaded(self, text):
        items = read_ontology(text, "entity")
        return Ontology.create(kind="entity", name="Labels", owner=self.owner, items=items)

    def pick(self, *others):
        return self.chance.choice([*self.plain.on(), *others])

    def item(self, uid):
        return uid and self.ontology.items().select_related("ontology", "parent").get(uid=uid)

    def step(self):
        verbs = [self.switch] * 8 + [self.add, self.move] * 4 + [self.undo] * 3 + [self.redo, self.copy, self.upload]
        size = len(self.plain.on())
        self.chance.choice(
            [verb for verb in verbs if (size > 5 or verb == self.add) and (size < 40 or verb != self.add)]
        )()

    def do(self, plain, service):
        """Some operation: what the one refuses the other refuses, too."""
        before, version = copy.deepcopy(self.plain.tops), self.ontology.version
        if plain():
            service()
        else:
            self.plain.tops = before
            with pytest.raises(Refused):
                service()
        self.ontology.refresh_from_db()
        if self.ontology.version > version:
            self.plain.remember(before)

    def switch(self):
        uid, active, up = self.pick(), self.chance.random() < 0.5, self.chance.random() < 0.5
        reach = self.chance.choice(["together"] * 3 + ["branch", "item"]) if active else "together"
        self.do(
            lambda: self.plain.switch_on(uid, reach, up) if active else self.plain.switch_off(uid),
            lambda: self.ontology.switch_items([uid], active, by=self.owner, reach=reach, up=up),
        )

    def add(self):
        self.number += 1
        uid, parent = f"{self.number:08}", self.pick(None)
        new = [NewLabel(1, uid, uid=uid)]
        self.do(
            lambda: self.plain.add(uid, parent),
            lambda: self.ontology.add_items(new, parent=self.item(parent), by=self.owner),
        )

    def move(self):
        uid, parent = self.pick(), self.pick(None)
        self.do(
            lambda: self.plain.move(uid, parent),
            lambda: self.item(uid).move(to=self.item(parent), by=self.owner),
        )

    def undo(self):
        if self.plain.past:
            self.plain.undo()
            self.ontology.undo(by=self.owner)

    def redo(self):
        if self.plain.undone:
            self.plain.redo()
            self.ontology.redo(by=self.owner)

    def copy(self):
        """Go on with the copy."""
        self.plain, self.ontology = self.plain.copied(), self.ontology.copy_to(by=self.owner)

    def upload(self):
        """What was downloaded, with some labels switched by hand."""
        document = json.loads(self.ontology.as_json())
        for label in PlainTree(document).all():
            del label["event"]
            if self.chance.random() < 0.2:
                label["active"] = not label["active"]
        self.plain = PlainTree(json.loads(text := json.dumps(document)))
        self.ontology = self.uploaded(text)

    def compare(self):
        stored = PlainTree(json.loads(self.ontology.as_json()))
        active = {label["id"]: label["active"] for label in stored.all()}
        assert active == self.plain.on()
        assert not list(self.ontology.tree.problems())


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(amount(1, 3)))
def test_a_second_implementation_agrees_on_which_labels_are_on(alice, seed):
    both = Both(random.Random(seed), alice)
    for _ in range(amount(120, 2000)):
        both.step()
        both.compare()


# --- Switching ---------------------------------------------------------------------------------------------------------


def test_what_went_off_with_a_label_comes_back_with_it_and_only_that(ontology):
    switch(ontology, "C", False)
    switch(ontology, "A", False)
    switch(ontology, "A", False)  # what is off already keeps its event
    switch(ontology, "D", False)
    assert off(ontology) == "ABCD"
    switch(ontology, "A", True)
    assert off(ontology) == "C"


def test_a_copy_knows_what_had_been_retired_on_its_own(ontology, alice):
    switch(ontology, "C", False)
    switch(ontology, "A", False)
    copied = ontology.copy_to(by=alice)
    switch(copied, "E", False)
    switch(copied, "A", True)
    assert off(copied) == "CE"


def test_labels_added_or_moved_below_one_that_is_off_go_with_it(ontology, alice):
    switch(ontology, "D", False)
    switch(ontology, "A", False)
    ontology.add_item("F", parent=item(ontology, "B"), by=alice)
    ontology.add_items(
        read_ontology('[{"name": "G", "children": [{"name": "H"}]}]', "entity"), parent=item(ontology, "D"), by=alice
    )
    move(ontology, "E", "C")
    assert ontology.changes.first().remark == "1 item goes off, like “C”."
    assert off(ontology) == "ABCDEFGH"
    switch(ontology, "A", True)
    assert off(ontology) == "DGH"
    switch(ontology, "D", True)
    assert off(ontology) == ""


def test_what_is_moved_elsewhere_keeps_its_event_and_its_state(ontology):
    switch(ontology, "A", False)
    move(ontology, "B")
    switch(ontology, "A", True)
    assert off(ontology) == "BC"
    switch(ontology, "E", False)
    move(ontology, "B", "E")
    switch(ontology, "E", True)
    assert off(ontology) == "BC"
    switch(ontology, "B", True)
    assert off(ontology) == ""


def test_the_way_up_is_offered_below_labels_that_are_off(ontology):
    switch(ontology, "A", False)
    for reach in ("item", "together", "branch"):
        with pytest.raises(Refused, match="“A” and “B” above are off: switch on 2 above it, too"):
            switch(ontology, "C", True, reach=reach)
    assert off(ontology) == "ABCD"
    switch(ontology, "C", True, up=True)
    assert off(ontology) == "D"


def test_several_labels_obey_the_same_rules(ontology, alice):
    uids = [item(ontology, name).uid for name in "ACE"]
    switch(ontology, "B", False)
    ontology.switch_items(uids, False, by=alice)
    assert off(ontology) == "ABCDE"
    with pytest.raises(Refused, match="“B” above is off: switch on 1 above it, too"):
        ontology.switch_items(uids, True, by=alice)
    ontology.switch_items(uids[::2], True, by=alice)
    assert off(ontology) == "BC"
    ontology.switch_items(uids, True, by=alice, up=True)
    assert off(ontology) == ""


def test_labels_are_phased_in_one_by_one_but_not_switched_off_alone(ontology):
    with pytest.raises(Refused, match="goes off with it"):
        switch(ontology, "A", False, reach="item")
    switch(ontology, "A", False)
    switch(ontology, "A", True, reach="item")
    switch(ontology, "B", True, reach="item")
    assert off(ontology) == "CD"


@pytest.mark.parametrize("again", [False, True])
def test_undo_and_redo_keep_events(ontology, alice, again):
    switch(ontology, "C", False)
    switch(ontology, "A", False)
    switch(ontology, "A", True, reach="branch")
    ontology.undo(by=alice)
    if again:
        ontology.redo(by=alice)
        ontology.undo(by=alice)
    switch(ontology, "A", True)
    assert off(ontology) == "C"


def test_undo_puts_nothing_on_below_what_is_off(ontology, alice, bob):
    """What others have done meanwhile counts as done after what is done again, or without what is taken back."""
    switch(ontology, "B", False)
    item(ontology, "B").move(to=item(ontology, "E"), by=bob)
    item(ontology, "E").switch(False, by=bob)
    ontology.undo(by=alice)
    assert off(ontology) == "BCE"
    item(ontology, "E").switch(True, by=bob)
    assert off(ontology) == ""
    switch(ontology, "A", False)
    switch(ontology, "A", True)
    ontology.add_item("F", parent=item(ontology, "D"), by=bob)
    ontology.undo(by=alice)
    assert off(ontology) == "ADF"
    ontology.redo(by=alice)
    assert off(ontology) == ""


def test_undo_of_a_move_brings_back_what_went_off_by_it(ontology, alice):
    switch(ontology, "E", False)
    switch(ontology, "C", False)
    before = list(ontology.items().values_list("uid", "off_by", "lft"))
    move(ontology, "A", "E")
    moved = list(ontology.items().values_list("uid", "off_by", "lft"))
    assert off(ontology) == "ABCDE" and ontology.changes.first().remark == "3 items go off, like “E”."
    for _ in range(2):
        ontology.undo(by=alice)
        assert list(ontology.items().values_list("uid", "off_by", "lft")) == before
        ontology.redo(by=alice)
        assert list(ontology.items().values_list("uid", "off_by", "lft")) == moved
    assert [step.field for step in ontology.changes.get(verb="move", kind="operation").steps()].count("active") == 2


def test_a_document_with_a_label_on_below_one_that_is_off_is_taken_with_it_off(alice):
    uploaded = made(alice, "A-\n  B\n    C-\n  D-\nE")
    assert off(uploaded) == "ABCD"
    switch(uploaded, "A", True)
    assert off(uploaded) == ""
    two = made(alice, "A\n  B-\n    C-\n  D-")
    switch(two, "A", False)
    switch(two, "B", True, up=True)
    assert off(two) == "D"


def test_labels_of_another_ontology_come_with_their_events(ontology, alice):
    switch(ontology, "C", False)
    switch(ontology, "A", False)
    other = made(alice, "Z")
    other.put_labels(ontology, by=alice)
    assert off(other) == "ABCD"
    switch(other, "A", True)
    assert off(other) == "C"


def test_check_trees_reports_a_label_on_below_one_that_is_off(ontology):
    switch(ontology, "A", False)
    ontology.items().filter(name="C").update(off_by="")
    (problem,) = ontology.tree.problems()
    assert problem == f"{item(ontology, 'C').uid}: on below one that is off"
    switch(ontology, "A", True, reach="branch")


def test_history_says_what_stays_off(ontology):
    switch(ontology, "C", False)
    switch(ontology, "A", False)
    switch(ontology, "A", True)
    came, went, alone = ontology.changes.all()[:3]
    assert (came.count, came.remark) == (3, "1 item stays off that was retired on its own: “C”.")
    assert (went.count, went.remark) == (3, "1 item was off already: “C”.")
    assert (alone.count, alone.remark) == (1, "")
