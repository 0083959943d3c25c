"""Padding of frameworks: their conventions, which of them a model fits, and other padding for it.

The rewriting of a model knows nothing of all this.
"""
