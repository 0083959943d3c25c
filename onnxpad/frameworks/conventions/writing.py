"""One line of PyTorch, of Keras and of ONNX that computes what a convention computes at one size.

`x` is the data, `w` the weight, `n` the number of filters, `g` of groups. PyTorch and ONNX have the
channels first, Keras last. A line is empty where there is none, as for an average whose divisor
differs from what the framework divides by.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from onnxpad.arithmetic.window import end_read
from onnxpad.frameworks.conventions.effect import divisors
from onnxpad.frameworks.conventions.question import Answer, AxisAnswer, Op, Question, output_of

KERAS_NAMES = {
    "same": frozenset({"tensorflow-same", "keras-same"}),
    "causal": frozenset({"keras-causal"}),
}
"""Keras's own words for padding, with the conventions that they stand for."""


def written(question: Question, answer: Answer, names: Sequence[str] = ()) -> dict[str, str]:
    """A line of PyTorch, one of Keras and an operator of ONNX that compute what an answer says.

    The words of the conventions that are named, which compute the same, may be used.
    """
    transposed = question.op == "convtranspose"
    return {
        "pytorch": (_torch_transposed if transposed else _torch)(question, answer, names),
        "keras": _keras(question, answer, names),
        "onnx": (_onnx if transposed else _onnx_slide)(question, answer, answer.pads),
    }


def written_pad(pads: Sequence[tuple[int, int]], mode: str, value: float | None) -> dict[str, str]:
    """How to write a `Pad` of the last axes of data with its channels first.

    Its fill is None where it is not known.
    """
    modes = {"reflect": ", mode='reflect'", "edge": ", mode='replicate'"}
    if mode == "constant" and value is not None:
        modes[mode] = f", value={value:g}" if value else ""
    torch = _torch_pad(pads, modes[mode]) if mode in modes else ""
    keras = f"{_amounts('ZeroPadding', pads)}(x)" if mode == "constant" and value == 0 else ""
    return {"pytorch": torch, "keras": keras, "onnx": ""}


# PyTorch


def _torch_pad(pads: Sequence[tuple[int, int]], further: str = "", data: str = "x") -> str:
    amounts = ", ".join(f"{begin}, {end}" for begin, end in reversed(pads))
    return f"F.pad({data}, ({amounts}){further})"


def _torch(question: Question, answer: Answer, names: Sequence[str]) -> str:
    op, rank = question.op, len(answer.axes)
    layer = {
        "conv": f"Conv{rank}d(c, n, ",
        "maxpool": f"MaxPool{rank}d(",
        "avgpool": f"AvgPool{rank}d(",
    }
    slide = _slide(question, answer, "dilation")
    if "pytorch-same" in names:
        return f"nn.{layer[op]}{slide}, padding='same')"
    if op == "avgpool" and _is_dilated(answer):
        return ""
    own = _torch_pads(op, answer)
    if own is not None:
        return f"nn.{layer[op]}{', '.join((slide, *own))})"
    pads = [(axis.begin, _end(axis)) for axis in answer.axes]
    pool = f"nn.{layer[op]}{slide})"
    if op == "maxpool":
        return f"{pool}({_torch_pad(pads, ', value=-torch.inf')})"
    return f"{pool}({_torch_pad(pads)})" if op == "conv" or _divides_by_kernel(answer) else ""


