"""The library's calls for what a user adds: passes, and rows that declare custom operators."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TypeVar

from onnxpad import declared
from onnxpad.declared import Row
from onnxpad.errors import UsageError
from onnxpad.options import suggesting
from onnxpad.rewrite import registry
from onnxpad.rewrite.pass_api import Pass
from onnxpad.semantics.operators import OPERATORS

Extension = type[Pass] | Row
"""A pass or a declaration: all that can be registered."""
_T = TypeVar("_T", bound=Extension)


@suggesting
def register(one: _T, *, replace: bool = False) -> _T:
    """Adds a pass, or the row of an operator, to what `fix` and `check` know; also a decorator.

    It holds for the whole process, until `unregister`.

    Args:
        one: A subclass of `Pass`, or a `Row`.
        replace: Whether it takes the place of one of the same code, or of the same operator.

    Returns:
        The same object.

    Raises:
        UsageError: It is none of these, or malformed, or there is one already.
    """
    if isinstance(one, Row):
        if (one.domain, one.op_type) in OPERATORS:
            raise UsageError(f"onnxpad knows {declared.operator_name(one)} itself")
        declared.function_of(one)  # raises unless its body is one
        declared.declare(one, replace=replace)
    elif isinstance(one, type) and issubclass(one, Pass):
        registry.add(one, replace=replace)
    else:
        raise UsageError(f"register takes a subclass of onnxpad.Pass or a Row, not {one!r}")
    return one


def unregister(one: Extension) -> None:
    """Takes back what was registered; UsageError if it is not."""
    was_there = isinstance(one, type) and registry.remove(one)
    if not (was_there or (isinstance(one, Row) and declared.withdraw(one))):
        raise UsageError(f"{one!r} is not registered")


@contextmanager
def registered(*extensions: Extension) -> Iterator[None]:
    """Registers passes and declarations within a `with` block alone."""
    with ExitStack() as done:
        for one in extensions:
            register(one)
            done.callback(unregister, one)
        yield
