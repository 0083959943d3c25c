"""Transposed convolutions: how much of their full result is cropped, and what crops it."""
