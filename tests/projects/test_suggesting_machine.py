"""Random sequences of what managers and annotators do while preannotations suggest marks: nothing is suggested twice, or after it
was rejected, and nothing is taken away that somebody touched."""

from contextlib import suppress

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from annotation_service.inputs import Refused
from annotation_service.models import User
from datasets.models import Annotation, Entity, Relation
from resources.matching import EntityForm, RelationForm
from resources.models import PreannotationSet
from tests import factories
from tests.resource_sets import make
from tests.resources.test_matching import naive
from tests.soak import amount, machine_settings

LABELS = ["A", "B", "C"]
chosen = st.integers(0, 10**6)
texts = st.lists(st.sampled_from("abc"), min_size=1, max_size=6).map(" ".join)
forms = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(" ".join)
names = st.sampled_from(LABELS)
people = st.sampled_from([0, 1])


def entity_key(entity):
    return entity.start, entity.end, entity.label_id


def relation_key(relation):
    return entity_key(relation.source), entity_key(relation.target), relation.label_id


def key_of(mark):
    return relation_key(mark) if isinstance(mark, Relation) else entity_key(mark)


class Suggesting(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        number = User.objects.count()
        self.manager = factories.manager(f"manager{number}")
        self.people = [factories.user(f"annotator{number}-{n}") for n in (0, 1)]
        nodes = [{"name": name} for name in LABELS]
        entities = factories.ontology(owner=self.manager, items=nodes)
        relations = factories.ontology(owner=self.manager, kind="relation", items=[{"name": "r"}, {"name": "s"}])
        self.blueprints = {"entities": entities, "relations": relations}
        self.project = factories.project(
            by=self.manager,
            of=factories.dataset(owner=self.manager, text="a b c a\nb a\n", tokeniser="whitespace"),
            entities=entities,
            relations=relations,
            annotators=self.people,
        )
        self.labels = {label.name: label for o in self.project.ontology_set.all() for label in o.items()}
        # What each annotation has rejected and accepted, by its key.
        self.rejected, self.accepted = {}, {}
        for kind in ("entity", "relation"):
            self.put(kind)

    def teardown(self):
        self.project.erase()

    # --- Managers ---

    @rule(kind=st.sampled_from(["entity", "relation"]))
    def put(self, kind):
        """A set with two rows, in the place of the one of its kind."""
        ends = {"source_surface_form": "a", "source_label": "A", "target_surface_form": "b", "target_label": "B"}
        documents = {
            "entity": [{"surface_form": "a", "label": "A"}, {"surface_form": "a b", "label": "B"}],
            "relation": [{**ends, "offset": offset, "label": "r"} for offset in (0, 1)],
        }
        made = make(f"{kind}_preannotations", owner=self.manager, document=documents[kind], **self.blueprints)
        self.project.put_set(made, by=self.manager)

    @rule(kind=st.sampled_from(["entity", "relation"]))
    def take_away(self, kind):
        self.project.take_set_away(PreannotationSet, kind, by=self.manager)

    @rule()
    def match(self):
        self.project.match_preannotations(by=self.manager)

    @rule(form=forms, name=names, second=forms, offset=st.integers(0, 2), kind=st.sampled_from(["entity", "relation"]))
    def add_row(self, form, name, second, offset, kind):
        own = self.project.preannotation_sets().filter(kind=kind).first()
        values = {"surface_form": form, "label": self.labels[name].uid}
        if kind == "relation":
            ends = {"source_surface_form": form, "target_surface_form": second}
            uids = {"source_label": self.labels[name].uid, "target_label": self.labels["B"].uid}
            values = {**ends, **uids, "offset": str(offset), "label": self.labels["s"].uid}
        with suppress(Refused):
            if own:
                own.add_row(values, by=self.manager)

    @rule(which=chosen, kind=st.sampled_from(["entity", "relation"]))
    def remove_row(self, which, kind):
        own = self.project.preannotation_sets().filter(kind=kind).first()
        if own and (keys := list(own.rows().values_list("pk", flat=True))):
            own.remove_rows(own.rows().filter(pk=keys[which % len(keys)]), by=self.manager)

    @rule(kind=st.sampled_from(["entity", "relation"]))
    def undo(self, kind):
        own = self.project.preannotation_sets().filter(kind=kind).first()
        with suppress(Refused):
            if own:
                own.undo(by=self.manager)

    @rule(text=texts)
    def add_item(self, text):
        options = {"kind": "standard", "format": "text"}
        factories.upload(f"{text}\n", by=self.manager, options=options, dataset=self.project.dataset).store()

    @rule(which=chosen)
    def remove_or_restore(self, which):
        dataset = self.project.dataset
        items = list(dataset.items())
        if which % 2 and dataset.bin().exists():
            dataset.restore(dataset.bin())
        elif len(items) > 1:
            dataset.remove(dataset.items().filter(pk=items[which % len(items)].pk), by=self.manager)

    # --- Annotators ---

    def begun(self, person, which):
        items = list(self.project.dataset.items())
        return Annotation.start(items[which % len(items)], self.people[person])

    def pick(self, annotation, which, **fields):
        marks = [*annotation.entity_set.filter(**fields), *annotation.relation_set.filter(**fields)]
        return marks[which % len(marks)] if marks else None

    def decide(self, annotation, mark, decision):
        """Do it unless it is refused, and note what is rejected and accepted then."""
        concerned = [type(each)._default_manager.get(pk=each.pk) for each in mark.with_relations()]
        # Before: an end that somebody has made is gone when it is removed.
        keys = [(each, key_of(each)) for each in concerned]
        if decision():
            for each, key in keys:
                if each.origin == "preannotation" and (each == mark or decision.__name__ == "remove"):
                    self.rejected.setdefault(each.annotation_id, set()).add(key)
        own = {"annotation": annotation, "status": "accepted"}
        self.accepted[annotation.pk] = {entity_key(e) for e in Entity.objects.filter(**own)} | {
            relation_key(r) for r in Relation.objects.filter(**own).select_related("source", "target")
        }

    @rule(person=people, item=chosen, which=chosen)
    def accept(self, person, item, which):
        annotation = self.begun(person, item)
        if not annotation.done_at and (mark := self.pick(annotation, which, status="suggested")):
            self.decide(annotation, mark, lambda: mark.accept())

    @rule(person=people, item=chosen, which=chosen, status=st.sampled_from(["suggested", "accepted"]))
    def remove(self, person, item, which, status):
        annotation = self.begun(person, item)
        if not annotation.done_at and (mark := self.pick(annotation, which, status=status)):

            def remove():
                mark.remove()
                return True

            self.decide(annotation, mark, remove)

    @rule(person=people, item=chosen, which=chosen, name=names)
    def relabel(self, person, item, which, name):
        annotation = self.begun(person, item)
        marks = annotation.entity_set.exclude(status="rejected").exclude(label__name=name).order_by("pk")
        mark = marks[which % len(marks)] if marks else None
        taken = mark and mark.at_same_place().filter(label__name=name).exclude(status="rejected").exists()
        if not annotation.done_at and mark and not taken:

            def relabel():
                mark.relabel(self.labels[name])
                return True

            self.decide(annotation, mark, relabel)

    @rule(person=people, item=chosen, start=st.integers(0, 5), name=names)
    def mark(self, person, item, start, name):
        annotation = self.begun(person, item)
        if not annotation.done_at and start < len(annotation.item.tokens):
            uid = f"u{Entity.objects.count()}-{start}-{name}"
            with suppress(Refused):
                made = annotation.add_entity(uid=uid, label=self.labels[name], start=start, end=start)
                self.decide(annotation, made, lambda: None)

    @rule(person=people, item=chosen, done=st.booleans())
    def finish(self, person, item, done):
        annotation = self.begun(person, item)
        annotation.finish() if done else annotation.reopen()

    # --- What must hold ---

    @invariant()
    def what_was_rejected_is_not_suggested(self):
        for annotation, keys in self.rejected.items():
            own = {"annotation": annotation, "status": "suggested"}
            assert not keys & {entity_key(e) for e in Entity.objects.filter(**own)}
            relations = Relation.objects.filter(**own).select_related("source", "target")
            assert not keys & {relation_key(r) for r in relations}

    @invariant()
    def what_was_accepted_is_there(self):
        for annotation, keys in self.accepted.items():
            own = {"annotation": annotation, "status": "accepted"}
            there = {entity_key(e) for e in Entity.objects.filter(**own)}
            there |= {relation_key(r) for r in Relation.objects.filter(**own).select_related("source", "target")}
            assert there == keys

    @precondition(lambda self: all(each.is_matched for each in self.project.preannotation_sets()))
    @rule()
    def what_is_suggested_is_what_the_rows_find(self):
        self.match()
        entities, relations = self.forms()
        for annotation in Annotation.objects.filter(item__dataset__project=self.project, item__removed_at=None):
            if annotation.done_at is None:
                self.check(annotation, *naive(annotation.item.tokens, entities, relations))

    def forms(self):
        entities, relations = [], []
        for row in PreannotationSet.objects.filter(project=self.project):
            for each in row.rows():
                if row.kind == "entity":
                    entities.append(EntityForm(tuple(each.surface_form.split()), each.label_id))
                else:
                    source = EntityForm(tuple(each.source_surface_form.split()), each.source_label_id)
                    target = EntityForm(tuple(each.target_surface_form.split()), each.target_label_id)
                    relations.append(RelationForm(source, target, each.offset, each.label_id))
        return entities, relations

    def check(self, annotation, entities, relations):
        entities, relations = {tuple(e) for e in entities}, {(tuple(s), tuple(t), label) for s, t, label in relations}
        rejected = self.rejected.get(annotation.pk, set())
        hidden = {entity_key(e) for e in annotation.entity_set.filter(status="rejected")} | rejected
        wanted = {r for r in relations - rejected if not {r[0], r[1]} & hidden}
        there = {entity_key(e): e for e in annotation.entity_set.exclude(status="rejected")}
        related = {relation_key(r) for r in annotation.relation_set.exclude(status="rejected")}
        ends = {end for relation in wanted for end in relation[:2]}
        assert (entities - hidden) | ends <= there.keys() and wanted <= related
        suggested = {key: e for key, e in there.items() if e.status == "suggested"}
        kept = {key for key, e in suggested.items() if e.relations().exists()}
        assert suggested.keys() <= entities | ends | kept
        assert {relation_key(r) for r in annotation.relation_set.filter(status="suggested")} <= relations


@pytest.mark.soak
@pytest.mark.django_db(transaction=True)  # many temporary tables in one would take all locks of PostgreSQL
def test_random_sequences_keep_what_people_decided(settings):
    settings.PREANNOTATION_RESOURCES = True
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    run_state_machine_as_test(Suggesting, settings=machine_settings(amount(8, 400), amount(25, 50)))
