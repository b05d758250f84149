"""Finding a port.

The supervisor itself binds and listens, and the web server inherits the socket: nobody can take the
port between the look and the start, and while the web server is restarted visitors wait in line
instead of being refused.
"""

from __future__ import annotations

import errno
import socket
from contextlib import closing

PORTS_TRIED = 100
BACKLOG = 256
_LOOPBACK = ("127.0.0.1", "localhost")


class NoPort(Exception):
    """No port can be had; the message says why and what to do."""


def listen(host: str, port: int) -> tuple[socket.socket, list[int]]:
    """A listening socket on the first free port from `port` on, and the taken ones before it.

    Raises:
        NoPort: none of the ports tried is free, or `host` or `port` may not be listened on.
    """
    taken: list[int] = []
    for candidate in range(port, min(port + PORTS_TRIED, 65536)):
        try:
            listener = _listen_on(host, candidate)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise NoPort(
                    f"cannot listen on {host}:{candidate}: {error.strerror or error}."
                    " Choose another with --host and --port (make run HOST=... PORT=...)."
                ) from error
            taken.append(candidate)
        else:
            return listener, taken
    raise NoPort(f"ports {port} to {taken[-1]} are all taken; choose another: make run PORT=...")


def _listen_on(host: str, port: int) -> socket.socket:
    if host in _LOOPBACK and port and _answers_on_ipv6(port):
        # Browsers try ::1 first for "localhost" and would see whoever is there.
        raise OSError(errno.EADDRINUSE, "taken on ::1")
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    try:
        # Else a port stays taken for a minute after a stop; a living listener still refuses it.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _answers_on_ipv6(port: int) -> bool:
    try:
        probe = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    except OSError:
        return False
    with closing(probe):
        probe.settimeout(0.2)
        return probe.connect_ex(("::1", port)) == 0


def address_of(listener: socket.socket, host: str) -> str:
    """The address to open in a browser on this machine."""
    port = listener.getsockname()[1]
    name = "localhost" if host in (*_LOOPBACK, "0.0.0.0", "::", "") else host  # noqa: S104 - compared
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/"
