"""What this release has, but does only when a setting enables it."""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render

from .http import Request
from .inputs import Refused


class Feature(NamedTuple):
    setting: str
    name: str
    """In the plural, as it begins a sentence."""

    @property
    def is_on(self) -> bool:
        return bool(getattr(settings, self.setting))

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
