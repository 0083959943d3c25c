"""One padding of a model, which reports print: an operator or a `Pad`, and what is known of it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from onnxpad.arithmetic.notation import axes_text
from onnxpad.arithmetic.size import Extent, Unknown, bounds
from onnxpad.arithmetic.window import AnyWindow, output_size
from onnxpad.errors import UsageError
from onnxpad.finding import Finding
from onnxpad.messages import meant
from onnxpad.semantics.amounts import ExtentPair, ExtentPairs, numbers_of, onnx_order, pairs_of

Kind: TypeAlias = Literal["window", "transposed", "pad", "other", "malformed"]
"""`window` slides over its data; `transposed` is a ConvTranspose, whose pads crop; `pad` is a `Pad`
whose padding reaches no window operator; `other` has attributes that pad but is not covered;
`malformed` cannot be read."""

FIX: Final = "onnxpad fix MODEL"
"""How advice begins; after it come the options that help."""


class PathNode(Struct, frozen=True):
    """A node on the way of padded data.

    Attributes:
        node: Its name, or that of its first output in angle brackets.
        op_type: Its operator.
    """

    node: str
    op_type: str


class AxisPadding(Struct, frozen=True):
    """The padding of one axis.

    Attributes:
        axis: The index of the axis.
        name: Its name, such as `H`; `axis 1` if it has none.
        pair: The elements added at the begin and at the end; of a transposed convolution those
            cropped, below 0 those appended. They may depend on a size, or be Unknown.
        extent: The size of the data that is padded; Unknown if nothing is known of it.
        window: The window that slides along it; None for a `Pad`.
        formula: Begin and end as formulas of the size, where they depend on it; else empty.
    """

    axis: int
    name: str
    pair: ExtentPair
    extent: Extent
    window: AnyWindow | None = None
    formula: str = ""

    @property
    def count(self) -> Extent:
        """How often the window fits; Unknown of a `Pad`."""
        if self.window is None:
            return Unknown("no window")
        return output_size(self.extent, self.window, *self.pair)

    @property
    def told_size(self) -> str:
        """The same in words, such as `224` or `ceil(height/2)`."""
        return "open" if isinstance(self.extent, Unknown) else str(self.extent)


class OuterPad(Struct, frozen=True):
    """A `Pad` whose padding reaches an operator downstream.

    Attributes:
        node: Its name.
        mode: `constant`, `reflect`, `edge` or `wrap`; empty if it cannot be read.
        value: The number that it writes in mode `constant`; None if known only at run time.
        pads: Its amounts in ONNX order, of all axes of its data or of `axes`; None if computed.
        axes: The axes that it names; None for all.
        source: Where they come from: the name of a tensor, or why they cannot be read.
        formula: Why computed amounts are no numbers, and what they depend on; else empty.
        steps: The nodes between it and the next one downstream of these.
    """

    node: str
    mode: str
    value: float | int | str | None
    pads: tuple[int, ...] | None
    axes: tuple[int, ...] | None
    source: str
    formula: str = ""
    steps: tuple[PathNode, ...] = ()

    @property
    def amounts(self) -> str:
        """The amounts in words."""
        if self.pads is None:
            return "computed" if self.mode else "malformed"
        return axes_text(pairs_of(self.pads), self.axes)

    @property
    def written(self) -> str:
        """How it is written, in short."""
        words = ["computed"] * bool(self.mode and self.pads is None) + ["Pad"]
        if self.mode not in {"constant", ""}:
            words.append(self.mode)
        elif self.value != 0:
            words.append(f"of {'?' if self.value is None else self.value}")
        return " ".join([*words, *["upstream"] * bool(self.steps)])


class PaddingSite(Struct, frozen=True):
    """One padding of a model: an operator with the `Pad`s in front of it, or a `Pad` alone.

    Attributes:
        node: Name of the operator; in a body or function, with the way to it.
        op_type: The operator.
        domain: Its domain; empty for ONNX's own.
        scope: The body or function that it is in; empty for the main graph.
        kind: As in `Kind`.
        written: How the padding is written, such as `Pad`, `pads` or `auto_pad=SAME_UPPER`; empty
            if none is.
        axes: The axes that are padded or could be.
        pads: The total of its spatial axes in ONNX order (begins, then ends); of a `Pad` alone, of
            all axes. None if it depends on an open size or is not known.
        own_pads: The operator's own part of it.
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
        conventions: Names of the frameworks whose convention it fits at every size.
        convention: The same in short, such as `TensorFlow`.
        findings: What `check` finds about the operator, its `Pad`s and its crops.
        problem: Why it cannot be read, or is not covered; else empty.
        names: The names of its operators, by which it can be asked for.
        tensors: The names of the tensors there, its result first, by which it can be asked for too.
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
    axes: tuple[AxisPadding, ...] = ()
    pads: tuple[int, ...] | None = None
    own_pads: tuple[int, ...] | None = None
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
    conventions: tuple[str, ...] = ()
    convention: str = ""
    findings: tuple[Finding, ...] = ()
    problem: str = ""
    names: tuple[str, ...] = ()
    tensors: tuple[str, ...] = ()
    taken: str = ""
    known_by: str = ""

    @property
    def windows(self) -> tuple[AnyWindow, ...]:
        """The windows that slide along its axes; none of a `Pad`."""
        return tuple(axis.window for axis in self.axes if axis.window is not None)

    @property
    def amounts(self) -> str:
        """The total in words, such as `H 1+1, W 0..1+1`; empty where no axis is known."""
        if all(axis.pair == (0, 0) for axis in self.axes):
            return "" if self.pads is None else "none"
        told = ((axis.name, *map(_range, axis.pair)) for axis in self.axes)
        return ", ".join(f"{name} {begin}+{end}" for name, begin, end in told)

    @property
    def deciding(self) -> tuple[Finding, ...]:
        """The findings that say whether and why the padding is rewritten.

        Of a `Pad` between a transposed convolution and a window operator there are some about each.
        """
        crops = [each for each in self.findings if each.code.startswith("PAD4")]
        if self.kind == "transposed":
            return tuple(e for e in self.findings if e in crops or e.op_type == self.op_type)
        others = (each for each in self.findings if each not in crops and each.code != "PAD902")
        return tuple(others) or tuple(crops)

    @property
    def fixable(self) -> bool:
        """Whether `fix` rewrites at least a part of it."""
        return any(each.fixable for each in self.deciding)

    @property
    def stays(self) -> bool:
        """Whether a part of it stays that `fix` would rewrite if something were otherwise."""
        return any(not each.fixable for each in self.deciding)

    @property
    def advice(self) -> tuple[str, ...]:
        """The commands that help, in the order of the findings, each said once."""
        return tuple(dict.fromkeys(said for each in self.deciding for said in _advice_on(each)))


