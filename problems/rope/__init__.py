"""Rotary position embedding, backward."""
