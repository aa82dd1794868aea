"""Why requests of pages have no operation, by the names of their addresses."""

_PREVIEW = "It only shows what would be done: the operation does so with ?dry_run=1."
_FORM = "It is a part of a form, and stores nothing."
_LIKED = "It is how somebody likes their workspace to be."
_SESSION = "It is kept in the browser’s session: a program takes items in whatever order it likes."
_WHERE = "It only reads, for a page that is open, where words of earlier texts stand now."

NO_OPERATION: dict[str, str] = {
    # --- Tokens
    "api:tokens": "A program that could make tokens would let others in.",
    "api:revoke_token": "A program that could revoke tokens would shut its person out.",
    # --- Labels
    "ontologies:tree": "It reads the tree as it is open on a page.",
    "ontologies:preview": _PREVIEW,
    "ontologies:preview_below": _PREVIEW,
    "ontologies:look": _FORM,
    "ontologies:several": "It reads what is selected on a page.",
    "ontologies:ask_switch": _PREVIEW,
    # --- Rules
    "resources:check": _FORM,
    "preannotations:check": _FORM,
    # --- Items
    "datasets:preview": _FORM,
    # --- Projects
    "projects:check": _FORM,
    # --- Work
    "annotations:comfort": _LIKED,
    "annotations:shortcuts": _LIKED,
    "annotations:skip": _SESSION,
    "annotations:take_up": _SESSION,
    "annotations:text": _WHERE,
    # --- Reviews
    "quality:text": _WHERE,
}
