"""Strategy: put a file of one's own in the place of the descriptor by which results go to the judge.
Stopped by: the judge holds the other end of a pipe, never a name: it sees the pipe's end.
Expected: silence
"""

import os

from attempts import HOME

forged = os.open(f"{HOME}/forged", os.O_RDWR | os.O_CREAT, 0o600)
for descriptor in (0, 1):
    os.dup2(forged, descriptor)
os.write(1, b"isolated" * 1000)
os.lseek(1, 0, os.SEEK_SET)
os._exit(0)
