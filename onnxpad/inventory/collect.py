"""Joins what is read of each padding of a model with what `check` finds about it, graph by graph.

A node that cannot be read becomes a site that says so, and reading goes on with the next one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from typing import Any, Final, TypeAlias

from msgspec.structs import replace

from onnxpad.arithmetic.notation import axis_names
from onnxpad.arithmetic.size import Extent, Unknown
from onnxpad.arithmetic.window import AnyWindow
from onnxpad.errors import ModelError
from onnxpad.facts.words import formula
from onnxpad.finding import Finding
from onnxpad.frameworks.fitting.padded import Padded
from onnxpad.graph import Graph, Node, Tensor, describe
from onnxpad.graph.walk import readable_graphs
from onnxpad.inventory.padding_site import (
    AxisPadding,
    Kind,
    OuterPad,
    PaddingSite,
    PathNode,
    flat_order,
)
from onnxpad.padding.crops import Crops
from onnxpad.padding.readers import Readers
from onnxpad.padding.reading import SiteReader, added, steps_of
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
)

_MOVED: Final = "PAD207"
"""The code of a `Pad` that moves past steps, which its finding names."""
_WRITES: Final = sorted(PADDING | {"output_padding", "output_shape"})
_LONGEST: Final = 80
_MOST_READERS: Final = 8
_UNKNOWN: Final = Unknown("not known")

_Findings: TypeAlias = Mapping[tuple[str, str], Sequence[Finding]]
"""Findings by the label and the operator of their node."""


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
        self._graph = context.graph
        self._findings = findings
        self._fitted = fitted
        self._taken: set[int] = set()  # `Pad`s that belong to another site
        self._crops: set[int] = set()  # those of them that a transposed convolution takes up
        self._reader = SiteReader(context.graph, context.analysis, self._crops)
        self._readers = Readers(context.graph)

    def sites(self) -> list[PaddingSite]:
        """All sites of the graph in file order."""
        graph, nodes = self._graph, _padding(self._graph)
        # A `Pad` belongs to the transposed convolution whose crop it changes, or else to the
        # windows that it pads, or else to nothing.
        order = sorted(nodes, key=lambda n: 2 * is_pad(graph, n) - is_transposed(graph, n))
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
        site = self._reader.of(op)
        own, paths, sizes, said = site.in_effect, site.front.pads, site.source_sizes, list[str]()
        kind: Kind = "window"
        more: dict[str, Any]
        if op.auto_pad != "NOTSET":
            said = [f"auto_pad={op.auto_pad}"]
        elif is_padded(op.pads):
            said = ["pads"]
        if isinstance(op, TransposedOp):
            kind, paths, sizes, source = "transposed", (), site.sizes, op.data
            total, behind = self._crop(op, own)
            more = {"output_padding": op.output_padding, "output_shape": op.output_shape}
            said += [name for name, value in more.items() if any(value or ())]
        else:
            behind, source = [], site.source
            total = added(own, site.front.amounts) if site.front.is_whole else None
            more = {"ceil_mode": op.ceil_mode, "count_include_pad": op.count_include_pad}
            said += ["ceil_mode"] * op.ceil_mode
        pads, outer = [path[0] for path in paths], tuple(map(self._outer, reversed(paths)))
        self._taken |= set(map(id, pads))
        said = [
            *(pad.written for pad in outer),
            *said,
            *(f"{each.op} downstream" for each in behind),
        ]
        nodes, way = [op.node, *pads, *behind], [*(paths[-1] if paths else ()), op.node, *behind]
        pairs, names = total or ((_UNKNOWN, _UNKNOWN),) * len(sizes), axis_names(len(sizes))
        axes = zip(op.axes, names, pairs, sizes, op.windows, strict=True)
        found = self._fitted.get(id(op.node))
        is_part = total != own and found and flat_order(found.pads) == flat_order(own)
        if len(nodes) > 1 and (own is None or is_part):
            found = None  # that its own part alone fits a framework says nothing of all of it
        return replace(
            _as_written(self._graph, kind, nodes, way, source),
            written=" + ".join(dict.fromkeys(said)),
            axes=tuple(starmap(self._axis, axes)),
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

    def _crop(
        self, op: TransposedOp, own: ExtentPairs | None
    ) -> tuple[ExtentPairs | None, list[Node]]:
        """How much is cropped in all, and the Slices and `Pad`s behind that crop or could."""
        context = self._context
        taking, left = Crops(self._graph, context.analysis, op).taking()
        behind = taking.taken
        self._crops |= set(map(id, behind))
        crop = taking.form.crop if behind else own
        if left is not None and left[0] not in behind:
            behind.append(left[0])
        self._taken |= {id(each) for each in behind if is_pad(self._graph, each)}
        return crop, behind

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
        self, axis: int, name: str, pair: ExtentPair, size: Extent, window: AnyWindow | None = None
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
