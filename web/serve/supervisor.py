"""The supervisor: prepares, starts, watches, stops."""

from __future__ import annotations

import signal
import socket
import time
from types import FrameType
from typing import NoReturn

from web.serve import services
from web.serve.console import say
from web.serve.descendants import become_subreaper, kill_all_below, kill_strays
from web.serve.guard import STOP_SIGNALS
from web.serve.instance import Instance
from web.serve.logs import last_lines
from web.serve.options import Options
from web.serve.ports import NoPort, address_of, listen
from web.serve.preparation import CannotServe, Preparation
from web.serve.processes import Child, Service

LOOK_EVERY = 0.05
STRAYS_EVERY = 1.0
HOPELESS_AFTER = 4  # failures in a row of something that never became ready
TAIL = 12

NO_SANDBOX = """\
No submission will be run: this machine offers no isolation, and a submission is a stranger's program.
The site can be read; what is submitted waits in the queue until the judge is started.
On a machine where only you submit: make run UNSAFE_NO_SANDBOX=1"""
UNSAFE = """\
!! Submissions run WITHOUT isolation: each of them can read, change and send away all that you can.
!! Let nobody else submit to this site."""


class StopRequested(Exception):
    """The operator asked to stop; asked again, to stop at once."""


class Supervisor:
    """Keeps the services of one site running. Belongs to a process of its own (see `guard`)."""

    def __init__(self, options: Options, instance: Instance) -> None:
        self._options = options
        self._instance = instance
        self._children: list[Child] = []
        # Kept for as long as the site runs: each new web server inherits it.
        self._listener: socket.socket | None = None
        self._address = ""
        self._announced = False
        self._strays_at = 0.0

    def run(self) -> int:
        """Serve until told to stop; the exit code. Afterwards no process of the site is left."""
        become_subreaper()
        try:
            self._listen_to_signals()
            self._start_everything()
            self._watch()
        except (NoPort, CannotServe) as reason:
            say(str(reason))
            return 1
        except StopRequested:
            self._stop()
            return 0
        finally:
            for number in STOP_SIGNALS:
                signal.signal(number, signal.SIG_IGN)
            kill_all_below()

    def _listen_to_signals(self) -> None:
        def request_stop(_number: int, _frame: FrameType | None) -> NoReturn:
            raise StopRequested

        for number in STOP_SIGNALS:
            signal.signal(number, request_stop)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)

    def _start_everything(self) -> None:
        options = self._options
        preparation = Preparation(options)
        listener = self._find_port()
        if preparation.migrating:
            say("Bringing the database up to date.")
        preparation.finish_migrating()
        self._start(services.web_server(options, listener))
        self._start(services.results_worker(options))
        self._start(services.clock(options))
        say(f"Starting the services; their logs are in {options.logs}")
        isolation = preparation.isolation()
        if isolation.available:
            say(isolation.words)
        else:
            say(isolation.words)
            say(UNSAFE if options.unsafe_no_sandbox else NO_SANDBOX)
        if options.judge and (isolation.available or options.unsafe_no_sandbox):
            self._start(services.judge(options))

    def _find_port(self) -> socket.socket:
        listener, taken = listen(self._options.host, self._options.port)
        self._listener = listener
        self._address = address_of(listener, self._options.host)
        self._instance.publish(self._address)
        if taken:
            which = (
                f"Port {taken[0]} is" if len(taken) == 1 else f"Ports {taken[0]} to {taken[-1]} are"
            )
            say(f"{which} taken; using {listener.getsockname()[1]}.")
        if not services.is_local(self._options.host):
            names = ", ".join(services.allowed_hosts(self._options.host))
            say(
                f"Other machines can reach the site, as one of {names} (set ALLOWED_HOSTS for more)."
            )
        return listener

    def _start(self, service: Service) -> None:
        child = Child(service)
        self._children.append(child)
        child.start()

    def _watch(self) -> NoReturn:
        while True:
            for child in self._children:
                self._look_at(child)
            self._announce()
            now = time.monotonic()
            if now >= self._strays_at:
                self._strays_at = now + STRAYS_EVERY
                self._end_strays()
            time.sleep(LOOK_EVERY)

    def _look_at(self, child: Child) -> None:
        how = child.check_ended()
        if how is not None:
            self._end_strays()
            self._tell_ended(child, how)
        elif child.process is None:
            if time.monotonic() >= child.start_at:
                child.start()
        elif child.check_ready() and self._announced:
            say(f"{child.service.label} is ready.")

    def _tell_ended(self, child: Child, how: str) -> None:
        service = child.service
        say(f"{service.label} ended ({how}); starting it again. Its log: {service.log}")
        if child.failures == HOPELESS_AFTER:
            say("\n".join(f"  | {line}" for line in last_lines(service.log, TAIL)))
            if not self._announced:
                raise CannotServe(f"{service.label} does not start; the end of its log is above.")

    def _announce(self) -> None:
        waiting = [child for child in self._children if not child.ready]
        if self._announced or any(child.service.needed_to_visit for child in waiting):
            return
        self._announced = True
        say(f"Backpass is at {self._address} (Ctrl-C stops it)")
        for child in waiting:
            say(
                f"{child.service.label} is still starting; what is submitted meanwhile waits for it."
            )

    def _end_strays(self) -> None:
        kill_strays({child.process.pid for child in self._children if child.process})

    def _stop(self) -> None:
        """Ask every service to end, then insist; a second request ends the waiting."""
        say("Stopping.")
        try:
            self._ask_to_end()
            say("Stopped.")
        except StopRequested:
            say("Stopped at once.")

    def _ask_to_end(self) -> None:
        asked_at = time.monotonic()
        for child in self._children:
            child.signal(signal.SIGTERM)
        while running := [child for child in self._children if child.is_running]:
            for child in running:
                if time.monotonic() - asked_at > child.service.grace:
                    child.signal(signal.SIGKILL)
            time.sleep(LOOK_EVERY)
