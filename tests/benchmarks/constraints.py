"""What constraints cost: saving a mark among 1,000 rules in a tree of 10,000 labels, the report of what breaks them,
the matrix, and learning rules from marks."""

import json
import uuid
from collections.abc import Iterator
from functools import partial

from django.utils import timezone

from annotation_service.models import User
from datasets.models import Annotation
from projects.models import Project
from projects.violations import Report
from resources.models import ConstraintSet

from . import data
from .figures import ADDING_UP, ALL_DAY, PATIENCE, SAVE, Figure, benchmark, median, milliseconds
from .service import Browser, Service

LABELS, ITEMS, RULES = 10_000, 10_000, 1000


@benchmark("constraints")
def constraints(service: Service) -> Iterator[Figure]:
    bound, free = (data.project(ITEMS, name=name, labels=LABELS) for name in ("Bound", "Free"))
    names = [label.fullname for label in bound.entity_ontology.labels()]
    # Every mark is looked up in them, and none breaks one.
    rules = [{"domain": name, "excludes": names[5000 + n : 5010 + n]} for n, name in enumerate(names[:RULES])]
    blueprint = ConstraintSet.create(
        kind="entity",
        source=json.dumps(rules),
        name="Rules",
        owner=data.manager(),
        entity_ontology=bound.entity_ontology.copied_from,
    )
    bound.use(blueprint, by=data.manager())
    saving = {project: _Nesting(service, project) for project in (free, bound)}
    times = {project: milliseconds(300, each.save) for project, each in saving.items()}
    yield Figure("save a mark inside others, without constraints, p50 / p95", times[free], "ms", SAVE)
    yield Figure(f"  with {RULES:,} rules and {LABELS:,} labels", times[bound], "ms", SAVE)
    ontologies = [bound.entity_ontology, bound.relation_ontology]
    people = [None, *User.objects.filter(username__in=data.ANNOTATORS[1:3])]
    for person in people:
        data.add_marks(bound.dataset, person, ontologies)
    took = median(3, partial(Report, bound))
    yield Figure(f"report over {len(people) * 45_000:,} marks", took, "s", PATIENCE)
    manager, copy = Browser(service, data.MANAGER), bound.constraintset_set.get()
    times[bound] = milliseconds(20, partial(manager.ask, f"/constraints/{copy.pk}/matrix/", HX_Request="false"))
    yield Figure(f"matrix of {RULES:,} rules, {LABELS:,} labels, p50 / p95", times[bound], "ms", ADDING_UP)
    times[bound] = milliseconds(20, partial(manager.get, f"/constraints/{copy.pk}/"))
    yield Figure(f"page of {RULES:,} rules, p50 / p95", times[bound], "ms", ALL_DAY)
    Annotation.objects.filter(annotator__in=people[1:]).update(done_at=timezone.now())
    page = f"/datasets/learn/{copy.pk}/?source={bound.dataset.pk}-done&levels=99"
    took = median(3, partial(manager.get, page))
    yield Figure(f"propose rules from {(len(people) - 1) * 45_000:,} marks, at all levels", took, "s", PATIENCE)


class _Nesting:
    """Saves marks that all share the first token of an item: five on each."""

    def __init__(self, service: Service, project: Project) -> None:
        self.browser = Browser(service, data.ANNOTATORS[0])
        label = project.entity_ontology.items()[0].uid
        pks = project.dataset.items().order_by("-pk").values_list("pk", flat=True)
        self.marks = ((pk, {"start": 0, "end": end, "label": label}) for pk in pks for end in range(5))
        self.path = f"/projects/{project.pk}/items/%d/entities/add/"

    def save(self) -> None:
        pk, mark = next(self.marks)
        self.browser.submit_json(self.path % pk, uid=str(uuid.uuid4()), **mark)
