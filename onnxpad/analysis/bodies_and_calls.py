"""Facts about the inputs of bodies and functions, and about the outputs of nodes with these.

No runtime enforces the types and shapes that a body declares for its inputs. So these follow from
the nodes that run it: a Scan hands over slices, and what a Loop carries from one iteration to the
next has a type or a size only if every iteration keeps it. A function's inputs have what all calls
agree on. Each is analysed once for each distinct set of facts about what it reads, however many
nodes lead there, and up to a limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from onnxpad.analysis.rule_api import Ask, Kind
from onnxpad.analysis.value import BOOL, INTEGERS, Shape, Value
from onnxpad.arithmetic.size import Extent, Size, Unknown
from onnxpad.errors import ModelError
from onnxpad.graph import Graph, Node, Tensor

if TYPE_CHECKING:
    from onnxpad.declared import Row

WITH_BODIES: Final = frozenset({"If", "Loop", "Scan", "SequenceMap"})
"""Operators of ONNX whose bodies compute with what the node passes and what they capture."""

MOST_NODES: Final = 100_000
"""Most nodes of bodies and functions that are analysed in a small model, repeated ones counted."""

_PER_NODE: Final = 20
"""By how much that grows with each node of a body or function."""

_ROUNDS: Final = 32
_SCAN_WITHOUT_BATCH: Final = 9
"""Before this opset a Scan runs for each element of a batch, and its body has one axis less."""


class PassedFacts(Struct, frozen=True):
    """Facts about an input or a result of a body or function.

    Attributes:
        dtype: Its element type; None where unknown.
        shape: The sizes of its axes; None where its rank is unknown.
        value: Its content where that is small and known; of inputs of functions only.
    """

    dtype: int | None = None
    shape: Shape | None = None
    value: Value | None = None


NOTHING: Final = PassedFacts()


class Answers(Protocol):
    """The answers that an `Analysis` gives."""

    declared: set[Row]

    def dtype(self, tensor: Any) -> int | None:
        """The element type of a tensor."""

    def shape(self, tensor: Any) -> Shape | None:
        """The sizes of its axes."""

    def value(self, tensor: Any) -> Value | None:
        """Its content."""

    def answered(self, rule: Ask[Any]) -> Any:
        """The answer that a rule works out."""

    def of_body(self, body: Graph, input_facts: Mapping[str, PassedFacts]) -> Answers:
        """An analysis of a body."""

    def of_function(self, function: Graph, input_facts: Mapping[str, PassedFacts]) -> Answers:
        """An analysis of a function."""


class Inside:
    """Results of the bodies and functions of one model, as far as they were asked for.

    Attributes:
        left: The places of those that were left alone, since the limit was reached, each with its
            node: that with the body, or one that stands for the function.
    """

    def __init__(self) -> None:
        """Starts with nothing known."""
        self.left: dict[str, Node] = {}
        self._found: dict[object, tuple[list[PassedFacts], frozenset[Row]]] = {}
        self._open: list[object] = []
        self._at = (0, 0)
        self._opened: dict[int, int] = {}
        self._nodes = 0

    @staticmethod
    def of(graph: Graph) -> Inside:
        """The results that are known of the model of a graph."""
        notes = graph.model.notes
        if Inside not in notes:
            notes[Inside] = Inside()
        found: Inside = notes[Inside]
        return found

    def known(self, key: object) -> tuple[list[PassedFacts], frozenset[Row]] | None:
        """Results that were found before, and the declarations they rest on."""
        return self._found.get(key)

    def refresh(self, graph: Graph) -> None:
        """Forgets what edits may have made known since, and all if edits were undone."""
        journal = graph.model.journal
        undone, edits = self._at
        if undone != journal.undone:
            self._found.clear()
            self._open.clear()
        elif edits != journal.inner:
            for key in self._open:
                self._found.pop(key, None)
            self._open.clear()
        self._at = journal.undone, journal.inner

    def begins(self, key: object, graph: Graph) -> bool:
        """Whether a graph may be analysed for a new set of facts; until it is, none are known."""
        if graph.offset not in self._opened:
            self._opened[graph.offset] = sum(1 for _ in graph.nodes)
        nodes = self._opened[graph.offset]
        if self._nodes + nodes > MOST_NODES + _PER_NODE * sum(self._opened.values()):
            self.left[graph.place] = graph.owner or Node("function", graph.place, {}, None)
            return False
        self._nodes += nodes
        self._found[key] = [], frozenset()
        return True

    def ends(self, key: object, found: list[PassedFacts], declared: frozenset[Row]) -> None:
        """Keeps the results of an analysis."""
        self._found[key] = found, declared
        if any(each.shape is None or Unknown in map(type, each.shape) for each in found):
            self._open.append(key)


class _Iterated(Struct, frozen=True):
    """The values that a Loop or Scan carries, and its body for any iteration.

    Attributes:
        input_facts: What is known of the inputs of the body in every iteration.
        states: The names of the inputs that are carried.
        stacked: What is known of the results that are stacked.
    """

    input_facts: dict[str, PassedFacts]
    states: Sequence[str]
    stacked: Sequence[PassedFacts]


def passed_to_body(body: Graph, outer: Answers) -> dict[str, PassedFacts]:
    """Facts about the inputs of a body, by name, from the node that has it.

    Args:
        body: The body.
        outer: The analysis of the graph around it.
    """
    found = outer.answered(_iterated(body, outer))
    return {} if found is None else found.input_facts


def _iterated(body: Graph, outer: Answers) -> Ask[_Iterated | None]:
    """The values that a Loop or Scan passes to its body; None elsewhere, and if it is malformed."""
    yield from ()
    node, around = body.owner, body.parent
    if node is None or around is None or not around.is_standard(node) or around.refers(node):
        return None
    names = list(body.inputs)
    if len(node.inputs) != len(names):
        return None
    if node.op == "Loop" and len(names) >= 2:
        # The iteration number and the condition come first, and the condition of the next one.
        return (yield from _carried(body, outer, names[2:], node.inputs[2:], 1, {}))
    if node.op != "Scan" or around.opset < _SCAN_WITHOUT_BATCH:
        return None
    count = node.attrs.get("num_scan_inputs")
    if not isinstance(count, int) or not 0 <= count <= len(names):
        return None
    states = len(names) - count
    axes = node.attrs.get("scan_input_axes", [0] * count)
    slices = {}
    for place, (name, tensor) in enumerate(zip(names[states:], node.inputs[states:], strict=True)):
        axis = axes[place] if isinstance(axes, list) and place < len(axes) else None
        slices[name] = PassedFacts(outer.dtype(tensor), _without(outer.shape(tensor), axis))
    states_passed = names[:states], node.inputs[:states]
    return (yield from _carried(body, outer, *states_passed, 0, slices))


def _without(shape: Shape | None, axis: object) -> Shape | None:
    """A shape without one axis; None where it is unknown or has no such axis."""
    if shape is None or not isinstance(axis, int) or not -len(shape) <= axis < len(shape):
        return None
    axis %= len(shape)
    return (*shape[:axis], *shape[axis + 1 :])


def _carried(
    body: Graph,
    outer: Answers,
    names: Sequence[str],
    initial: Sequence[Tensor],
    first: int,
    others: Mapping[str, PassedFacts],
) -> Ask[_Iterated | None]:
    """Facts that hold in every iteration about values that one iteration hands to the next.

    What holds for the initial values is assumed. As far as it does not hold for the results of the
    body too, it is dropped, until the rest holds for all iterations by induction.

    Args:
        body: The body.
        outer: The analysis of the graph around it.
        names: Their names in the body.
        initial: Their initial values, in the graph around.
        first: The first result of the body that it computes for the next iteration; those that are
            stacked come after them.
        others: What is known of other inputs.
    """
    last = first + len(names)
    if len(body.results) < last:
        return None
    assumed = [
        PassedFacts(outer.dtype(tensor), outer.shape(tensor)) if tensor.name else NOTHING
        for tensor in initial
    ]
    for _ in range(_ROUNDS):
        input_facts = {**others, **dict(zip(names, assumed, strict=True))}
        found = yield from _results(body, outer, input_facts)
        kept = [common(one, other) for one, other in zip(assumed, found[first:last], strict=True)]
        if all(map(_says_as_much, kept, assumed)):
            return _Iterated(input_facts, names, found[last:])
        assumed = kept
    return None


def _results(
    graph: Graph, outer: Answers, input_facts: Mapping[str, PassedFacts]
) -> Ask[list[PassedFacts]]:
    """Facts about the results of a body or function; nothing is known of one that is left alone.

    Args:
        graph: The body or function.
        outer: The analysis of the graph around it, or of one that calls it.
        input_facts: What is known of its inputs.
    """
    read = list(input_facts.values())
    for tensor in graph.captured():
        dtype: int | None = yield (outer, Kind.DTYPE), tensor.outer
        shape: Shape | None = yield (outer, Kind.SHAPE), tensor.outer
        value: Value | None = yield (outer, Kind.VALUE), tensor.outer
        read.append(PassedFacts(dtype, shape, value))
    key = (graph.offset, *_distinct(read))
    inside = Inside.of(graph)
    inside.refresh(graph)
    known = inside.known(key)
    if known is None:
        if not inside.begins(key, graph):
            return [NOTHING] * len(graph.results)
        analysis = (outer.of_body if graph.parent else outer.of_function)(graph, input_facts)
        found = []
        for tensor in map(graph.tensor, graph.results):
            dtype = yield (analysis, Kind.DTYPE), tensor
            shape = yield (analysis, Kind.SHAPE), tensor
            found.append(PassedFacts(dtype, shape))
        known = found, frozenset(analysis.declared)
        inside.ends(key, *known)
    found, declared = known
    if graph.parent:
        outer.declared |= declared
    return [_anew(each) for each in found] or [NOTHING] * len(graph.results)


def _distinct(facts: Iterable[PassedFacts]) -> Iterable[object]:
    """Facts as a key: no analysis can tell two sets with equal keys apart."""
    unknown: dict[int, int] = {}

    def one(item: object) -> object:
        if isinstance(item, Unknown):
            return unknown.setdefault(id(item), len(unknown)), item.reason
        return item if isinstance(item, int | Size) else (item, repr(item))

    for each in facts:
        shape = None if each.shape is None else tuple(map(one, each.shape))
        value = each.value
        if value is None:
            yield each.dtype, shape, None
            continue
        try:
            whole = value.dtype in INTEGERS or value.dtype == BOOL
            content: object = value.data.astype(np.int64 if whole else np.float64).tobytes()
        except (TypeError, ValueError, OverflowError):
            content = tuple(map(one, value.data.flat))
        yield each.dtype, shape, (value.dtype, value.data.shape, content)


def _anew(passed: PassedFacts) -> PassedFacts:
    """The same facts of another tensor, whose unknown sizes are others."""
    if passed.shape is None or Unknown not in map(type, passed.shape):
        return passed
    sizes = (
        Unknown(n.reason, n.is_disputed) if isinstance(n, Unknown) else n for n in passed.shape
    )
    return replace(passed, shape=tuple(sizes))


def passed_to_function(
    function: Graph, calls: Sequence[tuple[Node, Answers]]
) -> dict[str, PassedFacts]:
    """Facts about the inputs of a function, by name, that hold for all calls; none without a call.

    Args:
        function: The function.
        calls: Every node of the model that calls it, with the analysis of its graph.
    """
    found: dict[str, PassedFacts] = {}
    for place, name in enumerate(function.inputs):
        each = [_passed(node, place, analysis) for node, analysis in calls]
        agreed = each[0] if each else NOTHING
        for other in each[1:]:
            agreed = common(agreed, other)
        found[name] = agreed
    return found


def _passed(node: Node, place: int, analysis: Answers) -> PassedFacts:
    """Facts about an input that a call passes."""
    if place >= len(node.inputs) or not node.inputs[place].name:
        return NOTHING
    tensor = node.inputs[place]
    return PassedFacts(analysis.dtype(tensor), analysis.shape(tensor), analysis.value(tensor))


def computed_by(graph: Graph, analysis: Answers, node: Node) -> Ask[list[PassedFacts]]:
    """Facts about the outputs of a node with bodies, or of one that calls a function.

    Fewer than there are outputs, where nothing is known of the rest. What the node reads must have
    been asked for before.
    """
    try:
        return (yield from _computed_by(graph, analysis, node))
    except ModelError:
        return []  # a body or the function is malformed


def _computed_by(graph: Graph, analysis: Answers, node: Node) -> Ask[list[PassedFacts]]:
    if graph.is_function(node):
        function = graph.called(node)
        if function is None:
            return []
        input_facts = passed_to_function(function, [(node, analysis)])
        return (yield from _results(function, analysis, input_facts))
    if not graph.is_standard(node) or graph.refers(node):
        return []
    found = list(graph.bodies(node)) if node.op in WITH_BODIES else []
    if node.op == "If" and len(found) == 2:
        first = yield from _results(found[0], analysis, {})
        second = yield from _results(found[1], analysis, {})
        return list(map(common, first, second))
    if node.op in {"Loop", "Scan"} and len(found) == 1:
        return (yield from _stacked(node, found[0], analysis))
    return []


def _stacked(node: Node, body: Graph, analysis: Answers) -> Ask[list[PassedFacts]]:
    """The final values of a Loop or Scan, then the results of all iterations, stacked."""
    known = yield from _iterated(body, analysis)
    if known is None:
        return []
    found = [known.input_facts[name] for name in known.states]
    axes: Any = node.attrs.get("scan_output_axes", [0] * len(known.stacked))
    if not isinstance(axes, list) or any(axis != 0 for axis in axes):
        return found
    for each in known.stacked:
        count = Unknown("it is the number of iterations")
        shape = None if each.shape is None else (count, *each.shape)
        found.append(PassedFacts(each.dtype, shape))
    return found


def common(one: PassedFacts, other: PassedFacts) -> PassedFacts:
    """The facts that hold for both."""
    shape = None
    if one.shape is not None and other.shape is not None and len(one.shape) == len(other.shape):
        shape = tuple(map(_common_size, one.shape, other.shape))
    value = one.value if _is_same(one.value, other.value) else None
    return PassedFacts(one.dtype if one.dtype == other.dtype else None, shape, value)


def _is_same(one: Value | None, other: Value | None) -> bool:
    """Whether two contents are known to be the same; 0.0 and -0.0 are not."""
    if one is None or other is None:
        return False
    if one.dtype != other.dtype or one.data.shape != other.data.shape:
        return False
    pairs = zip(one.data.flat, other.data.flat, strict=True)
    return all(
        isinstance(a, int | Size | float) and type(a) is type(b) and a == b and repr(a) == repr(b)
        for a, b in pairs
    )


def _common_size(one: Extent, other: Extent) -> Extent:
    return one if isinstance(one, int | Size) and one == other else Unknown("it varies")


def _says_as_much(less: PassedFacts, more: PassedFacts) -> bool:
    """Whether what was kept of a fact is all of it."""
    if less.dtype != more.dtype or (less.shape is None) != (more.shape is None):
        return False
    return all(
        isinstance(one, Unknown) == isinstance(other, Unknown)
        for one, other in zip(less.shape or (), more.shape or (), strict=True)
    )
