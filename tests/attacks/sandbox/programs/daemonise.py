"""Strategy: leave a process behind, with the judge's pipes in its hands, and exit.
Stopped by: it dies with process 1.
"""

import os
import signal
import sys
import time

from attempts import check

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(1, 65):
            if number not in (signal.SIGKILL, signal.SIGSTOP, 32, 33):
                signal.signal(number, signal.SIG_IGN)
        time.sleep(600)
    os._exit(0)
os.wait()
check("the test looks whether it is left", True)
sys.stdout.flush()
os._exit(0)
