"""The gated linear unit with SiLU, backward."""
