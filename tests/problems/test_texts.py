"""What a problem says to people: complete, about its own arguments, and typeset without a mistake."""

from __future__ import annotations

import re

import pytest

from problems import Language, Problem
from problems.tools.texts import text_objections
from tests.problems.every import each_problem


@each_problem
def test_the_texts_are_complete_and_typeset(problem: Problem):
    assert text_objections(problem) == []


@each_problem
def test_title_and_summary_fit_a_catalogue_row(problem: Problem):
    assert 0 < len(problem.title) <= 40
    assert problem.summary.endswith(".")
    assert len(problem.summary) <= 110
    assert problem.tags
    assert problem.models


@pytest.mark.parametrize("language", list(Language))
@each_problem
def test_a_starter_exists_for_every_language_and_says_what_is_missing(
    problem: Problem, language: Language
):
    starter = problem.starter(language)
    assert "TODO" in starter
    for name in problem.argument_names:
        assert re.search(rf"^    {name} +(None, or )?\(", starter, re.MULTILINE), name
