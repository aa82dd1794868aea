"""Counting how often nodes and edges are marked: of each item once, and again where something has changed."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import CharField, Count, Exists, F, OuterRef, Q, Sum, Value
from django.db.models.functions import Cast, Coalesce, Concat
from django.utils import timezone

from annotation_service.db import Written, among, execute, keys, snapshot, store, write
from datasets.cleaned import CleanedText
from datasets.importing.document import Progress, no_progress
from datasets.models import GIVEN, Annotation, Entity, Item, Layer, Mark, Relation
from datasets.portions import by_keys, portions
from quality.comparison import GIVEN_VOICE
from quality.voices import GOLD_VOICE

from .models import CountedItem, EdgeTotal, Graph, ItemEdge, ItemNode, NodeTotal, SurfaceForm
from .models.counts import at_least
from .models.graph import digest, fold_words

ITEMS_READ, ITEMS_AT_ONCE = 2000, 200
# So many counts are stored before others can write.
ROWS_AT_ONCE = 2000
# So many items are counted while somebody waits.
QUICK = 400
VOICES = (
    Q(layer=Layer.GIVEN) | Q(layer=Layer.GOLD, done_at__isnull=False) | Q(layer=Layer.OWN, started_at__isnull=False)
)
"""Whose marks are counted: unbegun work is nobody's."""
_TOTALS = (
    (ItemNode, NodeTotal, ("form_id", "voice"), ("marks", "relations")),
    (ItemEdge, EdgeTotal, ("subject_id", "object_id", "label", "voice"), ("marks",)),
)
_ADD = """
INSERT INTO {total} (graph_id, {by}, {sums}) SELECT %(graph)s, {by}, {added} FROM {table} WHERE item_id IN ({items}) GROUP BY {by}
    ON CONFLICT ({by}) DO UPDATE SET {new}
"""


class Form(NamedTuple):
    """A surface form that was found in an item; ``label`` is the key of its label."""

    digest: str
    label: int
    text: str
    words: str


class Edge(NamedTuple):
    subject: Form
    label: int
    object: Form


class ItemCounts:
    """What the marks of an item count: by voices and forms marks and relations, by voices and edges marks."""

    def __init__(self) -> None:
        self.nodes: Counter[tuple[int, Form]] = Counter()
        self.ends: Counter[tuple[int, Form]] = Counter()
        self.edges: Counter[tuple[int, Edge]] = Counter()
        self._people: dict[Any, int] = defaultdict(int)

    def add(self, voice: int, entities: Mapping[Any, Form], relations: Mapping[Any, Edge]) -> None:
        """The marks of a voice, by what they say."""
        for said, form in entities.items():
            self.nodes[voice, form] += 1
            self._agree(voice, said, self.nodes, form)
        for said, edge in relations.items():
            self.edges[voice, edge] += 1
            self._agree(voice, said, self.edges, edge)
            for form in (edge.subject, edge.object):
                self.ends[voice, form] += 1
                if voice > GIVEN_VOICE:
                    self._count_agreed(self.ends, self._people[said], form)

    def __len__(self) -> int:
        return len(self.nodes) + len(self.edges)

    def _agree(self, voice: int, said: Any, counter: Counter[Any], thing: Any) -> None:
        """Another person says what so many have said before: all of them count for what is said by at least one more."""
        if voice > GIVEN_VOICE:
            self._people[said] += 1
            self._count_agreed(counter, self._people[said], thing)

    @staticmethod
    def _count_agreed(counter: Counter[Any], people: int, thing: Any) -> None:
        for number in range(1, people):
            counter[at_least(number), thing] += 1
        counter[at_least(people), thing] += people


# --- Reading -------------------------------------------------------------------------------------------------------------


class ReadMark(NamedTuple):
    """An accepted mark: of whom, what it says, and the entities at its ends if it is a relation."""

    pk: int
    voice: int
    uid: str
    label: int
    place: tuple[int, int]
    """Tokens, or the keys of the ends."""
    created_at: str = ""
    updated_at: str = ""


class ReadItem(NamedTuple):
    pk: int
    tokens: Sequence[str]
    cleaned: CleanedText
    entities: list[ReadMark]
    relations: list[ReadMark]


