"""The text of an item is corrected: what is put on its tokens moves with them, and an undo brings all back."""

import random
from datetime import timedelta
from itertools import pairwise

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation_service.edits import Conflict
from annotation_service.inputs import Refused
from datasets.cleaned import key_of
from datasets.models import Annotation, BrokenRule, Entity, Item, Rejection, Relation, TextCorrection
from datasets.models.correction import cut_anew
from datasets.models.marks import Mark
from tests import factories
from tests.annotations.test_constraints import constrain
from tests.soak import amount
from work.models import Batch, BatchChange, Comment
from work.models.item_work import refresh

pytestmark = pytest.mark.django_db
MODELS = (Entity, Relation, Rejection, BatchChange)


@pytest.fixture
def project(alice, carol, dave):
    return factories.project(by=alice, annotators=[carol, dave], text="the gear box of the pupm leaks oil\nb c\n")


@pytest.fixture
def item(project):
    return Item.objects.get(dataset__project=project, position=0)


def label(item, name):
    return factories.item(item.dataset.project.ontology_set.get(kind="entity"), name)


def mark(item, person, name, start, end, uid="", **fields):
    annotation = factories.annotation(item, person)
    uid = uid or f"{name}-{start}-{end}"
    return annotation.entity_set.create(label=label(item, name), uid=uid, start=start, end=end, **fields)


def relate(source, target, uid="r", **fields):
    tree = source.annotation.item.dataset.project.ontology_set.get(kind="relation")
    named = {"label": factories.item(tree, "hasPart"), "uid": uid}
    return source.annotation.relation_set.create(source=source, target=target, **named, **fields)


def correct(item, text, by, **options):
    item = Item.objects.get(pk=item.pk)
    return TextCorrection.make(item, cut_anew(item, text), by=by, was_version=item.text_version, **options)


def said(item):
    """The words of each mark, by its uid."""
    tokens = Item.objects.get(pk=item.pk).tokens
    marks = Entity.objects.filter(annotation__item=item).order_by("uid")
    return {each.uid: " ".join(tokens[each.start : each.end + 1]) for each in marks}


def rows_of(item):
    """All that is put on the tokens of an item."""
    return [list(model.objects.filter(annotation__item=item).order_by("pk").values()) for model in MODELS]


def test_marks_of_everybody_move_with_the_words_and_those_whose_words_are_gone_go(item, alice, carol, dave):
    for person in (None, carol, dave):
        mark(item, person, "DrivingObject", 5, 5, uid="pump", origin="given" if person is None else "person")
    mark(item, carol, "State", 6, 6, uid="leaks", status="suggested")
    mark(item, carol, "Activity", 7, 7, uid="oil", status="rejected")
    relate(mark(item, dave, "State", 6, 6, uid="leaks"), mark(item, dave, "PhysicalObject", 0, 2, uid="gone"))
    correction = correct(item, "a pump badly leaks oil", alice)
    assert said(item) == {"pump": "pump", "leaks": "leaks", "oil": "oil"}
    assert not Relation.objects.exists()
    item.refresh_from_db()
    assert (item.text_version, item.tokens, item.token_count) == (2, ["a", "pump", "badly", "leaks", "oil"], 5)
    assert (item.search_text, correction.original) == ("a pump badly leaks oil", "the gear box of the pupm leaks oil")
    people = {(before, after): who for before, after, _, _, who in correction.marks["lines"]}
    assert people == {
        ("pupm", "pump"): [0, carol.pk, dave.pk],
        ("the gear box", ""): [dave.pk],
        ("leaks → the gear box", ""): [dave.pk],
    }
    assert correction.marks["moved"] == 2


