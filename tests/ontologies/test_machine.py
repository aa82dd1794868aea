"""Random operations of two people against a plain model of a tree with undo and redo, and of several at the same time."""

import random
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from operator import itemgetter

import pytest
from django.db import transaction
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from annotation_service.edits import Conflict
from annotation_service.inputs import Refused
from ontologies import colors
from ontologies.documents import NewLabel
from ontologies.models import Ontology
from ontologies.switches import SwitchReach
from tests import factories
from tests.soak import amount, machine_settings
from tests.threads import for_each

FIELDS = ("name", "description", "example_terms", "color", "active")


@dataclass
class Operation:
    """``other`` is {(uid, field): the value that taking back or doing again brings}. The field is “place” for a move and “item”
    for an addition: both are about (parent, index), None where the item is not there; “event” is what switched an item off.
    ``rows`` is what the journal has about it, [(time, user, verb, what it changed)]: it was done, taken back, done again, and
    so on."""

    other: dict
    rows: list

    @property
    def stands(self):
        return len(self.rows) % 2 == 1

    def standing_rows(self):
        """Those whose effect is in force: the last one, the one that this did again, and so on."""
        return self.rows[::-2]

    def later_than(self, other):
        """Its row that first touched the same after the last row of another operation."""
        time, *_, keys = other.rows[-1]
        return next((row for row in self.rows if row[0] > time and touches(row[-1], keys)), None)


def touches(keys, others):
    """An addition is about all fields."""
    uids, items = ({uid for uid, _ in both} for both in (others, {key for key in others if key[1] == "item"}))
    return any(key in others or key[0] in items or (key[1] == "item" and key[0] in uids) for key in keys)


