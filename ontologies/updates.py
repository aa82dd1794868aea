"""What the rows of a table change in a tree: labels are added, renamed and described anew; none is removed or moved."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any

from annotation_service import words
from annotation_service.inputs import Problem, Refused
from annotation_service.journal import Step

from .documents import name_taken
from .labels import Label, Labels
from .pasted_lists import NewTree, TableRow

_DONE = {
    "name": "renamed",
    "description": "described anew",
    "example_terms": "given other example terms",
    "color": "recoloured",
}


class TreeUpdate:
    """A row is about the label with its id or, without one, with its path, in which labels may have their old or new names.

    ``changes`` are labels by field, with the value before and after; ``new`` is added below a label, by its uid, or at the top,
    by the empty string. ``notes`` tell what is not done; the ``unnamed`` labels stay as they are.
    """

    def __init__(self, labels: Labels, rows: Sequence[TableRow]) -> None:
        self.labels = labels
        self.changes: dict[str, list[tuple[Label, Any, Any]]] = {field: [] for field in _DONE}
        self.new: dict[str, NewTree] = defaultdict(NewTree)
        self.notes: list[Problem] = []
        self._ids = Counter(row.uid for row in rows)
        self._paths: dict[str, Label | None] = {row.path: labels.by_uid.get(row.uid) for row in rows if row.uid}
        self._paths |= labels.by_fullname
        self._renamed = {row.path: label for row in rows if (label := labels.by_uid.get(row.uid))}
        self._named: dict[tuple[str, str], Label | None] = {(each.parent_uid or "", each.name): each for each in labels}
        self._lines: dict[str, int] = {}
        for row in rows:
            try:
                self._take(row)
            except Refused as refused:
                self.notes.append(Problem(f"line {row.line}", refused.problems[0].text))
        self.unnamed = len(labels) - len(self._lines)

    @property
    def summary(self) -> str:
        """Such as “3 added, 1 renamed”; nothing if nothing would change."""
        counts = [(sum(tree.count for tree in self.new.values()), "added")]
        counts += [(len(changes), _DONE[field]) for field, changes in self.changes.items()]
        return ", ".join(f"{words.number(count)} {done}" for count, done in counts if count)

    @property
    def digest(self) -> str:
        """Of all that would change, so that nothing else is done than what somebody has seen."""
        return blake2b(repr([*self.steps()]).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def steps(self) -> Iterator[Step]:
        """As the history tells them, but with full names."""
        for uid, tree in self.new.items():
            path = [self.labels.by_uid[uid].fullname] if uid else []
            for new in tree.labels():
                yield Step("/".join([*path[: bool(uid) + new.level - 1], new.name]), "", None, new)
                path[bool(uid) + new.level - 1 :] = [new.name]
        for field, changes in self.changes.items():
            for label, before, after in changes:
                in_short = words.added_and_dropped(before, after) if field == "example_terms" else ""
                yield Step(label.fullname, field, before, after, in_short)

    def _take(self, row: TableRow) -> None:
        label = self.labels.by_uid.get(row.uid) if row.uid else self._at(row.names)
        if row.uid and (label is None or self._ids[row.uid] > 1):
            raise Refused(f"The id {row.uid} is {'not in this ontology' if label is None else 'in several lines'}.")
        if label is None:
            self._add(row)
            return
        if (first := self._lines.setdefault(label.uid, row.line)) != row.line:
            raise Refused(f"“{label.fullname}” stands already in line {first}.")
        for field in _DONE.keys() & row.details.keys():
            self._change(label, field, row.details[field])
        if row.uid:
            self._place(label, row)
        if row.details.get("active", label.active) != label.active:
            raise Refused(f"“{label.fullname}” is {'on' if label.active else 'off'}. Switch it in the tree.")

    def _at(self, names: list[str]) -> Label | None:
        """The label at a path; if it is not as it was or will be, some of its names are old and some new."""
        if (path := "/".join(names)) in self._paths or len(names) < 2:
            return self._paths.get(path)
        above = self._at(names[:-1])
        return above and self._named.get((above.uid, names[-1]))

    def _add(self, row: TableRow) -> None:
        above = len(row.names) - 1
        while above and "/".join(row.names[:above]) not in self._paths and not self._at(row.names[:above]):
            above -= 1
        parent = self._at(row.names[:above]) if above else None
        if (above and parent is None) or row.path in self._paths:
            raise Refused("It stands below a label whose id is not in this ontology.")
        uid, name = parent.uid if parent else "", row.names[above]
        tree = self.new[uid]
        if (uid, name) in self._named and name not in tree.top.below:
            raise Refused(name_taken(name))
        self._named.setdefault((uid, name))
        branch = tree.add(row.names[above:], tree.top, row.line)
        if branch.label.repeated:
            raise Refused(f"“{row.path}” stands already in line {branch.line}.")
        for field, value in row.details.items():
            setattr(branch.label, field, value)

    def _change(self, label: Label, field: str, value: Any) -> None:
        if value != getattr(label, field):
            self.changes[field].append((label, getattr(label, field), value))

    def _place(self, label: Label, row: TableRow) -> None:
        """Rename a label. The name of another beside it is not free, even if that gets another one: undo could not bring both
        back."""
        above, _, name = row.path.rpartition("/")
        if name != label.name:
            if self._named.setdefault((label.parent_uid or "", name), label) != label:
                raise Refused(f"“{label.fullname}” keeps its name: there is a label “{name}” beside it.")
            self._change(label, "name", name)
        parents = [each.uid for each in (self._paths.get(above), self._renamed.get(above)) if each]
        if (label.parent_uid not in parents) if above else label.parent_uid:
            raise Refused(
                f"“{label.fullname}” stays where it is. Move it in the tree to have it below “{above or 'the top'}”."
            )
