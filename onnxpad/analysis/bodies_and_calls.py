"""Facts about the inputs of bodies and functions, and about the outputs of nodes with these.

No runtime enforces the types and shapes that a body declares for its inputs. So these follow from
the nodes that run it: a Scan hands over slices, and what a Loop carries from one iteration to the
next has a type or a size only if every iteration keeps it. A function's inputs have what all calls
agree on.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from onnxpad.analysis.value import Shape, Value
from onnxpad.arithmetic.size import Extent, Size, Unknown
from onnxpad.errors import ModelError
from onnxpad.graph import Graph, Node, Tensor

if TYPE_CHECKING:
    from onnxpad.analysis.analysis import Analysis

COVERED: Final = frozenset({"If", "Loop", "Scan", "SequenceMap"})
"""Operators of ONNX whose bodies compute with what the node passes and what they capture."""

_ROUNDS: Final = 32
_SCAN_WITHOUT_BATCH: Final = 9
"""Before this opset a Scan runs for each element of a batch, and its body has one axis less."""


class Passed(NamedTuple):
    """Facts about an input or a result of a body or function.

    Attributes:
        dtype: Its element type; None where unknown.
        shape: The sizes of its axes; None where its rank is unknown.
        value: Its content where that is small and known; of inputs of functions only.
    """

    dtype: int | None = None
    shape: Shape | None = None
    value: Value | None = None


NOTHING: Final = Passed()


class _Iterated(NamedTuple):
    """The values that a Loop or Scan carries, and its body for any iteration.

    Attributes:
        given: What is known of the inputs of the body in every iteration.
        states: The names of the inputs that are carried.
        stacked: The names of the results that are stacked.
    """

    given: dict[str, Passed]
    states: Sequence[str]
    stacked: Sequence[str]


def passed_to_body(body: Graph, outer: "Analysis") -> dict[str, Passed]:
    """Facts about the inputs of a body, by name, from the node that has it.

    Args:
        body: The body.
        outer: The analysis of the graph around it.
    """
    found = _iterated(body, outer)
    return {} if found is None else found.given


def _iterated(body: Graph, outer: "Analysis") -> _Iterated | None:
    """The values that a Loop or Scan passes to its body; None elsewhere, and if it is malformed."""
    node, around = body.owner, body.parent
    if node is None or around is None or not around.is_standard(node) or around.refers(node):
        return None
    names = list(body.inputs)
    if len(node.inputs) != len(names):
        return None
    if node.op == "Loop" and len(names) >= 2:
        # The iteration number and the condition come first, and the condition of the next one.
        return _carried(body, outer, names[2:], node.inputs[2:], body.results[1:], {})
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
        slices[name] = Passed(outer.dtype(tensor), _without(outer.shape(tensor), axis))
    return _carried(body, outer, names[:states], node.inputs[:states], body.results, slices)


def _without(shape: Shape | None, axis: object) -> Shape | None:
    """A shape without one axis; None where it is unknown or has no such axis."""
    if shape is None or not isinstance(axis, int) or not -len(shape) <= axis < len(shape):
        return None
    axis %= len(shape)
    return (*shape[:axis], *shape[axis + 1 :])


def _carried(
    body: Graph,
    outer: "Analysis",
    names: Sequence[str],
    initial: Sequence[Tensor],
    results: Sequence[str],
    others: Mapping[str, Passed],
) -> _Iterated | None:
    """Facts that hold in every iteration about values that one iteration hands to the next.

    What holds for the initial values is assumed. As far as it does not hold for the results of the
    body too, it is dropped, until the rest holds for all iterations by induction.

    Args:
        body: The body.
        outer: The analysis of the graph around it.
        names: Their names in the body.
        initial: Their initial values, in the graph around.
        results: Names of the tensors that the body computes for the next iteration, then of others.
        others: What is known of other inputs.
    """
    if len(results) < len(names):
        return None
    assumed = [
        Passed(outer.dtype(tensor), outer.shape(tensor)) if tensor.name else NOTHING
        for tensor in initial
    ]
    for _ in range(_ROUNDS):
        given = {**others, **dict(zip(names, assumed, strict=True))}
        found = _results(body, outer.of_body(body, given), results[: len(names)])
        kept = [common(one, other) for one, other in zip(assumed, found, strict=True)]
        if all(map(_says_as_much, kept, assumed)):
            return _Iterated(given, names, results[len(names) :])
        assumed = kept
    return None


def _results(graph: Graph, analysis: "Analysis", names: Sequence[str]) -> list[Passed]:
    tensors = [graph.tensor(name) for name in names]
    return [Passed(analysis.dtype(tensor), analysis.shape(tensor)) for tensor in tensors]


def passed_to_function(
    function: Graph, calls: Sequence[tuple[Node, "Analysis"]]
) -> dict[str, Passed]:
    """Facts about the inputs of a function, by name, that hold for all calls; none without a call.

    Args:
        function: The function.
        calls: Every node of the model that calls it, with the analysis of its graph.
    """
    found: dict[str, Passed] = {}
    for place, name in enumerate(function.inputs):
        each = [_passed(node, place, analysis) for node, analysis in calls]
        agreed = each[0] if each else NOTHING
        for other in each[1:]:
            agreed = common(agreed, other)
        found[name] = agreed
    return found


def _passed(node: Node, place: int, analysis: "Analysis") -> Passed:
    """Facts about an input that a call passes."""
    if place >= len(node.inputs) or not node.inputs[place].name:
        return NOTHING
    tensor = node.inputs[place]
    return Passed(analysis.dtype(tensor), analysis.shape(tensor), analysis.value(tensor))


def computed_by(graph: Graph, analysis: "Analysis", node: Node) -> list[Passed]:
    """Facts about the outputs of a node with bodies, or of one that calls a function.

    Fewer than there are outputs, where nothing is known of the rest.
    """
    try:
        return list(_computed_by(graph, analysis, node))
    except ModelError:
        return []  # a body or the function is malformed


def _computed_by(graph: Graph, analysis: "Analysis", node: Node) -> Iterator[Passed]:
    if graph.is_function(node):
        function = graph.called(node)
        if function is not None:
            given = passed_to_function(function, [(node, analysis)])
            yield from _results(function, analysis.of_function(function, given), function.results)
    elif graph.is_standard(node) and not graph.refers(node):
        found = list(graph.bodies(node)) if node.op in COVERED else []
        if node.op == "If" and len(found) == 2:
            first, second = (_results(e, analysis.of_body(e, {}), e.results) for e in found)
            yield from map(common, first, second)
        elif node.op in {"Loop", "Scan"} and len(found) == 1:
            (body,) = found
            yield from _stacked(node, body, analysis)


def _stacked(node: Node, body: Graph, analysis: "Analysis") -> Iterator[Passed]:
    """The final values of a Loop or Scan, then the results of all iterations, stacked."""
    known = _iterated(body, analysis)
    if known is None:
        return
    yield from (known.given[name] for name in known.states)
    axes: Any = node.attrs.get("scan_output_axes", [0] * len(known.stacked))
    if not isinstance(axes, list) or any(axis != 0 for axis in axes):
        return
    for each in _results(body, analysis.of_body(body, known.given), known.stacked):
        count = Unknown("it is the number of iterations")
        yield Passed(each.dtype, None if each.shape is None else (count, *each.shape))


def common(one: Passed, other: Passed) -> Passed:
    """The facts that hold for both."""
    shape = None
    if one.shape is not None and other.shape is not None and len(one.shape) == len(other.shape):
        shape = tuple(map(_common_size, one.shape, other.shape))
    value = one.value if _is_same(one.value, other.value) else None
    return Passed(one.dtype if one.dtype == other.dtype else None, shape, value)


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


def _says_as_much(less: Passed, more: Passed) -> bool:
    """Whether what was kept of a fact is all of it."""
    if less.dtype != more.dtype or (less.shape is None) != (more.shape is None):
        return False
    return all(
        isinstance(one, Unknown) == isinstance(other, Unknown)
        for one, other in zip(less.shape or (), more.shape or (), strict=True)
    )
