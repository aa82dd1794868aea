"""All items of a project in a table: what each filter finds is what a look at every row of the database finds, too."""

import random
import re
from datetime import UTC, datetime
from itertools import product
from uuid import uuid4

import pytest
from django.http import QueryDict

from annotation_service import jobs
from annotation_service.models import Job
from datasets.models import Annotation, Entity
from projects import all_alike
from projects.assignment.giving import AssignsItems
from projects.item_table import COLUMNS, HAS, STATES, ProjectItems
from tests import factories
from tests.annotations.own_work import label_of, mark, work
from tests.queries import queries_of
from tests.resource_sets import broken_places, make
from tests.soak import SOAK, amount
from work.models import Comment, Flag, ItemLabel, ItemWork
from work.models.item_work import count_some, delete_annotations, refresh

TEXT = "".join(f"{word} number {n}\n" for n, word in enumerate(["pump", "valve", "oil", "filter"] * 4, start=1))
LABELS = ["PhysicalObject", "Thermostat", "Activity", "State"]


@pytest.fixture
def project(alice, carol, dave):
    return factories.project(by=alice, annotators=[carol, dave, factories.user("erin")], text=TEXT)


@pytest.fixture
def annotators(project):
    return [member.user for member in project.membership_set.filter(role="annotator").select_related("user")]


def item(project, number):
    return project.dataset.items()[number - 1]


def numbers(project, query=""):
    refresh(project.dataset.pk, 60)
    return [found.number for found in ProjectItems.of(project, QueryDict(query)).items()]


# --- Whatever people do --------------------------------------------------------------------------------------------------


def do_something(rng, project, person):
    """One step of somebody, which may be refused or change nothing."""
    on = item(project, rng.randrange(16) + 1)
    own = Annotation.objects.filter(item=on, annotator=person).first()
    match rng.choice(
        ["mark", "mark", "mark", "remove", "relate", "done", "done", "reopen", "flag", "comment", "batch"]
    ):
        case "mark" if own is None or not own.done_at:
            mark(project, person, on.number, rng.choice(LABELS), *sorted(rng.choices(range(3), k=2)))
        case "remove" if own and own.entity_set.exists() and not own.done_at:
            Annotation.start(on, person).mark(Entity, own.entity_set.first().uid).remove()
        case "relate" if own and own.entity_set.count() > 1 and not own.done_at:
            source, target = rng.sample(sorted(own.entity_set.values_list("uid", flat=True)), 2)
            label = project.relation_ontology.items().first()
            Annotation.start(on, person).add_relation(uid=uuid4().hex, label=label, source=source, target=target)
        case "done":
            Annotation.start(on, person).finish()
        case "reopen" if own:
            own.reopen()
        case "flag":
            Flag.put(on, person, kind=rng.choice(Flag.Kind.values))
        case "comment":
            comment = Comment.begin(on, person, by=person, text=rng.choice("abc"))
            if rng.random() < 0.5:
                comment.resolve(by=person)
        case "batch" if own is None:  # what a batch puts on an item that nobody has begun, and its end
            prepared = Annotation.prepare(on, person)
            refresh(project.dataset.pk, 60)
            if rng.random() < 0.5:
                delete_annotations([prepared.pk])


def reckoned(project, people):
    """Each item as a look at all its rows has it: what ``people`` did there."""
    facts = {}
    for found in project.dataset.items():
        own = [each for each in found.annotation_set.filter(annotator__in=people) if each.started_at]
        said = {"item": found, "person__in": people}
        marks = [
            [(e.label_id, e.start, e.end) for e in each.entity_set.filter(status="accepted")]
            + [
                (r.label_id, (r.source.label_id, *r.source.place), (r.target.label_id, *r.target.place))
                for r in each.relation_set.filter(status="accepted")
            ]
            for each in own
        ]
        facts[found.number] = {
            "text": found.original,
            "begun": len(own),
            "done": sum(each.done_at is not None for each in own),
            "marks": sum(map(len, marks)),
            "labels": {each[0] for some in marks for each in some},
            "disputed": len({frozenset(some) for some, each in zip(marks, own, strict=True) if each.done_at}) > 1,
            "flags": {flag.kind for flag in Flag.objects.filter(**said)},
            "comments": Comment.objects.filter(**said).count(),
            "open": Comment.objects.filter(**said).open().count(),
            "changed": max((each.changed_at for each in own if each.changed_at), default=None),
            "length": len(found.search_text),
        }
    return facts


