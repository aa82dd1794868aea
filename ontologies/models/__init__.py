from .item import OntologyItem, Reach
from .journal import OntologyChange
from .ontology import Ontology

__all__ = ["Ontology", "OntologyChange", "OntologyItem", "Reach"]
