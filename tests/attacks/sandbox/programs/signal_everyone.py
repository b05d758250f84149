"""Strategy: end every process there is.
Stopped by: the process namespace: there is nobody but ourselves.
"""

import os
import signal

from attempts import attempt, check

attempt("kill everybody", lambda: os.kill(-1, signal.SIGKILL))
attempt("kill the judge", lambda: os.kill(int(os.environ["HOST_PID"]), signal.SIGKILL))
check("still alive", True)
