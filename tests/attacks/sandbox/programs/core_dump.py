"""Strategy: have the kernel write a core file, full of whatever this process was shown, to a place of
one's choice.
Stopped by: RLIMIT_CORE is 0 and cannot be raised; who decides about the file is out of reach.
"""

import os
import resource
import signal

from attempts import HOME, attempt, check


def write(path, text):
    def call():
        with open(path, "w") as stream:
            stream.write(text)

    return call


def raise_limit(number, value):
    """What the module says in its own words is the system's refusal."""
    try:
        resource.setrlimit(number, (value, value))
    except ValueError as error:
        raise PermissionError(str(error)) from error


attempt("a larger limit", lambda: raise_limit(resource.RLIMIT_CORE, 1 << 20))
attempt("another pattern", write("/proc/sys/kernel/core_pattern", f"{HOME}/core"))
attempt("another filter for process 1", write("/proc/1/coredump_filter", "ff"))
for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGQUIT):
    child = os.fork()
    if child == 0:
        os.chdir(HOME)
        os.kill(os.getpid(), number)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    check(f"the child ended by signal {number}", os.WTERMSIG(status) == number)
check("no core file", not [name for name in os.listdir(HOME) if name.startswith("core")])
