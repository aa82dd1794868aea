import json
import re
from collections.abc import Callable
from copy import copy
from functools import partial
from urllib.parse import urlencode, urljoin, urlsplit

from django.conf import settings
from django.contrib import messages
from django.db import close_old_connections
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse, QueryDict
from django.shortcuts import resolve_url
from django.template.loader import render_to_string
from django.utils.html import escape

from . import words
from .db import Trouble
from .limits import MAX_FORM_BYTES

GetResponse = Callable[[HttpRequest], HttpResponse]


def middleware(answer: Callable[[GetResponse, HttpRequest], HttpResponse]) -> Callable[[GetResponse], GetResponse]:
    """What Django calls with the rest of the stack, made of a function that answers a request by it."""
    return lambda get_response: partial(answer, get_response)


FOR_PROGRAMS = "/api/"
"""The beginning of the addresses that read no forms."""


def is_for_programs(request: HttpRequest) -> bool:
    return request.path.startswith(FOR_PROGRAMS)


@middleware
def body_limit(get_response: GetResponse, request: HttpRequest) -> HttpResponse:
    """Refuse a body that is too large before somebody reads it: the CSRF check does.

    Decoding takes many times the size of a form that is not sent as multipart/form-data, as all forms with texts are. What
    programs send is no form.
    """
    length = request.META.get("CONTENT_LENGTH") or "0"
    size = int(length) if length.isdecimal() else 0
    if size > settings.MAX_FILE_BYTES + settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        most = words.size(settings.MAX_FILE_BYTES)
        why = f"A file can have {most} at most. Split the file, or ask your administrator to raise the limit."
        return too_large(request, why)
    if size > MAX_FORM_BYTES and request.content_type != "multipart/form-data" and not is_for_programs(request):
        why = f"Without multipart/form-data a form can have {words.size(MAX_FORM_BYTES)} at most. Send a file instead."
        return too_large(request, why)
    return get_response(request)


def too_large(request: HttpRequest, reason: str) -> HttpResponse:
    return HttpResponse(render_to_string("413.html", {"reason": reason}, request), status=413)


@middleware
def retry_once(get_response: GetResponse, request: HttpRequest) -> HttpResponse:
    """Show a page anew whose connection to the database was lost. Of what was sent nobody knows whether it was stored."""
    response = get_response(request)
    if getattr(response, "trouble", None) is Trouble.LOST and request.method == "GET":
        close_old_connections()
        response = get_response(request)
    return response


@middleware
def private_pages(get_response: GetResponse, request: HttpRequest) -> HttpResponse:
    """Keep pages of signed-in people out of every cache, the browser's own included."""
    response = get_response(request)
    if not response.has_header("Cache-Control"):
        response["Cache-Control"] = "no-store"
    return response


@middleware
def sign_in_again(get_response: GetResponse, request: HttpRequest) -> HttpResponse:
    """Lead a fragment or JSON request of an expired session to the sign-in page, instead of into the page's middle."""
    response = get_response(request)
    if response.status_code != 302 or not _leads_to_sign_in(response):
        return response
    login = resolve_url(settings.LOGIN_URL)
    if request.htmx:  # type: ignore[attr-defined]
        here = urlsplit(request.htmx.current_url_abs_path or "/").path  # type: ignore[attr-defined]
        return HttpResponse(status=204, headers={"HX-Redirect": f"{login}?{urlencode({'next': here})}"})
    if request.headers.get("Accept") == "application/json":
        return JsonResponse({"error": "You are signed out. Sign in again in another tab.", "login": login}, status=401)
    return response


def _leads_to_sign_in(response: HttpResponse) -> bool:
    return urlsplit(response["Location"]).path == resolve_url(settings.LOGIN_URL)


DRAFT = re.compile(r"([\w.%-]{1,300}) (\w{1,64})", re.ASCII)


@middleware
def stored_drafts(get_response: GetResponse, request: HttpRequest) -> HttpResponse:
    """Name the draft that a form has sent, once it is stored, in a cookie: the scripts of the page that follows drop it.

    What is refused is answered by the form itself, without a redirect.
    """
    response = get_response(request)
    if request.method != "POST" or response.status_code != 302 or _leads_to_sign_in(response):
        return response
    if draft := DRAFT.fullmatch(request.POST.get("draft", "")):
        secure = settings.SESSION_COOKIE_SECURE
        response.set_cookie(f"stored.{draft[1]}", draft[2], max_age=3600, secure=secure, samesite="Lax")
    return response


@middleware
def clean_query(get_response: GetResponse, request: HttpRequest) -> HttpResponse:
    """Refuse NUL in addresses: PostgreSQL cannot take it, and no honest link has it."""
    if "\0" in request.path or any("\0" in value for values in request.GET.lists() for value in values[1]):
        return HttpResponseBadRequest(render_to_string("400.html", request=request))
    return get_response(request)


EMPTY_DIALOG = b'<dialog id="dialog" class="dialog"></dialog>'
"""As `base.html` has it, for every page."""


@middleware
def whole_pages(get_response: GetResponse, request: HttpRequest) -> HttpResponse:
    """Show a part of a page in its page, unless htmx asked for the part: if it is a dialog, the page comes with it.

    The address of a part begins with the address of its page. What a part says in a toast, such as why it is refused, becomes a
    message of the page.
    """
    part = get_response(request)
    if request.method != "GET" or request.htmx or not _is_part(part):  # type: ignore[attr-defined]
        return part
    if toast := json.loads(part.get("HX-Trigger", "{}")).get("toast"):
        messages.error(request, toast["text"])
    above, page = request.path, part
    while above != "/" and (page.status_code != 200 or _is_part(page)):
        above = urljoin(above.rstrip("/"), ".")
        page = get_response(_to(request, above))
    dialog = part.content.decode() if b'class="dialog-head"' in part.content else ""
    with_part = f'<dialog id="dialog" class="dialog" data-page="{escape(above)}">{dialog}</dialog>'
    page.content = page.content.replace(EMPTY_DIALOG, with_part.encode(), 1)
    page.status_code = part.status_code
    return page


def _is_part(response: HttpResponse) -> bool:
    if response.status_code not in (200, 422) or response.streaming or "html" not in response["Content-Type"]:
        return False
    return not response.content[:100].lstrip().lower().startswith(b"<!doctype")


def _to(request: HttpRequest, path: str) -> HttpRequest:
    """The same request to another address, with the same `META`: there a view notes that its answer needs a token's cookie."""
    other = copy(request)
    other.path = other.path_info = path
    other.GET = QueryDict()
    other.META["QUERY_STRING"] = ""
    return other
