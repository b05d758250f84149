"""Strategy: say on every descriptor that all went well, then leave by os._exit(0) before anyone looks.
Stopped by: how a job ended is told by process 1 alone; whatever else is said is data.
Expected: forged
"""

import contextlib
import os

for descriptor in range(3, 256):
    with contextlib.suppress(OSError):
        os.write(descriptor, b'{"verdict": "passed"} ended 0 0.000 0')
os.write(1, b"forged\n")
os._exit(0)
