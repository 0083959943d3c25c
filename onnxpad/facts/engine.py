"""Shape inference and constant folding on demand, with symbolic sizes.

Every answer follows from graph inputs, initializers and operators alone: declared shapes of
tensors in between are never read. Answers hold for the sizes at which every operator upstream runs:
where an operator runs only if two sizes are equal, either stands for both.

No runtime enforces the types and shapes that a body declares for its inputs. So what a Loop carries
from one iteration to the next has a type or a size only if every iteration keeps it, and what other
operators hand over is unknown. A function's inputs have what all calls agree on. Each is analysed
once for each distinct set of facts about what it reads, however many nodes lead there, and up to a
limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, reduce
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace
from onnx.helper import get_all_tensor_dtypes

from onnxpad.arithmetic.size import Extent, Sizes, Unknown, symbol
from onnxpad.errors import ModelError
from onnxpad.facts.shape_rules import (
    BOUND,
    CONSTANT_LIMIT,
    DTYPE,
    DTYPES,
    INT64,
    KINDS,
    LIMIT,
    NONE,
    NOTHING,
    SEVERAL,
    SHAPE,
    SHAPES,
    VALUE,
    Bound,
    Call,
    NeededError,
    PassedFacts,
    Shape,
    ShapeRule,
    Value,
    constant_elements,
    is_constant,
    known,
    of_row,
    rule_name,
)
from onnxpad.graph import Declared, Graph, Node, Tensor
from onnxpad.graph.graph import row_declared
from onnxpad.semantics.rows import INTEGERS, UnreadError
from onnxpad.semantics.window import declared_row

if TYPE_CHECKING:
    from onnxpad.declared import Row

LARGEST_SIZE = 2**24 - 2**16
"""The greatest size of an open axis, unless `dims` says otherwise.

