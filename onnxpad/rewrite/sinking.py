"""Moves constant `Pad`s downstream, past the steps between them and the operators that could pad.

What becomes of padding behind a step, its row in `semantics` says; here is what else is written
anew when its data is not padded any more, as the shape of a Reshape. A *cut* is a step behind which
the padding is written: the data of the node is read without the `Pad`s, and a `Pad` with the layer
behind it follows each output. Steps that only each other read need no `Pad`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic.size import always, less_equal
from onnxpad.facts import Analysis
from onnxpad.finding import Assumption
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.padding.padding import Readers, data_inputs, readers_of
from onnxpad.padding.write import check_pads, write_pad
from onnxpad.proof.read import layers_of
from onnxpad.reasons import Reason, RefusalError
from onnxpad.rewrite.pass_api import Context
from onnxpad.semantics.layers import (
    Layer,
    Layers,
    Operand,
    number_of,
    numbers_of,
    onnx_order,
)
from onnxpad.semantics.moving import bounds_of, check_free, cuts_of
from onnxpad.semantics.operators import Fill, gathering, is_pad, read_window
from onnxpad.semantics.rows import FLOATS, Call, UnreadError
from onnxpad.semantics.table import row_of

# Steps past which a `Pad` is moved at once; the next change goes on from there.
_MOST_STEPS = 48

Cut = tuple[Node, RefusalError | None]
"""A step behind which a `Pad` could be written, or why it cannot be moved past this step."""


class Sinking:
    """Finds and makes cuts in one graph; what it finds holds until that is edited by others."""

    def __init__(self, context: Context) -> None:
        """Looks for nothing yet."""
        self._context = context
        self._graph = context.graph
        self._analysis = context.analysis
        self._known: dict[Tensor, Behind | RefusalError | None] = {}
        self._refusals: dict[int, RefusalError | None] = {}
        self.looked = Readers(context.graph)

    def lifted(self, tensor: Tensor, depth: int = 0) -> Behind | None:
        """A tensor as padded data, past so many steps downstream; None where no `Pad` reaches it.

        Refused where a `Pad` does, but the last step cannot be passed.
        """
        tensor = self._graph.origin(tensor)
        if tensor not in self._known:
            if depth > _MOST_STEPS:
                return None
            try:
                self._known[tensor] = self._lift(tensor, depth)
            except RefusalError as refusal:
                self._known[tensor] = refusal
        known = self._known[tensor]
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
        """What a `Pad` gives as padded data; None unless it pads by known numbers."""
        row = self._row(pad)
        data, layers = row or (pad.inputs[0], layers_of(self._graph, self._analysis, pad))
        amounts = numbers_of(layers[0].amounts) if layers else None
        if not layers or amounts is None or isinstance(layers[0].fill, Operand):
            return None
        return Behind(Layer(amounts, layers[0].fill), data=data)

    def _row(self, pad: Node) -> tuple[Tensor, Layers] | None:
        """What a `Pad` and one before it that only it reads pad, if one could do both."""
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
        """The steps behind which a `Pad` could be written, or that end its way, on each branch."""
        seen = set()
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
        """The step that alone reads a step's only output, and can be passed too."""
        read = [each for each in step.outputs if self._graph.is_read(each)]
        readers = list(self.readers(read[0])) if len(read) == 1 else []
        if len(readers) != 1 or readers[0] is None or not data_inputs(self._graph, readers[0]):
            return None
        return None if self._settled(readers[0].outputs[0]) is None else readers[0]

    def readers(self, tensor: Tensor) -> Iterator[Node | None]:
        """The readers of a tensor, directly or through Identity; None for outputs and bodies."""
        for use in readers_of(self._graph, tensor):
            yield None if use is None or use.index < 0 else use.node

    def shared(self, step: Node) -> Node | None:
        """The first step before one that something else reads too: it would be computed twice."""
        lifted = self.lifted(step.outputs[0])
        assert lifted is not None
        known = {id(each) for each in lifted.steps}
        for each in lifted.steps:
            readers = [reader for output in each.outputs for reader in self.readers(output)]
            if each is not step and not known.issuperset(map(id, readers)):
                return each
        return None

    def cut(self, node: Node) -> tuple[Tensor, ...]:
        """Writes the padding behind a step on bare data; returns what replaces its outputs."""
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
            if passed.shape is not None:
                name, values = f"{step.name or step.outputs[0].name}_1", passed.shape
                inputs[1] = graph.add_initializer(np.asarray(values, np.int64), name)
            bare.update(zip(step.outputs, graph.insert_like(step, inputs, {}), strict=True))
        outputs, numbers = [], numbers_of(lifted.layer.amounts) or ()
        for old in filter(graph.is_read, node.outputs):
            assert dtype is not None
            fill = number_of(lifted.layer.fill)
            padded = write_pad(graph, node, bare[old], onnx_order(numbers), fill, dtype)
            for use in graph.uses(old):
                graph.set_input(use.node, use.index, padded)
            outputs.append(padded)
        self._known = {}
        return tuple(outputs)

    def refusal(self, step: Node) -> RefusalError | None:
        """Why a reader of padding behind a step does not take it, if one does not; tried once."""
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
        """Cuts behind a step, to be rolled back; raises unless all that reads the padding takes it.

        A window operator does if it could have it in its style, a step if all its readers do, and
        a `Pad` if both could be one. Returns the names of the outputs of all steps that were cut.
        """
        pending, taken = [step], list[str]()
        while pending:
            step = pending.pop()
            if taken and not any(map(self._graph.is_read, step.outputs)):
                continue  # it was cut already
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
            if not readers:
                raise RefusalError(Reason.UNUSED, "nothing reads what is computed from it")
            pending += [each for padded in outputs for each in self._carrying(padded)]
        return taken

    def _carrying(self, padded: Tensor) -> Iterator[Node]:
        """The steps past which a new `Pad` goes on; raises unless what else reads it takes it."""
        graph, pad = self._graph, padded.producer
        assert pad is not None
        readers = [each for each in self.readers(padded) if each is not None]
        readers.sort(key=lambda each: [t.name for t in each.outputs])  # uses have no order
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
        graph, sites, style = self._graph, self._context.sites, self._context.wanted(reader).style
        try:
            op = read_window(graph, self._analysis, reader)
        except UnreadError as error:
            raise RefusalError(Reason.READER_UNREADABLE, str(error)) from error
        if graph.origin(op.data) is not padded:
            raise refused(graph, reader, "stands between")
        try:
            lost = op.operator.padding is Fill.LOWEST and self._analysis.dtype(padded) in FLOATS
            if lost and self._context.user_options.strict and style != "pad":
                assumes = Assumption.FINITE_DATA
                said = f"it assumes {assumes}, and --strict forbids that"
                raise RefusalError(Reason.ASSUMPTION_REFUSED, said, assumptions=[assumes])
            padding, pad, _ = sites.planned(op, style)
            assert pad is not None
            if padding.outside:
                sites.check_mergeable(op, pad)
        except RefusalError as why:
            said = f"{reader.op} {graph.label(reader)!r}: {why}"
            raise RefusalError(why.code, said, **why.facts) from why


