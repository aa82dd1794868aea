"""Random operations of two people against a plain model of a tree with undo and redo, and of several at the same time."""

import random
import threading
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from annotation_service.edits import Conflict
from annotation_service.inputs import Refused
from ontologies import colors
from ontologies.documents import NewItem
from ontologies.models import Ontology
from tests import factories
from tests.soak import amount

FIELDS = ("name", "description", "example_terms", "color", "active")


@dataclass
class Node:
    name: str
    description: str
    example_terms: list
    color: str
    active: bool
    parent: str | None


@dataclass
class Operation:
    """``changes`` is {uid: {field: (before, after)}}; a new item has the field “item” alone. ``rows`` is what the journal has
    about it, [(time, user, verb)]: it was done, taken back, done again, and so on."""

    changes: dict
    rows: list

    @property
    def stands(self):
        return len(self.rows) % 2 == 1

    def stood(self, time):
        return sum(at <= time for at, _, _ in self.rows) % 2 == 1

    def standing_rows(self):
        """Those whose effect is in force: the last one, the one that this did again, and so on."""
        return self.rows[::-2]

    def shares_a_field(self, other):
        for uid, fields in self.changes.items():
            theirs = other.changes.get(uid, {})
            if theirs and ("item" in theirs or "item" in fields or theirs.keys() & fields.keys()):
                return True
        return False


