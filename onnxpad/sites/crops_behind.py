"""Crops and constant padding behind a transposed convolution, which its attributes can do.

From its output a way leads downstream, over steps that nothing else reads, to Slices and `Pad`s.
All that they crop and append on its spatial axes is its own crop, if no element is appended that
was cropped before, and what is appended has the value of the result where no window reaches.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

from onnxpad.analysis import Analysis
from onnxpad.arithmetic.size import Extent, Unknown, always, less_equal
from onnxpad.graph import Graph, Node, Tensor, Use
from onnxpad.graph.walk import downstream, nodes_upstream
from onnxpad.operators.amounts import ENDLESS, Pair, Pairs
from onnxpad.operators.read import PadOp, TransposedOp, is_transposed, pad_giving
from onnxpad.padding.padding import Padding
from onnxpad.padding.parting import sound_amounts
from onnxpad.padding.readers import readers_of
from onnxpad.padding.step_edits import PadLayer, behind, data_inputs
from onnxpad.padding.write import changes
from onnxpad.reasons import Reason, RefusalError
from onnxpad.records import NamedTuple, dataclass
from onnxpad.semantics.layers import Fill, fill_of, is_either_zero
from onnxpad.semantics.moving import bounds_of
from onnxpad.semantics.rows import Call, UnreadError
from onnxpad.semantics.table import row_of
from onnxpad.sites.cropped_form import check_gives, crop_of, form_of, leaves_nothing
from onnxpad.sizes.wording import Wording

_MOST_STEPS: Final = 32
_MOST_ASKING: Final = 64
_ASKING: Final = frozenset({"Shape", "Size"})
_MAY_PASS: Final = frozenset(
    {Reason.CROPS, Reason.CROPPED_BEFORE, Reason.FILL_DIFFERS, Reason.READ_ELSEWHERE}
)
"""Reasons that something further behind may remove."""
_WRITES_SIZES: Final = frozenset({"Expand", "Reshape"})


_TELLS_BY_SIZE: Final = frozenset({"Flatten", "Reshape"})


class Stage(NamedTuple):
    """One node behind a transposed convolution.

    Attributes:
        node: The node.
        place: Its input that is on the way.
        places: For each axis of the transposed convolution's output, that of this input; None
            where it is not an axis of it any more, or works as one of a kind.
        amounts: For a Slice or a `Pad` on spatial axes, (begin, end) for each axis of the
            transposed convolution's output; None for a step.
        fill: For a `Pad`, why its value is not that of the result there; None where it is.
    """

    node: Node
    place: int
    places: tuple[int | None, ...]
    amounts: Pairs | None
    fill: RefusalError | None = None


class End(NamedTuple):
    """One end of an axis of what lies behind a transposed convolution.

    Attributes:
        crop: The elements of the full result that are cropped; below 0 that many are appended.
        foreign: The outermost elements that no appending gives; until they are cropped again,
            `crop` counts them as if it did.
        why: The reason for these.
    """

    crop: int
    foreign: int = 0
    why: RefusalError | None = None

    def after(self, amount: int, axis: int, fill: RefusalError | None) -> End:
        """The end behind a Slice or `Pad` that adds an amount to it (negative: crops)."""
        crop = self.crop - amount
        if amount <= 0:
            return End(crop, max(self.foreign + amount, 0), self.why)
        if self.foreign:
            return End(crop, self.foreign + amount, self.why)
        if self.crop > 0:
            why = RefusalError(
                Reason.CROPPED_BEFORE,
                f"it pads axis {axis} where elements were cropped before",
                axis=axis,
            )
            return End(crop, amount, why)
        return End(crop, amount if fill else 0, fill)


class Taking(NamedTuple):
    """A crop and padding that a transposed convolution takes over.

    Attributes:
        op: The transposed convolution.
        form: Its form after that.
        stages: The nodes behind it, in order, up to the last one that is taken over.
    """

    op: TransposedOp
    form: Padding
    stages: tuple[Stage, ...]

    @property
    def last(self) -> Node:
        """The last Slice or `Pad`, whose result stays."""
        return self.stages[-1].node

    @property
    def taken(self) -> list[Node]:
        """The Slices and `Pad`s that are taken over."""
        return [stage.node for stage in self.stages if stage.amounts is not None]

    def without_empty_pads(self) -> Taking | None:
        """The same up to the last Slice, or `Pad` of anything; None if there is none."""
        ends = [
            place
            for place, (node, _, _, amounts, _) in enumerate(self.stages, 1)
            if amounts is not None and (node.op != "Pad" or any(map(any, amounts)))
        ]
        return self._replace(stages=self.stages[: ends[-1]]) if ends else None


Obstacle: TypeAlias = tuple[Node, RefusalError]
"""A Slice or `Pad` behind a transposed convolution that stays, and why."""


@dataclass(frozen=True, slots=True)
class CropsBehind:
    """Looks downstream from transposed convolutions in one graph.

    Attributes:
        graph: The graph.
        analysis: Its analysis.
        symmetric: Whether pads must be equal at both ends.
    """

    graph: Graph
    analysis: Analysis
    symmetric: bool = False

    def taking(self, op: TransposedOp) -> tuple[Taking | None, Obstacle | None]:
        """All that an operator can take over, and the first thing on the way that it cannot.

        Raises:
            RefusalError: The operator's own crop is not known.
        """
        own = crop_of(self.analysis, op)
        ends = [(End(begin), End(end)) for begin, end in own]
        found, left = None, None
        stages: list[Stage] = []
        for stage, refusal in self._stages(op):
            stages.append(stage)
            if refusal is None and stage.amounts is None:
                continue
            try:
                if refusal is not None:
                    raise refusal
                ends = _after(op, ends, stage)
                _check_own(ends)
                crop = tuple((begin.crop, end.crop) for begin, end in ends)
                form = form_of(op, crop, symmetric=self.symmetric)
                if crop != own:
                    check_gives(self.analysis, op, op.axes, crop)
                self._check_lone(op, stages)
                self._check_told(op, stages, crop)
            except RefusalError as why:
                left = left or (stage.node, why)
                if why.code not in _MAY_PASS or refusal is not None:
                    break
            else:
                found, left = Taking(op, form, tuple(stages)), None
        return found, left

    def idle(self) -> Iterator[Node]:
        """The Slices downstream of transposed convolutions that crop nothing at any size."""
        for node in self.graph.nodes:
            if node.op != "Slice" or not self.graph.is_standard(node) or not node.inputs:
                continue
            amounts = _sliced(self.graph, self.analysis, node)
            shape = self.analysis.shape(node.inputs[0]) or ()
            if amounts is None or any(isinstance(size, Unknown) for size in shape):
                continue  # the proof knows nothing of an axis of unknown size
            if not any(map(any, amounts)) and self._is_behind(node):
                yield node

    def _is_behind(self, node: Node) -> bool:
        """Whether a transposed convolution is upstream of a Slice, over steps, crops and `Pad`s."""
        graph = self.graph

        def data(step: Node) -> list[Tensor]:
            crops = step.op in {"Pad", "Slice"} and step.inputs
            places = (0,) if crops else data_inputs(graph, step)
            single = len(places) == 1 and not is_transposed(graph, step)
            return [graph.origin(step.inputs[places[0]])] if single else []

        above = nodes_upstream(graph, data(node), data)
        return any(each is not None and is_transposed(graph, each) for each in above)

    def _stages(self, op: TransposedOp) -> Iterator[tuple[Stage, RefusalError | None]]:
        """The nodes behind an operator, one after the other, and why one cannot be taken over."""
        graph, rank = self.graph, len(op.axes) + 2
        tensor, places = op.node.outputs[0], tuple[int | None, ...](range(rank))
        fill: Fill | None = _fill(graph, op.bias)
        grown = set[int]()
        for _ in range(_MOST_STEPS):
            readers = [each for each in readers_of(graph, tensor) if not self._asks(each)]
            only = readers[0] if len(readers) == 1 else None
            if only is None or only.index < 0:
                nodes = [each.node for each in readers if each is not None]
                yield from self._shared(op, nodes, tensor, places)
                return
            node, index = only
            amounts = self._amounts(node, index, tensor)
            own = None if amounts is None else _in_front(amounts, places, op.axes)
            if own is not None and amounts is not None:
                refusal = self._short(tensor, amounts) or self._unknown(node, own)
                other = None if self._is_filled(node, fill) else _fills_otherwise(fill)
                yield Stage(node, index, places, own, other), refusal
                if refusal is not None:
                    return
                grown |= {axis for axis, pair in enumerate(own) if max(pair) > 0}
            else:
                words = Wording(graph, self.analysis)
                if node.op == "Slice" and (why := words.unread(node.inputs[1:], "its bounds")):
                    yield Stage(node, index, places, None), why
                    return
                others = any(map(graph.is_read, node.outputs[1:]))
                if others or data_inputs(graph, node) != (index,):
                    return
                yield Stage(node, index, places, None), None
                places, fill = self._through(node, index, places, fill, tensor)
                if not any(places[axis] is not None for axis in op.axes):
                    return
                if grown and (fill is None or any(places[axis] is None for axis in grown)):
                    return  # the step does not hand on what was appended
            tensor = node.outputs[0]

    def _asks(self, use: Use | None) -> bool:
        """Whether a reader asks for the shape of a tensor alone."""
        return use is not None and use.node.op in _ASKING and self.graph.is_standard(use.node)

    def _check_lone(self, op: TransposedOp, stages: Sequence[Stage]) -> None:
        """Raises RefusalError if something asks for a shape that changes, but to crop by it."""
        ends = {id(stage.node) for stage in stages if stage.amounts is not None}
        tensors = [op.node.outputs[0], *(stage.node.outputs[0] for stage in stages[:-1])]
        for tensor in tensors:
            for use in filter(self._asks, readers_of(self.graph, tensor)):
                if use is not None and not self._leads_to(use.node, ends):
                    raise _read_elsewhere(tensor)

    def _check_told(self, op: TransposedOp, stages: Sequence[Stage], crop: Pairs) -> None:
        """Raises RefusalError if an axis of one element would be like those that come or go.

        A Flatten or Reshape tells its axes by their sizes, and so does the proof.
        """
        for number, (stage, following) in enumerate(pairwise(stages)):
            data, result = stage.node.inputs[stage.place], stage.node.outputs[0]
            shapes = self.analysis.shape(data), self.analysis.shape(result)
            if stage.node.op not in _TELLS_BY_SIZE or stage.amounts is not None or None in shapes:
                continue
            before, after = (
                [size - sum(pair) for size, pair in zip(shape, later.amounts, strict=True)]
                for shape, places in zip(shapes, (stage.places, following.places), strict=True)
                if shape is not None
                for later in [_later(stages[number:], places, len(shape))]
            )
            cropped = {
                stage.places[axis] for axis, pair in zip(op.axes, crop, strict=True) if any(pair)
            }
            for units, places in zip(_units(before), _units(after), strict=False):
                like = sum(axis in cropped for axis in units)
                if like and len(places) not in (like, len(units)):
                    raise RefusalError(
                        Reason.AXIS_TAKEN,
                        "it leaves one element on an axis, which could not be told from the axes "
                        f"that a {stage.node.op} behind it adds or drops",
                        step=self.graph.label(stage.node),
                    )

    def _leads_to(self, node: Node, ends: Collection[int]) -> bool:
        """Whether all that a node computes leads to some nodes alone, as their bounds."""
        pending, seen = [node], set[int]()
        while pending:
            node = pending.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            for use in (use for each in node.outputs for use in readers_of(self.graph, each)):
                if use is None or use.index < 0 or len(seen) > _MOST_ASKING:
                    return False
                if id(use.node) not in ends:
                    pending.append(use.node)
                elif use.index == 0:
                    return False
        return True

    def _short(self, tensor: Tensor, amounts: Pairs) -> RefusalError | None:
        """The refusal of a tensor that may be shorter than what is cropped; None without it."""
        shape = self.analysis.shape(tensor)
        for axis, (begin, end) in enumerate(amounts):
            crop = -min(begin, 0) - min(end, 0)
            size = Unknown("a rank known only at run time") if shape is None else shape[axis]
            if crop and always(less_equal(crop, size)) is not True:
                return leaves_nothing(axis, size)
        return None

    def _shared(
        self,
        op: TransposedOp,
        nodes: Sequence[Node],
        tensor: Tensor,
        places: tuple[int | None, ...],
    ) -> Iterator[tuple[Stage, RefusalError | None]]:
        """The first Slice or `Pad` among several readers of a tensor, which stays."""
        for node in nodes:
            amounts = self._amounts(node, 0, tensor)
            own = None if amounts is None else _in_front(amounts, places, op.axes)
            if own is not None and node.inputs[0].name == tensor.name:
                yield Stage(node, 0, places, own), _read_elsewhere(tensor)
                return

    def _amounts(self, node: Node, index: int, tensor: Tensor) -> Pairs | None:
        """The amounts that a Slice or constant `Pad` adds to each axis; negative ones crop."""
        graph, analysis = self.graph, self.analysis
        if index != 0 or not graph.is_standard(node):
            return None
        if node.op == "Slice":
            return _sliced(graph, analysis, node)
        pad = self._pad(node)
        return None if pad is None or pad.mode != "constant" else sound_amounts(analysis, pad)

    def _pad(self, node: Node) -> PadOp | None:
        is_pad = node.op == "Pad"
        return pad_giving(self.graph, self.analysis, node.outputs[0]) if is_pad else None

    def _is_filled(self, node: Node, fill: Fill | None) -> bool:
        pad = self._pad(node)
        if pad is None or pad.value is None or fill is None:
            return False
        return fill_of(pad.value) == fill

    def _unknown(self, node: Node, amounts: Pairs) -> RefusalError | None:
        """The refusal of a `Pad` whose value only run time knows, unless it only crops."""
        pad = self._pad(node)
        if pad is None or pad.value is not None or max(map(max, amounts)) <= 0:
            return None
        return RefusalError(Reason.FILL_DIFFERS, "it pads with a value known only at run time")

    def _through(
        self,
        node: Node,
        index: int,
        places: tuple[int | None, ...],
        fill: Fill | None,
        tensor: Tensor,
    ) -> tuple[tuple[int | None, ...], Fill | None]:
        """The axes behind a step, and the value there where no window reaches, if it is known."""
        shape = self.analysis.shape(tensor)
        known = [place for place in places if place is not None]
        rank = len(shape) if shape is not None else max(known) + 1
        found: list[int | None] = []
        for place in places:
            layer = None if place is None else self._behind(node, rank, place, (-1, 0), 0)
            padded = [] if layer is None else [a for a, p in enumerate(layer.amounts) if any(p)]
            found.append(padded[0] if len(padded) == 1 else None)
        value, kept = None, [p for p, f in zip(places, found, strict=True) if f is not None]
        if fill is not None and kept and kept[-1] is not None:
            layer = self._behind(node, rank, kept[-1], (0, 1), fill)
            value = None if layer is None else layer.fill
        return tuple(found), value

    def _behind(self, node: Node, rank: int, axis: int, pair: Pair, fill: Fill) -> PadLayer | None:
        amounts = tuple(pair if each == axis else (0, 0) for each in range(rank))
        try:
            return behind(self.graph, self.analysis, node, [PadLayer(amounts, fill)]).layer
        except RefusalError:
            return None


def _after(
    op: TransposedOp, ends: Sequence[tuple[End, End]], stage: Stage
) -> list[tuple[End, End]]:
    """The ends of all spatial axes behind a Slice or `Pad`."""
    assert stage.amounts is not None
    return [
        (
            begin.after(stage.amounts[axis][0], axis, stage.fill),
            end.after(stage.amounts[axis][1], axis, stage.fill),
        )
        for axis, (begin, end) in zip(op.axes, ends, strict=True)
    ]


def _units(sizes: Sequence[Extent]) -> list[range]:
    """The axes of one element before, between and after the others."""
    others = [axis for axis, size in enumerate(sizes) if size != 1]
    return [range(low + 1, high) for low, high in pairwise((-1, *others, len(sizes)))]


def _check_own(ends: Sequence[tuple[End, End]]) -> None:
    """Raises RefusalError if an end has elements that no appending gives."""
    for end in (each for pair in ends for each in pair):
        if end.foreign and end.why is not None:
            raise end.why


def _is_dead(graph: Graph, node: Node, live: Collection[int]) -> bool:
    """Whether neither an output of the graph nor a live node, by identity, depends on a node."""
    if id(node) in live:
        return False
    for each in downstream(graph, node.outputs, lambda use: use.node.outputs, most=None):
        if each is not None and (
            graph.is_output(each) or any(id(use.node) in live for use in graph.uses(each))
        ):
            return False
    return True


def take(graph: Graph, analysis: Analysis, taking: Taking) -> None:
    """Writes the form of what an operator takes over; the last Slice or `Pad` becomes a copy.

    The operator and the steps behind it are inserted anew, since they give other sizes. The old
    ones are left unread, and their names taken, unless a dead node still reads them: the runtime
    does not load a model with two nodes of one name.
    """
    op = taking.op
    names: dict[int, str | None] = {}
    stays = False
    live = {id(stage.node) for stage in taking.stages} | {id(taking.last)}
    for node in reversed([op.node, *(stage.node for stage in taking.stages[:-1])]):
        stays |= any(_is_dead(graph, use.node, live) for use in graph.uses(node.outputs[0]))
        names[id(node)] = None if stays else node.name
    (tensor,) = graph.insert_like(
        op.node, op.node.inputs, changes(op, taking.form), name=names[id(op.node)]
    )
    for number, stage in enumerate(taking.stages):
        if stage.amounts is not None:
            continue
        inputs: list[Tensor | None] = list(stage.node.inputs)
        inputs[stage.place] = tensor
        after = None
        if stage.node.op in _WRITES_SIZES:
            layer = _later(taking.stages[number:], stage.places, _rank(analysis, stage))
            after = behind(graph, analysis, stage.node, [layer])
        for index, values in ({} if after is None else after.constants).items():
            name = f"{stage.node.name or stage.node.outputs[0].name}_{index}"
            inputs[index] = graph.add_initializer(values, name)
        tensor = graph.insert_like(stage.node, inputs, {}, name=names[id(stage.node)])[0]
    graph.replace_op(taking.last, "Identity", [tensor], {})


def _rank(analysis: Analysis, stage: Stage) -> int:
    shape = analysis.shape(stage.node.inputs[stage.place])
    assert shape is not None  # a Reshape is no step otherwise
    return len(shape)


def _later(stages: Sequence[Stage], places: tuple[int | None, ...], rank: int) -> PadLayer:
    """The difference between the input of a step today and afterwards, as a layer of padding."""
    amounts = [[0, 0] for _ in range(rank)]
    for stage in stages:
        for place, pair in zip(places, stage.amounts or (), strict=False):
            if place is not None:
                amounts[place][0] -= pair[0]
                amounts[place][1] -= pair[1]
    return PadLayer(tuple((begin, end) for begin, end in amounts), 0)


def _in_front(
    amounts: Pairs, places: tuple[int | None, ...], spatial: tuple[int, ...]
) -> Pairs | None:
    """Amounts over the axes of an operator's output; None where another axis has any."""
    own = tuple(
        amounts[place] if place is not None and place < len(amounts) else (0, 0) for place in places
    )
    reached = {places[axis] for axis in spatial}
    others = any(any(pair) for axis, pair in enumerate(amounts) if axis not in reached)
    return None if others else own


