"""Every padding of a model as it stands: how it is written, how much it is, and what becomes of it.

Nothing here rewrites a model. A site is one operator that pads, with the `Pad`s in front of it, as
`frameworks.reading` reads it, joined with what `check` finds about it. A node that cannot be read
becomes a site that says so. The sites of two models are compared, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from onnxpad.arithmetic.size import Extent, Size, Unknown, bounds
from onnxpad.arithmetic.window import Window, axis_names, output_size
from onnxpad.errors import ModelError, UsageError, meant
from onnxpad.facts.feasible import SizeDomain
from onnxpad.facts.words import formula
from onnxpad.finding import Finding, as_options, examples
from onnxpad.frameworks.fitting.padded import Padded
from onnxpad.frameworks.reading import SiteReader, steps_of
from onnxpad.graph import Graph, Node, describe
from onnxpad.padding.crops import Crops, Taking
from onnxpad.padding.padding import Readers
from onnxpad.rewrite.pass_api import Context
from onnxpad.rewrite.scopes import PADDING
from onnxpad.semantics.layers import (
    ExtentPair,
    ExtentPairs,
    is_padded,
    numbers_of,
    onnx_order,
    pairs_of,
)
from onnxpad.semantics.operators import (
    PadOp,
    TransposedOp,
    WindowOp,
    is_pad,
    operator_named,
    windowed,
)
from onnxpad.validation.result import PaddingDifference

Kind: TypeAlias = Literal["window", "transposed", "pad", "other", "malformed"]
"""`window` slides over its data; `transposed` is a ConvTranspose, whose pads crop; `pad` is a `Pad`
whose padding reaches no window operator; `other` has attributes that pad but is not covered;
`malformed` cannot be read."""

FIX = "onnxpad fix MODEL"
"""How advice begins; after it come the options that help."""

_WRITES = sorted(PADDING | {"output_padding", "output_shape"})
_LONGEST = 80
_MOST_READERS = 8
_UNKNOWN = Unknown("not known")
_UNREAD = "onnxpad does not read it here"


class PathNode(Struct, frozen=True):
    """A node on the way of padded data: its name, or that of its first output, and its operator."""

    node: str
    op_type: str


class AxisPadding(Struct, frozen=True):
    """One axis, by its index, and by its name: such as `H`, or `axis 1` if it has none.

    The pair is added at begin and end; of a transposed convolution it is cropped, below 0 appended.
    The extent is the size of the data that is padded; Unknown if nothing is known of it.
    """

    axis: int
    name: str
    pair: ExtentPair
    extent: Extent

    @property
    def formula(self) -> str:
        """Begin and end as formulas of the size, where they depend on it; else empty."""
        return formula(self.pair, self.extent, "the size of the data")

    @property
    def told_size(self) -> str:
        """The size in words, such as `224` or `ceil(height/2)`."""
        return "open" if isinstance(self.extent, Unknown) else str(self.extent)


class PaddingSite(Struct, frozen=True):
    """One padding of a model: an operator with the `Pad`s in front of it, or a `Pad` alone.

    It is written such as `Pad`, `pads` or `auto_pad=SAME_UPPER`; empty if nothing is. `pads` are
    the total of its spatial axes, of a `Pad` of all, in ONNX order, and `own_pads` the operator's
    part of it; None if not known. `outer` are the `Pad`s in front, the nearest last, whose path is
    the steps to the next; the path of others leads from the tensor that is padded to what crops the
    result. A `Pad` has its readers, and the source of its amounts, or why they are no numbers. The
    problem is why it cannot be read. It can be asked for by its names and tensors. What its targets
    do with it is `right` as it came, `rewritten` by `fix`, or the worst that nothing mends:
    `wrong`, `rejected`, `fallback` or `unknown`; that is `measured`, `inferred`, `read` or `no
    data`. Targets, shapes and `dims` are as options are typed.
    """

    node: str
    op_type: str
    domain: str
    scope: str
    kind: Kind
    written: str
    op: WindowOp | TransposedOp | PadOp | None = None
    axes: tuple[AxisPadding, ...] = ()
    pads: tuple[int, ...] | None = None
    own_pads: tuple[int, ...] | None = None
    outer: tuple[PaddingSite, ...] = ()
    tensor: str = ""
    path: tuple[PathNode, ...] = ()
    source: str = ""
    formula: str = ""
    readers: tuple[str, ...] = ()
    conventions: tuple[str, ...] = ()
    convention: str = ""
    findings: tuple[Finding, ...] = ()
    problem: str = ""
    names: tuple[str, ...] = ()
    tensors: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    dims: Mapping[str, str] = field(default_factory=dict)

    def read(self, attribute: str, other: Any = None) -> Any:
        """What was read of the operator's attribute; `other` where it has none."""
        return getattr(self.op, attribute, other)

    @property
    def windows(self) -> tuple[Window, ...]:
        """The windows that slide along its axes; none of a `Pad`."""
        found: tuple[Window, ...] = self.read("windows", ())
        return found

    @property
    def amounts(self) -> str:
        """The total in words, such as `H 1+1, W 0..1+1`; empty where no axis is known."""
        if all(axis.pair == (0, 0) for axis in self.axes):
            return "" if self.pads is None else "none"
        return ", ".join(f"{axis.name} {'+'.join(map(_range, axis.pair))}" for axis in self.axes)

    @property
    def fixable(self) -> bool:
        """Whether `fix` rewrites at least a part of it."""
        return any(each.fixable for each in self.findings)

    @property
    def stays(self) -> bool:
        """Whether a part of it stays that `fix` would rewrite if something were otherwise."""
        return any(not each.fixable for each in self.findings)

    @property
    def advice(self) -> tuple[str, ...]:
        """The commands that help, in the order of the findings, each said once."""
        told = (said for each in self.findings for said in self._advice_on(each))
        return tuple(dict.fromkeys(told))

    @property
    def command(self) -> str:
        """How `fix` is called for its targets and sizes, as a shell takes it."""
        return " ".join(filter(None, [FIX, *self.given, as_options(self.dims)]))

    def _advice_on(self, finding: Finding) -> Iterator[str]:
        """Commands that help, each by itself; none if nothing can, or the reason says what."""
        if finding.fixable:
            yield self.command
        asked: Any = finding.evidence.get("sizes", ())
        # Of a range that was given, the first size is the example.
        sizes = {n: self.dims.get(n, e).partition("..")[0] for n, e in examples(asked).items()}
        by_size = f"{' '.join([FIX, *self.given])} {as_options({**self.dims, **sizes})}"
        options: Any = finding.evidence.get("options", ())
        for option in options:
            if option == "--dim":
                yield by_size if sizes else f"{self.command} --shape SIZES"
            elif option != "--shape":
                yield f"{self.command} {option}"


