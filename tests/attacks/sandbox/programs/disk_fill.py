"""Strategy: fill the temporary file systems, by bytes and by empty files.
Stopped by: their size; the watchdog counts files as memory.
Below Landlock: /tmp is on disk, where the longest file and the watchdog bound it.
Expected below Landlock: out_of_memory or refused
"""

import os

from attempts import HOME, check

for folder, room in ((HOME, int(os.environ["TMP"])), ("/dev/shm", 64 << 20)):
    written = 0
    try:
        with open(f"{folder}/big", "wb", buffering=0) as stream:
            while written < 4 << 30:
                written += stream.write(b"x" * (1 << 20))
    except OSError:
        pass
    check(f"{written} bytes in {folder}", written <= room)
