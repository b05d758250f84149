"""Two processes that watch each other, so that nothing outlives a supervisor that was killed.

The outer process is the one the operator's terminal and signals reach. It starts the supervisor as its
child, hands signals on, and when the supervisor ends, however it does, kills whatever is left. When
the outer process itself is killed, the kernel tells the supervisor to stop.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType

from web.serve.console import say
from web.serve.descendants import become_subreaper, kill_all_below, signal_on_death_of_parent

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_guarded(supervise: Callable[[], int]) -> int:
    """Run `supervise` in a child under guard; its exit code, or 1 if it was killed."""
    become_subreaper()
    guard = os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    supervisor = os.fork()
    if supervisor == 0:
        # Its own session: a Ctrl-C reaches it once, handed on, not twice.
        os.setsid()
        signal_on_death_of_parent(signal.SIGTERM, guard)
        return supervise()

    def hand_on(number: int, _frame: FrameType | None) -> None:
        os.kill(supervisor, number)

    for number in STOP_SIGNALS:
        signal.signal(number, hand_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    code = _wait_for(supervisor)
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    kill_all_below()
    if code < 0:
        say(f"The supervisor was killed ({signal.Signals(-code).name}); so everything was stopped.")
    return max(code, 0) if code >= 0 else 1


def _wait_for(child: int) -> int:
    while True:
        ended, status = os.wait()
        if ended == child:
            return os.waitstatus_to_exitcode(status)
