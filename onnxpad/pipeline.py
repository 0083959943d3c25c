"""Runs the passes to a fixed point, and undoes what cannot be certified or fails its probe.

May import: admitted, certify, finding, graph, operators, passes, premises, rule, shield, signs,
site, values.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

from onnxpad.admitted import Admitted
from onnxpad.certify import UncertifiedError
from onnxpad.finding import Change, Finding, Severity
from onnxpad.graph import Graph, Use
from onnxpad.operators import UnreadableError, operator_of
from onnxpad.passes import PASSES
from onnxpad.premises import Prover, Readings, ranges
from onnxpad.rule import Context, Match, Pass
from onnxpad.shield import shield
from onnxpad.signs import Signs
from onnxpad.site import told
from onnxpad.values import Analysis

Node: TypeAlias = Any
Tensor: TypeAlias = Any
Progress: TypeAlias = Callable[[str, int, int], None]


class Prober(Protocol):
    """Runs a change's neighbourhood, before and after, on a runtime."""

    def take(self, analysis: Analysis, signs: Signs) -> None:
        """Goes by what is known of the graph from now on, and keeps to the sizes admitted then."""

    def before(self, tensor: Tensor, root: str) -> Any:
        """What computes a tensor from `root`, cut out of the graph as it is now."""

    def after(self, tensor: Tensor, root: str, before: Any) -> tuple[bool, str]:
        """Whether the same, cut out of the changed graph, computes the same; and what was seen."""


@dataclass(slots=True)
class Outcome:
    """What a run of the passes did.

    Attributes:
        changes: Every rewrite made, in order.
        findings: What remains.
        undone: What could not be certified, or failed its probe.
        sizes: What the open sizes of the graph, as it came, are limited to, by name.
    """

    changes: list[Change] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    undone: list[Finding] = field(default_factory=list)
    sizes: Mapping[str, range] = field(default_factory=dict)


def find(
    graph: Graph, style: str, dynamic: str = "keep", admitted: Admitted | None = None
) -> list[Finding]:
    """Everything the passes find in a graph that stays as it is."""
    return [match.finding for _, match in _matches(Context(graph, style, dynamic, admitted))]


def _matches(
    context: Context, passes: Sequence[type[Pass]] = PASSES
) -> Iterator[tuple[Pass, Match]]:
    for kind in passes:
        rule = kind()
        for match in rule.find(context):
            yield rule, match


def rewrite(
    graph: Graph,
    style: str,
    *,
    dynamic: str = "keep",
    admitted: Admitted | None = None,
    strict: bool = False,
    prober: Prober | None = None,
    progress: Progress | None = None,
    passes: Sequence[type[Pass]] = PASSES,
) -> Outcome:
    """Applies every pass until none finds anything more, in place.

    Each change is certified, and probed where there is a prober, before the next is looked for.
    With `strict`, a change whose certificate names an assumption is undone too.
    """
    context = Context(graph, style, dynamic, admitted)
    outcome = Outcome(sizes=ranges(graph, context.premises[-1]))
    total = sum(1 for _ in context.windows()) + sum(1 for _ in context.pads())

    def made() -> None:
        if progress is not None:
            progress("rewriting", len(outcome.changes), total)

    editor = _Editor(outcome, strict, prober)
    editor.take(context)
    while True:
        changes = len(outcome.changes)
        seen = _exhaust(context, editor, passes, made)
        if len(outcome.changes) == changes:
            break
        # What was rewritten may show more of the sizes at which the graph is defined.
        anew = Context(graph, style, dynamic, admitted)
        if anew.premises[-1].dims == context.premises[-1].dims:
            break
        context = anew
        editor.take(context)
    outcome.findings = [
        match.finding
        for rule, match in seen
        if match.plan is None or not editor.gave_up(rule, match)
    ]
    if outcome.changes:
        shield(context)
    return outcome


def _exhaust(
    context: Context, editor: "_Editor", passes: Sequence[type[Pass]], made: Callable[[], None]
) -> list[tuple[Pass, Match]]:
    """Applies the passes until they find nothing more to do; what they found then.

    What a late stage changes may be what an earlier one waited for, so it starts over.
    """
    seen: list[tuple[Pass, Match]] = []
    stages = [[kind for kind in passes if kind.last is last] for last in (False, True)]

    def changed(stage: Sequence[type[Pass]]) -> bool:
        changes = len(editor.outcome.changes)
        context.ask_again()
        for rule, match in _matches(context, stage):
            seen.append((rule, match))
            if match.plan is not None:
                editor.apply(rule, match)
                made()
        return len(editor.outcome.changes) != changes

    while any(changed(stage) for stage in stages):
        seen.clear()
    return seen


