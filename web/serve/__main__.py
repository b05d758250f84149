"""`python -m web.serve`: see `web.serve`."""

from __future__ import annotations

import sys

from web.serve.console import say
from web.serve.guard import run_guarded
from web.serve.instance import AlreadyRunning, Instance
from web.serve.options import parse
from web.serve.supervisor import Supervisor


def main() -> int:
    """The exit code: 0 after a stop that was asked for, 1 if serving was impossible."""
    options = parse()
    try:
        instance = Instance(options.data)
    except AlreadyRunning as reason:
        say(str(reason))
        return 1
    return run_guarded(Supervisor(options, instance).run)


if __name__ == "__main__":
    sys.exit(main())
