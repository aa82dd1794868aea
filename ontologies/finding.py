"""Finding labels in all ontologies at once, for the command palette."""

from collections.abc import Iterable

from annotation_service import access
from annotation_service.finding import Hit
from annotation_service.http import Request

from .labels import Label
from .models import Ontology
from .search import rank

MOST_HITS = 10
# So many are looked at, of the ontologies that were changed last: 10 ms for each 10,000 labels, and a query for each ontology
# that is not in memory.
MOST_LABELS = 30_000
MOST_ONTOLOGIES = 100
FEWEST_LETTERS = 2


def find_labels(request: Request, text: str) -> Iterable[Hit]:
    """The labels whose names fit best, of the ontologies that the user may look at."""
    if len(text) < FEWEST_LETTERS:
        return
    found: list[tuple[int, Ontology, Label]] = []
    seen = 0
    readable = access.all_readable(request, Ontology).select_related("project").order_by("-updated_at", "-pk")
    for ontology in readable[:MOST_ONTOLOGIES]:
        if seen >= MOST_LABELS:
            break
        labels = ontology.labels()
        seen += len(labels)
        best = labels.find_best_first(text, exact=True)[:MOST_HITS]
        found += [(rank(text, label.name), ontology, label) for label in best]
    for _, ontology, label in sorted(found, key=lambda hit: hit[0])[:MOST_HITS]:
        above = label.fullname.rpartition("/")[0]
        places = [above, f"{ontology} in {ontology.project}" if ontology.project else str(ontology)]
        url = f"{ontology.get_absolute_url()}?item={label.uid}"
        yield Hit("Labels", label.name, " · ".join(filter(None, places)), url, label.color)