def _flat(pairs: ExtentPairs | None) -> tuple[int, ...] | None:
    """Amounts in ONNX order; None unless all are numbers."""
    numbers = numbers_of(pairs)
    return None if numbers is None else tuple(onnx_order(numbers))


def _range(extent: Extent) -> str:
    """A number, or the least and the greatest that an amount can be, as `0..1`; else `?`."""
    least, greatest = bounds(extent)
    if least is None:
        return "?"
    return str(least) if least == greatest else f"{least}..{greatest}"


def chosen(sites: Sequence[PaddingSite], patterns: Iterable[str]) -> tuple[PaddingSite, ...]:
    """The sites with one of these names, in file order; patterns are compared with nodes alone.

    Raises:
        UsageError: No site has such a name.
    """
    found: set[int] = set()
    for pattern in patterns:
        glob = pattern.replace("[", "[[]")
        places = {
            place
            for place, site in enumerate(sites)
            if pattern in {site.tensor, *site.tensors}
            or any(fnmatchcase(name, glob) for name in site.names)
        }
        if not places:
            known = (name for site in sites for name in (*site.names, *site.tensors, site.tensor))
            told = meant(pattern, known) or "; onnxpad show MODEL lists all that can pad"
            raise UsageError(f"no padding at {pattern!r}{told}")
        found |= places
    return tuple(sites[place] for place in sorted(found))


def sites_in(
    contexts: Sequence[Context],
    findings: Sequence[Finding] = (),
    fitted: Mapping[int, Padded] | None = None,
) -> list[PaddingSite]:
    """Every padding of a model, in file order, with what `check` finds and what it fits in all."""
    read = {id(each.graph): _Collector(each, findings, fitted or {}) for each in contexts}
    found = [site for each in read.values() for site in each.sites()]
    for graph in contexts[0].graph.inside():
        if id(graph) not in read:
            found += written_sites(graph, findings)
    return found


def written_sites(graph: Graph, findings: Sequence[Finding] = ()) -> Iterator[PaddingSite]:
    """The padding of a graph as it is written, where nothing else is known of it."""
    written = _Written(graph, findings)
    return (written("other", [node], problem=_UNREAD) for node in _padding(graph))


def _padding(graph: Graph) -> list[Node]:
    return [
        node
        for node in graph.nodes
        if node.op == "Pad"
        or not PADDING.isdisjoint(node.attrs)
        or operator_named(graph, node) is not None
        or windowed(graph, node)
    ]


