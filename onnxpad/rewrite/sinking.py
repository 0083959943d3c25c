"""Moves constant `Pad`s downstream, past the steps between them and the operators that could pad.

What becomes of padding behind a step, its row in `semantics` says; here is what else is written
anew when its data is not padded any more, as the shape of a Reshape. A *cut* is a step behind which
the padding is written: the data of the node is read without the `Pad`s, and a `Pad` with the layer
behind it follows each output. Steps that only each other read need no `Pad`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, Final, TypeAlias

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from onnxpad.arithmetic.size import Extent, always, less_equal
from onnxpad.facts import Analysis
from onnxpad.finding import Assumption
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.padding.padding import Readers, about, data_inputs, needs_finite, readers_of
from onnxpad.padding.write import check_pads, write_pad
from onnxpad.proof.read import layers_of
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.semantics.layers import (
    ENDLESS,
    Layer,
    Layers,
    Operand,
    is_either_zero,
    is_padded,
    number_of,
    numbers_of,
    onnx_order,
)
from onnxpad.semantics.moving import bounds_of, check_free, cuts_of
from onnxpad.semantics.operators import gathering
from onnxpad.semantics.read_nodes import UnreadableError, is_pad, read_window
from onnxpad.semantics.rows import Call, UnreadError
from onnxpad.semantics.table import row_of

# Steps past which a `Pad` is moved at once; the next change goes on from there.
_MOST_STEPS: Final = 48

Cut: TypeAlias = tuple[Node, RefusalError | None]
"""A step behind which a `Pad` could be written, or why it cannot be moved past this step."""


class Sinking:
    """Finds and makes cuts in one graph; what it finds holds until that is edited by others.

    Attributes:
        looked: Looks downstream in the graph.
    """

    def __init__(self, context: Context, *, as_one: bool = True) -> None:
        """Looks for nothing yet; `as_one` moves a `Pad` with one before it that it could do."""
        self._context = context
        self._graph = context.graph
        self._analysis = context.analysis
        self._as_one = as_one
        self._known: dict[str, Behind | RefusalError | None] = {}
        self._refusals: dict[int, RefusalError | None] = {}
        self.looked = Readers(context.graph)

    def lifted(self, tensor: Tensor, depth: int = 0) -> Behind | None:
        """A tensor as padded data; None where no `Pad` reaches it through steps.

        Args:
            tensor: The tensor.
            depth: The number of steps that were passed upstream to get to it.

        Raises:
            RefusalError: A `Pad` does, but the last step cannot be passed; the message says why.
        """
        tensor = self._graph.origin(tensor)
        if tensor.name not in self._known:
            if depth > _MOST_STEPS:
                return None
            try:
                self._known[tensor.name] = self._lift(tensor, depth)
            except RefusalError as refusal:
                self._known[tensor.name] = refusal
        known = self._known[tensor.name]
        if isinstance(known, RefusalError):
            raise known
        return known

    def _lift(self, tensor: Tensor, depth: int) -> Behind | None:
        node = tensor.producer
        if node is None:
            return None
        if is_pad(self._graph, node):
            return self._around(node)
        data = data_inputs(self._graph, node)
        inside = [self._settled(node.inputs[index], depth + 1) for index in data]
        found = [each for each in inside if each is not None]
        if not found:
            return None
        if len(found) < len(inside):
            raise refused(self._graph, node, "joins it with what is not padded alike")
        passed = behind(self._graph, self._analysis, node, [each.layer for each in found])
        steps = {id(step): step for each in found for step in each.steps}
        return replace(passed, steps=(*steps.values(), node))

    def _around(self, pad: Node) -> Behind | None:
        """What a `Pad` gives as padded data; None unless it is constant padding by known numbers.

        Nor is it where it may crop more than there is.
        """
        row = self._row(pad) if self._as_one else None
        data, layers = row or (pad.inputs[0], layers_of(self._graph, self._analysis, pad))
        amounts = numbers_of(layers[0].amounts) if layers else None
        if not layers or amounts is None or isinstance(layers[0].fill, Operand):
            return None
        return Behind(Layer(amounts, layers[0].fill), data=data)

    def _row(self, pad: Node) -> tuple[Tensor, Layers] | None:
        """What a `Pad` and one before it pad, and with what; None unless one could do both.

        Nor could it where something else reads the first.
        """
        row = (pad.inputs[0].producer, pad)
        pads = [each for each in row if each is not None and is_pad(self._graph, each)]
        if len(pads) < len(row) or len(list(self.readers(pad.inputs[0]))) != 1:
            return None
        layers = layers_of(self._graph, self._analysis, *pads)
        return None if layers is None or len(layers) > 1 else (pads[0].inputs[0], layers)

    def _settled(self, tensor: Tensor, depth: int = 0) -> Behind | None:
        """As `lifted`; None also where a step upstream cannot be passed, or there are too many."""
        try:
            found = self.lifted(tensor, depth)
        except RefusalError:
            return None
        return None if found is not None and len(found.steps) > _MOST_STEPS else found

    def cuts(self, pad: Node) -> Iterator[Cut]:
        """The steps behind which a `Pad` could be written, and those that it cannot be moved past.

        On each branch one or the other ends the way.
        """
        seen = set[int]()
        for each in self.readers(pad.outputs[0]):
            step = each if each is not None and data_inputs(self._graph, each) else None
            while step is not None and id(step) not in seen:
                seen.add(id(step))
                try:
                    if self.lifted(step.outputs[0]) is None:
                        break
                except RefusalError as refusal:
                    yield step, refusal
                    break
                last, step = step, self._only_step(step)
                if step is None:
                    yield last, None

    def _only_step(self, step: Node) -> Node | None:
        """The step that alone reads a step's only output, and can be passed too.

        A Slice has none: only without it can the proof tell padding from what is cropped.
        """
        read = [each for each in step.outputs if self._graph.is_read(each)]
        readers = list(self.readers(read[0])) if len(read) == 1 and step.op != "Slice" else []
        if len(readers) != 1 or readers[0] is None or not data_inputs(self._graph, readers[0]):
            return None
        lifted = self._settled(readers[0].outputs[0])
        passed = lifted is not None and any(step is each for each in lifted.steps)
        return readers[0] if passed else None

    def readers(self, tensor: Tensor) -> Iterator[Node | None]:
        """The readers of a tensor, directly or through Identity; None for outputs and bodies."""
        for use in readers_of(self._graph, tensor):
            yield None if use is None or use.index < 0 else use.node

    def shared(self, step: Node) -> Node | None:
        """The first step between `Pad`s and a step that something else reads too.

        It would have to be computed twice, with the padding and without it.
        """
        lifted = self.lifted(step.outputs[0])
        steps = () if lifted is None else lifted.steps
        known = {id(each) for each in steps}
        for each in steps:
            readers = [reader for output in each.outputs for reader in self.readers(output)]
            if each is not step and not known.issuperset(map(id, readers)):
                return each
        return None

    def cut(self, node: Node) -> tuple[Tensor, ...]:
        """Writes the padding behind a step on bare data, and connects all its readers to that.

        Returns:
            The tensors that replace its outputs, of those that are read.

        Raises:
            RefusalError: There is no `Pad` for the element type.
        """
        graph, dtype = self._graph, self._analysis.dtype(node.outputs[0])
        lifted = self.lifted(node.outputs[0])
        assert lifted is not None
        check_pads(graph.opset, dtype)
        bare: dict[Tensor, Tensor] = {}
        for step in lifted.steps:
            passed, inputs = self.lifted(step.outputs[0]), [*step.inputs]
            assert passed is not None
            for index in data_inputs(graph, step):
                tensor = graph.origin(inputs[index])
                inside = self.lifted(tensor)
                assert inside is not None
                inputs[index] = inside.data or bare[tensor]
            for index, values in passed.constants.items():
                name = f"{step.name or step.outputs[0].name}_{index}"
                inputs[index] = graph.add_initializer(values, name)
            attributes = passed.attributes
            made = inputs[:1] if passed.vanishes else graph.insert_like(step, inputs, attributes)
            bare.update(zip(step.outputs, made, strict=True))
        outputs, numbers = [], numbers_of(lifted.layer.amounts) or ()
        for old in filter(graph.is_read, node.outputs):
            padded = bare[old]
            if is_padded(numbers):
                assert dtype is not None
                fill = number_of(lifted.layer.fill)
                padded = write_pad(graph, node, padded, onnx_order(numbers), fill, dtype)
            for use in graph.uses(old):
                graph.set_input(use.node, use.index, padded)
            outputs.append(padded)
        self._known = {}
        return tuple(outputs)

    def refusal(self, step: Node) -> RefusalError | None:
        """Why something that reads the padding behind a step does not take it; None if all does.

        However many `Pad`s reach the step, that is tried once.
        """
        if id(step) not in self._refusals:
            found, mark = None, self._context.graph.mark()
            if step.outputs[0].name not in self._context.absorbed:
                try:
                    self._context.absorbed.update(copy(self).check_taken(step))
                except RefusalError as refusal:
                    found = refusal
                finally:
                    self._context.graph.rollback(mark)
            self._refusals[id(step)] = found
        return self._refusals[id(step)]

    def check_taken(self, step: Node) -> list[str]:
        """Cuts behind a step, and raises unless all that reads the padding takes it.

        Whoever calls this must roll the graph back. A window operator takes padding if it could
        have it in its style, a step if all its readers do, and a `Pad` if both could be one.

        Returns:
            The names of the outputs of all steps that were cut, whose readers all take the padding.

        Raises:
            RefusalError: A reader does not take it; the message says which, and why.
        """
        pending, taken = [step], list[str]()
        while pending:
            step = pending.pop()
            lifted = self.lifted(step.outputs[0])
            if lifted is None or (taken and not any(map(self._graph.is_read, step.outputs))):
                continue  # a Slice upstream has cropped all of it, or it was cut already
            if is_either_zero(lifted.layer.fill):
                for tensor in step.outputs:
                    self._context.sites.judge.check_sign_is_lost(tensor)
            if (shared := self.shared(step)) is not None:
                # What is read elsewhere too must be taken there as well, so it comes first.
                pending += [step, shared]
                continue
            readers = [reader for each in step.outputs for reader in self.readers(each)]
            if None in readers:
                said = f"{step.op} gives an output of the graph, or is read in a body, padded"
                raise RefusalError(Reason.GRAPH_OUTPUT, said)
            taken += (each.name for each in step.outputs if each.name)
            outputs = self.cut(step)
            if is_padded(lifted.layer.amounts):
                if not readers:
                    raise RefusalError(Reason.UNUSED, "nothing reads what is computed from it")
                pending += [each for padded in outputs for each in self._carrying(padded)]
        return taken

    def _carrying(self, padded: Tensor) -> Iterator[Node]:
        """The steps past which a new `Pad` goes on; raises unless what else reads it takes it."""
        graph, context, pad = self._graph, self._context, padded.producer
        assert pad is not None
        readers = [each for each in self.readers(padded) if each is not None]
        readers.sort(key=lambda each: [t.name for t in each.outputs])  # uses have no order
        for reader in readers if context.user_options.strict else ():
            finite = needs_finite(graph, self._analysis, padded, reader)
            if finite and context.style_of(reader) != "pad":
                assumes, code = Assumption.FINITE_DATA, Reason.ASSUMPTION_REFUSED
                said = f"it assumes {assumes}, and --strict forbids that"
                why = RefusalError(code, said, assumptions=[assumes])
                raise about(graph, reader, why)
        for reader in readers:
            if gathering(graph, reader) is not None:
                self._check_window(padded, reader)
            elif data_inputs(graph, reader):
                for cut, refusal in self.cuts(pad):
                    if refusal is not None:
                        raise refusal
                    yield cut
            elif self._row(reader) is None:
                raise refused(graph, reader, "stands between")

    def _check_window(self, padded: Tensor, reader: Node) -> None:
        graph, sites = self._graph, self._context.sites
        try:
            op = read_window(graph, self._analysis, reader)
        except UnreadableError as error:
            raise RefusalError(Reason.READER_UNREADABLE, str(error)) from error
        if graph.origin(op.data) is not padded:
            raise refused(graph, reader, "stands between")
        try:
            padding, pad, _ = sites.planned(op, self._context.style_of(reader))
            if pad is not None and padding.outside:
                sites.check_mergeable(op, pad)
        except RefusalError as refusal:
            raise about(graph, reader, refusal) from refusal


class Behind(Struct, frozen=True):
    """A layer of padding behind a node, and the node on data without it; or behind a `Pad`.

    Attributes:
        layer: The layer around each output.
        constants: New constants for inputs, by index.
        attributes: New values of attributes; None removes one.
        vanishes: Whether the node does nothing to data without the layer.
        steps: All nodes between `Pad`s and the layer, in order, this one last.
        data: What a `Pad` pads; None for a step.
    """

    layer: Layer
    constants: Mapping[int, np.ndarray[Any, Any]] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    vanishes: bool = False
    steps: tuple[Node, ...] = ()
    data: Tensor | None = None


def behind(graph: Graph, analysis: Analysis, node: Node, layers: Sequence[Layer]) -> Behind:
    """The layer behind a node of which each data input is padded by one layer.

    Raises:
        RefusalError: The layers cannot be moved past the node; the message says why.
    """
    row = row_of(graph, node)
    assert row is not None
    assert row.step is not None
    try:
        call = Call(graph, analysis, node, row)
        data = call.data_places()
        for place, tensor in enumerate(node.inputs):
            if tensor.name and place not in data and call.constant(place) is None:
                raise UnreadError(f"input {place} is known only at run time, or is large")
        if node.op == "Slice":
            return _slice(call, layers[0])
        (found,) = row.step(call, [(each,) for each in layers]).layers
        if isinstance(found.fill, Operand):
            raise UnreadError("it makes no single certain value of the fill", Reason.FILL_CHANGES)
        write = _SIZES.get(node.op)
        sizes = None if write is None else write(call, layers[0], found)
        return Behind(found, {} if sizes is None else {1: np.asarray(sizes, np.int64)})
    except UnreadError as error:
        facts = error.facts
        if error.code is Reason.FILL_CHANGES:
            facts = {"value": number_of(layers[0].fill), "operator": node.op}
        raise refused(graph, node, f"stands between: {error}", error.code, **facts) from error


def refused(
    graph: Graph, node: Node, why: str, code: Reason = Reason.STEPS_BETWEEN, **facts: object
) -> RefusalError:
    """The refusal to move padding past a node, which its message begins with."""
    label = graph.label(node)
    return RefusalError(code, f"{node.op} {label!r} {why}", **{"operator": label, **facts})


def _squeeze(call: Call, inner: Layer, outer: Layer) -> None:
    """Checks that a Squeeze of every axis of size 1 leaves the padded ones without the padding."""
    shape = call.shape()
    if call.axes() is not None or shape is None:
        return
    units = [
        axis
        for axis, (size, pair) in enumerate(zip(shape, inner.amounts, strict=True))
        if always(less_equal(2, size - sum(pair))) is not True
    ]
    check_free((inner,), units)


def _reshape(call: Call, inner: Layer, outer: Layer) -> list[int]:
    """The shape of a Reshape: its own -1 stays right, and so does a 0 if both sizes are alike."""
    if call.version < 5 or call.attribute("allowzero"):
        raise UnreadError("its shape has no constant that could be corrected")
    before, after = (
        [size - sum(pair) for size, pair in zip(shape or (), layer.amounts, strict=True)]
        for shape, layer in ((call.shape(), inner), (call.result_shape(), outer))
    )
    sizes = []
    for axis, (number, size) in enumerate(zip(call.numbers(1), after, strict=True)):
        stays = number == -1 or (number == 0 and before[axis : axis + 1] == [size])
        sizes.append(size if isinstance(size, int) and not stays else number)
    return sizes


_SIZES: Final[Mapping[str, Callable[[Call, Layer, Layer], list[int] | None]]] = {
    "Reshape": _reshape,
    "Squeeze": _squeeze,
}
"""What a step has as its second input without the layer around its data; None as before.

