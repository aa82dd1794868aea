"""On which kinds of database a test runs: all on SQLite, and on PostgreSQL those that a database can answer differently."""

from pathlib import Path

HERE = Path(__file__).parent
# What these ask for comes about in Python: words, forms, pages, documents, colours; or they take the keys that SQLite gives. All
# other modules of the apps are asked on PostgreSQL, too: queries, locks, plans, what is stored together, jobs, migrations. So is
# a module that is new.
ON_SQLITE_ALONE = {
    "annotation_service": {"admin", "csv_tables", "features", "help", "powers", "prepare", "server", "ui"},
    "api": {"same_as_page"},
    "annotations": {"gold", "pages", "preferences", "workspace"},
    "datasets": {"admin", "drawing", "import_command", "fuzz", "malformed", "page", "reading", "upload_views", "views"},
    "ontologies": {"admin", "colors", "commands", "documents", "editor", "pages", "pasted_lists"},
    "projects": {"admin", "commands", "dealing", "preannotated", "preannotation_pages", "views"},
    "resources": {"checks", "documents", "matrix", "matrix_views", "pages", "panels", "preannotation_pages"},
    "work": {"learn_views"},
}
