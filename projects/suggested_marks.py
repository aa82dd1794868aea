"""The part of a project in which its preannotations suggest marks."""

from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.urls import reverse

from annotation_service.db import write
from annotation_service.http import PREANNOTATIONS
from annotation_service.inputs import Refused
from annotation_service.models import Job, User, start_once
from datasets.importing.document import Progress, no_progress
from datasets.models import Dataset
from datasets.models.item import ItemQuerySet
from ontologies.models import Ontology
from resources.models import ConstraintSet, PreannotationSet, rules_of
from work.models import Source
from work.placing import JOB, Matched, Matching, matcher_of

from .assignment.giving import AssignsItems

_ATTEMPTS = 3


class SuggestsMarks(AssignsItems):
    """Suggestions are marks on the given annotations of items, and on the annotations that people have begun and not finished.

    Matching again adds what is new, and withdraws what nobody touched and no preannotation finds any more.
    """

    class Meta:
        abstract = True

    def preannotation_sets(self) -> QuerySet[PreannotationSet]:
        return PreannotationSet.objects.filter(project=self.pk).order_by("kind")

    def match_preannotations(self, *, by: User) -> Job | None:
        """Match them with all items: at once or, if these are many, by the job that is returned. The caller is inside the
        transaction that made it necessary, so that nothing comes in between."""
        PREANNOTATIONS.check()
        with write():
            rows = sum(each.row_count for each in self.preannotation_sets())
            if rows + self._dataset().item_count <= settings.JOB_ROWS:
                self.suggest()
                return None
            return self._start_job(by)

    def suggest_on(self, items: ItemQuerySet) -> None:
        """Match them with items that have just come, inside the transaction of the caller; a job does it, if they are many."""
        sets = list(self.preannotation_sets()) if PREANNOTATIONS.is_on else []
        if not sets:
            return
        if sum(each.row_count for each in sets) + items.count() <= settings.JOB_ROWS:
            self.suggest(items)
        else:
            self._start_job(self._dataset().owner)

    def suggest(
        self, items: ItemQuerySet | None = None, progress: Progress = no_progress, job: Job | None = None
    ) -> Matched:
        """Match them with all items, or with some that nobody annotates yet. Raises `Refused` if what it depends on keeps
        changing."""
        for _ in range(_ATTEMPTS):
            dataset, sets, basis = self._dataset(), list(self.preannotation_sets()), self._basis()
            rules = rules_of(ConstraintSet.objects.filter(project=self.pk).order_by("kind"))
            ontologies = list(Ontology.objects.filter(project=self.pk))
            source = Source.own(dataset.pk, Source.Kind.PREANNOTATIONS)
            matcher = matcher_of(sets if source.is_on else [], dataset)
            with Matching(source.suggester, dataset, matcher, rules, ontologies) as matching:
                matching.read(dataset.items() if items is None else items, progress)
                progress(0, 0, "saving")
                with write():
                    self._lock_all()
                    if self._basis() != basis:
                        continue
                    if items is None:
                        self.lock_items()
                    outcome = matching.match()
                    source.note_suggestions()
                    if items is None:
                        for each in sets:
                            PreannotationSet.objects.filter(pk=each.pk).update(matched_version=each.version)
                    if job:
                        job.finish(url=reverse("projects:page", args=[self.pk]), text=outcome.in_words())
                return outcome
        raise Refused("The preannotations, the labels or the constraints change at the moment. Try again.")

    def _dataset(self) -> Dataset:
        return Dataset.objects.get(project=self.pk)

    def _start_job(self, by: User) -> Job:
        self.preannotation_sets().update(matched_version=None)
        return start_once(JOB, title=f"Match the preannotations of “{self}”", by=by, target={"project": self.pk})

    def _basis(self) -> list[Any]:
        """What suggestions depend on: every change of it changes this."""
        return [
            list(PreannotationSet.objects.filter(project=self.pk).order_by("pk").values_list("pk", "version")),
            list(ConstraintSet.objects.filter(project=self.pk).order_by("pk").values_list("pk", "updated_at")),
            list(Ontology.objects.filter(project=self.pk).order_by("pk").values_list("pk", "version")),
            list(Source.objects.filter(dataset__project=self.pk, is_on=False).values_list("pk", flat=True)),
        ]

    def _lock_all(self) -> None:
        """In the order in which everybody locks."""
        self.locked()
        for model in (Ontology, Dataset, PreannotationSet):
            list(model._default_manager.select_for_update(no_key=True).filter(project=self.pk).order_by("pk"))
