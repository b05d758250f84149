"""Fair use: how often somebody may post, and how long they wait when it is too often."""