class _Editor:
    """Makes one change at a time, or takes it back."""

    def __init__(self, outcome: Outcome, strict: bool, prober: Prober | None) -> None:
        self.outcome = outcome
        self._strict = strict
        self._prober = prober
        self._given_up: set[tuple[str, str, int]] = set()
        self._made: set[tuple[str, str, int, str]] = set()

    def take(self, context: Context) -> None:
        """Goes by what a context knows of the graph from now on."""
        self._context = context
        self._certifier = Prover(context.graph, context.premises, context.signs)
        if self._prober is not None:
            self._prober.take(context.analysis, context.signs)

    def gave_up(self, rule: Pass, match: Match) -> bool:
        """Whether this very change was taken back before."""
        return (rule.code, match.finding.node, id(match.node)) in self._given_up

    def apply(self, rule: Pass, match: Match) -> None:
        """Makes a change, or undoes it and says why."""
        if self.gave_up(rule, match):
            return
        mark = self._context.mark()
        try:
            self.outcome.changes.append(self._apply(rule, match))
        except UncertifiedError as error:
            self._context.rollback(mark)
            self._given_up.add((rule.code, match.finding.node, id(match.node)))
            self.outcome.undone.append(
                replace(match.finding, severity=Severity.INFO, reason=f"undone: {error}")
            )

    def _apply(self, rule: Pass, match: Match) -> Change:
        graph, node, tensor = self._context.graph, match.node, match.node.outputs[0]
        reading = self._read(node, tensor)
        cut = self._prober.before(tensor, reading.root) if self._prober is not None else None
        text = self._describe(node)
        state = (rule.code, match.finding.node, id(node), text)
        if state in self._made:
            raise UncertifiedError("the rule finds what it has already rewritten, without end")
        uses = graph.uses(tensor)
        stands = rule.rewrite(match, self._context) or tensor
        if stands is not tensor:
            self._check_uses(tensor, stands, uses)
        certificate = self._certifier.certify(reading, self._read(node, stands, reading.root))
        if self._strict and certificate.assumptions:
            raise UncertifiedError(
                f"it assumes {', '.join(certificate.assumptions)}, and --strict forbids that"
            )
        after = self._describe(node) if stands is tensor else repr(stands.name)
        removed = graph.sweep()
        seen = ""
        if self._prober is not None:
            same, seen = self._prober.after(stands, reading.root, cut)
            if not same:
                raise UncertifiedError(f"its probe differs: {seen}")
        self._made.add(state)
        return Change(
            code=rule.code,
            node=graph.label(node),
            op_type=node.op,
            before=text,
            after=after,
            certificate=certificate,
            removed=removed,
            probe=seen,
        )

    def _read(self, node: Node, tensor: Tensor, root: str = "") -> Readings:
        if operator_of(self._context.graph, node) is not None:
            return self._certifier.window(tensor, root)
        return self._certifier.padding(tensor, root)

    def _check_uses(self, old: Tensor, new: Tensor, uses: Sequence[Use]) -> None:
        graph = self._context.graph
        if graph.is_output(old) or graph.uses(old):
            raise UncertifiedError(f"{old.name!r} is still read")
        if any(use.node.inputs[use.index].name != new.name for use in uses):
            raise UncertifiedError(f"not everything that read {old.name!r} reads {new.name!r} now")

    def _describe(self, node: Node) -> str:
        """How the padding of a node is written, from the data to the node."""
        steps = []
        current: Node | None = node
        while current is not None and self._context.graph.is_standard(current):
            if operator_of(self._context.graph, current) is not None and current is node:
                steps.append(self._describe_window(current))
            elif current.op == "Pad":
                steps.append(self._describe_pad(current))
            elif current.op != "Identity":
                break
            current = self._context.graph.producer(current.inputs[0])
        return " -> ".join(reversed(steps))

    def _describe_window(self, node: Node) -> str:
        op = self._context.window(node)
        if isinstance(op, UnreadableError):
            return str(node.op)
        if op.auto_pad != "NOTSET":
            return f"{node.op} auto_pad={op.auto_pad}"
        counted = " counted" if op.count_include_pad and op.pads_written else ""
        return f"{node.op} pads {told(op.pads)}{counted}"

    def _describe_pad(self, node: Node) -> str:
        pad = self._context.pad(node)
        if isinstance(pad, UnreadableError):
            return "Pad"
        amounts = "" if pad.constant_amounts is None else f" {told(pad.constant_amounts)}"
        how = f" {pad.mode}" if pad.mode != "constant" else ""
        graph, origin = self._context.graph, ""
        if graph.opset >= 11 and graph.is_external(node.inputs[1]):
            origin = " (in another file)"
        elif graph.opset >= 11 and graph.constant(node.inputs[1]) is None:
            origin = " (computed)"
        return f"Pad{how}{amounts}{origin}"
