"""The one comparison that decides: does a new term compute what the old one does?

Rules in a fixed order look at a pair of terms. Each says that it does not apply, that the pair
is equal if further pairs are, or why it is not. The first rule that applies gives the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from onnx import TensorProto
from onnx.helper import tensor_dtype_to_np_dtype

from onnxpad.arithmetic.size import Extent, Unknown, symbol
from onnxpad.arithmetic.size import Sizes as Range
from onnxpad.facts import Analysis
from onnxpad.facts.bounds import infinite, telling
from onnxpad.facts.shape_rules import KEEPING
from onnxpad.finding import Assumption, Trust
from onnxpad.graph import Graph, Node, Tensor, Use, upstream
from onnxpad.proof.read import Reader
from onnxpad.proof.term import Copied, DiffersError, Equal, Slid, Spread, Stepped, Term
from onnxpad.proof.windows import Comparison, Sizes, blind_axis, compare, reads_originals
from onnxpad.reasons import Reason
from onnxpad.semantics.layers import (
    EXCLUDED,
    LEAST,
    Fill,
    Layer,
    Layers,
    Operand,
    around,
    crops,
    is_finite,
    merged,
    number_of,
    without_sign,
)
from onnxpad.semantics.rows import FLOATS, lowest
from onnxpad.semantics.table import padding_row, row_of

LOST_SIGN = "lost-sign"
"""The rule that holds of a tensor, for all that reads it, and not of its term."""
_LOST_SIGN = Equal(LOST_SIGN)


class Pair(Struct, frozen=True):
    """Two terms to compare; `at` is the tensor that has the new one, None inside of others."""

    new: Term
    old: Term
    at: Tensor | None
    trust: Trust | None
    facts: Facts


Found = tuple[Equal, list[tuple[Term, Term]]]
"""A pair is equal as said, if further pairs are."""
Rule = Callable[[Pair], Found | None]


def refine(new: Term, old: Term, facts: Facts, at: Tensor, trust: Trust | None = None) -> Equal:
    """Shows that a new term computes what the old one does, at every size at which that is defined.

    Where the runtime and the specification disagree about the original, `trust` says whose reading
    counts; without it, nothing is proved there.
    """
    if new is old:
        return Equal("same")
    found, pending = ruled(Pair(new, old, at, trust, facts))
    seen = set()
    while pending:
        pair = pending.pop()
        if pair[0] is pair[1] or pair in seen:
            continue
        seen.add(pair)
        equal, further = ruled(Pair(*pair, None, trust, facts))
        assumptions = found.assumptions | equal.assumptions
        found = replace((equal if found.rule == "congruent" else found), assumptions=assumptions)
        pending += further
    return found


def ruled(pair: Pair, further: Sequence[Rule] = ()) -> Found:
    """What the first rule that applies says of a pair; `further` ones are tried last."""
    for rule in (congruent, layers, *RULES.get(type(pair.old.head), ()), *further):
        found = rule(pair)
        if found is not None:
            return found
    raise DiffersError("what is computed now is not known to be the same")


def congruent(pair: Pair) -> Found | None:
    """The same is done to operands that are equal."""
    new, old = pair.new, pair.old
    same = type(new.head) is type(old.head) and new.head == old.head
    if not same or new.layers != old.layers or len(new.args) != len(old.args):
        return None
    return Equal("congruent"), _arguments(pair)


def layers(pair: Pair) -> Found | None:
    """The padding around the same is the same, but for the signs of zeros that nothing can tell."""
    new, old = pair.new, pair.old
    if new.bare is not old.bare:
        return None
    _check_layers(pair)
    return _LOST_SIGN, []


def scattered(pair: Pair) -> Found | None:
    """Transposed convolutions have the same full result, of which the same part is the output."""
    new, old = pair.new, pair.old
    assert isinstance(old.head, Spread)
    if not isinstance(new.head, Spread):
        return None
    if new.head.key[:-1] != old.head.key[:-1] or len(new.args) != len(old.args):
        raise DiffersError("the transposed convolution itself differs")
    _check_layers(pair)
    if new.head.key != old.head.key:
        said = "at some size nothing may be left of an axis of the transposed convolution"
        raise DiffersError(said, Reason.MAY_BE_EMPTY)
    if old.head.runs and not new.head.runs:
        raise DiffersError("onnxruntime does not run the rewritten node")
    trusts = pair.trust is Trust.RUNTIME
    if new.head.disputed or (old.head.disputed and not trusts):
        raise DiffersError("the specification leaves open what the operator gives")
    facts: dict[str, object] = {} if old.head.runs else {"repair": True}
    assumptions = frozenset[Assumption]()
    if old.head.disputed:
        facts["trusts"], assumptions = str(Trust.RUNTIME), frozenset({Trust.RUNTIME.assumption})
    rule = "scattered" if new.layers == old.layers else LOST_SIGN
    return Equal(rule, assumptions, facts), _arguments(pair)


def steps(pair: Pair) -> Found | None:
    """The same step does something to operands that are equal, and the padding is the same."""
    new, old = pair.new, pair.old
    if not isinstance(new.head, Stepped):
        return None
    if new.head != old.head:
        raise DiffersError("between the padding and the tensor other steps are computed")
    _check_layers(pair)
    return _LOST_SIGN, _arguments(pair)


def windows(pair: Pair) -> Found | None:
    """Windows over the same data read the same elements, under each engine."""
    new, old, facts = pair.new.head, pair.old.head, pair.facts
    assert isinstance(old, Slid)
    if not isinstance(new, Slid) or pair.new.layers != pair.old.layers:
        return None
    _check_same_window(new, old)
    if len(pair.new.args) != len(pair.old.args):
        raise DiffersError("the operator's other inputs differ")
    if pair.new.args[0] is not pair.old.args[0]:
        if old.form.has_indices:
            said = "the operator's Indices count positions of the tensor that it reads"
            raise DiffersError(said, Reason.INDICES_READ)
        raise DiffersError("the window slides over other data")
    data, form = pair.new.args[0], old.form
    sizes = facts.sizes(data, form.spatial, form.rank)
    dtype = facts.dtype(data) if form.compares else None
    found = facts.compared(old, new, sizes, dtype, pair.trust)
    assumptions: frozenset[Assumption] = frozenset()
    of_zeros = False
    if not found.same:
        assumptions, of_zeros = _check_loses(pair, found, sizes, dtype)
    else:
        # Where SAME would have to crop, onnxruntime runs a kernel that treats -inf otherwise.
        turned = form.compares and form.is_same != new.form.is_same and dtype in {None, *FLOATS}
        if turned and not all(each.stride <= each.extent for each in form.axes):
            facts.check_finite(data, old.layers)
            _check_finite_layers((*old.layers, *new.layers))
            assumptions = frozenset({Assumption.FINITE_DATA})
        # Padding of an average's own is in no sum, so one of -0.0 alone stays that.
        if form.window.own == EXCLUDED and old.layers != new.layers:
            of_zeros = _check_zeros(pair, facts.dtype(data), facts.bound(data))
    equal = found.equal
    if assumptions or of_zeros:
        rule = LOST_SIGN if of_zeros else equal.rule
        equal = replace(equal, rule=rule, assumptions=equal.assumptions | assumptions)
    return equal, _arguments(pair)


def copied(pair: Pair) -> Found | None:
    """Around the data of a maximum, a copy never wins where its original is read too.

    The `Pad` that copies is then one of values that never win. Where data holds NaN, kernels differ
    on the order of what they compare.
    """
    new, old, facts = pair.new.head, pair.old.head, pair.facts
    assert isinstance(old, Slid)
    if not isinstance(new, Slid):
        return None
    form, pad = old.form, pair.old.args[0]
    if not isinstance(pad.head, Copied) or len(pad.head.amounts) != form.rank:
        return None
    if not form.compares or pad.layers or any(crops(each.amounts) for each in old.layers):
        return None  # what is cropped may be an original
    reader, data = facts.reader, pad.args[0]
    layer = Layer(pad.head.amounts, LEAST)
    padded = reader.terms.padded(data, layer, *old.layers)
    bare = reader.slid(form, (padded, *pair.old.args[1:]), old.output)
    if bare.args[0] is not pair.new.args[0]:
        return None
    window = replace(old, layers=merged((layer, *old.layers)))
    sizes, dtype = facts.sizes(data, form.spatial, form.rank), facts.dtype(data)
    if not reads_originals(window, pad.head, sizes, dtype):
        raise DiffersError(
            f"it copies data ({pad.head.mode}), and a window may read a copy without its original",
            Reason.COPIES_DATA,
            mode=pad.head.mode,
        )
    found = windows(replace(pair, old=reader.terms.padded(bare, *pair.old.layers)))
    if found is None:
        return None
    equal, further = found
    if dtype in FLOATS:
        facts.check_finite(data)
        _check_zeros(pair, dtype, facts.bound(data))
        equal = replace(equal, assumptions=equal.assumptions | {Assumption.FINITE_DATA})
    return replace(equal, rule="copied"), further


RULES: Mapping[type, tuple[Rule, ...]] = {
    Spread: (scattered,),
    Stepped: (steps,),
    Slid: (copied, windows),
}
"""The rules in their order by what the original is; `congruent` and `layers` come first."""


def _arguments(pair: Pair) -> list[tuple[Term, Term]]:
    return [*zip(pair.new.args, pair.old.args, strict=True)]


def _check_layers(pair: Pair) -> None:
    """Raises unless the padding is the same, but for the signs of zeros that nothing can tell."""
    new, old = pair.new.layers, pair.old.layers
    if new == old:
        return
    if merged(without_sign(new)) != merged(without_sign(old)):
        raise _differing(new, old)
    if pair.at is None:
        raise DiffersError("the signs of zeros in the padding differ")
    pair.facts.check_sign_is_lost(pair.at)


def _differing(new: Layers, old: Layers) -> DiffersError:
    """Why layers differ: by what they fill in, or by amounts that crop."""
    now = {layer.fill for layer in new}
    fills = [each.fill for each in old if now and each.fill not in now]
    if fills:
        facts = {} if isinstance(fills[0], Operand) else {"value": number_of(fills[0])}
        return DiffersError("the padding has other values", Reason.FILL_DIFFERS, **facts)
    if any(crops(each.amounts) for each in (*new, *old)):
        return DiffersError("it pads where other elements were cropped", Reason.CROPS)
    return DiffersError("the amounts differ", Reason.NOT_CERTIFIED)


def _check_same_window(new: Slid, old: Slid) -> None:
    one, other = old.form, new.form
    was = old.output, one.kind, one.axes, one.others, one.has_indices
    if was != (new.output, other.kind, other.axes, other.others, other.has_indices):
        raise DiffersError("the window itself differs")
    if not other.empty <= one.empty:
        raise DiffersError(f"{', '.join(other.empty - one.empty)} became an empty list")
    if other.says_twice:
        raise DiffersError("auto_pad and pads are both there, and engines differ on that")


def _check_finite_layers(layers: Iterable[Layer]) -> None:
    if not all(each.fill == LEAST or is_finite(each.fill) for each in layers):
        raise DiffersError("the padding of the data is infinite", Reason.INFINITE_DATA)


def _check_zeros(pair: Pair, dtype: int | None, floor: float) -> bool:
    """Whether data that is not below a number may hold zeros; raises where their signs may tell."""
    if dtype not in {None, *FLOATS} or floor > 0:
        return False
    tensor = pair.at
    if teller := "something" if tensor is None else telling(pair.facts.analysis, tensor):
        said = f"{teller} downstream may tell 0.0 from -0.0"
        raise DiffersError(said, Reason.FILL_WINS, value=0)
    return True


def _check_loses(
    pair: Pair, found: Comparison, sizes: Sizes, dtype: int | None
) -> tuple[frozenset[Assumption], bool]:
    """The assumptions under which different fills lose in a maximum, and whether signs are lost.

    Padding that both windows share counts as data.
    """
    new, old, data = pair.new.head, pair.old.head, pair.new.args[0]
    assert isinstance(new, Slid)
    assert isinstance(old, Slid)
    pair.facts.check_finite(data, [layer for layer in old.layers if layer in new.layers])
    kept: Layers = ()
    for layer, other in zip(old.layers, new.layers, strict=False):
        if layer != other or isinstance(layer.fill, str | Operand) or not is_finite(layer.fill):
            break
        kept = (*kept, layer)
    floor = min([pair.facts.bound(data), *(_least_of(each.fill) for each in kept)])
    most = max(floor, _least_number(dtype))

    def without(layer: Layer) -> Layer:
        if dtype is None or isinstance(layer.fill, str | Operand):
            return layer
        return replace(layer, fill=LEAST) if layer.fill <= most else layer

    assumptions: frozenset[Assumption] = frozenset()
    sides = [side.layers for each in found.each for side in (each.first, each.second)]
    for each in found.each:
        if not each.differs:
            continue
        lost = [merged(map(without, side.layers)) for side in (each.first, each.second)]
        if lost[0] != lost[1]:
            raise _winning(each.first.layers)
        _check_finite_layers(lost[0])
        if (axis := blind_axis(old, kept, sizes, each)) is not None:
            said = f"on axis {axis} a window may lie wholly in the padding"
            raise DiffersError(said, Reason.WINDOW_IN_PADDING, axis=axis)
        if dtype in FLOATS:
            assumptions = frozenset({Assumption.FINITE_DATA})
    of_zeros = any(layer.fill == 0 for side in sides for layer in side)
    if of_zeros or assumptions:
        of_zeros = _check_zeros(pair, dtype, floor) and of_zeros
    return assumptions, of_zeros


def _least_number(dtype: int | None) -> float:
    """A number that is above no element of a type but infinities; -inf where that is unknown."""
    if dtype in {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE}:
        return float(np.finfo(tensor_dtype_to_np_dtype(dtype)).min)
    found = None if dtype is None else lowest(dtype)
    return -math.inf if found is None else found


def _winning(layers: Layers) -> DiffersError:
    """Why different fills of the original may win in a maximum."""
    fills = [layer.fill for layer in layers if layer.fill != LEAST]
    value = number_of(fills[0]) if fills else None
    said = f"padding of {value} can win in a maximum whose data may be below that"
    return DiffersError(said, Reason.FILL_WINS, value=value)


def _comparison(*pair: Any) -> Comparison | DiffersError:
    try:
        return compare(*pair)
    except DiffersError as error:
        return error.with_traceback(None)


class Facts:
    """Facts about terms of one graph, at the sizes that its analysis admits."""

    def __init__(self, graph: Graph, analysis: Analysis, reader: Reader) -> None:
        """Asks the graph as it is at each call."""
        self.graph = graph
        self.reader = reader
        self.analysis = analysis
        self._compared = cache(_comparison)  # networks repeat the same few windows

    def compared(
        self, old: Slid, new: Slid, sizes: Sizes, dtype: int | None, trust: Trust | None
    ) -> Comparison:
        """As `windows.compare`, once for each pair, whether it is the same or refused."""
        found = self._compared(old, new, sizes, dtype, trust)
        if isinstance(found, DiffersError):
            raise found
        return found

    def around(self, data: Term) -> tuple[Tensor, Layers]:
        """As `Reader.around`, where there is one: else nothing is known."""
        held = self.reader.around(data)
        if held is None:
            raise DiffersError("nothing is known about the data")
        return held

    def sizes(self, data: Term, axes: range, rank: int) -> tuple[Extent, ...]:
        """The sizes of data on some axes; symbols where they are unknown until run time."""
        tensor, padding = self.around(data)
        shape = self.analysis.shape(tensor)
        if shape is not None and len(shape) != rank:
            raise DiffersError(f"the data has {len(shape)} axes, the window {rank}")
        if shape is None:
            shape = (Unknown("run time alone knows"),) * rank
        found = [*shape[axes.start : axes.stop]]
        if padding != data.layers:
            more = [around(data.layers, axis) - around(padding, axis) for axis in axes]
            found = [size + each for size, each in zip(found, more, strict=True)]
        for place, size in enumerate(found if Unknown in map(type, found) else ()):
            if isinstance(size, Unknown):
                name = self.graph.unique(tensor.name)
                least = 0 if data.layers else least_size(self.graph, tensor)
                found[place] = symbol(f"{name}[{place}]", Range(least))
        return tuple(found)

    def dtype(self, data: Term) -> int | None:
        """The element type of data; None where it is unknown."""
        return self.analysis.dtype(self.around(data)[0])

    def bound(self, data: Term) -> float:
        """A number that no element of data is below."""
        tensor, padding = self.around(data)
        if padding == data.layers:
            return self.analysis.bound(tensor)
        if any(crops(each.amounts) for each in padding):
            return -math.inf
        fills = [_least_of(layer.fill) for layer in data.layers]
        return min([self.analysis.bound(tensor), *fills])

    def check_finite(self, data: Term, around: Sequence[Layer] = ()) -> None:
        """Raises where data certainly holds infinities or NaN, or nothing is known about it.

        So do values around it that an operand holds.
        """
        _check_finite_layers(data.layers)
        fills = [layer.fill for layer in (*data.layers, *around)]
        operands = [fill for fill in fills if isinstance(fill, Operand)]
        for operand in operands:
            if isinstance(operand.of, Term):
                self.check_finite(operand.of)
        tensor, padding = self.around(data if operands else data.bare)
        if all(is_finite(layer.fill) for layer in padding):
            if (origin := infinite(self.analysis, tensor)) is not None:
                names = {"tensor": tensor.name, "origin": origin.name}
                said = f"{tensor.name!r} holds infinities, from {origin.name!r}"
                raise DiffersError(said, Reason.INFINITE_DATA, **names)
        elif isinstance(data.head, Stepped):
            for each in data.args:
                self.check_finite(each.bare)
        else:
            raise DiffersError("nothing is known about the data")

    def check_sign_is_lost(self, tensor: Tensor) -> None:
        """Raises unless each reader of a tensor adds it to 0.0, so that no sign of a zero shows."""
        graph = self.graph
        if graph.is_output(tensor) or not all(map(self._loses_sign, graph.uses(tensor))):
            said = f"the sign of zeros in {tensor.name!r} differs"
            raise DiffersError(said, Reason.FILL_DIFFERS, value=0.0)

    def _loses_sign(self, use: Use) -> bool:
        row = row_of(self.graph, use.node) if use.index == 0 else None
        return row is not None and row.window is not None and row.window.loses_signs


def least_size(graph: Graph, tensor: Tensor) -> int:
    """The least size that a spatial axis of a tensor may have: 1 or, where it is computed, 0.

    The axes of the main graph's inputs have elements. Runtimes refuse a convolution without window.
    """

    def kept(node: Node) -> Sequence[Tensor]:
        return node.inputs[:1] if node.op in KEEPING and graph.is_standard(node) else ()

    graph, tensor = graph.home(tensor)
    *_, first = upstream([tensor], kept)
    if first is not None and first.name in graph.inputs:
        return int(graph.is_main)  # what is passed to a body or function is computed
    node = None if first is None else first.producer
    row = None if node is None or first is not node.outputs[0] else padding_row(graph, node)
    return int(row is not None and row.window is not None and row.window.rounding == "floor")


def _least_of(fill: Fill) -> float:
    """A number that a fill is not below; -inf for -0.0 and what is no number."""
    return -math.inf if isinstance(fill, str | Operand) else fill
