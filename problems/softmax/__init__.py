"""Softmax, backward."""
