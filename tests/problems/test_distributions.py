"""The shared value distributions are what their names say."""

from __future__ import annotations

import pytest
import torch

from problems import distributions as draw
from problems.distributions import Values

SHAPE = (40, 50)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("values", list(Values))
@pytest.mark.parametrize("function", [draw.activation, draw.upstream])
def test_values_are_float64_of_the_shape_asked_for_and_finite(function, values: Values):
    tensor = function(SHAPE, values, seeded())
    assert tensor.dtype is torch.float64
    assert tuple(tensor.shape) == SHAPE
    assert tensor.is_contiguous()
    assert bool(torch.isfinite(tensor).all())


@pytest.mark.parametrize("function", [draw.activation, draw.upstream])
def test_an_unknown_distribution_is_refused(function):
    with pytest.raises(ValueError, match="sideways"):
        function(SHAPE, "sideways", seeded())


@pytest.mark.parametrize(
    ("values", "activation_scale", "upstream_scale"),
    [
        (Values.NORMAL, 1.0, 1.0),
        (Values.LARGE, draw.LARGE, draw.LARGE),
        (Values.TINY, draw.TINY_ACTIVATION, draw.TINY_UPSTREAM),
    ],
)
def test_magnitudes_are_those_named(values: Values, activation_scale: float, upstream_scale: float):
    activation = float(draw.activation(SHAPE, values, seeded()).std())
    upstream = float(draw.upstream(SHAPE, values, seeded()).std())
    assert activation == pytest.approx(activation_scale, rel=0.1)
    assert upstream == pytest.approx(upstream_scale, rel=0.1)


def test_zero_and_one_hot_upstreams():
    assert not bool(draw.upstream(SHAPE, Values.ZERO_UPSTREAM, seeded()).any())
    hot = draw.upstream(SHAPE, Values.ONE_HOT_UPSTREAM, seeded())
    assert int((hot != 0).sum()) == 1


def test_ties_hold_zeros_and_equal_values():
    ties = draw.activation(SHAPE, Values.TIES, seeded())
    assert set(ties.view(-1).tolist()) == {-1.0, -0.5, 0.0, 0.5, 1.0}


def test_constant_rows_are_constant_and_differ():
    rows = draw.activation(SHAPE, Values.CONSTANT_ROWS, seeded())
    assert bool((rows == rows[:, :1]).all())
    assert len(set(rows[:, 0].tolist())) == SHAPE[0]


def test_weights_are_around_one_but_not_one():
    weight = draw.weight((1000,), seeded())
    assert float(weight.mean()) == pytest.approx(1.0, abs=0.1)
    assert not bool((weight == 1).any())
