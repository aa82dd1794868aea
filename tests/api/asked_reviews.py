from tests.api.asked_works import ELSEWHERE, OWN, SAYS, WORK
from tests.api.asks import MANAGERS, Ask

# Of the gold, whose marks have other uids.
GOLD = {verb: body for verb, body in SAYS.items() if "suggest" not in verb}
UIDS = {"given-mark-0": "gold0", "given-mark-1": "gold1", "given-rel": "goldr0"}
MARKS = {"entities": [{"id": "e1", "label": "{label}", "start": 0, "end": 1}], "relations": []}


def reviewed(operation, answer="200", **fields):
    """What those who review ask about an item of the project, and about one that is not in it."""
    like = fields.pop("like", "")
    return [
        Ask(operation, MANAGERS.replace("200", answer), OWN, like=like, **fields),
        Ask(operation, "401 404 403 404 404 404", ELSEWHERE, **fields),
    ]


def in_gold(body):
    return {name: UIDS.get(value, value) for name, value in body.items()}


ASKS = [
    Ask("list_reviews", MANAGERS, ("project",), query="?state=decided&q=e&mine=1&limit=1"),
    Ask("list_reviews", MANAGERS, ("project",), query="?kind=label&label=State"),
    Ask("get_review_progress", MANAGERS, ("project",)),
    *reviewed("get_review"),
    *reviewed("decide", "422", body={"sign": "", "choice": "1"}),
    *reviewed("undo_decision", "422", body={}),
    *reviewed("redo_decision", "422", body={}),
    *reviewed("finish_review", "422", body={"sign": ""}),
    *reviewed("reopen_review", like="quality:reopen"),
    *reviewed("get_gold"),
    *reviewed("begin_gold", like="quality:begin_edit"),
    *reviewed("put_gold", body=MARKS),
    *(
        ask
        for verb, body in GOLD.items()
        for ask in reviewed(verb.replace("_", "_gold_"), body=in_gold(body), like=f"quality:{verb}")
    ),
    *reviewed("change_gold_marks", body={"operations": []}),
    Ask("get_review_rule", MANAGERS, ("project",)),
    Ask(
        "change_review_rule",
        MANAGERS,
        ("project",),
        {"agreed": "majority", "is_blind": True, "reviews_own": False, "shows_decisions": False},
        like="quality:rule",
        data={"agreed": "majority", "agreed_least": "2", "is_blind": "on"},
    ),
    Ask("share_out_reviews", MANAGERS, ("project",), {"people": ["alice"]}, like="quality:share"),
    Ask("take_over_agreed", MANAGERS, ("project",)),
    Ask("take_over_given", MANAGERS, ("project",)),
    Ask("download_gold", MANAGERS, ("project", "json")),
    Ask("download_gold", "401 404 404 404 404 404", ("project", "nothing")),
    Ask("create_gold_dataset", "401 403 403 404 200 200", ("project",), {"name": "New"}, like="quality:gold_dataset"),
    Ask("get_agreement", MANAGERS, ("project",)),
    Ask("get_agreement_table", MANAGERS, ("project", "pairs"), query="?measure=exact&with=gold"),
    Ask("count_agreement", MANAGERS, ("project",)),
    Ask("list_lessons", WORK, ("project",)),
]
