"""Settings as a process of its own reads them from its environment."""

from __future__ import annotations

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site
from django.core.management import call_command
from django.test import Client

PRODUCTION = {
    "BACKPASS_PRODUCTION": "1",
    "SECRET_KEY": "k7-" + "aB3$xyz9" * 8,
    "DATABASE_URL": "postgres://backpass:pw@db.example/backpass",
    "REDIS_URL": "redis://redis.example:6379/0",
    "ALLOWED_HOSTS": "backpass.example",
    "CSRF_TRUSTED_ORIGINS": "https://backpass.example",
}


def manage(tmp_path: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=site.BASE_DIR,
        env=kept | {"BACKPASS_DATA": str(tmp_path / "data")} | variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_production_settings_pass_djangos_own_check(tmp_path: Path) -> None:
    done = manage(tmp_path, "check", "--deploy", "--fail-level", "WARNING", **PRODUCTION)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["SECRET_KEY", "DATABASE_URL", "REDIS_URL"])
def test_production_does_not_start_without_its_own(tmp_path: Path, name: str) -> None:
    variables = {key: value for key, value in PRODUCTION.items() if key != name}
    done = manage(tmp_path, "check", **variables)
    assert done.returncode != 0
    assert f"BACKPASS_PRODUCTION=1 needs {name}" in done.stderr


def show(tmp_path: Path, expression: str, **variables: str) -> str:
    code = f"from django.conf import settings; print({expression})"
    done = manage(tmp_path, "shell", "-v0", "-c", code, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_with_nothing_set_it_is_one_machine_with_a_key_of_its_own(tmp_path: Path) -> None:
    expression = (
        "settings.DEBUG, settings.DATABASES['default']['NAME'], "
        "settings.SECURE_SSL_REDIRECT, settings.SECRET_KEY, sep='|'"
    )
    shown = show(tmp_path, expression)
    data = tmp_path / "data"
    key = (data / "secret_key").read_text()
    assert shown == f"False|{data / 'db.sqlite3'}|False|{key}"


def test_sqlite_writes_ahead_and_takes_its_locks_at_once(tmp_path: Path) -> None:
    code = (
        "from django.db import connection, transaction\n"
        "with connection.cursor() as c:\n"
        "    c.execute('PRAGMA journal_mode'); print(c.fetchone()[0])\n"
        "    c.execute('PRAGMA busy_timeout'); print(c.fetchone()[0])\n"
        "print(connection.transaction_mode)"
    )
    done = manage(tmp_path, "shell", "-v0", "-c", code)
    assert done.stdout.split() == ["wal", "20000", "IMMEDIATE"], done.stderr


def test_a_proxy_is_believed_only_when_told(tmp_path: Path) -> None:
    expression = "getattr(settings, 'SECURE_PROXY_SSL_HEADER', None)"
    assert show(tmp_path, expression, **PRODUCTION) == "None"
    assert "https" in show(tmp_path, expression, **PRODUCTION, TRUSTED_PROXY_COUNT="1")


def test_static_files_can_be_collected_for_production(tmp_path: Path) -> None:
    variables = PRODUCTION | {"STATIC_ROOT": str(tmp_path / "static")}
    done = manage(tmp_path, "collectstatic", "--noinput", "-v0", **variables)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "static" / "staticfiles.json").exists()
    assert list((tmp_path / "static").glob("backpass.*.css.gz"))


@pytest.mark.django_db
def test_static_files_are_served_without_being_collected(client: Client) -> None:
    response: Any = client.get("/static/backpass.css")
    assert response.status_code == 200
    assert "text/css" in response["Content-Type"]


@pytest.mark.django_db
def test_only_the_health_check_answers_without_https(client: Client, settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_REDIRECT_EXEMPT = [r"^healthz$"]
    assert client.get("/").status_code == 301
    assert client.get("/healthz").status_code == 200


@pytest.mark.django_db
def test_models_and_migrations_agree() -> None:
    call_command("makemigrations", "--check", "--dry-run", stdout=StringIO())


@pytest.mark.django_db
def test_every_page_is_under_the_policy(client: Client) -> None:
    response: Any = client.get("/")
    policy = response["Content-Security-Policy"]
    for rule in ("default-src 'self'", "object-src 'none'", "frame-ancestors 'none'"):
        assert rule in policy
    assert "unsafe" not in policy
    assert response["X-Content-Type-Options"] == "nosniff"
