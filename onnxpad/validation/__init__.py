"""Running models to validate a rewrite: the original and the rewritten one, output by output."""
