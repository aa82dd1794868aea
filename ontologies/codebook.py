"""The codebook of an ontology: its labels as a document to read, print and send."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, islice, takewhile
from typing import NamedTuple

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import slugify

from annotation_service.http import Request

from .labels import Label
from .models import Ontology

MOST_IN_CONTENTS = 100
_AT_ONCE = 100
_FIRST_HEADING, _LAST_HEADING = 2, 6

Sentence = Sequence[str]
"""A text in pieces: the second, the fourth and so on are what a mark is on."""

Sentences = Callable[[Request, Ontology, Collection[str]], Mapping[str, Sequence[Sentence]]]
"""Returns a few sentences for each of the labels with these uids, the best first: of what the person who asks may read."""

sentence_sources: list[Sentences] = []
"""The apps above add where examples for codebooks come from."""


class CodebookEntry(NamedTuple):
    """What a codebook says of a label."""

    label: Label
    heading: int
    """The level of the heading."""
    sentences: Sequence[Sentence]

    @property
    def above(self) -> str:
        """The full name of the label above it, or the empty string."""
        return self.label.fullname[: -len(self.label.name) - 1]

    def html(self) -> tuple[str, list[str]]:
        """A format, and the texts for it."""
        label = self.label
        off, chip = ("", "") if label.active else (" off", ' <span class="chip off">off</span>')
        swatch = f'<span class="swatch{off}" style="--c:{{}}"></span>'
        html = f'<section class="entry" id="label-{{}}"><h{self.heading}>{swatch} {{}}{chip}</h{self.heading}>'
        texts = [label.uid, label.color, label.name]
        if self.above:
            html += '<p class="path">{}</p>'
            texts.append(self.above)
        if label.description:
            html += '<p class="prose">{}</p>'
            texts.append(label.description)
        if label.example_terms:
            html += f'<ul class="token-list" aria-label="Example terms">{"<li>{}</li>" * len(label.example_terms)}</ul>'
            texts += label.example_terms
        if self.sentences:
            html += f'<ul class="sentences" aria-label="Example sentences">{"".join(map(_quoted, self.sentences))}</ul>'
            texts += chain.from_iterable(self.sentences)
        return f"{html}</section>", texts


def _quoted(pieces: Sentence) -> str:
    return "<li>{}" + "<mark>{}</mark>{}" * (len(pieces) // 2) + "</li>"


class Chapter(NamedTuple):
    """A line of the table of contents: how many labels of a branch the codebook has, the topmost included."""

    label: Label
    depth: int
    size: int


class Codebook:
    """All of an ontology or one of its branches, with or without the labels that are switched off."""

    def __init__(self, ontology: Ontology, branch: Label | None = None, *, with_off: bool = False) -> None:
        self.ontology, self.branch, self.with_off = ontology, branch, with_off
        self._top = branch.level if branch else 1
        self.labels = [label for label in self._within if label.active or with_off]
        self._sentences: dict[str, Sequence[Sentence]] = {}

    def add_sentences(self, request: Request) -> None:
        """Examples for the labels, from what the person who asks may read."""
        uids = [label.uid for label in self.labels]
        for source in sentence_sources:
            self._sentences |= source(request, self.ontology, uids)

    @cached_property
    def _within(self) -> Sequence[Label]:
        """All labels of the branch, those that are off included."""
        labels = self.ontology.labels()
        if self.branch is None:
            return labels
        below = labels[labels.index(self.branch) + 1 :]
        return [self.branch, *takewhile(lambda label: label.level > self._top, below)]

    def branches(self) -> list[Label]:
        """The labels whose branches people may want alone: those at the top, and the way to the one that they see."""
        labels = self.ontology.labels()
        shown = {
            *(labels.lineage(self.branch) if self.branch else ()),
            *(top.pk for top in labels.children.get("", ())),
        }
        return [label for label in labels if label.pk in shown]

    @property
    def title(self) -> str:
        return f"{self.ontology.name}: {self.branch.name}" if self.branch else self.ontology.name

    @property
    def file_name(self) -> str:
        return f"{slugify(self.title, allow_unicode=True)[:80].strip('-_') or 'ontology'}-codebook.md"

    @property
    def left_out(self) -> int:
        """How many labels are not in it because they are off."""
        return len(self._within) - len(self.labels)

    def entries(self) -> Iterator[CodebookEntry]:
        """In tree order."""
        for label in self.labels:
            heading = min(label.level - self._top + _FIRST_HEADING, _LAST_HEADING)
            yield CodebookEntry(label, heading, self._sentences.get(label.uid, ()))

    def html(self) -> Iterator[SafeString]:
        """The entries, some at a time: for 10,000 labels with three sentences each a template takes 1.2 s, this 0.3."""
        entries = self.entries()
        while some := [entry.html() for entry in islice(entries, _AT_ONCE)]:
            formats, texts = zip(*some, strict=True)
            yield format_html("".join(formats), *chain.from_iterable(texts))

    def contents(self) -> list[Chapter]:
        """As many levels as fit, at least the first."""
        levels = Counter(label.level for label in self.labels)
        sums = accumulate(levels[level] for level in sorted(levels))
        depth = self._top + max(1, sum(total <= MOST_IN_CONTENTS for total in sums))
        sizes: Counter[str | None] = Counter()
        for label in reversed(self._within):
            sizes[label.uid] += label.active or self.with_off
            sizes[label.parent_uid] += sizes[label.uid]
        return [
            Chapter(label, label.level - self._top, sizes[label.uid]) for label in self.labels if label.level < depth
        ]