Exporters compute pads in float32, which holds every integer up to 2^24, and in int32. The
difference of 2^16 leaves room for what a receptive field adds to a size.
"""

OPEN_SIZES = Sizes(last=LARGEST_SIZE)
"""The sizes of an open axis, unless `dims` says otherwise."""

_LARGEST = INTEGERS[INT64][1]

_DTYPES = frozenset(get_all_tensor_dtypes())
"""The element types that the installed onnx knows."""


class OpenAxis(Struct, frozen=True):
    """An axis of a graph input whose size the graph leaves open.

    `label` is the name of its dimension, or `input[axis]`, `symbol` the same made unique.
    """

    tensor: str
    axis: int
    label: str
    symbol: str


_Question: TypeAlias = tuple["Analysis", int, Any]


class Analysis:
    """Shapes, element types and small contents of one graph's tensors: computed lazily, cached.

    Answers follow the edits of the graph by themselves: those given since edits that were undone
    are worked out anew, and, once a round of passes is over, those that left something open.

    `outer` is the analysis of the graph around a body, `declared` what users declared of operators
    whose shapes were asked for.
    """

    def __init__(
        self,
        graph: Graph,
        dims: Mapping[str, Extent] | None = None,
        outer: Analysis | None = None,
        input_facts: Mapping[str, PassedFacts] = MappingProxyType({}),
    ) -> None:
        """Analyse a graph, of which edits must not change the shape or content of a tensor.

        `dims` are sizes of inputs' axes by symbol, `input_facts` what is known of inputs otherwise.
        """
        self.graph = graph
        self._dims = dict(dims or {})
        self.outer = outer
        self.declared: set[Row] = set() if outer is None else outer.declared
        self._input_facts = input_facts
        self._known: list[dict[Any, Any]] = [{} for _ in KINDS]
        self._shapes = self._known[SHAPE]
        self._edits = graph.model.journal
        self._count = self._settled = self._undone = 0
        self._marks: list[tuple[int, ...]] = []
        self._asked: list[_Question] = graph.model.notes.setdefault(Analysis, [])

    def shape(self, tensor: Any) -> Shape | None:
        """Return the sizes of a tensor's axes, by `open_axes`; None where its rank is unknown."""
        # A short way for the most frequent question.
        shape: Shape | None = self._shapes.get(tensor) if self._count == self._edits.count else None
        return self._answer(SHAPE, tensor) if shape is None else shape

    def given_shape(self, tensor: Any) -> Shape | None:
        """As `shape`, worked out anew by what the tensor's node says now."""
        try:
            return self._shape(tensor)
        except (UnreadError, ValueError, IndexError):
            return None

    def value(self, tensor: Any) -> Value | None:
        """Return the content of a small tensor; None where it is not evaluated at all."""
        value: Value | None = self._answer(VALUE, tensor)
        return value

    def integers(self, tensor: Any) -> tuple[Extent, ...] | None:
        """Return the content of a small tensor, flat; None where unknown or not of integers."""
        value = self.value(tensor)
        return value.flat if value is not None and value.dtype in INTEGERS else None

    def scalar(self, tensor: Any) -> float | int | None:
        """Return the one element of a tensor; None where unknown, or unless there is just one."""
        value = self.value(tensor)
        is_one = value is not None and len(value.flat) == 1 and is_constant(value)
        return value.flat[0] if value is not None and is_one else None

    def dtype(self, tensor: Any) -> int | None:
        """Return a tensor's element type, a number of ONNX's `TensorProto.DataType`."""
        dtype: int | None = self._answer(DTYPE, tensor)
        return dtype

    def bound(self, tensor: Any) -> Bound:
        """Return a number that no element of a tensor is below; -inf where none is known."""
        bound: Bound | None = self._answer(BOUND, tensor)
        return NONE if bound is None else bound

    def _answer(self, kind: int, tensor: Any) -> Any:
        """Answer a question, and before it all that the answer depends on, with a stack.

        A question counts as unanswerable until it is answered, so cycles end. So does one about
        operands that do not fit, and about what is malformed in another graph; in this one, that
        is raised once.
        """
        if self._count != self._edits.count:
            self._follow()
        memory, asked = self._known[kind], self._asked
        if tensor in memory:
            return memory[tensor]
        if asked:
            raise NeededError(self, kind, tensor)
        malformed: ModelError | None = None
        self._ask(self, kind, tensor)
        try:
            while asked:
                there, wanted, at = asked[-1]
                try:
                    there._known[wanted][at] = there._found(wanted, at)
                except (UnreadError, ValueError, IndexError):
                    pass  # it stays unknown
                except ModelError as error:
                    malformed = error if there is self else malformed
                except NeededError as needed:
                    self._ask(*needed.args)
                    continue
                asked.pop()
        finally:
            asked.clear()
        if malformed is not None:
            raise malformed
        return memory[tensor]

    def _ask(self, there: Analysis, kind: int, tensor: Any) -> None:
        """Put a question; after one about a shape, what its rule is likely to ask first."""
        memory, asked = there._known[kind], self._asked
        while tensor not in memory:
            memory[tensor] = None
            asked.append((there, kind, tensor))
            node = tensor.producer
            if kind != SHAPE or node is None or not node.inputs:
                break
            tensor = node.inputs[0]

    def _follow(self) -> None:
        """Forget answers that rest on undone edits, or that other edits may have made known.

        Each mark has a number of edits, and how many answers there were before the last of them.
        """
        journal, marks, known = self._edits, self._marks, self._known
        at = journal.mark()
        if undone := journal.undone[self._undone :]:
            lengths = [*map(len, known)]
            while marks and marks[-1][0] > min(undone):
                _, *lengths = marks.pop()
            for memory, length in zip(known, lengths, strict=True):
                while len(memory) > length:
                    memory.popitem()
        if journal.settled != self._settled:
            for memory in known:
                for tensor in [each for each, found in memory.items() if _is_open(found)]:
                    del memory[tensor]
            marks[:] = [(at, *[0] * len(known))]
        elif not marks or at > marks[-1][0]:
            marks.append((at, *map(len, known)))
        self._count, self._settled = journal.count, journal.settled
        self._undone = len(journal.undone)

    def _found(self, kind: int, tensor: Any) -> Any:
        if self.outer is not None and tensor.outer is not None:
            return self.outer._answer(kind, tensor.outer)
        return (self._dtype, self._shape, self._value, self._bound)[kind](tensor)

    def _shape(self, tensor: Any) -> Shape | None:
        call = self._call(tensor)
        if call is None:
            if tensor.name in self._input_shapes:
                return self._input_shapes[tensor.name]
            _, declared = self.graph.declared(tensor) or (0, None)
            return None if declared is None else known(declared)
        rule = self._shape_rule(call)
        if rule is None:
            return self._computed(call).shape
        shape = rule(call)
        for extent in shape:
            if isinstance(extent, int) and not 0 <= extent <= _LARGEST:
                raise UnreadError(f"{call.op} gives an impossible size")
        return shape

    def _shape_rule(self, call: Call) -> ShapeRule | None:
        rule = SHAPES.get(call.op)
        if call.output and call.op not in SEVERAL:
            return None
        if rule is not None or not call.op:
            return rule
        own = row_declared(self.graph, call.node)
        if own is None:
            return None
        self.declared.add(own)
        return of_row(declared_row(own))

    def _dtype(self, tensor: Any) -> int | None:
        found: int | None
        call = self._call(tensor)
        if call is None:
            found, _ = self.graph.declared(tensor) or (0, None)
            if found == 0:
                found = self._input_facts.get(tensor.name, NOTHING).dtype
        elif self._shape_rule(call) is None:
            found = self._computed(call).dtype
        else:
            rule = DTYPES.get(call.node.op)
            found = call.element_type(0) if rule is None else rule(call)
        return found if found in _DTYPES else None

    def _value(self, tensor: Any) -> Value | None:
        call = self._call(tensor)
        if call is None:
            return self._constant_value(tensor)
        from onnxpad.facts.contents import VALUES  # few models compute any

        # Shape and type come first, so that no rule makes a large array or works out its own shape.
        rule = VALUES.get(call.op)
        shape = None if rule is None else self.shape(tensor)
        dtype = None if shape is None else self.dtype(tensor)
        if rule is None or shape is None or dtype is None or math.prod(known(shape)) > LIMIT:
            return None
        call.sizes, call.kind = known(shape), dtype
        data = rule(call)
        return Value(dtype, data) if data.shape == call.sizes else None

    def _bound(self, tensor: Any) -> Bound:
        from onnxpad.facts.bounds import bound_of, least_element

        array = self.graph.constant(tensor)
        if array is not None:
            return least_element(array)
        return bound_of(self._call(tensor), self.dtype(tensor))

    def _computed(self, call: Call) -> PassedFacts:
        """Return what is known of an output of a node with bodies, or of a call of a function."""
        is_there = self.graph.runs_graphs(call.node)
        found = _computed_by(self, call.node) if is_there else []
        return found[call.output] if call.output < len(found) else NOTHING

    def _call(self, tensor: Any) -> Call | None:
        """Return the operator that computes a tensor; None where no node but a Constant does."""
        node = tensor.producer
        if node is None or node.op == "Constant":
            return None
        call = Call(self.graph, self, node)
        if tensor is not node.outputs[0]:
            call.output = node.outputs.index(tensor)
        return call

    @cached_property
    def _input_shapes(self) -> dict[str, Shape | None]:
        """The shapes of the graph's inputs, with a symbol for each axis left open."""
        shapes: dict[str, Any] = {
            tensor: None if shape is None else list(shape)
            for tensor, (_, shape) in self.graph.inputs.items()
        }
        for each in open_axes(self.graph.inputs):
            size = self._dims.get(each.symbol)
            size = symbol(each.symbol, OPEN_SIZES) if size is None else size
            shapes[each.tensor][each.axis] = size
        found = {name: None if shape is None else tuple(shape) for name, shape in shapes.items()}
        passed = self._input_facts
        return found | {name: passed[name].shape for name in shapes if name in passed}

    def _constant_value(self, tensor: Any) -> Value | None:
        passed = self._input_facts.get(tensor.name)
        if passed is not None and passed.value is not None:
            return passed.value
        dtype, shape = self.graph.declared(tensor) or (0, None)
        if shape is None or math.prod(known(shape)) > CONSTANT_LIMIT:
            return None
        array = self.graph.constant(tensor)
        data = None if array is None else constant_elements(array, dtype)
        return None if data is None else Value(dtype, data)


