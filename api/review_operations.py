"""Reviews, the gold that comes of them, and how far people agree."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.http import Http404, QueryDict
from django.http.response import HttpResponseBase

from annotation_service import access as blueprint_access
from annotation_service.blueprints import Right
from annotation_service.inputs import Problem, Refused, clean_title
from annotation_service.models import Job
from datasets.models import Annotation, Layer
from projects import access
from projects.models import Project
from quality import agreement_pages, gold_views
from quality.counting import is_quick, refresh_counts
from quality.gold_files import FORMATS
from quality.lessons import Decided, decided_against, decisions_against
from quality.models import GoldDecision
from quality.review import Review, refresh_disputes
from quality.review_list import ReviewItems, progress_of, reviewers, share_out, shares
from quality.review_page import ReviewPage, ShownGroup
from quality.views import COUNT_SECONDS, RuleForm, review_of, reviewing, start_take_over
from quality.voices import Said

from .blueprint_operations import show_blueprint
from .models import Scope
from .operations import ApiSection, Call, Rows, attributes, time_of
from .work_operations import OF_ITEM, OF_PROJECT, mark_operations, put_annotation, show_one

reviews = ApiSection("Reviews", changes=Scope.ANNOTATE)

# --- The list ----------------------------------------------------------------------------------------------------------


@reviews.list(f"{OF_PROJECT}/reviews", "ReviewItem", query="state kind label mine q")
def list_reviews(call: Call, project: int) -> Rows:
    """The items that several people are done with, or about which something is decided, in their order."""
    found, asked = access.reviewed(call, project), QueryDict(mutable=True)
    refresh_disputes(found, COUNT_SECONDS)
    names = ("state", "kind", "label", "mine", "q")
    asked.update({name: str(call.asked[name]) for name in names if call.asked[name]})
    shown = ReviewItems.of(found, call.user, asked)
    if shown.asks_differences and is_quick(found):
        refresh_counts(found)
    items = shown.matching().select_related("work", "review__person")

    def show(some: Sequence[Any]) -> Iterator[dict[str, Any]]:
        golds = Annotation.objects.filter(item__in=list(some), layer=Layer.GOLD)
        decided = {gold.item_id: gold.done_at for gold in golds}
        for item in some:
            yield {
                **attributes(item, "id number"),
                "external_id": item.external_id or None,
                "done_by": item.work.done if hasattr(item, "work") else 0,
                "is_disputed": hasattr(item, "work") and item.work.is_disputed,
                "decided_at": time_of(decided.get(item.pk)),
                "reviewer": item.review.person.username if hasattr(item, "review") and item.review.person else None,
            }

    return Rows(items, show, "position")


@reviews.get(f"{OF_PROJECT}/review-progress", "ReviewProgress")
def get_review_progress(call: Call, project: int) -> Any:
    """How many items can be reviewed, are disputed and decided, and how they are shared out."""
    found = access.reviewed(call, project)
    refresh_disputes(found, COUNT_SECONDS)
    return {**progress_of(found, call.user), "shares": [each._asdict() for each in shares(found)]}


# --- An item -----------------------------------------------------------------------------------------------------------

OF_REVIEW, OF_GOLD = f"{OF_ITEM}/review", f"{OF_ITEM}/gold"


def show_review(call: Call, review: Review) -> dict[str, Any]:
    """People are letters; where names are not hidden, these come with them, as on the page."""
    page, gold = ReviewPage(review, call.user), review.gold
    undoable, redoable = page.undoable, page.redoable
    return {
        "item_id": review.item.pk,
        "is_ready": review.is_ready,
        "decided_at": time_of(gold.done_at) if gold else None,
        "sign": review.sign,
        "disputes": len(page.disputes),
        "people": {row.letter: row.name or None for row in page.people.values()},
        "groups": [_shown_group(each) for each in page.groups],
        "decisions": [_shown_decision(review.project, each) for each in page.history()],
        "undoable": undoable and undoable.pk,
        "redoable": redoable and redoable.pk,
    }


def _shown_group(group: ShownGroup) -> dict[str, Any]:
    options = [
        {
            "choice": each.key,
            "words": each.words,
            "label": each.label.uid,
            "place": [each.option.mark.start, each.option.mark.end] if not each.option.mark.is_relation else None,
            "people": each.letters.split(", ") if each.letters else [],
            "is_taken": each.is_taken,
        }
        for each in group.options
    ]
    kind = "relation" if group.is_relation else "entity"
    return {"sign": group.seen.sign, "kind": kind, "state": group.state, "differs": group.kind, "options": options}


def _shown_decision(project: Project, decision: GoldDecision) -> dict[str, Any]:
    by = None if project.is_blind else decision.by.username
    return {**attributes(decision, "id kind at reason undone_at"), "by": by}


@reviews.get(OF_REVIEW, "Review")
def get_review(call: Call, project: int, item: int) -> Any:
    """What people say about an item, what is disputed of it, and what was decided."""
    return show_review(call, review_of(call, project, item))


@reviews.post(f"{OF_REVIEW}/decisions", "NewDecision", "Review", pages="quality:decide")
def decide(call: Call, project: int, item: int) -> Any:
    """Take one, all or none of the options of a group, known by its sign."""
    with reviewing(call, project, item) as review:
        review.decide(**call.sent, by=call.user)
        return show_review(call, review)


@reviews.post(f"{OF_REVIEW}/undo", "SeenDecision", "Review", pages="quality:undo")
def undo_decision(call: Call, project: int, item: int) -> Any:
    """Take back one’s own newest decision: with “seen”, if it is that one."""
    with reviewing(call, project, item) as review:
        review.undo(by=call.user, **call.sent)
        return show_review(call, review)


@reviews.post(f"{OF_REVIEW}/redo", "SeenDecision", "Review", pages="quality:redo")
def redo_decision(call: Call, project: int, item: int) -> Any:
    """Bring back what one has taken back last."""
    with reviewing(call, project, item) as review:
        review.redo(by=call.user, **call.sent)
        return show_review(call, review)


@reviews.post(f"{OF_REVIEW}/finish", "SeenReview", "Review", pages="quality:finish")
def finish_review(call: Call, project: int, item: int) -> Any:
    """The item is decided: with “sign”, if it is as it was then."""
    with reviewing(call, project, item) as review:
        review.finish(by=call.user, **call.sent)
        return show_review(call, review)


@reviews.post(f"{OF_REVIEW}/reopen", answer="Review", pages="quality:reopen")
def reopen_review(call: Call, project: int, item: int) -> Any:
    """The item is not decided any more."""
    with reviewing(call, project, item) as review:
        review.reopen()
        return show_review(call, review)


# --- Gold marks --------------------------------------------------------------------------------------------------------


@reviews.get(OF_GOLD, "Annotation")
def get_gold(call: Call, project: int, item: int) -> Any:
    """The gold of an item, as far as it is decided."""
    of, found = access.item_in_review(call, project, item)
    if gold := Annotation.gold(found):
        return show_one(call, of, found, gold)
    raise Http404("Nothing is decided about this item yet.")


@reviews.create(OF_GOLD, answer="Annotation", pages="quality:begin_edit")
def begin_gold(call: Call, project: int, item: int) -> Any:
    """Take over what the rule says, to change it by hand."""
    with reviewing(call, project, item) as review:
        review.begin_editing().check_open()
        review.take_agreed(by=call.user)
        return show_one(call, review.project, review.item, Annotation.gold(review.item))


@reviews.put(OF_GOLD, "MarkSet", "Annotation")
def put_gold(call: Call, project: int, item: int) -> Any:
    """Let these be the gold marks of an item, by the fewest changes, as with one’s own."""
    return put_annotation(call, project, item, Layer.GOLD)


mark_operations(reviews, Layer.GOLD, OF_GOLD, "quality", "gold_")


# --- A project ---------------------------------------------------------------------------------------------------------

RULE = tuple(RuleForm.Meta.fields)


@reviews.get(f"{OF_PROJECT}/review-rule", "ReviewRule")
def get_review_rule(call: Call, project: int) -> Any:
    """How a project is reviewed."""
    found = access.project(call, project, Right.MANAGE)
    return {name: getattr(found, name) for name in RULE}


@reviews.patch(f"{OF_PROJECT}/review-rule", "ReviewRuleChange", "ReviewRule", scope=Scope.MANAGE, pages="quality:rule")
def change_review_rule(call: Call, project: int) -> Any:
    """Let a project be reviewed in another way. What is left out stays."""
    access.project(call, project, Right.MANAGE).set_review(**call.sent)
    return get_review_rule(call, project)


@reviews.post(f"{OF_PROJECT}/review-shares", "Reviewers", "SharedOut", scope=Scope.MANAGE, pages="quality:share")
def share_out_reviews(call: Call, project: int) -> Any:
    """Let items that are not decided be for these people, evenly."""
    found = access.project(call, project, Right.MANAGE)
    able = {person.username: person for person in reviewers(found)}
    if missing := [name for name in call.sent["people"] if name not in able]:
        raise Refused([Problem("$.people", f"“{name}” does not review this project.") for name in missing])
    count = share_out(found, [able[name] for name in dict.fromkeys(call.sent["people"])], by=call.user)
    return {"count": count}


@reviews.post(f"{OF_PROJECT}/gold/agreed", answer="Job", pages="quality:take_agreed")
def take_over_agreed(call: Call, project: int) -> Job:
    """Take over what people agree about, in all items that one reviews."""
    return start_take_over(access.project(call, project, Right.REVIEW), "agreed", by=call.user)


@reviews.post(f"{OF_PROJECT}/gold/given", answer="Job", scope=Scope.MANAGE, pages="quality:take_given")
def take_over_given(call: Call, project: int) -> Job:
    """Make the marks gold that came with the dataset."""
    return start_take_over(access.project(call, project, Right.MANAGE), "given", by=call.user)


@reviews.file(f"{OF_PROJECT}/gold/files/<str:format>")
def download_gold(call: Call, project: int, format: str) -> HttpResponseBase:
    """The decided items with their gold, as a file in a download format, such as “json”."""
    access.project(call, project)
    found = next((each for each in FORMATS if each.name == format), None)
    if found is None:
        raise Http404(f"The formats are {', '.join(each.name for each in FORMATS)}.")
    return gold_views.download(call, project, found)


@reviews.create(
    f"{OF_PROJECT}/gold/datasets", "NewName", "Blueprint", scope=Scope.MANAGE, long=True, pages="quality:gold_dataset"
)
def create_gold_dataset(call: Call, project: int) -> Any:
    """Make a dataset of one’s own of the gold; a large one by a job."""
    blueprint_access.require_creator(call)
    found = access.project(call, project, Right.KEEP)
    made = gold_views.make_or_start(found, by=call.user, name=clean_title(call.sent["name"]))
    return made if isinstance(made, Job) else show_blueprint(made)


@reviews.file(f"{OF_PROJECT}/agreement")
def get_agreement(call: Call, project: int) -> HttpResponseBase:
    """How far people agree, as it was counted last, as JSON."""
    return agreement_pages.as_json(call, project)


@reviews.file(f"{OF_PROJECT}/agreement/<str:table>", query="measure with")
def get_agreement_table(call: Call, project: int, table: str) -> HttpResponseBase:
    """The same as CSV: “pairs”, “labels”, “confusion” or “weeks”."""
    return agreement_pages.as_csv(call, project, table)


@reviews.post(f"{OF_PROJECT}/agreement", answer="Job", pages="quality:count_agreement")
def count_agreement(call: Call, project: int) -> Job:
    """Compare everybody’s marks anew."""
    return agreement_pages.start_counting(access.project(call, project, Right.READ), by=call.user)


@reviews.list(f"{OF_PROJECT}/my-lessons", "ReviewLesson")
def list_lessons(call: Call, project: int) -> Rows:
    """What was decided differently from one’s own marks."""
    found = access.project(call, project, Right.LOOK)

    def show(decisions: Sequence[GoldDecision]) -> Iterator[dict[str, Any]]:
        for each in decided_against(found, call.user, decisions):
            yield _shown_lesson(found, each)

    return Rows(decisions_against(found, call.user), show)


def _shown_lesson(project: Project, decided: Decided) -> dict[str, Any]:
    places = [{"own": [*map(_said, each.own)], "gold": [*map(_said, each.gold)]} for each in decided.lessons]
    return {**_shown_decision(project, decided.decision), "item_id": decided.item.pk, "places": places}


def _said(said: Said) -> dict[str, str]:
    return {"words": said.words, "label": said.label.uid}
