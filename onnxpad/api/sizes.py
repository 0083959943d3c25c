"""Sizes for models of which only some have the input or the dimension."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from msgspec.structs import replace

from onnxpad.arguments import dims_given, shapes_given
from onnxpad.errors import Lacking, MismatchError
from onnxpad.options import Configured

R = TypeVar("R")
READ: Mapping[str, Callable[..., Any]] = {"shapes": shapes_given, "dims": dims_given}
"""What reads sizes by what they are called among the options."""


def with_sizes(
    ask: Callable[..., R],
    options: Mapping[str, Any],
    needed: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[R, Lacking]:
    """The result of a call with those sizes among its options for which the model has a place.

    That is an input or a dimension of the name that is open, or of that size.

    Raises:
        MismatchError: The model has none for a size that is needed, or sizes contradict each other.
    """
    lacking: dict[tuple[str, str], tuple[str, Sequence[str]]] = {}
    while True:
        sizes = {
            kind: {name: size for name, size in given.items() if (kind, name) not in lacking}
            for kind, read in READ.items()
            if (given := read(options.get(kind)))
        }
        try:
            return ask(**{**options, **sizes}), lacking
        except MismatchError as error:
            missing = error.missing.keys() - lacking.keys()
            if not missing or any(name in needed.get(kind, ()) for kind, name in missing):
                raise
            lacking |= error.missing


def held(config: Configured | None, lacking: Lacking) -> Configured | None:
    """A configuration as it holds for a model: without the sizes for which that has no place."""
    if config is None or not lacking:
        return config
    given = config.options.get("dim", ())
    dims = tuple(each for each in given if ("dims", each.rpartition("=")[0]) not in lacking)
    said = {key: each for key, each in {**config.options, "dim": dims}.items() if each}
    return replace(config, options=said) if said else None
