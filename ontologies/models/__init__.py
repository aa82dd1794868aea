from .item import Conflict, OntologyItem
from .journal import OntologyChange
from .ontology import Ontology

__all__ = ["Conflict", "Ontology", "OntologyChange", "OntologyItem"]