class Model:
    """Written as simply as possible: a dictionary of all items that ever were, lists of children, and all operations."""

    def __init__(self):
        self.nodes = {}
        self.children = defaultdict(list)
        self.operations = []
        self.time = 0

    def paths(self, top=None, above=()):
        """Each item with its names from the top, in tree order; those below an item with their names from there."""
        for uid in self.children[top]:
            path = (*above, self.nodes[uid]["name"])
            yield uid, path
            yield from self.paths(uid, path)

    def branch(self, uid):
        return [uid, *(each for each, _ in self.paths(uid))]

    def above(self, uid):
        while (uid := self.place(uid)[0]) is not None:
            yield uid

    def place(self, uid):
        places = ((parent, uids.index(uid)) for parent, uids in self.children.items() if uid in uids)
        return next(places, None)

    def can_stand(self, name, parent, uid="new"):
        """Whether an item can be below a parent."""
        is_there = parent is None or (self.place(parent) and parent not in self.branch(uid))
        return is_there and all(self.nodes[each]["name"] != name for each in self.children[parent] if each != uid)

    # --- Operations ---

    def values(self, keys):
        return {(uid, f): self.place(uid) if f in ("item", "place") else self.nodes[uid][f] for uid, f in keys}

    def set(self, values):
        """Returns the events before of what goes off with an item above."""
        for (uid, field), value in values.items():
            self.nodes[uid][field] = value
            if field == "item" and value is None and self.event(uid) == self.event(self.place(uid)[0]):
                self.nodes[uid]["with above"] = True
        for uid, field in values:
            if field == "item" and self.nodes[uid].pop("with above", False):
                self.nodes[uid]["event"] = None  # until it comes back
        places = {uid: value for (uid, field), value in values.items() if field in ("item", "place")}
        for uids in self.children.values():
            uids[:] = [uid for uid in uids if uid not in places]
        for uid, (parent, index) in sorted((entry for entry in places.items() if entry[1]), key=lambda e: e[1][1]):
            self.children[parent].insert(index, uid)
        gone = {}
        for uid, _ in self.paths():
            if self.event(uid) is None and (event := self.event(self.place(uid)[0])):
                self.nodes[uid]["event"] = event
                if (uid, "item") not in values:
                    gone[uid, "event"] = None
        return gone

    def event(self, uid):
        return self.nodes[uid]["event"] if uid else None

    def do(self, user, values):
        """What stays as it was does not count."""
        before = self.values(values)
        before = self.set(values) | before
        after = self.values(before)
        if other := {key: value for key, value in before.items() if value != after[key]}:
            self.time += 1
            self.operations.append(Operation(other, [(self.time, user, "do", set(other))]))

    def toggle(self, operation, user, verb):
        """Take it back or do it again; False and no change if that is not possible."""
        if self.depends(operation) or not self.can_be_set(operation.other):
            return False
        now = self.values(operation.other)
        operation.other = self.set(operation.other) | now
        self.time += 1
        operation.rows.append((self.time, user, verb, set(operation.other)))
        return True

    def depends(self, operation):
        """Whether a later change touched the same and is in force."""
        others = [(o, o.later_than(operation)) for o in self.operations if o is not operation]
        return any(row in o.standing_rows() for o, row in others if row)

    def can_be_set(self, values):
        uids = {uid for uid, _ in values}
        places = {uid: value for (uid, field), value in values.items() if field == "place"}
        parents = {uid: places[uid][0] if uid in places else self.place(uid)[0] for uid in self.branch(None)[1:]}
        for up in places:
            for _ in parents:
                up = parents.get(up)
            if up is not None:
                return False  # it would stand in its own branch
        names = [(parent, self.nodes[uid]["name"]) for uid, (parent, _) in places.items()]
        if len(set(names)) < len(names):
            return False
        for (uid, field), value in values.items():
            if field == "name":
                possible = self.can_stand(value, self.place(uid)[0], uid)
            elif field == "place":
                others = {self.nodes[each]["name"] for each in self.children[value[0]] if each not in places}
                possible = (value[0] is None or value[0] in parents) and self.nodes[uid]["name"] not in others
            elif field != "item":
                possible = True
            elif value:
                possible = value[0] in uids or self.can_stand(self.nodes[uid]["name"], value[0], uid)
            else:
                possible = uids >= set(self.children[uid])
            if not possible:
                return False
        return True

    def next_to_undo(self, user):
        return self.newest(user, {"do", "redo", "revert"})

    def next_to_redo(self, user):
        rows = (row for o in self.operations for row in o.rows)
        last = max((at for at, by, verb, _ in rows if by == user and verb in ("do", "revert")), default=0)
        return self.newest(user, {"undo"}, after=last)

    def newest(self, user, verbs, after=0):
        """The operation with the user's newest row of such a kind whose effect is in force."""
        found = [
            (at, o)
            for o in self.operations
            for at, by, verb, _ in o.standing_rows()
            if by == user and verb in verbs and at > after
        ]
        return max(found, key=itemgetter(0))[1] if found else None


chosen = st.integers(0, 1000)
several = st.lists(chosen, min_size=1, max_size=3)
names = st.sampled_from("ABCD")
texts = st.sampled_from(["", "x", "y"])
some_terms = st.lists(st.sampled_from("pq"), unique=True)
some_colors = st.sampled_from(["#112233", "#AABBCC", "#00FF00"])
new_items = st.builds(
    NewLabel, st.integers(1, 3), names, texts, some_terms, st.just("") | some_colors, st.booleans(), uid=st.just("")
)
users = st.integers(0, 1)
edits = (
    st.tuples(st.just("rename"), st.just("name"), names)
    | st.tuples(st.just("describe"), st.just("description"), texts)
    | st.tuples(st.just("set_example_terms"), st.just("example_terms"), some_terms)
)
with_items = precondition(lambda self: self.model.children[None])


