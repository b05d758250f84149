"""Strategy: take all memory in many processes, each modest.
Stopped by: the watchdog, which adds them up.
Expected: out_of_memory
"""

import os
import time

for _ in range(15):
    if os.fork() == 0:
        block = b"x" * (60 << 20)
        time.sleep(600)
time.sleep(600)
