"""Cross-entropy of a softmax over the vocabulary, backward."""
