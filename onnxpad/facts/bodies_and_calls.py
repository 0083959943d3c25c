"""Facts about the inputs of functions, and about the results of these and of branches.

No runtime enforces the types and shapes that a body declares for its inputs. So what a Loop carries
from one iteration to the next has a type or a size only if every iteration keeps it, and what other
operators hand over is unknown. A function's inputs have what all calls agree on. Each is analysed
once for each distinct set of facts about what it reads, however many nodes lead there, and up to a
limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Final

from msgspec.structs import replace

from onnxpad.arithmetic.size import Extent, Size, Unknown
from onnxpad.errors import ModelError
from onnxpad.facts.rule_api import NOTHING, Answers, PassedFacts, Value
from onnxpad.graph import Graph, Node, Tensor

WITH_BODIES: Final = frozenset({"If", "Loop", "Scan", "SequenceMap"})
"""Operators of ONNX whose bodies compute with what the node passes and what they capture."""

KNOWN: Final = frozenset({"If", "Loop"})
"""Those of which it is known what they pass."""

MOST_NODES: Final = 100_000
"""Most nodes of bodies and functions that are analysed in a small model, repeated ones counted."""

_PER_NODE: Final = 20
"""By how much that grows with each node of a body or function."""

_ROUNDS: Final = 32


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
    """Facts about what a Loop hands from one iteration to the next, by the name of the input.

    What holds for the initial values is assumed. As far as it does not hold for the results of the
    body too, it is dropped, until the rest holds for all iterations by induction.

    Args:
        body: The body, of any node.
        outer: The analysis of the graph around it.
    """
    node, around = body.owner, body.parent
    if node is None or around is None or node.op != "Loop" or not around.is_standard(node):
        return {}
    # The iteration number and the condition come first, and the next condition.
    names, given = [*body.inputs][2:], node.inputs[2:]
    if around.refers(node) or len(names) != len(given) or len(body.results) <= len(names):
        return {}
    assumed = [replace(_facts(outer, tensor), value=None) for tensor in given]
    for _ in range(_ROUNDS):
        passed = dict(zip(names, assumed, strict=True))
        kept = list(map(common, assumed, _results(body, outer, passed)[1:]))
        if [*_distinct(kept)] == [*_distinct(assumed)]:
            return passed
        assumed = kept
    return {}


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
        if node.op not in KNOWN or not graph.is_standard(node) or graph.refers(node):
            return []
        bodies = list(graph.bodies(node))
        if node.op == "Loop":
            return list(passed_to_body(bodies[0], analysis).values()) if bodies else []
        results = [_results(body, analysis, {}) for body in bodies]
        return list(map(common, *results)) if len(results) == 2 else []
    except ModelError:
        return []  # a body or the function is malformed


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
