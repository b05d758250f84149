"""Causal attention with grouped queries over packed documents, backward."""
