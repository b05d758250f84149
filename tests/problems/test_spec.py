"""What follows from a problem's declaration: signature, sizes, costs, benchmarks."""

from __future__ import annotations

import torch

from problems import Problem, get_problem
from problems.spec import Cost, Role, dimensions_of, lengths, widen
from problems.tools.costs import cost_objections
from tests.problems.every import each_problem


@each_problem
def test_the_upstream_gradient_is_the_first_argument(problem: Problem):
    roles = [a.role for a in problem.arguments]
    assert roles[0] is Role.GRAD_OUTPUT
    assert roles.count(Role.GRAD_OUTPUT) == 1


PARAMETERS = {"weight", "bias"}


@each_problem
def test_activations_keep_their_dtype_and_parameter_gradients_are_float32(problem: Problem):
    upstream = problem.arguments[0]
    dtypes = {a.name: a.dtype for a in problem.arguments}
    for gradient in problem.gradients:
        # An activation that backward is not given has the dtype of the output.
        activation = dtypes.get(gradient.wrt, upstream.dtype)
        parameters = PARAMETERS if problem.pair is None else problem.pair.parameters
        wanted = torch.float32 if gradient.wrt in parameters else activation
        assert gradient.dtype is wanted, gradient.name
    for argument in problem.arguments:
        if argument.role is Role.SAVED:
            # Row statistics are few and precious; a whole saved output is an activation.
            is_statistic = len(argument.shape) < len(upstream.shape) or not upstream.shape
            wanted = torch.float32 if is_statistic else upstream.dtype
            assert argument.dtype is wanted, argument.name


@each_problem
def test_gradients_are_those_of_forward_inputs(problem: Problem):
    inputs = problem.make_forward_inputs(problem.cases[0], 0)
    for gradient in problem.gradients:
        assert gradient.wrt in inputs
        assert gradient.name == f"d{gradient.wrt}"


@each_problem
def test_the_package_is_named_after_the_slug(problem: Problem):
    assert problem.package.name == problem.slug
    assert problem.url_slug == problem.slug.replace("_", "-")
    assert get_problem(problem.url_slug) is problem


@each_problem
def test_least_traffic_is_each_argument_read_once_and_each_gradient_written_once(problem: Problem):
    assert cost_objections(problem) == []


@each_problem
def test_benchmarks_name_models_and_differ(problem: Problem):
    assert set(problem.benchmarks) == {"cpu", "gpu"} | ({"interpreter"} if problem.pair else set())
    names = {d for a in problem.arguments for entry in a.shape for d in dimensions_of(entry)}
    for group in problem.benchmarks.values():
        assert len(group) >= 2
        assert len({b.name for b in group}) == len({(*b.dims.items(), b.values) for b in group})
        assert len({b.name for b in group}) == len(group)
        for benchmark in group:
            assert set(benchmark.dims) == names
            assert benchmark.model


def test_a_signature_reads_like_the_function_to_write():
    assert get_problem("rms_norm").signature == (
        "backward(grad_output, x, weight, rstd) -> dx, dweight"
    )
    assert get_problem("relu_squared").signature == "backward(grad_output, x) -> dx"


def test_output_bytes_count_every_gradient_in_its_dtype():
    dims = {"M": 3, "N": 5}
    assert get_problem("rms_norm").output_bytes(dims) == 3 * 5 * 2 + 5 * 4


def test_a_shape_is_labelled_by_its_dimensions():
    assert get_problem("rms_norm").cases[0].shape_label == "M=16 × N=128"
    assert get_problem("rms_norm").benchmarks["cpu"][0].shape_label == "M=1024 × N=4096"


def test_arithmetic_intensity_is_flops_for_each_byte():
    assert Cost(bytes=4, vector_flops=2, matrix_flops=6).arithmetic_intensity == 2.0


def test_the_reference_is_computed_on_the_rounded_saved_tensors():
    problem = get_problem("rms_norm")
    arguments = problem.make_arguments(problem.cases[1], 0)
    moved = {**arguments, "rstd": arguments["rstd"] * 2}
    dweight, doubled = problem.reference(arguments)[1], problem.reference(moved)[1]
    torch.testing.assert_close(doubled, 2 * dweight, rtol=1e-12, atol=0)


def test_widening_changes_floating_tensors_only_and_leaves_no_layout():
    wide = widen(torch.randn(4, 3, dtype=torch.bfloat16).T)
    assert wide.dtype is torch.float64
    assert wide.is_contiguous()
    integers = torch.arange(3)
    assert widen(integers) is integers


def test_an_entry_of_a_shape_may_be_a_multiple_of_a_dimension():
    dims = {"M": 5, "P": 3}
    assert lengths(("M", "2P", "P", "10P"), dims) == (5, 6, 3, 30)
    assert lengths(("M*P", "P+1", "2P+M"), dims) == (15, 4, 11)
    assert [dimensions_of(entry) for entry in ("M", "2P", "M*P", "P+1")] == [
        ("M",),
        ("P",),
        ("M", "P"),
        ("P",),
    ]
    assert lengths((), dims) == ()
