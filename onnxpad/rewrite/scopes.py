"""The contexts of all graphs of a model: the main graph, bodies of nodes, and functions.

A body knows what the graph around it knows of the tensors that it captures, and what its node
passes to it. A function knows what all of its calls agree on, wherever in the model they are. What
happens inside never limits the sizes outside: a branch need not run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

import onnx
from msgspec.structs import replace

from onnxpad.declared import Key, op_types
from onnxpad.facts import Analysis
from onnxpad.facts.engine import KNOWN, passed_to_body, passed_to_function
from onnxpad.facts.feasible import AnalysedDomains, SizeDomain
from onnxpad.file.proto_walk import called_in, callers_first, key_of, walked
from onnxpad.graph import Graph, Node, held_bodies, normal_domain
from onnxpad.options import Options
from onnxpad.rewrite.pass_api import Context
from onnxpad.runtimes.onnxruntime.hidden_shapes import why_closed
from onnxpad.runtimes.onnxruntime.pad_fusion import Exposed
from onnxpad.semantics.operators import OPERATORS

Call = tuple[Context, Node]
"""A call of a function, or a node with a body, with the graph that it is in."""

PADDING = frozenset({"auto_pad", "pads", "paddings"})
"""Attributes of operators that pad."""
_OPERATORS = frozenset({"Pad"}) | {op for _, op in OPERATORS}


def contexts(
    graph: Graph,
    options: Options | None = None,
    domain: SizeDomain | None = None,
    known: AnalysedDomains = (),
) -> list[Context]:
    """The contexts of the graphs of a model that pad, and of those around them, as `Context` is.

    The main graph is first, then the bodies in it, each before those inside it, then the functions,
    each after those that call it.
    """
    return _Finder(Context(graph, options, domain, known=known)).found


def original(context: Context) -> Context:
    """The context of the same graph as it was loaded, at all sizes."""
    model = context.graph.model
    key = Context, model.main.trusted
    if key not in model.notes:  # contexts come and go, and it stays as it is
        found = contexts(model.main.pristine())
        model.notes[key] = {each.graph.offset: each for each in found}
    known: Mapping[int, Context] = model.notes[key]
    return known[context.graph.offset]


def misfolded(context: Context) -> list[Exposed]:
    """The `Pad`s that the runtime certainly folds and must not, in the original graph too.

    Those that edits exposed are left out: whoever edits takes care of them.
    """
    if next(context.pads(), None) is None:
        return []
    found = [*filter(None, map(context.sites.fusion.certain, context.graph.nodes))]
    if found and context.graph.version:
        windows, before = {each.ends[1] for each in found}, original(context)
        was = (n for n in before.graph.nodes if n.outputs and n.outputs[0].name in windows)
        known = {each.ends for each in filter(None, map(before.sites.fusion.certain, was))}
        return [each for each in found if each.ends in known]
    return found


class _Finder:
    """Collects the contexts of one model."""

    def __init__(self, main: Context) -> None:
        self.found: list[Context] = [main]
        self._main = main
        self._user = main.user_options, main.size_domain
        self._calls: dict[Key, list[Call]] = defaultdict(list)
        light = main.graph.model.skeleton.light
        self._functions = functions = light.functions
        order = callers_first(functions)
        self._padding = set[Key]()  # the functions that may pad, also by calling others
        for index in reversed(order):
            if pads(functions[index].node, self._padding):
                self._padding.add(key_of(functions[index]))
        # Functions with calls in graphs that are not looked into.
        self._called_unseen: set[Key] = set()
        for training in light.training_info:
            for part in (training.initialization, training.algorithm):
                self._called_unseen.update(called_in(part.node))
        self._enter(main)
        for index in order:
            if key_of(functions[index]) in self._padding:
                self._add_function(index)

    def _enter(self, context: Context) -> None:
        graph = context.graph
        for node in graph.running():
            if graph.is_function(node):
                self._calls[normal_domain(node.domain), node.op].append((context, node))
            held = [body.node for _, body in held_bodies(node)]
            if any(pads(nodes, self._padding) for nodes in held):
                if not covers(graph, node):
                    self._called_unseen.update(key for nodes in held for key in called_in(nodes))
                    continue
                for body in graph.bodies(node):
                    self._add_body(context, node, body)

    def _add_body(self, outer: Context, owner: Node, body: Graph) -> None:
        domains = []
        for each in outer.domains:
            facts = passed_to_body(body, each.analysis)
            inner = Analysis(body, outer=each.analysis, input_facts=facts)
            domains.append(replace(each, analysis=inner))
        context = Context(
            body,
            *self._user,
            domains=tuple(domains),
            fed=frozenset(body.inputs),  # which change from one iteration to the next
            outer=outer,
            hidden=outer.hidden,
            holders=[(outer, owner)],
        )
        self._add(context)

    def _add_function(self, index: int) -> None:
        key, function = key_of(self._functions[index]), self._main.graph.model.functions[index]
        calls = [] if key in self._called_unseen else self._calls[key]
        domains = []
        for place, each in enumerate(self._main.domains):
            asked = [(node, context.domains[place].analysis) for context, node in calls]
            analysis = Analysis(function, input_facts=passed_to_function(function, asked))
            analysis.declared = each.analysis.declared
            domains.append(replace(each, analysis=analysis))
        passed = [
            {
                name
                for name, tensor in zip(function.inputs, call.inputs, strict=False)
                if tensor.name and context.sites.fusion.is_fed(tensor)
            }
            for context, call in calls
        ]
        # What depends on inputs of the model in all calls.
        fed = frozenset(function.inputs if calls else ()).intersection(*passed)
        context = Context(
            function,
            *self._user,
            domains=tuple(domains),
            fed=fed,
            hidden=self._main.hidden,
            holders=self._calls[key],
        )
        self._add(context)

    def _add(self, context: Context) -> None:
        graph, opset = context.graph, self._main.graph.opset
        context.closed = why_closed(graph, context.analysis, opset)
        self.found.append(context)
        self._enter(context)


def covers(graph: Graph, node: Node) -> bool:
    """Whether the bodies of a node can be rewritten: what it hands to them is known."""
    return graph.is_standard(node) and node.op in KNOWN


def pads(nodes: Iterable[onnx.NodeProto], functions: Collection[Key] = ()) -> bool:
    """Whether nodes, those in their bodies, or functions among these that they call, may pad.

    Every window operator counts, so that what passes say of a graph does not depend on others.
    """
    slide = _OPERATORS | op_types()
    return any(
        node.op_type in slide
        or (normal_domain(node.domain), node.op_type) in functions
        or any(attribute.name in PADDING for attribute in node.attribute)
        for node in walked(nodes)
    )
