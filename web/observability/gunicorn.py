"""Settings of gunicorn for several worker processes: `gunicorn -c python:web.observability.gunicorn`.

Workers share a folder for what they measure, so that any of them can tell all of it, and log as the
other processes of a site do. One worker needs none of this.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any

from wire.logs import configuration

logconfig_dict = configuration()
# gunicorn's own loggers have no handlers of theirs here, so that its lines reach the root's.
logconfig_dict["loggers"] = {
    name: {"handlers": [], "propagate": True} for name in ("gunicorn.error", "gunicorn.access")
}
_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_own_folder = ""


def on_starting(_server: Any) -> None:
    """Before any worker exists, and before anything imports prometheus_client."""
    global _own_folder  # noqa: PLW0603 - gunicorn's hooks are functions of a module
    if not os.environ.get(_FOLDER):
        os.environ[_FOLDER] = _own_folder = tempfile.mkdtemp(prefix="backpass-metrics-")


def child_exit(_server: Any, worker: Any) -> None:
    """Forget what a dead worker had under way; what it counted stays."""
    from prometheus_client.multiprocess import mark_process_dead  # must not be imported earlier

    mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]  # a library's, without types


def on_exit(_server: Any) -> None:
    """Leave nothing behind."""
    if _own_folder:
        shutil.rmtree(_own_folder, ignore_errors=True)
