"""The labels of ontologies: trees, their changes and their history."""
