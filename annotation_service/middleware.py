from collections.abc import Callable
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.db import close_old_connections, connection
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse
from django.shortcuts import resolve_url
from django.template.loader import render_to_string

from . import words
from .db import Statements, Trouble
from .limits import MAX_FORM_BYTES

GetResponse = Callable[[HttpRequest], HttpResponse]


def body_limit(get_response: GetResponse) -> GetResponse:
    """Refuse a body that is too large before somebody reads it: the CSRF check does.

    Decoding takes many times the size of a form that is not sent as multipart/form-data, as all forms with texts are.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        length = request.META.get("CONTENT_LENGTH") or "0"
        size = int(length) if length.isdecimal() else 0
        if size > settings.MAX_FILE_BYTES + settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            most = words.size(settings.MAX_FILE_BYTES)
            why = f"A file can have {most} at most. Split the file, or ask your administrator to raise the limit."
            return too_large(request, why)
        if size > MAX_FORM_BYTES and request.content_type != "multipart/form-data":
            why = f"Without multipart/form-data a form can have {words.size(MAX_FORM_BYTES)} at most. Send a file instead."
            return too_large(request, why)
        if "chunked" in request.headers.get("Transfer-Encoding", "").lower() and not request.META.get("CONTENT_LENGTH"):
            return HttpResponse("Send the length of the body in Content-Length.", "text/plain", status=411)
        return get_response(request)

    return middleware


def too_large(request: HttpRequest, reason: str) -> HttpResponse:
    return HttpResponse(render_to_string("413.html", {"reason": reason}, request), status=413)


def retry_once(get_response: GetResponse) -> GetResponse:
    """Answer a request anew whose connection to the database was lost before it had begun to write."""

    def middleware(request: HttpRequest) -> HttpResponse:
        statements = Statements()
        with connection.execute_wrapper(statements):
            response = get_response(request)
        if getattr(response, "trouble", None) is Trouble.LOST and statements.only_read:
            close_old_connections()
            response = get_response(request)
        return response

    return middleware


def private_pages(get_response: GetResponse) -> GetResponse:
    """Keep pages of signed-in people out of every cache, the browser's own included."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if not response.has_header("Cache-Control"):
            response["Cache-Control"] = "no-store"
        return response

    return middleware


def sign_in_again(get_response: GetResponse) -> GetResponse:
    """Lead a fragment or JSON request of an expired session to the sign-in page, instead of into the page's middle."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        login = resolve_url(settings.LOGIN_URL)
        if response.status_code != 302 or urlsplit(response["Location"]).path != login:
            return response
        if request.htmx:  # type: ignore[attr-defined]
            here = urlsplit(request.htmx.current_url_abs_path or "/").path  # type: ignore[attr-defined]
            return HttpResponse(status=204, headers={"HX-Redirect": f"{login}?{urlencode({'next': here})}"})
        if request.headers.get("Accept") == "application/json":
            return JsonResponse(
                {"error": "You are signed out. Sign in again in another tab.", "login": login}, status=401
            )
        return response

    return middleware


def clean_query(get_response: GetResponse) -> GetResponse:
    """Refuse NUL in addresses: PostgreSQL cannot take it, and no honest link has it."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if "\0" in request.path or any("\0" in value for values in request.GET.lists() for value in values[1]):
            return HttpResponseBadRequest(render_to_string("400.html", request=request))
        return get_response(request)

    return middleware
