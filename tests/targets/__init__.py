"""Tests of what other runtimes take, and of the writing that they accept."""
