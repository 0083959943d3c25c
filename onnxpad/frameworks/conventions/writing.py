"""One line of PyTorch, of Keras and of ONNX that computes what a convention computes at one size.

`x` is the data, `w` the weight, `n` the number of filters, `g` of groups. PyTorch and ONNX have the
channels first, Keras last. Whether numbers compute the same is told by their effect. A line is
empty where there is none, and Keras has one where a word of its own says it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from onnxpad.arithmetic.window import end_read
from onnxpad.frameworks.conventions.question import Answer, AxisAnswer, Op, Question, output_of

_WORDS = {"keras-same": "same", "keras-causal": "causal", "tensorflow-valid": "valid"}
"""Keras's own words for padding, by the convention that they stand for."""
_LAYERS = {
    "conv": ("Conv", "Conv", "Conv"),
    "convtranspose": ("ConvTranspose", "Conv", "ConvTranspose"),
    "maxpool": ("MaxPool", "MaxPooling", "MaxPool"),
    "avgpool": ("AvgPool", "AveragePooling", "AveragePool"),
}
"""The names of an operator in PyTorch, in Keras before the rank, and in ONNX."""

_Pads = Sequence[tuple[int, int]]


def written(question: Question, answer: Answer, names: Sequence[str] = ()) -> dict[str, str]:
    """A line of PyTorch, one of Keras and an operator of ONNX that compute what an answer says.

    The words of the conventions that are named, which compute the same, may be used.
    """
    transposed = question.op == "convtranspose"
    return {
        "pytorch": (_transposed if transposed else _torch)(question, answer, names),
        "keras": _keras(question, answer, names),
        "onnx": _onnx(question, answer),
    }


def _pad(pads: _Pads, further: str = "", data: str = "x") -> str:
    amounts = ", ".join(f"{begin}, {end}" for begin, end in reversed(pads))
    return f"F.pad({data}, ({amounts}){further})"


