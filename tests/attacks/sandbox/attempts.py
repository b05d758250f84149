"""Runs beside an attack inside the sandbox: one line for each attempt, "blocked" or "BREACH"."""

import ctypes
import errno
import os

# Where the job's files lie and where it may write: /job and /tmp, unless nothing can be mounted there.
JOB = os.environ.get("JOB", "/job")
HOME = os.environ["HOME"]
# Most processes or threads that a job can have. Where nothing can be mounted the kernel counts those of
# the user outside the sandbox too, so that each that ends there makes room for one more.
MOST = int(os.environ["PROCESSES"]) + (50 if "JOB" in os.environ else 2)

libc = ctypes.CDLL(None, use_errno=True)


def attempt(what, action):
    """Report whether `action` could be done. Only the operating system's refusal blocks it."""
    try:
        found = action()
    except OSError as error:
        print("blocked", what, errno.errorcode.get(error.errno or 0, error.errno), flush=True)
    else:
        print("BREACH", what, repr(found)[:200], flush=True)


def check(what, held):
    """Report a promise that can be seen directly."""
    print("blocked" if held else "BREACH", what, flush=True)


def syscall(number, *arguments):
    """A raw system call; a function to hand to `attempt`."""

    def call():
        result = libc.syscall(ctypes.c_long(number), *arguments)
        if result < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return result

    return call
