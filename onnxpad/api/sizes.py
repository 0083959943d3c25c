"""Sizes for models of which only some have the input or the dimension."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from msgspec.structs import replace

from onnxpad.arguments import dims_given, shapes_given
from onnxpad.errors import Lacking, MismatchError, OnnxpadError, UsageError, few, meant
from onnxpad.options import Configured

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


def held(config: Configured | None, lacking: Lacking) -> Configured | None:
    """A configuration as it holds for a model: without the sizes for which that has no place."""
    if config is None or not lacking:
        return config
    given = config.options.get("dim", ())
    dims = tuple(each for each in given if ("dims", each.rpartition("=")[0]) not in lacking)
    said = {key: each for key, each in {**config.options, "dim": dims}.items() if each}
    return replace(config, options=said) if said else None


def lacks(
    models: Iterable[Path], options: Mapping[str, Any], *, of_some: bool = False
) -> Iterator[str]:
    """A line for each size among the options for which no model has a place.

    Or for which `of_some` have other names alone. Models are read until each size has one; those
    that cannot be read have nothing.
    """
    sizes = {kind: each for kind in _READ if (each := options.get(kind))}
    if not sizes:
        return
    from onnxpad.facts.recorded import given_domain
    from onnxpad.graph import Graph

    found = dict[str, Lacking]()
    missing = {(kind, name) for kind, each in sizes.items() for name in _READ[kind](each)}
    for model in models:
        lacking: Lacking = {}  # where sizes contradict each other: it has the names
        try:
            with suppress(MismatchError):
                lacking = with_sizes(partial(given_domain, Graph.read(model)), sizes)[1]
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
