"""Strategy: take over the process that started us, which alone speaks to the judge.
Stopped by: it is not dumpable, has no signal handlers, and is process 1 of its namespace.
Below Landlock: it is not in the job's domain, and /proc shows nobody but oneself.
"""

import contextlib
import os
import signal
import time

from attempts import attempt, check

FIRST = os.getppid()


def write_memory():
    with open(f"/proc/{FIRST}/mem", "r+b", buffering=0) as memory:
        memory.seek(0x400000)
        memory.write(b"\xcc" * 64)


attempt("write its memory", write_memory)
attempt("read its memory map", lambda: open(f"/proc/{FIRST}/maps").read())
attempt("its status socket", lambda: os.listdir(f"/proc/{FIRST}/fd"))
attempt("its working folder", lambda: os.readlink(f"/proc/{FIRST}/cwd"))
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGSEGV):
    with contextlib.suppress(PermissionError):
        os.kill(FIRST, number)  # where accepted it has no effect on a first process
time.sleep(0.2)
state = "S"
with contextlib.suppress(PermissionError):
    state = open(f"/proc/{FIRST}/stat").read().rpartition(")")[2].split()[0]
check("signals", state == "S" and os.getppid() == FIRST)