class Trees(RuleBasedStateMachine):
    """Each rule does the same to the service and to the model; a refusal of one must be a refusal of both."""

    def __init__(self):
        super().__init__()
        self.savepoint = transaction.atomic()
        self.savepoint.__enter__()
        number = Ontology.objects.count()
        self.users = [factories.user(f"u{number}-{i}-{random.getrandbits(40)}") for i in range(2)]
        self.ontology = Ontology.create(kind="entity", name="Labels", owner=self.users[0])
        self.model = Model()
        self.events = count(1)

    def teardown(self):
        transaction.set_rollback(True)
        self.savepoint.__exit__(None, None, None)

    def pick(self, number, *others):
        """The uid of an item, or one of the others."""
        uids = [*others, *self.model.branch(None)[1:]]
        return uids[number % len(uids)]

    def item(self, uid):
        return uid and self.ontology.items().select_related("ontology", "parent").get(uid=uid)

    def agrees(self, possible, call):
        """The service refuses exactly what the model holds impossible."""
        if possible:
            return call()
        with pytest.raises(Refused):
            call()
        return None

    @rule(user=users, name=names, below=chosen)
    def add(self, user, name, below):
        parent = self.pick(below, None)
        possible = self.model.can_stand(name, parent)
        by = self.users[user]
        if item := self.agrees(possible, lambda: self.ontology.add_item(name, parent=self.item(parent), by=by)):
            self.added(user, [(item, parent)])

    def added(self, user, items, off=()):
        """``off`` are the uids of those that are not active in a list: what is below one of them goes off with it."""
        off = {uid: next(self.events) for uid in off}
        for item, _ in items:
            self.model.nodes[item.uid] = {field: getattr(item, field) for field in FIELDS} | {
                "event": off.get(item.uid)
            }
        self.model.do(user, {(item.uid, "item"): (parent, 1000 + i) for i, (item, parent) in enumerate(items)})

    @rule(user=users, below=chosen, lines=st.lists(new_items, min_size=1, max_size=6))
    def add_several(self, user, below, lines):
        """A list, which names no item twice; what is there already is not added again."""
        parent = self.pick(below, None)
        uids = {(): None} | {path: uid for uid, path in self.model.paths()}
        top = next(path for path, uid in uids.items() if uid == parent)
        listed, path = {}, ()
        for line in lines:
            own = (*path[: line.level - 1], line.name)
            if (*top, *own) not in listed:
                path = own
                listed[*top, *own] = replace(line, level=len(own))
        new = {path: line for path, line in listed.items() if path not in uids}
        added = self.ontology.add_items(list(listed.values()), parent=self.item(parent), by=self.users[user])
        stored = {tuple(item.fullname.split("/")): item for item in self.ontology.items().filter(uid__in=added)}
        assert stored.keys() == new.keys() and len(added) == len(new)
        off = []
        for path, line in new.items():
            item = stored[path]
            assert (item.description, item.example_terms) == (line.description, line.example_terms)
            assert line.color in ("", item.color)
            uids[path] = item.uid
            above = {uids[path[:n]] for n in range(1, len(path))}
            if not line.active and above.isdisjoint(off) and not self.model.event(self.there(uids, path)):
                off.append(item.uid)
        self.added(user, [(stored[path], uids[path[:-1]]) for path in new], off)

    def there(self, uids, path):
        """The nearest item above that is there already."""
        above = (uids[path[:n]] for n in reversed(range(len(path))))
        return next(uid for uid in above if uid is None or self.model.place(uid))

    @with_items
    @rule(user=users, which=chosen, edit=edits)
    def edit(self, user, which, edit):
        uid, (verb, field, value) = self.pick(which), edit
        possible = field != "name" or self.model.can_stand(value, self.model.place(uid)[0], uid)
        if self.agrees(possible, lambda: getattr(self.item(uid), verb)(value, by=self.users[user])):
            self.model.do(user, {(uid, field): value})

    @with_items
    @rule(user=users, which=several, color=some_colors, branch=st.booleans())
    def recolor(self, user, which, color, branch):
        uids = {self.pick(each) for each in which}
        self.ontology.recolor_items(uids, color, branch=branch, by=self.users[user])
        new = {}
        for uid, _ in self.model.paths():
            parent, index = self.model.place(uid)
            if uid in uids:
                new[uid] = color
            elif branch and parent in new:
                new[uid] = colors.child_of(new[parent], index)
        self.model.do(user, {(uid, "color"): value for uid, value in new.items()})

    @with_items
    @rule(user=users, which=several)
    def switch_off(self, user, which):
        uids = {self.pick(each) for each in which}
        self.ontology.switch_items(uids, False, by=self.users[user])
        event = next(self.events)
        self.model.do(user, {(uid, "event"): self.model.event(uid) or event for uid in uids})

    @with_items
    @rule(user=users, which=several, reach=st.sampled_from(SwitchReach.values), up=st.booleans())
    def switch_on(self, user, which, reach, up):
        uids = {self.pick(each) for each in which}
        reached = set(uids)
        for uid in uids:
            for each in self.model.branch(uid)[1:]:
                if reach == "branch" or (reach == "together" and self.model.event(each) == self.model.event(uid)):
                    reached.add(each)
        off = {up for uid in uids for up in self.model.above(uid) if up not in reached and self.model.event(up)}
        by = self.users[user]
        if self.agrees(up or not off, lambda: [self.ontology.switch_items(uids, True, by=by, reach=reach, up=up)]):
            self.model.do(user, {(uid, "event"): None for uid in reached | off})

    @with_items
    @rule(user=users, which=several, to=chosen, beside=st.none() | chosen, side=st.sampled_from(["before", "after"]))
    def move(self, user, which, to, beside, side):
        """One item, or several; the neighbour may be among them, and some may be below others of them."""
        uids, parent = {self.pick(each) for each in which}, self.pick(to, None)
        tops = [uid for uid, _ in self.model.paths() if uid in uids and uids.isdisjoint(self.model.above(uid))]
        place, index = {"to": self.item(parent)}, 1000
        siblings = self.model.children[parent]
        if siblings and beside is not None:
            at = beside % len(siblings)
            place[side] = self.item(siblings[at])
            index = len([uid for uid in siblings[:at] if uid not in tops])
            index += side == "after" and siblings[at] not in tops
        places = {(uid, "place"): (parent, index + n) for n, uid in enumerate(tops)}
        by = self.users[user]
        moved = self.agrees(self.model.can_be_set(places), lambda: self.ontology.move_items(uids, **place, by=by))
        if moved:
            assert [item.uid for item in moved] == tops
            self.model.do(user, places)

    @rule(user=users)
    def undo(self, user):
        self.take_back(user, "undo", self.ontology.undoable, self.model.next_to_undo(user))

    @rule(user=users)
    def redo(self, user):
        self.take_back(user, "redo", self.ontology.redoable, self.model.next_to_redo(user))

    def take_back(self, user, verb, offered, operation):
        assert bool(offered(self.users[user])) == bool(operation)
        possible = operation and self.model.toggle(operation, user, verb)
        self.agrees(possible, lambda: getattr(self.ontology, verb)(by=self.users[user]))

    @precondition(lambda self: self.model.time)
    @rule(user=users, which=chosen)
    def revert(self, user, which):
        """Any step of the history, whoever made it."""
        version = 1 + which % self.model.time
        change = self.ontology.changes.get(version=version)
        operation = next(o for o in self.model.operations if any(at == version for at, *_ in o.rows))
        assert change.stands == any(at == version for at, *_ in operation.standing_rows())
        possible = change.stands and self.model.toggle(operation, user, "revert")
        self.agrees(possible, lambda: self.ontology.revert(change, by=self.users[user]))

    @invariant()
    def same_as_the_model(self):
        """Also what is kept in memory."""
        self.ontology.refresh_from_db()
        paths, nodes = list(self.model.paths()), self.model.nodes
        for node in nodes.values():
            node["active"] = node["event"] is None
        expected = [(uid, len(path), *(nodes[uid][field] for field in FIELDS)) for uid, path in paths]
        columns = ("uid", "level", *FIELDS)
        assert self.partition(self.ontology.items().values_list("off_by", flat=True)) == self.partition(
            nodes[uid]["event"] for uid, _ in paths
        )
        assert list(self.ontology.items().values_list(*columns)) == expected
        labels = self.ontology.labels()
        assert [tuple(getattr(label, name) for name in columns) for label in labels] == expected
        names = [(self.model.place(uid)[0], "/".join(path)) for uid, path in paths]
        assert [(label.parent_uid, label.fullname) for label in labels] == names
        assert [label.pk for label in labels] == [item.pk for item in self.ontology.items()]

    @staticmethod
    def partition(events):
        """The events in numbers, in the order in which they come first."""
        numbers = {}
        return [numbers.setdefault(event, len(numbers) + 1) if event else 0 for event in events]

    @invariant()
    def sound(self):
        assert not list(self.ontology.tree.problems())
        self.ontology.refresh_from_db(fields=["version"])
        assert self.ontology.changes.count() == self.ontology.version == self.model.time


