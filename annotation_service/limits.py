"""How much is taken, of everything. The settings have all these names: forms, messages and JSON schemas read them there.

In a JSON schema “{MAX_NAME_CHARACTERS}” stands for the number: see `annotation_service.schemas.load`.
"""

import os

from django.core.exceptions import ImproperlyConfigured


def env_int(name: str, default: int, least: int = 0) -> int:
    value = os.environ.get(name, "").strip() or str(default)
    if not value.isdecimal() or int(value) < least:
        raise ImproperlyConfigured(f"{name} must be a whole number{f' from {least}' if least else ''}, not {value!r}.")
    return int(value)


# --- Fixed: columns and addresses depend on them, so a change of these takes a migration -----------------------------------

# Of labels, ontologies, constraint and preannotation sets, datasets and projects.
MAX_NAME_CHARACTERS = 200
MAX_EXAMPLE_TERM_CHARACTERS = 200
MAX_SURFACE_FORM_CHARACTERS = 200
MAX_EXTERNAL_ID_CHARACTERS = 200
# What a relation of a document calls its entities.
MAX_MARK_ID_CHARACTERS = 100
MAX_FLAG_REASON_CHARACTERS = 200
MAX_FILE_NAME_CHARACTERS = 250
# Longer texts are cut: databases limit what they look for.
MAX_SEARCH_CHARACTERS = 200
MAX_LEVELS = 200
MAX_GUIDELINES_CHARACTERS = 100_000
# On somebody's work on an item, and on each of these.
MAX_ITEM_COMMENTS = 200
MAX_COMMENT_ANSWERS = 200
# Removed items and deleted projects can be brought back for so long.
DAYS_IN_BIN = 30
# Of a request's body that is not multipart/form-data.
MAX_FORM_BYTES = 1_000_000

# --- Those that the environment variable of the same name changes ---------------------------------------------------------

MAX_FILE_BYTES = env_int("MAX_FILE_BYTES", 100_000_000)
MAX_PASTED_BYTES = env_int("MAX_PASTED_BYTES", 5_000_000)
MAX_DATASET_ITEMS = env_int("MAX_DATASET_ITEMS", 1_000_000)
MAX_ITEM_CHARACTERS = env_int("MAX_ITEM_CHARACTERS", 100_000)
MAX_ITEM_TOKENS = env_int("MAX_ITEM_TOKENS", 20_000)
# Entities and relations each, in a document.
MAX_ITEM_MARKS = env_int("MAX_ITEM_MARKS", 20_000)
# Entities that share it: every two are judged by the constraints.
MAX_TOKEN_MARKS = env_int("MAX_TOKEN_MARKS", 200, least=1)
# In a document: others wait while all that is put on these texts moves.
MAX_CORRECTED_TEXTS = env_int("MAX_CORRECTED_TEXTS", 500)
MAX_ITEM_JSON_CHARACTERS = env_int("MAX_ITEM_JSON_CHARACTERS", 3_000_000)
MAX_EXTRA_FIELDS_CHARACTERS = env_int("MAX_EXTRA_FIELDS_CHARACTERS", 100_000)
MAX_ONTOLOGY_BYTES = env_int("MAX_ONTOLOGY_BYTES", 20_000_000)
MAX_ONTOLOGY_ITEMS = env_int("MAX_ONTOLOGY_ITEMS", 50_000)
# Of the documents of constraint and preannotation sets.
MAX_RESOURCE_BYTES = env_int("MAX_RESOURCE_BYTES", 20_000_000)
MAX_RESOURCE_ROWS = env_int("MAX_RESOURCE_ROWS", 200_000)
MAX_DESCRIPTION_CHARACTERS = env_int("MAX_DESCRIPTION_CHARACTERS", 10_000)
MAX_COMMENT_CHARACTERS = env_int("MAX_COMMENT_CHARACTERS", 2000)
MAX_EXAMPLE_TERMS = env_int("MAX_EXAMPLE_TERMS", 200)
# How long an invitation to a project can be accepted, how many may wait for an answer in a project, and how many addresses can be
# invited at once.
INVITATION_DAYS = env_int("INVITATION_DAYS", 14, least=1)
MAX_OPEN_INVITATIONS = env_int("MAX_OPEN_INVITATIONS", 200)
MAX_INVITED_AT_ONCE = env_int("MAX_INVITED_AT_ONCE", 50)
# Work above these sizes is done by the background worker, with a progress bar.
JOB_FILE_BYTES = env_int("JOB_FILE_BYTES", 1_000_000)
JOB_ROWS = env_int("JOB_ROWS", 20_000)
# A statement of the database that a page waits for is ended after so long; workers and commands wait as long as it takes.
STATEMENT_SECONDS = env_int("STATEMENT_SECONDS", 30, least=1)
# A request or answer that is on its way for longer than this, and for a second more with each so many bytes, is given up;
# so is a connection on which nothing comes.
SLOW_CLIENT_SECONDS = env_int("SLOW_CLIENT_SECONDS", 20, least=1)
SLOW_CLIENT_BYTES = env_int("SLOW_CLIENT_BYTES", 1000, least=1)
