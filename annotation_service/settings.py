"""Settings, read from the environment.

Local mode: without ``SECRET_KEY`` in the environment the key that ``bin/run`` wrote to ``var/secret_key`` is used, and the
service answers plain HTTP on this machine. Everywhere else the key and the allowed hosts must be given, and HTTPS is on.
"""

import logging
import os
import sqlite3
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import dj_database_url
from csp.constants import NONE, SELF, UNSAFE_INLINE
from django.core.exceptions import ImproperlyConfigured

from . import limits
from .limits import *  # noqa: F403

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = Path(os.environ.get("VAR_DIR") or BASE_DIR / "var")


def env(name: str, default: str = "") -> str:
    return os.environ.get(name, default).strip()


def env_bool(name: str, default: bool) -> bool:
    value = env(name).lower()
    return default if value == "" else value in {"1", "true", "yes", "on"}


def env_list(name: str) -> list[str]:
    return [part.strip() for part in env(name).split(",") if part.strip()]


# --- Key, hosts, HTTPS -------------------------------------------------------------------------------------------------

SECRET_KEY = env("SECRET_KEY")
LOCAL = not SECRET_KEY and (VAR_DIR / "secret_key").is_file()
if LOCAL:
    SECRET_KEY = (VAR_DIR / "secret_key").read_text().strip()
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS")
if LOCAL:
    ALLOWED_HOSTS += ["127.0.0.1", "localhost", "[::1]"]
if len(SECRET_KEY) < 50:
    raise ImproperlyConfigured(
        "SECRET_KEY is missing or shorter than 50 characters. Set it in the environment; on your own machine, start the "
        "service with bin/run, which makes a key."
    )
if not ALLOWED_HOSTS or "*" in ALLOWED_HOSTS:
    raise ImproperlyConfigured("ALLOWED_HOSTS must name the hosts of the service, comma separated, without '*'.")

# For development: tracebacks on error pages, static files and templates as they are now. Never where others can see them.
DEBUG = env_bool("DEBUG", False)
if DEBUG and not LOCAL:
    raise ImproperlyConfigured("DEBUG is for local mode only, and SECRET_KEY is set: unset one of them.")

HTTPS = env_bool("HTTPS", not LOCAL)
CSRF_TRUSTED_ORIGINS = env_list("CSRF_TRUSTED_ORIGINS")
SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
BEHIND_PROXY = env_bool("BEHIND_PROXY", False)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_PROXY else None
ALLAUTH_TRUSTED_PROXY_COUNT = int(BEHIND_PROXY)
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_NAME = "__Host-sessionid" if HTTPS else "sessionid"
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        # Label colours are style attributes; they are checked to be #RRGGBB before they are stored.
        "style-src-attr": [UNSAFE_INLINE],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

# --- Application -------------------------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "annotation_service",
    "ontologies",
    "resources",
    "datasets",
    "work",
    "projects",
    "annotations",
    "quality",
    "graph",
    "api",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",  # always: who leaves is forgotten here, too, when no provider is set up any more
    "django_htmx",
    "mptt",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]

MIDDLEWARE = [
    "api.problems.program_answers",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "annotation_service.middleware.body_limit",
    "annotation_service.middleware.retry_once",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "annotation_service.middleware.private_pages",
    "annotation_service.middleware.sign_in_again",
    "annotation_service.middleware.stored_drafts",
    "annotation_service.middleware.clean_query",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "annotation_service.middleware.whole_pages",
]

ROOT_URLCONF = "annotation_service.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "annotation_service.access.shell",
                "projects.roles.in_prose",
            ],
            "builtins": ["django.templatetags.static", "annotation_service.templatetags.ui"],
            "libraries": {"colors": "ontologies.colors"},
        },
    }
]

# --- Web server --------------------------------------------------------------------------------------------------------

WEB_PROCESSES = limits.env_int("WEB_PROCESSES", 1, least=1)
WEB_THREADS = limits.env_int("WEB_THREADS", 8, least=1)
# Behind a proxy all requests come from its address.
MAX_UNFINISHED_PER_ADDRESS = limits.env_int("MAX_UNFINISHED_PER_ADDRESS", 0 if BEHIND_PROXY else 100)

# --- Data --------------------------------------------------------------------------------------------------------------