class Behind(Struct, frozen=True):
    """A layer of padding behind a node, and the node on data without it; or behind a `Pad`.

    `shape` is the second input of the node on such data, where it has to be another one, `steps`
    all nodes from the `Pad`s on, this one last, and `data` what a `Pad` pads.
    """

    layer: Layer
    shape: Sequence[int] | None = None
    steps: tuple[Node, ...] = ()
    data: Tensor | None = None


def behind(graph: Graph, analysis: Analysis, node: Node, layers: Sequence[Layer]) -> Behind:
    """The layer behind a node of which each data input is padded by one layer, or a refusal."""
    row = row_of(graph, node)
    assert row is not None
    assert row.step is not None
    try:
        call = Call(graph, analysis, node, row)
        data = call.data_places()
        for place, tensor in enumerate(node.inputs):
            if tensor.name and place not in data and call.constant(place) is None:
                raise UnreadError(f"input {place} is known only at run time, or is large")
        if node.op == "Squeeze" and call.axes() is None:
            raise UnreadError("what it does depends on the sizes of its data")
        if node.op == "Slice":
            _check_slice(call, layers[0])
            return Behind(layers[0])
        (found,) = row.step(call, [(each,) for each in layers]).layers
        if isinstance(found.fill, Operand):
            raise UnreadError("it makes no single certain value of the fill", Reason.FILL_CHANGES)
        sizes = _reshaped(call, layers[0], found) if node.op == "Reshape" else None
        return Behind(found, sizes)
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


def _reshaped(call: Call, inner: Layer, outer: Layer) -> list[int]:
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


def _check_slice(call: Call, layer: Layer) -> None:
    """Raises unless a Slice takes off bare data what it did: only on sides without padding."""
    crops, others = cuts_of(call, (layer,))
    shape, written = call.shape() or (), bounds_of(call, len(layer.amounts))
    taken = set(dict(others))
    for axis, cut in crops.items():
        known = numbers_of([layer.amounts[axis], cut])
        if known is None:
            taken.add(axis)
            continue
        pads, (begin, end) = known
        start, stop, _ = written[axis]
        is_kept = (not begin or start == -begin) and (not end or stop == end)
        short = always(less_equal(sum(pads) - begin - end, shape[axis])) is not True
        if (begin and pads[0]) or (end and pads[1]) or short or not is_kept:
            taken.add(axis)
    check_free((layer,), taken)
