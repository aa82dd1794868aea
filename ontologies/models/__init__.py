from .changes import OntologyChange
from .item import OntologyItem
from .ontology import Ontology, OntologyKind

__all__ = ["Ontology", "OntologyChange", "OntologyItem", "OntologyKind"]