class Model:
    """Written as simply as possible: a dictionary of items, lists of children, and all operations."""

    def __init__(self):
        self.nodes = {}
        self.children = {None: []}
        self.operations = []
        self.time = 0

    def in_order(self, top=None):
        for uid in self.children[top]:
            yield uid
            yield from self.in_order(uid)

    def level(self, uid):
        return 0 if uid is None else 1 + self.level(self.nodes[uid].parent)

    def state(self):
        return [(uid, self.level(uid), *(getattr(self.nodes[uid], f) for f in FIELDS)) for uid in self.in_order()]

    def branch(self, uid):
        return [uid, *self.in_order(uid)]

    def name_is_free(self, name, parent, but=None):
        return all(self.nodes[uid].name != name for uid in self.children[parent] if uid != but)

    def place(self, uid):
        parent = self.nodes[uid].parent
        return parent, self.children[parent].index(uid)

    # --- Single changes ---

    def put(self, uid, node, position):
        self.nodes[uid] = node
        self.children.setdefault(uid, [])
        self.children[node.parent].insert(position, uid)

    def take(self, uid):
        self.children[self.nodes[uid].parent].remove(uid)
        del self.children[uid]
        return self.nodes.pop(uid)

    def move(self, uid, parent, position):
        self.children[self.nodes[uid].parent].remove(uid)
        self.nodes[uid].parent = parent
        self.children[parent].insert(position, uid)

    # --- Operations ---

    def record(self, user, changes):
        if changes:
            self.time += 1
            self.operations.append(Operation(changes, [(self.time, user, "do")]))

    def set_each(self, user, name, values):
        changes = {}
        for uid, value in values.items():
            before = getattr(self.nodes[uid], name)
            if before != value:
                setattr(self.nodes[uid], name, value)
                changes[uid] = {name: (before, value)}
        self.record(user, changes)

    def add(self, user, new):
        """``new`` is [(uid, node)] in tree order; each stands last below its parent."""
        changes = {}
        for uid, node in new:
            self.put(uid, node, len(self.children[node.parent]))
            changes[uid] = {"item": None}
        self.record(user, changes)

    def relocate(self, user, uid, parent, position):
        before = self.place(uid)
        self.move(uid, parent, position)
        if self.place(uid) != before:
            self.record(user, {uid: {"place": (before, self.place(uid))}})

    def next_to_undo(self, user):
        return self.newest(user, {"do", "redo", "revert"})

    def next_to_redo(self, user):
        rows = (row for o in self.operations for row in o.rows)
        last = max((at for at, by, verb in rows if by == user and verb in ("do", "revert")), default=0)
        return self.newest(user, {"undo"}, after=last)

    def newest(self, user, verbs, after=0):
        """The operation with the user's newest row of such a kind whose effect is in force."""
        found = [
            (at, o)
            for o in self.operations
            for at, by, verb in o.standing_rows()
            if by == user and verb in verbs and at > after
        ]
        return max(found, key=itemgetter(0))[1] if found else None

    def depends(self, operation):
        """Whether a later change touched the same: some other operation has come to stand, or ceased to, since."""
        since = operation.rows[-1][0]
        return any(
            o is not operation and o.stood(since) != o.stands and o.shares_a_field(operation) for o in self.operations
        )

    def toggle(self, operation, user, verb):
        """Take it back or do it again; False and no change if that is not possible."""
        back = operation.stands
        if self.depends(operation):
            return False
        (kind,) = {name for fields in operation.changes.values() for name in fields}
        if not getattr(self, f"_toggle_{kind if kind in ('item', 'place') else 'field'}")(operation, back):
            return False
        self.time += 1
        operation.rows.append((self.time, user, verb))
        return True

    def operation(self, version):
        return next(o for o in self.operations if any(at == version for at, _, _ in o.rows))

    def row_stands(self, version):
        return any(at == version for at, _, _ in self.operation(version).standing_rows())

    def revert(self, user, version):
        return self.row_stands(version) and self.toggle(self.operation(version), user, "revert")

    def _toggle_field(self, operation, back):
        for uid, fields in operation.changes.items():
            for name, (before, after) in fields.items():
                value = before if back else after
                if name == "name" and not self.name_is_free(value, self.nodes[uid].parent, but=uid):
                    return False
                setattr(self.nodes[uid], name, value)
        return True

    def _toggle_place(self, operation, back):
        ((uid, fields),) = operation.changes.items()
        parent, position = fields["place"][0 if back else 1]
        if parent is not None and (parent not in self.nodes or parent in self.branch(uid)):
            return False
        if not self.name_is_free(self.nodes[uid].name, parent, but=uid):
            return False
        left = self.place(uid)
        self.move(uid, parent, position)
        fields["place"] = (self.place(uid), left) if back else (left, self.place(uid))
        return True

    def _toggle_item(self, operation, back):
        uids = operation.changes
        if back:
            if any(child not in uids for uid in uids for child in self.children[uid]):
                return False
            places = {uid: self.place(uid) for uid in uids}
            taken = {uid: self.take(uid) for uid in reversed([u for u in self.in_order() if u in uids])}
            operation.changes = {uid: {"item": (taken[uid], places[uid])} for uid in uids}
            return True
        for fields in uids.values():
            node, (parent, _) = fields["item"]
            if parent not in uids and parent is not None and parent not in self.nodes:
                return False
            if parent not in uids and not self.name_is_free(node.name, parent):
                return False
        left = dict(uids)
        while left:
            for uid, fields in sorted(left.items(), key=lambda entry: entry[1]["item"][1][1]):
                node, (parent, position) = fields["item"]
                if parent is None or parent in self.nodes:
                    self.put(uid, node, position)
                    del left[uid]
        return True


