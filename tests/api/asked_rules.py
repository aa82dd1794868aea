from tests.api.asked_labels import NOTHING, NOTHING_OF_COPY, history, read
from tests.api.asks import CREATORS, READ_COPY, Ask, of_both

NEW = "?name=New&kind=entity&entity_ontology={ontology}"
ROW = {"surface_form": "new", "label": "{uid}"}
PAIR = {"row": "{uid}", "column": "{uid}", "list": "excludes", "wanted": True}


def of_set(operation, *args, thing="rules", **fields):
    return read(operation, *args, thing=thing, of_copy=READ_COPY, **fields)


ASKS = [
    Ask("create_constraints", CREATORS, (), "[]", NEW),
    Ask("create_constraints", CREATORS, (), "", f"{NEW}&dry_run=1"),
    *of_set("download_constraints"),
    *of_set("list_rules"),
    *of_set("get_rule", "ruled"),
    *of_set("list_rule_checks"),
    *of_both("create_rule", "rules", body={"domain": "{uid}"}, like="resources:add_rule"),
    *of_both("change_rule", "rules", "ruled", body={"excludes": ["{uid}"]}),
    *of_both("add_to_rule", "rules", "ruled", "excludes", "uid"),
    *of_both("take_from_rule", "rules", "ruled", "excludes", "uid"),
    *of_both("delete_rule", "rules", "ruled", like="resources:remove_rule"),
    *of_both("set_rule_pair", "rules", body=PAIR, like="resources:set_cell"),
    *of_both(
        "get_rule_proposals", "rules", query="?dataset={dataset_copy}&marks=given", expected="401 404 404 403 200 200"
    ),
    # There is nothing to learn from these marks.
    *of_both("learn_rules", "rules", body={"dataset": "{dataset_copy}"}, expected=NOTHING, of_copy=NOTHING_OF_COPY),
    *history("constraints", "rules", "rules_version", "resources", READ_COPY),
    Ask("create_preannotations", CREATORS, (), "[]", NEW),
    Ask("create_preannotations", CREATORS, (), "surface_form,label\n", f"{NEW}&dry_run=1"),
    *of_set("download_preannotations", thing="lexicon"),
    *of_set("download_preannotations", thing="lexicon", query="?format=csv"),
    *of_set("list_preannotation_rows", thing="lexicon"),
    *of_set("get_preannotation_row", "lexicon_row", thing="lexicon"),
    *of_both("create_preannotation_row", "lexicon", body=ROW, like="preannotations:add_row"),
    *of_both("change_preannotation_row", "lexicon", "lexicon_row", body={"surface_form": "new"}),
    Ask("change_preannotation_row", "401 404 404 403 404 404", ("lexicon", "lexicon_row_copy"), {"surface_form": "x"}),
    Ask("get_preannotation_row", "401 404 404 404 404 404", ("lexicon", "lexicon_row_copy")),
    Ask(
        "remove_preannotation_rows",
        "401 404 404 403 200 200",
        ("lexicon",),
        {"rows": ["{lexicon_row}"]},
        like="preannotations:remove_rows",
    ),
    *history("preannotations", "lexicon", "rules_version", "preannotations", READ_COPY),
]
