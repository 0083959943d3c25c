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
from typing import Final, NamedTuple, TypeAlias

import onnx

from onnxpad.analysis import Analysis
from onnxpad.analysis.bodies_and_calls import (
    COVERED,
    PassedFacts,
    passed_to_body,
    passed_to_function,
)
from onnxpad.analysis.shape_inference_check import Disagreement, Sizes, disagreements
from onnxpad.arithmetic.size import Size, Unknown
from onnxpad.declared import op_types
from onnxpad.errors import ModelError
from onnxpad.file.proto_walk import bodies
from onnxpad.graph import Graph, Node, Tensor, held_bodies, normal_domain
from onnxpad.graph.walk import downstream
from onnxpad.messages import RUNTIME
from onnxpad.operators.table import CONV_TRANSPOSE, OPERATORS
from onnxpad.options import Options
from onnxpad.reasons import Reason
from onnxpad.rewrite.context import Around, Context
from onnxpad.runtimes.onnxruntime.blocked_pools import Hazard
from onnxpad.runtimes.onnxruntime.departures import CHANGED
from onnxpad.sizes.domain import SizeDomain
from onnxpad.sizes.feasible import stopping

Key: TypeAlias = tuple[str, str]
"""The domain and the name of a function; overloads count as one."""
_Call: TypeAlias = tuple[Context, Node]
_Given: TypeAlias = tuple[Context, Tensor, Tensor]
"""A tensor of another graph, with the context of that graph, and what it is in this one."""

NO_OPSET: Final = "the function imports no version of ONNX's operators that is known"
"""Why nothing is rewritten in some functions."""

PADDING: Final = frozenset({"auto_pad", "pads", "paddings"})
"""Attributes of operators that pad."""
_TRANSPOSED: Final = frozenset({CONV_TRANSPOSE.op_type})
_UNLIKE_SINCE: Final = 11
"""The first version of If whose branches may give results of different sizes."""
_OPERATORS: Final = frozenset({"Pad", CONV_TRANSPOSE.op_type}) | {op for _, op in OPERATORS}


def contexts(
    graph: Graph,
    asked: Options | None = None,
    domain: SizeDomain | None = None,
) -> list[Context]:
    """The contexts of the graphs of a model that pad, and of those around them.

    Args:
        graph: The main graph.
        asked: The options of the user.
        domain: The sizes that the user allows.

    Returns:
        The main graph first, then the bodies in it, each before those inside it, then the
        functions, each after those that call it.
    """
    main = Context(graph, asked, domain)
    return _Finder(main).found


class _Finder:
    """Collects the contexts of one model."""

    def __init__(self, main: Context) -> None:
        self.found: list[Context] = [main]
        self._main = main
        self._calls: dict[Key, list[_Call]] = defaultdict(list)
        self._originals: Mapping[int, Context] | None = None
        light = main.graph.model.skeleton.light
        functions = light.functions
        self._padding = _padding_functions(functions)
        self._misjudged: set[Key] = set()
        self._misranked: set[Key] = set()
        # The calls of each function that is looked into, by its context.
        self._callers: dict[int, list[_Call]] = {}
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
        judged: dict[int, _Misjudged] = {}
        for context in self.found:
            given = partial(self._given, context)
            each = judged[id(context)] = _Misjudged(context, wrong, misranked, given, judged)
            context.blocked_pools.missized = each.names
            if not context.closed:
                unlike = partial(_unlike, context, self._branches(context))
                apart = partial(_unlike_branches, context, self.found)
                beyond = partial(_beyond, context, self._callers.get(id(context), ()))
                context.blocked_pools.inside += [
                    each.before,
                    each.downstream,
                    unlike,
                    apart,
                    beyond,
                ]

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
            replace(each, analysis=Analysis(body, outer=each.analysis, given=facts))
            for each, facts in zip(outer.domains, given, strict=True)
        )
        # A body's inputs change from one iteration to the next.
        around = Around(outer, domains, frozenset(body.inputs), False, self._original(body))
        context = self._add(body, around)
        outer.blocked_pools.inside.append(partial(_at_border, context))

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
            analysis = Analysis(function, given=given)
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
        if context.closed or any(True for _ in _disputed(context)):
            self._misjudged.add(key)
        if any(map(_is_misranked, _wrongly_sized(context))):
            self._misranked.add(key)

    def _given(self, context: Context) -> Iterator[_Given]:
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
        context = Context(graph, main.asked, main.given, around)
        if not graph.opset:
            context.closed = NO_OPSET
        else:
            context.closed = _runs_otherwise(graph, main.graph.opset) or _misjudged(context)
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
    return graph.is_standard(node) and node.op in COVERED


