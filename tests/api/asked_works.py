from tests.api.asks import MANAGERS, MEMBERS, Ask
from tests.test_access import ALIKE, ENDS

WORK = "401 404 200 404 200 403"  # staff see everything, but annotate only where they are members
OWN, ELSEWHERE = ("project", "item_copy"), ("project", "item")
SAYS = {
    "add_entity": {"uid": "new-entity", "label": "{label}", "start": 0, "end": 1},
    "relabel_entity": {"uid": "given-mark-0", "label": "{label}"},
    "resize_entity": {"uid": "given-mark-0", "start": 0, "end": 1},
    "remove_entity": {"uid": "given-mark-0"},
    "suggest_entity": {"uid": "given-mark-2", "label": "{label}"},
    "add_relation": {"uid": "new-relation", "label": "{relation_label}", **ENDS},
    "relabel_relation": {"uid": "given-rel", "label": "{relation_label}"},
    "reverse_relation": {"uid": "given-rel"},
    "remove_relation": {"uid": "given-rel"},
    "suggest_relation": {"uid": "given-rel", "label": "{relation_label}"},
}
FLAG = {"kind": "issue", "is_set": True, "why": "Two machines"}
MARKS = {"entities": [{"id": "e1", "label": "{label}", "start": 0, "end": 1}], "relations": [], "done": True}
BATCH = "401 404 200 404 404 403"
LESSON = {"dataset": "{dataset_copy}", "marks": "done", "levels": 1}


def of_item(operation, **fields):
    """What is asked about an item that is given to members of the project, and about one that is not in it."""
    like = fields.pop("like", "")
    return [
        Ask(operation, WORK, OWN, like=like, **fields),
        Ask(operation, "401 404 404 404 404 403", ELSEWHERE, **fields),
    ]


COMMENTED = ("project", "carol", "item_copy")
ASKS = [
    Ask("list_annotations", MEMBERS, ("project",)),
    Ask("list_annotations", MEMBERS, ("project",), query="?annotator=carol&layer=own&done=0&limit=1"),
    Ask("list_annotations", MEMBERS, ("project",), query="?changed_since=2026-01-01T00:00:00%2B01:00"),
    Ask("list_annotations", MANAGERS, ("project",), query="?annotator=alice"),
    Ask("list_annotations_of_item", MEMBERS, OWN),
    Ask("list_annotations_of_item", "401 404 404 404 404 404", ELSEWHERE),
    *of_item("get_own_annotation"),
    *of_item("put_own_annotation", body=MARKS),
    Ask("get_annotation", MEMBERS, (*OWN, "Carol")),
    Ask("get_annotation", MANAGERS, (*OWN, "Alice")),
    Ask("get_annotation", "401 404 403 404 404 404", (*OWN, "Dave")),
    Ask("list_own_items", WORK, ("project",), query="?state=undone&limit=1"),
    Ask("list_own_items", WORK, ("project",), query="?external_id=none&has=suggestions&label=State&q=pump&batch=1"),
    *(ask for verb, body in SAYS.items() for ask in of_item(verb, body=body, like=f"annotations:{verb}")),
    *of_item("mark_done", body={"done": True}, like="annotations:done"),
    *of_item("change_marks", body={"operations": []}),
    *of_item("suggest_history"),
    Ask("get_words", "401 404 200 404 200 200", ("project",), query="?text=pump"),
    *of_item("set_flag", body=FLAG, like="annotations:flag"),
    *of_item("comment", body={"text": "Why?"}, like="annotations:comment"),
    Ask("comment_on", MANAGERS, (*OWN, "Carol"), {"text": "Why?"}, like="annotations:comment_on", page_args=COMMENTED),
    Ask("comment_on", "401 404 403 404 404 404", (*OWN, "Dave"), {"text": "Why?"}),
    Ask("list_batches", WORK, ("project",)),
    Ask("create_batch", WORK, ("project",), ALIKE, like="annotations:alike_apply"),
    Ask("create_batch", WORK, ("project",), ALIKE, query="?dry_run=1"),
    Ask("create_batch", WORK, ("project",), {**ALIKE, "after": "0:0-0"}, query="?dry_run=1"),
    Ask("get_batch", BATCH, ("project", "batch")),
    Ask("undo_batch", BATCH, ("project", "batch"), like="annotations:undo_batch", by="carol"),
    Ask("redo_batch", "401 404 422 404 404 403", ("project", "batch")),
]
