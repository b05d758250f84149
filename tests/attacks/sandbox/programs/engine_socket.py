"""Strategy: find the socket of a container engine or of a service manager, and have it do the rest.
Stopped by: none is visible, no socket can be made, and the one over which the job came is gone.
"""

import os
import socket

from attempts import attempt, check


def connect(path, kind):
    def call():
        with socket.socket(socket.AF_UNIX, kind) as link:
            link.connect(path)

    return call


for path in (
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/systemd/private",
    "/run/dbus/system_bus_socket",
    "/run/user/0/bus",
    "/stage/judge",
):
    attempt(path, connect(path, socket.SOCK_STREAM))
    attempt(f"{path} in packets", connect(path, socket.SOCK_SEQPACKET))
    check(f"{path} is not there", not os.path.exists(path) or not os.access(path, os.W_OK))