def _torch(question: Question, answer: Answer, names: Sequence[str]) -> str:
    op, axes = question.op, answer.axes
    layer = f"nn.{_LAYERS[op][0]}{len(axes)}d("
    slide = ["c, n"] * (op == "conv") + _slide(question, answer, "stride", "dilation")
    if "pytorch-same" in names:
        return f"{layer}{', '.join(slide)}, padding='same')"
    if op == "avgpool" and any(axis.window.dilation > 1 for axis in axes):
        return ""
    begins = [axis.begin for axis in axes]
    if op == "conv" or all(axis.begin <= axis.window.kernel // 2 for axis in axes):
        for _, ceil, counts in _forms(op, answer, [[(pad, pad) for pad in begins]], (True, False)):
            own = [f"padding={short(begins)}"] * any(begins) + ["ceil_mode=True"] * ceil
            own += ["count_include_pad=False"] * (op == "avgpool" and not counts)
            return f"{layer}{', '.join((*slide, *own))})"
    pads = _read(answer)
    if op == "avgpool":  # of nothing is 0 there, and perhaps no number elsewhere
        reads = (a.window.extent > a.begin and a.taps(a.output - 1) for a in axes)
        counts_all = any(not ceil for _, ceil, _ in _forms(op, answer, [pads], (True,)))
        if not (all(reads) and counts_all):
            return ""
    return f"{layer}{', '.join(slide)})({_pad(pads, ', value=-torch.inf' * (op == 'maxpool'))})"


def _transposed(question: Question, answer: Answer, names: Sequence[str]) -> str:
    axes = answer.axes
    layer = f"nn.ConvTranspose{len(axes)}d("
    slide = ["c, n", *_slide(question, answer, "stride", "dilation")]
    begins = [axis.begin for axis in axes]
    most = [max(axis.window.stride, axis.window.dilation) for axis in axes]
    appended = [axis.begin - axis.end + axis.output_padding for axis in axes]
    if all(0 <= each < limit for each, limit in zip(appended, most, strict=True)):
        slide += [f"padding={short(begins)}"] * any(begins)
        slide += [f"output_padding={short(appended)}"] * any(appended)
        return f"{layer}{', '.join(slide)})"
    crops = [(-axis.begin, axis.output_padding - axis.end) for axis in axes]
    return _pad(crops, data=f"{layer}{', '.join(slide)})(x)")


def _keras(question: Question, answer: Answer, names: Sequence[str]) -> str:
    op = question.op
    word = next((word for name, word in _WORDS.items() if name in names), "")
    is_absent = question.is_strided or "pool" in op if question.is_dilated else False
    if not word or is_absent or (question.grouped and op == "convtranspose"):
        return ""
    slide = ["n"] * ("pool" not in op) + _slide(question, answer, "strides", "dilation_rate")
    layer = f"{_LAYERS[op][1]}{len(answer.axes)}D{'Transpose' * (op == 'convtranspose')}"
    return f"{layer}({', '.join(slide)}, padding='{word}')"


def _onnx(question: Question, answer: Answer) -> str:
    op, windows = question.op, [axis.window for axis in answer.axes]
    pads: _Pads = answer.pads
    ceil = counts = False
    if op != "convtranspose":
        tried = [
            pads
            for pads in (answer.pads, _read(answer))
            if op == "conv" or all(max(p) < w.kernel for p, w in zip(pads, windows, strict=True))
        ]
        found = next(_forms(op, answer, tried, (False, True)), None)
        if found is None:
            return ""
        pads, ceil, counts = found
    lists = {
        "kernel_shape": ([window.kernel for window in windows], 0),
        "strides": ([window.stride for window in windows], 1),
        "dilations": ([window.dilation for window in windows], 1),
        "pads": ([begin for begin, _ in pads] + [end for _, end in pads], 0),
        "output_padding": ([*answer.output_padding], 0),
    }
    told = [f"{key}={each}" for key, (each, usual) in lists.items() if {*each} != {usual}]
    told += ["group=g"] * question.grouped
    told += ["ceil_mode=1"] * ceil + ["count_include_pad=1"] * counts
    return f"{_LAYERS[op][2]} <{', '.join(told)}>"


def _forms(
    op: Op, answer: Answer, tried: Sequence[_Pads], counting: tuple[bool, ...]
) -> Iterator[tuple[_Pads, bool, bool]]:
    """The pads, with rounding up and counting of padding, that compute an answer."""
    wanted = answer.effects(op)
    ceils = (False,) if op == "conv" else (False, True)
    for pads, ceil, counts in product(tried, ceils, counting if op == "avgpool" else (False,)):
        axes = []
        for axis, pair in zip(answer.axes, pads, strict=True):
            sizes = axis.size, axis.window, pair, 0
            output = output_of(op if ceil else "conv", *sizes, ceil=ceil)
            axes.append(AxisAnswer(axis.size, axis.window, *pair, output))
        if Answer(tuple(axes), counts).effects(op) == wanted:
            yield pads, ceil, counts


def _read(answer: Answer) -> list[tuple[int, int]]:
    return [(e.begin, end_read(e.size, e.window, e.begin, e.output)) for e in answer.axes]


def _slide(question: Question, answer: Answer, stride: str, dilation: str) -> list[str]:
    """Kernel, stride, dilation and groups as arguments; a pool's stride is always said."""
    windows = [axis.window for axis in answer.axes]
    strides, dilations = [w.stride for w in windows], [w.dilation for w in windows]
    told = [short([window.kernel for window in windows])]
    told += [f"{stride}={short(strides)}"] * ({*strides} != {1} or "pool" in question.op)
    told += [f"{dilation}={short(dilations)}"] * ({*dilations} != {1})
    return told + ["groups=g"] * question.grouped


def short(numbers: Sequence[int]) -> str:
    """One number where all are the same."""
    return str(numbers[0]) if len({*numbers}) == 1 else f"({', '.join(map(str, numbers))})"
