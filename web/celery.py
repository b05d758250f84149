"""The Celery application of the web side. It keeps no state: the database does.

Three kinds of process use it:

- web servers send jobs to the queues of runners (`web.submissions.dispatch`);
- `celery -A web.celery worker -Q results -P solo` records what runners say. One such process is enough
  for thousands of submissions an hour, and with SQLite it is also the most that makes sense;
- `celery -A web.celery beat` asks that worker to sweep every few seconds. It is a process of its own
  (exactly one for a site) in every installation, so that a busy or restarting worker never delays the
  clock. Its schedule file lies in BACKPASS_DATA.
"""

from __future__ import annotations

import os

from celery import Celery

from wire.announcements import ANNOUNCE_TASK
from wire.broker import celery_settings, data_directory
from wire.logs import follow_celery
from wire.messages import EVENT_TASK, INSPECTION_TASK, RESULTS_QUEUE
from wire.pace import LEASE_SECONDS, SWEEP_SECONDS

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "web.settings")

SWEEP_TASK = "web.sweep"
# A request waits for a broker that does not answer no longer than this; the sweeper tries again.
BROKER_SECONDS = 3
CONNECT_OPTIONS = {
    "socket_connect_timeout": BROKER_SECONDS,
    "socket_timeout": BROKER_SECONDS,
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0,
}
# What a killed results worker was about to enter comes back before the lease of its attempt ends; long
# jobs need the opposite, so that the two keep their unacknowledged messages apart. Entering an event
# takes milliseconds, and entering it twice does no harm.
RESULTS_OPTIONS = {
    "unacked_key": "results.unacked",
    "unacked_index_key": "results.unacked_index",
    "unacked_mutex_key": "results.unacked_mutex",
    "unacked_mutex_expire": 10,
    "visibility_timeout": LEASE_SECONDS / 3,
    "unacked_restore_interval": LEASE_SECONDS / 10,
    "unacked_restore_throttle": 1,
}

follow_celery()
app = Celery("web")
app.conf.update(celery_settings())
app.conf.update(
    imports=["web.tasks"],
    task_routes={
        name: {"queue": RESULTS_QUEUE}
        for name in (EVENT_TASK, INSPECTION_TASK, ANNOUNCE_TASK, SWEEP_TASK)
    },
    worker_concurrency=1,
    broker_connection_timeout=BROKER_SECONDS,
    broker_transport_options={
        **app.conf.broker_transport_options,
        **CONNECT_OPTIONS,
        **RESULTS_OPTIONS,
    },
    beat_schedule_filename=str(data_directory() / "beat-schedule"),
    beat_schedule={
        "sweep": {
            "task": SWEEP_TASK,
            "schedule": SWEEP_SECONDS,
            # After a pause of the worker the runners' news come first: a sweep that waited would take
            # attempts for lost whose beats only lie behind it in the queue.
            "options": {"expires": SWEEP_SECONDS},
        },
    },
)
