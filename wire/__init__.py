"""What web and runner say to each other: the only thing they share.

The web knows the runner by task and queue names, the runner knows the web by one task name. Messages
are JSON; everything from a runner is data to be checked, never trusted for its shape.
"""
