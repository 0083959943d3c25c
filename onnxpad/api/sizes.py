"""Sizes for models of which only some have the input or the dimension."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from onnxpad.arguments import dims_given, shapes_given
from onnxpad.errors import Lacking, MismatchError, OnnxpadError, UsageError, few, meant

R = TypeVar("R")
_CALLED = {"shapes": "input", "dims": "dimension"}
_READ: Mapping[str, Callable[..., Any]] = {"shapes": shapes_given, "dims": dims_given}


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
            for kind, read in _READ.items()
            if (given := read(options.get(kind)))
        }
        try:
            return ask(**{**options, **sizes}), lacking
        except MismatchError as error:
            missing = error.missing.keys() - lacking.keys()
            if not missing or any(name in needed.get(kind, ()) for kind, name in missing):
                raise
            lacking |= error.missing


def require_sizes(models: Iterable[Path], options: Mapping[str, Any]) -> None:
    """Raises UsageError if no model has what a size among the options is for.

    Models are read until each size has one; those that cannot be read have nothing.
    """
    sizes = {kind: each for kind in _READ if (each := options.get(kind))}
    if not sizes:
        return
    from onnxpad.facts.recorded import given_domain
    from onnxpad.graph import Graph

    found = list[Lacking]()
    missing = {(kind, name) for kind, each in sizes.items() for name in _READ[kind](each)}
    for model in models:
        try:
            found.append(with_sizes(partial(given_domain, Graph.read(model)), sizes)[1])
        except MismatchError:  # it has the names
            return
        except (OSError, OnnxpadError):
            continue
        missing &= found[-1].keys()
        if not missing:
            return
    for (kind, name), (told, _) in (found[0] if found else {}).items():
        if (kind, name) in missing:
            known = dict.fromkeys(e for each in found for e in each[kind, name][1])
            if found[1:] and known:
                told = f"there is no {_CALLED[kind]} {name!r}; there is {few(map(repr, known), 8)}"
                told += meant(name, known)
            raise UsageError(f"none of {len(found):,} models: {told}" if found[1:] else told)
