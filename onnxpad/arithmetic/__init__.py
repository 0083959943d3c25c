"""Sliding windows and unknown sizes as pure arithmetic: no graph and no file."""
