"""Faults by step: the n-th call of the operating system fails, or the process ends there."""