def open_axes(inputs: Mapping[str, Declared]) -> Iterator[OpenAxis]:
    """Yields the open axes of inputs, in order.

    A named dimension has a symbol of that name, an unnamed one `input[axis]`. Axes that share a
    name get symbols of their own, `name (input[axis])`: no runtime checks that they are equal.
    """
    taken: set[str] = set()
    for tensor, (_, declared) in inputs.items():
        for axis, dimension in enumerate(declared or ()):
            if isinstance(dimension, int):
                continue
            place = f"{tensor}[{axis}]"
            name = label = dimension or place
            while name in taken:
                name = f"{name} ({place})"
            taken.add(name)
            yield OpenAxis(tensor, axis, label, name)


KNOWN = frozenset({"If", "Loop"})
"""Operators with bodies of which it is known what they pass."""

MOST_NODES = 100_000
"""About how many nodes of bodies and functions are analysed, repeated ones counted."""


def _results(graph: Graph, outer: Analysis, passed: Mapping[str, PassedFacts]) -> list[PassedFacts]:
    """Facts about the results of a body or function; none where the limit was reached."""
    # What a body captures is known by the analysis around it, which `begun` keeps alive.
    key = graph.offset, id(outer) if graph.parent else 0, *map(_key, passed.values())
    begun: dict[object, Analysis] = graph.model.notes.setdefault(_results, {})
    if key not in begun:
        if len(begun) * sum(1 for _ in graph.nodes) > MOST_NODES:
            return [NOTHING] * len(graph.results)
        around = outer if graph.parent else None
        begun[key] = Analysis(graph, outer=around, input_facts=passed)
    inner = begun[key]
    found = [replace(_facts(inner, graph.tensor(each)), value=None) for each in graph.results]
    if graph.parent:
        outer.declared |= inner.declared
    return list(map(common, found, found))  # whose unknown sizes are others


