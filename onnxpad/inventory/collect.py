"""Reads every padding of a model, graph by graph, each node on its own.

A node that cannot be read becomes a site that says so, and reading goes on with the next one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

import onnx

from onnxpad.arithmetic.notation import axes_text, axis_names
from onnxpad.arithmetic.size import Extent, Unknown, bounds, symbol
from onnxpad.errors import ModelError
from onnxpad.finding import Finding
from onnxpad.frameworks.fitting.padded import Padded
from onnxpad.graph import Graph, Node, Tensor, Use, describe
from onnxpad.graph.walk import readable_graphs
from onnxpad.inventory.padding_site import AxisPadding, Kind, OuterPad, PaddingSite, PathNode
from onnxpad.padding.computed_pads import MANY
from onnxpad.padding.crops import Crops, amounts_of
from onnxpad.padding.readers import Readers
from onnxpad.padding.reading import Site, SiteReader, added, own_padding, steps_of
from onnxpad.reasons import Reason
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.scopes import PADDING
from onnxpad.semantics.amounts import (
    ExtentPair,
    ExtentPairs,
    Pairs,
    is_padded,
    numbers_of,
    onnx_order,
)
from onnxpad.semantics.operators import Layout, operator_named, windowed
from onnxpad.semantics.read_nodes import (
    PadOp,
    TransposedOp,
    UnreadableError,
    WindowOp,
    is_pad,
    is_transposed,
    names_pad,
)

_ABOUT_AUTO_PAD: Final = frozenset({"PAD101", "PAD102", "PAD103"})
_MOVED: Final = "PAD207"
"""The code of a `Pad` that moves past steps, which its finding names."""
_MOST_LISTED: Final = 12
_ALSO_PADS: Final = frozenset({"output_padding", "output_shape"})
_MOVING: Final = frozenset({"Transpose", "Unsqueeze", "Squeeze", "Reshape", "Flatten"})
_WIDEST_RANGE: Final = 1024
_LONGEST_SIZE: Final = 48
_MOST_READERS: Final = 8
_ANY: Final = symbol("any size")
"""Stands for a size of which nothing is known."""


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
    by_place: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        by_place[finding.node, finding.op_type].append(finding)
    found: list[PaddingSite] = []
    for context in contexts:
        found += _Collector(context, by_place, fitted or {}).sites()
    if contexts:
        seen = {id(context.graph) for context in contexts}
        for graph in _others(contexts[0].graph, seen):
            found += written_sites(graph, by_place)
    return found


def written_sites(
    graph: Graph, findings: Mapping[tuple[str, str], Sequence[Finding]] | None = None
) -> Iterator[PaddingSite]:
    """The padding of a graph as it is written, where nothing else is known of it."""
    for node in graph.nodes:
        if _may_pad(graph, node):
            place = graph.place_of(node), str(node.op)
            site = as_written(graph, node, "other")
            if _is_known(graph, node):
                site = replace(site, problem="onnxpad does not look into this graph")
            yield replace(site, findings=tuple((findings or {}).get(place, ())))


def _others(main: Graph, seen: set[int]) -> Iterator[Graph]:
    """The bodies and functions of a model that no context is about."""
    for graph in readable_graphs(main):
        if id(graph) not in seen:
            yield graph


def _is_known(graph: Graph, node: Node) -> bool:
    """Whether an operator is one that onnxpad reads."""
    return operator_named(graph, node) is not None or names_pad(graph, node)


def _may_pad(graph: Graph, node: Node) -> bool:
    """Whether a node pads, or could by its attributes."""
    known = _is_known(graph, node) or windowed(graph, node) is not None
    return known or node.op == "Pad" or bool(PADDING & node.attrs.keys())


class _Collector:
    """Reads the sites of one graph."""

    def __init__(
        self,
        context: Context,
        findings: Mapping[tuple[str, str], Sequence[Finding]],
        fitted: Mapping[int, Padded],
    ) -> None:
        self._context = context
        self._graph = context.graph
        self._analysis = context.analysis
        self._signs = context.signs
        self._findings = findings
        self._fitted = fitted
        self._taken: set[int] = set()  # `Pad`s that belong to another site
        self._crops: set[int] = set()  # those of them that a transposed convolution takes up
        self._sites = SiteReader(context.graph, context.analysis, self._crops)

    def sites(self) -> list[PaddingSite]:
        """All sites of the graph in file order."""
        graph = self._graph
        nodes = [node for node in graph.nodes if _may_pad(graph, node)]
        found: dict[int, PaddingSite] = {}
        # A `Pad` belongs to the transposed convolution whose crop it changes, or else to the
        # windows that it pads, or else to nothing.
        nodes.sort(key=lambda node: 2 * is_pad(graph, node) - is_transposed(graph, node))
        for node in nodes:
            if id(node) not in self._taken:
                found[id(node)] = self._site(node)
        return [found[id(node)] for node in graph.nodes if id(node) in found]

    def _site(self, node: Node) -> PaddingSite:
        """One site; one that says why, where it cannot be read."""
        try:
            return self._read(node)
        except (ModelError, UnreadableError) as error:
            site = as_written(self._graph, node, "malformed")
            return replace(site, problem=str(error), findings=self._about([node]))

    def _read(self, node: Node) -> PaddingSite:
        match self._context.read(node):
            case UnreadableError() as error:
                raise error
            case PadOp() as pad:
                return self._alone(pad)
            case TransposedOp() as op:
                return self._transposed(op)
            case WindowOp() as op:
                return self._window(op)
        return replace(as_written(self._graph, node, "other"), findings=self._about([node]))

    def _slides(
        self,
        site: Site,
        own: ExtentPairs | None,
        total: ExtentPairs | None,
        axes: tuple[AxisPadding, ...],
        nodes: Sequence[Node],
        way: Sequence[Node] = (),
    ) -> PaddingSite:
        """The fields that sites of window operators and transposed convolutions share.

        Args:
            site: Its padding.
            own: The operator's own part of it.
            total: All of it.
            axes: The same by axis.
            nodes: The operator first, and then what else pads or crops.
            way: The nodes from what is padded to the operator; none downstream of it.
        """
        op = site.op
        assert not isinstance(op, PadOp)
        source = site.source if way else op.data
        is_open = bool(way) and len(nodes) > 1 and own is None
        conventions, convention = ((), "") if is_open else self._fits(op.node, own, total)
        return replace(
            as_written(self._graph, op.node, "window" if way else "transposed"),
            names=names_of(self._graph, nodes),
            tensors=tensors_of(source, nodes),
            amounts=amounts_text(axes),
            pads=flat_order(total),
            own_pads=flat_order(own),
            axes=axes,
            kernel=tuple(known_number(window.kernel) for window in op.windows),
            stride=tuple(window.stride for window in op.windows),
            dilation=tuple(window.dilation for window in op.windows),
            auto_pad="" if op.auto_pad == "NOTSET" else op.auto_pad,
            tensor=source.name,
            path=tuple(map(step_of, way or nodes)),
            conventions=conventions,
            convention=convention,
            findings=self._about(nodes, way),
        )

    def _window(self, op: WindowOp) -> PaddingSite:
        node = op.node
        site = self._sites.of(op)
        upstream, sizes = site.front.pads, site.source_sizes
        outer = [self._outer(each, op.operator.layout, op.rank) for each in upstream]
        own = site.in_effect
        total = added(own, site.front.amounts) if site.front.is_whole else None
        # A formula holds for a size of which nothing is known, too.
        open_sizes = tuple(_ANY if isinstance(each, Unknown) else each for each in site.sizes)
        formulas = own_padding(op, open_sizes)[0] if own is None else own
        axes = self._axes(op.axes, total if upstream else formulas, sizes)
        self._taken |= {id(path[0]) for path in upstream}
        way = (*upstream[-1], node) if upstream else (node,)
        nodes = [node, *(path[0] for path in upstream)]
        origin = [
            f"a Pad {'upstream' if each.steps else 'in front'}, {each.source}"
            for each in reversed(outer)
        ]
        if op.auto_pad != "NOTSET":
            origin.append(f"auto_pad={op.auto_pad}")
        elif is_padded(op.pads):
            origin.append("its own pads")
        return replace(
            self._slides(site, own, total, axes, nodes, way),
            written=written_text(op, outer),
            own=amounts_text(self._axes(op.axes, formulas, sizes)),
            ceil_mode=op.ceil_mode,
            count_include_pad=op.count_include_pad,
            outer=tuple(reversed(outer)),
            origin=", and ".join(origin),
        )

    def _axes(
        self,
        axes: Sequence[int],
        total: Sequence[ExtentPair] | None,
        sizes: Sequence[Extent],
        names: Sequence[str] | None = None,
    ) -> tuple[AxisPadding, ...]:
        """The padding of each axis."""
        wording = self._context.sites.wording
        found = []
        named = axis_names(len(axes)) if names is None else names
        for place, axis in enumerate(axes):
            size = sizes[place] if place < len(sizes) else Unknown("not known")
            pair: ExtentPair = (Unknown("?"), Unknown("?")) if total is None else total[place]
            begin, end = map(known_number, pair)
            is_open = begin is None or end is None
            grows = _ANY if isinstance(size, Unknown) else size
            formula = wording.formula(pair, grows) if is_open and total is not None else ""
            short = range_text(pair[0]), range_text(pair[1])
            known, words = known_number(size), size_text(size)
            found.append(AxisPadding(axis, named[place], begin, end, known, words, formula, short))
        return tuple(found)

    def _transposed(self, op: TransposedOp) -> PaddingSite:
        site = self._sites.of(op)
        taking, left = Crops(self._graph, self._analysis, self._signs, op).taking()
        own, behind = site.own, taking.taken
        self._crops |= set(map(id, behind))
        total = taking.form.crop if behind else own
        counted = len(behind)
        if left is not None and left[0] not in behind:
            behind.append(left[0])
        self._taken |= {id(each) for each in behind if is_pad(self._graph, each)}
        axes = self._axes(op.axes, total, site.sizes)
        written = amounts_of(op)
        told = (each for each in written.attributes if each[0] != "pads" or is_padded(op.pads))
        parts = [f"{name}={value}" if name == "auto_pad" else name for name, value in told]
        origin = [*parts, *dict.fromkeys(f"{each.op} downstream" for each in behind[:counted])]
        parts += dict.fromkeys(f"{each.op} downstream" for each in behind)
        return replace(
            self._slides(site, own, total, axes, [op.node, *behind]),
            written=" + ".join(parts),
            own=written.text,
            output_padding=op.output_padding,
            output_shape=op.output_shape,
            downstream=tuple(map(step_of, behind)),
            origin=", and ".join(origin),
        )

    # Pads

    def _alone(self, pad: PadOp) -> PaddingSite:
        """A `Pad` whose padding reaches no window operator."""
        node, graph = pad.node, self._graph
        outer = self._outer([node])
        shape = self._analysis.shape(pad.data)
        rank = (
            len(shape) if shape is not None else len(pad.amounts or ()) if pad.axes is None else 0
        )
        whole = pad.extents_over(rank) if rank else None
        sizes: tuple[Extent, ...] = shape or (Unknown("not known"),) * rank
        padded = [axis for axis in range(rank) if whole is None or whole[axis] != (0, 0)]
        names = [f"axis {axis}" for axis in padded]
        total = None if whole is None else [whole[axis] for axis in padded]
        axes = self._axes(padded, total, [sizes[axis] for axis in padded], names)
        readers = self._readers.of(node.outputs[0])
        way = self._readers.path(node.outputs[0])
        said = [self._reader(each) for each in readers[:_MOST_READERS]]
        if len(readers) > _MOST_READERS:
            said.append(f"{len(readers) - _MOST_READERS} more")
        return replace(
            as_written(graph, node, "pad"),
            tensors=tensors_of(pad.data, [node]),
            written=pad_written(outer),
            amounts=amounts_text(axes) if whole is not None else outer.amounts,
            pads=flat_order(whole),
            own=outer.amounts,
            own_pads=flat_order(whole),
            axes=axes if whole is not None else (),
            outer=(outer,),
            tensor=pad.data.name,
            path=tuple(map(step_of, (node, *(use.node for use in way)))),
            readers=tuple(said),
            origin=outer.source,
            findings=self._about([node]),
        )

    def _reader(self, use: Use | None) -> str:
        if use is None:
            return "an output of the graph"
        node, index = use
        said = f"{node.op} {self._graph.label(node)!r}"
        inputs = self._readers.inputs(node)
        if index < 0:
            return f"a body of {said}"
        if inputs is not None and index != inputs.data:
            return f"{said} (input {index})"
        return said

    def _outer(self, path: Sequence[Node], layout: Layout | None = None, rank: int = 0) -> OuterPad:
        """A `Pad` in plain values; one that cannot be read says why.

        Args:
            path: The `Pad`, and all nodes from it to the operator downstream.
            layout: That of the operator downstream, by which axes have names.
            rank: The rank of its data.
        """
        node = path[0]
        label = self._graph.label(node)
        steps = tuple(map(step_of, steps_of(path)))
        try:
            pad = self._context.pad(node)
            if isinstance(pad, UnreadableError):
                raise pad
        except (ModelError, UnreadableError) as error:
            return OuterPad(label, "", None, None, None, "malformed", str(error), steps=steps)
        known = pad.constant_amounts
        value = pad.value if pad.mode == "constant" else None
        if known is None:
            why, flat = self._context.sites.wording.amounts(pad), None
            text = "overridable" if why.code is Reason.OVERRIDABLE else "computed"
            formula = str(why)
        else:
            text, flat, formula = pad_text(pad, known, path, layout, rank), flat_order(known), ""
        source = self._source(pad)
        return OuterPad(label, pad.mode, value, flat, pad.axes, text, source, formula, steps)

    def _source(self, pad: PadOp) -> str:
        """Where the amounts of a `Pad` come from."""
        amounts = pad.node.inputs[1:2]
        if not amounts or not amounts[0].name:
            return "its attribute"
        node = amounts[0].producer
        if node is None or node.op == "Constant":
            is_known = pad.constant_amounts is not None
            return "constant amounts" if is_known else f"amounts given by {amounts[0].name!r}"
        count = self._context.open_sites.computing(pad.node)
        from_ = self._context.sites.wording.sources(
            extent for pair in pad.amounts or () for extent in pair
        )
        many = f"{MANY} or more" if count >= MANY else count
        nodes = f"amounts computed by {many} node{'' if count == 1 else 's'}"
        return f"{nodes} from {from_}" if from_ else nodes

    # What all have

    def _fits(
        self,
        node: Node,
        own: Sequence[ExtentPair] | None,
        total: Sequence[ExtentPair] | None,
    ) -> tuple[tuple[str, ...], str]:
        """The frameworks that the total padding fits, and the same in short.

        None where only an operator's own part is known to fit them.
        """
        found = self._fitted.get(id(node))
        if found is None:
            return (), ""
        is_part = own is not None and total != own and flat_order(found.pads) == flat_order(own)
        return ((), "") if is_part else (found.case.fits, found.short)

    def _about(self, nodes: Sequence[Node], way: Sequence[Node] = ()) -> tuple[Finding, ...]:
        """The findings about some nodes.

        Args:
            nodes: The operator first, then its `Pad`s.
            way: The nodes of its path. Of a finding that says which reader of a `Pad`, or which
                steps downstream, it is about, these are to be among them, if any is.
        """
        found = [
            finding
            for node in nodes
            for finding in self._findings.get((self._context.label(node), str(node.op)), ())
            if finding.code not in _ABOUT_AUTO_PAD or "auto_pad" in node.attrs  # names may recur
        ]
        labels = {self._graph.label(node) for node in way}
        own = [each for each in found if self._is_here(each, nodes[0], labels)]
        return tuple(own if way and own else found)

    def _is_here(self, finding: Finding, node: Node, way: set[str]) -> bool:
        before, steps = finding.evidence.get("before"), finding.evidence.get("steps")
        if before is not None:
            return before == self._context.label(node)
        if not isinstance(steps, list) or finding.code != _MOVED:
            return True
        return any(step in way for step in steps)

    @cached_property
    def _readers(self) -> Readers:
        return Readers(self._graph)


# Words


def as_written(graph: Graph, node: Node, kind: Kind) -> PaddingSite:
    """A site with no more than what the node itself says."""
    said = []
    for name in sorted((PADDING | _ALSO_PADS) & node.attrs.keys()):
        value = node.attrs[name]
        if isinstance(value, onnx.AttributeProto):
            said.append(f"{name}=@{value.ref_attr_name}" if value.ref_attr_name else f"{name}=?")
        elif value not in ("NOTSET", ""):
            said.append(f"{name}={_brief_value(value)}")
    known: Sequence[str] = ["Pad"] if node.op == "Pad" else []
    return PaddingSite(
        node=graph.place_of(node),
        op_type=str(node.op),
        domain=node.domain or "",
        scope=graph.place,
        kind=kind,
        written=", ".join([*known, *said]),
        names=names_of(graph, [node]),
        tensors=tuple(tensor.name for tensor in node.outputs if tensor.name),
        problem=_not_covered(graph, node) if kind == "other" else "",
    )


def _not_covered(graph: Graph, node: Node) -> str:
    """Why onnxpad does not cover an operator."""
    if graph.is_function(node):
        return f"{node.op} is a function of the model: its body says how it pads"
    if graph.is_standard(node):
        return f"onnxpad does not cover {node.op}"
    domain = f" of {node.domain}" if node.domain else ""
    return f"onnxpad does not cover {node.op}{domain}"


def _brief_value(value: object) -> str:
    """An attribute in words; of a long list the first elements."""
    if isinstance(value, list):
        more = ", ..." if len(value) > _MOST_LISTED else ""
        return f"[{', '.join(map(str, value[:_MOST_LISTED]))}{more}]"
    return str(value)


def names_of(graph: Graph, nodes: Iterable[Node]) -> tuple[str, ...]:
    """The names that nodes go by."""
    found = (each for node in nodes for each in (describe(node), graph.place_of(node)))
    return tuple(dict.fromkeys(found))


def tensors_of(source: Tensor, nodes: Iterable[Node]) -> tuple[str, ...]:
    """The names of a tensor and of the results of nodes."""
    found = [source.name, *(tensor.name for node in nodes for tensor in node.outputs)]
    return tuple(dict.fromkeys(filter(None, found)))


def step_of(node: Node) -> PathNode:
    """A node on the way of padded data."""
    return PathNode(describe(node), str(node.op))


def known_number(extent: Extent) -> int | None:
    """A size or an amount that is a number; None for others."""
    return extent if isinstance(extent, int) else None


def flat_order(pairs: Sequence[ExtentPair] | None) -> tuple[int, ...] | None:
    """Amounts in ONNX order; None unless all are numbers."""
    numbers = numbers_of(pairs)
    return None if numbers is None else tuple(onnx_order(numbers))


def size_text(extent: Extent) -> str:
    """A size in words: a number, a formula of open sizes, or `open`."""
    text = "open" if isinstance(extent, Unknown) else str(extent)
    return text if len(text) <= _LONGEST_SIZE else "open"


def range_text(extent: Extent) -> str:
    """A number, or the least and the greatest that an amount can be, as `0..1`; else empty."""
    if isinstance(extent, int):
        return str(extent)
    least, greatest = bounds(extent)
    if least is None or greatest is None or greatest - least > _WIDEST_RANGE:
        return ""
    return f"{least}..{greatest}"


def amounts_text(axes: Sequence[AxisPadding]) -> str:
    """The padding of all axes in words; `none` if there is none."""
    if all((each.begin, each.end) == (0, 0) for each in axes):
        return "none"
    if not any(any(each.ranges) for each in axes):
        return "not known"
    return ", ".join(f"{each.name} {each.range}" for each in axes)


def written_text(op: WindowOp, outer: Sequence[OuterPad]) -> str:
    """How the padding of a window operator is written, in short."""
    kinds = Counter(map(pad_written, reversed(outer)))
    said = [name if count == 1 else f"{count} {name}" for name, count in kinds.items()]
    if op.auto_pad != "NOTSET":
        said = [*said, f"auto_pad={op.auto_pad}"]
    elif is_padded(op.pads):
        said = [*said, "pads"]
    if op.ceil_mode:
        said = [*said, "ceil_mode"]
    return " + ".join(said)


def pad_text(
    pad: PadOp, known: Pairs, path: Iterable[Node], layout: Layout | None, rank: int
) -> str:
    """The amounts of a `Pad`; by name of the axis if these are those of the operator downstream."""
    moved = any(step.op in _MOVING for step in path)
    if layout is not None and not moved:
        whole = pad.over(rank)
        if whole is not None:
            return layout.text(whole)
    return axes_text(known, pad.axes)


def pad_written(pad: OuterPad) -> str:
    """How a `Pad` is written, in short."""
    words = [pad.amounts] if pad.amounts in {"computed", "overridable"} else []
    words += ["Pad"]
    if pad.mode not in {"constant", ""}:
        words.append(pad.mode)
    elif pad.value is None:
        words.append("of ?")
    elif pad.value:
        words.append(f"of {pad.value}")
    if pad.steps:
        words.append("upstream")
    return " ".join(words)
