"""Runs the neighbourhood of one change, before and after."""