class _Written:
    """Makes sites of one graph, with what is known of each: its place, and what is found there."""

    def __init__(self, graph: Graph, findings: Sequence[Finding]) -> None:
        self._graph = graph
        self._about: dict[tuple[str, str], list[Finding]] = defaultdict(list)
        for finding in findings:
            self._about[finding.node, finding.op_type].append(finding)

    def __call__(self, kind: Kind, nodes: Sequence[Node], **told: Any) -> PaddingSite:
        """The site of some nodes: the first is its own, and it can be asked for by all names.

        What is found about another reader of a `Pad` is not about it. What is found about crops is
        about a transposed convolution, and about what is behind it only where nothing else is.
        """
        node, places = nodes[0], [*map(self._graph.place_of, nodes)]
        found = [
            finding
            for each, at in zip(nodes, places, strict=True)
            for finding in self._about.get((at, each.op), ())
            if finding.evidence.get("before", places[0]) == places[0] or node.op == "Pad"
        ]
        if kind != "transposed":
            found = [each for each in found if not each.code.startswith("PAD4")] or found
        attributes = (f"{name}={node.attrs[name]}" for name in _WRITES if name in node.attrs)
        said = [each[:_LONGEST] for each in attributes if each != "auto_pad=NOTSET"]
        told.setdefault("written", ", ".join(["Pad"] * (node.op == "Pad") + said))
        return PaddingSite(
            node=places[0],
            op_type=str(node.op),
            domain=node.domain or "",
            scope=self._graph.place,
            kind=kind,
            findings=tuple(found),
            names=tuple(chain(*zip(map(describe, nodes), places, strict=True))),
            tensors=tuple(tensor.name for each in nodes for tensor in each.outputs if tensor.name),
            **told,
        )


class _Collector:
    """Reads the sites of one graph."""

    def __init__(
        self,
        context: Context,
        findings: Sequence[Finding] = (),
        fitted: Mapping[int, Padded] = MappingProxyType({}),
    ) -> None:
        self._context = context
        self._written = _Written(context.graph, findings)
        self._fitted = fitted
        self._nodes = _padding(context.graph)
        # What a transposed convolution takes over, with all that crops or extends its result.
        self._behind: dict[int, tuple[Taking, list[Node]]] = {}
        self._failed = dict[int, ModelError]()
        barred = set[int]()
        for node in self._nodes:
            try:
                op: object = context.read(node)
            except ModelError as error:  # which is raised once, and which its site tells
                op = self._failed[id(node)] = error
            if isinstance(op, TransposedOp):
                taking, left = Crops(context.graph, context.analysis, op).taking()
                others = [left[0]] if left and left[0] not in taking.taken else []
                self._behind[id(node)] = taking, taking.taken + others
                barred |= set(map(id, taking.taken))
        # What belongs to another site.
        self._taken = {id(each) for _, behind in self._behind.values() for each in behind}
        self._reader = SiteReader(context.graph, context.analysis, barred)
        self._readers = Readers(context.graph)

    def sites(self) -> list[PaddingSite]:
        """Those of the graph, in file order."""
        # A `Pad` belongs to the windows that it pads, or else to nothing.
        order = sorted(self._nodes, key=lambda node: is_pad(self._context.graph, node))
        found = {id(each): self._site(each) for each in order if id(each) not in self._taken}
        return [found[id(node)] for node in self._nodes if id(node) in found]

    def _site(self, node: Node) -> PaddingSite:
        try:
            read: object = self._failed.get(id(node)) or self._context.read(node)
            if isinstance(read, PadOp):
                return self._pad(read)
            if isinstance(read, WindowOp | TransposedOp):
                return self._slides(read)
        except ModelError as error:
            read = error
        kind: Kind = "other" if read is None else "malformed"
        return self._written(kind, [node], problem=str(read or _UNREAD))

    def _slides(self, op: WindowOp | TransposedOp) -> PaddingSite:
        """An operator with the `Pad`s in front, or with what crops the result behind it."""
        site, behind, paths = self._reader.of(op), list[Node](), tuple[tuple[Node, ...], ...]()
        source, sizes, own = site.source, site.source_sizes, site.own
        said = [f"auto_pad={op.auto_pad}"] if op.auto_pad != "NOTSET" else []
        said = said or ["pads"] * is_padded(op.pads)
        if isinstance(op, TransposedOp):
            taking, behind = self._behind[id(op.node)]
            source, sizes, total = op.data, site.sizes, taking.form.crop if taking.taken else own
            said += ["output_padding"] * any(op.output_padding)
            said += ["output_shape"] * bool(op.output_shape)
        else:
            paths, total = site.front.pads, site.total
            said += ["ceil_mode"] * op.ceil_mode
        pads, outer = [path[0] for path in paths], tuple(map(self._in_front, reversed(paths)))
        self._taken |= set(map(id, pads))
        said = [*(pad.written for pad in outer), *said, *(f"{e.op} downstream" for e in behind)]
        found = self._fitted.get(id(op.node))
        is_part = total != own and found and _flat(found.pads) == _flat(own)
        if (pads or behind) and (own is None or is_part):
            found = None  # that its own part alone fits a framework says nothing of all of it
        pairs = total or ((_UNKNOWN, _UNKNOWN),) * len(sizes)
        return self._written(
            "transposed" if site.is_transposed else "window",
            [op.node, *pads, *behind],
            written=" + ".join(dict.fromkeys(said)),
            op=op,
            axes=tuple(map(AxisPadding, op.axes, axis_names(len(sizes)), pairs, sizes)),
            pads=_flat(total),
            own_pads=_flat(own),
            outer=outer,
            tensor=source.name,
            path=_steps([*(paths[-1] if paths else ()), op.node, *behind]),
            conventions=() if found is None else found.case.fits,
            convention="" if found is None else found.short,
        )

    def _in_front(self, path: Sequence[Node]) -> PaddingSite:
        """A `Pad` in front of an operator, with all nodes from it on."""
        steps, pad = _steps(steps_of(path)), self._site(path[0])
        return replace(pad, written=pad.written + " upstream" * bool(steps), path=steps)

    def _pad(self, pad: PadOp) -> PaddingSite:
        """A `Pad` by itself."""
        node, result, is_known = pad.node, pad.node.outputs[0], pad.constant_amounts is not None
        shape = self._context.analysis.shape(pad.data)
        if shape is None and pad.axes is None:
            shape = (_UNKNOWN,) * len(pad.amounts or ())
        total = None if shape is None else pad.extents_over(len(shape))
        axes = enumerate(zip(total or (), shape or (), strict=False))
        said = [*["computed"] * (not is_known), "Pad"]
        if pad.mode != "constant":
            said.append(pad.mode)
        elif pad.value != 0:
            said.append(f"of {'?' if pad.value is None else pad.value}")
        return self._written(
            "pad",
            [node],
            written=" ".join(said),
            op=pad,
            axes=tuple(
                AxisPadding(axis, f"axis {axis}", pair, size)
                for axis, (pair, size) in axes
                if pair != (0, 0)
            ),
            pads=_flat(total),
            own_pads=_flat(total),
            tensor=pad.data.name,
            path=_steps([node, *(use.node for use in self._readers.path(result))]),
            source=node.inputs[1].name if len(node.inputs) > 1 else "its attribute",
            formula="" if is_known else str(self._context.sites.wording.amounts(pad)),
            readers=tuple(
                "an output" if use is None else f"{use.node.op} {describe(use.node)!r}"
                for use in self._readers.of(result)[:_MOST_READERS]
            ),
        )


