"""Backpass's problems: what is asked. Nothing here knows of the web or the judge."""

from problems.registry import UnknownProblem, all_problems, get_problem
from problems.spec import Language, Problem

__all__ = ["Language", "Problem", "UnknownProblem", "all_problems", "get_problem"]
