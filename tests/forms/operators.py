"""A model for each operator of the table, with a `Pad` before it, and what can be asked of both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeVar

from onnxpad.declared import Key
from tests.forms.outcome import Form
from tests.support import one

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Subject:
    """An operator on data of one size.

    Attributes:
        call: The node in ONNX text; `{more}` stands for further attributes, `{data}` for its data.
        own: The value that its own padding stands for, as text.
        kind: The element type of its data.
        result: The element type of its output.
        constants: Its initializers.
        is_last: Whether the channels are the last axis of its data.
    """

    call: str
    own: str
    kind: str = "float"
    result: str = "float"
    constants: tuple[str, ...] = ()
    is_last: bool = False

    def laid_out(self, others: tuple[T, T], spatial: Sequence[T]) -> list[T]:
        """An item for each axis, given those of batch and channels, and those of the others."""
        batch, channels = others
        return [batch, *spatial, channels] if self.is_last else [batch, channels, *spatial]


_WEIGHT: Final = "w = {" + ", ".join(str(n * 7 % 11) for n in range(54)) + "}"
_W: Final = (f"float[3, 2, 3, 3] {_WEIGHT}",)
_SCALES: Final = (
    "float s = {0.5}", "float t = {32}", "uint8 z = {9}", "uint8 r = {128}", "uint8 v = {2}"
)  # fmt: skip
_U: Final = (*_SCALES, f"uint8[3, 2, 3, 3] {_WEIGHT}")
_KERNEL: Final = "kernel_shape = [3, 3]{more}"
_U8: Final = "uint8"

SUBJECTS: Final[Mapping[Key, Subject]] = {
    ("", "Conv"): Subject(f"Conv <{_KERNEL}> ({{data}}, w)", "0", constants=_W),
    ("com.microsoft", "FusedConv"): Subject(
        f'com.microsoft.FusedConv <activation = "Relu", {_KERNEL}> ({{data}}, w)', "0", constants=_W
    ),
    ("", "LpPool"): Subject(f"LpPool <{_KERNEL}> ({{data}})", "0"),
    ("", "AveragePool"): Subject(f"AveragePool <{_KERNEL}> ({{data}})", "0"),
    ("", "MaxPool"): Subject(f"MaxPool <{_KERNEL}> ({{data}})", "-inf"),
    ("com.microsoft", "NhwcMaxPool"): Subject(
        f"com.microsoft.NhwcMaxPool <{_KERNEL}> ({{data}})", "-128", "int8", "int8", is_last=True
    ),
    ("", "ConvInteger"): Subject(
        f"ConvInteger <{_KERNEL}> ({{data}}, w, z, v)", "9", _U8, "int32", _U
    ),
    ("", "QLinearConv"): Subject(
        f"QLinearConv <{_KERNEL}> ({{data}}, s, z, w, s, v, t, r)", "9", _U8, _U8, _U
    ),
    ("com.microsoft", "QLinearConv"): Subject(
        f"com.microsoft.QLinearConv <channels_last = 1, {_KERNEL}>"
        " ({data}, s, z, w, s, v, t, r)",
        "9", _U8, _U8, _U, is_last=True,
    ),
    ("com.microsoft", "QLinearAveragePool"): Subject(
        f"com.microsoft.QLinearAveragePool <{_KERNEL}> ({{data}}, s, z, s, r)",
        "9", _U8, _U8, _SCALES,
    ),
}  # fmt: skip
"""The operators, in the order in which the manual names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Something about a `Pad` or its operator that decides whether it folds.

    Attributes:
        title: It, in words.
        only: The names of the operators that it can be asked of; empty for all.
        value: The value of the `Pad`; None for that of the operator's own padding.
        amounts: The amounts at the begin and the end of each spatial axis; None for no `Pad`.
        channels: The amounts on the channels.
        pad: Attributes of the `Pad`.
        more: Further attributes of the operator.
        upstream: Nodes that make `x` of the input `i`.
        further: Further inputs and outputs of the model, as ONNX text.
        size: Each spatial size.
        kind: Another element type; empty for the operator's.
        outputs: Outputs of the node after the first.
        given: Names of constants that are inputs instead.
    """

    title: str
    only: tuple[str, ...] = ()
    value: str | None = None
    amounts: tuple[int, int] | None = (1, 2)
    channels: tuple[int, int] = (0, 0)
    pad: str = ""
    more: str = ""
    upstream: str = ""
    further: str = ""
    size: int = 9
    kind: str = ""
    outputs: str = ""
    given: tuple[str, ...] = ()


_AVERAGES: Final = ("AveragePool", "QLinearAveragePool")
_ZERO_POINTS: Final = ("ConvInteger", "QLinearConv", "QLinearAveragePool")
_MAXIMA: Final = ("MaxPool", "NhwcMaxPool")
_FLOATS: Final = ("Conv", "FusedConv", "LpPool", "AveragePool", "MaxPool")

BEFORE: Final = Question(title="a `Pad` with the value of the operator's own padding")
OWN: Final = Question(title="own `pads`", amounts=None, more="pads = [1, 1, 2, 2]")

QUESTIONS: Final = (
    Question(title="value 0 (zero points are 9)", value="0"),
    Question(title="value -0.0", value="-0.0", only=_FLOATS),
    Question(
        title="value 0 on data that is never negative", value="0",
        upstream="x = Relu (i)", only=("MaxPool",),
    ),
    Question(
        title="value 5 on data that is never below 5", value="5",
        upstream="x = Max (i, c)", only=_MAXIMA,
    ),
    Question(title="value 0 on unsigned data", value="0", kind="uint8", only=_MAXIMA),
    Question(title="another value", value="5"),
    Question(title="a value known only at run time", given=("c",)),
    Question(title="a zero point known only at run time", given=("z",), only=_ZERO_POINTS),
    Question(title="amounts known only at run time", given=("p",)),
    Question(title="mode reflect, a copy read without its original", pad='mode = "reflect"'),
    Question(title="mode edge, each copy read beside its original", pad='mode = "edge"'),
    Question(title="amounts on batch or channels", amounts=(0, 0), channels=(0, 1)),
    Question(title="an amount as large as the kernel", amounts=(1, 3)),
    Question(
        title="own pads, `count_include_pad=0`", only=_AVERAGES,
        amounts=(0, 1), more="pads = [1, 1, 1, 1]",
    ),
    Question(
        title="`ceil_mode`, a last window that reaches past the padding", size=8, amounts=(1, 1),
        more="ceil_mode = 1, strides = [2, 2]", only=(*_MAXIMA, *_AVERAGES),
    ),
    Question(
        title="`ceil_mode`, a last window that starts in the padding", amounts=(0, 2),
        more="ceil_mode = 1, strides = [3, 3]", only=(*_MAXIMA, *_AVERAGES),
    ),
    Question(title="Indices that are read", outputs=", indices", only=("MaxPool",)),
    Question(
        title="data that may be empty", upstream="x = Slice (i, at, to, on)",
        further="int64[2] at, int64[2] to, int64[2] on",
    ),
)  # fmt: skip


@cache
def asked(key: Key, question: Question) -> Form | None:
    """The model in which a question is asked of an operator; None where it cannot be."""
    if question.only and key[1] not in question.only:
        return None
    subject = SUBJECTS[key]
    kind = question.kind or subject.kind
    constants = {_name(each): each for each in subject.constants}
    source = "i" if question.upstream else "x"
    sizes = [question.size] * 2
    shape = ", ".join(map(str, subject.laid_out((1, 2), sizes)))
    nodes, data = question.upstream, "x"
    if question.amounts is not None:
        sides = zip(question.amounts, question.channels, strict=True)
        pads = [each for a, c in sides for each in subject.laid_out((0, c), (a, a))]
        value = subject.own if question.value is None else question.value
        listed, data = ", ".join(map(str, pads)), "a"
        constants |= {"p": f"int64[8] p = {{{listed}}}", "c": f"{kind} c = {{{value}}}"}
        pad = f"Pad <{question.pad}> (x, p, c)".replace("<> ", "")
        nodes += f" a = {pad}"
    inputs = [f"{kind}[{shape}] {source}", *filter(None, [question.further])]
    inputs += [constants.pop(name).partition(" =")[0] for name in question.given]
    more = f", {question.more}" if question.more else ""
    call = subject.call.format(data=data, more=more)
    return Form(
        one(
            f"{nodes} y{question.outputs} = {call}",
            inputs=", ".join(inputs),
            outputs=f"{question.kind or subject.result}[] y"
            + question.outputs.replace(", ", ", int64[] "),
            initializers=", ".join(constants.values()),
        )
    )


def _name(constant: str) -> str:
    """The name of an initializer in ONNX text."""
    return constant.partition(" =")[0].rpartition(" ")[2]