@pytest.mark.soak
def test_random_operations_of_two_people_agree_with_the_model(db, settings):
    settings.ONTOLOGY_MOVE_ITEMS = True
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    run_state_machine_as_test(Trees, settings=machine_settings(amount(12, 500), amount(30, 50)))


# --- Several at the same time ------------------------------------------------------------------------------------------


def random_operation(chance, ontology, items, by):
    item = chance.choice(items)
    match chance.randrange(10):
        case 0:
            ontology.add_item(f"n{chance.randrange(10_000)}", by=by, parent=chance.choice([item, None]))
        case 1:
            new = [NewLabel(1, item.name), NewLabel(2, f"x{chance.randrange(50)}"), NewLabel(1, item.uid)]
            ontology.add_items(new, by=by, parent=chance.choice([item, None]))
        case 2:
            item.rename(f"r{chance.randrange(30)}", by=by, was=chance.choice([item.name, "A"]))
        case 3:
            item.describe(f"{chance.random()}", by=by, was=item.description)
        case 4:
            ontology.switch_items([item.uid], chance.random() < 0.5, by=by)
        case 5:
            ontology.recolor_items([item.uid], f"#{chance.randrange(0xFFFFFF):06X}", by=by, branch=True)
        case 6:
            beside = chance.choice(items)
            above = None if beside.level == 1 else beside.parent
            item.move(to=above, **{chance.choice(["before", "after"]): beside}, by=by)
        case 7:
            ontology.undo(by=by)
        case 8:
            ontology.redo(by=by)
        case 9:
            ontology.undo(by=by)
            ontology.redo(by=by)


