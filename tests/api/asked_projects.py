from tests.api.asks import CREATORS, EVERYBODY, MANAGERS, MEMBERS, Ask

NOT_THERE = "401 404 403 404 404 404"
BINNED = "401 404 404 404 200 200"
NEW = {
    "name": "New",
    "dataset": "{dataset}",
    "entity_ontology": "{ontology}",
    "relation_ontology": "{relation_ontology}",
}
OF_CREATORS = "401 403 403 404 200 200"


def bundle(world):
    return (world["folder"] / "bundle").read_bytes()


ASKS = [
    Ask("list_projects", EVERYBODY),
    Ask("list_projects", EVERYBODY, query="?archived=1&q=pump"),
    Ask("get_project", MEMBERS, ("project",)),
    Ask("create_project", CREATORS, body={**NEW, "annotators": ["carol"], "annotators_per_item": 1}),
    Ask("create_project", CREATORS, body=NEW, query="?dry_run=1"),
    Ask("create_project", "401 403 403 422 422 422", body={"name": ""}),
    Ask("change_project", MANAGERS, ("project",), {"name": "New"}, like="projects:edit"),
    Ask("change_project", MANAGERS, ("project",), {"name": "New"}, like="projects:settings"),
    Ask("archive_project", MANAGERS, ("project",), like="projects:archive"),
    Ask("restore_project", MANAGERS, ("project",)),
    Ask(
        "copy_project",
        OF_CREATORS,
        ("project",),
        {"name": "New", "contents": "everybody"},
        like="projects:duplicate",
    ),
    Ask("delete_project", MANAGERS, ("project",), query="?name=Pumps", like="projects:delete"),
    Ask("delete_project", MANAGERS.replace("200", "422"), ("project",), query="?name=pumps"),
    Ask("list_bin", EVERYBODY),
    Ask("take_out_of_bin", BINNED, ("binned",), like="projects:take_out_of_bin"),
    Ask("take_out_of_bin", "401 404 404 404 404 404", ("project",)),
    Ask("delete_for_good", BINNED, ("binned",), query="?name=Pumps", like="projects:delete_for_good"),
    Ask("make_bundle", MANAGERS, ("project",)),
    Ask("export_work", MANAGERS, ("project",), {"format": "conll", "whose": "given"}),
    Ask("export_work", MANAGERS, ("project",), {"format": "brat", "whose": "@carol"}, query="?dry_run=1"),
    Ask("export_work", MANAGERS.replace("200", "422"), ("project",), {"format": "conll", "whose": "@dave"}),
    Ask("import_bundle", CREATORS, body=bundle),
    Ask("import_bundle", CREATORS, body=bundle, query="?dry_run=1"),
    Ask("import_bundle", "401 403 403 422 422 422", body=bundle, query="?people=[]"),
    Ask("put_labels", MANAGERS, ("project", "entity"), {"ontology": "{ontology}", "count": 0}),
    Ask("put_labels", MANAGERS, ("project", "entity"), {"ontology": "{ontology}"}, query="?dry_run=1"),
    Ask("put_labels", NOT_THERE, ("project", "rich"), {"ontology": "{ontology}"}),
    Ask("put_items", MANAGERS, ("project",), {"dataset": "{dataset}"}, query="?dry_run=1"),
    Ask("put_items", MANAGERS, ("project",), {"dataset": "{dataset}", "decisions": {"same_texts": "keep"}}),
    Ask("put_items", MANAGERS.replace("200", "422"), ("project",), {"dataset": "{dataset_copy}"}),
    Ask("match_preannotations", MANAGERS, ("project",)),
    Ask("list_preannotation_figures", MANAGERS, ("project", "entity")),
    Ask("get_project_figures", MANAGERS, ("project",)),
    Ask("count_violations", MANAGERS, ("project",)),
    Ask("list_violations", MANAGERS, ("project",)),
    Ask("list_violations", MANAGERS, ("project",), query="?person=carol&rule=x"),
]
for name, thing in (("constraints", "constraints"), ("preannotations", "lexicon")):
    body = {name: f"{{{thing}}}"}
    ASKS += [
        Ask(f"put_{name}", MANAGERS, ("project", "entity"), body, like=f"projects:{name}"),
        Ask(f"put_{name}", MANAGERS, ("project", "entity"), body, query="?dry_run=1"),
        Ask(f"put_{name}", NOT_THERE, ("project", "rich"), body),
        Ask(f"take_{name}_away", MANAGERS, ("project", "entity"), like=f"projects:remove_{name}"),
        Ask(f"take_{name}_away", NOT_THERE, ("project", "relation")),
    ]