def test_marks_that_fall_together_become_one_with_the_relations_of_both(item, alice, carol):
    gear = mark(item, carol, "PhysicalObject", 1, 1, uid="gear", status="suggested")
    box = mark(item, carol, "PhysicalObject", 2, 2, uid="box")
    leak, pump = mark(item, carol, "State", 6, 6), mark(item, carol, "DrivingObject", 5, 5)
    relate(gear, leak, "r1"), relate(box, leak, "r2"), relate(pump, gear, "r3"), relate(gear, box, "r4")
    before = rows_of(item)
    correction = correct(item, "the gearbox of the pupm leaks oil", alice)
    assert said(item) == {"box": "gearbox", "State-6-6": "leaks", "DrivingObject-5-5": "pupm"}
    assert {each.uid: (each.source_id, each.target_id) for each in Relation.objects.all()} == {
        "r1": (box.pk, leak.pk),
        "r3": (pump.pk, box.pk),
    }
    correction.undo(by=alice)
    assert rows_of(item) == before


def test_an_undo_moves_what_was_made_since_and_leaves_what_somebody_changed(item, alice, carol):
    kept = mark(item, carol, "State", 6, 6, uid="kept")
    resized = mark(item, carol, "PhysicalObject", 1, 2, uid="resized")
    removed = mark(item, carol, "Activity", 7, 7, uid="removed")
    correction = correct(item, "gear box of pumps leaks much oil", alice)
    resized.refresh_from_db()
    resized.resize(4, 4)
    Entity.objects.get(pk=removed.pk).remove()
    mark(item, carol, "State", 5, 5, uid="much")
    mark(item, carol, "DrivingObject", 6, 6, uid="new")
    undo = correction.undo(by=alice)
    assert said(item) == {"kept": "leaks", "resized": "leaks", "new": "oil"}
    assert [tuple(line[:2]) for line in undo.marks["lines"]] == [("much", "")]
    assert kept == Entity.objects.get(uid="kept")
    item.refresh_from_db()
    assert (item.text_version, item.original) == (3, "the gear box of the pupm leaks oil")


def test_only_the_last_change_of_a_text_is_undone_and_only_once(item, alice):
    first = correct(item, "one", alice)
    second = correct(item, "two", alice)
    with pytest.raises(Refused, match=r"alice changed the text again on .*: only that can be undone"):
        first.undo(by=alice)
    undo = second.undo(by=alice)
    with pytest.raises(Refused, match="changed the text again"):
        second.undo(by=alice)
    with pytest.raises(Refused, match="took back a correction"):
        undo.undo(by=alice)


def test_who_saw_another_text_is_told_that_of_now(item, alice):
    old = Item.objects.get(pk=item.pk)
    correct(item, "a new text", alice)
    with pytest.raises(Conflict) as conflict:
        TextCorrection.make(old, cut_anew(old, "mine"), by=alice, was_version=1)
    assert conflict.value.fields == {"text": "a new text"}
    with pytest.raises(Refused, match="the text that the item has"):
        correct(item, "a new text", alice)


def test_rejections_and_what_batches_removed_move_and_come_back(item, project, alice, carol):
    entity = mark(item, carol, "State", 6, 6, uid="e")
    state, pump = label(item, "State").pk, label(item, "DrivingObject").pk
    whats = [f"6-6:{state}", f"5-5:{pump}>6-6:{state}:9", f"0-0:{pump}"]
    Rejection.note(entity.annotation_id, whats)
    batch = Batch.objects.create(
        dataset=project.dataset, person=carol, verb="remove", kind="entity", label="x", words="x"
    )
    place = {"start": 7, "end": 7, "words_key": key_of(["oil"]), "noted": f"7-7:{pump}", "label_id": pump, "uid": "was"}
    change = BatchChange.objects.create(batch=batch, annotation=entity.annotation, kind="entity", mark=99, **place)
    made = BatchChange.objects.create(batch=batch, annotation=entity.annotation, kind="entity", mark=entity.pk)
    gone = BatchChange.objects.create(
        batch=batch,
        annotation=entity.annotation,
        kind="entity",
        mark=98,
        **place | {"start": 0, "end": 0, "words_key": key_of(["the"])},
    )
    before = rows_of(item)
    correction = correct(item, "pump leaks Oil", alice)
    assert {each.what for each in Rejection.objects.all()} == {f"1-1:{state}", f"0-0:{pump}>1-1:{state}:9"}
    change.refresh_from_db()
    assert (change.start, change.end, change.noted, change.words_key) == (2, 2, f"2-2:{pump}", key_of(["oil"]))
    assert set(BatchChange.objects.all()) == {change, made} and gone not in BatchChange.objects.all()
    correction.undo(by=alice)
    assert rows_of(item) == before


