"""A second implementation of which labels are on, over the documents of ontologies: each label gets its ``event``, or None."""

import copy
from itertools import count

EVENTS = count(1)


class PlainTree:
    def __init__(self, document):
        """An upload: what is off below an off label has gone with it, and what is on there goes off."""
        self.tops = document
        self.past, self.undone = [], []
        self._upload(document, None)

    def _upload(self, labels, above):
        for label in labels:
            label["event"] = above or (next(EVENTS) if label.get("active") is False else None)
            self._upload(label["children"], label["event"])

    def on(self):
        return {label["id"]: label["event"] is None for label in self.all()}

    def copied(self):
        other = PlainTree([])
        other.tops = copy.deepcopy(self.tops)
        return other

    def remember(self, before):
        self.past.append(before)
        self.undone.clear()

    def undo(self):
        self.undone.append(self.tops)
        self.tops = self.past.pop()

    def redo(self):
        self.past.append(self.tops)
        self.tops = self.undone.pop()

    def all(self, labels=None):
        for label in self.tops if labels is None else labels:
            yield label
            yield from self.all(label["children"])

    def find(self, uid):
        return next(label for label in self.all() if label["id"] == uid)

    def place(self, uid):
        return self.find(uid) if uid else {"children": self.tops, "event": None}

    def above(self, uid):
        """The labels above one, the nearest first."""
        parents = {child["id"]: label for label in self.all() for child in label["children"]}
        while parent := parents.get(uid):
            yield parent
            uid = parent["id"]

    def goes_off(self, label, event):
        """What is on below a label that is off takes its event; what has one keeps it."""
        label["event"] = label["event"] or event
        for child in label["children"] if label["event"] else ():
            self.goes_off(child, label["event"])

    # --- Operations: each says whether it is possible ---

    def switch_off(self, uid):
        self.goes_off(self.find(uid), next(EVENTS))
        return True

    def switch_on(self, uid, reach, up):
        label = self.find(uid)
        off = [each for each in self.above(uid) if each["event"]]
        if off and not up:
            return False
        event, label["event"] = label["event"], None
        for each in off:
            each["event"] = None
        for each in self.all(label["children"]):
            if reach == "branch" or (reach == "together" and each["event"] == event):
                each["event"] = None
        for each in self.all():
            self.goes_off(each, each["event"])
        return True

    def add(self, uid, parent):
        above = self.place(parent)
        above["children"].append({"id": uid, "name": uid, "event": above["event"], "children": []})
        return True

    def move(self, uid, parent):
        label, above = self.find(uid), self.place(parent)
        if parent in {uid, *(each["id"] for each in self.all(label["children"]))}:
            return False
        next(self.above(uid), self.place(None))["children"].remove(label)
        above["children"].append(label)
        self.goes_off(label, above["event"])
        return True
