"""The library's calls for what a user adds: own passes, and declarations of own operators.

A `Pass` finds and rewrites. A `Row` declares a window operator of a custom domain: like which of
ONNX's operators its window slides, what its padding stands for, what pads it cannot have. A `Step`
declares an operator that a `Pad` can be moved past. All of them are objects that `register` takes,
so that a package can offer them as entry points too:

    [project.entry-points.onnxpad]
    fancy = "acme_onnx:FANCY_CONV"

An entry point is such an object, or a list of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import Final, TypeAlias, TypeVar

from onnxpad import declared
from onnxpad.declared import Row, Step
from onnxpad.errors import UsageError
from onnxpad.operators.table import OPERATORS
from onnxpad.pipeline import registry
from onnxpad.process import may_have_entry_points
from onnxpad.rewrite.pass_api import Pass

Extension: TypeAlias = type[Pass] | Row | Step
"""A pass or a declaration: all that can be registered."""
_T = TypeVar("_T", bound=Extension)

GROUP: Final = "onnxpad"
"""The group of entry points."""
_loaded: set[str] = set()


def register(one: _T, *, replace: bool = False) -> _T:
    """Adds a pass, or the declaration of an operator, to what `fix` and `check` know.

    It holds for the whole process, until `unregister`. This is a decorator for passes too.

    Args:
        one: A subclass of `Pass`, a `Row` or a `Step`.
        replace: Whether it takes the place of one of the same code, or of the same operator.

    Returns:
        The same object.

    Raises:
        UsageError: It is none of these, or malformed, or there is one already.
    """
    if isinstance(one, Row | Step):
        if (one.domain, one.op_type) in OPERATORS:
            raise UsageError(f"onnxpad knows {declared.operator_name(one)} itself")
        declared.function_of(one)  # raises unless its body is one
        declared.declare(one, replace=replace)
    elif isinstance(one, type) and issubclass(one, Pass):
        registry.add(one, replace=replace)
    else:
        raise UsageError(
            f"register takes a subclass of onnxpad.Pass, an onnxpad.Row or an onnxpad.Step, not "
            f"{one!r}"
        )
    return one


def unregister(one: Extension) -> None:
    """Takes back what was registered.

    Raises:
        UsageError: It is not registered.
    """
    if not isinstance(one, type | Row | Step):
        raise UsageError(f"unregister takes what was registered, not {one!r}")
    if not (declared.withdraw(one) if isinstance(one, Row | Step) else registry.remove(one)):
        raise UsageError(f"{one!r} is not registered")


@contextmanager
def registered(*extensions: Extension) -> Iterator[None]:
    """Registers passes and declarations within a `with` block alone."""
    done: list[Extension] = []
    try:
        for one in extensions:
            register(one)
            done.append(one)
        yield
    finally:
        for one in reversed(done):
            unregister(one)


def register_entry_points() -> None:
    """Registers what installed packages offer in the group `onnxpad`, once each.

    The command line does this; a program that uses the library calls it if it wants them.

    Raises:
        UsageError: An entry point cannot be loaded or registered; the message names it.
    """
    for each in entry_points(group=GROUP) if may_have_entry_points(GROUP) else ():
        place = f"{each.name} = {each.value}"
        if place in _loaded:
            continue
        package = "" if each.dist is None else f" of {each.dist.name} {each.dist.version}"
        try:
            found = each.load()
            for one in found if isinstance(found, list | tuple) else (found,):
                register(one)
        except Exception as error:  # whatever somebody's module raises
            raise UsageError(
                f"the entry point {place!r}{package} cannot be used "
                f"({type(error).__name__}: {error}); mend or uninstall that package"
            ) from error
        _loaded.add(place)
