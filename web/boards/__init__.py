"""Leaderboards: one row for each user, problem and hardware, kept up to date with the verdicts."""
