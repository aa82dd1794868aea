"""What views get, and what they answer with: refusals, files, and pages that only a setting enables.

A file is complete before its first byte leaves: no transaction waits for a slow client, and what fails is an error page, not half
a file. A view has got what it sends through an access module.
"""

import logging
import tempfile
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import IO, Any, NamedTuple

from django.conf import settings
from django.contrib.staticfiles.storage import HashedFilesMixin
from django.http import FileResponse, HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.utils.html import escape
from django.utils.http import content_disposition_header
from django_htmx.http import push_url, reswap, retarget, trigger_client_event
from django_htmx.middleware import HtmxDetails
from whitenoise.storage import CompressedManifestStaticFilesStorage

from .inputs import Refused
from .models import User

log = logging.getLogger(__name__)


class Request(HttpRequest):
    """What a view gets: `LoginRequiredMiddleware` lets nobody in who is not signed in."""

    user: User
    htmx: HtmxDetails


def refused(reason: Refused | str) -> HttpResponse:
    """Show the reason as a toast, for requests without a form."""
    return trigger_client_event(HttpResponse(status=422), "toast", {"text": str(reason), "kind": "error"})


def refused_beside(reason: Refused | str) -> HttpResponse:
    """Show the reason in the form that was sent, at its place for failures."""
    return reswap(retarget(HttpResponse(escape(str(reason)), status=422), "find [data-failure]"), "innerHTML")


def show_table(
    request: Request,
    query: str,
    part: str,
    page: str,
    context: dict[str, Any],
    *,
    choices: Callable[[], dict[str, Any]] = dict,
    target: str = "items",
    is_pushed: bool = True,
) -> HttpResponse:
    """A page with a table, or the table alone for its filter and its links, which then stands in the address of the browser.

    The links are made from ``query``, the query string without empty values; ``choices`` is what only the whole page shows.
    """
    request.GET = QueryDict(query)
    context["path"] = f"{request.path}?{query}" if query else request.path
    if request.htmx and request.htmx.target == target:
        response = render(request, part, context)
        if is_pushed:
            push_url(response, context["path"])
    else:
        response = render(request, page, context | choices())
    patch_vary_headers(response, ["HX-Request", "HX-Target"])
    return response


def download(
    request: Request, content: str | Path | Callable[[IO[bytes]], object], name: str, content_type: str | None = None
) -> HttpResponseBase:
    """Send a text, a stored file, or what a function writes; without a content type the name tells it."""
    response: HttpResponseBase
    if isinstance(content, str):
        response = HttpResponse(content, content_type=content_type)
    else:
        file = content.open("rb") if isinstance(content, Path) else _written(content)
        response = FileResponse(file, filename=name, content_type=content_type)
    response["Content-Disposition"] = content_disposition_header(True, name)
    log.info("%s took %s as %r", request.user, request.get_full_path(), name)
    return response


def _written(write: Callable[[IO[bytes]], object]) -> IO[bytes]:
    """A temporary file, so that memory stays flat at any size."""
    file = tempfile.TemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR)  # noqa: SIM115 - the response closes it
    try:
        write(file)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


class StaticFiles(CompressedManifestStaticFilesStorage):
    """Compressed files with a hash in their name, those that our JavaScript modules import included.

    Django can do that for all JavaScript files (``support_js_module_import_aggregation``); in those of other packages it
    stumbles over examples in comments.
    """

    patterns = (
        *HashedFilesMixin.patterns,
        ("js/*", HashedFilesMixin._js_module_import_aggregation_patterns[1]),  # type: ignore[attr-defined]
    )
    # Each pass follows the imports one step further, and stops early where nothing changes any more.
    max_post_process_passes = 50


# --- What this release has, but does only when a setting enables it ------------------------------------------------------------


class Feature(NamedTuple):
    """Without a setting it is always on."""

    setting: str = ""
    name: str = ""
    """In the plural, as it begins a sentence."""

    @property
    def is_on(self) -> bool:
        return not self.setting or bool(getattr(settings, self.setting))

    @property
    def refusal(self) -> str:
        return f"{self.name} are disabled in this release. The setting {self.setting} enables them."

    def check(self) -> None:
        """Raises `Refused` while it is off."""
        if not self.is_on:
            raise Refused(self.refusal)

    def required(self, view: Callable[..., Any]) -> Callable[..., Any]:
        """A view that, while it is off, answers with a page that says so and names the setting."""

        @wraps(view)
        def answer(request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
            if self.is_on:
                return view(request, *args, **kwargs)
            return render(request, "disabled.html", {"feature": self}, status=403)

        return answer


PREANNOTATIONS = Feature("PREANNOTATION_RESOURCES", "Preannotations")
