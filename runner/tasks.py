"""The Celery worker beside the hardware: takes a job, judges it, tells the web what happens.

Start with ``celery -A runner.tasks worker -Q judge.cpu,judge.interpreter``. It has no database and no
web settings. It may die at any moment: the web notices when the beats stop, and sends the job again.
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
import time
from functools import cache
from typing import Any

from celery import Celery
from celery.exceptions import SoftTimeLimitExceeded
from celery.signals import worker_init, worker_process_init, worker_process_shutdown

from problems import Language, get_problem
from runner.announce import Announcer
from runner.failures import HarnessBroken
from runner.hardware import HARDWARE, get_hardware
from runner.inspecting import Inspector
from runner.judge import Request, judge
from runner.pool import WarmPool
from sandbox.choose import best_sandbox
from sandbox.spec import Sandbox, SandboxUnavailable
from wire.broker import BROKER_ERRORS, celery_settings
from wire.logs import follow_celery
from wire.messages import (
    EVENT_TASK,
    INSPECTION_TASK,
    JUDGE_TASK,
    RESULTS_QUEUE,
    Event,
    EventKind,
    InspectionMessage,
    JobMessage,
    Phase,
    is_inspected,
)
from wire.pace import BEAT_SECONDS
from wire.packing import to_text
from wire.verdict import Report, Verdict

log = logging.getLogger(__name__)
app = Celery("runner")
app.conf.update(celery_settings())
app.conf.update(task_create_missing_queues=True)
follow_celery()

VERDICT_ATTEMPTS = 8
INSPECTION_ATTEMPTS = 4


def chosen_sandbox() -> Sandbox:
    """The isolation of this runner. Without any it refuses, unless told that unsafe is meant.

    Raises:
        SandboxUnavailable: this machine can isolate nothing.
    """
    return best_sandbox(unsafe=os.environ.get("BACKPASS_UNSAFE_NO_SANDBOX") == "1")


@cache
def warm_sessions() -> WarmPool:
    """This process's waiting sessions."""
    return WarmPool(chosen_sandbox(), HARDWARE.values())


@cache
def inspector() -> Inspector:
    """What looks inside kernels in this process."""
    return Inspector(warm_sessions().sandbox)


@worker_process_init.connect
def _warm_up(**_: object) -> None:
    warm_sessions()


announcer = Announcer(app, lambda: warm_sessions().sandbox.name)
announcer.follow_worker()


@worker_process_shutdown.connect
def _cool_down(**_: object) -> None:
    warm_sessions().__exit__(None, None, None)


@worker_init.connect
def _refuse_without_sandbox(**_: object) -> None:
    try:
        sandbox = chosen_sandbox()
    except SandboxUnavailable as reason:
        raise SystemExit(f"This runner takes no submissions: {reason}") from None
    log.info("isolation: %s", sandbox.name)


class Reporter:
    """Tells the web about one attempt. Losing a progress event is no loss; a verdict is retried."""

    def __init__(self, attempt: str) -> None:
        self._attempt = attempt
        # Numbers that also grow from one process to the next that judges the attempt.
        self._numbers = itertools.count(time.time_ns() // 1000)
        self._lock = threading.Lock()
        self._over = threading.Event()

    def send(self, kind: EventKind, data: dict[str, Any] | None = None) -> bool:
        """Whether the broker took the event."""
        with self._lock:
            event = Event(self._attempt, kind, next(self._numbers), data or {})
            return self._put(EVENT_TASK, event.to_json(), kind)

    def _put(self, task: str, message: dict[str, Any], what: str) -> bool:
        try:
            app.send_task(
                task, args=[message], queue=RESULTS_QUEUE, retry=False, ignore_result=True
            )
        except BROKER_ERRORS as error:
            log.warning("could not send %s of %s: %s", what, self._attempt, error)
            return False
        return True

    def progress(self, phase: Phase, done: int, total: int) -> None:
        self.send(EventKind.PROGRESS, {"phase": phase.value, "done": done, "total": total})

    def verdict(self, report: Report) -> None:
        """Send the verdict, again and again with growing pauses while the broker is away."""
        for number in range(VERDICT_ATTEMPTS):
            if self.send(EventKind.VERDICT, report.to_json()):
                return
            time.sleep(min(2.0**number, 20.0))
        log.error("the verdict of %s is lost; the web will send the job again", self._attempt)

    def inspection(self, packed: bytes) -> None:
        """Send what is inside, a few times at most: without it the page says that it is missing."""
        message = InspectionMessage(self._attempt, to_text(packed)).to_json()
        for number in range(INSPECTION_ATTEMPTS):
            if self._put(INSPECTION_TASK, message, "the inspection"):
                return
            time.sleep(2.0**number)

    def __enter__(self) -> Reporter:
        self.send(EventKind.STARTED, {"runner": announcer.process_name})
        threading.Thread(target=self._beat, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def _beat(self) -> None:
        while not self._over.wait(BEAT_SECONDS):
            self.send(EventKind.BEAT)


@app.task(name=JUDGE_TASK, bind=True, acks_late=True, reject_on_worker_lost=True)
def judge_submission(task: Any, raw: dict[str, str]) -> None:
    """Judge one job; of one that comes a second time only say so.

    Its first runner died over it, or lost its broker and is still at work. The web knows which, and
    counts the attempts, so that a job that kills its runners cannot do so for ever.
    """
    job = JobMessage(**raw)  # type: ignore[arg-type]  # the web is ours; a wrong one fails loudly
    reporter = Reporter(job.attempt)
    if task.request.delivery_info.get("redelivered"):
        log.warning("attempt %s was begun before; the web decides", job.attempt)
        reporter.send(EventKind.RETURNED)
        return
    log.info("judging begins: %s in %s on %s", job.problem, job.language, job.hardware)
    with reporter:
        report = _judged(job, reporter)
        log.info("judged: %s", report.verdict)
        reporter.verdict(report)
    # Nobody waits for this but who wants to see it: the verdict is out, and the beats have ended.
    if is_inspected(job.language, report.verdict):
        found = inspector().packed(get_problem(job.problem), job.source, every_shape=report.ranked)
        reporter.inspection(found)


def _judged(job: JobMessage, reporter: Reporter) -> Report:
    problem, language = get_problem(job.problem), Language(job.language)
    try:
        request = Request(
            problem=problem,
            language=language,
            hardware=get_hardware(job.hardware, language),
            mode=job.mode,
            source=job.source,
        )
        return judge(request, warm_sessions(), reporter.progress)
    except SoftTimeLimitExceeded:
        log.exception("judging took too long")
        failure = "time limit"
        reason = "Judging took longer than a job may take."
    except Exception as error:
        # Whatever is wrong with the judge must end as a verdict that says so, not as silence.
        log.exception("judging failed")
        broken = isinstance(error, (SandboxUnavailable, HarnessBroken))
        failure = "sandbox" if broken else "judge"
        reason = f"The judge failed ({type(error).__name__}); this is not your kernel's fault."
    return Report(
        verdict=Verdict.JUDGE_FAILURE,
        headline=f"{reason} Your source is kept: submit it again.",
        problem=problem.slug,
        problem_version=problem.version,
        hardware=job.hardware,
        language=job.language,
        mode=job.mode,
        failure=failure,
    )
