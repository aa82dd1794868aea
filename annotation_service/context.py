from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from . import access


def shell(request: HttpRequest) -> dict[str, object]:
    """What every page needs: whether the sections for project managers are shown."""
    user = getattr(request, "user", None)
    return {"is_manager": SimpleLazyObject(lambda: bool(user and access.can_create(user)))}
