"""Moves constant `Pad`s downstream, past the steps between them and the operators that could pad.

A step is a node of which `padding.step_edits` says what becomes of padding behind it. A *cut* is a
step behind which the padding is written: the data of the node is read without the `Pad`s, and
a `Pad` with the layer behind it follows each output. Steps that only each other read need no `Pad`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from onnxpad.analysis import Analysis
from onnxpad.finding import Assumption
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.messages import Named, named
from onnxpad.operators.amounts import add, is_padded, onnx_order
from onnxpad.operators.read import PadOp, UnreadableError, is_pad, read_pad, read_window
from onnxpad.operators.table import gathering
from onnxpad.padding.limits import check_pads
from onnxpad.padding.parting import parted, sound_amounts
from onnxpad.padding.readers import needs_finite, readers_of
from onnxpad.padding.site import Sites
from onnxpad.padding.step_edits import Behind, PadLayer, behind, data_inputs, joins_otherwise
from onnxpad.padding.write import write_pad
from onnxpad.reasons import Reason, RefusalError
from onnxpad.semantics.layers import fill_of, is_either_zero, number_of

# Steps past which a `Pad` is moved at once; the next change goes on from there.
_MOST_STEPS: Final = 48

Cut: TypeAlias = tuple[Node, RefusalError | None]
"""A step behind which a `Pad` could be written, or why it cannot be moved past this step."""


class Sinking:
    """Finds and makes cuts in one graph, which must not be edited by others in the meantime."""

    def __init__(self, graph: Graph, analysis: Analysis) -> None:
        """Caches what it finds in the graph."""
        self._graph = graph
        self._analysis = analysis
        self._known: dict[str, Behind | RefusalError | None] = {}
        self._cut_short = False

    def pad(self, pad: PadOp) -> PadLayer | None:
        """The layer of a `Pad`; None unless it is constant padding by known numbers.

        Nor is there one where it may crop more than there is.
        """
        if pad.mode != "constant" or pad.value is None:
            return None
        full = sound_amounts(self._analysis, pad)
        if full is None or not is_padded(full):
            return None
        return PadLayer(full, fill_of(pad.value))

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
            count, found = len(self._known), None
            self._cut_short &= depth > 0
            try:
                if depth <= _MOST_STEPS:
                    found = self._lift(tensor, depth)
                else:
                    self._cut_short = True
                self._known[tensor.name] = found
            except RefusalError as refusal:
                self._known[tensor.name] = refusal
            if self._cut_short and not depth:
                self._forget(count, tensor.name)
        known = self._known[tensor.name]
        if isinstance(known, RefusalError):
            raise known
        return known

    def _forget(self, count: int, name: str) -> None:
        """Forgets all answers after so many, which depend on the depth, but for one."""
        known = self._known[name]
        while len(self._known) > count:
            self._known.popitem()
        self._known[name] = known

    def _lift(self, tensor: Tensor, depth: int) -> Behind | None:
        node = tensor.producer
        if node is None:
            return None
        if is_pad(self._graph, node):
            stack = self._stack(node)
            return None if stack is None else Behind(stack[0])
        data = data_inputs(self._graph, node)
        inside = [self._settled(node.inputs[index], depth + 1) for index in data]
        found = [each for each in inside if each is not None]
        if not found:
            return None
        if len(found) < len(inside):
            raise joins_otherwise(self._graph, node)
        layers = [each.layer for each in found]
        passed = behind(self._graph, self._analysis, node, layers)
        steps = {id(step): step for each in found for step in each.steps}
        return replace(passed, steps=(*steps.values(), node))

    def _stack(self, pad: Node) -> tuple[PadLayer, Tensor] | None:
        """The layer of a `Pad`, and what it pads.

        `Pad`s before it that one could do with it move along on the way to a further one, so that a
        long chain of them is not moved one by one. On the way to a window each moves by itself:
        that may take one of them alone.
        """
        layer, graph = self._layer(pad), self._graph
        while layer is not None:
            above = graph.origin(pad.inputs[0]).producer
            if above is None or not is_pad(graph, above) or not self._leads_to_pad(pad):
                break
            both = self.joined(above, layer)
            if both is None:
                break
            pad, layer = above, both
        return None if layer is None else (layer, pad.inputs[0])

    def joined(self, first: Node, layer: PadLayer) -> PadLayer | None:
        """What one `Pad` pads that does the work of another and of a layer directly behind it.

        None where none does, or something else reads the first.
        """
        one = self._layer(first)
        if one is None or len(list(self.readers(first.outputs[0]))) != 1:
            return None
        sums = add(one.amounts, layer.amounts)
        crops = min(map(min, (*one.amounts, *sums))) < 0
        return None if crops or one.fill != layer.fill else PadLayer(sums, layer.fill)

    def _layer(self, pad: Node) -> PadLayer | None:
        try:
            return self.pad(read_pad(self._graph, self._analysis, pad))
        except UnreadableError:
            return None

    def _settled(self, tensor: Tensor, depth: int) -> Behind | None:
        """As `lifted`; None also where a step upstream cannot be passed, or there are too many."""
        try:
            found = self.lifted(tensor, depth)
        except RefusalError:
            return None
        return None if found is not None and len(found.steps) >= _MOST_STEPS else found

    def cuts(self, pad: Node) -> Iterator[Cut]:
        """The steps behind which a `Pad` could be written, and those that it cannot be moved past.

        On each branch one or the other ends the way.
        """
        pending, seen = deque([self._steps_reading(pad.outputs[0])]), set[int]()
        while pending:
            step = next(pending[0], None)
            if step is None:
                pending.popleft()
                continue
            if id(step) in seen:
                continue
            seen.add(id(step))
            try:
                lifted = self.lifted(step.outputs[0])
            except RefusalError as refusal:
                yield step, refusal
                continue
            if lifted is None:
                continue
            # A Slice ends the run: only without it can the proof tell padding from what is cropped.
            further = None if step.op == "Slice" else self._only_step(step)
            if further is None:
                yield step, None
            else:
                pending.append(iter([further]))

    def _only_step(self, step: Node) -> Node | None:
        """The step that alone reads a step's only output, and can be passed too."""
        reader = self._only_reader(step)
        if reader is None:
            return None
        try:
            lifted = self.lifted(reader.outputs[0])
        except RefusalError:
            return None
        passed = lifted is not None and any(step is each for each in lifted.steps)
        return reader if passed else None

    def _only_reader(self, node: Node) -> Node | None:
        """The node that alone reads the only output of another that is read."""
        read = [each for each in node.outputs if self._graph.is_read(each)]
        readers = list(self.readers(read[0])) if len(read) == 1 else []
        return readers[0] if len(readers) == 1 else None

    def _leads_to_pad(self, pad: Node) -> bool:
        """Whether only steps stand between a `Pad` and a further one."""
        node = self._only_reader(pad)
        for _ in range(_MOST_STEPS):
            if node is None or not data_inputs(self._graph, node):
                break
            node = self._only_reader(node)
        return node is not None and is_pad(self._graph, node)

    def _steps_reading(self, tensor: Tensor) -> Iterator[Node]:
        for node in self.readers(tensor):
            if node is not None and data_inputs(self._graph, node):
                yield node

    def readers(self, tensor: Tensor) -> Iterator[Node | None]:
        """The readers of a tensor, directly or through Identity; None for outputs and bodies."""
        for use in readers_of(self._graph, tensor):
            yield None if use is None or use.index < 0 else use.node

    def shared(self, step: Node) -> list[Node]:
        """The steps between `Pad`s and a step that something else reads too.

        They would have to be computed twice, with the padding and without it.
        """
        lifted = self.lifted(step.outputs[0])
        steps = () if lifted is None else lifted.steps
        known = {id(each) for each in steps}
        return [
            each
            for each in steps
            if each is not step
            and any(
                reader is None or id(reader) not in known
                for output in each.outputs
                for reader in self.readers(output)
            )
        ]

    def cut(self, node: Node) -> tuple[Tensor, ...]:
        """Writes the padding behind a step, and connects all its readers to that.

        Returns:
            The tensors that replace its outputs, of those that are read.

        Raises:
            RefusalError: There is no `Pad` for the element type.
        """
        graph, dtype = self._graph, self._analysis.dtype(node.outputs[0])
        lifted = self.lifted(node.outputs[0])
        assert lifted is not None
        check_pads(graph.opset, dtype)
        bare: dict[int, tuple[Tensor, ...]] = {}
        for step in lifted.steps:
            bare[id(step)] = self._bare(step, bare)
        outputs = []
        for old, new in zip(node.outputs, bare[id(node)], strict=True):
            if not graph.is_read(old):
                continue
            padded = new
            if is_padded(lifted.layer.amounts):
                assert dtype is not None
                amounts = onnx_order(lifted.layer.amounts)
                padded = write_pad(graph, node, new, amounts, number_of(lifted.layer.fill), dtype)
            for use in graph.uses(old):
                graph.set_input(use.node, use.index, padded)
            outputs.append(padded)
        return tuple(outputs)

    def _bare(self, step: Node, bare: dict[int, tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
        """Inserts a step on data without its padding; returns its outputs."""
        graph = self._graph
        lifted = self.lifted(step.outputs[0])
        assert lifted is not None
        inputs = list(step.inputs)
        for index in data_inputs(graph, step):
            inputs[index] = self._source(graph.origin(inputs[index]), bare)
        if lifted.vanishes:
            return (inputs[0],)
        for index, values in lifted.constants.items():
            name = f"{step.name or step.outputs[0].name}_{index}"
            inputs[index] = graph.add_initializer(values, name)
        return graph.insert_like(step, inputs, lifted.attributes)

    def _source(self, tensor: Tensor, bare: dict[int, tuple[Tensor, ...]]) -> Tensor:
        """A padded tensor without its padding."""
        node = tensor.producer
        assert node is not None
        if id(node) not in bare:
            found = self._stack(node)
            assert found is not None
            return found[1]
        (place,) = [i for i, each in enumerate(node.outputs) if each.name == tensor.name]
        return bare[id(node)][place]


def check_taken(
    graph: Graph,
    analysis: Analysis,
    sites: Sites,
    style_of: Callable[[Node], str],
    step: Node,
    *,
    strict: bool = False,
) -> list[str]:
    """Cuts behind a step, and raises unless all that reads the padding takes it.

    Whoever calls this must roll the graph back. A window operator takes padding if it could have it
    in its style, a step if all its readers do, and a `Pad` if both could be one. With `strict`, it
    is not enough that maxima take it, for finite data only: that would be undone.

    Returns:
        The names of the outputs of all steps that were cut, whose readers all take the padding.

    Raises:
        RefusalError: A reader does not take it; the message says which, and why.
    """
    pending, taken = [step], list[str]()
    assuming, sure = None, not strict or style_of(step) == "pad"
    while pending:
        step, sinking = pending.pop(), Sinking(graph, analysis)
        lifted = sinking.lifted(step.outputs[0])
        if lifted is None:
            continue  # a Slice upstream has cropped all of it
        if is_either_zero(lifted.layer.fill):
            for tensor in step.outputs:
                sites.judge.check_sign_is_lost(tensor)
        if shared := sinking.shared(step):
            # What is read elsewhere too must be taken there as well, so it comes first.
            pending += [step, shared[0]]
            continue
        if any(reader is None for each in step.outputs for reader in sinking.readers(each)):
            form = "gives an output of the graph, or is read in a body, with the padding"
            said = Named(f"{step.op} {graph.label(step)!r} {form}", f"{step.op} {form}")
            raise RefusalError(Reason.GRAPH_OUTPUT, said)
        taken += (each.name for each in step.outputs if each.name)
        outputs = sinking.cut(step)
        pads = [tensor.producer for tensor in outputs]
        is_gone = any(pad is None or pad.op != "Pad" for pad in pads)  # a Slice cropped all of it
        if not is_gone and not any(True for each in outputs for _ in sinking.readers(each)):
            raise RefusalError(Reason.UNUSED, "nothing reads what is computed from it")
        for tensor, pad in zip(outputs, pads, strict=True):
            if is_gone or pad is None:
                continue
            readers = [each for each in sinking.readers(tensor) if each is not None]
            readers.sort(key=lambda each: [t.name for t in each.outputs])  # uses have no order
            for reader in readers:
                is_end = gathering(graph, reader) is not None or reader.op == "Pad"
                if is_end and needs_finite(graph, analysis, tensor, reader):
                    assuming = reader
                elif is_end:
                    sure = True
            if parted(graph, analysis, sites, style_of, pad, readers):
                continue
            for reader in readers:
                if gathering(graph, reader) is not None:
                    _check_window(graph, analysis, sites, style_of(reader), tensor, reader)
                elif data_inputs(graph, reader):
                    for cut, refusal in Sinking(graph, analysis).cuts(pad):
                        if refusal is not None:
                            raise refusal
                        if all(cut is not other for other in pending):
                            pending.append(cut)
                else:
                    _check_merges(graph, analysis, pad, reader)
        pending = [each for each in pending if any(map(graph.is_read, each.outputs))]
    if assuming is not None and not sure:
        raise RefusalError(
            Reason.ASSUMPTION_REFUSED,
            named(
                lambda name: (
                    f"{assuming.op}{name(graph.label(assuming))}: it assumes "
                    f"{Assumption.FINITE_DATA}, and --strict forbids that"
                )
            ),
            assumptions=[Assumption.FINITE_DATA],
        )
    return taken


def _check_window(
    graph: Graph, analysis: Analysis, sites: Sites, style: str, padded: Tensor, reader: Node
) -> None:
    try:
        op = read_window(graph, analysis, reader)
    except UnreadableError as error:
        raise RefusalError(Reason.READER_UNREADABLE, str(error)) from error
    if graph.origin(op.data).name != padded.name:
        raise _refusal_of_step(graph, reader)
    try:
        padding, pad, _ = sites.planned(op, style)
        if pad is not None and padding.outside:
            sites.check_mergeable(op, pad)
    except RefusalError as refusal:
        said = Named(
            f"{reader.op} {graph.label(reader)!r}: {refusal}", f"{reader.op}: {refusal.general}"
        )
        raise RefusalError(refusal.code, said, **refusal.facts) from refusal


def _check_merges(graph: Graph, analysis: Analysis, pad: Node, reader: Node) -> None:
    if is_pad(graph, reader):
        sinking = Sinking(graph, analysis)
        try:
            layer = sinking.pad(read_pad(graph, analysis, reader))
            if layer is not None and sinking.joined(pad, layer) is not None:
                return
        except UnreadableError as error:
            raise RefusalError(Reason.READER_UNREADABLE, str(error)) from error
    raise _refusal_of_step(graph, reader)


def _refusal_of_step(graph: Graph, node: Node) -> RefusalError:
    label = graph.label(node)
    said = named(lambda name: f"{node.op}{name(label)} stands between")
    return RefusalError(Reason.STEPS_BETWEEN, said, operator=label)
