from .changes import OntologyChange
from .item import OntologyItem, Reach
from .ontology import Ontology

__all__ = ["Ontology", "OntologyChange", "OntologyItem", "Reach"]