STATE = {
    "": lambda fact: True,
    "untouched": lambda fact: fact["begun"] == 0,
    "begun": lambda fact: fact["begun"] > fact["done"],
    "undone": lambda fact: fact["done"] == 0,
    "done": lambda fact: fact["done"] > 0,
    **{f"done-{n}": lambda fact, n=n: fact["done"] == n for n in range(4)},
}
WITH = {
    "": lambda fact: True,
    "disputed": lambda fact: fact["disputed"],
    "marks": lambda fact: fact["marks"] > 0,
    "unmarked": lambda fact: fact["marks"] == 0,
    "flags": lambda fact: bool(fact["flags"]),
    **{kind: lambda fact, kind=kind: kind in fact["flags"] for kind in Flag.Kind.values},
    "open": lambda fact: fact["open"] > 0,
    "comments": lambda fact: fact["comments"] > 0,
}
SORTS = {"number": None, "done": 0, "marks": 0, "length": 0, "changed": None}
LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)


def test_every_choice_is_reckoned_here():
    assert STATE.keys() >= {"", *STATES} and WITH.keys() == {"", *HAS}
    assert SORTS.keys() == {column.name for column in COLUMNS}


@pytest.mark.parametrize("seed", range(200 if SOAK else 1))
def test_filters_find_what_everybody_did(project, annotators, seed):
    rng = random.Random(seed)
    for _ in range(2):  # what was counted before goes on
        for _ in range(40):
            do_something(rng, project, rng.choice(annotators))
        refresh(project.dataset.pk, 60)
    facts = reckoned(project, annotators)
    pairs = [*((state, "") for state in STATE), *(("", has) for has in WITH), *rng.sample([*product(STATE, WITH)], 10)]
    for state, has in pairs:
        wanted = [number for number, fact in facts.items() if STATE[state](fact) and WITH[has](fact)]
        assert numbers(project, f"state={state}&has={has}") == wanted, (state, has)
    labels = {label.pk: label for label in project.entity_ontology.labels()}
    for label in labels.values():
        branch = {pk for pk, each in labels.items() if f"{each.fullname}/".startswith(f"{label.fullname}/")}
        wanted = [number for number, fact in facts.items() if fact["labels"] & branch]
        assert numbers(project, f"label={label.uid}") == numbers(project, f"label={label.fullname}") == wanted
    for sort in ("done", "marks", "length"):
        assert numbers(project, f"sort={sort}") == sorted(facts, key=lambda number: facts[number][sort])
        order = sorted(facts, key=lambda number: (-facts[number][sort], number))
        assert numbers(project, f"sort=-{sort}") == order
    changed = [number for number, fact in facts.items() if fact["changed"]]
    order = sorted(changed, key=lambda number: facts[number]["changed"], reverse=True)
    assert numbers(project, "sort=-changed")[: len(order)] == order
    person = rng.choice(annotators)
    own = reckoned(project, [person])
    for query, matches in (
        *((f"state={state}", STATE[state]) for state in ("untouched", "undone", "done")),
        ("state=begun", lambda fact: fact["begun"] and not fact["done"]),
        *((f"has={has}", WITH[has]) for has in ("marks", "flags", "issue", "open", "comments")),
    ):
        wanted = [number for number, fact in own.items() if matches(fact)]
        assert numbers(project, f"person={person.pk}&{query}") == wanted, query
    of_all = [number for number, fact in facts.items() if fact["disputed"] and fact["done"] == 2]
    assert numbers(project, f"person={person}&state=done-2&has=disputed") == of_all


OWN_STATE = STATE | {"begun": lambda fact: fact["begun"] and not fact["done"]}
OF_ALL = ("disputed", "unmarked")  # also where somebody is named