def test_comments_stay_with_their_marks(item, alice, carol):
    mark(item, carol, "State", 6, 6, uid="e")
    comment = Comment.begin(item, carol, by=alice, text="Sure?", kind="entity", uid="e")
    correct(item, "it leaks", alice)
    comment.refresh_from_db()
    assert said(item)[comment.uid] == comment.words == "leaks"


def test_figures_and_broken_rules_are_counted_anew_and_clients_are_told(item, project, alice, carol):
    constrain(project, entities=[{"domain": "State", "excludes": ["Activity"], "can_contain": None}])
    for person in (None, carol):
        for uid, name, at in (("s", "State", 1), ("a", "Activity", 2)):
            mark(item, person, name, at, at, uid=uid, origin="given")
    refresh(item.dataset_id, 5)
    assert not TextCorrection.objects.exists()
    revisions = dict(Annotation.objects.values_list("pk", "revision"))
    correct(item, "the gearbox", alice)
    assert BrokenRule.objects.filter(annotation__item=item).count() == 2
    assert dict(Annotation.objects.values_list("pk", "revision")) == {pk: n + 1 for pk, n in revisions.items()}
    refresh(item.dataset_id, 5)
    item.refresh_from_db()
    assert item.work.marks == 2
    item.dataset.refresh_from_db()
    assert item.dataset.token_count == sum(
        Item.objects.filter(dataset=item.dataset).values_list("token_count", flat=True)
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the text is empty"),
        ("a\0b", "NUL"),
        ("a\ud800", "surrogate"),
        ("one\ntwo", "one line of text"),
        ("**", "Nothing is left"),
        ("B*  c", "Item 2 has this text already"),
        ("x" * 101, "at most 100 characters"),
        ("x " * 9, "at most 8 tokens"),
    ],
)
def test_what_cannot_be_its_text_is_refused_and_nothing_is_stored(alice, settings, text, reason):
    settings.MAX_ITEM_CHARACTERS, settings.MAX_ITEM_TOKENS = 100, 8
    options = {"remove_characters": "*", "lowercase": True, "remove_duplicates": "spacing", "tokeniser": "whitespace"}
    dataset = factories.dataset(owner=alice, text="a b\nb c\n", **options)
    with pytest.raises(Refused, match=reason):
        correct(dataset.items()[0], text, alice)
    assert [item.original for item in dataset.items()] == ["a b", "b c"]
    correct(dataset.items()[0], "A*  Big B\r\n", alice)
    first = dataset.items()[0]
    assert (first.original, first.tokens, first.search_text) == ("A*  Big B", ["a", "big", "b"], "a big b")
    assert [first.original[start:end] for start, end in first.offsets] == ["A", "Big", "B"]


def test_a_rich_item_is_cut_as_it_was_cut_or_as_is_chosen(alice):
    rich = [{"original": "A pump.", "tokens": ["A", "pump", "."]}, {"original": "A-b c", "tokens": ["A", "b", "c"]}]
    options = {"kind": "rich", "format": "json", "name": "Rich"}
    first, second = factories.upload(rich, by=alice, options=options).store().items()
    assert cut_anew(first, "The pump.").tokens == ["The", "pump", "."]
    assert cut_anew(first, "The pump.", "whitespace").tokens == ["The", "pump."]
    assert cut_anew(second, "A-b\nc.").tokens == ["A-b", "c", "."]