Given the layers around its data and around its result.
"""


def _slice(call: Call, layer: Layer) -> Behind:
    """A Slice along other axes, or one that crops padded axes.

    On each side it may crop part of the padding, or, where there is none, the data itself.
    """
    layers, rank = (layer,), len(layer.amounts)
    crops, others = cuts_of(call, layers)
    check_free(layers, dict(others))
    written = bounds_of(call, rank)
    shape, amounts, bounds = call.shape(), list(layer.amounts), dict[int, tuple[Extent, Extent]]()
    for axis, (start, end, _) in written.items():
        bounds[axis] = start, end
        if layer.amounts[axis] == (0, 0):
            continue
        known = numbers_of([layer.amounts[axis], crops.get(axis, (0, 0))])
        if known is None or shape is None or min(known[0]) < 0:
            check_free(layers, [axis])
            continue
        pads, cut = known
        left = [pad + crop for pad, crop in zip(pads, cut, strict=True)]
        begin, stop = (-min(each, 0) for each in left)
        short = always(less_equal(begin + stop, shape[axis] - sum(pads))) is not True
        if (begin and pads[0]) or (stop and pads[1]) or ((begin or stop) and short):
            check_free(layers, [axis])
        amounts[axis] = max(left[0], 0), max(left[1], 0)
        bounds[axis] = begin, -stop or ENDLESS
    found = Layer(tuple(amounts), layer.fill)
    steps = {step for _, _, step in written.values()}
    if {*bounds.values()} <= {(0, ENDLESS)} and steps <= {1}:
        return Behind(found, vanishes=True)
    if list(bounds.values()) == [(start, end) for start, end, _ in written.values()]:
        return Behind(found)
    starts, ends = ([pair[side] for pair in bounds.values()] for side in (0, 1))
    kept = call.constant(1)
    if kept is None:  # before opset 10
        return Behind(found, {}, {"starts": starts, "ends": ends})
    return Behind(found, {1: np.asarray(starts, kept.dtype), 2: np.asarray(ends, kept.dtype)})
