"""Right gradients pass on every case, and each way of being wrong is seen by some measure."""

import math

import pytest
import torch

from problems import all_problems, get_problem
from problems.spec import Case
from runner.compare import compare, expect

PROBLEMS = all_problems()
CASES = [pytest.param(p, c, id=f"{p.slug}-{c.name}") for p in PROBLEMS for c in p.cases]
SEED = 20


def wide_case(problem):
    """A case with ordinary values and the most elements: enough for every measure to be taken."""
    ordinary = [c for c in problem.cases if c.values == "normal" and not c.layouts]
    return max(ordinary, key=lambda c: math.prod(c.dims.values()))


def judged(problem, case, change):
    """Reports on the plain PyTorch gradients after `change` was applied to the list of them."""
    arguments = problem.make_arguments(case, SEED)
    gradients = [g.clone() for g in problem.baseline(**arguments)]
    return compare(problem, change(gradients), expect(problem, arguments))


def to_first(function):
    return lambda gradients: [function(gradients[0]), *gradients[1:]]


@pytest.mark.parametrize(("problem", "case"), CASES)
def test_the_plain_pytorch_backward_passes_with_room_to_spare(problem, case):
    for report in judged(problem, case, lambda g: g):
        assert report.passed
        assert all(m.severity <= 0.7 for m in report.measures)


@pytest.mark.parametrize(("problem", "case"), CASES)
def test_the_closed_form_in_float32_passes(problem, case):
    arguments = problem.make_arguments(case, SEED)
    single = {n: t.float() if t.is_floating_point() else t for n, t in arguments.items()}
    gradients = [
        g.to(spec.dtype)
        for g, spec in zip(problem.closed_form(**single), problem.gradients, strict=True)
    ]
    assert all(r.passed for r in compare(problem, gradients, expect(problem, arguments)))


WRONG = {
    "zeros": torch.zeros_like,
    "the sign": lambda g: -g,
    "two percent too large": lambda g: g * 1.02,
    "NaN in one place": lambda g: g.index_fill(-1, torch.tensor([g.shape[-1] // 2]), math.nan),
    "infinite in one place": lambda g: g.index_fill(-1, torch.tensor([0]), math.inf),
    "half of it zero": lambda g: torch.cat([g[: len(g) // 2], torch.zeros_like(g[len(g) // 2 :])]),
    "the last column zero": lambda g: g.index_fill(-1, torch.tensor([g.shape[-1] - 1]), 0.0),
    "shifted by one": lambda g: g.roll(1, -1),
}


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.slug)
@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_gradient_is_refused_and_the_right_ones_beside_it_are_not(problem, kind):
    reports = judged(problem, wide_case(problem), to_first(WRONG[kind]))
    assert not reports[0].passed
    assert reports[0].wrong_count > 0
    assert reports[0].first_wrong is not None
    assert all(r.passed for r in reports[1:])


@pytest.mark.parametrize("index", range(3), ids=["dx", "dweight", "dbias"])
def test_each_gradient_is_judged_by_itself(index):
    problem = get_problem("linear")

    def spoil(gradients):
        gradients[index] = gradients[index] * 1.1
        return gradients

    reports = judged(problem, wide_case(problem), spoil)
    assert [r.passed for r in reports] == [i != index for i in range(3)]


def test_one_wrong_row_among_ten_thousand_is_found_where_it_is():
    problem = get_problem("relu_squared")
    case = Case(name="tall", dims={"M": 10_000, "N": 64}, why="")

    def spoil(gradients):
        gradients[0][4321] = 0
        return gradients

    (report,) = judged(problem, case, spoil)
    assert not report.passed
    assert report.first_wrong.index[0] == 4321
    assert report.wrong_count <= 64


def test_a_cross_entropy_that_never_reads_the_logits_is_refused():
    problem = get_problem("softmax_cross_entropy")
    case = Case(name="wide", dims={"M": 64, "V": 8192}, why="")
    arguments = problem.make_arguments(case, SEED)
    target = arguments["target"]
    counted = target != -100
    gradient = torch.zeros(64, 8192)
    rows = torch.arange(64)[counted]
    gradient[rows, target[counted]] = -float(arguments["grad_output"]) / int(counted.sum())
    (report,) = compare(problem, [gradient.bfloat16()], expect(problem, arguments))
    assert not report.passed
    failed = [m.name for m in report.measures if not m.passed]
    assert any("magnitude bin" in name for name in failed)


def test_a_weight_gradient_accumulated_in_bfloat16_is_refused():
    problem = get_problem("rms_norm")
    case = Case(name="tall", dims={"M": 512, "N": 256}, why="")
    arguments = problem.make_arguments(case, SEED)
    x_hat = arguments["x"].float() * arguments["rstd"][:, None]
    products = (arguments["grad_output"].float() * x_hat).bfloat16()
    total = torch.zeros(256, dtype=torch.bfloat16)
    for row in products:
        total += row
    dx, _ = problem.baseline(**arguments)
    right, wrong = compare(problem, [dx, total.float()], expect(problem, arguments))
    assert right.passed
    assert not wrong.passed


def test_the_heat_map_shows_which_rows_are_wrong():
    problem = get_problem("relu_squared")
    case = Case(name="tall", dims={"M": 160, "N": 64}, why="")

    def spoil(gradients):
        gradients[0][150:] += 1
        return gradients

    (report,) = judged(problem, case, spoil)
    heat = report.heat_map
    rows = [
        sum(heat.wrong_share[r * heat.columns : (r + 1) * heat.columns]) for r in range(heat.rows)
    ]
    assert heat.extent == (160, 64)
    assert rows[:-1] == [0] * (heat.rows - 1)
    assert rows[-1] == heat.columns


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.slug)
def test_reports_survive_json_without_nan(problem):
    import json

    from wire.verdict import CaseReport, Report, Verdict

    case = wide_case(problem)
    gradients = judged(problem, case, to_first(lambda g: torch.full_like(g, math.nan)))
    report = Report(
        verdict=Verdict.WRONG_GRADIENT,
        headline="",
        problem=problem.slug,
        problem_version=1,
        hardware="cpu",
        language="pytorch",
        mode="run",
        cases=(CaseReport("c", "", True, dict(case.dims), "bfloat16", False, 1, gradients),),
    )
    text = json.dumps(report.to_json(), allow_nan=False)
    assert json.loads(text)["cases"][0]["gradients"][0]["first_wrong"]["got"] == "nan"
