"""The library's calls: fix, check and validate."""
