"""Lessons: what many backwards have in common, each tied to problems that need it."""
