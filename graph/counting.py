"""Counting how often nodes and edges are marked: of each item once, and again where something has changed."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from django.db import DatabaseError, connection
from django.db.models import CharField, Count, Exists, F, OuterRef, Q, Sum, Value
from django.db.models.functions import Cast, Coalesce, Concat
from django.utils import timezone

from annotation_service.db import Written, among, snapshot, store, write
from datasets.cleaned import CleanedText
from datasets.importing.document import Progress, no_progress
from datasets.models import GIVEN, Annotation, Dataset, Entity, Item, Layer, Mark, Relation
from datasets.models.broken import judge_of
from datasets.models.judged import broken_in
from datasets.portions import by_keys, portions
from quality.comparison import GIVEN_VOICE
from quality.voices import voice_of
from work.models.batch import Turns

from .models import CountedItem, Graph, ItemEdge, ItemNode, SurfaceForm
from .models.counts import add_up, at_least, drop_zeros
from .models.graph import digest, fold_words

ITEMS_READ, ITEMS_AT_ONCE = 2000, 200
# So many texts at a time: they may be long.
FETCHED = 10
# So many counts are stored before others can write.
ROWS_AT_ONCE = 300
# So many items are counted while somebody waits: half a second, with fifty marks in each.
QUICK = 50
VOICES = (
    Q(layer=Layer.GIVEN) | Q(layer=Layer.GOLD, done_at__isnull=False) | Q(layer=Layer.OWN, started_at__isnull=False)
)
"""Whose marks are counted: unbegun work is nobody's."""


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


class GraphItem(NamedTuple):
    pk: int
    tokens: Sequence[str]
    cleaned: CleanedText
    entities: list[ReadMark]
    relations: list[ReadMark]


