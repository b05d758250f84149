"""Strategy: take over the process that started us, which alone speaks to the judge.
Stopped by: it is not dumpable, has no signal handlers, and is process 1 of its namespace.
"""

import os
import signal
import time

from attempts import attempt, check


def write_memory():
    with open("/proc/1/mem", "r+b", buffering=0) as memory:
        memory.seek(0x400000)
        memory.write(b"\xcc" * 64)


attempt("write its memory", write_memory)
attempt("read its memory map", lambda: open("/proc/1/maps").read())
attempt("its status socket", lambda: os.listdir("/proc/1/fd"))
attempt("its working folder", lambda: os.readlink("/proc/1/cwd"))
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGSEGV):
    os.kill(1, number)  # accepted, and without effect on a first process
time.sleep(0.2)
state = open("/proc/1/stat").read().rpartition(")")[2].split()[0]
check("signals", state == "S" and os.getppid() == 1)