def test_what_was_removed_is_not_corrected(item, project, alice):
    new = cut_anew(item, "new")
    item.dataset.remove(Item.objects.filter(pk=item.pk), by=alice)
    with pytest.raises(Refused, match="removed meanwhile"):
        TextCorrection.make(item, new, by=alice, was_version=1)


def test_an_item_tells_where_the_tokens_of_each_version_are(item, alice):
    first = correct(item, "gear box leaks", alice)
    correct(item, "gearbox leaks", alice).undo(by=alice)
    item.refresh_from_db()
    assert item.alignment_from(1).span(6, 6) == item.alignment_from(2).span(2, 2) == (2, 2)
    assert item.alignment_from(2).unchanged(0, 1)  # what was undone in between changes nothing
    assert item.alignment_from(4).places == [(0, 0), (1, 1), (2, 2)]
    assert first.version == 2
    for version in (0, 5, -1):
        with pytest.raises(Refused, match="another text"):
            item.alignment_from(version)


PIECES = ["the", "gear", "box", "pump", "leaks", "Dr.", "don't", "3.5", "oil,", "😀", "İ", "(see"]


@pytest.mark.soak
def test_any_marks_move_with_any_correction_and_an_undo_brings_all_of_them_back(alice, carol, dave):
    made = factories.project(by=alice, annotators=[carol, dave], text="x\n", name="Any")
    item = Item.objects.get(dataset__project=made)
    trees = {tree.kind: list(tree.items()) for tree in made.ontology_set.all()}
    batch = Batch.objects.create(dataset=made.dataset, person=carol, verb="remove", kind="entity", label="x", words="x")
    for number in range(amount(15, 600)):
        draw = random.Random(number)
        for model in (BatchChange, Rejection, Relation, Entity, TextCorrection, Annotation):
            model.objects.all().delete()
        item.tokens = draw.choices(PIECES, k=draw.randint(1, 12))
        item.original, item.offsets, item.text_version = " ".join(item.tokens), None, 1
        item.token_count = len(item.tokens)
        item.save()
        made.dataset.touch(token_count=item.token_count)
        for annotation in (*(factories.annotation(item, who) for who in (None, carol, dave)), factories.gold(item)):
            put_any(draw, annotation, trees, batch)
        before, text = rows_of(item), item.original
        hidden = set(Entity.objects.filter(status="rejected").values_list("pk", flat=True))
        words = {pk: words for pk, words in spoken_in(item).items() if pk not in hidden}
        new = edited(draw, text)
        try:
            correction = correct(item, new, alice)
        except Refused:
            continue
        item.refresh_from_db()
        for entity in Entity.objects.filter(annotation__item=item):
            assert 0 <= entity.start <= entity.end < len(item.tokens)
            assert entity.words_key == key_of(item.tokens[entity.start : entity.end + 1])
        listed, now = {tuple(line[:2]) for line in correction.marks["lines"]}, spoken_in(item)
        for pk, was in words.items():
            assert now.get(pk) == was or was in {one for one, _ in listed} or was in now.values(), (
                number
            )  # joined to another
        correction.undo(by=alice)
        assert rows_of(item) == before, number
        item.refresh_from_db()
        assert (item.original, item.text_version) == (text, 3)


def spoken_in(item):
    text, marks = Item.objects.get(pk=item.pk).cleaned, Entity.objects.filter(annotation__item=item)
    return {each.pk: text.between(*each.place) for each in marks}


