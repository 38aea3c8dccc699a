"""The search of all combinations of candidates: partitions, tests, clauses, bounds, branches."""
