"""The library's call to compare padding conventions at one size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from onnxpad.arguments import Dims, ModelSource, Shapes, listed, whole_number
from onnxpad.arithmetic.window import Window
from onnxpad.errors import UsageError, meant
from onnxpad.frameworks.conventions.explanation import About, ExplainReport, explained
from onnxpad.frameworks.conventions.question import OPS, Question
from onnxpad.options import suggesting
from onnxpad.report import Report

PerAxis = int | Sequence[int] | str
"""A number for all axes, or one for each; as text `3` or `3x5`."""

_ASKED = "give --op, --size and --kernel, or a model and --node (onnxpad show lists the names)"
_MOST_AXES = 3
_LARGEST = 2**31 - 1
_MOST = 2**14, 2**12, _LARGEST
"""The longest kernel or padding, and the greatest stride and size."""


class Explanation(ExplainReport, Report, frozen=True):
    """The result of `explain`: all conventions for one operator at its size."""

    __repr__ = Report.__repr__


@suggesting
def explain(
    model: ModelSource | None = None,
    *,
    node: str | None = None,
    op: str | None = None,
    size: PerAxis | None = None,
    kernel: PerAxis | None = None,
    stride: PerAxis | None = None,
    dilation: PerAxis | None = None,
    padding: PerAxis | None = None,
    output_padding: PerAxis | None = None,
    output_size: PerAxis | None = None,
    shapes: Shapes | None = None,
    dims: Dims | None = None,
) -> Explanation:
    """Compare what each framework's convention pads and returns.

    Either for an operator, given by `op`, `size` and `kernel`, or for a node of a model.

    Args:
        model: A model in any form that `fix` takes.
        node: The name of a node in it that has a window, or that of its first output; or a pattern
            with `*` for any characters that one such name fits.
        op: `conv`, `maxpool`, `avgpool` or `convtranspose`.
        size: Elements of the data: one number for each spatial axis, as `(224, 160)` or `224x160`.
        kernel: Size of the window: a number for all axes, or one for each.
        stride: The same for the stride, 1 by default.
        dilation: The same for the dilation, 1 by default.
        padding: The same for the padding on both sides, for conventions that leave it to a user; by
            default that of the node, if it is the same at both ends and no `output_size` is given.
        output_padding: The same for what a transposed convolution appends, by default as the node.
        output_size: The output size that is wanted: the result's `reach` says what gives it. A
            number for all axes, or one for each.
        shapes: Sizes of the model's inputs, as for `fix`.
        dims: Sizes of the model's dimensions, as for `fix`.

    Returns:
        The answer of each convention, and which of them agree.

    Raises:
        UsageError: A number is missing or makes no sense, or the operator or node is unknown.
        ModelError: The model cannot be read.
    """
    slide = {"op": op, "size": size, "kernel": kernel, "stride": stride, "dilation": dilation}
    sliding = {name: value for name, value in slide.items() if value is not None}
    about: About | None = None
    if model is None and not (node or shapes or dims):
        asked = _of_operator(sliding)
    elif model is None or node is None:
        lacking = "the model" if model is None else "--node"
        raise UsageError(f"{lacking} is missing; {_ASKED}")
    else:
        from onnxpad.api import kinds
        from onnxpad.api.node_question import node_question
        from onnxpad.process import gc_paused

        source, _ = kinds.source_of(model, "explain")
        with kinds.naming(source), gc_paused():
            given = shapes, dims, () if size is None else _numbers("size", size, None)
            asked, about = node_question(source, kinds.path_of(model), node, *given)
        if sliding:
            raise UsageError(f"a node has its own numbers; leave out --{' and --'.join(sliding)}")
    if asked.op != "convtranspose" and output_padding is not None:
        raise UsageError(f"{asked.op} has no output_padding; only convtranspose has")
    lengths = (("padding", padding, 0), ("output_padding", output_padding, 0))
    pads, appended, output = (
        None if value is None else _numbers(name, value, asked.sizes, least=least)
        for name, value, least in (*lengths, ("output_size", output_size, 1))
    )
    own = about.own.axes if about and about.own else ()
    if pads is None and output is None and any(each.begin for each in own):
        alike = tuple(each.begin for each in own if each.begin == each.end)
        pads = alike if len(alike) == len(own) else None  # the model gives one number for both
    if appended is None and output is None and any(each.output_padding for each in own):
        appended = tuple(each.output_padding for each in own)
    asked = replace(asked, padding=pads, output_padding=appended)
    _require_short(asked, about, output)
    found = explained(asked, about, output=output)
    return Explanation(asked, found.conventions, found.refused, found.agree, about, found.reach)


def _of_operator(arguments: Mapping[str, object]) -> Question:
    if missing := [name for name in ("op", "size", "kernel") if name not in arguments]:
        raise UsageError(f"--{missing[0]} is missing; {_ASKED}")
    op, sizes = arguments["op"], _numbers("size", arguments["size"], None)
    if op not in OPS:
        near = meant("convtranspose" if "deconv" in str(op).lower() else op, OPS)
        raise UsageError(f"unknown op {op!r}; choose one of {', '.join(OPS)}{near}")
    if len(sizes) > _MOST_AXES:
        raise UsageError(f"size has {len(sizes)} axes; give {_MOST_AXES} at most, the spatial ones")
    names = ("kernel", "stride", "dilation")
    each = [_numbers(name, arguments.get(name, 1), sizes) for name in names]
    windows = tuple(Window(*one) for one in zip(*each, strict=True))
    return Question(op, sizes, windows)


def _require_short(asked: Question, about: About | None, output: Sequence[int] | None) -> None:
    """Raises unless all numbers are small enough to go through them one by one."""
    windows = asked.windows
    lengths = [*(w.extent for w in windows), *(asked.padding or ()), *(asked.output_padding or ())]
    for axis in about.own.axes if about and about.own else ():
        lengths += map(abs, (axis.begin, axis.end, axis.output_padding))
    if output and asked.op != "convtranspose":
        for wanted, window, size in zip(output, windows, asked.sizes, strict=True):
            lengths.append((wanted - 1) * window.stride - size)
    found = max(lengths), max(window.stride for window in windows), max(asked.sizes)
    named = zip(("kernel or padding", "stride", "size"), found, _MOST, strict=True)
    for name, number, most in named:
        if number > most:
            raise UsageError(f"a {name} of {number} is too long to explain; the most is {most}")


def _numbers(
    name: str, value: object, sizes: Sequence[int] | None, *, least: int = 1
) -> tuple[int, ...]:
    """A number for each axis from an argument as given.

    Its name is for messages. The sizes are those of the axes; None if it says how many there are.
    """
    parts = value.split("x") if isinstance(value, str) else listed(value)
    found = [*map(whole_number, parts if isinstance(parts, Sequence) else [parts])]
    numbers = tuple(number for number in found if number is not None)
    if not numbers or None in found or not least <= min(numbers) <= max(numbers) <= _LARGEST:
        told = f"{name} {value!r} is no number from {least} to {_LARGEST}"
        raise UsageError(f"{told}; give one, or one for each axis as 3x3")
    if sizes is not None and len(numbers) == 1:
        return numbers * len(sizes)
    if sizes is not None and len(numbers) != len(sizes):
        raise UsageError(f"{name} has {len(numbers)} axes and size has {len(sizes)}; give as many")
    return numbers
