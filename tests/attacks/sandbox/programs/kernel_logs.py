"""Strategy: read what the kernel and the system logged: addresses, names, commands.
Stopped by: the filter refuses syslog(2); the devices and folders are not there; the kernel shows its
addresses to nobody without privileges.
"""

import platform

from attempts import attempt, check, syscall

SYSLOG = 103 if platform.machine() == "x86_64" else 116


def read(path):
    def call():
        with open(path, "rb") as stream:
            found = stream.read(200)
        if not found:
            raise OSError("nothing is in it")
        return found

    return call


for action in (2, 3, 4, 9, 10):
    attempt(f"syslog {action}", syscall(SYSLOG, action, 0, 0))
for path in (
    "/dev/kmsg",
    "/proc/kmsg",
    "/proc/kcore",
    "/sys/kernel/debug/sched",
    "/sys/kernel/tracing/trace",
    "/sys/firmware/dmi/tables/DMI",
    "/sys/class/dmi/id/product_serial",
    "/var/log/syslog",
    "/var/log/journal",
    "/run/log/journal",
):
    attempt(path, read(path))
try:
    with open("/proc/kallsyms") as symbols:
        addresses = {symbols.readline().split()[0] for _ in range(50)}
except (OSError, IndexError):
    addresses = {"0"}
check("addresses of the kernel", all(int(address, 16) == 0 for address in addresses))
