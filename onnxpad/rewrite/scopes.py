"""The contexts of all graphs of a model: the main graph, bodies of nodes, and functions.

A body knows what the graph around it knows of the tensors that it captures, and what its node
passes to it. A function knows what all of its calls agree on, wherever in the model they are. What
happens inside never limits the sizes outside: a branch need not run.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import onnx

from onnxpad.analysis import Analysis
from onnxpad.analysis.bodies_and_calls import (
    WITH_BODIES,
    PassedFacts,
    passed_to_body,
    passed_to_function,
)
from onnxpad.declared import Key, op_types
from onnxpad.errors import ModelError
from onnxpad.file.proto_walk import walked
from onnxpad.graph import Graph, Node, held_bodies, normal_domain
from onnxpad.options import Options
from onnxpad.rewrite.context import Around, Context
from onnxpad.runtimes.onnxruntime.hidden_shapes import (
    Call,
    Captured,
    Misjudged,
    at_border,
    disputed,
    hide,
    is_misranked,
    misjudged,
    runs_otherwise,
    wrongly_sized,
)
from onnxpad.semantics.operators import OPERATORS
from onnxpad.sizes.domain import SizeDomain

NO_OPSET: Final = "the function imports no version of ONNX's operators that is known"
"""Why nothing is rewritten in some functions."""

PADDING: Final = frozenset({"auto_pad", "pads", "paddings"})
"""Attributes of operators that pad."""
_OPERATORS: Final = frozenset({"Pad"}) | {op for _, op in OPERATORS}


def contexts(
    graph: Graph,
    options: Options | None = None,
    domain: SizeDomain | None = None,
) -> list[Context]:
    """The contexts of the graphs of a model that pad, and of those around them.

    Args:
        graph: The main graph.
        options: The options of the user.
        domain: The sizes that the user allows.

    Returns:
        The main graph first, then the bodies in it, each before those inside it, then the
        functions, each after those that call it.
    """
    main = Context(graph, options, domain)
    return _Finder(main).found


class _Finder:
    """Collects the contexts of one model."""

    def __init__(self, main: Context) -> None:
        self.found: list[Context] = [main]
        self._main = main
        self._calls: dict[Key, list[Call]] = defaultdict(list)
        self._originals: Mapping[int, Context] | None = None
        light = main.graph.model.skeleton.light
        functions = light.functions
        padding = {_key(each) for each in functions if pads(each.node)}
        self._padding = _with_callers(functions, padding)  # which may pad, also by calling others
        self._misjudged: set[Key] = set()
        self._misranked: set[Key] = set()
        # The calls of each function that is looked into, by its context.
        self._callers: dict[int, list[Call]] = {}
        # Functions with calls in graphs that are not looked into.
        self._called_unseen: set[Key] = set()
        for training in light.training_info:
            self._called_unseen.update(called_in(training.initialization.node))
            self._called_unseen.update(called_in(training.algorithm.node))
        self._enter(main)
        if self._padding:
            for index in callers_first(functions):
                self._add_function(index)
        wrong = _with_callers(functions, self._misjudged)
        misranked = _with_callers(functions, self._misranked)
        judged: dict[int, Misjudged] = {}
        for context in self.found:
            given = partial(self._captured, context)
            each = judged[id(context)] = Misjudged(context, wrong, misranked, given, judged)
            callers = self._callers.get(id(context), ())
            hide(context, each, self._branches(context), self.found, callers)

    def _branches(self, context: Context) -> list[Context]:
        """The branches of the If that a graph belongs to; none for other graphs."""
        graph = context.graph
        if graph.parent is None or graph.owner is None or graph.owner.op != "If":
            return []
        return [each for each in self.found if each.graph.owner is graph.owner]

    def _enter(self, context: Context) -> None:
        """Adds the bodies in a graph, and notes its calls of functions."""
        graph = context.graph
        for node in graph.nodes:
            if not graph.runs_graphs(node):
                continue
            if graph.is_function(node):
                self._calls[normal_domain(node.domain), node.op].append((context, node))
            held = [body.node for _, body in held_bodies(node)]
            if any(pads(nodes, self._padding) for nodes in held):
                opened = self._opened(graph, node)
                if not opened:
                    self._called_unseen.update(key for nodes in held for key in called_in(nodes))
                for body in opened:
                    self._add_body(context, body)

    @staticmethod
    def _opened(graph: Graph, node: Node) -> list[Graph]:
        """The bodies of a node; none where they cannot be rewritten: the rule on scopes says so."""
        try:
            return list(graph.bodies(node)) if covers(graph, node) else []
        except ModelError:
            return []

    def _add_body(self, outer: Context, body: Graph) -> None:
        given = [_passed(body, each.analysis) for each in outer.domains]
        domains = tuple(
            replace(each, analysis=Analysis(body, outer=each.analysis, input_facts=facts))
            for each, facts in zip(outer.domains, given, strict=True)
        )
        # A body's inputs change from one iteration to the next.
        around = Around(outer, domains, frozenset(body.inputs), False, self._original(body))
        context = self._add(body, around)
        outer.blocked_pools.inside.append(partial(at_border, context))

    def _add_function(self, index: int) -> None:
        light = self._main.graph.model.skeleton.light.functions[index]
        key = _key(light)
        if key not in self._padding:
            return
        try:
            function = self._main.graph.function(index)
        except ModelError:  # the rule on scopes reports it
            self._called_unseen.update(called_in(light.node))
            return
        calls = [] if key in self._called_unseen else self._calls[key]
        domains = []
        for place, each in enumerate(self._main.domains):
            asked = [(node, context.domains[place].analysis) for context, node in calls]
            given: Mapping[str, PassedFacts] = passed_to_function(function, asked)
            analysis = Analysis(function, input_facts=given)
            analysis.declared = each.analysis.declared
            domains.append(replace(each, analysis=analysis))
        fed = frozenset(
            name
            for place, name in enumerate(function.inputs)
            if calls and all(_is_fed(call, place) for call in calls)
        )
        inlined = key in self._called_unseen or any(
            context.sites.fusion.drops_empty for context, _ in calls
        )
        around = Around(None, tuple(domains), fed, inlined, self._original(function))
        context = self._add(function, around)
        self._callers[id(context)] = calls
        if context.closed or any(True for _ in disputed(context)):
            self._misjudged.add(key)
        if any(map(is_misranked, wrongly_sized(context))):
            self._misranked.add(key)

    def _captured(self, context: Context) -> Iterator[Captured]:
        """The tensors of other graphs that a body captures, or that are passed to a graph."""
        graph, outer = context.graph, context.outer
        if outer is not None and graph.owner is not None:
            for tensor in graph.captured():
                assert tensor.outer is not None
                yield outer, tensor.outer, tensor
            # Which becomes which does not matter: all of them count where one does.
            for tensor in graph.owner.inputs:
                yield from ((outer, tensor, graph.tensor(name)) for name in graph.inputs)
        for caller, node in self._callers.get(id(context), ()):
            for tensor, name in zip(node.inputs, graph.inputs, strict=False):
                yield caller, tensor, graph.tensor(name)

    def _add(self, graph: Graph, around: Around) -> Context:
        main = self._main
        context = Context(graph, main.user_options, main.size_domain, around)
        if not graph.opset:
            context.closed = NO_OPSET
        else:
            context.closed = runs_otherwise(graph, main.graph.opset) or misjudged(context)
        self.found.append(context)
        self._enter(context)
        return context

    def _original(self, graph: Graph) -> Callable[[], Context]:
        """Returns the context of the same graph before all edits."""

        def original() -> Context:
            if self._originals is None:
                loaded = contexts(self._main.graph.pristine())
                self._originals = {each.graph.offset: each for each in loaded}
            return self._originals[graph.offset]

        return original


def _with_callers(functions: Sequence[onnx.FunctionProto], keys: Collection[Key]) -> frozenset[Key]:
    """Functions, and all those that call them."""
    callers: dict[Key, set[Key]] = defaultdict(set)
    for each in functions if keys else ():
        for called in called_in(each.node):
            callers[called].add(_key(each))
    found, pending = set(keys), list(keys)
    while pending:
        fresh = callers[pending.pop()] - found
        found |= fresh
        pending += fresh
    return frozenset(found)


def covers(graph: Graph, node: Node) -> bool:
    """Whether the bodies of a node can be rewritten: it runs them as the specification says."""
    return graph.is_standard(node) and node.op in WITH_BODIES


def pads(nodes: Iterable[onnx.NodeProto], functions: Iterable[Key] = ()) -> bool:
    """Whether nodes, those in their bodies, or functions among these that they call, may pad.

    Every window operator counts, so that what passes say of a graph does not depend on others.
    """
    known, slide = frozenset(functions), _OPERATORS | op_types()
    return any(
        node.op_type in slide
        or (normal_domain(node.domain), node.op_type) in known
        or any(attribute.name in PADDING for attribute in node.attribute)
        for node in walked(nodes)
    )


def _passed(body: Graph, outer: Analysis) -> Mapping[str, PassedFacts]:
    """Facts about the inputs of a body; none where a constant in it is malformed."""
    try:
        return passed_to_body(body, outer)
    except ModelError:
        return {}


def _is_fed(call: Call, place: int) -> bool:
    """Whether a call passes an input that depends on inputs of the model."""
    context, node = call
    return (
        place < len(node.inputs)
        and bool(node.inputs[place].name)
        and context.sites.fusion.is_fed(node.inputs[place])
    )


def callers_first(functions: Sequence[onnx.FunctionProto]) -> list[int]:
    """The indices of functions, each after all functions that call it.

    Functions that call each other in a circle, which no runtime accepts, are left out.
    """
    index: dict[Key, list[int]] = defaultdict(list)
    for place, each in enumerate(functions):
        index[_key(each)].append(place)
    called = [
        {place for key in called_in(each.node) for place in index.get(key, ())}
        for each in functions
    ]
    waiting = Counter(place for others in called for place in others)
    ready = deque(place for place in range(len(functions)) if not waiting[place])
    found = []
    while ready:
        place = ready.popleft()
        found.append(place)
        for other in sorted(called[place]):
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    return found


def _key(function: onnx.FunctionProto) -> Key:
    return normal_domain(function.domain), function.name


def called_in(nodes: Iterable[onnx.NodeProto]) -> Iterator[Key]:
    """The operators of nodes and of those in their bodies."""
    return ((normal_domain(node.domain), node.op_type) for node in walked(nodes))
