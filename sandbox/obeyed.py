"""A job that process 1 of its own process namespace stops and continues for the judge."""

from __future__ import annotations

import select
import socket
import time

from sandbox import orders
from sandbox.process import PipedRunning

_PAUSE = 3.0  # seconds process 1 has to stop the others, a little more than it gives itself


class ObeyedRunning(PipedRunning):
    """A job whose process 1 carries out sandbox.orders."""

    def _hears(self) -> bool:
        """Whether process 1 still holds its end of the socket."""
        watch = select.poll()
        watch.register(self._channels.status, 0)
        return not watch.poll(0)

    def _order(self, order: bytes) -> bool:
        """Whether process 1 was there to be told."""
        try:
            self._channels.status.send(order, socket.MSG_DONTWAIT)
        except OSError:
            return False
        return True

    def _freeze(self) -> None:
        if not self._order(orders.PAUSE):
            return  # nothing is left to stop
        deadline = time.monotonic() + _PAUSE
        while True:
            message = self._report(deadline)
            if message == orders.PAUSED.decode() or (not message and not self._hears()):
                return
            if not message or message == orders.STILL_RUNNING.decode():
                raise TimeoutError("a process would not stop")
            self._take_in(message)

    def _thaw(self) -> None:
        self._order(orders.RESUME)
