"""A look inside a submission's kernels without a GPU. Everything shown is evidence, not a verdict."""
