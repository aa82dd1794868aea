from tests.api.asks import MANAGERS, Ask

TAGGER = ("project", "tagger")
NOT_THERE = "401 404 403 404 404 404"
LINE = '{{"id": {item_copy}, "entities": [{{"start": 1, "end": 1, "label": "{label}", "score": 0.5}}]}}\n'
ASKS = [
    Ask("list_sources", MANAGERS, ("project",)),
    Ask("get_source", MANAGERS, TAGGER),
    Ask("get_source", NOT_THERE, ("project", "nobody")),
    Ask(
        "change_source",
        MANAGERS,
        TAGGER,
        {"is_on": False},
        like="projects:switch_source",
        page_args=("project", "source"),
    ),
    Ask("put_suggestions", MANAGERS, TAGGER, LINE, query="?model_version=2&finish=1"),
    Ask("put_suggestions", MANAGERS, ("project", "new"), b"no json\n"),
]
