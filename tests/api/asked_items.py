import json

from tests.api.asks import (
    BLUEPRINT,
    BLUEPRINT_CHANGE,
    CREATORS,
    EVERYBODY,
    MANAGERS,
    READ_COPY,
    Ask,
    of_both,
)
from tests.test_access import READ_AS

OWN = "401 404 404 404 200 200"
OWN_COPY = "401 404 403 404 200 200"
ELSEWHERE = "401 404 404 403 404 404"
TEXT = b"left pump\nright pump\n"
RICH = json.dumps([{"original": "left pump", "tokens": ["left", "pump"], "external_id": "N-1"}]).encode()
OF_TEXT = "?kind=standard&name=New&tokeniser=punkt"


def of_dataset(operation, *args, **fields):
    return of_both(operation, "dataset", *args, expected=BLUEPRINT, of_copy=READ_COPY, **fields)


def of_upload(operation, *args, **fields):
    return [
        Ask(operation, OWN, ("upload", *args), **fields),
        Ask(operation, OWN_COPY, ("upload_copy", *args), **fields),
    ]


def refused(expected):
    return expected.replace("200", "422")


ASKS: list[Ask] = [
    Ask("create_dataset", CREATORS, body=TEXT, query=OF_TEXT),
    Ask(
        "create_dataset",
        CREATORS,
        body=TEXT,
        query=f"{OF_TEXT}&dry_run=1&file_name=Pasted text",
        like="datasets:create",
        data={**READ_AS, "text": TEXT.decode()},
    ),
    Ask("create_dataset", refused(CREATORS), body=b"", query=OF_TEXT),
    *of_dataset("get_statistics"),
    *of_dataset("download_dataset", "json"),
    *of_dataset("export_dataset", query="?format=conll"),
    *of_dataset("export_dataset", query="?format=conll&dry_run=1"),
    *of_dataset("list_items", query="?q=a&has=none"),
    *of_dataset("get_item", "item"),
    *of_dataset("get_item", "removed"),
    *of_dataset("list_corrections", "corrected"),
    *of_dataset("list_additions"),
    Ask("upsert_items", BLUEPRINT_CHANGE, ("dataset",), TEXT),
    Ask("upsert_items", BLUEPRINT_CHANGE, ("dataset",), TEXT, query="?dry_run=1"),
    Ask("upsert_items", refused(BLUEPRINT_CHANGE), ("dataset",), RICH),
    Ask("upsert_items", MANAGERS, ("dataset_copy",), RICH),
    Ask("upsert_items", MANAGERS, ("dataset_copy",), RICH, query="?dry_run=1"),
    *of_both("upsert_items", "dataset", body=b"", expected=refused(BLUEPRINT_CHANGE), of_copy=refused(MANAGERS)),
    *of_both(
        "change_item",
        "dataset",
        "item",
        body={"external_id": "WO 1", "extra_fields": {}},
        like="datasets:edit_item",
    ),
    *of_both("correct_text", "dataset", "corrected", body={"text": "New text"}, query="?dry_run=1"),
    *of_both("correct_text", "dataset", "corrected", body={"text": "New text", "agree": 1}),
    *of_both("undo_correction", "dataset", "corrected", "correction", like="datasets:undo_correction"),
    Ask("correct_text", ELSEWHERE, ("dataset", "item_copy"), {"text": "New text"}),
    Ask("undo_correction", ELSEWHERE, ("dataset", "item", "correction")),
    Ask("change_item", ELSEWHERE, ("dataset", "item_copy"), {"external_id": ""}),
    Ask("remove_items", BLUEPRINT_CHANGE, ("dataset",), {"items": ["{item}"], "count": 1}),
    Ask("remove_items", MANAGERS, ("dataset_copy",), {"items": ["{item_copy}"], "count": 1}),
    Ask("remove_items", BLUEPRINT_CHANGE, ("dataset",), {"all": True}, query="?dry_run=1"),
    Ask("remove_items", refused(BLUEPRINT_CHANGE), ("dataset",), {"items": ["{item_copy}"], "count": 1}),
    Ask("restore_items", BLUEPRINT_CHANGE, ("dataset",), {"items": ["{removed}"]}, like="datasets:restore"),
    Ask("restore_items", MANAGERS, ("dataset_copy",), {"items": ["{removed_copy}"]}, like="datasets:restore"),
    Ask("list_uploads", EVERYBODY),
    Ask("begin_upload", BLUEPRINT_CHANGE, ("dataset",), TEXT),
    Ask("begin_upload", MANAGERS, ("dataset_copy",), RICH),
    *of_upload("get_upload_report"),
    *of_upload("change_upload", body={"duplicates": "skip"}, like="datasets:decide"),
    *of_upload("map_labels", "entity", body={"labels": {"x": None}}, like="datasets:map_labels"),
    Ask("make_ontology", OWN, ("upload", "entity")),
    Ask("make_ontology", refused(OWN_COPY), ("upload_copy", "entity")),
    *of_upload("store_upload", like="datasets:store_upload"),
    *of_upload("discard_upload", like="datasets:discard_upload"),
    *of_upload("get_upload_file", "bad"),
]
