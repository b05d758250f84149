"""The authors' tools object to what is wrong with a problem, each to its own, and to nothing else."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from problems import Language, Problem, get_problem
from problems.mutants import Mutant
from problems.spec import Cost
from problems.tools.check import CHECKS, Outcome
from problems.tools.closed_forms import closed_form_objection, not_finite
from problems.tools.costs import cost_objections, ideal_traffic
from problems.tools.refusal import honest_objection, in_turn, mutant_objection
from problems.tools.solutions import (
    ROOT,
    Unfit,
    compiled,
    gradients_of,
    language_of,
    solution_files,
    traffic,
)
from problems.tools.texts import text_objections
from problems.tools.verdicts import judged

SOFTMAX = get_problem("softmax")
RELU = get_problem("relu_squared")
PLAIN = RELU.cases[0]

SPILLING = """
import torch
import triton
import triton.language as tl


@triton.jit
def _one_warp_for_a_whole_row(x_ptr, dx_ptr, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=tl.arange(0, BLOCK) < N, other=0.0).to(tl.float32)
    tl.store(dx_ptr + at, x - tl.sum(x), mask=tl.arange(0, BLOCK) < N)


def backward(grad_output, x):
    dx = torch.empty_like(x)
    M, N = x.shape
    _one_warp_for_a_whole_row[(M,)](x, dx, N, BLOCK=8192, num_warps=1)
    return dx
