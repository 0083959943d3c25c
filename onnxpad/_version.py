"""The version of the package, which anything may tell."""

__version__ = "0.1.0"
