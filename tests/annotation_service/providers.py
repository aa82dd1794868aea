"""A service that has an identity provider, as the settings make it, and a stand-in for the provider.

The real thing is asked by `tests.e2e.test_provider`.
"""

import importlib
import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import allauth.account.urls
import jwt
from allauth.socialaccount.providers import registry
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from django.urls import clear_url_caches

from tests.annotation_service import provider_urls


@contextmanager
def signing_in_by(settings, issuer, *, secret="secret", local_accounts=True, **more):
    """The settings of a service that people sign in to by a provider."""
    settings.OIDC_ISSUER, settings.OIDC_NAME = issuer, "Example University"
    settings.LOCAL_ACCOUNTS, settings.SOCIALACCOUNT_ONLY = local_accounts, not local_accounts
    settings.ACCOUNT_EMAIL_VERIFICATION = "optional" if local_accounts else "none"
    app = {"provider_id": "oidc", "name": "x", "client_id": "annotation", "secret": secret}
    [own] = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"]
    apps = [{**own, **app, "settings": {"server_url": issuer}}]
    settings.SOCIALACCOUNT_PROVIDERS = {
        "openid_connect": {**settings.SOCIALACCOUNT_PROVIDERS["openid_connect"], "APPS": apps}
    }
    for name, value in more.items():
        setattr(settings, name, value)
    registry.register(OpenIDConnectProvider)
    read_urls()
    settings.ROOT_URLCONF = provider_urls.__name__
    yield
    settings.SOCIALACCOUNT_ONLY = False
    read_urls()


def read_urls():
    importlib.reload(allauth.account.urls)
    importlib.reload(provider_urls)
    clear_url_caches()


class StandIn:
    """Answers as a provider does, each time with what it is told to say of whoever comes. An answer that is no dictionary is sent
    as it is, as what somebody else's server says."""

    def __init__(self):
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                answer = stand_in.answer(self.path)
                body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.server.server_port}"
        self.claims, self.token, self.instead = {}, {}, {}
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path):
        said = {"iss": self.issuer, "aud": "annotation", "exp": time.time() + 60, "sub": self.claims.get("sub")}
        answers = {
            "/.well-known/openid-configuration": {
                "issuer": self.issuer,
                "jwks_uri": f"{self.issuer}/jwks",
                **{f"{name}_endpoint": f"{self.issuer}/{name}" for name in ("authorization", "token", "userinfo")},
            },
            "/token": {"access_token": "x", "id_token": jwt.encode({**said, **self.token}, "k" * 32)},
            "/userinfo": self.claims,
        }
        return self.instead.get(path, answers[path])

    def sign_in(self, client, *, say=None, to=None, **claims):
        """The whole way of a browser; ``say`` is what the provider answers other than a code. Returns the last page."""
        self.claims = {"sub": claims.get("preferred_username", "1"), **claims}
        page = client.post("/accounts/oidc/sign-in/", {"next": to} if to else {})
        if "url" not in (page.context or {}):
            return page
        asked = parse_qs(urlsplit(page.context["url"]).query)
        answer = {"state": asked["state"][0], **(say or {"code": "c"})}
        return client.get("/accounts/oidc/callback/", answer, follow=True)
