"""A starter is a valid submission with a wrong gradient: it teaches the form and shows a verdict."""

from __future__ import annotations

import ast

import pytest

from problems import Language, Problem
from problems.pairs import functions_of
from problems.spec import Gradients
from problems.tools.solutions import gradients_of, starter_file
from tests.problems.every import each_problem

SEED = 11
each_language = pytest.mark.parametrize("language", list(Language))


def gradients_by_case(problem: Problem, language: Language) -> dict[str, Gradients]:
    names = [c.name for c in problem.cases]
    pairs = [(name, SEED) for name in names]
    found, _ = gradients_of(problem, starter_file(problem, language), pairs)
    return dict(zip(names, found, strict=True))


@each_language
@each_problem
def test_functions_take_exactly_what_the_problem_says(problem: Problem, language: Language):
    module = ast.parse(problem.starter(language))
    found = {n.name: n for n in module.body if isinstance(n, ast.FunctionDef)}
    for function in functions_of(problem):
        assert ast.unparse(found[function.name].args) == ", ".join(function.parameters)
        assert ast.get_docstring(found[function.name])


@each_language
@each_problem
def test_it_runs_on_every_case_and_returns_what_is_asked_for(problem: Problem, language: Language):
    results = gradients_by_case(problem, language)
    for case in problem.cases:
        for spec, got in zip(problem.gradients, results[case.name], strict=True):
            assert got.dtype is spec.dtype, (case.name, spec.name)
            assert tuple(got.shape) == problem.gradient_shape(spec, case.dims), case.name


@each_language
@each_problem
def test_its_gradient_is_plainly_wrong_in_a_public_case_but_not_nothing(
    problem: Problem, language: Language
):
    results = gradients_by_case(problem, language)
    errors = []
    for case in (c for c in problem.cases if c.public):
        references = problem.reference(problem.make_arguments(case, SEED))
        for got, reference in zip(results[case.name], references, strict=True):
            if reference.any():
                errors.append(float((got - reference).norm() / reference.norm()))
    assert max(errors) > 0.1
    assert any(bool(g.any()) for grads in results.values() for g in grads)
