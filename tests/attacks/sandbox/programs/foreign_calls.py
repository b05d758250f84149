"""Strategy: make system calls by another of the processor's conventions, whose numbers mean other calls.
Stopped by: the filter kills the process for every architecture but the native one, x32 included.
"""

import ctypes
import mmap
import os
import platform
import signal

from attempts import check, libc


def killed_by(action):
    child = os.fork()
    if child == 0:
        action()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def int_80():
    code = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"  # mov eax, 20 (getpid of i386); int 0x80; ret
    page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 7)
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    ctypes.CFUNCTYPE(ctypes.c_int)(address)()


check("a shell of one's own is no foreign call", killed_by(lambda: None) == 0)
if platform.machine() == "x86_64":
    x32 = killed_by(lambda: libc.syscall(ctypes.c_long(0x40000000 | 39)))
    check("x32", x32 == -signal.SIGSYS)
    # A kernel without 32-bit emulation raises a fault instead.
    check("i386", killed_by(int_80) in {-signal.SIGSYS, -signal.SIGSEGV})