def read_items(items: Collection[int], voices: Q = VOICES, *, with_times: bool = False) -> Iterator[ReadItem]:
    """Items, given by their keys, with the accepted marks of voices, in the order of their positions; the times of marks are
    read if wanted. To be read in a `snapshot`."""
    annotations = Annotation.objects.filter(voices, item__in=among(list(items))).order_by("pk")
    whose = {
        pk: (item, annotator or (GIVEN_VOICE if layer == Layer.GIVEN else GOLD_VOICE))
        for pk, item, layer, annotator in annotations.values_list("pk", "item", "layer", "annotator")
    }
    counted = Q(annotation__in=among(list(whose))) & (
        Q(status=Mark.Status.ACCEPTED) & ~Q(annotation__layer=Layer.GIVEN) | GIVEN
    )
    marks: dict[type[Mark], dict[int, list[ReadMark]]] = {Entity: defaultdict(list), Relation: defaultdict(list)}
    times = (Written("created_at"), Written("updated_at")) if with_times else ()
    for model, place in ((Entity, ("start", "end")), (Relation, ("source", "target"))):
        rows = model._default_manager.filter(counted).order_by("pk")
        for pk, annotation, uid, label, *at in rows.values_list("pk", "annotation", "uid", "label", *place, *times):
            item, voice = whose[annotation]
            marks[model][item].append(ReadMark(pk, voice, uid, label, (at[0], at[1]), *at[2:]))
    texts = Item.objects.filter(pk__in=among(list(items))).order_by("position")
    for pk, tokens, text in texts.values_list("pk", "tokens", "search_text"):
        cleaned = CleanedText.unfolded(tokens, text, len(text))
        yield ReadItem(pk, tokens, cleaned, marks[Entity][pk], marks[Relation][pk])


class Folding:
    """Makes forms of marks, as the graph folds words."""

    def __init__(self, graph: Graph) -> None:
        self._stem = graph.stem
        self._uids = {label.pk: label.uid for o in graph.project.ontology_set.all() for label in o.labels()}
        self._form = lru_cache(maxsize=100_000)(self._find_form)

    def form(self, item: ReadItem, mark: ReadMark) -> Form:
        """Of an entity."""
        return self._form(item.cleaned.between(*mark.place), mark.label)

    def _find_form(self, words: str, label: int) -> Form:
        plain = fold_words(words)
        text = fold_words(words, self._stem) if self._stem else plain
        return Form(digest(self._uids.get(label, ""), text), label, text, plain if plain != text else "")

    def count(self, item: ReadItem) -> ItemCounts:
        counts = ItemCounts()
        by_voice: dict[int, tuple[dict[Any, Form], dict[Any, Edge]]] = defaultdict(lambda: ({}, {}))
        said = {}
        for mark in item.entities:
            said[mark.pk] = (*mark.place, mark.label), self.form(item, mark)
            by_voice[mark.voice][0][said[mark.pk][0]] = said[mark.pk][1]
        for mark in item.relations:
            if all(end in said for end in mark.place):
                (source, subject), (target, object) = (said[end] for end in mark.place)
                by_voice[mark.voice][1][source, mark.label, target] = Edge(subject, mark.label, object)
        for voice, (entities, relations) in by_voice.items():
            counts.add(voice, entities, relations)
        return counts


# --- What is kept --------------------------------------------------------------------------------------------------------


def _parts() -> list[Any]:
    """What changes with every change of marks, of whether they count, and of texts."""
    started = Count("pk", filter=Q(started_at__isnull=False))
    done = Count("pk", filter=Q(layer=Layer.GOLD, done_at__isnull=False))
    return [Count("pk"), Sum("revision"), Sum(F("pk") * F("revision")), Sum("item__text_version"), started, done]


def _signature(graph: Graph) -> Concat:
    parts: list[Any] = [Value(graph.stem)]
    for part in _parts():
        parts += [Value(" "), Coalesce(Cast(part, CharField()), Value("0"))]
    return Concat(*parts, output_field=CharField())


def _annotations(graph: Graph) -> Any:
    return Annotation.objects.filter(item__dataset=graph.dataset, item__removed_at=None).order_by()


def signature_now(graph: Graph) -> str:
    """Of all marks."""
    return str(_annotations(graph).aggregate(signature=_signature(graph))["signature"])


def stale(graph: Graph) -> Iterator[dict[int, str]]:
    """The keys of items whose counts are not those of now, some at a time, with their signatures; one without marks has none."""
    marked = _annotations(graph).filter(item=OuterRef("item"))
    gone, last = CountedItem.objects.filter(~Exists(marked), graph=graph).order_by("item"), 0
    while some := list(gone.filter(item__gt=last).values_list("item", flat=True)[:ITEMS_READ]):
        last = some[-1]
        yield dict.fromkeys(some, "")
    for items in by_keys(graph.dataset.items(), ITEMS_READ):
        here = _annotations(graph).filter(item__in=among(items))
        now = here.values("item").annotate(signature=_signature(graph)).values_list("item", "signature")
        kept = dict(CountedItem.objects.filter(item__in=among(items)).values_list("item", "signature"))
        yield {item: signature for item, signature in now if kept.get(item) != signature}


