"""The text of an item is corrected, after a preview of what that does to its marks, and one correction is undone."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from annotation_service import access, words
from annotation_service.edits import Conflict, fingerprint
from annotation_service.http import Request, refused
from annotation_service.inputs import Refused, whole_number

from ..models import Dataset, TextCorrection
from ..models.correction import Moves, cut_anew, tokeniser_of
from ..text_history import moves_in_words, tokens_between
from ..tokenising import TOKENISERS
from .pages import item_of, items_changed


@require_http_methods(["GET", "POST"])
def correct_text(request: Request, pk: int, item_pk: int) -> HttpResponse:
    """Show what a text would change, and store it when somebody agrees to what they have ``seen``."""
    item = item_of(access.editable(request, Dataset, pk), item_pk)
    text = request.POST.get("text", item.original)
    context: dict[str, Any] = {"item": item, "text": text, "version": item.text_version}
    if not item.dataset.preprocessing:
        context |= {"tokenisers": TOKENISERS, "tokeniser": request.POST.get("tokeniser") or tokeniser_of(item)}
    status = 200
    if request.method == "POST":
        version = whole_number(request.POST.get("version", "")) or item.text_version
        try:
            if version != item.text_version:
                raise Conflict({"text": item.original})
            new = cut_anew(item, text, context.get("tokeniser", ""))
            moves = Moves(item, new)
            seen = fingerprint([new.original, new.tokens, moves.lines])
            if "agree" in request.POST and request.POST.get("seen") == seen:
                done = TextCorrection.make(item, new, by=request.user, was_version=version)
                url = reverse("datasets:undo_correction", args=[pk, item_pk, done.pk])
                said = f"The text of item {words.number(item.number)} is corrected."
                return items_changed(said, {"label": "Undo", "url": url})
            context |= moves_in_words(item, moves.lines, moves.moved)
            is_new = (new.original, new.tokens) != (item.original, item.tokens)
            context |= {"seen": is_new and seen, "tokens": tokens_between(item.tokens, new.tokens)}
            status = 409 if "agree" in request.POST and is_new else 200
        except Conflict as conflict:
            status, context["theirs"] = 409, conflict.fields["text"]
        except Refused as error:
            status, context["problems"] = 422, error.problems
    return render(request, "datasets/_correct_text.html", context | {"status": status}, status=status)


@require_POST
def undo_correction(request: Request, pk: int, item_pk: int, correction_pk: int) -> HttpResponse:
    item = item_of(access.editable(request, Dataset, pk), item_pk)
    correction = get_object_or_404(TextCorrection, pk=correction_pk, item=item)
    correction.item = item
    try:
        undo = correction.undo(by=request.user)
    except Refused as error:
        return refused(error)
    back = f" {words.plural(undo.marks['back'], 'mark is,marks are')} back." if undo.marks["back"] else ""
    return items_changed(f"Item {words.number(item.number)} has its text of before.{back}")