names = st.sampled_from("ABCDEFG")
chosen = st.integers(0, 1000)
users = st.integers(0, 1)
texts = st.sampled_from(["", "x", "y"])
some_terms = st.lists(st.sampled_from(["p", "q"]), unique=True)
some_colors = st.sampled_from(["#112233", "#AABBCC", "#00FF00"])


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

    def teardown(self):
        transaction.set_rollback(True)
        self.savepoint.__exit__(None, None, None)

    def pick(self, number):
        uids = list(self.model.in_order())
        return uids[number % len(uids)]

    def item(self, uid):
        return self.ontology.items().select_related("ontology", "parent").get(uid=uid)

    def parent(self, number):
        """An item or, one time out of the number of items, the top level."""
        uids = [None, *self.model.in_order()]
        return uids[number % len(uids)]

    def agrees(self, possible, call):
        """The service refuses exactly what the model holds impossible."""
        if possible:
            return call()
        with pytest.raises(Refused):
            call()
        return None

    @rule(user=users, name=names, below=chosen, text=texts, terms=some_terms, color=st.just("") | some_colors)
    def add(self, user, name, below, text, terms, color):
        parent = self.parent(below)
        possible = self.model.name_is_free(name, parent)
        above = self.item(parent) if parent else None
        values = {"description": text, "example_terms": terms, "color": color}
        item = self.agrees(possible, lambda: self.ontology.add_item(name, parent=above, by=self.users[user], **values))
        if item:
            assert not color or item.color == color
            self.model.add(user, [(item.uid, Node(name, text, terms, item.color, True, parent))])

    @rule(user=users, below=chosen, lines=st.lists(st.tuples(st.integers(1, 3), names, texts), min_size=1, max_size=6))
    def add_several(self, user, below, lines):
        parent = self.parent(below)
        new_items, level = [], 0
        for wanted, name, text in lines:
            level = min(wanted, level + 1)
            new_items.append(NewItem(level, name, text))
        above = self.item(parent) if parent else None
        plan, possible, made = [], True, {}
        stems, seen = [parent], set()
        for new in new_items:
            del stems[new.level :]
            path = stems[-1]
            if (path, new.name) in seen:
                possible = False
                break
            seen.add((path, new.name))
            children = self.model.children.get(path, [])
            found = next((uid for uid in children if self.model.nodes[uid].name == new.name), None)
            if found is None:
                found = f"new {len(plan)}"
                plan.append((found, path, new))
            stems.append(found)
        uids = self.agrees(possible, lambda: self.ontology.add_items(new_items, parent=above, by=self.users[user]))
        if not possible:
            return
        assert len(uids) == len(plan)
        stored = {item.uid: item for item in self.ontology.items().filter(uid__in=uids).select_related("parent")}
        nodes = []
        for mark, above_uid, new in plan:
            real = made.get(above_uid, above_uid)
            (item,) = [i for i in stored.values() if i.parent_uid == real and i.name == new.name]
            made[mark] = item.uid
            nodes.append((item.uid, Node(new.name, new.description, [], item.color, True, real)))
        self.model.add(user, nodes)

    @precondition(lambda self: self.model.nodes)
    @rule(user=users, which=chosen, name=names)
    def rename(self, user, which, name):
        uid = self.pick(which)
        possible = self.model.name_is_free(name, self.model.nodes[uid].parent, but=uid)
        if self.agrees(possible, lambda: self.item(uid).rename(name, by=self.users[user])):
            self.model.set_each(user, "name", {uid: name})

    @precondition(lambda self: self.model.nodes)
    @rule(user=users, which=chosen, text=texts)
    def describe(self, user, which, text):
        uid = self.pick(which)
        self.item(uid).describe(text, by=self.users[user])
        self.model.set_each(user, "description", {uid: text})

    @precondition(lambda self: self.model.nodes)
    @rule(user=users, which=chosen, terms=some_terms)
    def set_example_terms(self, user, which, terms):
        uid = self.pick(which)
        self.item(uid).set_example_terms(terms, by=self.users[user])
        self.model.set_each(user, "example_terms", {uid: terms})

    @precondition(lambda self: self.model.nodes)
    @rule(user=users, which=st.lists(chosen, min_size=1, max_size=3), color=some_colors, branch=st.booleans())
    def recolor(self, user, which, color, branch):
        uids = {self.pick(each) for each in which}
        self.ontology.recolor_items(uids, color, branch=branch, by=self.users[user])
        new = {}
        for uid in self.model.in_order():
            parent, position = self.model.place(uid)
            if uid in uids:
                new[uid] = color
            elif branch and parent in new:
                new[uid] = colors.child_of(new[parent], position)
        self.model.set_each(user, "color", new)

    @precondition(lambda self: self.model.nodes)
    @rule(user=users, which=st.lists(chosen, min_size=1, max_size=3), active=st.booleans(), branch=st.booleans())
    def switch(self, user, which, active, branch):
        uids = {self.pick(each) for each in which}
        self.ontology.switch_items(uids, active, branch=branch, by=self.users[user])
        reached = {below for uid in uids for below in (self.model.branch(uid) if branch else [uid])}
        self.model.set_each(user, "active", dict.fromkeys(reached, active))

    @precondition(lambda self: self.model.nodes)
    @rule(user=users, which=chosen, to=chosen, position=st.none() | st.integers(0, 4))
    def move(self, user, which, to, position):
        uid, parent = self.pick(which), self.parent(to)
        possible = parent not in self.model.branch(uid) and self.model.name_is_free(
            self.model.nodes[uid].name, parent, but=uid
        )
        above = self.item(parent) if parent else None
        if self.agrees(possible, lambda: self.item(uid).move(to=above, position=position, by=self.users[user])):
            self.model.relocate(user, uid, parent, 1000 if position is None else position)

    @rule(user=users)
    def undo(self, user):
        operation = self.model.next_to_undo(user)
        assert bool(self.ontology.undoable(self.users[user])) == bool(operation)
        possible = bool(operation) and self.model.toggle(operation, user, "undo")
        self.agrees(possible, lambda: self.ontology.undo(by=self.users[user]))

    @rule(user=users)
    def redo(self, user):
        operation = self.model.next_to_redo(user)
        assert bool(self.ontology.redoable(self.users[user])) == bool(operation)
        possible = bool(operation) and self.model.toggle(operation, user, "redo")
        self.agrees(possible, lambda: self.ontology.redo(by=self.users[user]))

    @precondition(lambda self: self.model.time)
    @rule(user=users, which=chosen)
    def revert(self, user, which):
        """Any step of the history, whoever made it."""
        version = 1 + which % self.model.time
        change = self.ontology.changes.get(version=version)
        assert change.stands == self.model.row_stands(version)
        possible = self.model.revert(user, version)
        self.agrees(possible, lambda: self.ontology.revert(change, by=self.users[user]))

    @invariant()
    def same_as_the_model(self):
        stored = self.ontology.items().values_list("uid", "level", *FIELDS)
        assert list(stored) == self.model.state()

    @invariant()
    def sound(self):
        assert not list(self.ontology.tree.problems())
        self.ontology.refresh_from_db(fields=["version"])
        assert self.ontology.changes.count() == self.ontology.version == self.model.time

    @invariant()
    def kept_labels_are_up_to_date(self):
        self.ontology.refresh_from_db()
        columns = ("pk", "uid", "name", "color", "active", "level", "description", "example_terms")
        stored = [tuple(getattr(item, name) for name in columns) for item in self.ontology.items()]
        assert [tuple(getattr(label, name) for name in columns) for label in self.ontology.labels()] == stored
        above = []
        for label in self.ontology.labels():
            del above[label.level - 1 :]
            assert label.parent_uid == (above[-1].uid if above else None)
            above.append(label)
            assert label.fullname == "/".join(each.name for each in above)