def pads(nodes: Iterable[onnx.NodeProto], functions: Iterable[Key] = ()) -> bool:
    """Whether nodes, those in their bodies, or functions among these that they call, may pad.

    Every window operator counts, so that what passes say of a graph does not depend on others.
    """
    known, slide = frozenset(functions), _OPERATORS | op_types()
    pending = [nodes]
    while pending:
        for node in pending.pop():
            if node.op_type in slide or (normal_domain(node.domain), node.op_type) in known:
                return True
            for attribute in node.attribute:
                if attribute.name in PADDING:
                    return True
                pending += (body.node for body in bodies(attribute))
    return False


def _passed(body: Graph, outer: Analysis) -> Mapping[str, PassedFacts]:
    """Facts about the inputs of a body; none where a constant in it is malformed."""
    try:
        return passed_to_body(body, outer)
    except ModelError:
        return {}


def _runs_otherwise(graph: Graph, opset: int) -> str:
    """Why the runtime computes something else in a function than it says; empty if it does not.

    It runs the nodes of a function with the model's opset, whatever the function imports.
    """
    for node in graph.nodes:
        since = CHANGED.get(node.op) if graph.is_standard(node) else None
        if since is not None and (graph.opset < since) != (opset < since):
            return (
                f"its opset is {graph.opset}, and {RUNTIME} runs {node.op} "
                f"{graph.label(node)!r} in it with the model's, {opset}"
            )
    return ""


def _misjudged(context: Context) -> str:
    """Why the runtime must not learn more about the shapes in a graph; empty if it may.

    It refuses a model with a branch in which a node stops wherever it runs. And it allocates the
    results of a body in the shapes that onnx's shape inference gives, which is sometimes wrong.
    """
    graph, analysis = context.graph, context.analysis
    try:
        node = stopping(graph, analysis)
        if node is not None:
            return f"{node.op} {graph.label(node)!r} in it stops wherever it runs"
        for node, *_ in disagreements(graph, analysis):
            return f"onnx's shape inference is wrong about {node.op} {graph.label(node)!r} in it"
    except ModelError:
        return ""  # a constant is malformed, and whoever reads it says so
    return ""


def _wrongly_sized(
    context: Context, among: Collection[Node] | None = None
) -> Iterator[Disagreement]:
    """The operators, of all or of these, that onnx's shape inference is wrong about."""
    try:
        yield from disagreements(context.graph, context.analysis, among)
    except ModelError:
        return  # a constant is malformed, and whoever reads it says so


def _is_misranked(wrong: Disagreement) -> bool:
    """Whether shape inference gives a tensor another number of axes, which it then refuses."""
    return len(wrong.inferred) != len(wrong.derived)


def _disputed(context: Context) -> Iterator[Node]:
    """The operators to which the runtime gives another size than the specification."""
    graph = context.graph
    try:
        transposed = [n for n in graph.nodes if graph.is_standard(n) and n.op in _TRANSPOSED]
        for node in (*(op.node for op in context.windows()), *transposed):
            shape = context.analysis.shape(node.outputs[0]) or ()
            if any(isinstance(n, Unknown) and n.is_disputed for n in shape):
                yield node
    except ModelError:
        return  # a constant is malformed, and whoever reads it says so


def _at_border(context: Context) -> Iterator[tuple[Tensor, Hazard]]:
    """The tensors around a body whose shapes it must not learn, each with what would happen."""
    graph, owner = context.graph, context.graph.owner
    assert owner is not None
    shut: Hazard | None = None
    if context.closed:
        does = f"know the sizes in {graph.place}, but {context.closed}"
        shut = Hazard(owner, Reason.SHAPE_REFUSED, does)

    def behind(tensor: Tensor) -> Hazard | None:
        return shut or context.blocked_pools.behind(tensor)

    for tensor in graph.captured():
        assert tensor.outer is not None
        if hazard := behind(tensor):
            yield tensor.outer, hazard
    given = next(filter(None, map(behind, map(graph.tensor, graph.inputs))), shut)
    if given is not None:
        yield from ((tensor, given) for tensor in owner.inputs if tensor.name)


