"""Strategy: empty files cost kernel memory that no size limit of a file system counts.
Stopped by: a limit of files where we make the file system, and the watchdog, which counts each.
Expected: out_of_memory or refused
"""

import os

from attempts import HOME, check

made = 0
try:
    for folder in range(4000):
        os.mkdir(f"{HOME}/{folder}")
        for name in range(1000):
            os.close(os.open(f"{HOME}/{folder}/{name}", os.O_CREAT))
            made += 1
except OSError:
    check(f"{made} files", made <= 65536)
