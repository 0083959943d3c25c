"""Sizes for models of which only some have the input or the dimension."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from onnxpad.errors import MismatchError, UsageError

R = TypeVar("R")
Lacking = Mapping[tuple[str, str], str]
"""What a model lacks of the sizes given, by `shapes` or `dims` and the name, with what to tell."""


def with_sizes(ask: Callable[..., R], options: Mapping[str, Any]) -> tuple[R, Lacking]:
    """The result of a call with those sizes among its options whose name the model has.

    Raises:
        MismatchError: A size contradicts the model.
    """
    lacking: dict[tuple[str, str], str] = {}
    while True:
        sizes = {
            kind: {
                name: each for name, each in options[kind].items() if (kind, name) not in lacking
            }
            for kind in options.keys() & {"shapes", "dims"}
        }
        try:
            return ask(**{**options, **sizes}), lacking
        except MismatchError as error:
            if not error.missing.keys() - lacking.keys():
                raise
            lacking |= error.missing


def require_used(models: Sequence[Lacking]) -> None:
    """Raises UsageError if all models lack a size, for each of which `with_sizes` said so."""
    for key, told in (models[0] if models else {}).items():
        if all(key in each for each in models):
            raise UsageError(f"none of {len(models):,} models: {told}" if models[1:] else told)