def _unlike(context: Context, branches: Sequence[Context]) -> Iterator[tuple[Tensor, Hazard]]:
    """The results of a branch whose sizes another one's may differ from, before If 11.

    The runtime refuses such an If where it knows the sizes of both.
    """
    graph, owner = context.graph, context.graph.owner
    if owner is None or graph.opset >= _UNLIKE_SINCE:
        return
    does = f"know the sizes in {graph.place}, and refuse branches of different sizes"
    hazard = Hazard(owner, Reason.SHAPE_REFUSED, does)
    for place, name in enumerate(graph.results):
        if not _are_alike([(each.graph, each.analysis) for each in branches], place):
            yield graph.tensor(name), hazard


def _are_alike(branches: Sequence[tuple[Graph, Analysis]], place: int) -> bool:
    """Whether the results of branches are known to have the same sizes."""
    shapes = [analysis.shape(graph.tensor(graph.results[place])) for graph, analysis in branches]
    return all(
        shape is not None
        and shape == shapes[0]
        and all(isinstance(size, int | Size) for size in shape)
        for shape in shapes
    )


def _unlike_branches(context: Context, found: Sequence[Context]) -> Iterator[tuple[Tensor, Hazard]]:
    """Reads of branches of an If that are no contexts, where they may differ, before If 11."""
    graph = context.graph
    if graph.opset >= _UNLIKE_SINCE:
        return
    known = {id(each.graph.owner) for each in found}
    for node in graph.nodes:
        if node.op != "If" or not graph.is_standard(node) or id(node) in known:
            continue
        try:
            branches = [
                (each, Analysis(each, outer=context.analysis)) for each in graph.bodies(node)
            ]
            places = range(len(branches[0][0].results)) if branches else range(0)
            alike = all(_are_alike(branches, place) for place in places)
        except ModelError:
            continue  # the rule on scopes reports it
        does = f"refuse branches of different sizes of {node.op} {graph.label(node)!r}"
        hazard = Hazard(node, Reason.SHAPE_REFUSED, does)
        captured = [] if alike else [each for body, _ in branches for each in body.captured()]
        yield from ((each.outer, hazard) for each in captured if each.outer is not None)


def _beyond(context: Context, calls: Sequence[_Call]) -> Iterator[tuple[Tensor, Hazard]]:
    """The results of a function whose shapes a caller must not learn."""
    for caller, node in calls:
        for output, name in zip(node.outputs, context.graph.results, strict=False):
            hazard = caller.blocked_pools.behind(output)
            if hazard is not None:
                yield context.graph.tensor(name), hazard


class _Wrong(NamedTuple):
    """A node that onnx's shape inference is wrong about.

    Attributes:
        node: The node.
        hazard: The harm that may do.
        is_misranked: Whether another number of axes is inferred, with which a node downstream is
            refused, wherever it is.
        inferred: The sizes that are inferred, where all are known.
    """

    node: Node
    hazard: Hazard
    is_misranked: bool = False
    inferred: Sizes | None = None


