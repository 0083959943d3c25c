"""What a pass is: it finds, with reasons, and rewrites what it found; and the catalogue of passes.

May import: admitted, dynamic, errors, finding, graph, operators, premises, signs, site.
"""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias

from onnxpad.admitted import Admitted
from onnxpad.dynamic import DynamicSites
from onnxpad.finding import Finding, Page, Severity
from onnxpad.graph import Graph
from onnxpad.operators import PadOp, UnreadableError, WindowOp, operator_of, read_pad, read_window
from onnxpad.premises import premises
from onnxpad.signs import Signs
from onnxpad.site import Sites

Node: TypeAlias = Any
Tensor: TypeAlias = Any


class Context:
    """One graph, what is known of it, and the style that padding is to have.

    Everything is read from the graph as it is now, so a pass that is resumed after one of its
    findings was rewritten sees the rewritten graph.
    """

    def __init__(
        self,
        graph: Graph,
        style: str = "fold",
        dynamic: str = "keep",
        admitted: Admitted | None = None,
    ) -> None:
        """Starts with nothing known but what sizes the graph and its user admit."""
        self.graph = graph
        self.style = style
        # A padding that must be in a Pad is in one whatever its amounts.
        self.dynamic = "pad" if dynamic == "keep" and style == "pad" else dynamic
        self.premises = premises(graph, admitted)
        self.analysis = self.premises[-1].analysis
        self.signs = Signs(graph)
        self.sites = Sites(graph, self.analysis, self.signs)
        plain = self.premises[0].analysis
        self.open_sites = DynamicSites(graph, self.analysis, self.sites, plain)

    def windows(self) -> Iterator[WindowOp]:
        """The window operators of the table that can be read, in file order."""
        for node in self.graph.nodes:
            if operator_of(self.graph, node) is not None:
                read = self.window(node)
                if isinstance(read, WindowOp):
                    yield read

    def pads(self) -> Iterator[PadOp]:
        """The `Pad` nodes that can be read, in file order."""
        for node in self.graph.nodes:
            if node.op == "Pad" and self.graph.is_standard(node):
                read = self.pad(node)
                if isinstance(read, PadOp):
                    yield read

    def window(self, node: Node) -> WindowOp | UnreadableError:
        """What a window operator's node says, or why it cannot be read."""
        try:
            return read_window(self.graph, self.analysis, node)
        except UnreadableError as error:
            return error

    def pad(self, node: Node) -> PadOp | UnreadableError:
        """What a `Pad` node says, or why it cannot be read."""
        try:
            return read_pad(self.graph, self.analysis, node)
        except UnreadableError as error:
            return error

    def forget_all(self) -> None:
        """Drops everything that was worked out, after edits were undone."""
        for premise in self.premises:
            premise.analysis.forget()
        self.sites.wording.forget()
        self.signs.forget()

    def ask_again(self) -> None:
        """Drops what could not be worked out, which edits may have made plain."""
        for premise in self.premises:
            premise.analysis.ask_again()


@dataclass(frozen=True, slots=True)
class Match:
    """What a pass found at a node, and what it would do about it.

    Attributes:
        finding: What the user is told.
        node: The node whose first output must stay the same.
        plan: What `rewrite` needs; None for a refusal.
    """

    finding: Finding
    node: Node
    plan: Any = None


class Pass:
    """Base of the passes: one idea, one code.

    A subclass's docstring is the catalogue's page on its code. `find` only reads, and decides;
    `rewrite` only writes what was decided.
    """

    code: ClassVar[str]
    severity: ClassVar[Severity] = Severity.WARNING
    # Runs when the passes before it find nothing more to do.
    last: ClassVar[bool] = False

    def find(self, context: Context) -> Iterator[Match]:
        """Everything there is to say about a graph, refusals included, in file order."""
        raise NotImplementedError

    def rewrite(self, match: Match, context: Context) -> Tensor | None:
        """Does what a match planned.

        Returns the tensor that stands for the node's first output from now on, or None where that
        output is still there.
        """
        raise NotImplementedError

    def found(
        self,
        context: Context,
        node: Node,
        message: str,
        plan: Any,
        *,
        severity: Severity | None = None,
        **evidence: object,
    ) -> Match:
        """A match that will be rewritten."""
        return self._match(context, node, message, "", severity or self.severity, plan, evidence)

    def refused(
        self, context: Context, node: Node, message: str, reason: str, **evidence: object
    ) -> Match:
        """A match that stays as it is, with the reason."""
        return self._match(context, node, message, reason, Severity.INFO, None, evidence)

    def _match(
        self,
        context: Context,
        node: Node,
        message: str,
        reason: str,
        severity: Severity,
        plan: Any,
        evidence: Mapping[str, object],
    ) -> Match:
        label = context.graph.label(node)
        told = MappingProxyType(dict(evidence))
        return Match(
            Finding(self.code, severity, label, node.op, message, reason, told), node, plan
        )


def catalogue() -> Mapping[str, Page]:
    """Every code with its page, in the order of the codes."""
    from onnxpad.passes import PASSES

    pages = {}
    for kind in sorted(PASSES, key=lambda each: each.code):
        text = inspect.cleandoc(kind.__doc__ or "")
        pages[kind.code] = Page(kind.code, kind.severity, text.split("\n", 1)[0], text)
    return MappingProxyType(pages)
