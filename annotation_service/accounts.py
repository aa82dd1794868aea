from typing import Any

from allauth.account import auth_backends
from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.http import HttpRequest

from .db import first
from .models import User

_USER = "SELECT * FROM annotation_service_user WHERE id = %(pk)s"


class AuthenticationBackend(auth_backends.AuthenticationBackend):
    def get_user(self, user_id: int) -> User | None:
        user = first(User, _USER, {"pk": user_id})
        return user if user and self.user_can_authenticate(user) else None


class AccountAdapter(DefaultAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return settings.OPEN_REGISTRATION

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """Count failed attempts per login *and* address, so that nobody can lock somebody else out."""
        return f"{super()._get_login_attempts_cache_key(request, **credentials)}:{self.get_client_ip(request)}"
