"""What a pass is: it finds, with reasons, and rewrites what it found; and the catalogue of passes.

May import: admitted, blocked_pools, dynamic, errors, finding, fusion, graph, operators, premises,
reasons, signs, site.
"""

import inspect
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar

from onnxpad.admitted import Admitted
from onnxpad.blocked_pools import BlockedPools
from onnxpad.dynamic import DynamicSites
from onnxpad.finding import Finding, Page, Severity
from onnxpad.fusion import Exposed
from onnxpad.graph import Graph
from onnxpad.operators import (
    OPERATORS,
    PadOp,
    UnreadableError,
    WindowOp,
    read_pad,
    read_window,
)
from onnxpad.premises import premises
from onnxpad.reasons import RefusalError
from onnxpad.signs import Signs
from onnxpad.site import Sites

Node: TypeAlias = Any
Tensor: TypeAlias = Any
_Read = TypeVar("_Read", WindowOp, PadOp)


class Mark(NamedTuple):
    """How much was edited, learnt under each premise, and proved of signs."""

    edits: int
    learnt: tuple[tuple[int, ...], ...]
    proved: int


class Context:
    """One graph, what is known of it, and the style that padding is to have.

    Everything is read from the graph as it is now, so a pass that is resumed after one of its
    findings was rewritten sees the rewritten graph.

    Attributes:
        is_final: Whether no edit can show more of the sizes at which the graph is defined.
        told: The nodes, by identity, that a rule which rewrites has found something about.
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
        self.is_final = all(premise.analysis.is_complete for premise in self.premises)
        self.analysis = self.premises[-1].analysis
        self.signs = Signs(graph)
        self.sites = Sites(graph, self.analysis, self.signs)
        plain = self.premises[0].analysis
        self.blocked_pools = BlockedPools(graph, self.analysis, self.signs)
        self.open_sites = DynamicSites(graph, self.analysis, self.sites, plain)
        self.told: frozenset[int] = frozenset()
        self._listed: tuple[int, list[tuple[Node, object]]] | None = None
        self._misfolded: dict[str, str] | None = None
        self._asked = graph.version

    def windows(self) -> Iterator[WindowOp]:
        """The window operators of the table that can be read, in file order."""
        return self._each(WindowOp)

    def pads(self) -> Iterator[PadOp]:
        """The `Pad` nodes that can be read, in file order."""
        return self._each(PadOp)

    def unreadable(self) -> Iterator[tuple[Node, UnreadableError]]:
        """The nodes that are one of the two and cannot be read, in file order, and why."""
        for node, read in self._reads():
            if isinstance(read, UnreadableError):
                yield node, read

    def _each(self, kind: type[_Read]) -> Iterator[_Read]:
        """What is read of a kind; edits underway do no harm."""
        graph, version = self.graph, self.graph.version
        for node, read in self._reads():
            if isinstance(read, kind):
                if graph.version == version:
                    yield read
                elif isinstance(now := self._read(node), kind):
                    yield now

    def _reads(self) -> list[tuple[Node, object]]:
        """What window operators of the table and `Pad`s say; looked for once until an edit."""
        version = self.graph.version
        if self._listed is None or self._listed[0] != version:
            found = ((node, self._read(node)) for node in self.graph.nodes)
            self._listed = version, [(node, read) for node, read in found if read is not None]
        return self._listed[1]

    def _read(self, node: Node) -> WindowOp | PadOp | UnreadableError | None:
        """What a node says; None where it is neither, or gone."""
        is_pad = node.op == "Pad"
        if not is_pad and node.op not in OPERATORS:
            return None
        if not self.graph.is_standard(node) or not self.graph.has_node(node):
            return None
        return self.pad(node) if is_pad else self.window(node)

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

    def misfolded(self) -> list[Exposed]:
        """The `Pad`s that onnxruntime folds for certain and must not, in the graph as it came too.

        What edits have laid open is not among them: who edits sees to it.
        """
        graph = self.graph
        fusion = self.sites.fusion
        found = [each for node in graph.nodes if (each := fusion.certain(node)) is not None]
        if not found or not graph.version:
            return found
        if self._misfolded is None:
            before = Context(graph.pristine())
            self._misfolded = {
                each.pad.node.outputs[0].name: each.window.outputs[0].name
                for each in before.misfolded()
            }
        return [
            each
            for each in found
            if self._misfolded.get(each.pad.node.outputs[0].name) == each.window.outputs[0].name
        ]

    def mark(self) -> Mark:
        """A point to roll back to."""
        learnt = tuple(premise.analysis.mark() for premise in self.premises)
        return Mark(self.graph.mark(), learnt, self.signs.mark())

    def rollback(self, mark: Mark) -> None:
        """Undoes every edit since a mark, and drops what was worked out since."""
        self.graph.rollback(mark.edits)
        for premise, learnt in zip(self.premises, mark.learnt, strict=True):
            premise.analysis.rollback(learnt)
        self.signs.rollback(mark.proved)
        self.sites.wording.forget()
        self._listed = None

    def ask_again(self) -> None:
        """Drops what could not be worked out, which edits may have made plain."""
        forgotten = [premise.analysis.ask_again() for premise in self.premises]
        if any(forgotten):
            self._listed = None
        if self._asked != self.graph.version:
            self._asked = self.graph.version
            self.signs.ask_again()
            self.sites.wording.ask_again()


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


class Pass:
    """Base of the passes: one idea, one code.

    A subclass's docstring is the catalogue's page on its code. `find` only reads, and decides;
    `rewrite` only writes what was decided.
    """

    code: ClassVar[str]
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


def catalogue() -> Mapping[str, Page]:
    """Every code with its page, in the order of the codes."""
    from onnxpad.passes import PASSES

    pages = {}
    for kind in sorted(PASSES, key=lambda each: each.code):
        text = inspect.cleandoc(kind.__doc__ or "")
        pages[kind.code] = Page(kind.code, kind.severity, text.split("\n", 1)[0], text)
    return MappingProxyType(pages)
