"""Words for open sizes: the inputs that they grow with, and the padding as a formula of them.

They also say whether the content of a tensor is unknown only as an input may replace it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from itertools import chain

from onnxpad.arithmetic.size import Extent, Size, Unknown, in_terms_of, in_words, symbol
from onnxpad.arithmetic.window import Side, Window, same_pads
from onnxpad.errors import and_list
from onnxpad.facts import Analysis, OpenAxis, is_constant, open_axes
from onnxpad.graph import Graph, Tensor, upstream
from onnxpad.reasons import BY_DEFAULT, BY_SIZE, Reason, RefusalError
from onnxpad.semantics.layers import ExtentPair
from onnxpad.semantics.operators import PadOp

_OWN = "the size it reads"


class Wording:
    """Words for the sizes of one graph."""

    def __init__(self, graph: Graph, analysis: Analysis) -> None:
        """Reads the graph as it is at each call."""
        self._graph = graph
        self._analysis = analysis

    def sizes(self, axes: Mapping[int, Extent]) -> str:
        """Sizes by axis: `the size of axis 2, which grows with 'height' (axis 2 of input 'x')`."""
        is_known = all(map(self._is_traced, axes.values()))
        told = f"grows with {_sources(self.places(axes.values()))}" if is_known else "is not known"
        return f"the size of {_axes(axes)}, which {told}"

    def places(self, extents: Iterable[Extent] | None = None) -> list[dict[str, object]]:
        """The axes of graph inputs that these sizes grow with, as data; without any, all open."""
        names = self._inputs if extents is None else _names(extents)
        found = dict.fromkeys(axis for name, axis in self._inputs.items() if name in names)
        return [{"name": axis.label, "input": axis.tensor, "axis": axis.axis} for axis in found]

    def same(self, windows: Mapping[int, Window], odd: Side) -> str:
        """SAME's pads in words, axis by axis, as a formula of the size of the axis."""
        n = symbol("n")
        pairs = {axis: same_pads(n, each, odd=odd) for axis, each in windows.items()}
        return _by_axis({axis: formula(pair, n) for axis, pair in pairs.items()})

    def amounts(self, pad: PadOp, *options: str) -> RefusalError:
        """Why a `Pad`'s amounts are not constant, with options that help besides those on sizes."""
        given = [each for place in (1, 3) if (each := pad.node.operand(place)) is not None]
        if any(map(self._graph.is_external, given)):
            text = "its amounts lie in another file; pass the path of the model"
            return RefusalError(Reason.AMOUNTS_IN_FILE, text)
        amounts = pad.amounts or ()
        axes = pad.axes if pad.axes is not None and amounts else range(len(amounts))
        pairs = {axis: pair for axis, pair in zip(axes, amounts, strict=True) if _varies(pair)}
        extents = [*chain.from_iterable(pairs.values())]
        places = self.places(extents)
        if not places or Unknown in map(type, extents):
            if all(map(self._is_known_at_one_size, given)):
                text = "its amounts depend on open sizes, in a way that onnxpad does not work out"
                sizes, helps = self.places(), (*BY_SIZE, *options)
                return RefusalError(Reason.NOT_WORKED_OUT, text, sizes=sizes, options=helps)
            return self.overridable(given, "its amounts") or RefusalError(
                Reason.AMOUNTS_UNKNOWN, "its amounts are known only at run time"
            )
        texts = {axis: self._text(pad, axis, pair) for axis, pair in pairs.items()}
        told = {axis: text for axis, text in texts.items() if text}
        formulas = _by_axis(told)
        what = f"its amounts depend on {_sources(places)}"
        return RefusalError(
            Reason.SIZE_DEPENDENT,
            f"{what}: {formulas}" if formulas else what,
            what if formulas else "",
            axes=list(pairs),
            sizes=places,
            amounts=told,
            options=(*BY_SIZE, *options),
        )

    def overridable(self, tensors: Iterable[Tensor], what: str) -> RefusalError | None:
        """The refusal of tensors, giving `what`, that only inputs in place of initializers hide."""
        value, sources = self._analysis.value, self._graph.sources

        def unknown(among: Iterable[Tensor]) -> list[Tensor]:
            return [each for each in among if not is_constant(value(each))]

        found = [*upstream(unknown(tensors), lambda node: unknown(sources(node)))]
        first = [self._graph.home(e) for e in filter(None, found) if e.producer is None]
        names = [tensor.name for graph, tensor in first if tensor.name in graph.initializers]
        if None in found or not names or len(names) < len(first):
            return None
        text = f"initializer {names[0]!r}, which is also an input, gives {what}"
        return RefusalError(Reason.OVERRIDABLE, text, options=BY_DEFAULT)

    def fill(self, pad: PadOp) -> RefusalError:
        """The reason why the value of a `Pad` is unknown."""
        return self.overridable(pad.node.inputs[2:3], "the value it pads with") or RefusalError(
            Reason.FILL_UNKNOWN, "the value it pads with is known only at run time"
        )

    def _is_known_at_one_size(self, tensor: Tensor) -> bool:
        """Whether a tensor holds numbers once every open size is fixed."""
        found = self._at_one_size.integers(tensor)
        return found is not None and {int}.issuperset(map(type, found))

    @cached_property
    def _at_one_size(self) -> Analysis:
        """An analysis for fixed sizes of a main graph; of a body, at those that are known."""
        sizes = {axis.symbol: 64 for axis in open_axes(self._graph.model.main.inputs)}
        return Analysis(self._graph, sizes, self._analysis.outer)

    def options(self, axes: Mapping[int, Extent], data: Tensor) -> tuple[str, ...]:
        """The options that may make sizes of a tensor known."""
        if all(map(self._is_traced, axes.values())):
            return BY_SIZE
        # Its rank may depend on the sizes, as that of a Squeeze of computed axes does.
        shape = self._at_one_size.shape(data) or ()
        known = all(axis < len(shape) and isinstance(shape[axis], int) for axis in axes)
        main = self._graph.model.main
        by_default = BY_DEFAULT if main.inputs.keys() & main.initializers.keys() else ()
        return BY_SIZE if known else by_default

    def _text(self, pad: PadOp, axis: int, pair: ExtentPair) -> str:
        """A `Pad`'s begin and end on an axis as formulas of one size; empty where there is none."""
        shape, names = self._analysis.shape(pad.data) or (), _names(pair)
        told = formula(pair, shape[axis]) if -len(shape) <= axis < len(shape) else ""
        known = self._inputs.get(names[0])
        return told or (_told(pair, repr(known.label)) if known and len(names) == 1 else "")

    def _is_traced(self, extent: Extent) -> bool:
        """Whether an extent, if it is known, grows with axes of graph inputs alone."""
        return self._inputs.keys() >= {*_names([extent])}

    @cached_property
    def _inputs(self) -> Mapping[str, OpenAxis]:
        """The open axes of graph inputs in order, by all names that their symbols can have."""
        found: dict[str, OpenAxis] = {}
        for axis in open_axes(self._graph.model.main.inputs):
            found.setdefault(axis.symbol, axis)
            found.setdefault(axis.label, axis)
        return found


