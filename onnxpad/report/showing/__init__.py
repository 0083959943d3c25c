"""The report of `show`, as text and as JSON."""
