"""Strategy: turn the clock that the judge measures with.
Stopped by: no capability for it, and the filter refuses the calls.
"""

import ctypes
import platform
import time

from attempts import attempt, check, syscall


def write(path, text):
    def call():
        with open(path, "w") as stream:
            stream.write(text)

    return call


COLUMN = 0 if platform.machine() == "x86_64" else 1


class TimeSpec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


zero = ctypes.byref(TimeSpec(1, 0))
before = time.time(), time.monotonic()
attempt("set the clock", lambda: time.clock_settime(time.CLOCK_REALTIME, 1.0))
attempt("set it by the raw call", syscall((227, 112)[COLUMN], 0, zero))
attempt("set it the old way", syscall((164, 170)[COLUMN], zero, 0))
attempt("slow it down", syscall((159, 171)[COLUMN], ctypes.create_string_buffer(b"\xff" * 208)))
attempt("adjust one of them", syscall((305, 266)[COLUMN], 0, ctypes.create_string_buffer(208)))
attempt("the hardware's clock", lambda: open("/dev/rtc0", "rb"))
attempt("a clock device", lambda: open("/dev/ptp0", "rb"))
attempt("another time namespace", write("/proc/self/timens_offsets", "1 9 0"))
gone = time.time() - before[0], time.monotonic() - before[1]
check("both clocks still agree", abs(gone[0] - gone[1]) < 60)
