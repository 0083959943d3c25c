"""Padding of frameworks: conventions, which of them a model fits, and other padding for it."""
