"""RMSNorm, forward and backward: what is saved is chosen."""
