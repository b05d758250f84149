"""Strategy: threads instead of processes.
Stopped by: RLIMIT_NPROC counts them too.
"""

import os
import threading
import time

from attempts import MOST, check

made = 0
refused = False
for _ in range(10_000):
    try:
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    except RuntimeError:
        refused = True
        break
    made += 1
check(f"{made} threads", refused and made <= MOST)
os.sync()
os.write(1, b"")
os._exit(0)