@pytest.mark.parametrize("per_item", [None, 2])
@pytest.mark.parametrize("seed", range(100 if SOAK else 1))
def test_filters_and_orders_go_together(alice, carol, dave, per_item, seed):
    people = [carol, dave, factories.user("erin")]
    project = factories.project(by=alice, annotators=people, text=TEXT, annotators_per_item=per_item)
    rng = random.Random(seed)
    for _ in range(80):
        do_something(rng, project, rng.choice(people))
    facts, labels = reckoned(project, people), list(project.entity_ontology.labels())
    theirs = {person: reckoned(project, [person]) for person in people}
    for _ in range(amount(75, 150)):
        state, has, sort = rng.choice([*STATE]), rng.choice([*WITH]), rng.choice([*SORTS])
        label, q, falls = rng.choice(["", "", *labels]), rng.choice(["", "", "pump", "1"]), rng.choice(["", "-"])
        person = rng.choice([None, *people])
        own = theirs[person] if person else facts
        found = {
            number
            for number, fact in facts.items()
            if (STATE[state](fact) if not person or "-" in state else OWN_STATE[state](own[number]))
            and WITH[has](fact if has in OF_ALL else own[number])
            and (not label or own[number]["labels"] & branch(labels, label))
            and q in fact["text"]
        }
        if person and per_item:
            talked = {number for number, fact in own.items() if fact["begun"] or fact["flags"] or fact["comments"]}
            found &= {item.number for item in project.items_for(person)} | talked
        order = sorted(sorted(found), key=lambda number: order_key(number, facts[number], sort), reverse=bool(falls))
        query = f"state={state}&has={has}&label={label and label.uid}&q={q}&sort={falls}{sort}"
        assert numbers(project, f"{query}&person={person.pk if person else ''}") == order, (query, person)


def branch(labels, label):
    return {each.pk for each in labels if f"{each.fullname}/".startswith(f"{label.fullname}/")}


def order_key(number, fact, sort):
    return {"number": number, "changed": fact["changed"] or LONG_AGO}.get(sort) or fact[sort]


@pytest.mark.parametrize(
    "query",
    [
        "state=other",
        "person=carol&state=other",
        "state=done-x",
        "has=other",
        "person=999999",
        "person=bob",
        "label=nothing",
        "q=nowhere",
    ],
)
def test_what_is_no_choice_finds_nothing(project, bob, query):
    assert numbers(project, query) == []


def test_search_and_selection(project):
    assert numbers(project, "q=PUMP") == [1, 5, 9, 13]
    keys = ",".join(str(item(project, number).pk) for number in (2, 5, 9))
    assert numbers(project, f"items={keys}") == [2, 5, 9]
    assert numbers(project, f"items={keys}&q=pump") == [5, 9]
    assert numbers(project, "items=x") == []


def test_an_item_is_disputed_where_two_who_are_done_differ(project, carol, dave):
    for number in (1, 2, 3, 4):
        mark(project, carol, number, "State", 0, 0)
    mark(project, dave, 1, "State", 0, 0)
    mark(project, dave, 2, "Activity", 0, 0)
    mark(project, dave, 3, "State", 0, 1)
    mark(project, dave, 4, "Activity", 0, 0)
    for number, people in {1: (carol, dave), 2: (carol, dave), 3: (carol, dave), 4: (carol,)}.items():
        for person in people:
            Annotation.start(item(project, number), person).finish()
    assert numbers(project, "has=disputed") == [2, 3]
    # Suggestions that nobody has decided about make no difference, nor what is rejected.
    other = Annotation.objects.get(item=item(project, 1), annotator=dave)
    other.entity_set.create(
        uid="s", label=label_of(project, "Activity"), start=1, end=1, status="suggested", words_key=0
    )
    ItemWork.objects.all().delete()
    Annotation.objects.update(counted=0)
    assert numbers(project, "has=disputed") == [2, 3]


def test_in_a_dealt_project_a_person_finds_what_is_given_to_them_and_what_they_worked_on(alice, carol, dave):
    project = factories.project(by=alice, annotators=[carol, dave], text=TEXT, annotators_per_item=1)
    given = [found.number for found in project.items_for(carol)]
    assert len(given) == 8 and numbers(project, f"person={carol.pk}") == given
    others = next(number for number in range(1, 17) if number not in given)
    Annotation.start(item(project, others), carol)
    assert numbers(project, f"person={carol.pk}") == sorted([*given, others])


def test_figures_outlive_neither_their_item_nor_what_a_batch_left(project, carol):
    work(project, carol, {1: "done"})
    prepared = Annotation.prepare(item(project, 2), carol)
    refresh(project.dataset.pk, 60)
    assert set(ItemWork.objects.values_list("item__position", "done")) == {(0, 1), (1, 0)}
    delete_annotations([prepared.pk])
    assert not ItemWork.objects.filter(item__position=1).exists()
    project.erase()
    assert not ItemWork.objects.exists() and not ItemLabel.objects.exists()


# --- The page ------------------------------------------------------------------------------------------------------------


def place(project, query=""):
    return f"/projects/{project.pk}/items/{query}"


