"""The diagnosis names what is wrong with mutants, and never something else."""

from functools import cache

import pytest
import torch

from problems import all_problems, get_problem
from problems.mutants import mutants_of
from runner.compare import compare, expect
from runner.diagnosis import Failure, diagnose, findings

PROBLEMS = all_problems()
SEED = 5
MUTANTS = [pytest.param(p, m, id=f"{p.slug}-{m.name}") for p in PROBLEMS for m in mutants_of(p)]
RIGHT_AT_LEAST = 0.8


@cache
def cases_of(slug):
    problem = get_problem(slug)
    made = [(c, problem.make_arguments(c, SEED)) for c in problem.cases]
    return [(case, arguments, expect(problem, arguments)) for case, arguments in made]


def failures(problem, backward):
    found = []
    for case, arguments, expectation in cases_of(problem.slug):
        returned = backward(**arguments)
        reports = compare(problem, returned, expectation)
        if not all(r.passed for r in reports):
            wrong = tuple(not r.passed for r in reports)
            found.append(
                Failure(case.dims, arguments, tuple(returned), expectation.references, wrong)
            )
    return found


@cache
def kinds(slug, name):
    problem = get_problem(slug)
    mutant = next(m for m in mutants_of(problem) if m.name == name)
    torch.manual_seed(SEED)
    return {f.kind.value for f in findings(problem, failures(problem, mutant.backward))}


@pytest.mark.parametrize(("problem", "mutant"), MUTANTS)
def test_a_diagnosis_is_never_a_false_one(problem, mutant):
    expected = {mutant.diagnosis.value} if mutant.diagnosis else set()
    assert kinds(problem.slug, mutant.name) <= expected


def test_most_mutants_that_look_like_something_are_recognised():
    mutants = [(p.slug, m) for p in PROBLEMS for m in mutants_of(p)]
    known = [(slug, m.name, m.diagnosis.value) for slug, m in mutants if m.diagnosis]
    right = [name for slug, name, kind in known if kinds(slug, name) == {kind}]
    assert len(right) >= RIGHT_AT_LEAST * len(known)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.slug)
def test_noise_is_not_explained(problem):
    def backward(**arguments):
        generator = torch.Generator().manual_seed(1)
        return tuple(
            g + torch.randn(g.shape, generator=generator).to(g.dtype) * g.abs().amax()
            for g in problem.baseline(**arguments)
        )

    assert diagnose(problem, failures(problem, backward)) == ""


def test_nothing_wrong_is_nothing_to_say():
    assert diagnose(get_problem("linear"), []) == ""


@pytest.mark.parametrize(
    ("slug", "mistake", "said"),
    [
        ("rms_norm", "dweight_over_one_block", "dweight sums over the first"),
        ("softmax_cross_entropy", "mean_missing", "is the mean's 1/M missing?"),
        ("linear", "gradients_negative", "wrong sign"),
    ],
)
def test_the_sentence_says_what_to_look_at(slug, mistake, said):
    problem = get_problem(slug)
    named = {m.name: m.backward for m in mutants_of(problem)}
    backward = named.get(mistake, lambda **a: tuple(-g for g in problem.baseline(**a)))
    assert said in diagnose(problem, failures(problem, backward))
