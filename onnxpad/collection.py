"""Garbage collection, paused where much is made and nothing dropped. Imports nothing."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """Without garbage collection: there is no garbage, and looking for it takes two thirds."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
