"""Switching items on and off: a dialog says how many go or come, and what stays off."""

from django.http import HttpResponse
from django.urls import reverse

from annotation_service.db import among
from annotation_service.http import Request, refused
from annotation_service.words import plural

from .. import usage
from ..models import Ontology
from ..switches import BelowOff, Switch, SwitchReach
from . import answers
from .answers import acts, chosen_uids, edits, get_item, respond

ACTIVE = {"0": False, "1": True}
"""Whether items shall be on, as it is sent."""


@edits
def switch(request: Request, ontology: Ontology, uid: str) -> HttpResponse:
    item = get_item(ontology, uid)
    url = reverse("ontologies:switch", args=[ontology.pk, uid])
    if request.method == "GET":
        return _ask(request, ontology, url, [uid], not item.active)
    return _switch(request, ontology, url, [uid], item.name)


@acts
def ask_switch(request: Request, ontology: Ontology) -> HttpResponse:
    active = ACTIVE.get(request.POST.get("active", ""), False)
    return _ask(request, ontology, _url_of_several(ontology), chosen_uids(request), active)


@acts
def switch_items(request: Request, ontology: Ontology) -> HttpResponse:
    return _switch(request, ontology, _url_of_several(ontology), chosen_uids(request))


def _url_of_several(ontology: Ontology) -> str:
    return reverse("ontologies:switch_items", args=[ontology.pk])


def _ask(
    request: Request, ontology: Ontology, url: str, uids: list[str], active: bool, below_off: BelowOff | None = None
) -> HttpResponse:
    rows = ontology.events(uids)
    together, branch, alone = (Switch(rows, uids, active, reach, up=True) for reach in SwitchReach)
    # Each brings what the next one brings, and more.
    distinct = {each.count: each for each in (branch, together, alone)}
    choices = [each for each in (together, branch, alone) if each in distinct.values()]
    context = {
        "ontology": ontology,
        "url": url,
        "uids": uids,
        "name": next(name for _, uid, *_, name in rows if uid == uids[0]),
        "active": active,
        "switch": together,
        "choices": [(each, each.count - alone.count) for each in choices],
        "chosen": distinct[together.count].reach,
        "marks": usage.count(among(together.keys), marks_of=ontology.kind),
        "below_off": below_off,
    }
    return respond(request, ("_switch", context), status=422 if below_off else 200)


def _switch(request: Request, ontology: Ontology, url: str, uids: list[str], name: str = "") -> HttpResponse:
    """Switch the items; the dialog closes because the answer has nothing for it. Below an item that is off it asks again."""
    active, reach = ACTIVE.get(request.POST.get("active", "")), request.POST.get("reach", SwitchReach.TOGETHER)
    if not uids or active is None or reach not in SwitchReach.values:
        return refused("Choose items, and whether they shall be on or off.")
    try:
        count = ontology.switch_items(uids, active, reach=reach, up=bool(request.POST.get("up")), by=request.user)
    except BelowOff as error:
        return _ask(request, ontology, url, uids, active, error)
    done = f"switched {'on' if active else 'off'}"
    if not name:
        return answers.tree_changed(HttpResponse(), ontology, f"{plural(count, 'item was,items were')} {done}.")
    if count > 1:
        others = plural(count - 1, "other,others")
        return answers.tree_changed(HttpResponse(), ontology, f"“{name}” was {done}, with {others}.")
    item = get_item(ontology, uids[0])
    around = [answers.facts(ontology), answers.undo_buttons(request, ontology)]
    answer = respond(request, None, answers.row(item), answers.details(item), *around)
    return answers.toast(answer, ontology, f"“{name}” was {done}.")
