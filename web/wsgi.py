"""The WSGI application. Problems are imported here, so that no visitor waits for it."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "web.settings")
application = get_wsgi_application()

from problems.registry import all_problems  # noqa: E402 - Django comes first

all_problems()
