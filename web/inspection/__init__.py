"""A look inside a submission's kernels: what they compile to, line by line, and two of them compared."""
