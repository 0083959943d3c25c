"""Crops of a transposed convolution: its own, and those of Slices and `Pad`s behind it.

Its output is its full result with a layer around it: `pads` crop it at both ends, `output_padding`
appends to it. Both ends as one number each are its *crop*; below 0 it appends. Several forms have
one crop: pads (1, 1) with output_padding 1 crop as pads (1, 0) do.

What Slices and `Pad`s behind it crop and append is read off the terms of what they give. The form
that does all that is tried: it is written, proved to give the same, and taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Final, TypeAlias

from onnxpad.analysis import Analysis
from onnxpad.analysis.signs import Signs
from onnxpad.arithmetic.notation import named
from onnxpad.finding import Trust
from onnxpad.graph import Graph, Node, Tensor, Use
from onnxpad.graph.walk import downstream
from onnxpad.padding.padding import Padding, padding_of
from onnxpad.padding.readers import readers_of
from onnxpad.padding.write import changes
from onnxpad.proof.assume import Facts
from onnxpad.proof.read import Reader
from onnxpad.proof.refine import refine
from onnxpad.proof.term import DiffersError, Source, Stepped, Term
from onnxpad.reasons import Reason, RefusalError
from onnxpad.records import NamedTuple
from onnxpad.semantics.amounts import Pair, Pairs, add, is_padded, numbers_of, onnx_order
from onnxpad.semantics.layers import Layer, total
from onnxpad.semantics.read_nodes import TransposedOp
from onnxpad.semantics.rows import UnreadError
from onnxpad.site_form import WrittenAmounts
from onnxpad.sizes.wording import Wording

_MOST_STEPS: Final = 32
_BESIDE: Final = ((0, 0),) * 2
_MARK: Final = 1 << 40
"""The crop by which an axis is known again behind steps; that of the next axis is one more."""
_ASKING: Final = frozenset({"Shape", "Size"})
_WRITES_SIZES: Final = frozenset({"Expand", "Reshape"})
_SAID: Final = {
    Reason.CROPS: (Reason.CROPPED_BEFORE, "it pads where elements were cropped before"),
    Reason.FILL_DIFFERS: (Reason.FILL_DIFFERS, "where it pads, the result has another value"),
    Reason.NOT_CERTIFIED: (Reason.AXIS_TAKEN, "a step in between works along what it crops"),
}
"""What differences of terms mean for a crop."""


class Stage(NamedTuple):
    """One node behind a transposed convolution.

    Attributes:
        node: The node.
        place: Its input that is on the way.
        added: What a Slice or a `Pad` adds to each spatial axis of the transposed convolution,
            (begin, end), where negative ones crop; None for a step.
    """

    node: Node
    place: int
    added: Pairs | None


class Taking(NamedTuple):
    """A crop and padding that a transposed convolution takes over.

    Attributes:
        op: The transposed convolution.
        form: Its form after that.
        stages: The nodes behind it, in order, up to the last one that is taken over.
        stays: Whether a dead node keeps what was there before.
    """

    op: TransposedOp
    form: Padding
    stages: tuple[Stage, ...]
    stays: bool = False

    @property
    def last(self) -> Node:
        """The last Slice or `Pad`, whose result stays."""
        return self.stages[-1].node

    @property
    def taken(self) -> list[Node]:
        """The Slices and `Pad`s that are taken over."""
        return [stage.node for stage in self.stages if stage.added is not None]

    @property
    def told(self) -> list[Node]:
        """The same but for `Pad`s of nothing, which have a rule of their own."""
        each = ((stage.node, stage.added) for stage in self.stages if stage.added is not None)
        return [node for node, added in each if node.op != "Pad" or is_padded(added)]


Obstacle: TypeAlias = tuple[Node, RefusalError]
"""A Slice or `Pad` behind a transposed convolution that stays, and why."""


class Crops:
    """Looks downstream from one transposed convolution."""

    def __init__(self, graph: Graph, analysis: Analysis, signs: Signs, op: TransposedOp) -> None:
        """Reads nothing upstream of it."""
        self._graph = graph
        self._analysis = analysis
        self._signs = signs
        self._op = op
        self._reader = Reader(graph, analysis)
        self._facts = Facts(graph, analysis, signs, self._reader)
        self._reader.keep(op.data, self._reader.terms.make(Source(graph.unique(op.data.name))))

    def taking(self, *, symmetric: bool = False) -> tuple[Taking | None, Obstacle | None]:
        """All that the operator can take over, and the first thing on the way that it cannot.

        Args:
            symmetric: Whether pads must be equal at both ends.

        Raises:
            RefusalError: The operator's own crop is not known.
        """
        crop, stages = crop_of(self._analysis, self._op), list[Stage]()
        found: Taking | None = None
        left: Obstacle | None = None
        for stage, refusal in self._stages():
            stages.append(stage)
            if refusal is None and stage.added is None:
                continue
            try:
                if refusal is not None:
                    raise refusal
                crop = less(crop, stage.added or ())
                form = form_of(self._op, crop, symmetric=symmetric)
                found, left = self._tried(Taking(self._op, form, tuple(stages))), None
            except RefusalError as why:
                left = left or (stage.node, why)  # which something further behind may remove
        return found, left

    def idle(self) -> Iterator[Node]:
        """The Slices downstream that crop nothing at any size."""

        def onward(use: Use) -> list[Tensor]:
            is_crop = use.node.op in {"Pad", "Slice"} and use.index == 0
            return use.node.outputs if is_crop or self._is_step(use) else []

        for tensor in downstream(self._graph, self._op.node.outputs, onward):
            node = None if tensor is None else tensor.producer
            if node is not None and node.op == "Slice" and self._graph.is_standard(node):
                after, before = map(self._reader.read, (node.outputs[0], node.inputs[0]))
                if after is before:
                    yield node

    def take(self, taking: Taking) -> Tensor:
        """Writes the form of what the operator takes over; the last Slice or `Pad` copies that.

        The operator and the steps behind it are inserted anew, since they give other sizes. Their
        names are those of the old ones, unless these stay: a runtime does not load a model with
        two nodes of one name.

        Returns:
            What the last Slice or `Pad` copies.
        """
        from onnxpad.padding.step_edits import PadLayer, behind

        graph, op, reader = self._graph, taking.op, self._reader

        def anew(node: Node, inputs: Sequence[Tensor | None], **changed: object) -> Tensor:
            name = None if taking.stays else node.name
            return graph.insert_like(node, inputs, changed, name=name)[0]

        tensor = anew(op.node, op.node.inputs, **changes(op, taking.form))
        for node, place, added in taking.stages:
            if added is not None:
                continue
            inputs: list[Tensor | None] = [*node.inputs]
            inputs[place] = tensor
            read = tensor, node.inputs[place]
            if node.op in _WRITES_SIZES and (later := _between(*map(reader.read, read))):
                after = behind(graph, self._analysis, node, [PadLayer(later, 0)])
                for index, values in after.constants.items():
                    told = f"{node.name or node.outputs[0].name}_{index}"
                    inputs[index] = graph.add_initializer(values, told)
            tensor = anew(node, inputs)
        graph.replace_op(taking.last, "Identity", [tensor], {})
        return tensor

    def _tried(self, taking: Taking) -> Taking:
        """A taking that was written and proved to give the same, and taken back.

        Raises:
            RefusalError: It does not, or something else reads what it changes.
        """
        try:
            return taking._replace(
                stays=self.check(lambda: self.take(taking), taking.last.outputs[0])
            )
        except DiffersError as error:
            code, said = _SAID.get(error.code, (error.code, error.said))
            if code is Reason.CROPPED_BEFORE and self._op.bias is not None:
                code, said = _SAID[Reason.FILL_DIFFERS]
            raise RefusalError(code, said, **error.facts) from error

    def check(self, write: Callable[[], Tensor], at: Tensor) -> bool:
        """Raises unless an edit gives what a tensor was; it is taken back.

        Args:
            write: Makes the edit, and returns what the tensor then copies.
            at: The tensor.

        Returns:
            Whether the operator stays nevertheless, for a dead node that reads it.

        Raises:
            DiffersError: It does not.
            RefusalError: Something else reads what the operator gives.
        """
        graph, full = self._graph, self._op.node.outputs[0]
        was = self._reader.read(at)
        edits, known, proved = graph.mark(), self._analysis.mark(), self._signs.mark()
        try:
            new = write()
            graph.sweep()
            stays = full is not at and graph.has_node(self._op.node)
            if stays:
                each = downstream(graph, [full], lambda use: use.node.outputs)
                if any(tensor is None or graph.is_output(tensor) for tensor in each):
                    raise _read_elsewhere(full)
            refine(self._reader.read(new), was, self._facts, at)
        finally:
            graph.rollback(edits)
            self._analysis.rollback(known)
            self._signs.rollback(proved)
        return stays

    def _stages(self) -> Iterator[tuple[Stage, RefusalError | None]]:
        """The nodes behind the operator, one after the other, and why one cannot be taken over."""
        tensor = self._op.node.outputs[0]
        for _ in range(_MOST_STEPS):
            uses = [use for use in readers_of(self._graph, tensor) if not self._asks(use)]
            if len(uses) != 1 or uses[0] is None or uses[0].index < 0:
                found = [(use, self._added(use)) for use in uses if use is not None]
                crops = [Stage(*use, added) for use, added in found if added is not None]
                yield from ((stage, _read_elsewhere(tensor)) for stage in crops[:1])
                return
            node, place = uses[0]
            if (added := self._added(uses[0])) is not None:
                self._marks.keep(node.outputs[0], self._marks.read(tensor))
            elif node.op == "Slice" and (why := self._why_no_crop(node)) is not None:
                yield Stage(node, place, None), why
                return
            elif not self._is_step(uses[0]):
                return
            yield Stage(node, place, added), None
            tensor = node.outputs[0]

    @cached_property
    def _marks(self) -> Reader:
        """Reads what is behind the operator with a mark in front of each of its spatial axes."""
        tensor, terms = self._op.node.outputs[0], self._reader.terms
        marks = Reader(self._graph, self._analysis, terms)
        layer = Layer((*_BESIDE, *[(-_MARK * axis, 0) for axis in self._op.axes]), 0)
        marks.keep(tensor, terms.padded(self._reader.read(tensor).bare, layer))
        return marks

    def _places(self, tensor: Tensor) -> dict[int, int]:
        """The axes of the transposed convolution that are there in data behind it, by place."""
        layers = self._marks.read(tensor).layers
        return {
            at: -begin // _MARK
            for at, (begin, end) in enumerate(layers[0].amounts if layers else ())
            if isinstance(begin, int) and begin < 0 and begin % _MARK == 0 and end == 0
        }

    def _asks(self, use: Use | None) -> bool:
        """Whether a reader asks for the shape of a tensor alone."""
        return use is not None and use.node.op in _ASKING and self._graph.is_standard(use.node)

    def _is_step(self, use: Use) -> bool:
        """Whether a node hands on the padding of just this input."""
        from onnxpad.padding.step_edits import data_inputs

        node, index = use
        others = any(map(self._graph.is_read, node.outputs[1:]))
        return data_inputs(self._graph, node) == (index,) and not others

    def _added(self, use: Use) -> Pairs | None:
        """What a Slice or `Pad` adds to the spatial axes.

        None where that is not known, they are not there any more, or it adds to other axes, too.
        """
        node, index = use
        if node.op not in {"Pad", "Slice"} or index != 0 or not self._graph.is_standard(node):
            return None
        places = self._places(node.inputs[0])
        amounts = _between(*map(self._reader.read, (node.inputs[0], node.outputs[0])))
        if amounts is None or not places:
            return None
        added: dict[int, Pair] = dict.fromkeys(self._op.axes, (0, 0))
        for at, pair in enumerate(amounts):
            if at in places:
                added[places[at]] = pair
            elif pair != (0, 0):
                return None
        return tuple(added.values())

    def _why_no_crop(self, node: Node) -> RefusalError | None:
        """Why it is not known what a Slice takes off; None where it is no crop at all."""
        places, wording = self._places(node.inputs[0]), Wording(self._graph, self._analysis)
        if places and (why := wording.unread(node.inputs[1:], "its bounds")):
            return why
        head = self._reader.read(node.outputs[0]).head
        bounds: Any = head.key[2] if isinstance(head, Stepped) and head.key[0] == "Slice" else ()
        for axis, (_, _, step) in bounds:
            if step == 1 and axis in places:
                told = f"at some size nothing may be left of axis {axis}"
                return RefusalError(Reason.MAY_BE_EMPTY, told, axis=axis)
        return None


def _between(inner: Term, outer: Term) -> Pairs | None:
    """What is around one term more than around another, (begin, end) on each axis.

    None where they are not around the same, or the amounts are no numbers.
    """
    if inner.bare is not outer.bare:
        return None
    less = [[(-begin, -end) for begin, end in layer.amounts] for layer in inner.layers]
    axes = zip(*(layer.amounts for layer in outer.layers), *less, strict=True)
    return numbers_of(
        [(total(begin for begin, _ in each), total(end for _, end in each)) for each in axes]
    )


def _read_elsewhere(tensor: Tensor) -> RefusalError:
    said = "what it crops or pads is read elsewhere too"
    return RefusalError(Reason.READ_ELSEWHERE, said, tensor=tensor.name)


# How a crop is written


def crop_of(analysis: Analysis, op: TransposedOp, trust: Trust | None = None) -> Pairs:
    """(begin, end) per spatial axis by which an operator crops its full result.

    Where that is shorter than the output should be, the runtime crops nothing (SAME) or appends
    the rest (`output_shape`). The specification divides a negative number there, and leaves open
    how it is rounded, so only the runtime can be trusted.

    Raises:
        RefusalError: It depends on a size that is open, or engines disagree on it.
    """
    from onnxpad.semantics.transposed import ends_of

    try:
        ends = tuple(ends_of(op.form, analysis.shape(op.data)))
    except UnreadError as error:
        raise RefusalError(error.code, str(error), **error.facts) from error
    crop = numbers_of([(-begin, -end) for begin, end, _ in ends])
    if crop is None:
        told = "its output_shape is fixed, but the size of its data is open"
        raise RefusalError(Reason.SIZE_DEPENDENT, told, axes=[*op.axes])
    opened = [place for place, (_, _, is_open) in enumerate(ends) if is_open]
    if opened and trust is not Trust.RUNTIME:
        form_of(op, crop)
        place, window = opened[0], op.windows[opened[0]]
        told = (
            f"its full result is shorter than the output on axis {op.axes[place]}: the "
            "specification leaves open at which end elements are appended"
        )
        raise RefusalError(
            Reason.ENGINES_DISAGREE,
            told,
            axis=op.axes[place],
            extent=window.extent,
            stride=window.stride,
            disagreement=told,
            options=(Trust.RUNTIME.option,),
        )
    return crop


def form_of(op: TransposedOp, crop: Pairs, *, symmetric: bool = False) -> Padding:
    """The form with the least numbers that has a crop.

    Args:
        op: The operator.
        crop: (begin, end) per spatial axis; below 0 it appends.
        symmetric: Whether pads must be equal at both ends.

    Raises:
        RefusalError: There is none.
    """
    pads, appended = list[Pair](), list[int]()
    for axis, window, (begin, end) in zip(op.axes, op.windows, crop, strict=True):
        more = max(-end, 0)
        if symmetric and begin != max(end, 0):
            more = begin - end
        if begin < 0 or not 0 <= more < window.stride:
            told = f"pads of {begin} and {end + more} with output_padding {more}"
            if more < 0:
                told = f"symmetric pads for {begin} and {end}"
            raise RefusalError(
                Reason.CROPS,
                f"axis {axis} would need {told}: pads cannot be negative, and output_padding must "
                f"be from 0 to below the stride {window.stride}",
                axis=axis,
                crop=[begin, end],
            )
        pads.append((begin, end + more))
        appended.append(more)
    return Padding(tuple(pads), output_padding=tuple(appended))


def symmetric_form(op: TransposedOp, crop: Pairs) -> tuple[Padding, Pairs]:
    """A form with pads that are equal at both ends, and what must be cropped behind it.

    Raises:
        RefusalError: There is none.
    """
    kept = list[Pair]()
    for window, (begin, end) in zip(op.windows, crop, strict=True):
        if begin < end:
            kept.append((begin, begin))
        else:
            is_appended = begin - end < window.stride
            kept.append((begin if is_appended else max(end, 0), end))
    return form_of(op, tuple(kept), symmetric=True), less(crop, tuple(kept))


def less(one: Pairs, other: Pairs) -> Pairs:
    """The difference, for each side of each axis."""
    return add(one, tuple((-begin, -end) for begin, end in other))


def form_text(form: Padding) -> str:
    """A form as reports have it."""
    return _written(form).text


def amounts_of(op: TransposedOp) -> WrittenAmounts:
    """How much a transposed convolution crops, or the attributes that say how much it gives."""
    now = padding_of(op)
    if now is not None:
        return _written(now)
    auto_pad = "" if op.auto_pad == "NOTSET" else op.auto_pad
    said = {"auto_pad": auto_pad, "output_shape": op.output_shape, **_appended(op.output_padding)}
    return WrittenAmounts((), tuple((name, value) for name, value in said.items() if value))


def _written(form: Padding) -> WrittenAmounts:
    said = {"pads": tuple(onnx_order(form.numbers)), **_appended(form.output_padding)}
    return WrittenAmounts(named(form.numbers), tuple(said.items()))


def _appended(output_padding: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    return {"output_padding": output_padding} if any(output_padding) else {}
