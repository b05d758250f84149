"""The reference solutions are correct on every case, in both languages, and compile for a GPU."""

from __future__ import annotations

import ast

import pytest
import torch

from problems import Language, Problem
from problems.spec import Case
from tests.kernels.running import SEED, compiled_kernels, gradients_of, solution_path
from tests.problems.every import each_case, each_problem

each_language = pytest.mark.parametrize("language", list(Language))


@each_language
@each_case
def test_every_gradient_is_within_rounding_of_the_closed_form(
    problem: Problem, case: Case, language: Language
):
    results = gradients_of(problem, solution_path(problem, language), language)[case.name]
    references = problem.reference(problem.make_arguments(case, SEED))
    for spec, got, reference in zip(problem.gradients, results, references, strict=True):
        assert got.dtype is spec.dtype, spec.name
        assert got.shape == reference.shape, spec.name
        # Half an ulp is up to 2⁻⁸ of a bfloat16. Float32 sums and cancellations lose some of their
        # 24 bits, which counts against the largest element.
        half_ulp = 2**-8 if spec.dtype is torch.bfloat16 else 2**-24
        allowed = 1.01 * half_ulp * reference.abs() + 1e-5 * reference.abs().max()
        error = (got.to(torch.float64) - reference).abs()
        assert bool((error <= allowed).all()), (spec.name, float(error.max()))


@each_language
@each_problem
def test_backward_has_the_signature_and_a_docstring(problem: Problem, language: Language):
    source = solution_path(problem, language).read_text(encoding="utf-8")
    module = ast.parse(source)
    functions = {n.name: n for n in module.body if isinstance(n, ast.FunctionDef)}
    backward = functions["backward"]
    assert ast.unparse(backward.args) == ", ".join(a.name for a in problem.arguments)
    assert ast.get_docstring(module)
    assert ast.get_docstring(backward)


@each_problem
def test_the_triton_solution_compiles_for_a_gpu_with_wide_loads(problem: Problem):
    kernels = compiled_kernels(problem, solution_path(problem, Language.TRITON))
    assert kernels
    # 16 bytes a thread: what a contiguous tensor must be read with for full bandwidth.
    assert any("v4.b32" in ptx for ptx in kernels.values())


@each_problem
def test_solutions_import_nothing_of_ours(problem: Problem):
    for language in Language:
        source = solution_path(problem, language).read_text(encoding="utf-8")
        imported = {
            name.split(".")[0] for node in ast.walk(ast.parse(source)) for name in _imports(node)
        }
        assert imported <= {"torch", "triton", "math", "functools"}, language


def _imports(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return []