def _key(facts: PassedFacts) -> object:
    """Facts as a key: no analysis can tell two with equal keys apart; None is an unknown size."""
    sizes = None if facts.shape is None else tuple(map(_told, facts.shape))
    return facts.dtype, sizes, facts.value and (facts.value.data.shape, repr(facts.value.flat))


def _told(size: Extent) -> Extent | None:
    return None if isinstance(size, Unknown) else size


def passed_to_function(
    function: Graph, calls: Sequence[tuple[Node, Analysis]]
) -> dict[str, PassedFacts]:
    """Facts about a function's inputs, by name, that hold for all calls; none without a call."""
    found: dict[str, PassedFacts] = {}
    for place, name in enumerate(function.inputs):
        each = [_facts(analysis, node.operand(place)) for node, analysis in calls]
        found[name] = reduce(common, each) if each else NOTHING
    return found


def _facts(analysis: Analysis, tensor: Tensor | None) -> PassedFacts:
    """What is passed on of a tensor; nothing of one that is left out."""
    if tensor is None:
        return NOTHING
    value = analysis.value(tensor)
    constant = value if is_constant(value) else None
    return PassedFacts(analysis.dtype(tensor), analysis.shape(tensor), constant)


def passed_to_body(body: Graph, outer: Analysis) -> dict[str, PassedFacts]:
    """Facts about what a Loop hands from one iteration to the next, by the name of the input.

    Types and shapes of the initial values hold for all if they hold after an iteration; else, if
    so, what both have in common. Bodies of other nodes get nothing.
    """
    node, around = body.owner, body.parent
    assert node is not None
    assert around is not None
    if rule_name(around, node) != "Loop":
        return {}
    # The iteration number and the condition come first, and the next condition.
    assumed = [replace(_facts(outer, tensor), value=None) for tensor in node.inputs[2:]]
    for _ in range(2):
        passed = dict(zip([*body.inputs][2:], assumed, strict=False))
        kept = list(map(common, assumed, _results(body, outer, passed)[1:]))
        if [*map(_key, kept)] == [*map(_key, passed.values())]:
            return passed
        assumed = kept
    return {}


def _computed_by(analysis: Analysis, node: Node) -> list[PassedFacts]:
    """Facts about the outputs of a node with bodies, or of a call; fewer where some are unknown."""
    graph = analysis.graph
    if graph.is_function(node):
        function = graph.called(node)
        if function is None:
            return []
        return _results(function, analysis, passed_to_function(function, [(node, analysis)]))
    if rule_name(graph, node) not in KNOWN:
        return []
    bodies = list(graph.bodies(node))
    if node.op == "Loop":
        return list(passed_to_body(bodies[0], analysis).values())
    results = [_results(body, analysis, {}) for body in bodies]
    return list(map(common, *results)) if len(results) == 2 else []


def common(one: PassedFacts, other: PassedFacts) -> PassedFacts:
    """The facts that hold for both."""
    dtype, shape = one.dtype if one.dtype == other.dtype else None, None
    if one.shape is not None and other.shape is not None and len(one.shape) == len(other.shape):
        pairs = zip(map(_told, one.shape), map(_told, other.shape), strict=True)
        shape = tuple(a if a == b and a is not None else Unknown("it varies") for a, b in pairs)
    return PassedFacts(dtype, shape, one.value if _key(one) == _key(other) else None)


def _is_open(answer: Any) -> bool:
    if isinstance(answer, Value):
        answer = answer.flat
    if isinstance(answer, tuple):
        return Unknown in map(type, answer)
    return answer is None or answer == NONE