def _advice_on(finding: Finding) -> Iterator[str]:
    """Commands that help, each by itself; none if nothing can be done, or the reason says what."""
    if finding.fixable:
        yield FIX
    options, sizes = (finding.evidence.get(name) for name in ("options", "sizes"))
    listed = sizes if isinstance(sizes, list) else []
    names = dict.fromkeys(str(each["name"]) for each in listed if isinstance(each, dict))
    dims = " ".join(f"--dim {shlex.quote(name)}=N" for name in names)
    for option in options if isinstance(options, tuple | list) else ():
        if option != "--shape":
            yield f"{FIX} {(dims or '--shape SIZES') if option == '--dim' else option}"


def known_number(extent: Extent) -> int | None:
    """A size or an amount that is a number; None for others."""
    return extent if isinstance(extent, int) else None


def flat_order(pairs: ExtentPairs | None) -> tuple[int, ...] | None:
    """Amounts in ONNX order; None unless all are numbers."""
    numbers = numbers_of(pairs)
    return None if numbers is None else tuple(onnx_order(numbers))


def _range(extent: Extent) -> str:
    """A number, or the least and the greatest that an amount can be, as `0..1`; else `?`."""
    least, greatest = bounds(extent)
    if least is None or greatest is None:
        return "?"
    return str(least) if least == greatest else f"{least}..{greatest}"


def chosen(sites: Sequence[PaddingSite], patterns: Iterable[str]) -> tuple[PaddingSite, ...]:
    """The sites with one of these names, in file order.

    Args:
        sites: All sites of a model.
        patterns: Names, or patterns with `*` for any characters and `?` for one, which are
            compared with names of nodes.

    Raises:
        UsageError: No site has such a name.
    """
    found: set[int] = set()
    for pattern in patterns:
        glob = pattern.replace("[", "[[]")
        places = {
            place
            for place, site in enumerate(sites)
            if pattern in site.tensors or any(fnmatchcase(name, glob) for name in site.names)
        }
        if not places:
            known = (name for site in sites for name in (*site.names, *site.tensors))
            raise UsageError(f"no padding at {pattern!r}{meant(pattern, known)}")
        found |= places
    return tuple(sites[place] for place in sorted(found))
