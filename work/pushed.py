"""What a program suggests, read line by line: each line is a JSON object about one item."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings

from annotation_service import words
from annotation_service.db import among
from annotation_service.inputs import Refused
from annotation_service.json_input import Decoder, parse_json
from annotation_service.schemas import Checker, load
from datasets.models import Dataset, Item
from ontologies.labels import Label
from ontologies.models import Ontology
from resources.matching import SuggestedEntity, SuggestedRelation, Suggestions

from .placing import for_calibration

SCHEMA = Path(__file__).parent / "schemas" / "suggestions.json"
LINES_AT_ONCE = 1000  # whose items are looked up together
MOST_FLAWS = 20  # told of one line
Line = str | bytes | Mapping[str, Any]


class Refusal(NamedTuple):
    """A suggestion that is not made, by its line, counted from 1, the external id of its item and its JSON path, and why. The
    path “$” is that of all of an item."""

    line: int
    external_id: str
    place: str
    text: str


class PushedItem(NamedTuple):
    """What is suggested on an item, each with its score and its path."""

    line: int
    item: Item
    found: Suggestions
    scores: dict[Any, float | None]
    paths: dict[Any, str]

    def refusal(self, what: Any, text: str) -> Refusal:
        return Refusal(self.line, self.item.external_id, self.paths.get(what, "$"), text)


@cache
def _checker() -> Checker:
    return Checker(load(SCHEMA))


class PushReader:
    """Reads lines; what cannot be suggested is refused one by one."""

    def __init__(self, dataset: Dataset, refuse: Callable[[Refusal], None]) -> None:
        self.dataset, self.refuse = dataset, refuse
        ontologies = Ontology.objects.filter(project=dataset.project_id)
        self.names = {ontology.kind: ontology.label_names() for ontology in ontologies}
        self._labels: dict[tuple[str, str], Label | str] = {}
        self._named: dict[int, int] = {}  # the lines of items

    def read(self, lines: Iterable[Line]) -> Iterator[PushedItem]:
        documents = self._documents(lines)
        while some := list(islice(documents, LINES_AT_ONCE)):
            by_external_id, by_id, bare = self._items([value for _, value in some])
            for line, value in some:
                external_id = value.get("external_id") or ""
                item = by_external_id.get(external_id) if external_id else by_id.get(value.get("id", 0))
                if reason := self._against(item, external_id, value, line, bare):
                    self.refuse(Refusal(line, external_id, "$", reason))
                elif item:
                    yield self._pushed(line, item, value)

    def _documents(self, lines: Iterable[Line]) -> Iterator[tuple[int, dict[str, Any]]]:
        decoder = Decoder()
        for number, line in enumerate(lines, start=1):
            try:
                value = self._parsed(line, number, decoder)
            except Refused as error:
                self.refuse(Refusal(number, "", "$", error.problems[0].text))
                continue
            if _checker().is_valid(value):
                yield number, value
            elif value is not None:
                external_id = value.get("external_id") if isinstance(value, dict) else None
                named = external_id[:200] if isinstance(external_id, str) else ""
                for path, text in islice(_checker().problems(value), MOST_FLAWS):
                    self.refuse(Refusal(number, named, path, text))

    def _parsed(self, line: Line, number: int, decoder: Decoder) -> Any:
        """None for a blank line."""
        if isinstance(line, Mapping):
            return dict(line)
        try:
            text = line.decode() if isinstance(line, bytes) else line
        except UnicodeDecodeError as error:
            raise Refused("This line is not UTF-8.") from error
        if len(text) > settings.MAX_ITEM_JSON_CHARACTERS:
            raise Refused(f"A line has at most {words.number(settings.MAX_ITEM_JSON_CHARACTERS)} characters.")
        return parse_json(text, 10, line=number, decoder=decoder) if text.strip() else None

    def _items(self, values: list[dict[str, Any]]) -> tuple[dict[str, Item], dict[int, Item], set[int]]:
        """The items that are named, in the bin, too; live ones win. Those for calibration by their keys."""
        fields = ("external_id", "position", "tokens", "offsets", "text_version", "removed_at")
        items = Item.with_removed.filter(dataset=self.dataset).only(*fields).order_by("-removed_at")
        names = {value["external_id"] for value in values if value.get("external_id")}
        keys = {value["id"] for value in values if not value.get("external_id") and "id" in value}
        named = items.filter(external_id__in=among(list(names))) if names else []
        by_external_id = {item.external_id: item for item in sorted(named, key=lambda item: item.removed_at is None)}
        by_id = {item.pk: item for item in items.filter(pk__in=among(list(keys)))} if keys else {}
        found = [item.pk for item in (*by_external_id.values(), *by_id.values())]
        bare = for_calibration(Item.objects.filter(pk__in=among(found))).values_list("pk", flat=True)
        return by_external_id, by_id, set(bare)

    def _against(
        self, item: Item | None, external_id: str, value: dict[str, Any], line: int, bare: set[int]
    ) -> str | None:
        """Why nothing can be suggested on an item."""
        if not external_id and "id" not in value:
            return "Name the item, by “external_id” or by “id”."
        if item is None:
            return "The project has no such item."
        if item.removed_at:
            return "This item was removed."
        if item.pk in bare:
            return "This item is for calibration, where nothing is suggested."
        if (first := self._named.setdefault(item.pk, line)) != line:
            return f"Line {first} is about the same item. All that is suggested on it stands in one line."
        return None

    def _pushed(self, line: int, item: Item, value: dict[str, Any]) -> PushedItem:
        pushed = PushedItem(line, item, Suggestions([], []), {}, {})
        ends: dict[str, SuggestedEntity] = {}
        for index, mark in enumerate(value.get("entities") or ()):
            path = f"$.entities[{index}]"
            try:
                entity = SuggestedEntity(*_span(item, mark), self._label("entity", mark["label"]))
                if mark.get("id") in ends:
                    raise Refused(f"Another entity has the id “{mark['id']}”.")
                self._enter(pushed, pushed.found.entities, entity, path, mark)
            except Refused as error:
                self.refuse(Refusal(line, item.external_id, path, str(error)))
            else:
                if "id" in mark:
                    ends[mark["id"]] = entity
        for index, mark in enumerate(value.get("relations") or ()):
            path = f"$.relations[{index}]"
            try:
                for end in (mark["source_id"], mark["target_id"]):
                    if end not in ends:
                        raise Refused(f"No entity is suggested here with the id “{end}”.")
                source, target = ends[mark["source_id"]], ends[mark["target_id"]]
                if source == target:
                    raise Refused("A relation connects two different entities.")
                relation = SuggestedRelation(source, target, self._label("relation", mark["label"]))
                self._enter(pushed, pushed.found.relations, relation, path, mark)
            except Refused as error:
                self.refuse(Refusal(line, item.external_id, path, str(error)))
        return pushed

    def _enter(self, pushed: PushedItem, marks: list[Any], mark: Any, path: str, said: dict[str, Any]) -> None:
        if mark in pushed.paths:
            raise Refused(f"{pushed.paths[mark]} says the same.")
        marks.append(mark)
        pushed.paths[mark], pushed.scores[mark] = path, said.get("score")

    def _label(self, kind: str, name: str) -> int:
        if (kind, name) not in self._labels:
            self._labels[kind, name] = self._found(kind, name)
        found = self._labels[kind, name]
        if isinstance(found, str):
            raise Refused(found)
        return found.pk

    def _found(self, kind: str, name: str) -> Label | str:
        """The label, by its full name or its id, or why it cannot be used."""
        if kind not in self.names:
            return "The project has no labels for relations."
        names = self.names[kind]
        label = names.find(name) or names.labels.by_uid.get(name)
        if label is None:
            return names.why_not(name)
        return label if label.active else f"The label “{label.fullname}” is switched off."


def _span(item: Item, mark: dict[str, Any]) -> tuple[int, int]:
    """The first and the last token of an entity."""
    by_tokens, by_characters = ("start", "end"), ("start_char", "end_char")
    if {*by_tokens} <= mark.keys() and not mark.keys() & {*by_characters}:
        start, end = int(mark["start"]), int(mark["end"])  # for JSON Schema 1.0 is an integer, too
        if not start <= end < len(item.tokens):
            tokens = words.plural(len(item.tokens), "token,tokens")
            raise Refused(f"The item has {tokens}, counted from 0; {start} to {end} is not a span of them.")
        return start, end
    if not {*by_characters} <= mark.keys() or mark.keys() & {*by_tokens}:
        raise Refused("Give either “start” and “end”, which are tokens, or “start_char” and “end_char”.")
    if item.offsets is None:
        raise Refused(
            "A token of this item does not occur in its original text. Give tokens in the place of characters."
        )
    first = next((place for place, (start, _) in enumerate(item.offsets) if start == mark["start_char"]), None)
    last = next((place for place, (_, end) in enumerate(item.offsets) if end == mark["end_char"]), None)
    if first is None or last is None or first > last:
        characters = f"{int(mark['start_char'])} to {int(mark['end_char'])}"
        raise Refused(f"The characters {characters} do not begin and end where tokens of the item do.")
    return first, last
