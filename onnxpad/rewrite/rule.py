"""What a pass is: it finds, with reasons, and rewrites what it found."""

from collections.abc import Iterator
from dataclasses import dataclass
from inspect import cleandoc
from textwrap import indent
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from onnxpad.finding import Finding, Severity
from onnxpad.graph import Node, Tensor
from onnxpad.reasons import RefusalError
from onnxpad.rewrite.context import Context


class Match(NamedTuple):
    """What a pass found at a node, and what it would do about it.

    Attributes:
        finding: What the user is told.
        node: The node whose first output must stay the same.
        plan: What `rewrite` needs; None for a refusal.
        about: The node that the finding names; None where it is no node of the main graph.
        barred: Whether it is refused because the model does not bear it.
    """

    finding: Finding
    node: Node
    plan: Any = None
    about: Node | None = None
    barred: bool = False


@dataclass(frozen=True)
class Example:
    """Nodes as a pass finds them and as it leaves them, in ONNX text.

    Attributes:
        given: The inputs of the graph, and behind them the initializers, a line each or several.
        before: The nodes that are found.
        after: The nodes that they become; empty where they stay.
        style: The style asked for.
        dynamic: What is asked for where padding depends on an open size.
    """

    given: str
    before: str
    after: str = ""
    style: str = "fold"
    dynamic: str = "keep"

    @property
    def text(self) -> str:
        """The lines of a page: the nodes and what becomes of them, then what they are given."""
        asked = {"style": (self.style, "fold"), "dynamic": (self.dynamic, "keep")}
        options = [f" with `--{name} {it}`" for name, (it, usual) in asked.items() if it != usual]
        becomes = ["".join(["becomes", *options]), _indented(self.after)]
        result = becomes if self.after else ["stays"]
        return "\n".join([_indented(self.before), *result, "where", _indented(self.given)])


def _indented(text: str) -> str:
    return indent(cleandoc(text), "    ")


class Pass:
    """Base of the passes: one idea, one code.

    A subclass's docstring and `examples` are the catalogue's page on its code. `find` only reads,
    and decides; `rewrite` only writes what was decided.
    """

    code: ClassVar[str]
    examples: ClassVar[tuple[Example, ...]] = ()
    severity: ClassVar[Severity] = Severity.WARNING
    # Runs when the passes before it find nothing more to do.
    last: ClassVar[bool] = False
    # Whether it rewrites anything of what it finds; one that does not is asked once, in the end.
    rewrites: ClassVar[bool] = True
    # Whether it tells of what is left in the end, and what no rule that rewrites has told of.
    rest: ClassVar[bool] = False

    def find(self, context: Context) -> Iterator[Match]:
        """Everything there is to say about a graph, refusals included, in file order."""
        raise NotImplementedError

    def rewrite(self, match: Match, context: Context) -> Tensor | None:
        """Does what a match planned.

        Returns the tensor that stands for the node's first output from now on, or None where that
        output is still there.
        """
        raise NotImplementedError

    def computing(self, match: Match) -> tuple[int, int]:
        """How many nodes compute a `Pad`'s amounts before and after; 0 where that is not told."""
        return 0, 0

    def found(
        self,
        context: Context,
        node: Node,
        message: str,
        plan: Any,
        *,
        severity: Severity | None = None,
        keeps: Node | None = None,
        **evidence: object,
    ) -> Match:
        """A match that will be rewritten; `keeps` is whose output stays, where not the node's."""
        label, told = context.graph.label(node), MappingProxyType(evidence)
        severity = severity or self.severity
        finding = Finding(self.code, severity, label, node.op, message, evidence=told)
        return Match(finding, keeps or node, plan, node)

    def refused(
        self,
        context: Context,
        node: Node,
        message: str,
        reason: RefusalError,
        **evidence: object,
    ) -> Match:
        """A match that stays as it is, with the reason, whose facts are evidence too."""
        finding = Finding(
            self.code,
            Severity.INFO,
            context.graph.label(node),
            node.op,
            message,
            str(reason),
            MappingProxyType({**reason.facts, **evidence}),
            reason_code=reason.code,
        )
        return Match(finding, node, None, node)
