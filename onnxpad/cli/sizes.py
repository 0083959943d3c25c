"""Sizes for models of which only some have the input or the dimension."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from onnxpad.errors import MismatchError, UsageError

R = TypeVar("R")

SIZES = {"shapes": "--shape", "dims": "--dim"}
"""Options that give sizes, as keys of a configuration too."""


def with_sizes(
    ask: Callable[..., R], sizes: Mapping[tuple[str, str], str], **keywords: Any
) -> tuple[R, dict[tuple[str, str], str]]:
    """The result of a call, given only those of some sizes whose name the model has.

    Args:
        ask: The call.
        sizes: The sizes, by `shapes` or `dims` and the name.
        keywords: What else it takes, with other sizes.

    Returns:
        The result, and what to tell of each size that the model lacks.

    Raises:
        MismatchError: A size contradicts the model, or one of the others is of nothing in it.
    """
    lacking: dict[tuple[str, str], str] = {}
    while True:
        given = {kind: dict(keywords.get(kind) or {}) for kind in SIZES}
        for (kind, name), text in sizes.items():
            if (kind, name) not in lacking:
                given[kind][name] = text
        try:
            return ask(**{**keywords, **given}), lacking
        except MismatchError as error:
            new = error.missing.keys() & sizes.keys() - lacking.keys()
            if not new:
                raise
            lacking |= {key: error.missing[key] for key in new}


class SharedSizes:
    """Sizes for several models; each model gets those whose input or dimension it has."""

    def __init__(self, shapes: Mapping[str, str], dims: Mapping[str, str]) -> None:
        """Keeps the sizes given by `--shape` and `--dim`, by name."""
        self.sizes = {("shapes", name): text for name, text in shapes.items()}
        self.sizes |= {("dims", name): text for name, text in dims.items()}
        self._lacking: dict[str, Mapping[tuple[str, str], str]] = {}

    def words(self, model: str) -> list[str]:
        """Those that a model took, as they are typed."""
        return [
            word
            for (kind, name), text in self.sizes.items()
            if (kind, name) not in self._lacking[model]
            for word in (SIZES[kind], f"{name}={text}" if name else text)
        ]

    def result_of(self, ask: Callable[..., R], model: Path) -> R:
        """The result of `ask` for one model, given only the sizes whose name it has."""
        try:
            result, self._lacking[str(model)] = with_sizes(partial(ask, model), self.sizes)
        except MismatchError:
            self._lacking[str(model)] = {}
            raise
        return result

    def require_used(self) -> None:
        """Raises unless each name is in at least one of the models that could be read.

        Raises:
            UsageError: A name is in none of them.
        """
        for kind, name in self.sizes:
            errors = [each.get((kind, name), "") for each in self._lacking.values()]
            if not errors or not all(errors):
                continue
            if len(errors) == 1:
                raise UsageError(errors[0])
            lacks = f"{'an input' if kind == 'shapes' else 'a dimension'} {name!r}"
            lacks = lacks if name else "a single input, which a shape without a name is about"
            raise UsageError(f"none of the {len(errors)} models has {lacks}")
