"""Authors' tools: what checks a problem before and after it is finished. See docs/adding-a-problem.md.

Tests use the same functions, so what `python -m problems check` finds is what the tests find. Nothing
that a site or a judge runs imports this package; it may therefore import the judge's criterion.
"""
