"""Settings, all from the environment; README.md lists the variables.

With nothing set this is the embedded installation: SQLite, files for a broker, plain HTTP on the local
machine. `BACKPASS_PRODUCTION=1` turns on what a public site needs and refuses to start without its
own secret key, database and broker.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import environ
from csp.constants import NONCE, NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from web.secret_key import kept_secret_key
from wire.broker import data_directory
from wire.logs import configuration

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = data_directory()

env = environ.Env()
PRODUCTION = env.bool("BACKPASS_PRODUCTION", default=False)
DEBUG = env.bool("DEBUG", default=False)

if PRODUCTION:
    _missing = [
        name for name in ("SECRET_KEY", "DATABASE_URL", "REDIS_URL") if not env.str(name, "")
    ]
    if _missing:
        raise ImproperlyConfigured(
            f"BACKPASS_PRODUCTION=1 needs {', '.join(_missing)} in the environment. "
            "Set them, or leave BACKPASS_PRODUCTION out for an installation on one machine."
        )

SECRET_KEY = env.str("SECRET_KEY", default="") or kept_secret_key(DATA_DIR / "secret_key")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "csp",
    "django_htmx",
    "web.accounts.apps.AccountsConfig",
    "web.catalogue",
    "web.lessons",
    "web.submissions",
    "web.inspection",
    "web.boards",
    "web.runners",
    "web.limits.apps.LimitsConfig",
    "web.observability",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "web.observability.http.RequestLog",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]

ROOT_URLCONF = "web.urls"
WSGI_APPLICATION = "web.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "web" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
            ],
        },
    },
]


def _database() -> dict[str, Any]:
    database: dict[str, Any] = env.db(
        "DATABASE_URL", default=f"sqlite:///{DATA_DIR / 'db.sqlite3'}"
    )
    if database["ENGINE"] != "django.db.backends.sqlite3":
        return database | {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}
    Path(database["NAME"]).parent.mkdir(parents=True, exist_ok=True)
    # Write locks are taken when a transaction begins: one that read first and then finds another
    # writer's lock would fail at once, whatever the timeout.
    return database | {
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        },
        # A file, as in an installation, so that tests with threads see its locks.
        "TEST": {"NAME": str(DATA_DIR / "test.sqlite3")},
    }


DATABASES = {"default": _database()}

# It counts attempts to log in. In the database, so that all processes count together, and that nobody
# is kept out while the broker is away.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "cache",
        "OPTIONS": {"MAX_ENTRIES": 50_000},
    },
}

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

# --- Static files: hashed and compressed by collectstatic in production, else straight from the tree.
STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "web" / "static"]
_STATIC_ROOT = env.str("STATIC_ROOT", default=str(BASE_DIR / "web" / "staticfiles"))
STATIC_ROOT = _STATIC_ROOT if PRODUCTION else None
WHITENOISE_USE_FINDERS = not PRODUCTION
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if PRODUCTION
        else "django.contrib.staticfiles.storage.StaticFilesStorage",
    },
}

# --- Accounts: a user name and a password are enough.
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
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
LOGIN_REDIRECT_URL = "catalogue"
LOGOUT_REDIRECT_URL = "catalogue"
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*", "password2*"]
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_EMAIL_VERIFICATION = env.str("ACCOUNT_EMAIL_VERIFICATION", default="none")
ACCOUNT_ADAPTER = "web.accounts.adapter.AccountAdapter"
# How often an address (`ip`) or a name (`key`) may try. Everything that is answered with 429 counts by
# the minute, which is what the page says to wait.
ACCOUNT_RATE_LIMITS = {
    "login": "30/m/ip",
    "login_failed": "10/m/ip,5/5m/key",
    "signup": "10/m/ip",
    "reset_password": "10/m/ip,5/m/key",
    "reset_password_from_key": "10/m/ip",
}
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if PRODUCTION else "http"
ACCOUNT_SESSION_REMEMBER = True
EMAIL_CONFIG = env.email_url("EMAIL_URL", default="consolemail://")
vars().update(EMAIL_CONFIG)

# --- Security
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        # The nonce is for CodeMirror's <style> and the few scripts written into a page.
        "script-src": [SELF, NONCE],
        "style-src": [SELF, NONCE],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    },
}
if PRODUCTION:
    SECURE_SSL_REDIRECT = True
    # Asked by machines next to the web server, without the proxy that has the certificate.
    SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz|metrics)$"]
    SECURE_HSTS_SECONDS = env.int("SECURE_HSTS_SECONDS", default=365 * 24 * 3600)
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
# Only for a site behind a proxy that sets these headers itself: else a client could forge them.
TRUSTED_PROXY_COUNT = env.int("TRUSTED_PROXY_COUNT", default=0)
ALLAUTH_TRUSTED_PROXY_COUNT = TRUSTED_PROXY_COUNT
if TRUSTED_PROXY_COUNT:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# --- Judging
BACKPASS_HARDWARE = env.list("BACKPASS_HARDWARE", default=["cpu", "interpreter"])
# How many finished submissions may be judged once more at the same time, for each hardware.
BACKPASS_REJUDGE_WINDOW = env.int("BACKPASS_REJUDGE_WINDOW", default=1)

# How many days the look inside a run is kept that nobody with an account made.
BACKPASS_INSPECTION_DAYS = env.int("BACKPASS_INSPECTION_DAYS", default=7)

# --- Fair use: how many submissions somebody may have on their way; how many may be posted by a user,
# from one address without an account, and from one address in all. Empty: no limit.
BACKPASS_MAX_UNFINISHED = env.int("BACKPASS_MAX_UNFINISHED", default=3)
BACKPASS_LIMITS = {
    "user": env.str("BACKPASS_LIMIT_USER", default="30/minute;600/hour"),
    "visitor": env.str("BACKPASS_LIMIT_VISITOR", default="20/minute;200/hour"),
    "address": env.str("BACKPASS_LIMIT_ADDRESS", default="120/minute;2400/hour"),
}

# --- For operators. Without a token `/metrics` does not exist.
METRICS_TOKEN = env.str("METRICS_TOKEN", default="")
LOGGING = configuration()
