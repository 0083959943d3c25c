"""The public calls of the library: fix, check and validate."""
