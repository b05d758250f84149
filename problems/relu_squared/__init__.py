"""Squared ReLU, backward."""