"""


def with_package(problem: Problem, folder: Path) -> Problem:
    """`problem` with a copy of its package, to be spoiled."""
    package = folder / problem.slug
    shutil.copytree(problem.package, package)
    return replace(problem, package=package)


def outcome_of(name: str, problem: Problem) -> Outcome:
    outcome = Outcome(name)
    (run,) = (run for check, run in CHECKS.items() if name in check)
    run(problem, outcome)
    return outcome


def test_a_closed_form_that_is_not_the_gradient_is_named_with_its_error():
    def wrong(**arguments: torch.Tensor):
        return (1.001 * RELU.closed_form(**arguments)[0],)

    said = closed_form_objection(replace(RELU, closed_form=wrong), PLAIN, 0)
    assert said.startswith("dx differs from autograd by 1.0e-03 in power_of_two")
    assert closed_form_objection(RELU, PLAIN, 0) == ""


def test_an_infinite_gradient_is_found_in_the_dtype_that_it_is_in():
    def overflowing(**arguments: torch.Tensor):
        return tuple((1e30 * g.float() * 1e30).to(g.dtype) for g in RELU.baseline(**arguments))

    assert not_finite(replace(RELU, baseline=overflowing), PLAIN, 0) == ["declared dtypes"]


def test_a_cost_model_that_counts_a_read_twice_is_named_for_every_shape():
    def twice(dims):
        return Cost(bytes=4 * dims["M"] * dims["N"] * 2, vector_flops=1)

    said = cost_objections(replace(RELU, cost=twice))
    assert len(said) == len(RELU.cases) + sum(map(len, RELU.benchmarks.values()))
    assert said[0] == "power_of_two: 16384 bytes, an ideal kernel moves 12288"


def test_the_reference_of_softmax_touches_exactly_what_the_cost_model_counts():
    (file,) = (f for f in solution_files(SOFTMAX) if f.stem == "triton")
    case = SOFTMAX.cases[0]
    moved, touched = traffic(SOFTMAX, file, case.name)
    assert moved == touched == ideal_traffic(SOFTMAX, case.dims)


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("statement", "| `x` | (M, N) | bfloat16", "| `x` | (N, M) | bfloat16", "must have a row"),
        ("statement", "\\max(", "\\maximum(", "has a command that MathML is not made of"),
        ("statement", "## Forward", "## Foreword", "must have the sections Forward, Given"),
        ("derivation", "## Step 3", "## Then", "has fewer than three steps"),
        ("special", "**Large tensors.**", "Costs $5.", "has a dollar sign without a partner"),
        ("hints", "## Hint 3", "## Last hint", "must have the sections Hint 1"),
    ],
)
def test_a_text_that_is_wrong_is_named_with_what_is_wrong(
    tmp_path: Path, name: str, old: str, new: str, said: str
):
    problem = with_package(RELU, tmp_path)
    path = problem.package / f"{name}.md"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    found = text_objections(problem)
    assert found
    assert all(o.startswith(f"{name}.md ") for o in found)
    assert any(said in o for o in found)


def test_a_missing_text_is_named(tmp_path: Path):
    problem = with_package(RELU, tmp_path)
    (problem.package / "special.md").unlink()
    assert text_objections(problem) == ["special.md is missing"]


def test_a_mutant_that_is_not_wrong_is_named_with_the_seed():
    honest = Mutant("nothing", "Nothing is wrong.", RELU.baseline, ("dx",))
    assert mutant_objection(RELU, honest, range(2)) == "dx passes every case on seed 0"


def test_an_honest_backward_that_is_refused_is_named_with_case_and_seed():
    def negative(**arguments: torch.Tensor):
        return tuple(-g for g in RELU.baseline(**arguments))

    said = honest_objection(RELU, negative, range(1))
    assert said == "dx is refused in power_of_two on seed 0"
    assert honest_objection(RELU, RELU.baseline, range(2)) == ""


def test_over_the_seeds_all_cases_take_turns():
    pairs = in_turn(RELU, range(20))
    assert {name for name, _ in pairs} == {c.name for c in RELU.cases}
    assert [seed for _, seed in pairs] == sorted(2 * list(range(20)))


def test_a_starter_that_solves_the_problem_is_objected_to(tmp_path: Path):
    problem = with_package(RELU, tmp_path)
    for file in solution_files(RELU):
        shutil.copy(file, problem.package / "starters")
    outcome = outcome_of("starters", problem)
    assert sorted(outcome.objections) == [
        "pytorch.py: every public case accepts it",
        "triton.py: every public case accepts it",
    ]


def test_a_starter_is_told_what_it_lacks():
    file = SOFTMAX.package / "starters" / "pytorch.py"
    found = judged(SOFTMAX, file, [(c.name, 0) for c in SOFTMAX.cases if c.public])
    assert found.diagnosis == "dx lacks the row's sum: − y · sum(dy · y)."
    assert "zero_upstream" not in found.wrong


def test_a_file_that_changes_its_argument_is_unfit(tmp_path: Path):
    file = tmp_path / "pytorch.py"
    file.write_text("def backward(grad_output, x):\n    return x.mul_(2)\n", encoding="utf-8")
    with pytest.raises(Unfit, match="power_of_two: x was changed"):
        gradients_of(RELU, file, [("power_of_two", 0)])


def test_gradients_that_share_memory_are_unfit(tmp_path: Path):
    file = tmp_path / "pytorch.py"
    source = (
        "import torch\n\n\ndef backward(grad_output, gate, up):\n"
        "    both = torch.zeros((2, *gate.shape), dtype=gate.dtype)\n    return both[0], both[1]\n"
    )
    file.write_text(source, encoding="utf-8")
    with pytest.raises(Unfit, match="gradients share memory"):
        gradients_of(get_problem("swiglu"), file, [("power_of_two", 0)])


def test_a_kernel_that_spills_is_found_out_without_a_gpu(tmp_path: Path):
    file = tmp_path / "triton.py"
    file.write_text(SPILLING, encoding="utf-8")
    (small, large) = compiled("relu_squared", file, (90,))
    assert {small.benchmark, large.benchmark} == {b.name for b in RELU.benchmarks["gpu"]}
    assert large.spilled > 0
    assert large.registers == 255


def test_a_file_that_does_not_compile_is_unfit_with_the_compilers_words(tmp_path: Path):
    file = tmp_path / "triton.py"
    file.write_text(SPILLING.replace("tl.sum(x)", "tl.nonsense(x)"), encoding="utf-8")
    with pytest.raises(Unfit, match="nonsense"):
        compiled("relu_squared", file, (90,))


def test_the_language_of_a_solution_is_the_first_word_of_its_name():
    assert language_of(Path("triton_atomics.py")) is Language.TRITON
    assert language_of(Path("pytorch.py")) is Language.PYTORCH
    assert all(f.is_relative_to(ROOT) for f in solution_files(RELU))
