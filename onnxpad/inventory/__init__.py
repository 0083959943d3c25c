"""Every padding of a model as it stands: how it is written, how much it is, and what becomes of it.

Nothing here rewrites a model. A site is one operator that pads, with the `Pad`s in front of it, as
reports print it: what is read of it, joined with what `check` finds about it, graph by graph. A
node that cannot be read becomes a site that says so. The sites of two models are compared, too.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic.size import Extent, Size, Unknown, bounds
from onnxpad.arithmetic.window import Window, axes_text, axis_names, output_size
from onnxpad.errors import ModelError, UsageError, meant
from onnxpad.facts.feasible import SizeDomain
from onnxpad.facts.words import formula
from onnxpad.finding import Finding
from onnxpad.frameworks.fitting.padded import Padded
from onnxpad.graph import Graph, Node, Tensor, describe
from onnxpad.graph.walk import readable_graphs
from onnxpad.padding.crops import Crops, Obstacle, Taking
from onnxpad.padding.padding import Readers
from onnxpad.padding.reading import SiteReader, added, steps_of
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.scopes import PADDING
from onnxpad.semantics.layers import (
    ExtentPair,
    ExtentPairs,
    Pairs,
    is_padded,
    numbers_of,
    onnx_order,
    pairs_of,
)
from onnxpad.semantics.operators import operator_named, windowed
from onnxpad.semantics.read_nodes import PadOp, TransposedOp, UnreadableError, WindowOp, is_pad
from onnxpad.validation.result import PaddingDifference

Kind: TypeAlias = Literal["window", "transposed", "pad", "other", "malformed"]
"""`window` slides over its data; `transposed` is a ConvTranspose, whose pads crop; `pad` is a `Pad`
whose padding reaches no window operator; `other` has attributes that pad but is not covered;
`malformed` cannot be read."""

FIX: Final = "onnxpad fix MODEL"
"""How advice begins; after it come the options that help."""

_MOVED: Final = "PAD207"
"""The code of a `Pad` that moves past steps, which its finding names."""
_WRITES: Final = sorted(PADDING | {"output_padding", "output_shape"})
_LONGEST: Final = 80
_MOST_READERS: Final = 8
_UNKNOWN: Final = Unknown("not known")

_Findings: TypeAlias = Mapping[tuple[str, str], Sequence[Finding]]
"""Findings by the label and the operator of their node."""


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
    window: Window | None = None
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
    def windows(self) -> tuple[Window, ...]:
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
        others = (each for each in self.findings if each not in crops)
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


# Collecting


def sites_in(
    contexts: Sequence[Context],
    findings: Sequence[Finding] = (),
    fitted: Mapping[int, Padded] | None = None,
) -> list[PaddingSite]:
    """Every padding of the graphs of a model, in file order, each graph after the one around it.

    Args:
        contexts: The graphs that the passes look into; the main graph first.
        findings: What `check` finds in the model.
        fitted: The operators with their total padding, by identity of the node.
    """
    about: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        about[finding.node, finding.op_type].append(finding)
    each = (_Collector(context, about, fitted or {}).sites() for context in contexts)
    found = [site for sites in each for site in sites]
    seen = {id(context.graph) for context in contexts}
    for graph in readable_graphs(contexts[0].graph):
        for site in written_sites(graph) if id(graph) not in seen else ():
            about_it = about.get((site.node, site.op_type), ())
            found.append(replace(site, findings=tuple(about_it)))
    return found


def written_sites(graph: Graph) -> Iterator[PaddingSite]:
    """The padding of a graph as it is written, where nothing else is known of it."""
    return (_as_written(graph, "other", [node]) for node in _padding(graph))


def _padding(graph: Graph) -> list[Node]:
    """The nodes that pad, or could by their attributes."""
    return [
        node
        for node in graph.nodes
        if node.op == "Pad"
        or not PADDING.isdisjoint(node.attrs)
        or operator_named(graph, node) is not None
        or windowed(graph, node) is not None
    ]


class _Collector:
    """Reads the sites of one graph."""

    def __init__(self, context: Context, findings: _Findings, fitted: Mapping[int, Padded]) -> None:
        self._context = context
        self._graph = graph = context.graph
        self._findings = findings
        self._fitted = fitted
        self._crops: dict[int, tuple[Taking, Obstacle | None]] = {}
        for node in graph.nodes:
            with suppress(ModelError):  # which its site tells
                if isinstance(op := context.read(node), TransposedOp):
                    self._crops[id(node)] = Crops(graph, context.analysis, op).taking()
        taken = [node for taking, _ in self._crops.values() for node in taking.taken]
        left = [each[0] for _, each in self._crops.values() if each is not None]
        self._taken = {id(node) for node in (*taken, *left)}  # what belongs to another site
        self._reader = SiteReader(graph, context.analysis, set(map(id, taken)))
        self._readers = Readers(graph)

    def sites(self) -> list[PaddingSite]:
        """All sites of the graph in file order."""
        graph, nodes = self._graph, _padding(self._graph)
        # A `Pad` belongs to the windows that it pads, or else to nothing.
        order = sorted(nodes, key=lambda node: is_pad(graph, node))
        found = {id(each): self._site(each) for each in order if id(each) not in self._taken}
        return [found[id(node)] for node in nodes if id(node) in found]

    def _site(self, node: Node) -> PaddingSite:
        """One site; one that says why, where it cannot be read."""
        try:
            read = self._context.read(node)
            if isinstance(read, UnreadableError):
                raise read
            if read is not None:
                return self._alone(read) if isinstance(read, PadOp) else self._slides(read)
            site = _as_written(self._graph, "other", [node])
        except (ModelError, UnreadableError) as error:
            site = replace(_as_written(self._graph, "malformed", [node]), problem=str(error))
        return replace(site, findings=self._about([node]))

    def _slides(self, op: WindowOp | TransposedOp) -> PaddingSite:
        """An operator with the `Pad`s in front, or with what crops the result behind it."""
        site, behind, paths = self._reader.of(op), list[Node](), tuple[tuple[Node, ...], ...]()
        kind: Kind = "window"
        source, sizes, own, total = site.source, site.source_sizes, site.in_effect, None
        said = [f"auto_pad={op.auto_pad}"] if op.auto_pad != "NOTSET" else []
        said = said or ["pads"] * is_padded(op.pads)
        more: dict[str, Any]
        if isinstance(op, TransposedOp):
            kind, source, sizes, total = "transposed", op.data, site.sizes, own
            taking, left = self._crops[id(op.node)]
            if behind := taking.taken:
                total = taking.form.crop
            behind += [left[0]] if left is not None and left[0] not in behind else []
            more = {"output_padding": op.output_padding, "output_shape": op.output_shape}
            said += [name for name, value in more.items() if any(value or ())]
        else:
            paths, total = site.front.pads, added(own, site.front.amounts)
            more = {"ceil_mode": op.ceil_mode, "count_include_pad": op.count_include_pad}
            said += ["ceil_mode"] * op.ceil_mode
        pads, outer = [path[0] for path in paths], tuple(map(self._outer, reversed(paths)))
        self._taken |= set(map(id, pads))
        said = [*(pad.written for pad in outer), *said, *(f"{e.op} downstream" for e in behind)]
        nodes, way = [op.node, *pads, *behind], [*(paths[-1] if paths else ()), op.node, *behind]
        pairs, names = total or ((_UNKNOWN, _UNKNOWN),) * len(sizes), axis_names(len(sizes))
        found = self._fitted.get(id(op.node))
        is_part = total != own and found and flat_order(found.pads) == flat_order(own)
        if len(nodes) > 1 and (own is None or is_part):
            found = None  # that its own part alone fits a framework says nothing of all of it
        return replace(
            _as_written(self._graph, kind, nodes, way, source),
            written=" + ".join(dict.fromkeys(said)),
            axes=tuple(map(self._axis, op.axes, names, pairs, sizes, op.windows)),
            pads=flat_order(total),
            own_pads=flat_order(own),
            auto_pad=op.auto_pad.replace("NOTSET", ""),
            outer=outer,
            downstream=_steps(behind),
            conventions=() if found is None else found.case.fits,
            convention="" if found is None else found.short,
            findings=self._about(nodes, way if kind == "window" else ()),
            **more,
        )

    def _alone(self, pad: PadOp) -> PaddingSite:
        """A `Pad` whose padding reaches no window operator."""
        node, outer, amounts = pad.node, self._outer([pad.node]), pad.amounts or ()
        result, shape = node.outputs[0], self._context.analysis.shape(pad.data)
        total = pad.amounts if pad.axes is None else None
        if shape is not None:
            total = pad.extents_over(len(shape))
        way = node, *(use.node for use in self._readers.path(result))
        return replace(
            _as_written(self._graph, "pad", [node], way, pad.data),
            written=outer.written,
            axes=tuple(
                self._axis(axis, f"axis {axis}", pair, shape[axis] if shape else _UNKNOWN)
                for axis, pair in zip(pad.axes or range(len(amounts)), amounts, strict=False)
                if pair != (0, 0)
            ),
            pads=flat_order(total),
            own_pads=flat_order(total),
            outer=(outer,),
            findings=self._about([node]),
            readers=tuple(
                "an output" if use is None else f"{use.node.op} {describe(use.node)!r}"
                for use in self._readers.of(result)[:_MOST_READERS]
            ),
        )

    def _axis(
        self, axis: int, name: str, pair: ExtentPair, size: Extent, window: Window | None = None
    ) -> AxisPadding:
        return AxisPadding(axis, name, pair, size, window, formula(pair, size))

    def _outer(self, path: Sequence[Node]) -> OuterPad:
        """A `Pad` in plain values, with all nodes from it to the operator downstream."""
        node, steps = path[0], _steps(steps_of(path))
        label, pad = self._graph.label(node), self._context.pad(node)
        if isinstance(pad, UnreadableError):
            return OuterPad(label, "", None, None, None, str(pad), steps=steps)
        known, value = pad.constant_amounts, pad.value if pad.mode == "constant" else None
        source = node.inputs[1].name if len(node.inputs) > 1 else "its attribute"
        formula = "" if known is not None else str(self._context.sites.wording.amounts(pad))
        return OuterPad(label, pad.mode, value, flat_order(known), pad.axes, source, formula, steps)

    def _about(self, nodes: Sequence[Node], way: Sequence[Node] = ()) -> tuple[Finding, ...]:
        """The findings about an operator and its `Pad`s.

        Some say which reader of a `Pad`, or which steps, they are about: if any of these are on the
        way to the operator, only those count.
        """
        label = self._context.label
        names = [(label(node), str(node.op)) for node in nodes]
        found = [each for name in names for each in self._findings.get(name, ())]
        here = {name for each in way for name in (label(each), self._graph.label(each))}
        own = [each for each in found if here.intersection(_told_of(each)) or not _told_of(each)]
        return tuple(own if way and own else found)


def _told_of(finding: Finding) -> Sequence[str]:
    """The reader, or the steps, that a finding about a `Pad` is about; empty if it is about all."""
    facts: Mapping[str, Any] = finding.evidence
    if "before" in facts:
        return [facts["before"]]
    return facts.get("steps", ()) if finding.code == _MOVED else ()


def _as_written(
    graph: Graph, kind: Kind, nodes: Sequence[Node], way: Sequence[Node] = (), *source: Tensor
) -> PaddingSite:
    """What is known of each site: its place, and its attributes as written.

    The first of the nodes is its own; it can be asked for by the names of all of them, of what they
    give, and of what is padded.
    """
    node = nodes[0]
    values = ((name, node.attrs.get(name, "")) for name in _WRITES)
    said = [
        f"{name}={str(getattr(value, 'ref_attr_name', value))[:_LONGEST]}"
        for name, value in values
        if value not in ("NOTSET", "")
    ]
    tensors = [tensor for each in nodes for tensor in each.outputs] + [*source]
    return PaddingSite(
        node=graph.place_of(node),
        op_type=str(node.op),
        domain=node.domain or "",
        scope=graph.place,
        kind=kind,
        written=", ".join(["Pad"] * (node.op == "Pad") + said),
        names=tuple(name for each in nodes for name in (describe(each), graph.place_of(each))),
        tensors=tuple(tensor.name for tensor in tensors if tensor.name),
        tensor=source[0].name if source else "",
        path=_steps(way),
        problem="onnxpad does not read it here" if kind == "other" else "",
    )


def _steps(nodes: Iterable[Node]) -> tuple[PathNode, ...]:
    """Nodes on the way of padded data."""
    return tuple(PathNode(describe(node), str(node.op)) for node in nodes)


# What differs between two models


def padding_differences(
    original: Graph, rewritten: Graph, domain: SizeDomain | None = None
) -> tuple[PaddingDifference, ...]:
    """The window operators whose total padding differs: their own and that of `Pad`s in front.

    How the padding is split between an operator and the `Pad`s in front of it makes no difference.
    Nor does padding that no window reads. What sizes differ because of another operator upstream is
    not held against an operator that is written alike.
    Operators are matched by the name of their output, else by order, provided that the remaining
    operators are the same in both models. Transposed convolutions are matched by the name of their
    output alone.

    Args:
        original: The graph of the original.
        rewritten: The graph of the rewritten model.
        domain: The sizes that both are meant for; all where it is None.
    """
    ours, theirs = (
        [site for site in sites_in([Context(graph, domain=domain)]) if _is_known(site)]
        for graph in (original, rewritten)
    )
    found = []
    for one, other in _matched(ours, theirs):
        name, now = one.tensors[0], other.tensors[0]
        if not _is_same(one, other) and (name == now or one.kind != "transposed"):
            labels = f"{one.node} ({one.op_type})", f"{other.node} ({other.op_type})"
            renamed = now if name != now else ""
            found.append(PaddingDifference(name, labels, (_total(one), _total(other)), renamed))
    return tuple(found)


def _is_known(site: PaddingSite) -> bool:
    """Whether a site is one of a window operator of the main graph whose total is known."""
    is_told = site.kind == "malformed" or (bool(site.windows) and "?" not in site.amounts)
    return is_told and not site.scope


def _total(site: PaddingSite) -> Pairs | str:
    """The amounts if all are numbers; else in words."""
    return pairs_of(site.pads) if site.pads is not None else site.amounts or site.written


def _matched(
    ours: Sequence[PaddingSite], theirs: Sequence[PaddingSite]
) -> Iterator[tuple[PaddingSite, PaddingSite]]:
    """Pairs of matching operators, in the original's order."""
    rest = {(each.tensors[0], each.op_type): each for each in theirs}
    others = [rest.pop((one.tensors[0], one.op_type), None) for one in ours]
    lone = [one.op_type for one, other in zip(ours, others, strict=True) if other is None]
    by_order = iter(rest.values() if lone == [op for _, op in rest] else ())
    for one, other in zip(ours, others, strict=True):
        if match := other or next(by_order, None):
            yield one, match


def _is_same(one: PaddingSite, other: PaddingSite) -> bool:
    """Whether two totals are equal, or not known to differ."""
    sites = one, other
    if any(each.kind == "malformed" for each in sites):
        return one.kind == other.kind
    written = [(each.auto_pad, each.windows, [pad.pads for pad in each.outer]) for each in sites]
    if one.auto_pad and written[0] == written[1]:
        return True  # what differs is the size
    slides = one.kind == "window" and not (one.ceil_mode or other.ceil_mode)
    return all(_reads_alike(*axes, slides) for axes in zip(one.axes, other.axes, strict=False))


def _reads_alike(one: AxisPadding, other: AxisPadding, slides: bool) -> bool:
    """Whether the same is read along an axis of the size of the first one, as far as is known."""
    there = replace(other, extent=one.extent)
    if slides and one.pair[0] == other.pair[0] and one.count == there.count:
        return True  # all windows start at the same places
    pairs = zip(one.pair, other.pair, strict=True)
    return all(a == b or (isinstance(a, Size) and isinstance(b, Size)) for a, b in pairs)