DATABASES = {
    "default": dj_database_url.parse(env("DATABASE_URL") or f"sqlite:///{VAR_DIR / 'db.sqlite3'}", conn_max_age=600)
}
DATABASE = DATABASES["default"]
if DATABASE["ENGINE"].endswith("sqlite3"):
    if sqlite3.sqlite_version_info < (3, 35):  # without RETURNING
        raise ImproperlyConfigured(
            f"SQLite 3.35 or later is needed, and this Python has {sqlite3.sqlite_version}. Use another Python, or set "
            "DATABASE_URL to a PostgreSQL database."
        )
    # IMMEDIATE: a transaction that reads and then writes would fail at once, without waiting, if another one wrote in
    # between. FULL: an acknowledged mark survives a power failure.
    DATABASE["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA mmap_size=268435456",
    }
    DATABASE["TEST"] = {"NAME": VAR_DIR / "test.sqlite3"}
else:
    DATABASE["CONN_HEALTH_CHECKS"] = True
    # To compile a query takes half a second; the longest one that a page asks takes a tenth of that. With so much memory a
    # million keys are hashed; where PostgreSQL expects more than it has memory for, it compares each row with each of them.
    DATABASE["OPTIONS"] = {
        **DATABASE.get("OPTIONS", {}),
        "options": "-c lock_timeout=20s -c idle_in_transaction_session_timeout=60s -c jit=off -c work_mem=32MB",
    }

CACHES = {
    "default": {
        "BACKEND": "annotation_service.db.Cache",
        "LOCATION": "cache",
        # Above this many, entries go before their time, and with them the counts of attempts.
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    }
}

UPLOAD_DIR = Path(env("UPLOAD_DIR") or VAR_DIR / "uploads")
FILE_UPLOAD_TEMP_DIR = env("FILE_UPLOAD_TEMP_DIR") or None
FILE_UPLOAD_MAX_MEMORY_SIZE = 1_000_000  # bytes; larger uploads are on disk, where packed formats are read as a whole

# Room for a pasted text that is too long: its form says so, and keeps it.
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * limits.MAX_PASTED_BYTES

# --- Functions that are switched off by default --------------------------------------------------------------------------

ONTOLOGY_MOVE_ITEMS = env_bool("ONTOLOGY_MOVE_ITEMS", False)
PREANNOTATION_RESOURCES = env_bool("PREANNOTATION_RESOURCES", False)
# Lets managers of projects have this server send to what is in its own network, and without encryption.
WEBHOOK_PRIVATE_ADDRESSES = env_bool("WEBHOOK_PRIVATE_ADDRESSES", False)

# --- Accounts ----------------------------------------------------------------------------------------------------------

AUTH_USER_MODEL = "annotation_service.User"
AUTHENTICATION_BACKENDS = ["annotation_service.accounts.AuthenticationBackend"]
SESSION_ENGINE = "annotation_service.accounts"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "home"
OPEN_REGISTRATION = env_bool("OPEN_REGISTRATION", False)
LOCAL_ACCOUNTS = env_bool("LOCAL_ACCOUNTS", True)
ACCOUNT_ADAPTER = "annotation_service.accounts.AccountAdapter"
ACCOUNT_FORMS = {
    "login": "annotation_service.accounts.LoginForm",
    "reset_password": "annotation_service.accounts.ResetPasswordForm",
    "set_password": "annotation_service.accounts.SetPasswordForm",
    "add_email": "annotation_service.accounts.AddEmailForm",
}
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "optional" if LOCAL_ACCOUNTS else "none"
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""  # the subjects name the product
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False  # nobody gets a message because somebody else typed their address
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
# See `annotation_service.attempts`: “5/5m/key” is five in five minutes for one key, such as a name at an address. Only failed
# sign-ins are limited, so that a class can begin at the same time.
ACCOUNT_RATE_LIMITS = {
    "login": None,
    "login_failed": "5/5m/key",
    "login_failed_at_address": "50/10m/ip",
    "login_failed_for_name": "100/h/key",
    "reset_password": None,
    "reset_mail": "5/h/key",
    "reset_mail_at_address": "50/h/ip",
    # These send mails to addresses that somebody types, too.
    "signup": "100/h/ip",
    "invite": "200/d/key",
    "invite_address": "5/d/key",
    "manage_email": "20/h/user",
    # Tokens of programs that are not known.
    "api_token_failed": "100/10m/ip",
    # Each asks the provider for its addresses, while a thread waits. A class comes from one address.
    "provider_sign_in": "500/10m/ip",
}

