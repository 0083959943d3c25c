"""A size that need not be known yet, and the arithmetic of sizes. Imports nothing of the package."""

from typing import TypeAlias


class Size:
    """Placeholder."""


class Unknown:
    """Placeholder."""


Extent: TypeAlias = int | Size | Unknown
