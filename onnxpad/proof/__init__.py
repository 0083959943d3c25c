"""Proof that a rewritten graph computes the same."""
