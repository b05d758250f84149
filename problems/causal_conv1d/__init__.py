"""Causal depthwise convolution over time with SiLU, backward."""