# --- Sign-in by an identity provider: see `annotation_service.identity` --------------------------------------------------------

OIDC_ISSUER = env("OIDC_ISSUER").rstrip("/")
OIDC_NAME = env("OIDC_NAME") or "your organisation"
OIDC_GROUPS_CLAIM = env("OIDC_GROUPS_CLAIM") or "groups"
OIDC_MANAGERS = env_list("OIDC_MANAGERS")
OIDC_STAFF = env_list("OIDC_STAFF")
SOCIALACCOUNT_ONLY = not LOCAL_ACCOUNTS
SOCIALACCOUNT_EMAIL_VERIFICATION = "none"
SOCIALACCOUNT_ADAPTER = "annotation_service.identity.ProviderAdapter"
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "OAUTH_PKCE_ENABLED": True,
        "SCOPE": (env("OIDC_SCOPES") or "openid profile email").split(),
        "APPS": [
            {
                "provider_id": "oidc",
                "name": OIDC_NAME,
                "client_id": env("OIDC_CLIENT_ID"),
                "secret": env("OIDC_CLIENT_SECRET"),
                "settings": {"server_url": OIDC_ISSUER},
            }
        ],
    }
}
if OIDC_ISSUER:
    if not (find_spec("jwt") and find_spec("requests")):
        raise ImproperlyConfigured(
            "OIDC_ISSUER needs libraries that are left out otherwise. Install them with"
            " .venv/bin/pip install 'django-allauth[socialaccount]~=65.21'"
        )
    if urlsplit(OIDC_ISSUER).scheme != "https" and urlsplit(OIDC_ISSUER).hostname not in {"127.0.0.1", "localhost"}:
        raise ImproperlyConfigured("OIDC_ISSUER must begin with https://, for what comes from there is believed.")
    if not (env("OIDC_CLIENT_ID") and env("OIDC_CLIENT_SECRET")):
        raise ImproperlyConfigured("With OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET must be set, too.")
    INSTALLED_APPS.append("allauth.socialaccount.providers.openid_connect")
elif not LOCAL_ACCOUNTS:
    raise ImproperlyConfigured("LOCAL_ACCOUNTS=0 without OIDC_ISSUER would let nobody sign in.")

EMAIL_HOST = env("EMAIL_HOST")
EMAIL_PORT = limits.env_int("EMAIL_PORT", 587)
EMAIL_HOST_USER = env("EMAIL_HOST_USER")
EMAIL_HOST_PASSWORD = env("EMAIL_HOST_PASSWORD")
EMAIL_USE_SSL = env_bool("EMAIL_USE_SSL", False)
EMAIL_USE_TLS = env_bool("EMAIL_USE_TLS", not EMAIL_USE_SSL)
# Without a mail server, messages are printed where the service runs, and kept for administrators.
EMAIL_BACKEND = (
    "annotation_service.accounts.MailBackend" if EMAIL_HOST else "annotation_service.accounts.KeepingBackend"
)
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env("DEFAULT_FROM_EMAIL", "annotation-service@localhost")

# --- Files, language, log ----------------------------------------------------------------------------------------------

STATIC_URL = "/static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "annotation_service.http.StaticFiles"},
}

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_I18N = False


def without_traceback(record: logging.LogRecord) -> bool:
    record.exc_info = None
    return True


LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"without_traceback": {"()": "django.utils.log.CallbackFilter", "callback": without_traceback}},
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {
        "console": {"class": "logging.StreamHandler", "formatter": "line"},
        "one_line": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["without_traceback"]},
    },
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        "django": {"handlers": ["console"], "level": "WARNING", "propagate": False},
        # Refusals (4xx) are answered to whoever was refused; only the server's own failures are logged.
        "django.request": {"level": "ERROR"},
        "waitress.queue": {"level": "ERROR"},  # requests wait for a thread: no failure
        # Requests that no browser of ours makes, such as those for another host: not a failure of the service.
        "django.security": {"handlers": ["one_line"], "propagate": False},
        # Who took which file.
        "annotation_service.http": {"level": "INFO"},
    },
}
