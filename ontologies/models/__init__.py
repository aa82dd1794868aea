from .item import OntologyItem
from .journal import OntologyChange
from .ontology import Ontology

__all__ = ["Ontology", "OntologyChange", "OntologyItem"]
