"""One line of PyTorch, of Keras and of ONNX that computes what a convention computes at one size.

`x` is the data, `w` the weight, `n` the number of filters, `g` of groups. PyTorch and ONNX have the
channels first, Keras last. Whether numbers compute the same is told by their effect. A line is
empty where there is none, and Keras has one where a word of its own says it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from msgspec.structs import replace

from onnxpad.arithmetic.window import end_read
from onnxpad.frameworks.conventions.effect import effects, taps
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
    own = [f"padding={_short(begins)}"] * any(begins)
    if op == "conv" or all(axis.begin <= axis.window.kernel // 2 for axis in axes):
        for ceil, counts in _modes(op, (True, False)):
            if _computes(op, answer, [(pad, pad) for pad in begins], ceil=ceil, counts=counts):
                own += ["ceil_mode=True"] * ceil
                own += ["count_include_pad=False"] * (op == "avgpool" and not counts)
                return f"{layer}{', '.join((*slide, *own))})"
    pads = _read(answer)
    if op == "avgpool":  # of nothing is 0 there, and perhaps no number elsewhere
        reads = all(
            axis.window.extent > axis.begin and taps(axis, axis.output - 1) for axis in axes
        )
        if not reads or not _computes(op, answer, pads, counts=True):
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
        slide += [f"padding={_short(begins)}"] * any(begins)
        slide += [f"output_padding={_short(appended)}"] * any(appended)
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
    found = next(_onnx_pads(question.op, answer), None)
    if found is None:
        return ""
    pads, further = found
    windows = [axis.window for axis in answer.axes]
    lists = {
        "kernel_shape": ([window.kernel for window in windows], 0),
        "strides": ([window.stride for window in windows], 1),
        "dilations": ([window.dilation for window in windows], 1),
        "pads": ([begin for begin, _ in pads] + [end for _, end in pads], 0),
        "output_padding": ([*answer.output_padding], 0),
    }
    told = [f"{key}={each}" for key, (each, usual) in lists.items() if {*each} != {usual}]
    told += ["group=g"] * question.grouped + further
    return f"{_LAYERS[question.op][2]} <{', '.join(told)}>"


def _onnx_pads(op: Op, answer: Answer) -> Iterator[tuple[_Pads, list[str]]]:
    """The pads, with further attributes, that compute an answer."""
    if op == "convtranspose":
        yield answer.pads, []
        return
    for pads in (answer.pads, _read(answer)):
        pairs = zip(answer.axes, pads, strict=True)
        if op == "conv" or all(max(pair) < axis.window.kernel for axis, pair in pairs):
            for ceil, counts in _modes(op, (False, True)):
                if _computes(op, answer, pads, ceil=ceil, counts=counts):
                    yield pads, ["ceil_mode=1"] * ceil + ["count_include_pad=1"] * counts


def _modes(op: Op, counting: tuple[bool, bool]) -> Iterator[tuple[bool, bool]]:
    """Whether an operator may round up, and count its padding in averages, the usual one first."""
    ceils = (False,) if op == "conv" else (False, True)
    return product(ceils, counting if op == "avgpool" else (False,))


def _computes(
    op: Op, answer: Answer, pads: _Pads, *, ceil: bool = False, counts: bool = False
) -> bool:
    """Whether an operator with these numbers computes what an answer says."""
    axes = [
        replace(
            axis,
            begin=pair[0],
            end=pair[1],
            output=output_of(op if ceil else "conv", axis.size, axis.window, pair, 0, ceil=ceil),
        )
        for axis, pair in zip(answer.axes, pads, strict=True)
    ]
    return effects(op, Answer(tuple(axes), counts)) == effects(op, answer)


def _read(answer: Answer) -> list[tuple[int, int]]:
    """The pads with an end as far as windows read."""
    return [(axis.begin, _end(axis)) for axis in answer.axes]


def _end(axis: AxisAnswer) -> int:
    found = end_read(axis.size, axis.window, axis.begin, axis.output)
    assert isinstance(found, int)
    return found


def _slide(question: Question, answer: Answer, stride: str, dilation: str) -> list[str]:
    """Kernel, stride, dilation and groups as arguments; a pool's stride is always said."""
    windows = [axis.window for axis in answer.axes]
    strides, dilations = [w.stride for w in windows], [w.dilation for w in windows]
    told = [_short([window.kernel for window in windows])]
    told += [f"{stride}={_short(strides)}"] * ({*strides} != {1} or "pool" in question.op)
    told += [f"{dilation}={_short(dilations)}"] * ({*dilations} != {1})
    return told + ["groups=g"] * question.grouped


def _short(numbers: Sequence[int]) -> str:
    """One number where all are the same."""
    return str(numbers[0]) if len({*numbers}) == 1 else f"({', '.join(map(str, numbers))})"
