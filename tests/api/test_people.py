"""Operations of people, assignment and talk, beyond what their pages do."""

from django.core import mail
from django.core.cache import cache

from projects.models import Membership, Project
from tests.api.asks import request, token_of
from tests.api.test_projects import ask  # noqa: F401 - a fixture
from tests.test_access import built_world, world  # noqa: F401 - fixtures
from work.models import Comment


def test_members_are_added_once(ask, world):  # noqa: F811
    body = {"people": ["dave", "carol"], "role": "reviewer"}
    assert ask("POST", "projects/{project}/members", body, status=200)["added"] == ["dave"]
    assert ask("POST", "projects/{project}/members", body, status=200)["added"] == []
    roles = dict(Membership.objects.filter(project=world["project"]).values_list("user__username", "role"))
    assert (roles["dave"], roles["carol"]) == ("reviewer", "annotator")
    body = {"people": ["bob", "ghost"], "role": "reviewer"}
    assert ask("POST", "projects/{project}/members", body, status=422)["problems"][0]["place"] == "people"


def test_marks_of_who_is_removed_go_by_the_number_that_is_agreed_to(ask, world):  # noqa: F811
    project = Project.objects.get(pk=world["project"])
    [carol] = project.members().filter(user=world["carol"])
    told = ask("DELETE", "projects/{project}/members/Carol?dry_run=1", status=200)
    assert told["marks"] == project.count_work(carol.user)["marks"] > 0
    ask("DELETE", "projects/{project}/members/Carol?agreed_marks=1", status=422)
    ask("DELETE", f"projects/{{project}}/members/Carol?agreed_marks={told['marks']}", status=204)
    assert project.count_work(carol.user)["marks"] == 0
    reason = ask("DELETE", "projects/{project}/members/ALICE?dry_run=1")["reason_to_keep"]
    assert reason and ask("DELETE", "projects/{project}/members/ALICE", status=422)["detail"] == reason


def test_those_who_are_invited_by_mail_get_one_and_too_many_are_refused(
    ask,  # noqa: F811
    world,  # noqa: F811
    settings,
    django_capture_on_commit_callbacks,
):
    cache.clear()
    settings.ACCOUNT_RATE_LIMITS = {**settings.ACCOUNT_RATE_LIMITS, "invite": "1/d/key"}
    body = {"addresses": ["nora@example.org"], "role": "annotator"}
    with django_capture_on_commit_callbacks(execute=True):
        told = ask("POST", "projects/{project}/invitations", body, **{"Idempotency-Key": "k"})
        assert ask("POST", "projects/{project}/invitations", body, **{"Idempotency-Key": "k"}) == told
    assert [each.to for each in mail.outbox] == [["nora@example.org"]]
    assert [each["address"] for each in told["sent"]] == ["nora@example.org"]
    ask("POST", "projects/{project}/invitations", {**body, "addresses": ["a@example.org"]}, status=429)
    token = token_of("alice")
    answer = request("POST", f"/api/v1/projects/{world['project']}/invitations", token, body)
    assert int(answer["Retry-After"]) > 0


def test_a_link_lets_in_and_is_told_once(ask, world):  # noqa: F811
    made = ask("POST", "projects/{project}/invitation-links", {"role": "reviewer"}, status=201)
    secret = made["link"].rstrip("/").rpartition("/")[2]
    assert secret not in str(ask("GET", "projects/{project}/invitations"))
    answer = request("POST", "/api/v1/invitations/answer", token_of("bob"), {"token": secret, "accept": True})
    assert answer.json() == {"project": world["project"], "state": "accepted"}
    assert ask("POST", "projects/{project}/invitation-links", {"role": "manager"}, status=422)
    [listed] = [each for each in ask("GET", "projects/{project}/invitations")["results"] if each["id"] == made["id"]]
    assert (listed["uses"], listed["address"]) == (1, None)


def test_a_rule_is_foreseen_and_set(ask, world):  # noqa: F811
    rule = {"annotators_per_item": 1}
    ask("POST", "projects/{project}/members", {"people": ["dave"], "role": "annotator"})
    told = ask("PUT", "projects/{project}/assignment?dry_run=1", rule, status=200)
    assert {each["user"] for each in told["people"]} == {"carol", "dave", "alice"}
    assert Project.objects.get(pk=world["project"]).annotators_per_item is None
    ask("PUT", "projects/{project}/assignment", rule, status=200)
    assert ask("GET", "projects/{project}/assignment")["annotators_per_item"] == 1
    assert ask("PUT", "projects/{project}/assignment", {"annotators_per_item": 0}, status=422)


