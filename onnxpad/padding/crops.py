"""Crops of a transposed convolution: its own, and those of Slices and `Pad`s behind it.

Its output is its full result with a layer around it: `pads` crop it at both ends, `output_padding`
appends to it. Both ends as one number each are its *crop*; below 0 it appends. Several forms have
one crop: pads (1, 1) with output_padding 1 crop as pads (1, 0) do.

What Slices and `Pad`s behind it crop and append is read off the layers around what they give. The
form that does all that is tried: it is written, proved to give the same, and taken back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct

from onnxpad.arithmetic.window import named
from onnxpad.facts import Analysis
from onnxpad.facts.words import Wording
from onnxpad.finding import WrittenAmounts
from onnxpad.graph import Graph, Node, Tensor, Use
from onnxpad.padding.padding import ASKING, Padding, data_inputs, padding_of, readers_of
from onnxpad.padding.write import changes
from onnxpad.proof.read import Reader
from onnxpad.proof.refine import Facts, refine
from onnxpad.reasons import Reason, RefusalError
from onnxpad.semantics.layers import (
    Layer,
    Pair,
    Pairs,
    is_padded,
    less,
    numbers_of,
    onnx_order,
    total,
)
from onnxpad.semantics.operators import TransposedOp
from onnxpad.semantics.window import LONGEST

_MOST_STEPS = 32
_BESIDE = ((0, 0),) * 2
_MARK = 1 << 40
"""The crop by which an axis is known again behind steps; that of the next axis is one more."""
_WRITES_SIZES = frozenset({"Expand", "Reshape"})
"""No steps here, as their operands would have to say other sizes."""
_BY_INPUTS = 10
"""The first opset in which a Slice takes its bounds as inputs."""


class Stage(Struct, frozen=True):
    """One node behind a transposed convolution, and its input that is on the way.

    A Slice or a `Pad` has what it adds to each spatial axis of the transposed convolution, below 0
    where it crops, empty where that is not known; a step has None.
    """

    node: Node
    place: int
    added: Pairs | None


class Taking(Struct, frozen=True):
    """Another form of a transposed convolution, with all behind it that it takes over.

    The stages end with the last one taken over. A new Slice crops the rest, if there is one.
    """

    op: TransposedOp
    form: Padding
    stages: tuple[Stage, ...] = ()
    rest: Pairs = ()

    @property
    def last(self) -> Node:
        """The node whose result stays."""
        return self.stages[-1].node if self.stages else self.op.node

    @property
    def taken(self) -> list[Node]:
        """The Slices and `Pad`s that are taken over."""
        return [stage.node for stage in self.stages if stage.added is not None]

    @property
    def told(self) -> list[Node]:
        """The same but for `Pad`s of nothing, which have a rule of their own."""
        each = ((stage.node, stage.added) for stage in self.stages if stage.added is not None)
        return [node for node, added in each if node.op == "Slice" or is_padded(added)]


Obstacle = tuple[Node, RefusalError]
"""A Slice or `Pad` behind a transposed convolution that stays, and why."""


class Crops:
    """Looks downstream from one transposed convolution."""

    def __init__(self, graph: Graph, analysis: Analysis, op: TransposedOp) -> None:
        """Reads nothing upstream of it."""
        self._graph = graph
        self._analysis = analysis
        self._op = op
        self._reader = Reader(graph, analysis)
        self._facts = Facts(graph, analysis, self._reader)
        self._reader.keep(op.data, self._reader.opaque(op.data))

    def taking(self, *, symmetric: bool = False) -> tuple[Taking, Obstacle | None]:
        """All that the operator can take over, and the first thing on the way that it cannot.

        Nothing where its own crop is not known. If `symmetric`, pads must be equal at both ends.
        """
        found, left = Taking(self._op, padding_of(self._op) or Padding(None)), None
        try:
            crop = crop_of(self._analysis, self._op)
        except RefusalError:
            return found, None
        stages = []
        for stage in self._stages():
            stages.append(stage)
            if stage.added is None:
                continue
            try:
                if not stage.added:
                    said = "at some size it may crop another amount, or leave nothing"
                    replaced = Wording(self._graph, self._analysis).overridable
                    bounds = replaced(stage.node.inputs[1:], "its bounds")
                    raise bounds or RefusalError(Reason.MAY_BE_EMPTY, said)
                crop = less(crop, stage.added)
                form = form_of(self._op, crop, symmetric=symmetric)
                further = Taking(self._op, form, tuple(stages))
                self.check(further)
                found, left = further, None
            except RefusalError as why:
                left = left or (stage.node, why)  # which something further behind may remove
        return found, left

    def take(self, taking: Taking) -> Tensor:
        """Writes the form of what the operator takes over; the last node copies what is returned.

        The operator and the steps behind it are inserted anew, since they give other sizes.
        """
        graph, op = self._graph, taking.op

        def anew(node: Node, inputs: Sequence[Tensor | None], **changed: object) -> Tensor:
            return graph.insert_like(node, inputs, changed, name=node.name)[0]

        tensor = anew(op.node, op.node.inputs, **changes(op, taking.form))
        for stage in taking.stages:
            if stage.added is not None:
                continue
            inputs = [*stage.node.inputs]
            inputs[stage.place] = tensor
            tensor = anew(stage.node, inputs)
        if is_padded(taking.rest):
            tensor = self._slice(tensor, taking.rest)
        graph.replace_op(taking.last, "Identity", [tensor], {})
        return tensor

    def _slice(self, tensor: Tensor, rest: Pairs) -> Tensor:
        """A new Slice of what the operator gives."""
        graph, node = self._graph, self._op.node
        cut = [(axis, *pair) for axis, pair in zip(self._op.axes, rest, strict=True) if any(pair)]
        axes, begins, ends = map(list, zip(*cut, strict=True))
        bounds = {"starts": begins, "ends": [-end or LONGEST for end in ends], "axes": axes}
        name = f"{node.name or node.outputs[0].name}_crop"
        if graph.opset < _BY_INPUTS:
            return graph.insert("Slice", [tensor], bounds, before=node, name=name)
        inputs = [
            graph.add_initializer(np.asarray(values, np.int64), f"{name}_{what}")
            for what, values in bounds.items()
        ]
        return graph.insert("Slice", [tensor, *inputs], {}, before=node, name=name)

    def check(self, taking: Taking) -> None:
        """Raises a `RefusalError` unless what is to be written is proved; it is taken back."""
        graph, full, at = self._graph, self._op.node.outputs[0], taking.last.outputs[0]
        was = self._reader.read(at)
        edits = graph.mark()
        try:
            new = self.take(taking)
            graph.sweep()
            if full is not at and self._op.node.alive:
                said = "what it crops or pads is read elsewhere too"
                raise RefusalError(Reason.READ_ELSEWHERE, said, tensor=full.name)
            refine(self._reader.read(new), was, self._facts, at)
        finally:
            graph.rollback(edits)

    def _stages(self) -> Iterator[Stage]:
        """The nodes behind the operator, in order; of several readers one that crops."""
        tensor = self._op.node.outputs[0]
        for _ in range(_MOST_STEPS):
            readers = readers_of(self._graph, tensor)
            uses = [use for use in readers if use is None or use.node.op not in ASKING]
            stages = [None if use is None else self._stage(use) for use in uses]
            crops = [each for each in stages if each is not None and each.added is not None]
            stage = next(iter(crops or stages), None)
            if stage is None or not (crops or len(uses) == 1):
                return
            yield stage
            if stage.added == ():
                return
            tensor = stage.node.outputs[0]

    def _stage(self, use: Use) -> Stage | None:
        """A reader that crops or pads the spatial axes, or is a step; else None."""
        (node, index), graph = use, self._graph
        if node.op in {"Pad", "Slice"} and graph.is_standard(node):
            (was, beside), (now, others) = map(self._around, (node.inputs[0], node.outputs[0]))
            if was and was.keys() == now.keys() and beside == others:
                sides = [[at.get(axis, (0, 0)) for axis in self._op.axes] for at in (now, was)]
                return Stage(node, 0, less(*map(tuple, sides)))
            if node.op == "Slice" and was and not now:
                return Stage(node, 0, ())
        if node.op in _WRITES_SIZES or any(map(graph.is_read, node.outputs[1:])):
            return None
        return Stage(node, index, None) if data_inputs(graph, node) == (index,) else None

    def _around(self, tensor: Tensor) -> tuple[dict[int, Pair], list[Pair]]:
        """What is added to data behind the operator, by its own axis, and on all other axes.

        Nothing where that is not known: where the marks are lost, or amounts are no numbers.
        """
        axes = zip(*(layer.amounts for layer in self._marks.read(tensor).layers), strict=True)
        ends = numbers_of([(total(b for b, _ in each), total(e for _, e in each)) for each in axes])
        found, others = dict[int, Pair](), list[Pair]()
        for begin, end in ends or ():
            axis = (_MARK // 2 - begin) // _MARK
            if axis:
                found[axis] = begin + _MARK * axis, end
            else:
                others.append((begin, end))
        return found, others

    @cached_property
    def _marks(self) -> Reader:
        """Reads what is behind the operator with a mark in front of each of its spatial axes."""
        tensor, terms = self._op.node.outputs[0], self._reader.terms
        marks = Reader(self._graph, self._analysis, terms)
        layer = Layer((*_BESIDE, *[(-_MARK * axis, 0) for axis in self._op.axes]), 0)
        marks.keep(tensor, terms.padded(self._reader.read(tensor).bare, layer))
        return marks


def crop_of(analysis: Analysis, op: TransposedOp) -> Pairs:
    """(begin, end) per spatial axis by which an operator crops its full result, or a refusal.

    Where that is shorter than the output should be, the specification divides a negative number,
    and leaves open how it is rounded.
    """
    from onnxpad.semantics.transposed import ends_of

    ends = tuple(ends_of(op.form, analysis.shape(op.data)))
    crop = numbers_of([(-begin, -end) for begin, end, _ in ends])
    if crop is None:
        told = "its output_shape is fixed, but the size of its data is open"
        raise RefusalError(Reason.SIZE_DEPENDENT, told, axes=[*op.axes])
    for axis, window, (*_, is_open) in zip(op.axes, op.windows, ends, strict=True):
        if is_open:
            form_of(op, crop)
            told = f"the specification leaves open at which end of axis {axis} it appends"
            facts = {"axis": axis, "extent": window.extent, "stride": window.stride}
            raise RefusalError(Reason.ENGINES_DISAGREE, told, disagreement=told, **facts)
    return crop


def form_of(
    op: TransposedOp, crop: Pairs, *, symmetric: bool = False, sliced: bool = False
) -> Padding:
    """The form with the least numbers that has a crop, below 0 one that appends, or a refusal.

    Its pads are equal at both ends if `symmetric`; if `sliced`, a Slice behind it does the rest.
    """
    pads, appended = list[Pair](), list[int]()
    for axis, window, (begin, end) in zip(op.axes, op.windows, crop, strict=True):
        first, more = begin, max(-end, 0)
        if symmetric and begin - end < window.stride:
            more = max(begin - end, 0)
        elif symmetric:
            first = max(end, 0)
        last = first if symmetric else end + more
        is_whole = (first, last - more) == (begin, end)
        if begin < 0 or more >= window.stride or not (is_whole or sliced):
            alike = "equal pads" if symmetric else "pads"
            said = f"no {alike} with an output_padding crop {begin} and {end} on axis {axis}"
            raise RefusalError(Reason.CROPS, said, axis=axis, crop=[begin, end])
        pads.append((first, last))
        appended.append(more)
    return Padding(tuple(pads), output_padding=tuple(appended))


def amounts_of(of: TransposedOp | Padding) -> WrittenAmounts:
    """How much a form crops, or the attributes of an operator that say how much it gives."""
    form, said = of if isinstance(of, Padding) else padding_of(of), dict[str, Any]()
    if form is not None:
        said["pads"] = tuple(onnx_order(form.numbers))
    else:
        assert isinstance(of, TransposedOp)
        said = {"auto_pad": of.auto_pad.replace("NOTSET", ""), "output_shape": of.output_shape}
    if any(of.output_padding):
        said["output_padding"] = of.output_padding
    parts = tuple((name, value) for name, value in said.items() if value)
    return WrittenAmounts(() if form is None else named(form.numbers), parts)
