"""A linear recurrence with a decay for each step and channel, backward: the same scan, from the end."""
