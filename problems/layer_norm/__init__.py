"""Layer normalisation, backward."""
