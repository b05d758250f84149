"""Root mean square normalisation, backward."""
