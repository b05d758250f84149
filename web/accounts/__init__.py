"""People: the user model, and what happens to a visitor's runs when they log in."""