@pytest.mark.soak
def test_random_operations_of_two_people_agree_with_the_model(db, settings):
    settings.ONTOLOGY_MOVE_ITEMS = True
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    run_state_machine_as_test(Trees, settings=machine_settings())


def machine_settings():
    return settings(
        max_examples=amount(60, 500),
        stateful_step_count=amount(30, 50),
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


# --- Several at the same time ------------------------------------------------------------------------------------------


def random_operation(chance, ontology, items, by):
    item = chance.choice(items)
    match chance.randrange(10):
        case 0:
            ontology.add_item(f"n{chance.randrange(10_000)}", by=by, parent=chance.choice([item, None]))
        case 1:
            new = [
                NewItem(1, item.name),
                NewItem(2, f"x{chance.randrange(50)}"),
                NewItem(1, f"y{chance.randrange(50)}"),
            ]
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
            item.move(to=chance.choice([*items, None]), position=chance.randrange(3), by=by)
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
    failures = []

    def work(seed):
        chance = random.Random(seed)
        try:
            for _ in range(amount(40, 500)):
                ontology = Ontology.objects.get(pk=chance.choice(shared).pk)
                items = list(ontology.items().select_related("ontology", "parent"))
                with suppress(Refused, Conflict):  # the item was removed meanwhile, or two wanted the same
                    random_operation(chance, ontology, items, people[seed % 2])
        except Exception as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=[seed]) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for ontology in shared:
        assert not list(ontology.tree.problems())
        ontology.refresh_from_db()
        versions = list(ontology.changes.order_by("version").values_list("version", flat=True))
        assert versions == list(range(1, ontology.version + 1))
    verbs = {title.split()[0] for each in shared for title in (change.title for change in each.changes.all())}
    assert {"undo", "redo", "move", "add", "rename"} <= verbs
    assert (list(bystander.items().values()), list(bystander.changes.values())) == before
