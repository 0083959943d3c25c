"""Reads the term of a tensor from the graph.

Terms are read once, in the order of the graph, and kept. An edit calls for `reread`, which reads
what was touched, and says which of the tensors that were there before have another term now.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from onnxpad.arithmetic.size import always, less_equal, minimum
from onnxpad.errors import ModelError
from onnxpad.facts import Analysis
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.graph.nodes import written
from onnxpad.proof.term import Applied, Copied, Equal, Slid, Source, Spread, Stepped, Term, Terms
from onnxpad.semantics.layers import (
    NO_LAYERS,
    ExtentPairs,
    Layer,
    Layers,
    Operand,
    fill_of,
    is_padded,
    merged,
    never_pads,
    of_axes,
    touched_axes,
    without_sign,
)
from onnxpad.semantics.operators import read_window
from onnxpad.semantics.rows import NOTHING, Call, Row, UnreadError
from onnxpad.semantics.table import PadOp, pad_of, padding_row, row_of
from onnxpad.semantics.window import WindowForm, check_limit

_MOST_LAYERS = 64
"""Layers around which a `Pad` adds none: that many keep the cost of each term bounded."""
ALIKE_BY_CHANCE = frozenset(
    {
        "Bernoulli",
        "Dropout",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    }
)
"""Operators that two nodes may compute differently, although both are written alike."""


class Reader:
    """The terms of the tensors of one graph, by an analysis of it.

    Readers that share what makes them can compare theirs. The log has the tensors whose terms were
    kept or forgotten since `begin`, with those before.
    """

    def __init__(self, graph: Graph, analysis: Analysis, terms: Terms | None = None) -> None:
        """Reads nothing yet."""
        self.terms = terms or Terms()
        self._graph = graph
        self._analysis = analysis
        self._known: dict[Tensor, Term] = {}
        self._holders: dict[Term, Tensor] = {}
        self._around: dict[Term, dict[Tensor, None]] = {}
        self._same: dict[Term, tuple[Term, Equal]] = {}
        self.log: dict[Tensor, Term | None] = {}
        self._equated: list[Term] = []

    def read_all(self) -> None:
        """Reads each tensor that a node writes, before the first edit."""
        for node in self._graph.nodes:
            for tensor in node.outputs:
                if tensor.name:
                    self.keep(tensor, self._computed(tensor))
        self.begin()

    def read(self, tensor: Tensor) -> Term:
        """The term of a tensor, read once; so an edit must be followed by `reread`."""
        known = self._known
        if (found := known.get(tensor)) is not None:
            return found
        for at in self.unread([tensor]) if tensor.producer else [tensor]:
            self.keep(at, self._computed(at))
        return known[tensor]

    def unread(self, pending: list[Tensor]) -> Iterator[Tensor]:
        """Tensors that were not read, each after what its node reads; each must then be kept."""
        known = self._known
        while pending:
            at = pending[-1]
            node = None if at in known else at.producer
            sources = () if node is None else self._graph.sources(node)
            unread = [each for each in sources if each.producer and each not in known]
            if unread:
                pending += unread
                continue
            pending.pop()
            if at not in known:
                yield at

    def opaque(self, tensor: Tensor) -> Term:
        """The term of a tensor of which no more is told than its name."""
        return self.terms.make(Source(tensor.name and self._graph.unique(tensor.name)))

    def known(self, tensor: Tensor) -> Term | None:
        """The term of a tensor that was read; None for one that was not there then."""
        return self._known.get(tensor)

    def holder(self, term: Term) -> Tensor | None:
        """A tensor of the graph, as it is now, that has a term; None where none is known."""
        found = self._holders.get(term)
        if found is None or not self._graph.holds(found) or self._known.get(found) is not term:
            return None
        return found

    def around(self, term: Term) -> tuple[Tensor, Layers] | None:
        """A tensor of the graph that has a term or at least its bare one, and its own padding."""
        for each in (term, term.bare):
            if (tensor := self.holder(each)) is not None:
                return tensor, each.layers
        for tensor in self._around.get(term.bare, ()):
            held = self._known.get(tensor)
            if held and held.bare is term.bare and self._graph.holds(tensor):
                return tensor, held.layers
        return None

    def keep(self, tensor: Tensor, term: Term) -> None:
        """Takes a tensor for what a term says: its own, or one to which that was proved equal."""
        if tensor not in self.log:
            self.log[tensor] = self._known.get(tensor)
        self._known[tensor] = term
        self._holders[term] = tensor
        if term.layers:
            self._around.setdefault(term.bare, {})[tensor] = None

    def reread(self, tensor: Tensor, before: Term | None) -> tuple[Term, Equal | None]:
        """The term that the node of a tensor gives now: `before`, if it still is that one.

        It is not kept. Where it was proved equal to another, that one comes with the proof.
        """
        proof: Equal | None = None
        for as_written in (True, False):
            now = self._computed(tensor, as_written=as_written)
            if now in self._same:
                now, proof = self._same[now]
            if not isinstance(now.head, Applied) or (before and now.head == before.head):
                break
        return now, proof

    def equate(self, new: Term, old: Term, proof: Equal) -> None:
        """Takes a term for another, to which it was proved equal, wherever it is read."""
        self._same[new] = old, proof
        self._equated.append(new)

    def begin(self) -> None:
        """Starts to note what is kept from now on, for `undo`."""
        self.log, self._equated = {}, []

    def undo(self) -> None:
        """Takes back what was kept and forgotten since `begin`."""
        for tensor, term in self.log.items():
            if term is None:
                self._known.pop(tensor, None)
            else:
                self._known[tensor] = term
        for new in self._equated:
            self._same.pop(new, None)
        self.begin()

    def slides(self, node: Node) -> bool:
        """Whether a node is a window."""
        row = padding_row(self._graph, node)
        return row is not None and row.window is not None

    def forget(self, tensor: Tensor) -> Term | None:
        """Drops the term of a tensor, so that it is read anew; returns it, if there was one."""
        term = self._known.pop(tensor, None)
        if term is not None:
            self.log.setdefault(tensor, term)
        return term

    def _computed(self, tensor: Tensor, *, as_written: bool = True) -> Term:
        """The term of a tensor whose operands are read.

        With `as_written`, a step through which no padding is carried is told by what is written,
        which asks for no shape, and not by what it does: until an edit makes that differ.
        """
        graph, node = self._graph, tensor.producer
        if node is None:
            return self._source(tensor)
        if node.op == "Identity" and graph.is_standard(node):
            return self.read(node.inputs[0])
        by, read = node.reading or (None, None)  # of a `Pad` of which all but the data is known
        pad = read if by is self._analysis and isinstance(read, PadOp) else None
        sources = graph.sources(node) if pad is None else node.inputs[:1]
        while sources and not sources[-1].name:
            sources = sources[:-1]  # an empty name at the end means what its absence means
        args: tuple[Any, ...] = tuple(map(self._known.get, sources))
        if None in args:
            args = tuple(map(self.read, sources))
        row = padding_row(graph, node)
        if row is None and (
            not as_written or node.op == "Slice" or any(e.is_open for e in args[: len(node.inputs)])
        ):
            row = row_of(graph, node)
        if row is not None:
            output = 0 if tensor is node.outputs[0] else node.outputs.index(tensor)
            with suppress(UnreadError, ModelError):
                return self._meant(node, output, row, args, pad)
        return self._applied(node, tensor, args)

    def _source(self, tensor: Tensor) -> Term:
        """The term of an input, or of an initializer; one without a name for a left out operand."""
        graph, home = self._graph.home(tensor)
        return self.terms.make(Source(tensor.name and graph.unique(home.name)))

    def _applied(self, node: Node, tensor: Tensor, args: tuple[Term, ...]) -> Term:
        """The term of a node of which nothing is known but that it computes something."""
        graph = self._graph
        notes = node.notes
        if _APPLIED not in notes:
            says = written(node)
            is_own = not graph.is_standard(node) or graph.runs_graphs(node)
            is_own = is_own or says is None or node.op in ALIKE_BY_CHANCE or node.op == "Constant"
            # What is no number or text is what it was while it is the same object.
            held = node.op, node.domain, *[(name, id(each)) for name, each in node.attrs.items()]
            notes[_APPLIED] = says or held, is_own
        says, is_own = notes[_APPLIED]
        itself = (id(node),) if is_own else ()
        return self.terms.make(Applied((node.outputs.index(tensor), *says, *itself)), args)

    def _meant(
        self, node: Node, output: int, row: Row, args: tuple[Term, ...], pad: PadOp | None
    ) -> Term:
        """The term of an output of a node by its row, which may have no meaning for it."""
        if row.window is not None:
            form = read_window(self._graph, self._analysis, node).read
            check_limit(node, form)
            return self.slid(form, args, output)
        call = Call(self._graph, self._analysis, node, row, output)
        if row.transposed is not None:
            from onnxpad.semantics.transposed import spread_of

            found = spread_of(call)
            args = (args[0], *[args[place] for place in found.others])
            says = written(call.node) or (call.unique(call.node.outputs[0]),)
            head = Spread(found.key, found.runs, says if found.disputed else ())
            return self.terms.padded(self.terms.make(head, args), *found.layers)
        if row.op == "Pad":
            return self._padded(call, pad or pad_of(call), args)
        return self._stepped(call, args)

    # Windows

    def slid(self, form: WindowForm, args: tuple[Term, ...], output: int) -> Term:
        """The term of a window: layers around the axes over which it slides belong to it."""
        if isinstance(form.own, Operand):
            form = replace(form, own=Operand(args[form.own.of]))
        form, data = self.terms.form(form), args[0]
        # Indices count positions of the tensor that is pooled, padding included.
        layers = NO_LAYERS if form.has_indices else data.layers
        if layers:
            inside, layers = _taken(layers, form)
            data = self.terms.make(data.head, data.args, inside)
        return self.terms.make(Slid(form, layers, output), (data, *args[1:]))

    # Pads

    def _padded(self, call: Call, pad: PadOp, args: tuple[Term, ...]) -> Term:
        """The term of a `Pad` that says this: a layer, if it is constant and amounts are known."""
        data = args[0]
        rank = _rank(call, pad, data)
        amounts, axes = pad.extents_over(rank), pad.axes
        if rank is None and axes and pad.amounts and not is_padded(pad.amounts):
            return data
        if amounts is not None and rank is not None:
            if not is_padded(amounts):
                return data
            if (layer := _layer(call, pad, amounts, args)) is not None:
                return self.terms.padded(data, layer)
            if pad.mode != "constant" and _is_plain(amounts):
                return self.terms.make(Copied(pad.mode, amounts), (data,))
            axes = None
        kept, value = args, None
        if amounts is not None:
            kept = (data, *args[2:3]) if pad.value is None else (data,)
        if pad.mode == "constant" and pad.value is not None:
            value = fill_of(pad.value)
        return self.terms.make(Applied((0, "Pad", pad.mode, amounts, axes, value)), kept)

    # Steps

    def _stepped(self, call: Call, args: tuple[Term, ...]) -> Term:
        """The term of a step: layers that commute with it come around it."""
        assert call.row.step is not None
        places = call.data_places()
        inner = [args[place].layers for place in places]
        axes = frozenset[int]().union(*map(touched_axes, inner))
        while True:
            inside, outside = zip(*[_outermost(layers, axes) for layers in inner], strict=True)
            try:
                passed = call.row.step(call, outside)
                break
            except UnreadError as error:
                if not axes:
                    raise
                taken: Any = error.facts.get("axes", ())  # along which it works
                axes = axes.difference(taken) if axes.intersection(taken) else frozenset()
        data = [
            self.terms.make(args[place].head, args[place].args, layers)
            for place, layers in zip(places, inside, strict=True)
        ]
        if passed.key == NOTHING:
            return self.terms.padded(data[0], *passed.layers)
        others = [args[place] for place in passed.others]
        return self.terms.make(Stepped(passed.key), (*data, *others), merged(passed.layers))


def layers_of(graph: Graph, analysis: Analysis, *pads: Node) -> Layers | None:
    """The padding by `Pad`s in a row around the data of the first; None where they are no layers.

    That is so where one copies data, its amounts are unknown, or it may crop more than there is.
    """
    reader = Reader(graph, analysis)
    for pad in pads:
        for tensor in pad.inputs:  # of which no more is told than their names
            if reader.known(tensor) is None:
                reader.keep(tensor, reader.opaque(tensor))
        reader.read(pad.outputs[0])
    data, found = reader.known(pads[0].inputs[0]), reader.read(pads[-1].outputs[0])
    return found.layers if found.bare is data else None


def _rank(call: Call, pad: PadOp, data: Term) -> int | None:
    """The number of axes of the data of a `Pad`, which amounts for all axes say; None: unknown."""
    if data.layers:
        return len(data.layers[0].amounts)
    if pad.axes is None and pad.amounts and is_padded(pad.amounts):
        return len(pad.amounts)
    return call.rank()


@lru_cache(maxsize=1024)
def _is_plain(amounts: ExtentPairs) -> bool:
    """Whether all amounts are numbers, and none crops."""
    return all(isinstance(n, int) and n >= 0 for pair in amounts for n in pair)


def _layer(call: Call, pad: PadOp, full: ExtentPairs, args: Sequence[Term]) -> Layer | None:
    """The layer that a `Pad` adds; None where it is none.

    A crop must not be longer than the data, or there is no layer either.
    """
    if pad.mode != "constant" or len(args[0].layers) >= _MOST_LAYERS:
        return None
    layer = Layer(full, Operand(args[2]) if pad.value is None else fill_of(pad.value))
    if _is_plain(full):
        return layer
    if never_pads(full):
        layer = Layer(full, 0)
    for axis, (begin, end) in enumerate(full):
        crop = minimum(begin, 0) + minimum(end, 0)
        if crop != 0:
            shape = call.shape()
            if shape is None or len(shape) < len(full):  # of a damaged model
                return None
            if always(less_equal(0, shape[axis] + crop)) is not True:
                return None
    return layer


_APPLIED = object()
"""The key of what is written of a node, among its notes."""


@lru_cache(maxsize=1024)
def _taken(layers: Layers, form: WindowForm) -> tuple[Layers, Layers]:
    """The layers inside of the data that a window reads, and those that it takes for its own."""
    if len(layers[0].amounts) != form.rank:
        raise UnreadError("data of another rank than the window slides over")
    inside, taken = _outermost(layers, frozenset(form.spatial))
    if form.window.loses_signs:
        return merged(without_sign(inside)), merged(without_sign(taken))
    return inside, taken


def _outermost(layers: Layers, axes: frozenset[int]) -> tuple[Layers, Layers]:
    """The layers in two parts: what is inside of the longest outer one that pads only some axes.

    Of the innermost layer that is taken, the part that pads other axes is inside.
    """
    for count in range(len(layers)):
        outer = layers[count:]
        if touched_axes(outer) <= axes:
            return layers[:count], outer
        if touched_axes(outer[1:]) <= axes and touched_axes(outer[:1]) & axes:
            kept = touched_axes(outer[:1]) - axes
            inner = merged((*layers[:count], of_axes(outer[0], kept)))
            return inner, (of_axes(outer[0], axes), *outer[1:])
    return layers, NO_LAYERS
