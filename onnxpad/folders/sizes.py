"""Sizes for which none of several models has a place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from onnxpad.api.sizes import READ, with_sizes
from onnxpad.errors import Lacking, MismatchError, OnnxpadError, UsageError, few, meant

_CALLED = {"shapes": "input", "dims": "dimension"}


def lacks(
    models: Iterable[Path], options: Mapping[str, Any], *, of_some: bool = False
) -> Iterator[str]:
    """A line for each size among the options for which no model has a place.

    Or for which `of_some` have other names alone. Models are read until each size has one; those
    that cannot be read have nothing.
    """
    sizes = {kind: each for kind in READ if (each := options.get(kind))}
    if not sizes:
        return
    from onnxpad.facts.recorded import given_domain
    from onnxpad.graph import Graph

    found = dict[str, Lacking]()
    missing = {(kind, name) for kind, each in sizes.items() for name in READ[kind](each)}
    for model in models:
        try:
            lacking = with_sizes(partial(given_domain, Graph.read(model)), sizes)[1]
        except MismatchError:  # it has the names
            lacking = {}
        except (OSError, OnnxpadError):
            continue
        found[str(model)] = lacking
        missing &= lacking.keys()
        if not (missing or of_some):
            return
    for size in dict.fromkeys(each for lacking in found.values() for each in lacking):
        every = {model: lacking[size] for model, lacking in found.items() if size in lacking}
        by = every if size in missing else {e: it for e, it in every.items() if of_some and it[1]}
        if by:
            (kind, name), (told, _), *others = size, *by.values()
            known = dict.fromkeys(each for _, names in by.values() for each in names)
            if others and known:
                told = f"there is no {_CALLED[kind]} {name!r}; there is {few(map(repr, known), 8)}"
                told += meant(name, known)
            where = f"none of {len(by):,} models" if size in missing else few(by, 3)
            yield f"{where}: {told}" if len(found) > 1 else told


def require_sizes(models: Iterable[Path], options: Mapping[str, Any]) -> None:
    """Raises UsageError if no model has what a size among the options is for."""
    for line in lacks(models, options):
        raise UsageError(line)
