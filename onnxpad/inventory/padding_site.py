"""One padding of a model in plain values, which reports print."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias

from onnxpad.finding import Finding
from onnxpad.reasons import BY_SIZE, Reason
from onnxpad.records import NamedTuple, dataclass

Kind: TypeAlias = Literal["window", "transposed", "pad", "other", "malformed"]
"""`window` slides over its data; `transposed` is a ConvTranspose, whose pads crop; `pad` is a `Pad`
whose padding reaches no window operator; `other` has attributes that pad but is not covered;
`malformed` cannot be read."""

_NOT_ABOUT_FOLDING: Final = frozenset({"PAD902"})
_ABOUT_CROPS: Final = "PAD4"
_LONGEST_TYPED: Final = 80


class Advice(NamedTuple):
    """A command or a step that helps.

    Attributes:
        text: The step; of `onnxpad fix`, its options.
        is_command: Whether it is options of `onnxpad fix`.
    """

    text: str
    is_command: bool = False

    def in_words(self, model: str = "MODEL") -> str:
        """The step, or the command with the path of the model as a shell takes it."""
        return f"onnxpad fix {model} {self.text}".rstrip() if self.is_command else self.text


FIX: Final = Advice("", is_command=True)
"""The advice for padding that `fix` rewrites without further options."""


@dataclass(frozen=True, slots=True)
class PathNode:
    """A node on the way of padded data.

    Attributes:
        node: Its name, or that of its first output in angle brackets.
        op_type: Its operator.
    """

    node: str
    op_type: str


@dataclass(frozen=True, slots=True)
class AxisPadding:
    """The padding of one axis.

    Attributes:
        axis: The index of the axis.
        name: Its name, such as `H`; `axis 1` if it has none.
        begin: The elements added at the begin; of a transposed convolution those cropped there,
            below 0 those appended. None if it depends on a size or is not known.
        end: The same at the end.
        size: The size of the data that is padded; None if open.
        told_size: The same in words, such as `224` or `ceil(height/2)`.
        formula: Begin and end as formulas of the size, where they depend on it; else empty.
        ranges: Begin and end in short, such as `0..1` and `1`; empty where not known.
    """

    axis: int
    name: str
    begin: int | None
    end: int | None
    size: int | None
    told_size: str
    formula: str = ""
    ranges: tuple[str, str] = ("", "")

    @property
    def range(self) -> str:
        """Begin and end in short, such as `0..1+1`."""
        return "+".join(each or "?" for each in self.ranges)


@dataclass(frozen=True, slots=True)
class OuterPad:
    """A `Pad` whose padding reaches an operator downstream.

    Attributes:
        node: Its name.
        mode: `constant`, `reflect`, `edge` or `wrap`.
        value: The number that it writes in mode `constant`; None if known only at run time.
        pads: Its amounts in ONNX order, of all axes of its data or of `axes`; None if computed.
        axes: The axes that it names; None for all.
        amounts: The amounts in words.
        source: Where they come from, such as `initializer 'pads'`.
        formula: What computed amounts depend on, and how; else empty.
        steps: The nodes between it and the next one downstream of these.
    """

    node: str
    mode: str
    value: float | int | str | None
    pads: tuple[int, ...] | None
    axes: tuple[int, ...] | None
    amounts: str
    source: str
    formula: str = ""
    steps: tuple[PathNode, ...] = ()


@dataclass(frozen=True, slots=True)
class PaddingSite:
    """One padding of a model: an operator with the `Pad`s in front of it, or a `Pad` alone.

    Attributes:
        node: Name of the operator; in a body or function, with the way to it.
        op_type: The operator.
        domain: Its domain; empty for ONNX's own.
        scope: The body or function that it is in; empty for the main graph.
        kind: As in `Kind`.
        written: How the padding is written, such as `Pad`, `pads` or `auto_pad=SAME_UPPER`; empty
            if none is.
        amounts: The total in words, such as `H 1+1, W 1+1`.
        pads: The total of its spatial axes in ONNX order (begins, then ends); of a `Pad` alone, of
            all axes. None if it depends on an open size or is not known.
        own: The operator's own part of it in words.
        own_pads: The same in ONNX order; None if open.
        axes: The axes that are padded or could be.
        kernel: Size of the window on each spatial axis; None where not known.
        stride: Its stride.
        dilation: Its dilation.
        auto_pad: The attribute; empty if absent or NOTSET.
        ceil_mode: Whether the output size is rounded up.
        count_include_pad: Whether an average counts its padding.
        output_padding: What a transposed convolution appends.
        output_shape: The size that it is to give; None if absent.
        outer: The `Pad`s in front, the nearest last.
        downstream: Of a transposed convolution, the Slices and `Pad`s downstream that crop its
            result or append to it.
        tensor: The tensor that is padded.
        path: The nodes from that tensor to the operator.
        readers: Of a `Pad` alone, who reads it, in words.
        origin: Where the padding comes from, in words.
        conventions: Names of the frameworks whose convention it fits at every size.
        convention: The same in short, such as `TensorFlow`.
        findings: What `check` finds about the operator, its `Pad`s and its crops.
        problem: Why it cannot be read, or is not covered; else empty.
        names: The names of its operators, by which it can be asked for.
        tensors: The names of the tensors there, by which it can be asked for too.
        taken: What its targets do with it: `right` as it came, `rewritten` by `fix`, or the worst
            that nothing mends: `wrong`, `rejected`, `fallback` or `unknown`; empty without targets.
        known_by: How that is known: `measured`, `inferred`, `read` or `no data`.
    """

    node: str
    op_type: str
    domain: str
    scope: str
    kind: Kind
    written: str
    amounts: str = ""
    pads: tuple[int, ...] | None = None
    own: str = ""
    own_pads: tuple[int, ...] | None = None
    axes: tuple[AxisPadding, ...] = ()
    kernel: tuple[int | None, ...] = ()
    stride: tuple[int, ...] = ()
    dilation: tuple[int, ...] = ()
    auto_pad: str = ""
    ceil_mode: bool = False
    count_include_pad: bool = False
    output_padding: tuple[int, ...] = ()
    output_shape: tuple[int, ...] | None = None
    outer: tuple[OuterPad, ...] = ()
    downstream: tuple[PathNode, ...] = ()
    tensor: str = ""
    path: tuple[PathNode, ...] = ()
    readers: tuple[str, ...] = ()
    origin: str = ""
    conventions: tuple[str, ...] = ()
    convention: str = ""
    findings: tuple[Finding, ...] = ()
    problem: str = ""
    names: tuple[str, ...] = ()
    tensors: tuple[str, ...] = ()
    taken: str = ""
    known_by: str = ""

    @property
    def deciding(self) -> tuple[Finding, ...]:
        """The findings that say whether and why the padding is rewritten.

        A `Pad` between a transposed convolution and a window operator has findings about each;
        where it becomes the window's, the convolution stays as it is.
        """
        about = [each for each in self.findings if each.code not in _NOT_ABOUT_FOLDING]
        crops = [each for each in about if each.code.startswith(_ABOUT_CROPS)]
        if self.kind == "transposed":
            others = [each for each in about if each.op_type == self.op_type]
            return tuple(
                each
                for each in about
                if each in crops or each in others or not (crops or each.fixable)
            )
        return tuple(each for each in about if each not in crops or len(crops) == len(about))

    @property
    def fixable(self) -> bool:
        """Whether `fix` rewrites at least a part of it."""
        return any(each.fixable for each in self.deciding)

    @property
    def stays(self) -> bool:
        """Whether a part of it stays that `fix` would rewrite if something were otherwise."""
        return any(not each.fixable for each in self.deciding)

    @property
    def is_zero(self) -> bool:
        """Whether it is known to pad nothing."""
        return self.amounts == "none"

    @property
    def is_known(self) -> bool:
        """Whether anything is known of its amounts."""
        return any(any(axis.ranges) for axis in self.axes)

    @property
    def advice(self) -> tuple[str, ...]:
        """The commands or steps that help, in the order of the findings, each said once."""
        return tuple(each.in_words() for each in self.helps)

    @property
    def helps(self) -> tuple[Advice, ...]:
        """The same as data."""
        found = [
            advice
            for each in self.deciding
            if self.kind != "transposed" or each.reason_code != Reason.STEPS_BETWEEN
            for advice in advice_on(each)
        ]
        return tuple(dict.fromkeys(found))


_ADVICE: Final = {
    Reason.AUTO_PAD_AND_PADS: Advice("remove auto_pad or pads in the exporter"),
    Reason.STEPS_BETWEEN: Advice(
        "in the exporter, put the Pad directly before the window operator"
    ),
    Reason.AMOUNTS_IN_FILE: Advice(
        "give the path of the model, so that its external data is found"
    ),
    Reason.OPSET_TOO_OLD: Advice("export with a newer opset, or convert the model to one"),
    Reason.ASSUMPTION_REFUSED: Advice("without --strict", is_command=True),
    Reason.CUSTOM_OPERATOR: Advice("declare the operator with onnxpad.register(onnxpad.Row(...))"),
    Reason.UNREADABLE: Advice("correct the node, or export the model again"),
    Reason.UNUSED: Advice("remove the Pad: nothing reads it"),
}


def advice_on(finding: Finding) -> tuple[Advice, ...]:
    """Commands or steps that help, each by itself; none if nothing can be done."""
    if finding.fixable:
        return (FIX,)
    options = finding.evidence.get("options")
    if isinstance(options, tuple | list):
        return tuple(Advice(option, is_command=True) for option in _typed(finding, options))
    return tuple(advice for reason, advice in _ADVICE.items() if finding.reason_code == reason)


def _typed(finding: Finding, options: Sequence[str]) -> Iterator[str]:
    """The options that a finding names, as typed."""
    given = finding.evidence.get("sizes")
    listed = given if isinstance(given, list) else []
    names = dict.fromkeys(str(each["name"]) for each in listed if isinstance(each, dict))
    is_typed = bool(names) and all(n.isprintable() and len(n) <= _LONGEST_TYPED for n in names)
    for option in options:
        if option == "--dim" and is_typed:
            yield " ".join(f"--dim {shlex.quote(name)}=N" for name in names)
        elif option == "--shape" and not is_typed:
            yield "--shape SIZES"
        elif option not in BY_SIZE:
            yield option
