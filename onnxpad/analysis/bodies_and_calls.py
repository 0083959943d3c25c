"""Facts about the inputs of bodies and functions, and about the outputs of nodes with these.

No runtime enforces the types and shapes that a body declares for its inputs. So these follow from
the nodes that run it: a Scan hands over slices, and what a Loop carries from one iteration to the
next has a type or a size only if every iteration keeps it. A function's inputs have what all calls
agree on. Each is analysed once for each distinct set of facts about what it reads, however many
nodes lead there, and up to a limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Final

from msgspec.structs import replace

from onnxpad.analysis.rule_api import NOTHING, Answers, PassedFacts
from onnxpad.analysis.value import Shape, Value
from onnxpad.arithmetic.size import Extent, Size, Unknown
from onnxpad.errors import ModelError
from onnxpad.graph import Graph, Node, Tensor

WITH_BODIES: Final = frozenset({"If", "Loop", "Scan", "SequenceMap"})
"""Operators of ONNX whose bodies compute with what the node passes and what they capture."""

MOST_NODES: Final = 100_000
"""Most nodes of bodies and functions that are analysed in a small model, repeated ones counted."""

_PER_NODE: Final = 20
"""By how much that grows with each node of a body or function."""

_ROUNDS: Final = 32
_SCAN_WITHOUT_BATCH: Final = 9
"""Before this opset a Scan runs for each element of a batch, and its body has one axis less."""


class _Inside:
    """The analyses of the bodies and functions of one model, as far as they were asked for."""

    def __init__(self) -> None:
        self.begun: dict[object, Answers] = {}
        self.opened: dict[int, int] = {}
        self.nodes = 0


def _results(graph: Graph, outer: Answers, passed: Mapping[str, PassedFacts]) -> list[PassedFacts]:
    """Facts about the results of a body or function; none where the limit was reached."""
    captured = [_facts(outer, tensor.outer) for tensor in graph.captured()]
    key = graph.offset, *_distinct((*passed.values(), *captured))
    notes = graph.model.notes
    inside: _Inside = notes.setdefault(_Inside, _Inside())
    if key not in inside.begun:
        count = inside.opened.setdefault(graph.offset, sum(1 for _ in graph.nodes))
        if inside.nodes + count > MOST_NODES + _PER_NODE * sum(inside.opened.values()):
            return [NOTHING] * len(graph.results)
        inside.nodes += count
        inside.begun[key] = outer.inside(graph, passed)
    inner = inside.begun[key]
    results = map(graph.tensor, graph.results)
    found = [_anew(PassedFacts(inner.dtype(each), inner.shape(each))) for each in results]
    if graph.parent:
        outer.declared |= inner.declared
    return found


def _distinct(facts: Iterable[PassedFacts]) -> Iterable[object]:
    """Facts as a key: no analysis can tell two sets with equal keys apart."""
    unknown: dict[int, int] = {}

    def one(item: object) -> object:
        if isinstance(item, Unknown):
            return unknown.setdefault(id(item), len(unknown)), item.reason
        return item if isinstance(item, int | Size) else (item, repr(item))

    for each in facts:
        shape, value = each.shape, each.value
        yield each.dtype, None if shape is None else tuple(map(one, shape))
        yield value and (value.dtype, value.data.shape, *map(one, value.flat))


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
        each = [_facts(analysis, node.operand(place)) for node, analysis in calls]
        found[name] = reduce(common, each) if each else NOTHING
    return found


def _facts(analysis: Answers, tensor: Tensor | None) -> PassedFacts:
    """What is known of a tensor; nothing of one that is left out."""
    if tensor is None or not tensor.name:
        return NOTHING
    return PassedFacts(analysis.dtype(tensor), analysis.shape(tensor), analysis.value(tensor))


def passed_to_body(body: Graph, outer: Answers) -> dict[str, PassedFacts]:
    """Facts about the inputs of a body, by name, from the node that has it.

    What holds for the initial values of what a Loop or Scan carries is assumed. As far as it does
    not hold for the results of the body too, it is dropped, until the rest holds for all iterations
    by induction.

    Args:
        body: The body.
        outer: The analysis of the graph around it.
    """
    node, around, names = body.owner, body.parent, list(body.inputs)
    if node is None or around is None or not around.is_standard(node) or around.refers(node):
        return {}
    count = node.attrs.get("num_scan_inputs", 0)
    is_scan = node.op == "Scan" and around.opset >= _SCAN_WITHOUT_BATCH
    # The iteration number of a Loop and its condition come first, and the next condition.
    first, skipped = (0, 0) if is_scan else (1, 2)
    if not (is_scan or node.op == "Loop") or len(node.inputs) != len(names):
        return {}
    if not skipped <= len(names) - count <= len(names):
        return {}
    places = range(skipped, len(names) - count)
    if len(body.results) < first + len(places):
        return {}
    given = [replace(_facts(outer, tensor), value=None) for tensor in node.inputs]
    facts = dict(zip(names, given, strict=True))
    axes = node.attrs.get("scan_input_axes", [0] * count)
    passed = {
        name: replace(facts[name], shape=_without(facts[name].shape, axis))
        for name, axis in zip(names[len(names) - count :], axes, strict=False)
    }
    assumed = [facts[names[place]] for place in places]
    for _ in range(_ROUNDS):
        passed |= dict(zip(names[skipped:], assumed, strict=False))
        found = _results(body, outer, passed)[first:]
        kept = list(map(common, assumed, found))
        if [*_distinct(kept)] == [*_distinct(assumed)]:
            return passed
        assumed = kept
    return {}


def _without(shape: Shape | None, axis: int) -> Shape | None:
    """A shape without one axis; None where it is unknown or has no such axis."""
    if shape is None or not -len(shape) <= axis < len(shape):
        return None
    axis %= len(shape)
    return (*shape[:axis], *shape[axis + 1 :])


def computed_by(graph: Graph, analysis: Answers, node: Node) -> list[PassedFacts]:
    """Facts about the outputs of a node with bodies, or of one that calls a function.

    Fewer than there are outputs, where nothing is known of the rest.
    """
    try:
        if graph.is_function(node):
            function = graph.called(node)
            if function is None:
                return []
            return _results(function, analysis, passed_to_function(function, [(node, analysis)]))
        if node.op not in {"If", "Loop", "Scan"} or not graph.is_standard(node):
            return []
        bodies = [] if graph.refers(node) else list(graph.bodies(node))
        if node.op == "If" and len(bodies) == 2:
            results = [_results(body, analysis, {}) for body in bodies]
            return list(map(common, *results))
        return _iterated(node, bodies[0], analysis) if len(bodies) == 1 else []
    except ModelError:
        return []  # a body or the function is malformed


def _iterated(node: Node, body: Graph, analysis: Answers) -> list[PassedFacts]:
    """The final values of a Loop or Scan, then the results of all iterations, stacked."""
    passed = passed_to_body(body, analysis)
    if not passed:
        return []
    first, skipped = (1, 2) if node.op == "Loop" else (0, 0)
    states = list(body.inputs)[skipped : len(body.inputs) - node.attrs.get("num_scan_inputs", 0)]
    found = [passed[name] for name in states]
    if any(node.attrs.get("scan_output_axes", ())):
        return found
    for each in _results(body, analysis, passed)[first + len(states) :]:
        count = Unknown("it is the number of iterations")
        shape = None if each.shape is None else (count, *each.shape)
        found.append(replace(each, shape=shape))
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
    if one is None or other is None or one.data.shape != other.data.shape:
        return False
    return one.dtype == other.dtype and all(
        isinstance(a, int | Size | float) and type(a) is type(b) and a == b and repr(a) == repr(b)
        for a, b in zip(one.flat, other.flat, strict=True)
    )


def _common_size(one: Extent, other: Extent) -> Extent:
    return one if isinstance(one, int | Size) and one == other else Unknown("it varies")
