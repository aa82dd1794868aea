"""The people of a project: members, invitations, who gets which items, and what is said about their work."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from django.db import transaction
from django.http import QueryDict
from django.shortcuts import get_object_or_404

from annotation_service.blueprints import Right
from annotation_service.inputs import Refused
from annotation_service.models import Job, User, fold
from projects import access, assignment_page, item_views, people, progress
from projects.assignment.by_hand import GIVE, TAKE
from projects.assignment.giving import Foreseen
from projects.assignment_page import AssignmentForm
from projects.comment_list import waits_for
from projects.forms import HandOverForm, InviteForm, LinkForm, MembersForm, RoleForm
from projects.item_table import DONE_BY, HAS, STATES, ProjectItems, rows_of
from projects.models import HandChange, Invitation, Membership, Project
from projects.progress import Person
from work import own_items
from work.models import Comment, Flag
from work.models.item_work import refresh

from .forms import filled_in, valid
from .models import Scope
from .operations import ApiSection, Call, Rows, attributes, time_of

members, assignment = ApiSection("People"), ApiSection("Assignment")
talk = ApiSection("Comments and flags", changes=Scope.ANNOTATE)
PROJECT = "projects/<int:project>"
MEMBER = f"{PROJECT}/members/<str:who>"
INVITATION = f"{PROJECT}/invitations/<int:invitation>"
COMMENT = f"{PROJECT}/comments/<int:comment>"


# --- Members -----------------------------------------------------------------------------------------------------------


def show_person(person: Person) -> dict[str, Any]:
    role = person.membership.role if person.membership else None
    return {**attributes(person, "user joined_at given begun done last_active"), "role": role}


def _member(call: Call, project: int, who: str) -> tuple[Project, Membership]:
    found = access.project(call, project, Right.MANAGE)
    return found, access.member_named(found, who)


@members.list(f"{PROJECT}/members", "Member")
def list_members(call: Call, project: int) -> Rows:
    """The members with what they have done, by role and name; then, without a role, the former ones who have begun items."""
    there, former = progress.people(access.project(call, project, Right.READ))
    return Rows([*there, *former], lambda some: map(show_person, some))


@members.post(f"{PROJECT}/members", "NewMembers", "MembersAdded", pages="projects:add_members")
def add_members(call: Call, project: int) -> Any:
    """Make people members. Those who are members stay as they are, so that this can be sent twice."""
    found = access.project(call, project, Right.MANAGE)
    chosen = valid(MembersForm(filled_in(call.sent), project=found))
    there = set(found.members().values_list("user", flat=True))
    new = [person for person in chosen["people"] if person.pk not in there]
    withdrawn = found.add_members(new, role=chosen["role"], by=call.user) if new else 0
    return {"added": [person.username for person in new], "withdrawn_marks": withdrawn}


@members.patch(MEMBER, "NewRole", pages="projects:change_role")
def change_role(call: Call, project: int, who: str) -> None:
    """Give a member another role. What they have begun stays theirs."""
    found, member = _member(call, project, who)
    found.change_role(member, valid(RoleForm(call.sent))["role"], by=call.user)


@members.delete(MEMBER, answer="MemberLosses", query="agreed_marks dry_run", status=204, pages="projects:remove_member")
def remove_member(call: Call, project: int, who: str) -> Any:
    """End a membership. The marks stay, unless “agreed_marks” agrees to delete so many. A dry run tells what goes."""
    found, member = _member(call, project, who)
    work, agreed = found.count_work(member.user), call.asked["agreed_marks"]
    if call.asked["dry_run"]:
        return {**work, **people.lost_with(found, member), "reason_to_keep": found.reason_to_keep(member)}
    if agreed not in (None, work["marks"]):
        raise Refused(f"It is another number of marks: {work['marks']}.", place="agreed_marks")
    by = None if member.user == call.user else call.user
    found.remove_member(member, with_marks=agreed is not None, by=by)
    return None


@members.post(f"{PROJECT}/leave", pages="projects:leave")
def leave_project(call: Call, project: int) -> None:
    """End one’s own membership. All marks on what was begun stay."""
    found = access.project(call, project)
    found.remove_member(access.own_membership(call, found))


@members.post(f"{PROJECT}/hand-over", "HandOver", pages="projects:hand_over")
def hand_over(call: Call, project: int) -> None:
    """Make another member a manager and get another role oneself, in one step."""
    found = access.project(call, project, Right.MANAGE)
    own, to = access.own_membership(call, found), access.member_named(found, call.sent["to"])
    chosen = valid(HandOverForm({**call.sent, "to": to.pk}, project=found, own=own))
    found.hand_over(own, chosen["to"], chosen["role"])


@members.get("people", "Names", query="q project")
def find_people(call: Call) -> Any:
    """The first user names in which a text occurs; with a project, of those who are not in it."""
    return {"names": people.names_with(call.asked["q"] or "", access.people_to_choose(call, call.asked["project"]))}


# --- Invitations -------------------------------------------------------------------------------------------------------


def show_invitations(some: Iterable[Invitation]) -> Iterable[dict[str, Any]]:
    usable = set(Invitation.objects.usable().filter(pk__in=[each.pk for each in some]).values_list("pk", flat=True))
    for each in some:
        yield {
            **attributes(each, "id role by created_at expires_at state uses asked_by"),
            "address": each.address or None,
            "is_usable": each.pk in usable,
        }


def _invitation(call: Call, project: int, pk: int) -> Invitation:
    return get_object_or_404(access.invitations(access.project(call, project, Right.MANAGE)), pk=pk)


@members.list(f"{PROJECT}/invitations", "Invitation")
def list_invitations(call: Call, project: int) -> Rows:
    """All invitations to a project, the oldest first."""
    return Rows(access.invitations(access.project(call, project, Right.MANAGE)), show_invitations)


@members.post(f"{PROJECT}/invitations", "NewInvitations", "InvitationsSent", pages="projects:invite")
def invite_by_mail(call: Call, project: int) -> Any:
    """Write to each address. One that is invited already gets another link, and the first one ends."""
    found = access.project(call, project, Right.MANAGE)
    chosen = valid(InviteForm(filled_in(call.sent)))
    made = people.invite(call, found, chosen["addresses"], chosen["role"])
    transaction.on_commit(partial(people.send_invitations, call, found, made))
    return {"sent": list(show_invitations([invitation for invitation, _ in made]))}


@members.create(f"{PROJECT}/invitation-links", "NewLink", "InvitationLink", pages="projects:invite_by_link")
def invite_by_link(call: Call, project: int) -> Any:
    """Make a link that everybody who has it can use; it is told this once."""
    found = access.project(call, project, Right.MANAGE)
    made, token = Invitation.make(found, role=valid(LinkForm(call.sent))["role"], by=call.user)
    return {"id": made.pk, "link": people.address_of(call, token), "expires_at": time_of(made.expires_at)}


@members.delete(INVITATION, pages="projects:revoke_invitation")
def revoke_invitation(call: Call, project: int, invitation: int) -> None:
    """Who has accepted it stays a member."""
    _invitation(call, project, invitation).revoke()


@members.post(f"{INVITATION}/answer", "RequestAnswer", pages="projects:answer_request")
def answer_request(call: Call, project: int, invitation: int) -> None:
    """Let in who has asked with an invitation to another address, or do not: then it stays open for that address."""
    found = _invitation(call, project, invitation)
    who = User.objects.with_name(call.sent["person"]).first()
    found.answer(who.pk if who else 0, lets_in=call.sent["lets_in"], by=call.user)


@members.list("invitations", "OwnInvitation")
def list_own_invitations(call: Call) -> Rows:
    """Those that were sent to an address of the person, and can be accepted."""

    def show(some: Iterable[Invitation]) -> Iterable[dict[str, Any]]:
        for each in some:
            about = {"project": each.project_id, "name": each.project.name}
            yield {**about, **attributes(each, "id role by expires_at")}

    return Rows(access.invitations_to(call.user), show)


@members.post(
    "invitations/<int:invitation>/answer", "InvitationAnswer", "InvitationAnswered", pages="projects:answer_invitation"
)
def answer_invitation(call: Call, invitation: int) -> Any:
    """Become a member of a project to which the person is invited, or decline."""
    return _answer(call, get_object_or_404(access.invitations_to(call.user), pk=invitation))


@members.post("invitations/answer", "LinkAnswer", "InvitationAnswered", pages="projects:invitation")
def answer_link(call: Call) -> Any:
    """The same with the last part of a link. With one that was sent to another address, the person asks to be let in."""
    return _answer(call, access.invitation_with(call.sent["token"]))


def _answer(call: Call, invitation: Invitation) -> dict[str, Any]:
    project = invitation.project_id
    if not call.sent["accept"]:
        invitation.decline()
        return {"project": project, "state": "declined"}
    return {"project": project, "state": "accepted" if invitation.accept(call.user) else "asked"}


# --- Assignment --------------------------------------------------------------------------------------------------------


def show_foreseen(foreseen: Iterable[Foreseen]) -> list[dict[str, Any]]:
    names = "before after gained lost begun marks"
    return [{"user": each.person.username, **attributes(each, names)} for each in foreseen]


def _what_changes(project: Project, planned: Any) -> dict[str, Any]:
    told = assignment_page.what_changes(project, planned)
    figures = {"moved": told["moved"], "lost_marks": told["marks"], "people": show_foreseen(told["foreseen"])}
    return {"rule": str(planned.rule), **figures, "pairs": told["pairs"] and told["pairs"].range}


def _done(done: str | Job) -> Job | dict[str, Any]:
    return done if isinstance(done, Job) else {"text": done}


@assignment.get(f"{PROJECT}/assignment", "Assignment")
def get_assignment(call: Call, project: int) -> Any:
    """The rule, and what was given or taken by hand; “undo” names the last such change."""
    found = access.project(call, project, Right.READ)
    last = HandChange.last_of(found)
    return {
        **found.rule.values,
        "text": str(found.rule),
        "is_changing": found.is_changing,
        "by_hand": found.count_by_hand(),
        "undo": last and {"change": last.pk, "text": last.text, "at": time_of(last.at)},
    }


@assignment.put(
    f"{PROJECT}/assignment", "AssignmentRule", "AssignmentDone", query="dry_run", long=True, pages="projects:assignment"
)
def set_assignment(call: Call, project: int) -> Any:
    """Give the items by another rule; many by a job. What was begun or got by hand stays. A dry run tells who gets what."""
    found, form = access.project(call, project, Right.MANAGE), AssignmentForm(filled_in(call.sent))
    valid(form)
    if call.asked["dry_run"]:
        found.check_not_changing()
        return _what_changes(found, found.foresee_rule(form.rule))
    return _done(assignment_page.set_rule_or_start(found, form.rule, by=call.user))


@assignment.post(
    f"{PROJECT}/assignment/pairs", answer="AssignmentDone", query="dry_run", long=True, pages="projects:even_pairs"
)
def even_pairs(call: Call, project: int) -> Any:
    """Share out anew what nobody has begun or got by hand, so that every two people share about as many items."""
    found = access.project(call, project, Right.MANAGE)
    found.check_not_changing()
    if call.asked["dry_run"]:
        return _what_changes(found, found.planned(anew=True))
    return _done(assignment_page.even_pairs_or_start(found, by=call.user))


def _filtered(call: Call, project: Project) -> ProjectItems:
    """By the query, as in the table of items. What matches nothing there, because it is no choice, is refused."""
    asked = call.asked
    state, has, person = (asked[name] or "" for name in ("state", "has", "person"))
    choices = {"state": own_items.STATES if person else STATES, "has": {**HAS, **(own_items.HAS if person else {})}}
    for name, value in (("state", state), ("has", has)):
        if value and value not in choices[name] and not (name == "state" and value.startswith(DONE_BY)):
            raise Refused(f"This is no choice; these are: {', '.join(choices[name])}.", place=name)
    chosen = ProjectItems.of(project, call.GET)
    if person and chosen.who is None:
        raise Refused("Nobody of the project is called so.", place="person")
    return chosen


@assignment.list(f"{PROJECT}/items", "AssignedItem", query="q state has label person")
def list_project_items(call: Call, project: int) -> Rows:
    """The items with who has them, and what everybody did in them. With a person, those that they have."""
    found = access.project(call, project, Right.READ)
    chosen = _filtered(call, found)
    refresh(chosen.dataset.pk, item_views.COUNT_SECONDS)

    def show(items: Any) -> Iterable[dict[str, Any]]:
        for row in rows_of(found, items, [], with_marks=True):
            about = {**attributes(row.item, "id number"), "external_id": row.item.external_id or None}
            shares = [
                {"user": each.person.username, **attributes(each, "is_given state since marks")}
                for each in row.shares()
            ]
            flags = [{"kind": kind.lower(), "count": count} for kind, count, _ in row.flags]
            talk = {"flags": flags, "comments": row.comments, "open_comments": row.open_comments}
            yield {**about, "people": shares, **talk, "violations": row.violations}

    items = chosen.matching().select_related("work").defer("original", "offsets", "tokens", "extra_fields")
    return Rows(items, show, "position")


def _by_hand(verb: str, call: Call, project: int) -> Any:
    found = access.project(call, project, Right.MANAGE)
    chosen = _filtered(call, found)
    if keys := call.sent.get("items"):
        query = QueryDict(mutable=True)
        query.update(call.GET.dict())
        query["items"] = ",".join(map(str, keys))
        chosen = ProjectItems.of(found, query)
    elif not call.sent.get("all"):
        raise Refused("Name items, or say that all that match are meant.", place="items")
    refresh(chosen.dataset.pk, item_views.COUNT_SECONDS)
    items = chosen.without_order().items()
    count, names = items.order_by().count(), {fold(name) for name in call.sent["people"]}
    who = list(User.objects.filter(username_folded__in=names).order_by("username"))
    if missing := names - {person.username_folded for person in who}:
        raise Refused(f"There is no account with the user name “{min(missing)}”.", place="people")
    told = found.foresee_by_hand(verb, items, who)
    if call.asked["dry_run"]:
        counts = attributes(told, "changed had begun lost_in_turn")
        return {"count": count, **counts, "lost_marks": told.marks, "people": show_foreseen(told.losses)}
    if call.sent.get("count") != count:
        raise Refused(f"“count” agrees to so many items as there are: now {count}.", place="count")
    return _done(item_views.change_or_start(chosen, verb, count, who, by=call.user))


for _verb, _about in (
    (GIVE, "Give each of some items to each of some people; in large projects by a job."),
    (TAKE, "Take items away from people who have not begun them; in large projects by a job."),
):
    assignment.post(
        f"{PROJECT}/items/{_verb}",
        "ItemsByHand",
        "ByHandDone",
        query="q state has label person dry_run",
        long=True,
        pages=f"projects:{_verb}_items",
        name=f"{_verb}_items",
        about=f"{_about} The query chooses them as in the list. A dry run tells what would happen, and the count to agree to.",
    )(partial(_by_hand, _verb))


@assignment.post(f"{PROJECT}/items/undo", "HandChange", "Done", long=True, pages="projects:undo_by_hand")
def undo_by_hand(call: Call, project: int) -> Any:
    """Bring items back to those who had them before the last change by hand, or before pairs were evened out."""
    found = access.project(call, project, Right.MANAGE)
    return _done(item_views.undo_or_start(found, call.sent["change"], by=call.user))


# --- Comments and flags ------------------------------------------------------------------------------------------------


def show_comments(some: Iterable[Comment]) -> Iterable[dict[str, Any]]:
    """Those that are read `with_words`."""
    written = "id author text written_at edited_at"
    for each in some:
        yield {
            **attributes(each, f"{written} person resolved_at resolved_by"),
            "item": each.item_id,
            "mark": {"kind": each.kind, "id": each.uid, "words": each.words} if each.uid else None,
            "answers": [attributes(answer, written) for answer in each.answers],  # type: ignore[attr-defined]
        }


def _comment(pk: int) -> Any:
    """As it is now; nothing, if it is gone."""
    return next(iter(show_comments(Comment.objects.with_words().filter(pk=pk))), None)


def _of_person(call: Call, project: Project, rows: Any) -> Any:
    who = call.asked["person"]
    return rows if who is None else rows.filter(person=access.somebody_of(project, who))


@talk.list(f"{PROJECT}/comments", "Comment", query="comment_state person")
def list_comments(call: Call, project: int) -> Rows:
    """The comments on everybody’s work or, for who annotates, on their own; in those “waiting” the other side spoke last."""
    found = access.project(call, project)
    rows = _of_person(call, found, access.comments(call, found))
    if call.asked["comment_state"] == "waiting":
        rows = rows.filter(waits_for(call.user, reads=access.reads_marks(call, found)))
    elif state := call.asked["comment_state"]:
        rows = rows.filter(resolved_at__isnull=state == "open")
    return Rows(rows.with_words(), show_comments)


@talk.list(f"{PROJECT}/flags", "Flag", query="flag person")
def list_flags(call: Call, project: int) -> Rows:
    """The flags that everybody has set or, for who annotates, their own."""
    found = access.project(call, project)
    rows = _of_person(call, found, access.flags(call, found))
    if kind := call.asked["flag"]:
        rows = rows.filter(kind=kind)
    return Rows(rows.select_related("person"), show_flags)


def show_flags(some: Iterable[Flag]) -> Iterable[dict[str, Any]]:
    return ({"item": each.item_id, **attributes(each, "kind why person set_at")} for each in some)


@talk.post(f"{COMMENT}/answers", "CommentAnswer", "Comment", pages="projects:answer_comment")
def answer_comment(call: Call, project: int, comment: int) -> Any:
    """Answer a comment, resolve it, or both at once. Sent twice, an answer is stored once."""
    with access.changing_comment(call, project, comment) as found:
        found.reply(call.sent.get("text", ""), resolves=call.sent.get("resolves", False), by=call.user)
    return _comment(comment)


@talk.patch(COMMENT, "CommentChange", "Comment", pages="projects:edit_comment")
def edit_comment(call: Call, project: int, comment: int) -> Any:
    """Change one’s own last words: the comment itself or, with its id, an answer to it."""
    with access.changing_comment(call, project, comment) as found:
        found.edit(call.sent["text"], by=call.user, answer=call.sent.get("answer"))
    return _comment(comment)


@talk.delete(COMMENT, query="answer", pages="projects:delete_comment")
def delete_comment(call: Call, project: int, comment: int) -> None:
    """Take back one’s own last words: the comment itself or, with its id, an answer to it."""
    with access.changing_comment(call, project, comment) as found:
        found.take_back(by=call.user, answer=call.asked["answer"])


@talk.post(f"{COMMENT}/reopen", answer="Comment", pages="projects:reopen_comment")
def reopen_comment(call: Call, project: int, comment: int) -> Any:
    """Open a comment that was resolved."""
    with access.changing_comment(call, project, comment) as found:
        found.reopen()
    return _comment(comment)
