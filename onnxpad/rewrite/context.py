"""The context of a pass: one graph of a model, its analysis, and the style the user wants."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

from onnxpad.facts import Analysis, open_axes
from onnxpad.facts.feasible import AnalysedDomains, SizeDomain, analysed_domains
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.graph.walk import downstream
from onnxpad.options import KEPT, Options, Wanted
from onnxpad.padding.site import Sites
from onnxpad.reasons import BY_DEFAULT, BY_DYNAMIC, BY_TRUST, Reason, RefusalError
from onnxpad.runtimes.deployed import BlockedPools, Exposed
from onnxpad.semantics.operators import (
    PadOp,
    TransposedOp,
    UnreadableError,
    WindowOp,
    operator_named,
    read_pad,
    read_transposed,
    read_window,
)

if TYPE_CHECKING:
    from onnxpad.padding.computed_pads import DynamicSites

_NOTHING: Final = "nothing to read"
"""Notes of a node that has no window and is no `Pad`."""

_Read = TypeVar("_Read", WindowOp, PadOp, TransposedOp)


class Context:
    """One graph of a model, its analysis, and the style that the user wants.

    Everything is read from the graph as it is now. So a pass that goes on after one of its findings
    was rewritten sees the rewritten graph.

    Attributes:
        graph: The graph.
        analysis: Its shapes and constants at the sizes of the last of `domains`.
        domains: The domains of sizes in which proofs are tried, the weakest first.
        sites: What pads before its window operators, and what they could take.
        user_options: The options of the user; `dynamic` may be tried otherwise.
        size_domain: The sizes that the user gave.
        trust: The engine that the user trusts where two disagree.
        asks_to_compute: The option that asks for computed `Pad`s; empty without one.
        wants: How each padding is to be written, by the unique names of the outputs of its nodes;
            None where the options say that of all alike.
        blocked_pools: Its pools that onnxruntime must not run in blocked layout (NCHWc).
        reported: The nodes, by identity, about which a rewriting rule has a finding.
        absorbed: Names of padded tensors all of whose consumers are known to take the padding; they
            stay where edits are undone, since they only say what is worth a trial.
        closed: Why nothing in this graph is rewritten, although it could be read; empty for most.
        outer: For a body, the context of the graph around it.
        load_original: Returns the context of the same graph before all edits.
    """

    def __init__(
        self,
        graph: Graph,
        options: Options | None = None,
        domain: SizeDomain | None = None,
        *,
        domains: AnalysedDomains | None = None,
        known: AnalysedDomains = (),
        fed: frozenset[str] | None = None,
        outer: Context | None = None,
        inlined: bool = False,
    ) -> None:
        """Analyses a graph for the options of a user, and the sizes that they allow.

        Bodies and functions have the `domains` of the main graph, each with their own analysis;
        `rewrite.scopes` knows what else they need, as `Sites` has it. `known` are domains of a main
        graph whose analyses still hold.
        """
        self.graph = graph
        self.outer = outer
        self.domains = domains or analysed_domains(graph, domain, known)
        self.analysis = self.domains[-1].analysis
        self.load_original: Callable[[], Context] = lambda: Context(graph.pristine())
        self.user_options = options or Options()
        self.size_domain = domain or SizeDomain()
        self.wants: Mapping[str, Wanted] | None = None
        self.choose(self.user_options.dynamic)
        self.trust = self.user_options.engine
        given = graph, self.analysis, None if outer is None else outer.sites, fed
        self.sites: Sites = Sites(*given, inlined=inlined, trust=self.trust)
        self.blocked_pools = BlockedPools(graph, self.analysis)
        self.reported: frozenset[int] = frozenset()
        self.absorbed: set[str] = set()
        self.closed = ""
        self._listed: tuple[int, dict[type, list[Any]]] | None = None

    @cached_property
    def open_sites(self) -> DynamicSites:
        """The padding that depends on open sizes."""
        from onnxpad.padding.computed_pads import DynamicSites

        return DynamicSites(self.graph, self.analysis, self.sites, self.domains[0].analysis)

    def choose(self, dynamic: str) -> None:
        """Takes another choice for open sizes, on which no analysis depends."""
        asked = self.user_options
        is_pad = asked.style == "pad"  # where even size-dependent padding goes into a Pad
        dynamic = "pad" if dynamic == "keep" and is_pad else dynamic
        self._usual = Wanted(asked.style, dynamic, asked.no_ceil, asked.makes_symmetric)
        computes = "--style pad" if is_pad else "--dynamic pad"
        self.asks_to_compute = computes if dynamic == "pad" else ""

    def write_each(self, wants: Mapping[str, Wanted] | None, usual: Wanted | None) -> None:
        """Takes how each padding is to be written, as `wants`; `usual` says it of all others."""
        self.wants, self._usual = wants, usual or (self._usual if wants is None else KEPT)

    def wanted(self, node: Node) -> Wanted:
        """How the padding of an operator, a `Pad` or a step is to be written.

        Where the options do not say that of all alike, what has no entry of its own belongs to the
        first operators downstream that have one, and stays as it came where these differ.
        """
        if not self.wants:
            return self._usual
        names = self.nearest(node, self.wants)
        found = {self.wants[name] for name in names or ()}
        if len(found) == 1:
            return found.pop()
        return KEPT if found or names is None else self._usual

    def nearest(self, node: Node, known: Container[str]) -> set[str] | None:
        """The known unique names of outputs: of a node, else of the first downstream that have one.

        None if they are too far away to look at all that is between.
        """
        found: set[str] = set()

        def onward(node: Node) -> Sequence[Tensor]:
            names = {self.graph.unique(out.name) for out in node.outputs if out.name}
            own = {name for name in names if name in known}
            found.update(own)
            return () if own else node.outputs

        way = downstream(onward(node), lambda use: onward(use.node))
        return None if any(each is None for each in way) else found

    def style_of(self, node: Node) -> str:
        """The style in which the padding of a node is to be written."""
        return self.wanted(node).style

    @property
    def original(self) -> Context:
        """The same graph as it was loaded, at all sizes."""
        model = self.graph.model
        key = Context, self.graph.offset, model.main.trusted
        if key not in model.notes:  # contexts come and go, and it stays as it is
            model.notes[key] = self.load_original()
        found: Context = model.notes[key]
        return found

    def misinferred(self, tensor: Tensor, hidden_by: str) -> RefusalError | None:
        """The refusal of a tensor about whose sizes onnx's shape inference is wrong, if it is.

        From its basic level on, the runtime folds each Shape downstream to what is inferred, unless
        something between states the size that is right, such as `output_shape` or a Slice.
        """
        if tensor.name not in self.blocked_pools.missized():
            return None
        said = f"{hidden_by} hides a size about which onnx's shape inference is wrong"
        return RefusalError(Reason.SIZE_MISINFERRED, said, tensor=tensor.name)

    def options(self, refusal: RefusalError) -> tuple[str, ...]:
        """The options of a refusal that the user may still pass.

        Left out are those that were given, that contradict one that was, that `--strict` forbids
        or may forbid, and those that are tried for each padding of its own (`wants`).
        """
        is_strict, given = self.user_options.strict, self.size_domain
        sizes: Any = refusal.facts.get("sizes") or ()
        axes = [(each["name"], each["input"]) for each in sizes]
        if not axes and (given.named or given.shaped):
            axes = [(axis.label, axis.tensor) for axis in open_axes(self.graph.model.main.inputs)]

        def is_free(option: str) -> bool:
            if option in {*BY_TRUST, *BY_DEFAULT}:
                return self.user_options.trust is None and not is_strict
            if option in BY_DYNAMIC:
                risky = is_strict and self.domains[-1].domain.assumptions
                return self._usual.dynamic == "keep" and not risky and self.wants is None
            shaped = given.shaped if option == "--shape" else ()
            return not any(label in given.named or tensor in shaped for label, tensor in axes)

        return tuple(filter(is_free, refusal.options))

    def label(self, node: Node) -> str:
        """The label of a node in reports; in a body or function, with the way to it."""
        return self.graph.place_of(node)

    def windows(self) -> Iterator[WindowOp]:
        """The readable window operators that gather, in file order."""
        return self.each(WindowOp)

    def pads(self) -> Iterator[PadOp]:
        """The readable `Pad` nodes, in file order."""
        return self.each(PadOp)

    def transposed(self) -> Iterator[TransposedOp]:
        """The readable transposed convolutions, in file order."""
        return self.each(TransposedOp)

    def unreadable(self) -> Iterator[tuple[Node, UnreadableError]]:
        """The nodes that cannot be read, in file order, and why.

        They are operators with a window, `Pad`s, and all that contradict their schema.
        """
        yield from self._reads().get(UnreadableError, ())

    def each(self, kind: type[_Read]) -> Iterator[_Read]:
        """The readable nodes of a kind; the graph may be edited during the iteration."""
        journal = self.graph.model.journal
        version = journal.count
        for read in self._reads().get(kind, ()):
            reading = read.node.reading
            is_kept = reading is not None and reading[1] is read and read.node.alive
            if is_kept or journal.count == version:
                yield read  # which no edit has touched
            elif isinstance(now := self.read(read.node), kind):
                yield now

    def _reads(self) -> dict[type, list[Any]]:
        """The readings of all nodes by type, in file order; cached until the next edit."""
        version = self.graph.version
        if self._listed is None or self._listed[0] != version:
            found: dict[type, list[Any]] = defaultdict(list)
            for node in self.graph.nodes:
                if _NOTHING in node.notes:
                    continue
                by, read = node.reading or (None, None)
                if by is not self.analysis and (read := self.read(node)) is None:
                    node.notes[_NOTHING] = True
                else:
                    is_wrong = isinstance(read, UnreadableError)
                    found[type(read)].append((node, read) if is_wrong else read)
            self._listed = version, found
        return self._listed[1]

    def read(self, node: Node) -> WindowOp | PadOp | TransposedOp | UnreadableError | None:
        """Reads a node, or says why not; None where it has no window and is no `Pad`, or is gone.

        Any other node that contradicts its schema comes with what is wrong, too.
        """
        if not node.alive:
            return None
        if node.op == "Pad" and self.graph.names_standard(node):
            return self.pad(node)
        row = operator_named(self.graph, node)
        if row is None:
            why = self.graph.contradiction(node)
            return UnreadableError(why) if why else None
        return self._tried(read_transposed, node) if row.scatters else self.window(node)

    def window(self, node: Node) -> WindowOp | UnreadableError:
        """Reads a window operator's node, or says why it cannot be read."""
        return self._tried(read_window, node)

    def pad(self, node: Node) -> PadOp | UnreadableError:
        """Reads a `Pad` node, or says why it cannot be read."""
        return self._tried(read_pad, node)

    def _tried(
        self, reads: Callable[[Graph, Analysis, Node], _Read], node: Node
    ) -> _Read | UnreadableError:
        try:
            return reads(self.graph, self.analysis, node)
        except UnreadableError as error:
            return error

    def misfolded(self) -> list[Exposed]:
        """The `Pad`s that the runtime certainly folds and must not, in the original graph too.

        Those that edits exposed are left out: whoever edits takes care of them.
        """
        if PadOp not in self._reads():
            return []
        found = [*filter(None, map(self.sites.fusion.certain, self.graph.nodes))]
        if found and self.graph.version:
            windows, before = {each.ends[1] for each in found}, self.original
            was = (n for n in before.graph.nodes if n.outputs and n.outputs[0].name in windows)
            known = {each.ends for each in filter(None, map(before.sites.fusion.certain, was))}
            return [each for each in found if each.ends in known]
        return found

    def settle(self) -> None:
        """Begins a round of passes, in which unknown answers are worked out anew."""
        journal = self.graph.model.journal
        if journal.count != journal.settled:
            journal.count = journal.settled = journal.count + 1
