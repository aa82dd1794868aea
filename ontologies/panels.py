"""What the apps above add: to the details of a label, and to the codebook."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from annotation_service.http import Request

from .models import Ontology, OntologyItem

Panel = Callable[[Request, OntologyItem], tuple[str, dict[str, Any]] | None]
"""Returns a template with its context, or None where there is nothing to show. Asked after the details are on the screen."""

item_panels: list[Panel] = []

Sentence = Sequence[str]
"""A text in pieces: the second, the fourth and so on are what a mark is on."""

Sentences = Callable[[Request, Ontology, Collection[str]], Mapping[str, Sequence[Sentence]]]
"""Returns a few sentences for each of the labels with these uids, the best first: of what the person who asks may read."""

sentence_sources: list[Sentences] = []
