"""Strategy: fork until nothing on the machine can start any more.
Stopped by: RLIMIT_NPROC, in a user namespace of the job's own; all die with process 1.
"""

import os
import time

from attempts import MOST, check

made = 0
refused = False
for _ in range(10_000):
    try:
        child = os.fork()
    except BlockingIOError:
        refused = True
        break
    if child == 0:
        time.sleep(600)
    made += 1
check(f"{made} processes", refused and made <= MOST)