def refresh_quickly(graph: Graph) -> bool:
    """Count what has changed, unless that is more than somebody waits for; returns whether all is counted."""
    changed: dict[int, str] = {}
    if graph.signature == signature_now(graph):
        return True
    for some in stale(graph):
        changed |= some
        if len(changed) > QUICK:
            return False
    refresh(graph)
    return True


def refresh(graph: Graph, progress: Progress = no_progress) -> None:
    """Count what has changed, in short transactions. What changes meanwhile is counted the next time."""
    signature, folding, done = signature_now(graph), Folding(graph), 0
    for changed in stale(graph):
        progress(done, graph.dataset.item_count, "counting")
        done += ITEMS_READ
        for first in range(0, len(changed), ITEMS_AT_ONCE):
            some = list(changed)[first : first + ITEMS_AT_ONCE]
            with snapshot():
                counts = {item.pk: folding.count(item) for item in read_items(some)}
            rows = [(pk, changed[pk], counts.get(pk, ItemCounts())) for pk in some]
            for few in portions(rows, lambda row: len(row[2]), most=ITEMS_AT_ONCE, heaviest=ROWS_AT_ONCE):
                _store(graph, few)
    with write():
        store(graph.locked(), signature=signature, counted_at=timezone.now())
    graph.signature = signature


def _store(graph: Graph, rows: Sequence[tuple[int, str, ItemCounts]]) -> None:
    """Let these be the counts of some items, given by their keys and signatures."""
    with write():
        graph.locked()  # whoever counts takes turns
        forms = _stored_forms(graph, [counts for *_, counts in rows])
        items = [pk for pk, *_ in rows]
        _add_up(graph, items, -1)
        for model in (ItemNode, ItemEdge, CountedItem):
            model._default_manager.filter(item__in=among(items))._raw_delete(connection.alias)
        now = [(pk, signature, counts) for pk, signature, counts in rows if signature]
        CountedItem.objects.bulk_create(CountedItem(item=pk, graph=graph, signature=sign) for pk, sign, _ in now)
        nodes = (
            (pk, forms[form.digest], voice, marks, counts.ends[voice, form])
            for pk, _, counts in now
            for (voice, form), marks in counts.nodes.items()
        )
        edges = (
            (pk, forms[edge.subject.digest], edge.label, forms[edge.object.digest], voice, marks)
            for pk, _, counts in now
            for (voice, edge), marks in counts.edges.items()
        )
        _insert("graph_itemnode (item_id, form_id, voice, marks, relations)", nodes)
        _insert("graph_itemedge (item_id, subject_id, label, object_id, voice, marks)", edges)
        _add_up(graph, items, 1)
        for _, total, *_ in _TOTALS:
            # Written out, as the condition of an index is.
            execute(f"DELETE FROM {total._meta.db_table} WHERE graph_id = %(graph)s AND marks = 0", {"graph": graph.pk})


def _insert(columns: str, rows: Iterable[tuple[int, ...]]) -> None:
    """A million times in a large project: the ORM takes four times as long."""
    places = ", ".join(["%s"] * (columns.count(",") + 1))
    with connection.cursor() as cursor:
        cursor.executemany(f"INSERT INTO {columns} VALUES ({places})", list(rows))


def _add_up(graph: Graph, items: Collection[int], sign: int) -> None:
    """Add the counts of items to the totals, or take them off."""
    for model, total, by, sums in _TOTALS:
        table = total._meta.db_table
        statement = _ADD.format(
            total=table,
            table=model._meta.db_table,
            by=", ".join(by),
            sums=", ".join(sums),
            added=", ".join(f"{sign} * SUM({each})" for each in sums),
            items=keys(items),
            new=", ".join(f"{each} = {table}.{each} + excluded.{each}" for each in sums),
        )
        execute(statement, {"graph": graph.pk})


def _stored_forms(graph: Graph, counts: Collection[ItemCounts]) -> dict[str, int]:
    """The keys of forms, by their ids; new ones are stored."""
    found = {form.digest: form for each in counts for _, form in each.nodes}
    rows = graph.forms.filter(digest__in=among(list(found)))
    known = dict(rows.values_list("digest", "pk"))
    if new := [form for key, form in found.items() if key not in known]:
        made = [SurfaceForm(graph=graph, search_text="", **form._asdict()) for form in new]
        for each in made:
            each.search_text = each.searched()
        SurfaceForm.objects.bulk_create(made, ignore_conflicts=True)
        known = dict(rows.values_list("digest", "pk"))
    return known
