from .items import NewItem, clean_color, clean_example_terms
from .lists import read_pasted
from .reading import SCHEMAS, example_json, read_ontology, schema
from .writing import indented_text, rich_json, write_time

__all__ = [
    "SCHEMAS",
    "NewItem",
    "clean_color",
    "clean_example_terms",
    "example_json",
    "indented_text",
    "read_ontology",
    "read_pasted",
    "rich_json",
    "schema",
    "write_time",
]