def _torch_pads(op: Op, answer: Answer) -> list[str] | None:
    """PyTorch's own arguments for the padding; None where they do not give the same."""
    numbers = tuple(axis.begin for axis in answer.axes)
    pads = [(pad, pad) for pad in numbers]
    padding = [f"padding={_short(numbers)}"] if any(numbers) else []
    if op == "conv":
        return padding if _gives(answer, pads, ceil=False) else None
    if any(axis.begin > axis.window.kernel // 2 for axis in answer.axes):
        return None
    for ceil_mode in (False, True):
        if not _gives(answer, pads, ceil=ceil_mode):
            continue
        rounding = ["ceil_mode=True"] if ceil_mode else []
        if op == "maxpool":
            return padding + rounding
        counts = _counting(answer, pads, (True, False))
        if counts is not None:
            return padding + rounding + ([] if counts else ["count_include_pad=False"])
    return None


def _gives(answer: Answer, pads: Sequence[tuple[int, int]], *, ceil: bool) -> bool:
    """Whether pads give the number of outputs."""
    op: Op = "maxpool" if ceil else "conv"
    return answer.output == tuple(
        output_of(op, axis.size, axis.window, pair, 0, ceil=ceil)
        for axis, pair in zip(answer.axes, pads, strict=True)
    )


def _torch_transposed(question: Question, answer: Answer, names: Sequence[str]) -> str:
    rank = len(answer.axes)
    slide = _slide(question, answer, "dilation")
    ends = [axis.end - axis.output_padding for axis in answer.axes]
    begins = [axis.begin for axis in answer.axes]
    appended = [begin - end for begin, end in zip(begins, ends, strict=True)]
    most = [max(axis.window.stride, axis.window.dilation) for axis in answer.axes]
    if all(0 <= each < limit for each, limit in zip(appended, most, strict=True)):
        chosen = [f"padding={_short(begins)}"] if any(begins) else []
        chosen += [f"output_padding={_short(appended)}"] if any(appended) else []
        return f"nn.ConvTranspose{rank}d({', '.join(('c, n', slide, *chosen))})"
    crops = [(-begin, -end) for begin, end in zip(begins, ends, strict=True)]
    return _torch_pad(crops, data=f"nn.ConvTranspose{rank}d(c, n, {slide})(x)")


# Keras


def _keras(question: Question, answer: Answer, names: Sequence[str]) -> str:
    op, rank = question.op, len(answer.axes)
    if ("pool" in op and question.is_dilated) or (op == "convtranspose" and question.grouped):
        return ""
    if question.is_strided and _is_dilated(answer):
        return ""
    slide = _slide(question, answer, "" if "pool" in op else "dilation_rate")
    layer = {
        "conv": f"Conv{rank}D(n, {slide}",
        "convtranspose": f"Conv{rank}DTranspose(n, {slide}",
        "maxpool": f"MaxPooling{rank}D({slide}",
        "avgpool": f"AveragePooling{rank}D({slide}",
    }[op]
    for word, known in KERAS_NAMES.items():
        if known.intersection(names):
            return f"{layer}, padding='{word}')"
    if op == "convtranspose":
        # Keras's valid appends zeros where the extent is below the stride.
        kept = [max(axis.window.stride - axis.window.extent, 0) for axis in answer.axes]
        pairs = zip(answer.axes, kept, strict=True)
        crops = [(axis.begin, axis.end - axis.output_padding + more) for axis, more in pairs]
        if any(end < 0 for _, end in crops):
            return ""
        return (
            f"{_amounts('Cropping', crops)}({layer})(x))" if any(map(any, crops)) else f"{layer})"
        )
    pads = [(axis.begin, _end(axis)) for axis in answer.axes]
    if not any(map(any, pads)):
        return f"{layer})"
    if op == "maxpool":
        amounts = ", ".join(f"({begin}, {end})" for begin, end in [(0, 0), *pads, (0, 0)])
        return f"{layer})(ops.pad(x, ({amounts}), constant_values=-np.inf))"
    fills_zero = op == "conv" or (op == "avgpool" and _divides_by_kernel(answer))
    return f"{layer})({_amounts('ZeroPadding', pads)}(x))" if fills_zero else ""


def _amounts(layer: str, pads: Sequence[tuple[int, int]]) -> str:
    """A layer with a pair of amounts on one axis, or a tuple of pairs on more."""
    amounts = ", ".join(f"({begin}, {end})" for begin, end in pads)
    return f"{layer}{len(pads)}D({amounts if len(pads) == 1 else f'({amounts})'})"


# ONNX


def _onnx_slide(question: Question, answer: Answer, own: Sequence[tuple[int, int]]) -> str:
    op = question.op
    read = [(axis.begin, _end(axis)) for axis in answer.axes]
    for pads, ceil_mode in ((own, False), (own, True), (read, False)):
        if ceil_mode and op == "conv":
            continue
        pairs = zip(answer.axes, pads, strict=True)
        below = all(max(pair) < axis.window.kernel for axis, pair in pairs)
        if not _gives(answer, pads, ceil=ceil_mode) or not (op == "conv" or below):
            continue
        further = ["ceil_mode=1"] if ceil_mode else []
        if op == "avgpool":
            counts = _counting(answer, pads, (False, True))
            if counts is None:
                continue
            further += ["count_include_pad=1"] if counts else []
        return _onnx(question, answer, pads, further)
    return ""


def _onnx(
    question: Question,
    answer: Answer,
    pads: Sequence[tuple[int, int]],
    further: Sequence[str] = (),
) -> str:
    windows = [axis.window for axis in answer.axes]
    names = {"conv": "Conv", "maxpool": "MaxPool", "avgpool": "AveragePool"}
    name = names.get(question.op, "ConvTranspose")
    lists = {
        "kernel_shape": [window.kernel for window in windows],
        "strides": [window.stride for window in windows],
        "dilations": [window.dilation for window in windows],
        "pads": [begin for begin, _ in pads] + [end for _, end in pads],
        "output_padding": list(answer.output_padding),
    }
    usual = {"kernel_shape": None, "strides": 1, "dilations": 1, "pads": 0, "output_padding": 0}
    shown = [f"{key}={each}" for key, each in lists.items() if {*each} != {usual[key]}]
    shown += ["group=g"] * question.grouped
    return f"{name} <{', '.join((*shown, *further))}>"


# Shared


def _slide(question: Question, answer: Answer, dilation: str) -> str:
    """Kernel, stride, dilation and groups as arguments; a pool's stride is always said."""
    windows = [axis.window for axis in answer.axes]
    strides = [window.stride for window in windows]
    dilations = [window.dilation for window in windows]
    told = [_short([window.kernel for window in windows])]
    word = "strides" if dilation in {"", "dilation_rate"} else "stride"
    if {*strides} != {1} or question.op in {"maxpool", "avgpool"}:
        told.append(f"{word}={_short(strides)}")
    if {*dilations} != {1}:
        told.append(f"{dilation}={_short(dilations)}")
    if question.grouped:
        told.append("groups=g")
    return ", ".join(told)


def _short(numbers: Sequence[int]) -> str:
    """One number where all are the same."""
    return str(numbers[0]) if len({*numbers}) == 1 else f"({', '.join(map(str, numbers))})"


def _is_dilated(answer: Answer) -> bool:
    return any(axis.window.dilation > 1 for axis in answer.axes)


def _end(axis: AxisAnswer) -> int:
    """The end padding that is read."""
    found = end_read(axis.size, axis.window, axis.begin, axis.output)
    assert isinstance(found, int)
    return found


def _divides_by_kernel(answer: Answer) -> bool:
    """Whether averages divide by the number of elements of the kernel everywhere."""
    return all(
        divisor == axis.window.kernel
        for axis in answer.axes
        for divisor in divisors(axis, counts=answer.counts)
    )


def _counting(
    answer: Answer, pads: Sequence[tuple[int, int]], choices: Sequence[bool]
) -> bool | None:
    """The first choice of counting the padding, with these pads, that divides as the answer does.

    None where none does. PyTorch and ONNX count alike: elements of the padding, none beyond it.
    """
    wanted = [[*divisors(axis, counts=answer.counts)] for axis in answer.axes]
    for counts in choices:
        axes = (
            replace(axis, begin=begin, end=end)
            for axis, (begin, end) in zip(answer.axes, pads, strict=True)
        )
        if wanted == [[*divisors(axis, counts=counts)] for axis in axes]:
            return counts
    return None
