"""Validation: runs the original and the rewritten model and compares their outputs."""
