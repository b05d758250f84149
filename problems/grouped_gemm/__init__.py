"""The experts' matrix products of a mixture of experts, backward."""