def read_items(items: Collection[int], voices: Q = VOICES, *, with_times: bool = False) -> Iterator[GraphItem]:
    """Items, given by their keys, with the accepted marks of voices, in the order of their positions; the times of marks are
    read if wanted. To be read in a `snapshot`."""
    annotations = Annotation.objects.filter(voices, item__in=among(list(items))).order_by("pk")
    whose = {
        pk: (item, voice_of(layer, annotator))
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
    for pk, tokens, text in texts.values_list("pk", "tokens", "search_text").iterator(chunk_size=FETCHED):
        cleaned = CleanedText.unfolded(tokens, text, len(text))
        yield GraphItem(pk, tokens, cleaned, marks[Entity][pk], marks[Relation][pk])


class Folding:
    """Makes forms of marks, as the graph folds words."""

    def __init__(self, graph: Graph) -> None:
        self._stem = graph.stem
        self._uids = {label.pk: label.uid for o in graph.project.ontology_set.all() for label in o.labels()}
        self._form = lru_cache(maxsize=20_000)(self._find_form)

    def form(self, item: GraphItem, mark: ReadMark) -> Form:
        """Of an entity."""
        return self._form(item.cleaned.between(*mark.place), mark.label)

    def _find_form(self, words: str, label: int) -> Form:
        plain = fold_words(words)
        text = fold_words(words, self._stem) if self._stem else plain
        return Form(digest(self._uids[label], text), label, text, plain if plain != text else "")


class Statement(NamedTuple):
    """What is said at a place of an item: that there is a form, or an edge between two; with all marks that say so."""

    what: Form | Edge
    place: tuple[Any, ...]
    """Of a form the first and last token and the label; of an edge such a place, its label and the other place."""
    marks: list[ReadMark]

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The first and last tokens of the form, or of the subject and the object."""
        places = [self.place[0], self.place[2]] if isinstance(self.what, Edge) else [self.place]
        return [(start, end) for start, end, _ in places]


def statements_in(item: GraphItem, folding: Folding) -> tuple[list[Statement], list[Statement]]:
    """Those that entities make, in the order of their tokens, and those of relations."""
    entities: dict[Any, Statement] = {}
    relations: dict[Any, Statement] = {}
    places = {}
    for mark in item.entities:
        place = places[mark.pk] = (*mark.place, mark.label)
        entities.setdefault(place, Statement(folding.form(item, mark), place, [])).marks.append(mark)
    for mark in item.relations:
        source, target = (places.get(end) for end in mark.place)
        if source and target:
            edge = Edge(entities[source].what, mark.label, entities[target].what)  # type: ignore[arg-type]
            new = Statement(edge, (source, mark.label, target), [])
            relations.setdefault(new.place, new).marks.append(mark)
    return sorted(entities.values(), key=lambda each: each.place), list(relations.values())


Counts = dict[tuple[int, Form | Edge], list[int]]
"""By the voices and what they say: marks, ends of relations, and marks that break rules."""


def count_item(item: GraphItem, folding: Folding, broken: Collection[tuple[int, str]]) -> Counts:
    """``broken`` are the voices and uids of the marks that break rules."""
    counts: Counts = defaultdict(lambda: [0, 0, 0])
    for said in chain(*statements_in(item, folding)):
        for voice, marks, flaws in _voices(said, broken):
            row = counts[voice, said.what]
            row[0] += marks
            row[2] += flaws
            if isinstance(said.what, Edge):
                counts[voice, said.what.subject][1] += marks
                counts[voice, said.what.object][1] += marks
    return counts


def _voices(said: Statement, broken: Collection[tuple[int, str]]) -> Iterator[tuple[int, int, int]]:
    """Who says so, with how many marks, and how many of these break rules: everybody, and what so many people agree about."""
    flaws = {mark.voice: (mark.voice, mark.uid) in broken for mark in said.marks}
    yield from ((voice, 1, flaw) for voice, flaw in flaws.items())
    people = [flaw for voice, flaw in flaws.items() if voice > GIVEN_VOICE]
    yield from ((at_least(number), len(people), sum(people)) for number in range(1, len(people) + 1))


# --- What is kept --------------------------------------------------------------------------------------------------------


def _signature(graph: Graph) -> Concat:
    """Changes with every change of marks, of whether they count, of texts, and of what else is counted by."""
    judge = judge_of(graph.pk)
    started = Count("pk", filter=Q(started_at__isnull=False))
    done = Count("pk", filter=Q(layer=Layer.GOLD, done_at__isnull=False))
    parts: list[Any] = [Value(f"{graph.stem} {judge.key if judge else ''}")]
    for part in (Count("pk"), Sum("revision"), Sum(F("pk") * F("revision")), Sum("item__text_version"), started, done):
        parts += [Value(" "), Coalesce(Cast(part, CharField()), Value("0"))]
    return Concat(*parts, output_field=CharField())


def _annotations(graph: Graph) -> Any:
    return Annotation.objects.filter(item__dataset=graph.dataset, item__removed_at=None).order_by()


def signature_now(graph: Graph) -> str:
    """Of all marks, and of what items there are: the sums of some that went can be those of others that came."""
    changed_at = Dataset._base_manager.filter(pk=graph.pk).values_list("updated_at", flat=True).first()
    return f"{changed_at and changed_at.timestamp()} {_annotations(graph).aggregate(marks=_signature(graph))['marks']}"


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
    """Count what has changed, unless that is more than somebody waits for, or there is no room to store it; returns whether all
    is counted."""
    with suppress(DatabaseError):
        changed: dict[int, str] = {}
        if graph.signature == (signature := signature_now(graph)):
            return True
        for some in stale(graph):
            changed |= some
            if len(changed) > QUICK:
                return False
        _count(graph, signature, [changed])
        return True
    return False


def refresh(graph: Graph, progress: Progress = no_progress) -> None:
    """Count what has changed. What changes meanwhile is counted the next time."""
    _count(graph, signature_now(graph), stale(graph), progress)


def _count(
    graph: Graph, signature: str, stale_items: Iterable[dict[int, str]], progress: Progress = no_progress
) -> None:
    """In short transactions. All marks had the ``signature`` before it was looked for what is stale."""
    before = Graph.objects.values_list("signature", flat=True).get(pk=graph.pk)
    done, turns = 0, Turns()
    for changed in stale_items:
        progress(done, graph.dataset.item_count, "counting")
        done += ITEMS_READ
        for first in range(0, len(changed), ITEMS_AT_ONCE):
            some = list(changed)[first : first + ITEMS_AT_ONCE]
            with snapshot():
                folding, broken = Folding(graph), _broken(graph, some)
                counts = {item.pk: count_item(item, folding, broken[item.pk]) for item in read_items(some)}
            rows = [(pk, changed[pk], counts.get(pk, {})) for pk in some]
            for few in portions(rows, lambda row: len(row[2]), most=ITEMS_AT_ONCE, heaviest=ROWS_AT_ONCE):
                with turns.write():
                    _store(graph, few)
    with write():
        now = graph.locked()
        # If somebody else has counted meanwhile, either may have stored what the other knew better: then all is looked at again.
        graph.signature, graph.counted_at = signature if now.signature == before else "", timezone.now()
        store(now, signature=graph.signature, counted_at=graph.counted_at)


def _broken(graph: Graph, items: Sequence[int]) -> Mapping[int, set[tuple[int, str]]]:
    """The voices and uids of marks that break rules, by items: both of two entities or, where its ends do not suit it, the
    relation."""
    found: dict[int, set[tuple[int, str]]] = defaultdict(set)
    if judge := judge_of(graph.pk):
        for row in broken_in(judge, items):
            voice = voice_of(row.annotation.layer, row.annotation.annotator_id)
            found[row.annotation.item_id] |= {(voice, uid) for uids in row.places for uid in uids[2:] or uids}
    return found


def _store(graph: Graph, rows: Sequence[tuple[int, str, Counts]]) -> None:
    """Let these be the counts of some items, given by their keys and signatures."""
    graph.locked()  # whoever counts takes turns
    forms = _stored_forms(graph, (what for *_, counts in rows for _, what in counts if isinstance(what, Form)))
    items = [pk for pk, *_ in rows]
    add_up(items, -1)
    for model in (ItemNode, ItemEdge, CountedItem):
        model._default_manager.filter(item__in=among(items))._raw_delete(connection.alias)
    now = [(pk, signature, counts) for pk, signature, counts in rows if signature]
    CountedItem.objects.bulk_create(CountedItem(item=pk, graph=graph, signature=sign) for pk, sign, _ in now)
    nodes, edges = [], []
    for pk, _, counts in now:
        for (voice, what), (marks, relations, broken) in counts.items():
            if isinstance(what, Form):
                nodes.append((pk, forms[what.digest], voice, marks, relations, broken))
            else:
                ends = forms[what.subject.digest], what.label, forms[what.object.digest]
                edges.append((pk, *ends, voice, marks, broken))
    _insert("graph_itemnode (item_id, form_id, voice, marks, relations, broken)", nodes)
    _insert("graph_itemedge (item_id, subject_id, label, object_id, voice, marks, broken)", edges)
    add_up(items)
    drop_zeros(graph.pk)


def _insert(columns: str, rows: Sequence[tuple[int, ...]]) -> None:
    """A million times in a large project: the ORM takes four times as long."""
    places = ", ".join(["%s"] * (columns.count(",") + 1))
    with connection.cursor() as cursor:
        cursor.executemany(f"INSERT INTO {columns} VALUES ({places})", rows)


def _stored_forms(graph: Graph, forms: Iterable[Form]) -> dict[str, int]:
    """The keys of forms, by their ids; new ones are stored."""
    found = {form.digest: form for form in forms}
    rows = graph.forms.filter(digest__in=among(list(found)))
    known, labels = {}, set()
    for key, label, pk in rows.values_list("digest", "label", "pk"):
        known[key] = pk
        labels.add((label, found[key].label))
    for before, now in labels:
        if before != now:  # a label that was removed has another key when it is back
            graph.forms.filter(label=before).update(label=now)
    if new := [form for key, form in found.items() if key not in known]:
        made = [SurfaceForm(graph=graph, search_text="", **form._asdict()) for form in new]
        for each in made:
            each.search_text = each.searched()
        SurfaceForm.objects.bulk_create(made, ignore_conflicts=True)
        known = dict(rows.values_list("digest", "pk"))
    return known
