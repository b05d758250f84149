"""Runners: what they say of themselves, which hardware is there, and the page that shows it."""
