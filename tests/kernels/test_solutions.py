"""Reference solutions are right on every case; those in Triton compile for GPUs without spilling."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import torch

from problems import Language, Problem
from problems.pairs import functions_of
from problems.spec import Case, Gradients, Tensors
from problems.tools.solutions import compiled, gradients_of, language_of, solution_files
from tests.problems.every import PROBLEMS, each_problem

SEED = 11
FILES = [(p, file) for p in PROBLEMS for file in solution_files(p)]
TRITON = [(p, file) for p, file in FILES if language_of(file) is Language.TRITON]


def _id(pair: tuple[Problem, Path]) -> str:
    return f"{pair[0].slug}-{pair[1].stem}"


CASES = [(p, file, c) for p, file in FILES for c in p.cases]
each_file = pytest.mark.parametrize(("problem", "file"), FILES, ids=map(_id, FILES))
each_triton_file = pytest.mark.parametrize(("problem", "file"), TRITON, ids=map(_id, TRITON))
each_case_of_each_file = pytest.mark.parametrize(
    ("problem", "file", "case"), CASES, ids=[f"{p.slug}-{c.name}-{f.stem}" for p, f, c in CASES]
)


def gradients_by_case(problem: Problem, file: Path) -> dict[str, Gradients]:
    names = [c.name for c in problem.cases]
    found, _ = gradients_of(problem, file, [(name, SEED) for name in names])
    return dict(zip(names, found, strict=True))


def rounded_before_products(
    problem: Problem, arguments: Tensors, references: Gradients
) -> tuple[float, ...]:
    """What rounding matrices between two products leaves: twice the plain backward's largest error."""
    if not problem.chained_products:
        return (0.0,) * len(references)
    pairs = zip(problem.baseline(**arguments), references, strict=True)
    return tuple(2 * float((b.to(torch.float64) - r).abs().max()) for b, r in pairs)


@each_problem
def test_there_is_a_solution_in_each_language(problem: Problem):
    assert {f"{language}.py" for language in Language} <= {f.name for f in solution_files(problem)}


@each_case_of_each_file
def test_every_gradient_is_within_rounding_of_the_closed_form(
    problem: Problem, file: Path, case: Case
):
    results = gradients_by_case(problem, file)[case.name]
    arguments = problem.make_arguments(case, SEED)
    references = problem.reference(arguments)
    inside = rounded_before_products(problem, arguments, references)
    for spec, got, reference, rounded in zip(
        problem.gradients, results, references, inside, strict=True
    ):
        assert got.dtype is spec.dtype, spec.name
        assert got.shape == reference.shape, spec.name
        # Half an ulp is up to 2⁻⁸ of a bfloat16. Float32 sums and cancellations lose some of their
        # 24 bits, which counts against the largest element.
        half_ulp = 2**-8 if spec.dtype is torch.bfloat16 else 2**-24
        allowed = 1.01 * half_ulp * reference.abs() + 1e-5 * reference.abs().max() + rounded
        error = (got.to(torch.float64) - reference).abs()
        assert bool((error <= allowed).all()), (spec.name, float(error.max()))


@each_file
def test_functions_have_the_signature_and_a_docstring(problem: Problem, file: Path):
    module = ast.parse(file.read_text(encoding="utf-8"))
    found = {n.name: n for n in module.body if isinstance(n, ast.FunctionDef)}
    assert ast.get_docstring(module)
    for function in functions_of(problem):
        assert ast.unparse(found[function.name].args) == ", ".join(function.parameters)
        assert ast.get_docstring(found[function.name])


@each_triton_file
def test_a_triton_solution_compiles_for_gpus_with_wide_loads_and_spills_no_register(
    problem: Problem, file: Path
):
    kernels = compiled(problem.slug, file)
    assert {k.benchmark for k in kernels} == {b.name for b in problem.benchmarks["gpu"]}
    assert [k for k in kernels if k.spilled] == []
    # 16 bytes a thread: what a contiguous tensor must be read with for full bandwidth.
    assert any(k.wide_loads for k in kernels)


@each_file
def test_solutions_import_nothing_of_ours(problem: Problem, file: Path):
    source = file.read_text(encoding="utf-8")
    imported = {
        name.split(".")[0] for node in ast.walk(ast.parse(source)) for name in _imports(node)
    }
    assert imported <= {"torch", "triton", "math", "functools"}


def _imports(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return []
