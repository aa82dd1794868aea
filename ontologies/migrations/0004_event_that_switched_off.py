"""Labels keep the event that switched them off; `active` is told from it by the database.

The events of labels that are off are found in the journal, as far as it goes back: what one operation switched off has one event,
what was added below a label that was off has that one's, and undo brings the one of before. A copy begins with the events that
its source had at that time. What was off from the start of an ontology, such as one that was uploaded, counts as gone with the
label above it, if that was off from the start, too. What is on below a label that is off is switched off with it. How many labels
these two are about is printed.
"""

import uuid
from collections import Counter, defaultdict

from django.db import migrations, models
from django.db.models import Q

PORTION = 500


class Replay:
    """The events of the labels of one ontology while its journal is read from the beginning. The entries of the journal, which
    tell whether a label was on, get the events instead."""

    def __init__(self, items, first):
        self.items = items  # its labels in tree order
        self.events = dict(first)  # by uid, of what is off
        self.assumed = {}  # by uid, the events of what counts as gone with the label above
        self.parents = {}  # where the journal has moved or added a label
        self.before = defaultdict(dict)  # by operation, the events before the last row about it

    def start(self, rows):
        """What the journal does not know: labels that were off before it begins."""
        was_on, known = {}, set()
        for row in rows:
            for uid, (before, _) in row.items.items():
                if uid not in was_on and (before is None or "active" in before):
                    was_on[uid] = before is None or before["active"]
        uids = {item.pk: item.uid for item in self.items}
        for item in self.items:
            above = uids.get(item.parent_id)
            if not was_on.get(item.uid, item.active):
                known.add(item.uid)
                if item.uid not in self.events:
                    self.events[item.uid] = self.events[above] if above in known else new_event()
                    self.assumed |= {item.uid: self.events[above]} if above in known else {}
        self.events = {uid: event for uid, event in self.events.items() if uid in known}
        self.parents = {item.uid: uids.get(item.parent_id) for item in self.items}

    def read(self, row):
        """Whether the entries of the row have changed."""
        event, about = new_event(), row.operation_id or row.pk
        back, self.before[about] = self.before[about], {}
        has_changed = False
        found = [(uid, *entry) for uid, entry in row.items.items()]
        for uid, before, after in found:
            has_changed = has_changed or "active" in (before or after)
            if after and "parent" in after:
                self.parents[uid] = after["parent"]
        # Those above come first: what was added with them has their events.
        for uid, before, after in sorted(found, key=lambda each: self.depth(each[0])) if has_changed else ():
            self.before[about][uid] = old = self.events.pop(uid, "")
            if before is not None:
                before["off_by"] = "" if before.pop("active") else old or event
            if after is not None:
                added_below = self.events.get(self.parents.get(uid)) if before is None else None
                after["off_by"] = "" if after.pop("active") else back.get(uid) or added_below or event
                self.events |= {uid: after["off_by"]} if after["off_by"] else {}
        return has_changed

    def depth(self, uid):
        depth = 0
        while (uid := self.parents.get(uid)) and depth < 1000:
            depth += 1
        return depth

    def end(self):
        """The events of all that is off now, of how many it is assumed, and how many labels are on below one that is off."""
        events, assumed, taken = {}, 0, 0
        for item in self.items:
            above = events.get(item.parent_id, "")
            events[item.pk] = above if item.active else self.events.get(item.uid) or above or new_event()
            assumed += not item.active and events[item.pk] == self.assumed.get(item.uid)
            taken += bool(item.active and above)
        return events, assumed, taken


def new_event():
    return uuid.uuid4().hex[:12]


def derive_events(apps, schema_editor):
    Ontology = apps.get_model("ontologies", "Ontology")
    Item = apps.get_model("ontologies", "OntologyItem")
    Change = apps.get_model("ontologies", "OntologyChange")
    first = defaultdict(dict)  # by copy
    switches = Q(verb__endswith="switch on") | Q(verb__endswith="switch off")
    places = Q(verb__endswith="add") | Q(verb__endswith="move")
    total = Counter()
    for ontology in Ontology.objects.order_by("pk").iterator():  # a source before its copies
        items = Item.objects.filter(tree_id=ontology.pk, level__gt=0).only("uid", "parent_id", "active").order_by("lft")
        changes = Change.objects.filter(ontology=ontology).filter(switches | places).order_by("version")
        replay = Replay(list(items), first.pop(ontology.pk, {}))
        replay.start(changes.iterator(chunk_size=20))
        copies = list(Ontology.objects.filter(copied_from=ontology.pk).order_by("created_at"))
        for pk in list(changes.values_list("pk", flat=True)):
            change = Change.objects.get(pk=pk)
            while copies and copies[0].created_at < change.at:
                first[copies.pop(0).pk] = dict(replay.events)
            if replay.read(change):
                Change.objects.filter(pk=change.pk).update(items=change.items)
        for copy in copies:
            first[copy.pk] = dict(replay.events)
        events, assumed, taken = replay.end()
        total += Counter(assumed=assumed, taken=taken)
        off = [item for item in replay.items if events[item.pk]]
        for item in off:
            item.off_by = events[item.pk]
        Item.objects.bulk_update(off, ["off_by"], batch_size=PORTION)
    if total["assumed"]:
        print(f"\n    {total['assumed']} labels that are off count as gone with the one above: no journal knows.", end="")
    if total["taken"]:
        print(f"\n    {total['taken']} labels that were on below one that is off were switched off with it.", end="")


def forget_events(apps, schema_editor):
    apps.get_model("ontologies", "OntologyItem").objects.exclude(off_by="").update(active=False)
    Change = apps.get_model("ontologies", "OntologyChange")
    for pk in list(Change.objects.values_list("pk", flat=True)):
        change = Change.objects.get(pk=pk)
        known = [state for entry in change.items.values() for state in entry if state and "off_by" in state]
        for state in known:
            state["active"] = not state.pop("off_by")
        if known:
            change.save(update_fields=["items"])


class Migration(migrations.Migration):
    dependencies = [("ontologies", "0003_deleted_at")]

    operations = [
        migrations.AddField(
            "ontologychange",
            "remark",
            models.TextField(blank=True),
        ),
        migrations.AddField(
            "ontologyitem",
            "off_by",
            models.CharField(blank=True, default="", editable=False, max_length=12, verbose_name="switched off by"),
            preserve_default=False,
        ),
        migrations.RunPython(derive_events, forget_events),
        migrations.RemoveField("ontologyitem", "active"),
        migrations.AddField(
            "ontologyitem",
            "active",
            models.GeneratedField(db_persist=True, expression=Q(off_by=""), output_field=models.BooleanField()),
        ),
    ]
