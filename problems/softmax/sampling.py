"""What stands in softmax's tensors: rows that are nearly certain, masked rows, shifted upstreams."""

from __future__ import annotations

import torch

from problems import distributions as draw
from problems.distributions import Values
from problems.spec import Dims, Tensors

CONFIDENT = "confident"  # one element of each row holds nearly all of the probability
MASKED = "masked"  # a causal mask: exact zeros, in the first row all but one
SHIFTED_UPSTREAM = (
    "shifted_upstream"  # a constant in every upstream gradient, of which nothing stays
)

_MARGIN = 9.0  # of the likeliest logit: e⁹ is about 8000
_SHIFT = 16.0
_SPREAD = (
    3.0  # of logits where magnitudes are large: beyond that a row is one-hot and nothing is left
)


def sample(dims: Dims, values: str, generator: torch.Generator) -> Tensors:
    """x and grad_output in float64; besides the common distributions the three named above.

    LARGE and TINY are about the upstream gradient: softmax's output lies between 0 and 1 whatever x is.
    """
    shape = (dims["M"], dims["N"])
    own = values in (CONFIDENT, MASKED, SHIFTED_UPSTREAM)
    common = Values.NORMAL if own else values
    bounded = values in (Values.LARGE, Values.TINY)
    x = draw.activation(shape, Values.NORMAL if bounded else common, generator)
    grad_output = draw.upstream(shape, common, generator)
    if values == Values.LARGE:
        x = _SPREAD * x
    if values == CONFIDENT:
        place = torch.randint(dims["N"], (dims["M"], 1), generator=generator)
        x = x.scatter(1, place, _MARGIN)
    if values == MASKED:
        columns = torch.arange(dims["N"])[None, :]
        x = x.masked_fill(columns > torch.arange(dims["M"])[:, None], -torch.inf)
    if values == SHIFTED_UPSTREAM:
        grad_output = grad_output + _SHIFT
    return {"x": x, "grad_output": grad_output}