def put_any(draw, annotation, trees, batch):
    made, tokens = [], annotation.item.tokens
    for number in range(draw.randint(0, 6)):
        start = draw.randrange(len(tokens))
        place = {"start": start, "end": draw.randrange(start, len(tokens)), "label": draw.choice(trees["entity"])}
        if not annotation.entity_set.filter(**place).exists():
            status, at = draw.choice(Mark.Status.values), timezone.now() - timedelta(seconds=number)
            made.append(annotation.entity_set.create(uid=f"e{number}", status=status, updated_at=at, **place))
    for source, target in pairwise(made):
        named = {"label": draw.choice(trees["relation"]), "uid": f"{source.uid}>{target.uid}"}
        annotation.relation_set.create(source=source, target=target, status=draw.choice(Mark.Status.values), **named)
    Rejection.note(annotation.pk, {each.what for each in made if draw.random() < 0.5})
    for each in made:
        if draw.random() < 0.3:
            place = {"start": each.start, "end": each.end, "words_key": each.words_key, "noted": each.what}
            BatchChange.objects.create(batch=batch, annotation=annotation, kind="entity", mark=each.pk, **place)


def edited(draw, text):
    start = draw.randint(0, len(text))
    end = min(len(text), start + draw.choice([0, 1, 3, 10, len(text)]))
    return text[:start] + draw.choice(["", " ", draw.choice(PIECES), " ".join(draw.choices(PIECES, k=3))]) + text[end:]


# --- Pages ---------------------------------------------------------------------------------------------------------------


def address(item, end=""):
    return f"/datasets/{item.dataset_id}/items/{item.pk}/{end}"


def test_a_text_is_stored_when_its_effect_was_seen_and_can_be_undone_from_the_history(item, alice, carol, as_alice):
    mark(item, carol, "DrivingObject", 5, 5)
    mark(item, carol, "State", 6, 6)
    sent = {"text": "the gear box of the pump", "version": "1"}
    preview = as_alice.post(address(item, "text/"), sent)
    page = " ".join(preview.content.decode().split())
    assert preview.status_code == 200
    assert '<b>1 mark changes its words</b>, <b class="bad">1 mark goes</b>; 0 marks keep their words' in page
    assert page.index(" pump </td>") < page.index("the mark goes") and ">carol<" in page
    seen = preview.context["seen"]
    unseen = as_alice.post(address(item, "text/"), sent | {"text": "the gear", "agree": "1", "seen": seen})
    assert unseen.status_code == 409 and b"Look again" in unseen.content
    mark(item, None, "State", 6, 6)  # meanwhile
    assert as_alice.post(address(item, "text/"), sent | {"agree": "1", "seen": seen}).status_code == 409
    seen = as_alice.post(address(item, "text/"), sent).context["seen"]
    stored = as_alice.post(address(item, "text/"), sent | {"agree": "1", "seen": seen})
    correction = TextCorrection.objects.get()
    assert address(item, f"text/{correction.pk}/undo/") in stored["HX-Trigger"]
    page = as_alice.get(address(item)).content.decode()
    assert "Text corrected" in page and "<del>pupm</del>" in page and "<ins>pump</ins>" in page
    undone = as_alice.post(address(item, f"text/{correction.pk}/undo/"))
    assert "2 marks are back" in undone["HX-Trigger"]
    assert "Correction undone" in as_alice.get(address(item)).content.decode()
    assert as_alice.post(address(item, f"text/{correction.pk}/undo/")).status_code == 422


def test_whoever_corrects_a_text_that_was_corrected_meanwhile_sees_both(item, alice, as_alice):
    correct(item, "theirs", alice)
    answer = as_alice.post(address(item, "text/"), {"text": "mine", "version": "1", "agree": "1"})
    assert answer.status_code == 409
    assert b"theirs</blockquote>" in answer.content and b">&#10;mine</textarea>" in answer.content
    assert b'name="version" value="2"' in answer.content


def test_what_is_wrong_with_a_text_is_said_beside_it(item, as_alice):
    answer = as_alice.post(address(item, "text/"), {"text": "one\ntwo", "version": "1"})
    assert (
        answer.status_code == 422
        and b"one line of text" in answer.content
        and b">&#10;one\ntwo</textarea>" in answer.content
    )


def test_both_tables_of_items_lead_to_it(item, project, as_alice):
    for page in (f"/datasets/{item.dataset_id}/", f"/projects/{project.pk}/items/"):
        assert f'hx-get="{address(item, "text/")}"' in as_alice.get(page).content.decode()


