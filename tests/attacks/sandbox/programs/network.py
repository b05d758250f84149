"""Strategy: reach the host, its neighbours or the cloud's metadata service through any socket.
Stopped by: an empty network namespace, and no socket of any family (seccomp).
"""

import os
import socket

from attempts import attempt


def connect(family, kind, address, protocol=0):
    def call():
        with socket.socket(family, kind, protocol) as link:
            link.settimeout(2)
            link.connect(address)

    return call


port = int(os.environ["HOST_PORT"])
attempt("loopback", connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port)))
attempt("loopback v6", connect(socket.AF_INET6, socket.SOCK_STREAM, ("::1", port)))
abstract = "\0" + os.environ["HOST_ABSTRACT"]
attempt("abstract socket", connect(socket.AF_UNIX, socket.SOCK_STREAM, abstract))
attempt("metadata", connect(socket.AF_INET, socket.SOCK_STREAM, ("169.254.169.254", 80)))
attempt("name server", connect(socket.AF_INET, socket.SOCK_DGRAM, ("8.8.8.8", 53)))
attempt("raw socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt("packets", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3))
attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
attempt("virtual machine socket", lambda: socket.socket(40, socket.SOCK_STREAM))
attempt("kernel crypto", lambda: socket.socket(38, socket.SOCK_SEQPACKET))
attempt("pair of another family", lambda: socket.socketpair(socket.AF_INET))
