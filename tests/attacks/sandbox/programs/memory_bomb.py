"""Strategy: take all memory in one process.
Stopped by: the watchdog, which ends the job.
Expected: out_of_memory
"""

import time

blocks = []
while True:
    blocks.append(bytearray(b"x") * (16 << 20))
    time.sleep(0.01)
