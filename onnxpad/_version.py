"""The version of the package, which anything may tell."""

from __future__ import annotations

__version__ = "0.1.0"
