"""Whose marks a graph is made of, and what these say in an item."""

from typing import NamedTuple

from django.db.models import Q

from annotation_service.inputs import Refused, whole_number
from annotation_service.models import fold
from annotation_service.words import cut
from datasets.models import Layer
from projects.models import Project
from projects.work_export import ALL, GIVEN, GOLD, people_in
from quality.comparison import GIVEN_VOICE
from quality.voices import GOLD_VOICE

from .counting import Folding, GraphItem, Statement, statements_in
from .models.counts import at_least

MOST_AGREED = 999
IN_WORDS = {GOLD: "Gold", GIVEN: "The dataset", ALL: "Everybody"}


class GraphSource(NamedTuple):
    """Where the marks of a graph come from: ``name`` is one of `IN_WORDS` or that of a person, such as “@anna”; of everybody
    those marks that at least so many people agree about."""

    name: str
    voice: int
    agreed: int = 1

    def __str__(self) -> str:
        words = IN_WORDS.get(self.name, self.name.removeprefix("@"))
        return f"{words}, agreed by {self.agreed}" if self.agreed > 1 else words

    @property
    def annotations(self) -> Q:
        """Those that hold its marks."""
        if self.name == GIVEN:
            return Q(layer=Layer.GIVEN)
        if self.name == GOLD:
            return Q(layer=Layer.GOLD, done_at__isnull=False)
        begun = Q(layer=Layer.OWN, started_at__isnull=False)
        return begun if self.name == ALL else begun & Q(annotator=self.voice)

    def says(self, statement: Statement) -> bool:
        voices = {mark.voice for mark in statement.marks}
        if self.name == ALL:
            return sum(voice > GIVEN_VOICE for voice in voices) >= self.agreed
        return self.voice in voices


def sources_of(project: Project) -> list[tuple[str, str]]:
    """Those with marks in a project: a name as addresses and the command take it, and what people read. The first is where one
    begins: the gold where there is any."""
    people = [(f"@{person.username}", str(person)) for person in people_in(project)]
    found = [(GOLD, IN_WORDS[GOLD])] if project.dataset.decided_items().exists() else []
    found += [(ALL, IN_WORDS[ALL])] if people else []
    return [*found, (GIVEN, IN_WORDS[GIVEN]), *people]


def source_named(project: Project, name: str, agreed: int | str = 1) -> GraphSource:
    """Raises `Refused` for nobody, and for what is no number of people."""
    people = whole_number(str(agreed))
    if not people or people > MOST_AGREED:
        raise Refused(f"This must be a number of people, from 1 to {MOST_AGREED}.", place="agreed")
    if people > 1 and name != ALL:
        raise Refused("Agreement is that of everybody: only with them a number of people is named.", place="agreed")
    if name in IN_WORDS:
        voices = {GOLD: GOLD_VOICE, GIVEN: GIVEN_VOICE, ALL: at_least(people)}
        return GraphSource(name, voices[name], people)
    folded = fold(name.removeprefix("@"))
    if person := next((each for each in people_in(project) if each.username_folded == folded), None):
        return GraphSource(f"@{person.username}", person.pk)
    raise Refused(f"“{cut(name, 60)}” has begun no item. Say {GOLD}, {GIVEN}, {ALL} or a user name.", place="source")


def statements(source: GraphSource, folding: Folding, item: GraphItem) -> tuple[list[Statement], list[Statement]]:
    """What a source says in an item that was read with its ``annotations``, or with all: `statements_in`."""
    entities, relations = statements_in(item, folding)
    return list(filter(source.says, entities)), list(filter(source.says, relations))