def _fill(graph: Graph, bias: Tensor | None) -> float | None:
    """The value of a result where no window reaches; None where that is not one known number."""
    if bias is None:
        return 0.0
    array = graph.constant(bias)
    if array is None or not array.size or array.dtype.kind != "f":
        return None
    first = float(array.reshape(-1)[0])
    return first + 0.0 if bool((array == array.reshape(-1)[0]).all()) else None


def _read_elsewhere(tensor: Tensor) -> RefusalError:
    said = "what it crops or pads is read elsewhere too"
    return RefusalError(Reason.READ_ELSEWHERE, said, tensor=tensor.name)


def _fills_otherwise(fill: Fill | None) -> RefusalError:
    is_number = fill is not None and not is_either_zero(fill)
    result = f"is {fill}" if is_number else "is not one known number"
    said = f"it pads with another value: where no window reaches, the result {result}"
    return RefusalError(Reason.FILL_DIFFERS, said)


def _sliced(graph: Graph, analysis: Analysis, node: Node) -> Pairs | None:
    """The amounts, 0 or less, of a Slice in steps of 1, provided that the axes are long enough."""
    shape, row = analysis.shape(node.inputs[0]), row_of(graph, node)
    if shape is None or row is None:
        return None
    try:
        bounds = bounds_of(Call(graph, analysis, node, row), len(shape))
    except UnreadError:
        return None
    found: list[Pair] = [(0, 0)] * len(shape)
    for axis, (start, end, step) in bounds.items():
        size = shape[axis]
        begin = size + start if always(less_equal(start, -1)) is True else start
        cut: Extent
        if always(less_equal(end, -1)) is True:
            cut = -end
        elif always(less_equal(ENDLESS, end)) is True or always(less_equal(size, end)) is True:
            cut = 0
        else:
            cut = size - end
        if step != 1 or not isinstance(begin, int) or not isinstance(cut, int):
            return None
        if min(begin, cut) < 0:
            return None
        found[axis] = -begin, -cut
    return tuple(found)
