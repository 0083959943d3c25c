"""A night's search with fresh seeds: `python -m tests.soak --minutes 60`."""