class _Misjudged:
    """The nodes of one graph that onnx's shape inference is wrong about, where that does harm.

    Where an If, Loop or Scan hands on their results, the runtime allocates these in the wrong
    shape, and stops. It also stops where it infers another number of axes, and where it puts a
    tensor in the place of one that it takes to be as large.
    """

    def __init__(
        self,
        context: Context,
        functions: Collection[Key],
        misranked: Collection[Key],
        given: Callable[[], Iterator[_Given]],
        others: Mapping[int, _Misjudged],
    ) -> None:
        """Looks for the nodes at the first question.

        Args:
            context: The graph.
            functions: The functions that such nodes are in.
            misranked: Those with a node for which another number of axes is inferred.
            given: Returns what the graph reads of others.
            others: Those of all graphs, by the identity of the context.
        """
        self._context = context
        self._functions = functions
        self._misranked = misranked
        self._given = given
        self._others = others
        self._found: tuple[int, list[_Wrong]] | None = None

    def before(self) -> Iterator[tuple[Tensor, Hazard]]:
        """The tensors that these nodes read, each with what would happen."""
        for wrong in self._nodes():
            alike = self._alike(wrong)
            if alike or wrong.is_misranked or self._is_handed_on(wrong.node):
                yield from ((each, wrong.hazard) for each in wrong.node.inputs if each.name)
            yield from ((tensor, wrong.hazard) for tensor in alike)

    def downstream(self) -> Iterator[tuple[Tensor, Hazard]]:
        """The results of `Pad`s downstream of these nodes, in whatever graph they are.

        Computed amounts hide the wrong size from a body that hands on such a result, and a wrong
        number of axes from the `Pad` itself.
        """
        for tensor, wrong in self._wrong().values():
            node = self._context.graph.producer(tensor)
            if node is None or node.op != "Pad":
                continue
            if wrong.is_misranked or self._is_handed_on(node):
                yield tensor, wrong.hazard

    def names(self) -> Collection[str]:
        """The names of the tensors whose sizes follow from a wrong one."""
        return self._wrong().keys()

    def _alike(self, wrong: _Wrong) -> list[Tensor]:
        """The tensors that are as large as a result is inferred to be.

        The runtime may put one of them in its place.
        """
        if wrong.inferred is None:
            return []
        context = self._context
        outputs = (tensor for node in context.graph.nodes for tensor in node.outputs)
        return [each for each in outputs if context.analysis.shape(each) == wrong.inferred]

    def _wrong(self) -> dict[str, tuple[Tensor, _Wrong]]:
        """The tensors whose sizes follow from a wrong one, by name, each with its origin."""
        graph = self._context.graph
        pending = [(out, wrong) for wrong in self._nodes() for out in wrong.node.outputs]
        outside: dict[int, dict[str, tuple[Tensor, _Wrong]]] = {}
        for context, theirs, ours in self._given():
            other = id(context)
            if other not in outside:
                outside[other] = self._others[other]._wrong()
            if theirs.name in outside[other]:
                pending.append((ours, outside[other][theirs.name][1]))
        pending.sort(key=lambda each: each[1].is_misranked)  # the worst is taken first
        found: dict[str, tuple[Tensor, _Wrong]] = {}
        while pending:
            tensor, wrong = pending.pop()
            if tensor.name and tensor.name not in found:
                found[tensor.name] = tensor, wrong
                pending += [(out, wrong) for use in graph.uses(tensor) for out in use.node.outputs]
        return found

    def _nodes(self) -> list[_Wrong]:
        """The nodes as the graph is now: a rewrite may spell out what inference is wrong about."""
        version, found = self._found or (-1, None)
        if found is None:
            found = list(self._find())
        elif found and version != self._context.graph.version:
            graph = self._context.graph
            left = {id(wrong.node) for wrong in found if graph.has_node(wrong.node)}
            found = list(self._find([node for node in graph.nodes if id(node) in left]))
        self._found = self._context.graph.version, found
        return found

    def _find(self, among: Collection[Node] | None = None) -> Iterator[_Wrong]:
        """The nodes of the graph, or of these."""
        graph = self._context.graph
        for node in graph.nodes if among is None else among:
            key = (normal_domain(node.domain), node.op)
            if graph.is_function(node) and key in self._functions:
                yield _Wrong(node, self._hazard(node), key in self._misranked)
        for node in _disputed(self._context):
            yield _Wrong(node, self._hazard(node))
        for each in _wrongly_sized(self._context, among):
            sizes = None if None in each.inferred else each.inferred
            yield _Wrong(each.node, self._hazard(each.node), _is_misranked(each), sizes)

    def _is_handed_on(self, node: Node) -> bool:
        """Whether an If, Loop or Scan may hand on what a node computes."""
        graph = self._context.graph
        if not graph.is_main or not COVERED.isdisjoint(graph.inner_operators(node)):
            return True  # it is inside one, or may be, or has one inside
        below = downstream(graph, node.outputs, lambda use: use.node.outputs, most=None)
        readers = (use.node for each in below if each is not None for use in graph.uses(each))
        return any(each.op in COVERED or graph.is_function(each) for each in readers)

    def _hazard(self, node: Node) -> Hazard:
        label = self._context.graph.label(node)
        does = f"take wrong sizes: onnx's shape inference is wrong about {node.op} {label!r}"
        return Hazard(node, Reason.SHAPE_REFUSED, does)


def _is_fed(call: _Call, place: int) -> bool:
    """Whether a call passes an input that depends on inputs of the model."""
    context, node = call
    return (
        place < len(node.inputs)
        and bool(node.inputs[place].name)
        and context.sites.fusion.is_fed(node.inputs[place])
    )


def _padding_functions(functions: Sequence[onnx.FunctionProto]) -> frozenset[Key]:
    """The functions that may pad, also by calling others."""
    return _with_callers(functions, {_key(each) for each in functions if pads(each.node)})


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
    pending = [nodes]
    while pending:
        for node in pending.pop():
            yield (normal_domain(node.domain), node.op_type)
            for attribute in node.attribute:
                pending += (body.node for body in bodies(attribute))
