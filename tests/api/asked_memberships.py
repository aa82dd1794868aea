from tests.api.asks import EVERYBODY, MANAGERS, MEMBERS, Ask

WRONG = MANAGERS.replace("200", "422")
NOT_THERE = "401 404 403 404 404 404"
BY_HAND = {"items": ["{item_copy}"], "people": ["carol"], "count": 1}
ADDED = {"people": ["dave"], "role": "annotator"}
# Members are named by user names; the world has the keys of their accounts under the same words in small letters.
CAROL = ("project", "CAROL")


def of_comments(operation, page, body=None, *, own="200", of_others="200", **fields):
    """What is done with carol's comment, with one on alice's own work, and with one of another project."""
    own_row = Ask(
        operation,
        f"401 404 {own} 404 {of_others} {of_others}",
        ("project", "comment"),
        body,
        like=page if own == "200" else "",
        by="carol",
        **fields,
    )
    return [
        own_row,
        Ask(operation, f"401 404 404 404 {own} {of_others}", ("project", "managers_comment"), body),
        Ask(operation, "401 404 404 404 404 404", ("project", "comment_elsewhere"), body),
    ]


ASKS = [
    Ask("list_members", MANAGERS, ("project",)),
    Ask("add_members", MANAGERS, ("project",), ADDED, like="projects:add_members"),
    Ask("add_members", MANAGERS, ("project",), {"people": ["carol"], "role": "annotator"}),
    Ask("add_members", WRONG, ("project",), {"people": ["nobody"], "role": "annotator"}),
    Ask(
        "change_role",
        MANAGERS,
        CAROL,
        {"role": "reviewer"},
        like="projects:change_role",
        page_args=("project", "membership"),
    ),
    Ask("change_role", NOT_THERE, ("project", "BOB"), {"role": "reviewer"}),
    Ask("remove_member", MANAGERS, CAROL, like="projects:remove_member", page_args=("project", "membership")),
    Ask("remove_member", MANAGERS, CAROL, query="?dry_run=1"),
    Ask("remove_member", WRONG, CAROL, query="?agreed_marks=99"),
    Ask("remove_member", NOT_THERE, ("project", "BOB")),
    Ask("leave_project", "401 404 200 404 422 404", ("project",), like="projects:leave", by="carol"),
    Ask(
        "hand_over",
        "401 404 403 404 200 404",
        ("project",),
        {"to": "carol", "role": "observer"},
        like="projects:hand_over",
    ),
    Ask("find_people", "401 403 403 200 200 200", query="?q=ca"),
    Ask("find_people", "401 404 403 404 200 200", query="?q=da&project={project}"),
    Ask("list_invitations", MANAGERS, ("project",)),
    Ask(
        "invite_by_mail",
        MANAGERS,
        ("project",),
        {"addresses": ["new@example.org"], "role": "observer"},
    ),
    Ask("invite_by_mail", WRONG, ("project",), {"addresses": ["new"], "role": "observer"}),
    Ask("invite_by_link", MANAGERS, ("project",), {"role": "observer"}),
    Ask("revoke_invitation", MANAGERS, ("project", "invitation"), like="projects:revoke_invitation"),
    Ask("revoke_invitation", NOT_THERE, ("project", "invitation_elsewhere")),
    Ask("answer_request", WRONG, ("project", "invitation"), {"person": "dave", "lets_in": True}),
    Ask(
        "answer_request",
        MANAGERS,
        ("project", "asked"),
        {"person": "dave", "lets_in": False},
        like="projects:answer_request",
    ),
    Ask("list_own_invitations", EVERYBODY),
    Ask(
        "answer_invitation",
        "401 200 404 404 404 404",
        ("invitation",),
        {"accept": True},
        like="projects:answer_invitation",
        by="dave",
    ),
    Ask("answer_link", "401 200 200 422 200 200", body={"token": "{token}", "accept": True}),
    Ask("answer_link", EVERYBODY, body={"token": "{token}", "accept": False}),
    Ask("get_assignment", MANAGERS, ("project",)),
    Ask("set_assignment", MANAGERS, ("project",), {"annotators_per_item": 1}, like="projects:assignment"),
    Ask("set_assignment", MANAGERS, ("project",), {"annotators_per_item": 1}, query="?dry_run=1"),
    Ask("set_assignment", WRONG, ("project",), {"annotators_per_item": None, "overlap": 5}),
    Ask("even_pairs", MANAGERS, ("project",)),
    Ask("even_pairs", MANAGERS, ("project",), query="?dry_run=1"),
    Ask("list_project_items", MANAGERS, ("project",)),
    Ask("list_project_items", MANAGERS, ("project",), query="?q=pump&state=done-1&has=open&person=carol"),
    Ask("list_project_items", WRONG, ("project",), query="?state=x"),
    Ask("give_items", MANAGERS, ("project",), {**BY_HAND, "people": ["alice"]}),
    Ask("take_items", WRONG, ("project",), {**BY_HAND, "count": 2}),
    Ask("undo_by_hand", WRONG, ("project",), {"change": 1}),
    Ask("list_comments", MEMBERS, ("project",)),
    Ask("list_comments", MEMBERS, ("project",), query="?comment_state=waiting&person=carol"),
    Ask("list_flags", MEMBERS, ("project",), query="?flag=issue"),
    *of_comments("answer_comment", "projects:answer_comment", {"text": "Yes"}),
    *of_comments("answer_comment", "", {"resolves": True}),
    *of_comments("answer_comment", "", {"text": ""}, own="422", of_others="422"),
    *of_comments("edit_comment", "projects:edit_comment", {"text": "Changed"}, of_others="422"),
    *of_comments("delete_comment", "projects:delete_comment", of_others="422"),
    *of_comments("reopen_comment", ""),
    *[
        Ask(f"{verb}_items", MANAGERS, ("project",), BY_HAND, query=query)
        for verb in ("give", "take")
        for query in ("", "?dry_run=1")
    ],
]