def _steps(nodes: Iterable[Node]) -> tuple[PathNode, ...]:
    return tuple(PathNode(describe(node), str(node.op)) for node in nodes)


def padding_differences(
    original: Graph, rewritten: Graph, domain: SizeDomain | None = None
) -> tuple[PaddingDifference, ...]:
    """The window operators whose total padding differs: their own and that of `Pad`s in front.

    How the padding is split between an operator and the `Pad`s in front of it makes no difference.
    Nor does padding that no window reads. What sizes differ because of another operator upstream is
    not held against an operator that is written alike. Operators are matched by their outputs.
    """
    ours, theirs = (
        {
            (site.tensors[0], site.op_type): site
            for site in _Collector(Context(graph, domain=domain)).sites()
            if site.windows and "?" not in site.amounts
        }
        for graph in (original, rewritten)
    )
    return tuple(
        PaddingDifference(
            name,
            (f"{one.node} ({op_type})", f"{other.node} ({op_type})"),
            (pairs_of(one.pads or ()) or one.amounts, pairs_of(other.pads or ()) or other.amounts),
            {"original": one, "rewritten": other},
        )
        for (name, op_type), one in ours.items()
        if (other := theirs.get((name, op_type))) is not None and not _is_same(one, other)
    )


def _is_same(one: PaddingSite, other: PaddingSite) -> bool:
    """Whether two totals are equal, or not known to differ."""
    said = [(each.written, each.windows, [pad.pads for pad in each.outer]) for each in (one, other)]
    if said[0] == said[1] and "auto_pad" in one.written:
        return True  # what differs is the size
    slides = one.kind == "window" and "ceil_mode" not in one.written + other.written
    each = zip(one.axes, other.axes, one.windows, other.windows, strict=False)
    for axis, there, ours, theirs in each:
        if slides and axis.pair[0] == there.pair[0]:
            counts = output_size(axis.extent, ours, *axis.pair)
            if counts == output_size(axis.extent, theirs, *there.pair):
                continue
        pairs = zip(axis.pair, there.pair, strict=True)
        if not all(a == b or (isinstance(a, Size) and isinstance(b, Size)) for a, b in pairs):
            return False
    return True
