"""Tests, and what they share."""
