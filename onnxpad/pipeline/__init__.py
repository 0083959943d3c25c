"""Runs the passes: change by change, proved, probed, kept or undone."""
