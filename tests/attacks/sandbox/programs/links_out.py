"""Strategy: put links to the host's files where results might be looked for, and read or write through
them.
Stopped by: nothing outside is mounted, and the judge opens no file that a job made.
"""

import contextlib
import os

from attempts import HOME, attempt


def write_through(link):
    def call():
        with open(link, "a") as stream:
            stream.write("x")

    return call


os.mkdir(f"{HOME}/results")
for number, target in enumerate(
    (
        os.environ["HOST_FILE"],
        "/etc/shadow",
        "../../../../../../root/.ssh/authorized_keys",
        "/proc/1/root/etc/passwd",
        "/proc/1/cwd/x",
        "/proc/1/fd/3",
    )
):
    link = f"{HOME}/results/{number}"
    with contextlib.suppress(PermissionError):  # where links are refused there is none to read
        os.symlink(target, link)
    attempt(f"read {target} through a link", lambda link=link: open(link).read())
    attempt(f"write {target} through a link", write_through(link))
attempt("hard link to a system file", lambda: os.link("/usr/bin/env", f"{HOME}/results/env"))
attempt("hard link to process 1's program", lambda: os.link("/proc/1/exe", f"{HOME}/results/exe"))
