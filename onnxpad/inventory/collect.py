"""Joins what is read of each padding of a model with what `check` finds about it, graph by graph.

A node that cannot be read becomes a site that says so, and reading goes on with the next one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import starmap
from typing import Final

from onnxpad.arithmetic.notation import axis_names
from onnxpad.arithmetic.size import Extent, Unknown, symbol
from onnxpad.arithmetic.window import AnyWindow
from onnxpad.errors import ModelError
from onnxpad.finding import Finding
from onnxpad.frameworks.fitting.padded import Padded
from onnxpad.graph import Graph, Node, Tensor, Use, describe
from onnxpad.graph.walk import readable_graphs
from onnxpad.inventory.padding_site import (
    AxisPadding,
    Kind,
    OuterPad,
    PaddingSite,
    PathNode,
    flat_order,
)
from onnxpad.padding.crops import Crops, amounts_of
from onnxpad.padding.readers import Readers
from onnxpad.padding.reading import SiteReader, added, own_padding, steps_of
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.scopes import PADDING
from onnxpad.semantics.amounts import ExtentPair, ExtentPairs, is_padded
from onnxpad.semantics.operators import operator_named, windowed
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
_WRITES: Final = sorted(PADDING | {"output_padding", "output_shape"})
_LONGEST: Final = 80
_MOST_READERS: Final = 8
_UNKNOWN: Final = Unknown("not known")
_ANY: Final = symbol("any size")
"""Stands for a size of which nothing is known: a formula holds for that, too."""

_Findings = Mapping[tuple[str, str], Sequence[Finding]]
"""Findings by the label and the operator of the node that they are about."""


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
    found = [
        site for context in contexts for site in _Collector(context, about, fitted or {}).sites()
    ]
    seen = {id(context.graph) for context in contexts}
    for graph in readable_graphs(contexts[0].graph) if contexts else ():
        if id(graph) not in seen:
            found += written_sites(graph, about)
    return found


def written_sites(graph: Graph, findings: _Findings | None = None) -> Iterator[PaddingSite]:
    """The padding of a graph as it is written, where nothing else is known of it."""
    for node in filter(lambda node: _may_pad(graph, node), graph.nodes):
        site = _as_written(graph, node, "other")
        is_known = operator_named(graph, node) is not None or names_pad(graph, node)
        yield replace(
            site,
            problem="onnxpad does not look into this graph" if is_known else site.problem,
            findings=tuple((findings or {}).get((site.node, site.op_type), ())),
        )


def _may_pad(graph: Graph, node: Node) -> bool:
    """Whether a node pads, or could by its attributes."""
    slides = operator_named(graph, node) is not None or windowed(graph, node) is not None
    return slides or node.op == "Pad" or bool(PADDING & node.attrs.keys())


class _Collector:
    """Reads the sites of one graph."""

    def __init__(self, context: Context, findings: _Findings, fitted: Mapping[int, Padded]) -> None:
        self._context = context
        self._graph = context.graph
        self._findings = findings
        self._fitted = fitted
        self._taken: set[int] = set()  # `Pad`s that belong to another site
        self._crops: set[int] = set()  # those of them that a transposed convolution takes up
        self._reader = SiteReader(context.graph, context.analysis, self._crops)
        self._readers = Readers(context.graph)

    def sites(self) -> list[PaddingSite]:
        """All sites of the graph in file order."""
        graph = self._graph
        nodes = [node for node in graph.nodes if _may_pad(graph, node)]
        # A `Pad` belongs to the transposed convolution whose crop it changes, or else to the
        # windows that it pads, or else to nothing.
        order = sorted(nodes, key=lambda n: 2 * is_pad(graph, n) - is_transposed(graph, n))
        found = {id(each): self._site(each) for each in order if id(each) not in self._taken}
        return [found[id(node)] for node in nodes if id(node) in found]

    def _site(self, node: Node) -> PaddingSite:
        """One site; one that says why, where it cannot be read."""
        try:
            match self._context.read(node):
                case UnreadableError() as error:
                    raise error
                case PadOp() as pad:
                    return self._alone(pad)
                case WindowOp() as op:
                    return self._window(op)
                case TransposedOp() as op:
                    return self._transposed(op)
        except (ModelError, UnreadableError) as error:
            site = replace(_as_written(self._graph, node, "malformed"), problem=str(error))
        else:
            site = _as_written(self._graph, node, "other")
        return replace(site, findings=self._about([node]))

    def _window(self, op: WindowOp) -> PaddingSite:
        site = self._reader.of(op)
        own, paths, pairs = site.in_effect, site.front.pads, site.in_effect
        total = added(own, site.front.amounts) if site.front.is_whole else None
        if own is None:
            sizes = [_ANY if isinstance(each, Unknown) else each for each in site.sizes]
            pairs = own_padding(op, sizes)[0]
        self._taken |= {id(path[0]) for path in paths}
        outer = tuple(self._outer(path) for path in reversed(paths))
        said = [
            name if count == 1 else f"{count} {name}"
            for name, count in Counter(pad.written for pad in outer).items()
        ]
        if op.auto_pad != "NOTSET":
            said.append(f"auto_pad={op.auto_pad}")
        elif is_padded(op.pads):
            said.append("pads")
        nodes, way = [op.node, *(path[0] for path in paths)], (op.node,)
        return replace(
            self._slides(op, site.source, nodes, (*paths[-1], *way) if paths else way, total, own),
            written=" + ".join([*said, *["ceil_mode"] * op.ceil_mode]),
            axes=self._axes(op, total if paths else pairs, site.source_sizes),
            ceil_mode=op.ceil_mode,
            count_include_pad=op.count_include_pad,
            outer=outer,
        )

    def _transposed(self, op: TransposedOp) -> PaddingSite:
        context, site = self._context, self._reader.of(op)
        taking, left = Crops(self._graph, context.analysis, context.signs, op).taking()
        behind = taking.taken
        self._crops |= set(map(id, behind))
        total = taking.form.crop if behind else site.own
        if left is not None and left[0] not in behind:
            behind.append(left[0])
        self._taken |= {id(each) for each in behind if is_pad(self._graph, each)}
        said = [
            f"{name}={value}" if name == "auto_pad" else name
            for name, value in amounts_of(op).attributes
            if name != "pads" or is_padded(op.pads)
        ]
        said += dict.fromkeys(f"{each.op} downstream" for each in behind)
        nodes = op.node, *behind
        return replace(
            self._slides(op, op.data, nodes, nodes, total, site.own),
            written=" + ".join(said),
            axes=self._axes(op, total, site.sizes),
            output_padding=op.output_padding,
            output_shape=op.output_shape,
            downstream=_steps(behind),
        )

    def _slides(
        self,
        op: WindowOp | TransposedOp,
        source: Tensor,
        nodes: Sequence[Node],
        way: Sequence[Node],
        total: ExtentPairs | None,
        own: ExtentPairs | None,
    ) -> PaddingSite:
        """The fields that sites of window operators and transposed convolutions share.

        Args:
            op: The operator.
            source: The tensor that is padded.
            nodes: The operator first, and then what else pads or crops.
            way: The nodes from what is padded to the operator, or to the last that crops.
            total: All of the padding.
            own: The operator's own part of it.
        """
        is_crop, found = isinstance(op, TransposedOp), self._fitted.get(id(op.node))
        if found is not None and len(nodes) > 1:
            # That its own part alone fits a framework says nothing of all of it.
            is_part = total != own and flat_order(found.pads) == flat_order(own)
            found = None if own is None or is_part else found
        return replace(
            _as_written(self._graph, op.node, "transposed" if is_crop else "window"),
            total=total,
            own=own,
            auto_pad="" if op.auto_pad == "NOTSET" else op.auto_pad,
            names=_names(self._graph, nodes),
            tensors=_tensors(source, nodes),
            tensor=source.name,
            path=_steps(way),
            conventions=() if found is None else found.case.fits,
            convention="" if found is None else found.short,
            findings=self._about(nodes, () if is_crop else way),
        )

    def _axes(
        self, op: WindowOp | TransposedOp, pairs: ExtentPairs | None, sizes: Sequence[Extent]
    ) -> tuple[AxisPadding, ...]:
        """The padding of each axis that a window slides along."""
        count = len(op.windows)
        given = pairs or ((_UNKNOWN, _UNKNOWN),) * count
        each = zip(op.axes, axis_names(count), given, sizes, op.windows, strict=True)
        return tuple(starmap(self._axis, each))

    def _axis(
        self, axis: int, name: str, pair: ExtentPair, size: Extent, window: AnyWindow | None = None
    ) -> AxisPadding:
        formula = ""
        if not any(isinstance(each, Unknown) for each in pair):
            grows = _ANY if isinstance(size, Unknown) else size
            formula = self._context.sites.wording.formula(pair, grows)
        return AxisPadding(axis, name, pair, size, window, formula)

    def _alone(self, pad: PadOp) -> PaddingSite:
        """A `Pad` whose padding reaches no window operator."""
        node, outer = pad.node, self._outer([pad.node])
        shape, readers = self._context.analysis.shape(pad.data), self._readers
        rank = len(pad.amounts or ()) if shape is None and pad.axes is None else len(shape or ())
        whole = pad.extents_over(rank) if rank else None
        pairs: dict[int, ExtentPair] = dict(enumerate(whole or ()))
        if whole is None:
            pairs |= zip(pad.axes or (), pad.constant_amounts or (), strict=False)
        return replace(
            _as_written(self._graph, node, "pad"),
            written=outer.written,
            axes=tuple(
                self._axis(axis, f"axis {axis}", pair, shape[axis] if shape else _UNKNOWN)
                for axis, pair in pairs.items()
                if pair != (0, 0)
            ),
            total=whole,
            own=whole,
            outer=(outer,),
            tensors=_tensors(pad.data, [node]),
            tensor=pad.data.name,
            path=_steps((node, *(use.node for use in readers.path(node.outputs[0])))),
            readers=tuple(map(self._told, readers.of(node.outputs[0])[:_MOST_READERS])),
            findings=self._about([node]),
        )

    def _told(self, use: Use | None) -> str:
        """A reader of a `Pad` in words."""
        if use is None:
            return "an output of the graph"
        said = f"{use.node.op} {self._graph.label(use.node)!r}"
        return f"a body of {said}" if use.index < 0 else said

    def _outer(self, path: Sequence[Node]) -> OuterPad:
        """A `Pad` in plain values, with all nodes from it to the operator downstream."""
        node, steps = path[0], _steps(steps_of(path))
        label, pad = self._graph.label(node), self._context.pad(node)
        if isinstance(pad, UnreadableError):
            return OuterPad(label, "", None, None, None, str(pad), steps=steps)
        known, value = pad.constant_amounts, pad.value if pad.mode == "constant" else None
        source = next((repr(each.name) for each in node.inputs[1:2] if each.name), "its attribute")
        formula = "" if known is not None else str(self._context.sites.wording.amounts(pad))
        return OuterPad(label, pad.mode, value, flat_order(known), pad.axes, source, formula, steps)

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
        return finding.code != _MOVED or not isinstance(steps, list) or not way.isdisjoint(steps)


def _as_written(graph: Graph, node: Node, kind: Kind) -> PaddingSite:
    """A site with no more than what the node itself says."""
    values = ((name, node.attrs.get(name, "")) for name in _WRITES)
    said = [
        f"{name}={str(getattr(value, 'ref_attr_name', value))[:_LONGEST]}"
        for name, value in values
        if value not in ("NOTSET", "")
    ]
    of = f" of {node.domain}" if node.domain and not graph.is_standard(node) else ""
    problem = f"onnxpad does not cover {node.op}{of}"
    if graph.is_function(node):
        problem = f"{node.op} is a function of the model: its body says how it pads"
    return PaddingSite(
        node=graph.place_of(node),
        op_type=str(node.op),
        domain=node.domain or "",
        scope=graph.place,
        kind=kind,
        written=", ".join(["Pad"] * (node.op == "Pad") + said),
        names=_names(graph, [node]),
        tensors=tuple(tensor.name for tensor in node.outputs if tensor.name),
        problem=problem if kind == "other" else "",
    )


def _names(graph: Graph, nodes: Iterable[Node]) -> tuple[str, ...]:
    """The names that nodes go by."""
    found = (each for node in nodes for each in (describe(node), graph.place_of(node)))
    return tuple(dict.fromkeys(found))


def _tensors(source: Tensor, nodes: Iterable[Node]) -> tuple[str, ...]:
    """The names of a tensor and of the results of nodes."""
    found = [source.name, *(tensor.name for node in nodes for tensor in node.outputs)]
    return tuple(dict.fromkeys(filter(None, found)))


def _steps(nodes: Iterable[Node]) -> tuple[PathNode, ...]:
    """Nodes on the way of padded data."""
    return tuple(PathNode(describe(node), str(node.op)) for node in nodes)