def shown(answer):
    return [int(n) for n in re.findall(r'<tr id="item-(\d+)"', answer.text)]


def test_a_row_tells_who_has_the_item_and_how_far_they_are(project, as_alice, carol, dave):
    work(project, carol, {1: "done", 2: "begun"})
    work(project, dave, {1: "done"})
    Flag.put(item(project, 1), carol, kind="uncertain", why="Two pumps")
    Comment.begin(item(project, 1), dave, by=dave, text="Why?")
    page = as_alice.get(place(project)).text
    first, second = page.split('<tr id="item-')[1:3]
    assert "2 of 3" in first and "done: carol and dave; untouched: erin" in first
    assert "0 of 3" in second and "begun: carol; untouched: dave and erin" in second
    assert f'href="../marks/{carol.pk}/{item(project, 1).pk}/"' in first
    assert "Uncertain" in first and "1 comment" in first and "Uncertain" not in second


def test_a_row_tells_what_peoples_marks_break_and_not_those_of_the_dataset(alice, as_alice, carol):
    project = factories.project(by=alice, annotators=[carol], text="pump\n")
    for owner in (None, carol):
        annotation = factories.annotation(item(project, 1), owner)
        for name in ("PhysicalObject", "State"):
            label = project.entity_ontology.items().get(name=name)
            annotation.entity_set.create(uid=name, label=label, start=0, end=0, status="accepted", origin="given")
    labels = project.entity_ontology.copied_from
    project.use(make("entity_constraints", owner=alice, entities=labels, relations=None), by=alice)
    assert len(broken_places(project)) == 2
    assert "breaks 1 rule<" in as_alice.get(place(project)).text


def test_details_tell_since_when_and_lead_to_everybodys_marks(project, as_alice, carol):
    work(project, carol, {1: "done"})
    found = as_alice.get(place(project, f"{item(project, 1).pk}/")).text
    assert "just now" in found and "no longer given" not in found
    assert found.count(">done<") == 1 and "2 people have not touched it" in found and "dave, erin</p>" in found
    [reading] = re.findall(r'href="([^"]*/marks/[^"]*)"', found)
    assert f"/{carol.pk}/" in reading and as_alice.get(reading).status_code == 200


def test_details_list_whoever_has_marks_first_and_fold_those_who_have_nothing_to_read(project, annotators, as_alice):
    carol, dave, erin = annotators
    one = item(project, 1)
    Annotation.start(one, carol).finish()
    work(project, dave, {1: "begun"})
    put_by_batch = Annotation.objects.create(item=one, annotator=erin)
    put_by_batch.entity_set.create(uid="a", label=label_of(project, "State"), start=0, end=0, status="accepted")
    found = as_alice.get(place(project, f"{one.pk}/")).text
    assert re.findall(r"Read the marks of (\w+)", found) == ["dave", "erin", "carol"]
    assert "not touched" not in found
    untouched = as_alice.get(place(project, f"{item(project, 2).pk}/")).text
    assert "3 people have not touched it" in untouched and "Read the marks" not in untouched


def test_what_is_no_longer_given_is_told(alice, as_alice, carol, dave):
    project = factories.project(by=alice, annotators=[carol, dave], text=TEXT, annotators_per_item=1)
    others = project.items_for(dave).first()
    Annotation.start(others, carol)
    assert "no longer given" in as_alice.get(place(project, f"{others.pk}/")).text


def test_the_table_comes_alone_with_an_address_that_can_be_shared(project, as_alice, carol):
    work(project, carol, {3: "done", 5: "begun"})
    query = "?q=&state=done&has=&label=&person=&sort=-marks"
    answer = as_alice.get(place(project, query), headers={"HX-Target": "items"})
    assert shown(answer) == [3] and b"<html" not in answer.content
    assert answer["HX-Push-Url"] == place(project, "?state=done&sort=-marks")
    assert shown(as_alice.get(answer["HX-Push-Url"])) == [3]


def test_a_number_leads_to_its_row(alice, as_alice):
    project = factories.project(by=alice, text="a\n" * 120)
    project.dataset.remove(project.dataset.items().filter(position__in=[3, 109]), by=alice)
    for number, leads_to in ((1, "page=1#item-1"), (51, "page=1#item-51"), (52, "page=2#item-52")):
        assert as_alice.get(place(project, f"?number={number}"))["Location"] == place(project, f"?{leads_to}")
    for number, leads_to in ((110, "page=3#item-111"), (5000, "page=3#item-120")):
        answer = as_alice.get(place(project, f"?number={number}"), follow=True)
        assert answer.redirect_chain[0][0] == place(project, f"?{leads_to}")
        assert f"There is no item {number}" in answer.text.replace("\u202f", "")