@pytest.mark.soak
@pytest.mark.django_db(transaction=True)
def test_eight_writers_at_the_same_time_leave_sound_trees(settings):
    settings.ONTOLOGY_MOVE_ITEMS = True
    people = [factories.manager(name) for name in ("alice", "bob")]
    shared = [factories.ontology(owner=people[0], name=name) for name in ("one", "two", "three")]
    bystander = factories.ontology(owner=people[0], name="four")
    before = list(bystander.items().values()), list(bystander.changes.values())

    def work(seed):
        chance = random.Random(seed)
        for _ in range(amount(40, 500)):
            ontology = Ontology.objects.get(pk=chance.choice(shared).pk)
            items = list(ontology.items().select_related("ontology", "parent"))
            with suppress(Refused, Conflict):  # the item was removed meanwhile, or two wanted the same
                random_operation(chance, ontology, items, people[seed % 2])

    for_each(work, range(8))
    for ontology in shared:
        assert not list(ontology.tree.problems())
        ontology.refresh_from_db()
        versions = list(ontology.changes.order_by("version").values_list("version", flat=True))
        assert versions == list(range(1, ontology.version + 1))
        entries = [entry for change in ontology.changes.all() for entry in change.items.values()]
        assert ontology.row_count == 7 + sum(e[0] is None for e in entries) - sum(e[1] is None for e in entries)
    verbs = {title.split()[0] for each in shared for title in (change.title for change in each.changes.all())}
    assert {"undo", "redo", "move", "add", "rename"} <= verbs
    assert (list(bystander.items().values()), list(bystander.changes.values())) == before
