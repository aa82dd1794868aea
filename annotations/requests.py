"""How the workspace's JSON requests are read and answered."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, JsonResponse

from annotation_service.http import Request
from annotation_service.inputs import Refused, check_size, decode, parse_json

MAX_BODY = 10_000
MAX_BODY_DEPTH = 4
OPTIONAL = {"proof"}  # empty, if it is left out
_NAMES = {str: "a text", int: "a whole number", bool: "true or false"}


def answers_json(view: Callable[..., dict[str, Any]]) -> Callable[..., JsonResponse]:
    """Turn what a view returns into JSON, and every refusal into its reason."""

    @wraps(view)
    def answer(request: Request, **kwargs: Any) -> JsonResponse:
        try:
            _check_person(request)
            return JsonResponse(view(request, **kwargs))
        except Refused as error:
            return JsonResponse({"error": str(error)}, status=422)
        except PermissionDenied as error:
            return JsonResponse({"error": str(error)}, status=403)
        except Http404:
            return JsonResponse({"error": "This item was removed, or it is no longer given to you."}, status=404)

    return answer


def read_body(request: Request, **fields: type) -> dict[str, Any]:
    """The body's values: exactly the given fields, of the given types. Raises `Refused`."""
    check_size(int(request.META.get("CONTENT_LENGTH") or 0), MAX_BODY)
    check_size(len(request.body), MAX_BODY)
    values = parse_json(decode(request.body), MAX_BODY_DEPTH)
    if not isinstance(values, dict):
        raise Refused("An object was expected.", place="$")
    for name in values:
        if name not in fields:
            raise Refused(f"There is no field “{name[:100]}”.", place="$")
    for name, kind in fields.items():
        if name in OPTIONAL:
            values.setdefault(name, "")
        if name not in values:
            raise Refused(f"The field “{name}” is missing.", place="$")
        # type(), because True is an int too.
        if type(values[name]) is not kind:
            raise Refused(f"This must be {_NAMES[kind]}.", place=f"$.{name}")
    return values


def _check_person(request: Request) -> None:
    """A page that outlived a change of accounts in its browser must not write into the other person's work."""
    if request.headers.get("X-Annotator", str(request.user.pk)) != str(request.user.pk):
        raise PermissionDenied("Somebody else signed in in this browser. Reload the page.")