@lru_cache(maxsize=1024)
def formula(pair: ExtentPair, size: Extent, name: str = _OWN) -> str:
    """A begin and an end as formulas of a size, in words; empty where there are none."""
    if not _varies(pair):
        return ""
    begin, end = (in_terms_of(extent, size, name) for extent in pair)
    is_known = not isinstance(begin, Unknown) and not isinstance(end, Unknown)
    return _told((begin, end), name) if is_known else ""


def _told(pair: ExtentPair, name: str) -> str:
    begin, end = (in_words(extent, "n") for extent in pair)
    return f"the begin is {begin} and the end {end}, where n is {name}"


def _names(extents: Iterable[Extent]) -> list[str]:
    sizes = [extent for extent in extents if isinstance(extent, Size)]
    return list(dict.fromkeys(each.name for size in sizes for each in size.symbols))


def _sources(places: Iterable[Mapping[str, object]]) -> str:
    """Axes of graph inputs in words: `'height' (axis 2 of input 'x')`."""
    return and_list(
        f"{each['name']!r} (axis {each['axis']} of input {each['input']!r})" for each in places
    )


def _varies(pair: ExtentPair) -> bool:
    return not all(isinstance(extent, int) for extent in pair)


def _axes(axes: Iterable[int]) -> str:
    """Axes in words: `axis 2`, `axes 2 and 3`."""
    told = [*map(str, axes)]
    return f"{'axes' if len(told) > 1 else 'axis'} {and_list(told)}"


def _by_axis(texts: Mapping[int, str]) -> str:
    """The texts with their axes; axes that share a text are listed together."""
    groups: dict[str, list[int]] = {}
    for axis, text in texts.items():
        groups.setdefault(text, []).append(axis)
    return "; ".join(f"on {_axes(axes)} {text}" for text, axes in groups.items())
