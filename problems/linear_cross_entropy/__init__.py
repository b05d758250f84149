"""A projection to the vocabulary and its cross-entropy as one, backward, without storing the logits."""
