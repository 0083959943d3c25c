"""Models with everything taken away that a fault does not need."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import onnx
from google.protobuf.message import Message  # type: ignore[import-untyped]

from tests.random_models.shrink import shrink

ELEMENTS: Final = 64
"""Most elements of a list of numbers that are taken away one by one."""

Step: TypeAlias = tuple[str, int | None]


def smallest(
    model: onnx.ModelProto,
    still: Callable[[onnx.ModelProto], bool],
    seconds: float,
    *,
    damaged: bool = False,
) -> onnx.ModelProto:
    """The smallest model found in a time that is wrong as a first one is; any part of a damaged one
    may go, of others only what leaves them whole.
    """
    end = time.monotonic() + seconds

    def in_time(smaller: onnx.ModelProto) -> bool:
        return time.monotonic() < end and still(smaller)

    with contextlib.suppress(*(ValueError, IndexError, TypeError) if damaged else ()):
        model = shrink(model, in_time)
    return trimmed(model, in_time) if damaged else model


def trimmed(model: onnx.ModelProto, still: Callable[[onnx.ModelProto], bool]) -> onnx.ModelProto:
    """The model without any part that is not needed, of whatever kind: nodes, fields, elements."""
    improved = True
    while improved:
        improved, at = False, 0
        while at < len(places := list(_parts(model))):
            smaller = onnx.ModelProto()
            smaller.CopyFrom(model)
            _cut(smaller, places[at])
            if still(smaller):
                model, improved = smaller, True
            else:
                at += 1
    return model


def _parts(message: Message, path: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    """Where something can be taken away, the largest things first."""
    inner: list[tuple[Message, tuple[Step, ...]]] = []
    for field, value in message.ListFields():
        if isinstance(value, Message):
            yield (*path, (field.name, None))
            inner.append((value, (*path, (field.name, None))))
        elif isinstance(value, str | bytes | int | float):
            if path and field.name not in ("name", "op_type", "type", "elem_type", "data_type"):
                yield (*path, (field.name, None))
        elif len(value) and isinstance(value[0], Message):
            places = [(*path, (field.name, index)) for index in range(len(value))]
            yield from reversed(places)
            inner += zip(value, places, strict=True)
        elif len(value) <= ELEMENTS:
            yield from ((*path, (field.name, index)) for index in reversed(range(len(value))))
    for each, place in inner:
        yield from _parts(each, place)


def _cut(message: Any, path: Sequence[Step]) -> None:
    for name, index in path[:-1]:
        message = getattr(message, name) if index is None else getattr(message, name)[index]
    name, index = path[-1]
    if index is None:
        message.ClearField(name)
    else:
        del getattr(message, name)[index]
