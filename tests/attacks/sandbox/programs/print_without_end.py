"""Strategy: print until the judge's memory or disk is full, or it stops reading.
Stopped by: a thread that reads all and keeps the first bytes.
"""

import os

from attempts import check

block = b"x" * (1 << 20)
for _ in range(int(os.environ["MEGABYTES"])):
    written = 0
    while written < len(block):
        written += os.write(2, block[written:])
check("the test looks at the judge's memory", True)
