from collections.abc import Callable
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse
from django.shortcuts import resolve_url
from django.template.loader import render_to_string

GetResponse = Callable[[HttpRequest], HttpResponse]


def body_limit(get_response: GetResponse) -> GetResponse:
    """Refuse a request that is larger than any file may be before somebody reads it."""

    def middleware(request: HttpRequest) -> HttpResponse:
        length = request.META.get("CONTENT_LENGTH") or "0"
        if length.isdecimal() and int(length) > settings.MAX_FILE_BYTES + settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            return HttpResponse(render_to_string("413.html", {"limit": settings.MAX_FILE_BYTES}, request), status=413)
        return get_response(request)

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