def test_items_change_hands_by_the_number_that_is_agreed_to_and_back(ask, world):  # noqa: F811
    ask("PUT", "projects/{project}/assignment", {"annotators_per_item": 1})
    ask("POST", "projects/{project}/members", {"people": ["dave"], "role": "annotator"})

    def whose():
        items = ask("GET", "projects/{project}/items?person=dave")["results"]
        return [each["id"] for each in items if {"dave"} <= {one["user"] for one in each["people"]}]

    before = whose()
    body = {"people": ["dave"], "all": True}
    told = ask("POST", "projects/{project}/items/give?dry_run=1", body)
    assert (told["count"], told["changed"]) == (2, 2 - len(before))
    assert (
        ask("POST", "projects/{project}/items/give", {**body, "count": 1}, status=422)["problems"][0]["place"]
        == "count"
    )
    assert ask("POST", "projects/{project}/items/give", {"people": ["dave"], "count": 2}, status=422)
    assert ask("POST", "projects/{project}/items/give", {**body, "people": ["ghost"]}, status=422)
    ask("POST", "projects/{project}/items/give", {**body, "count": 2}, status=200)
    assert len(whose()) == 2
    undo = ask("GET", "projects/{project}/assignment")["undo"]
    ask("POST", "projects/{project}/items/undo", {"change": undo["change"]}, status=200)
    assert whose() == before
    ask("POST", "projects/{project}/items/undo", {"change": undo["change"]}, status=422)


def test_in_large_projects_jobs_do_it(ask, world, monkeypatch):  # noqa: F811
    monkeypatch.setattr(Project, "PORTION", 0)
    rule = {"annotators_per_item": 1}
    assert ask("PUT", "projects/{project}/assignment", rule, status=202)["kind"] == "assign"
    assert ask("POST", "projects/{project}/assignment/pairs", status=202)["kind"] == "assign"
    give = {"people": ["carol"], "all": True, "count": 2}
    assert ask("POST", "projects/{project}/items/give", give, status=202)["kind"] == "by_hand"
    assert ask("POST", "projects/{project}/items/undo", {"change": 1}, status=202)["kind"] == "undo_by_hand"


def test_items_are_listed_by_filters_in_pages_and_lines(ask, world):  # noqa: F811
    first = ask("GET", "projects/{project}/items?limit=1")
    assert first["next"] and first["results"][0]["number"] == 1
    rest = ask("GET", first["next"].partition("/api/v1/")[2])
    assert [each["number"] for each in rest["results"]] == [2] and rest["next"] is None
    [item] = ask("GET", "projects/{project}/items?has=open")["results"]
    assert item["id"] == world["item_copy"] and item["open_comments"] == 2
    lines = ask("GET", "projects/{project}/items", Accept="application/x-ndjson")
    assert b"".join(lines.streaming_content).count(b"\n") == 2
    for query in ("state=x", "has=x", "person=ghost", "sort=marks"):
        assert (
            ask("GET", f"projects/{{project}}/items?{query}", status=422)["problems"][0]["place"] == query.split("=")[0]
        )


def test_talk_goes_on_and_each_sees_what_is_theirs(ask, world):  # noqa: F811
    carol = token_of("carol")
    address = f"/api/v1/projects/{world['project']}/comments"
    said = ask("POST", "projects/{project}/comments/{comment}/answers", {"text": "Look again"}, status=200)
    assert [each["author"] for each in said["answers"]] == ["alice"]
    waiting = request("GET", f"{address}?comment_state=waiting", carol).json()["results"]
    assert [each["id"] for each in waiting] == [world["comment"]]
    assert len(ask("GET", "projects/{project}/comments")["results"]) == 2
    answer = said["answers"][0]["id"]
    changed = ask("PATCH", "projects/{project}/comments/{comment}", {"text": "Look", "answer": answer}, status=200)
    assert changed["answers"][0]["text"] == "Look"
    ask("DELETE", f"projects/{{project}}/comments/{{comment}}?answer={answer}", status=204)
    resolved = ask("POST", "projects/{project}/comments/{comment}/answers", {"resolves": True})
    assert resolved["resolved_by"] == "alice"
    assert ask("GET", "projects/{project}/comments?comment_state=resolved")["results"] == [resolved]
    assert ask("POST", "projects/{project}/comments/{comment}/reopen")["resolved_at"] is None


def test_a_comment_is_about_a_mark_and_stored_once(ask, world):  # noqa: F811
    path, body = "projects/{project}/items/{item_copy}/annotations/carol/comments", {"text": "Two?"}
    about = {**body, "kind": "entity", "uid": "given-mark-0"}
    made = ask("POST", path, about, status=201)
    assert ask("POST", path, about, status=201)["id"] == made["id"]
    assert ask("POST", path, {**about, "uid": "x"}, status=422)
    assert ask("POST", path, {**body, "kind": "entity"}, status=422)
    assert Comment.objects.filter(text="Two?").count() == 1
