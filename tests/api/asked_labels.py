from tests.api.asks import CREATORS, Ask, of_both

OPEN = "401 404 200 404 200 200"  # annotators read the ontologies of their projects
UID = ("ontology", "uid")
# Each person has nothing of their own to undo, except alice.
OWN_CHANGE, OWN_CHANGE_OF_COPY = "401 404 404 403 200 422", "401 404 403 404 200 422"
NOTHING, NOTHING_OF_COPY = "401 404 404 403 422 422", "401 404 403 404 422 422"


def read(operation, *args, of_copy=OPEN, thing="ontology", **fields):
    return of_both(operation, thing, *args, expected="401 404 404 200 200 200", of_copy=of_copy, **fields)


def history(one, thing, version, pages, of_copy):
    """What all histories have, with the same steps of a blueprint and of a copy."""
    return [
        *read(f"list_{one}_changes", thing=thing, of_copy=of_copy),
        *read(f"get_{one}_change", version, thing=thing, of_copy=of_copy),
        *of_both(f"undo_{one}", thing, expected=OWN_CHANGE, of_copy=OWN_CHANGE_OF_COPY, like=f"{pages}:undo"),
        *of_both(f"redo_{one}", thing, expected=NOTHING, of_copy=NOTHING_OF_COPY),
        *of_both(f"revert_{one}", thing, version, like=f"{pages}:revert"),
    ]


ASKS = [
    Ask("create_ontology", CREATORS, (), "Pump\n  Rotor\n", "?name=New&kind=entity"),
    Ask("create_ontology", CREATORS, (), "[]", "?kind=entity&dry_run=1"),
    *read("download_ontology"),
    *read("download_ontology", query="?format=csv"),
    *read("download_ontology_codebook"),
    *read("list_ontology_checks"),
    *read("list_labels"),
    *read("get_label", "uid"),
    *read("get_label_usage", "uid"),
    *of_both("create_label", "ontology", body={"name": "New"}, like="ontologies:add_item"),
    *of_both("change_label", *UID, body={"name": "New"}, like="ontologies:rename"),
    *of_both("change_label", *UID, body={"description": "New"}, like="ontologies:describe"),
    *of_both("change_label", *UID, body={"example_terms": ["pump", "bearing", "New"]}, like="ontologies:example_terms"),
    *of_both("change_label", *UID, body={"color": "#112233"}, like="ontologies:recolor"),
    *of_both("change_label", *UID, body={"active": False}, like="ontologies:switch"),
    *of_both("add_labels", "ontology", body="New", like="ontologies:paste"),
    *of_both("update_labels", "ontology", body="path,description\nNew,x\n", query="?dry_run=1"),
    *of_both(
        "recolor_labels", "ontology", body={"labels": ["{uid}"], "color": "#112233"}, like="ontologies:recolor_items"
    ),
    *of_both("separate_label_colors", "ontology", body={"labels": ["{uid}"]}),
    *of_both("switch_labels", "ontology", body={"labels": ["{uid}"], "active": False}, like="ontologies:switch_items"),
    *of_both("switch_labels", "ontology", body={"labels": ["{uid}"], "active": False}, query="?dry_run=1"),
    *of_both(
        "add_label_terms",
        "ontology",
        body={"labels": ["{uid}"], "example_terms": ["valve"]},
        like="ontologies:add_terms",
        data={"uids": "{uid}", "add": "valve"},
    ),
    # Moving is switched off unless an installation wants it.
    *of_both("move_labels", "ontology", body={"labels": ["{uid}"]}, expected=NOTHING, of_copy=NOTHING_OF_COPY),
    *history("ontology", "ontology", "version", "ontologies", OPEN),
]
