"""Strategy: fetch the machine's credentials from the cloud's metadata service.
Stopped by: no network, and no socket of any family.
"""

import socket
import urllib.request

from attempts import attempt

for host in ("169.254.169.254", "169.254.170.2", "100.100.100.200", "[fd00:ec2::254]"):
    attempt(host, lambda host=host: urllib.request.urlopen(f"http://{host}/", timeout=2))
attempt(
    "by UDP",
    lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("169.254.169.254", 53)),
)
