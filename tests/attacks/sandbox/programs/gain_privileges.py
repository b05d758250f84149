"""Strategy: become root by a setuid file, a device node, a user change, a new namespace.
Stopped by: no_new_privs, nosuid mounts, no capabilities, one mapped user.
"""

import contextlib
import os
import shutil
import subprocess

from attempts import HOME, attempt, check

own = os.getuid()
copy = f"{HOME}/id"
# Executable from the beginning: not everywhere may a mode be changed.
with (
    open("/usr/bin/id", "rb") as original,
    os.fdopen(os.open(copy, os.O_CREAT | os.O_WRONLY, 0o6755), "wb") as stream,
):
    shutil.copyfileobj(original, stream)
with contextlib.suppress(PermissionError):
    os.chmod(copy, 0o6755)
users = {subprocess.run([path, "-u"], capture_output=True).stdout for path in (copy, "/bin/id")}
check("setuid copy", users == {b"%d\n" % own} and own != 0)
for path in ("/bin/su", "/usr/bin/sudo", "/usr/bin/passwd", "/usr/bin/newuidmap"):
    if os.path.exists(path):
        code = "import os; print(os.geteuid())"
        result = subprocess.run([path, "-c", code], capture_output=True, stdin=subprocess.DEVNULL)
        check(path, result.returncode != 0)
attempt("setuid 0", lambda: os.setresuid(0, 0, 0))
attempt("setgid 0", lambda: os.setresgid(0, 0, 0))
attempt("other groups", lambda: os.setgroups([0]))
attempt("device node", lambda: os.mknod(f"{HOME}/disk", 0o60666, os.makedev(8, 0)))
attempt("give a file away", lambda: os.chown(copy, 0, 0))
