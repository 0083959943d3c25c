"""The library's call to compare padding conventions at one size."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from onnxpad.arguments import listed
from onnxpad.arithmetic.window import Window
from onnxpad.conventions.explanation import Explanation, explained
from onnxpad.conventions.question import OPS, Op, Question
from onnxpad.errors import UsageError
from onnxpad.messages import meant

__all__ = ["Explanation", "PerAxis", "explain"]

if TYPE_CHECKING:
    from onnxpad.arguments import ModelSource

PerAxis: TypeAlias = int | Sequence[int] | str
"""A number for all axes, or one for each; as text `3` or `3x5`."""

_MOST_AXES = 3
_LARGEST = 2**31 - 1
_LONGEST = 2**16


def explain(
    model: "ModelSource | None" = None,
    *,
    op: str | None = None,
    size: PerAxis | None = None,
    kernel: PerAxis | None = None,
    stride: PerAxis = 1,
    dilation: PerAxis = 1,
    padding: PerAxis | None = None,
    output_padding: PerAxis | None = None,
) -> Explanation:
    """Compare what each framework's convention pads and returns.

    Args:
        model: Not yet.
        op: `conv`, `maxpool`, `avgpool` or `convtranspose`.
        size: Elements of the data: one number for each spatial axis, as `(224, 160)` or `224x160`.
        kernel: Size of the window: a number for all axes, or one for each.
        stride: The same for the stride.
        dilation: The same for the dilation.
        padding: The same for the padding on both sides, for conventions that leave it to the user.
        output_padding: The same for the elements appended to a transposed convolution's output.

    Returns:
        The answer of each convention, and which of them agree.

    Raises:
        UsageError: A number is missing or makes no sense, or the operator is unknown.
    """
    for name, value in (("op", op), ("size", size), ("kernel", kernel)):
        if value is None:
            raise UsageError(f"{name} is missing; explain takes op, size and kernel")
    chosen = _op(op)
    sizes = _numbers("size", size, None, least=1)
    if len(sizes) > _MOST_AXES:
        raise UsageError(f"size has {len(sizes)} axes; there are operators of 1 to {_MOST_AXES}")
    each = (
        _numbers(name, value, sizes, least=1)
        for name, value in (("kernel", kernel), ("stride", stride), ("dilation", dilation))
    )
    windows = tuple(Window(*one) for one in zip(*each, strict=True))
    if chosen != "convtranspose" and output_padding is not None:
        raise UsageError(f"{chosen} has no output_padding; only convtranspose has")
    given = (
        None if value is None else _numbers(name, value, sizes, least=0)
        for name, value in (("padding", padding), ("output_padding", output_padding))
    )
    question = Question(chosen, sizes, windows, *given)
    return _answered(question)


def _answered(question: Question, node: str = "", model: str = "") -> Explanation:
    """The explanation of a question.

    Raises:
        UsageError: Its numbers are too large, or no convention has an output.
    """
    for axis in question.axes:
        window = axis.window
        if (
            max(window.extent, window.stride, axis.padding or 0, axis.output_padding or 0)
            > _LONGEST
        ):
            raise UsageError(
                f"the window is too long to explain: a kernel of {window.kernel}, stride "
                f"{window.stride} and dilation {window.dilation}; {_LONGEST} elements are the most"
            )
    found = explained(question, node, model)
    if not found.agree:
        raise UsageError(
            f"no convention has an output for {question.op} at size "
            f"{'x'.join(map(str, question.sizes))}; give a larger size or a smaller window"
        )
    return found


def _op(op: object) -> Op:
    for known in OPS:
        if op == known:
            return known
    raise UsageError(f"unknown op {op!r}; choose one of {', '.join(OPS)}{meant(op, OPS)}")


def _numbers(
    name: str, value: object, sizes: Sequence[int] | None, *, least: int
) -> tuple[int, ...]:
    """A number for each axis.

    Args:
        name: Name of the argument, for the message.
        value: The argument as given.
        sizes: Those of the axes; None if this is the argument that says how many there are.
        least: The least number that makes sense.
    """
    parts = value.split("x") if isinstance(value, str) else listed(value)
    many = list(parts) if isinstance(parts, Sequence) else [parts]
    found = []
    for part in many:
        text = part.strip() if isinstance(part, str) else part
        if isinstance(text, str) and text.removeprefix("-").isdecimal() and len(text) < 20:
            text = int(text)
        if not isinstance(text, int) or isinstance(text, bool):
            raise UsageError(
                f"{name} {value!r} is no number; give one, or one for each axis as 3x3"
            )
        if not least <= text <= _LARGEST:
            raise UsageError(f"{name} {text} is not from {least} to {_LARGEST}; give another")
        found.append(text)
    if not found:
        raise UsageError(f"{name} is empty; give a number, or one for each axis as 3x3")
    if sizes is not None and len(found) == 1:
        found *= len(sizes)
    if sizes is not None and len(found) != len(sizes):
        raise UsageError(
            f"{name} has {len(found)} axes and size has {len(sizes)}; give one number for all, or "
            "one for each"
        )
    return tuple(found)
