"""Looking up rows of a table, backward: a scatter in which rows meet."""
