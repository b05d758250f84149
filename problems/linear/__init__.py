"""The linear layer, backward."""
