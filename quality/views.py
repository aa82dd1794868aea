"""Reviews: the list of items, an item side by side, deciding, the gold edited by hand, the rule and sharing out."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect, trigger_client_event

from annotation_service import words
from annotation_service.blueprints import Right
from annotation_service.http import Request, refused, show_table
from annotation_service.inputs import Refused, whole_number
from annotation_service.models import Job, User, start_job, with_defaults
from annotations.views import page_of
from datasets.models import Annotation, Item, Layer
from projects import access
from projects.forms import refusals_in, toasts_refusals
from projects.models import Project
from work.models.item_work import refresh_item

from .counting import is_quick, refresh_counts
from .gold_files import FORMATS
from .review import Review, refresh_disputes
from .review_list import KINDS, STATES, ReviewItems, progress_of, reviewers, share_out, shares
from .review_page import ReviewPage

# After so long the page is shown with the figures that are there; the worker goes on.
COUNT_SECONDS = 1


@require_GET
def reviews(request: Request, pk: int) -> HttpResponse:
    """The items that can be reviewed, with the way to the next dispute, and how far that is."""
    project = access.reviewed(request, pk)
    is_counted = refresh_disputes(project, COUNT_SECONDS)
    shown, rights = ReviewItems.of(project, request.user, request.GET), project.rights_of(request.user)
    # Otherwise a filter by differences finds those of the last time that agreement was computed.
    if shown.asks_differences and is_quick(project):
        refresh_counts(project)
    page = shown.page(request.GET.get("page"), Item.objects.select_related("work", "review__person"))
    golds = Annotation.objects.filter(item__in=list(page.object_list), layer=Layer.GOLD)
    gold_of = {gold.item_id: gold for gold in golds}
    context: dict[str, Any] = {
        "section": "projects",
        "project": project,
        "filter": shown,
        "columns": shown.columns,
        "page": page,
        "rows": [(item, item.excerpt(shown.q), gold_of.get(item.pk)) for item in page.object_list],
        "everything": request.path,
        "is_counted": is_counted,
        "progress": progress_of(project, request.user),
        "shares": shares(project),
        "reviews": Right.REVIEW in rights,
        "manages": Right.MANAGE in rights,
        "keeps": Right.KEEP in rights,
        "formats": FORMATS,
        "reads": Right.READ in rights,
    }
    query = shown.query_string(page=page.number)
    return show_table(
        request, query, "quality/_reviews.html", "quality/reviews.html", context, choices=partial(_choices, shown)
    )


def _choices(shown: ReviewItems) -> dict[str, Any]:
    """What the form of the filter offers."""
    states = [(name, in_words) for name, (in_words, _) in STATES.items()]
    people = User.objects.filter(pk__in=shown.project.annotators()).order_by("username_folded")
    return {"states": states, "kinds": list(KINDS.items()), "people": people}


@require_GET
def next_item(request: Request, pk: int) -> HttpResponse:
    """To the next item that the user can decide about, of those that match: after a position, if one is named."""
    project = access.project(request, pk, Right.REVIEW)
    refresh_disputes(project, COUNT_SECONDS)
    shown = ReviewItems.of(project, request.user, request.GET)
    after = whole_number(request.GET.get("after", ""), digits=9)
    if key := shown.left().next_after(-1 if after is None else after):
        return redirect(_address(project, key, shown))
    messages.success(request, "Nothing is left here to decide.")
    return redirect(f"{reverse('quality:reviews', args=[pk])}?{shown.query_string()}")


def _address(project: Project, item: int, shown: ReviewItems) -> str:
    query = shown.query_string()
    return reverse("quality:review", args=[project.pk, item]) + (query and f"?{query}")


@contextmanager
def reviewing(request: Request, pk: int, item_pk: int) -> Iterator[Review]:
    """What is said about an item that the user reviews, for deciding about it."""
    with access.reviewing(request, pk, item_pk) as (project, item):
        [found] = Review.of(project, [item])
        yield found


def review_of(request: Request, pk: int, item_pk: int) -> Review:
    """The same as it is now, for reading."""
    project, item = access.item_in_review(request, pk, item_pk)
    refresh_item(item)
    [found] = Review.of(project, [item])
    return found


@require_GET
def review(request: Request, pk: int, item_pk: int) -> HttpResponse:
    """An item with all who are done with it, or the part of the page that changes, for another place in it."""
    found = review_of(request, pk, item_pk)
    at, start = (whole_number(request.GET.get(name, ""), digits=9) for name in ("at", "start"))
    page = ReviewPage(found, request.user, at=at, start=start)
    return _show(request, page)


def _show(request: Request, page: ReviewPage, *, reason: str = "", status: int = 200) -> HttpResponse:
    found, project = page.review, page.review.project
    shown = ReviewItems.of(project, request.user, request.GET)
    rights = project.rights_of(request.user)
    reads_only = project.reason_not_to_change() or "You read this project, and do not decide in it."
    why_not = "" if Right.REVIEW in rights else reads_only
    context = {
        "project": project,
        "item": found.item,
        "page": page,
        "review": found,
        "filter": shown,
        "query": shown.query_string(),
        "reason": reason,
        "why_not": why_not or access.reason_not_to_review(request.user, project, found.item),
    }
    template = "quality/_review.html" if request.htmx else "quality/review.html"
    if not request.htmx:
        before, after = shown.neighbours(found.item)
        steps = [_address(project, key, shown) if key else "" for key in (before, after)]
        context |= {"previous": steps[0], "next": steps[1], "progress": progress_of(project, request.user)}
    return render(request, template, context, status=status)


def _changed(request: Request, pk: int, item_pk: int, change: Callable[[Review], object]) -> HttpResponse:
    """The item after a change; where that is refused, as it is now, with the reason and with what was typed."""
    error = None
    try:
        with reviewing(request, pk, item_pk) as found:
            change(found)
    except Refused as refusal:
        error = refusal
        project, item = access.item_in_review(request, pk, item_pk)
        [found] = Review.of(project, [item])
    at = whole_number(request.POST.get("number", ""), digits=9)
    page = ReviewPage(found, request.user, after=None if error else at, at=at if error else None)
    response = _show(
        request, page, reason=request.POST.get("reason", "") if error else "", status=422 if error else 200
    )
    return trigger_client_event(response, "toast", {"text": str(error), "kind": "error"}) if error else response


@require_POST
def decide(request: Request, pk: int, item_pk: int) -> HttpResponse:
    asked = {name: request.POST.get(name, "") for name in ("sign", "choice", "reason")}
    return _changed(request, pk, item_pk, lambda found: found.decide(**asked, by=request.user))


@require_POST
def turn(request: Request, pk: int, item_pk: int, verb: str) -> HttpResponse:
    """Undo or redo one’s own last decision."""
    seen = whole_number(request.POST.get("seen", ""))
    return _changed(request, pk, item_pk, lambda found: getattr(found, verb)(by=request.user, seen=seen))


@require_POST
def reopen(request: Request, pk: int, item_pk: int) -> HttpResponse:
    return _changed(request, pk, item_pk, lambda found: found.reopen())


@require_POST
def finish(request: Request, pk: int, item_pk: int) -> HttpResponse:
    """The item is decided: on to the next one."""
    try:
        with reviewing(request, pk, item_pk) as found:
            found.finish(by=request.user, sign=request.POST.get("sign", ""))
    except Refused as error:
        return refused(error)
    shown = ReviewItems.of(found.project, request.user, request.GET)
    query = "&".join(filter(None, (urlencode({"after": found.item.position}), shown.query_string())))
    return HttpResponseClientRedirect(f"{reverse('quality:next', args=[pk])}?{query}")


@require_POST
def begin_edit(request: Request, pk: int, item_pk: int) -> HttpResponse:
    """Take over what the rule says, and go on in the workspace."""
    try:
        with reviewing(request, pk, item_pk) as found:
            found.begin_editing().check_open()
            found.take_agreed(by=request.user)
    except Refused as error:
        return refused(error)
    query = ReviewItems.of(found.project, request.user, request.GET).query_string()
    return HttpResponseClientRedirect(reverse("quality:edit", args=[pk, item_pk]) + (query and f"?{query}"))


@require_GET
def edit(request: Request, pk: int, item_pk: int) -> HttpResponse:
    """The gold in the workspace."""
    project, item = access.item_to_review(request, pk, item_pk)
    found = Annotation.gold(item)
    if found is None or found.done_at:
        return redirect("quality:review", pk=pk, item_pk=item_pk)
    here, person = reverse("quality:review", args=[pk, item_pk]), request.user
    query = ReviewItems.of(project, person, request.GET).query_string()
    context = page_of(project, None, [item], lambda key: here, (None, None))
    member = project.membership_set.filter(user=person).first()
    gold = reverse("quality:marks", args=[pk, item_pk]).removesuffix("marks/")
    context["items"][0]["state"]["urls"]["item"] = gold
    context["state"] |= {
        "reading": False,
        "gold": here + (query and f"?{query}"),
        "annotator": person.pk,
        "shortcuts": member.shortcuts if member else {},
        "comfort": with_defaults(person.comfort),
    }
    context["state"]["urls"] |= {
        "words": reverse("annotations:words", args=[pk]),
        "shortcuts": reverse("annotations:shortcuts", args=[pk]),
        "comfort": reverse("annotations:comfort"),
    }
    place = {"number": item.number, "last": item.number, "count": project.dataset.item_count}
    return render(request, "annotations/workspace.html", {**context, "item": item, "place": place})


# --- The rule, and many items at once ------------------------------------------------------------------------------------


class RuleForm(forms.ModelForm):
    """How a project is reviewed."""

    class Meta:
        model = Project
        fields = ("agreed", "agreed_least", "given_voice", "is_blind", "reviews_own", "shows_decisions")
        labels = {
            "agreed": "Marks are taken over that are made by",
            "agreed_least": "At least",
            "given_voice": "What came with the dataset is one voice",
            "is_blind": "Names are hidden from those who review",
            "reviews_own": "People decide about their own items, too",
            "shows_decisions": "Annotators see what was decided differently",
        }
        help_texts = {
            "agreed": "All else becomes a dispute, and so does what breaks a constraint or has a label that is off.",
            "is_blind": "In reviews, people are letters, others for each item.",
        }
        widgets = {"agreed": forms.RadioSelect}

    agreed_least = forms.IntegerField(
        min_value=1, max_value=100, label="At least", help_text="people, for the last choice"
    )


@require_http_methods(["GET", "POST"])
def rule(request: Request, pk: int) -> HttpResponse:
    project = access.project(request, pk, Right.MANAGE)
    form = RuleForm(request.POST if request.method == "POST" else None, instance=project)
    if request.method == "POST" and form.is_valid():
        with refusals_in(form):
            project.set_review(**{name: form.cleaned_data[name] for name in form.changed_data})
            return HttpResponseClientRedirect(reverse("quality:reviews", args=[pk]))
    status = 422 if form.errors else 200
    return render(request, "quality/_rule.html", {"project": project, "form": form}, status=status)


@require_POST
@toasts_refusals
def take_over(request: Request, pk: int, what: str) -> HttpResponse:
    """Take over what people agree about, or what came with the dataset, in all items: by a job."""
    project = access.project(request, pk, Right.MANAGE if what == "given" else Right.REVIEW)
    return HttpResponseClientRedirect(reverse("job", args=[start_take_over(project, what, by=request.user).pk]))


def start_take_over(project: Project, what: str, *, by: User) -> Job:
    title = {"agreed": "Take over what people agree about", "given": "Make the given marks gold"}[what]
    return start_job("take_over", title=f"{title}: “{project}”", by=by, target={"project": project.pk, "what": what})


@require_http_methods(["GET", "POST"])
def share(request: Request, pk: int) -> HttpResponse:
    """Who reviews which items."""
    project = access.project(request, pk, Right.MANAGE)
    able = list(reviewers(project))
    people = [person for person in able if str(person.pk) in request.POST.getlist("people")]
    context: dict[str, Any] = {"project": project, "able": able, "people": people}
    if request.method == "POST":
        try:
            count = share_out(project, people, by=request.user)
        except Refused as error:
            return render(request, "quality/_share.html", {**context, "error": error}, status=422)
        messages.success(request, f"{words.plural(count, 'item is,items are')} shared out.")
        return HttpResponseClientRedirect(reverse("quality:reviews", args=[pk]))
    return render(request, "quality/_share.html", context)
