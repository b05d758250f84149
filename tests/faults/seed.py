"""Makes a site's tables and some users who are logged in; prints their session keys as JSON."""

from __future__ import annotations

import json
import sys

import django
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.core.management import call_command


def main(count: int) -> None:
    django.setup()
    from django.contrib.sessions.backends.db import SessionStore

    from web.accounts.models import User

    call_command("migrate", verbosity=0)
    keys = {}
    for number in range(count):
        user = User.objects.create(username=f"user{number}")
        user.set_unusable_password()
        user.save()
        session = SessionStore()
        session[SESSION_KEY] = str(user.pk)
        session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.create()
        keys[user.username] = session.session_key
    json.dump(keys, sys.stdout)


if __name__ == "__main__":
    main(int(sys.argv[1]))
