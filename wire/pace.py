"""How quickly a site notices that something is gone. Web and runners must have the same values.

Shorter: a dead runner is noticed sooner, and more messages are sent for it. A lease has room for several
beats, so that one that is lost or late costs no attempt.
"""

from __future__ import annotations

import os


def _seconds(variable: str, default: float) -> float:
    text = os.environ.get(variable, "")
    try:
        seconds = float(text) if text else default
    except ValueError:
        raise ValueError(f"{variable} is {text!r}; give a number of seconds") from None
    if not 0 < seconds < 3600:
        raise ValueError(f"{variable} is {text}; give between 0 and 3600 seconds")
    return seconds


# A runner says that it lives this often, and loses its attempt when it has not for the lease.
BEAT_SECONDS = _seconds("BACKPASS_BEAT_SECONDS", 5)
LEASE_SECONDS = _seconds("BACKPASS_LEASE_SECONDS", 30)
# How often the web looks for what got lost.
SWEEP_SECONDS = _seconds("BACKPASS_SWEEP_SECONDS", 10)
# How long a job that was sent may stay unheard of before it is looked for.
PATIENCE_SECONDS = _seconds("BACKPASS_PATIENCE_SECONDS", 20)

if LEASE_SECONDS < 3 * BEAT_SECONDS:
    raise ValueError(
        f"BACKPASS_LEASE_SECONDS ({LEASE_SECONDS:g}) must be at least three times "
        f"BACKPASS_BEAT_SECONDS ({BEAT_SECONDS:g}), or one late beat costs an attempt"
    )
