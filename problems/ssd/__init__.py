"""Mamba-2's state space duality, backward: matrix products inside chunks, a recurrence between them."""