def test_an_empty_project_says_what_to_do(project, alice, as_alice):
    project.dataset.remove(project.dataset.items(), by=alice)
    assert project.dataset.get_absolute_url() in as_alice.get(place(project)).text


def test_queries_do_not_grow_with_items_people_or_work(alice, as_alice):
    def count(items, people):
        everybody = [factories.user(f"{items}-{n}") for n in range(people)]
        project = factories.project(by=alice, annotators=everybody, text="".join(f"pump {n}\n" for n in range(items)))
        for person in everybody:
            work(project, person, dict.fromkeys(range(1, items + 1, 2), "done"))
            Flag.put(item(project, 1), person, kind="issue")
            Comment.begin(item(project, 2), person, by=person, text="Why?")
        as_alice.get(place(project))  # counts what is new
        counts = []
        for query in (
            "",
            "?state=done-1&has=flags&label=State&q=pump&sort=-marks",
            f"?person={everybody[0].pk}&state=done",
        ):
            counts.append(len(queries_of(as_alice.get, place(project, query))))
        return counts

    few, many = count(4, 2), count(20, 4)
    assert few == many and max(many) <= 30


# --- Giving and taking by hand -------------------------------------------------------------------------------------------


@pytest.fixture
def dealt(alice, carol, dave):
    """Each item goes to one of two people."""
    return factories.project(by=alice, annotators=[carol, dave], text=TEXT, annotators_per_item=1)


def ask(client, project, verb, query="", **data):
    return client.post(place(project, f"{verb}/{query}"), data)


def test_all_that_match_are_given_after_a_look_at_what_that_does(dealt, as_alice, carol):
    pumps = {1, 5, 9, 13}
    had = pumps & {found.number for found in dealt.items_for(carol)}
    asked = ask(as_alice, dealt, "give", "?q=pump", all=1)
    assert "Give 4 items to" in asked.text and "Given now" not in asked.text
    chosen = {"all": 1, "count": 4, "people": carol.pk}
    foreseen = ask(as_alice, dealt, "give", "?q=pump", **chosen).text
    counts = [int(n) for n in re.findall(r'class="num">(?:<b>)?(\d+)<', foreseen)]
    assert counts == [4 - len(had), len(had)]
    assert {found.number for found in dealt.items_for(carol)} & pumps == had  # nothing was done yet
    done = ask(as_alice, dealt, "give", "?q=pump", agree=1, **chosen)
    assert f"{4 - len(had)} items given to carol." in done["HX-Trigger"] and "itemsChanged" in done["HX-Trigger"]
    assert {found.number for found in dealt.items_for(carol)} >= pumps


def test_selected_items_are_taken_except_those_that_are_begun(dealt, as_alice, carol):
    own = list(dealt.items_for(carol)[:3])
    Annotation.start(own[0], carol)
    keys = ",".join(str(found.pk) for found in own)
    done = ask(as_alice, dealt, "take", items=keys, count=3, people=carol.pk, agree=1)
    assert "2 items taken from carol. Kept, because begun: 1." in done["HX-Trigger"]
    left = set(dealt.items_for(carol))
    assert own[0] in left and not {*own[1:]} & left
    assert numbers(dealt, f"person={carol.pk}") == sorted(found.number for found in left)


def test_marks_that_go_with_items_that_are_taken_away_are_counted(dealt, as_alice, carol):
    own = list(dealt.items_for(carol))
    Annotation.start(own[0], carol)
    label = dealt.entity_ontology.items().get(name="State").uid
    for token in {item.tokens[0] for item in own}:
        form = {"tokens": [token], "label": label}
        all_alike.apply(dealt, carol, {"verb": "propagate", "kind": "entity", "form": form})
    marks = Entity.objects.filter(annotation__item__in=own[:3], annotation__started_at=None).count()
    asked = {"items": ",".join(str(found.pk) for found in own[:3]), "count": 3, "people": carol.pk}
    dialog = ask(as_alice, dealt, "take", **asked).text
    assert marks > 1 and re.search(
        rf"Marks deleted, put on all alike[^<]*</th><td class=\"num\"><b>{marks}</b>", dialog
    )
    done = ask(as_alice, dealt, "take", agree=1, **asked)
    assert f"Deleted with what people lost: {marks} marks put on all alike." in done["HX-Trigger"]