# --- Documents -----------------------------------------------------------------------------------------------------------


RICH = {"kind": "rich", "format": "json", "name": "Rich"}


def test_a_document_corrects_the_texts_of_items_with_the_same_external_ids(alice, carol):
    old = [
        {"original": "a pupm", "tokens": ["a", "pupm"], "external_id": "1"},
        {"original": "b", "tokens": ["b"], "external_id": "2"},
    ]
    made = factories.project(by=alice, of=factories.upload(old, by=alice, options=RICH).store(), annotators=[carol])
    first = made.dataset.items()[0]
    mark(first, carol, "DrivingObject", 1, 1, uid="pump"), mark(first, carol, "State", 0, 0, uid="a")
    new = [
        {"original": "the pump", "tokens": ["the", "pump"], "external_id": "1"},
        {"original": "b", "tokens": ["b"], "external_id": "2"},
        {"original": "c", "tokens": ["c"], "external_id": "3"},
    ]
    upload = factories.upload(new, by=alice, options={"format": "json", "duplicates": "correct"}, dataset=made.dataset)
    found = upload.examine()
    assert (found.items, found.corrected, found.marks_changed, found.marks_lost) == (1, 1, 1, 1)
    assert said(first) == {"pump": "pupm", "a": "a"}
    upload.store()
    assert [(each.original, each.text_version) for each in made.dataset.items()] == [
        ("the pump", 2),
        ("b", 1),
        ("c", 1),
    ]
    assert said(first) == {"pump": "pump"}
    assert "1 text corrected" in upload.found.in_words()
    TextCorrection.objects.get().undo(by=alice)
    assert said(first) == {"pump": "pupm", "a": "a"}


def test_a_document_may_correct_texts_and_bring_none_that_is_new(alice):
    old = [{"original": "a pupm", "tokens": ["a", "pupm"], "external_id": "1"}]
    dataset = factories.upload(old, by=alice, options=RICH).store()
    new = [
        {"original": "x", "tokens": ["x"], "external_id": "1"},
        {"original": "a pump", "tokens": ["a", "pump"], "external_id": "1"},
    ]
    upload = factories.upload(new, by=alice, options={"format": "json", "duplicates": "correct"}, dataset=dataset)
    upload.store()
    dataset.refresh_from_db()
    assert [each.original for each in dataset.items()] == ["a pump"] and dataset.item_count == 1


def test_a_document_corrects_so_many_texts_and_those_that_are_the_same_do_not_count(alice, settings):
    settings.MAX_CORRECTED_TEXTS = 2
    items = [{"original": text, "tokens": [text], "external_id": text} for text in "abcd"]
    dataset = factories.upload(items, by=alice, options=RICH).store()

    def correct_some(count):
        new = [{**each, "tokens": [each["original"] * (2 if at < count else 1)]} for at, each in enumerate(items)]
        new = [{**each, "original": each["tokens"][0]} for each in new]
        return factories.upload(new, by=alice, options={"format": "json", "duplicates": "correct"}, dataset=dataset)

    with pytest.raises(Refused, match=r"item 3.*at most 2 texts of a dataset. Split it"):
        correct_some(3).store()
    with pytest.raises(Refused, match="has all these texts already"):
        correct_some(0).store()
    assert not TextCorrection.objects.exists()
    correct_some(2).store()
    assert [each.original for each in dataset.items()] == ["aa", "bb", "c", "d"]


def test_texts_are_compared_many_at_a_time(alice):
    items = [{"original": text, "tokens": [text], "external_id": text} for text in "abcdefgh"]
    dataset = factories.upload(items, by=alice, options=RICH).store()
    counts = []
    for some in (items[:2], items):
        upload = factories.upload(some, by=alice, options={"format": "json", "duplicates": "correct"}, dataset=dataset)
        with CaptureQueriesContext(connection) as queries:
            upload.examine()
        counts.append(len(queries))
    assert counts[0] == counts[1]
