from tests.api.asks import BLUEPRINT, BLUEPRINT_CHANGE, CREATORS, EVERYBODY, READ_COPY, Ask, of_both

THINGS = {"ontologies": ("ontology", "ontology"), "constraints": ("constraints", "rules")}
THINGS |= {"preannotations": ("preannotations", "lexicon"), "datasets": ("dataset", "dataset")}
PAGES = {
    "ontologies": "ontologies",
    "constraints": "resources",
    "preannotations": "preannotations",
    "datasets": "datasets",
}
OPEN = "401 404 200 404 200 200"  # annotators read the ontologies of their projects

ASKS = []
for plural, (one, thing) in THINGS.items():
    pages = PAGES[plural]
    ASKS += [
        Ask(f"list_{plural}", EVERYBODY),
        *of_both(f"get_{one}", thing, expected=BLUEPRINT, of_copy=OPEN if one == "ontology" else READ_COPY),
        *of_both(f"change_{one}", thing, body={"name": "New", "description": ""}, like=f"{pages}:edit"),
        Ask(f"copy_{one}", CREATORS, (thing,), {"name": "New"}, like=f"{pages}:duplicate"),
        Ask(f"copy_{one}", "401 403 403 404 200 200", (f"{thing}_copy",), {"name": "New"}),
        Ask(f"delete_{one}", "401 404 403 404 422 422", (f"{thing}_copy",)),
    ]
    # What another blueprint uses stays.
    used = thing in ("ontology",)
    ASKS.append(Ask(f"delete_{one}", BLUEPRINT_CHANGE, (thing,), like="" if used else f"{pages}:delete"))