def test_many_are_given_by_a_job_while_whoever_started_it_may(dealt, as_alice, alice, bob, carol, monkeypatch):
    dealt.add_members([bob], "manager")
    monkeypatch.setattr(AssignsItems, "PORTION", 3)
    given, asked = set(dealt.items_for(carol)), {"all": 1, "count": 4, "people": carol.pk, "agree": 1}
    for _ in range(3):
        assert ask(as_alice, dealt, "give", "?q=pump", **asked).headers["HX-Redirect"].startswith("/jobs/")
    first, second, third = Job.objects.order_by("pk")
    assert set(dealt.items_for(carol)) == given
    Job.objects.filter(pk=first.pk).update(target={**first.target, "count": 5})
    jobs.run(jobs.claim(pk=first.pk))
    assert set(dealt.items_for(carol)) == given
    jobs.run(jobs.claim(pk=second.pk))
    assert {found.number for found in dealt.items_for(carol)} >= {1, 5, 9, 13}
    second.refresh_from_db()
    assert "given to carol." in second.result["text"]
    dealt.remove_member(dealt.membership_set.get(user=alice))
    jobs.run(jobs.claim(pk=third.pk))
    first.refresh_from_db()
    third.refresh_from_db()
    told = [job.errors["problems"][0][1] for job in (first, third)]
    assert "another number of items" in told[0] and "not manage" in told[1]


def test_nothing_is_done_about_another_number_of_items_than_was_agreed_to(dealt, as_alice, carol):
    given = set(dealt.items_for(carol))
    answer = ask(as_alice, dealt, "give", "?q=pump", all=1, count=3, people=carol.pk, agree=1)
    assert answer.status_code == 409 and "Look again" in answer.text
    assert set(dealt.items_for(carol)) == given


def test_without_items_or_people_nothing_is_done(dealt, as_alice, carol, bob):
    given = set(dealt.items_for(carol))
    assert ask(as_alice, dealt, "give").status_code == 422
    assert ask(as_alice, dealt, "give", "?q=nowhere", all=1).status_code == 422
    assert ask(as_alice, dealt, "give", all=1, count=16, agree=1).status_code == 200
    assert ask(as_alice, dealt, "give", all=1, count=16, agree=1, people=bob.pk).status_code == 200  # no member
    assert set(dealt.items_for(carol)) == given


def test_only_managers_have_the_boxes(dealt, as_alice, as_bob, bob):
    dealt.add_members([bob], "observer")
    assert "data-check" in as_alice.get(place(dealt)).text
    page = as_bob.get(place(dealt))
    assert page.status_code == 200 and "data-check" not in page.text
    assert ask(as_bob, dealt, "give", all=1).status_code == 403


def test_the_worker_counts_what_nobody_has_read(project, carol, dave):
    work(project, carol, {1: "done", 2: "begun"})
    work(project, dave, {1: "begun"})
    while count_some(0):
        pass
    assert list(ItemWork.objects.order_by("item__position").values_list("begun", "done", "marks")) == [
        (2, 1, 2),
        (1, 0, 1),
    ]


def test_a_reader_counts_what_changed_in_their_project_alone(project, alice, carol):
    other = factories.project(by=alice, annotators=[carol], text=TEXT)
    for each in (project, other):
        work(each, carol, {1: "done", 16: "begun"})
    refresh(project.dataset.pk, 60)
    assert set(ItemWork.objects.values_list("item", flat=True)) == {item(project, 1).pk, item(project, 16).pk}
    assert numbers(other, "state=done") == [1]


def test_who_has_nothing_to_count_finds_that_out_at_once(project, carol, django_assert_num_queries):
    work(project, carol, {1: "done"})
    dataset = project.dataset.pk
    refresh(dataset, 60)
    with django_assert_num_queries(2):  # for what is not counted, and for rules
        refresh(dataset, 60)


def test_a_reader_waits_only_so_long_for_figures(project, carol, as_alice, monkeypatch):
    work(project, carol, {1: "done"})
    monkeypatch.setattr("projects.item_views.COUNT_SECONDS", -1)
    assert "Still counting" in as_alice.get(place(project)).text
    monkeypatch.setattr("projects.item_views.COUNT_SECONDS", 60)
    assert "Still counting" not in as_alice.get(place(project)).text
