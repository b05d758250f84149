"""Strategy: tell the judge of an ending that was not, on every descriptor there is.
Stopped by: the socket of the real one exists only in process 1.
Expected: exit 3
"""

import contextlib
import os

for descriptor in range(256):
    with contextlib.suppress(OSError):
        os.write(descriptor, b"ended 0 0.000")
os._exit(3)
