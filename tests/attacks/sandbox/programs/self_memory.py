"""Strategy: write through /proc/self/mem, which ignores page protections, into files that are mapped
read-only: the interpreter and the libraries that the next job and the judge use.
Stopped by: a private mapping is copied when it is written; the files are on read-only mounts of another
user. Process 1's memory cannot be opened.
"""

import contextlib
import hashlib
import mmap
import os

from attempts import attempt, check


def digest(path):
    with open(path, "rb") as stream:
        return hashlib.sha256(stream.read()).hexdigest()


TARGET = os.path.realpath(os.__file__)
before = digest(TARGET)


def address_of(path):
    with open("/proc/self/maps") as maps:
        for line in maps:
            if line.rstrip().endswith(path):
                return int(line.partition("-")[0], 16)
    raise OSError("it is not mapped")


def overwrite():
    descriptor = os.open(TARGET, os.O_RDONLY)
    mapped = mmap.mmap(descriptor, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ)
    where = address_of(TARGET)
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        memory.seek(where)
        memory.write(b"raise SystemExit")
    return bytes(mapped[:6])


with contextlib.suppress(OSError):  # refused or not, the file must not change
    overwrite()
check("the file is what it was", digest(TARGET) == before)
attempt(
    "a shared writable mapping",
    lambda: mmap.mmap(os.open(TARGET, os.O_RDONLY), 4096, mmap.MAP_SHARED, mmap.PROT_WRITE),
)
attempt("process 1's memory", lambda: open("/proc/1/mem", "r+b", buffering=0))
attempt("the parent's memory", lambda: open(f"/proc/{os.getppid()}/mem", "r+b", buffering=0))
