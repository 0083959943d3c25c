"""The base classes of passes, and their context: a graph, its analysis, and the style wanted.

Each pass finds padding, with reasons, and rewrites it. Those over operators that slide choose a
padding, which is proved and only then written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from onnx import TensorProto

from onnxpad.arithmetic.window import pads_text
from onnxpad.errors import RUNTIME
from onnxpad.facts import Analysis, open_axes
from onnxpad.facts.feasible import AnalysedDomains, SizeDomain, analysed_domains
from onnxpad.finding import Finding, Severity
from onnxpad.graph import Graph, Node, Tensor, downstream
from onnxpad.options import KEPT, Options, Wanted
from onnxpad.padding.crops import amounts_of
from onnxpad.padding.padding import Padding, has_amounts
from onnxpad.padding.site import Sites
from onnxpad.padding.write import write, write_computed
from onnxpad.reasons import BY_DEFAULT, BY_DYNAMIC, BY_TRUST, Reason, RefusalError, advised
from onnxpad.runtimes.onnxruntime.hidden_shapes import HiddenShapes
from onnxpad.runtimes.onnxruntime.pad_fusion import lies
from onnxpad.semantics.layers import Pairs
from onnxpad.semantics.operators import (
    PadOp,
    TransposedOp,
    WindowOp,
    operator_named,
    read_pad,
    read_transposed,
    read_window,
)
from onnxpad.semantics.rows import UnreadError

_NOTHING = "nothing to read"
"""Notes of a node that has no window and is no `Pad`."""

_Read = TypeVar("_Read", WindowOp, PadOp, TransposedOp)


class Context:
    """One graph of a model, its analysis, and the style that the user wants.

    A pass is given one. It reads `graph`, `analysis` and `user_options`, and calls `windows`,
    `pads`, `transposed`, `read` and `label`; all else is for the tool itself. Everything is read
    from the graph as it is now, so a pass that goes on after a rewrite sees the rewritten graph.

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
        hidden: The shapes in its model that onnxruntime must not learn, or has wrong.
        reported: The nodes, by identity, about which a rewriting rule has a finding.
        absorbed: Names of padded tensors all of whose consumers are known to take the padding; they
            stay where edits are undone, since they only say what is worth a trial.
        closed: Why nothing in this graph is rewritten, although it could be read; empty for most.
        outer: For a body, the context of the graph around it.
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
        hidden: HiddenShapes | None = None,
        holders: Sequence[tuple[Context, Node]] = (),
    ) -> None:
        """Analyses a graph for the options of a user, and the sizes that they allow.

        Bodies and functions have the `domains` of the main graph, each with their own analysis;
        `rewrite.scopes` knows what else they need, as `Sites` has it, with the nodes that run them.
        `known` are domains of a main graph whose analyses still hold.
        """
        self.graph = graph
        self.outer = outer
        self.domains = domains or analysed_domains(graph, domain, known)
        self.analysis = self.domains[-1].analysis
        self.user_options = options or Options()
        self.size_domain = domain or SizeDomain()
        self.wants: Mapping[str, Wanted] | None = None
        self.choose(self.user_options.dynamic)
        self.trust = self.user_options.engine
        given = graph, self.analysis, None if outer is None else outer.sites, fed
        self.sites: Sites = Sites(*given, trust=self.trust)
        self.hidden = hidden or HiddenShapes()
        self.hidden.add(self, [(each.graph, node) for each, node in holders])
        self.reported: frozenset[int] = frozenset()
        self.absorbed: set[str] = set()
        self.closed = ""
        self._listed: tuple[int, dict[type, list[Any]]] | None = None

    def choose(self, dynamic: str) -> None:
        """Takes another choice for open sizes, on which no analysis depends."""
        asked = self.user_options
        is_pad = asked.style == "pad"  # where even size-dependent padding goes into a Pad
        dynamic = "pad" if dynamic == "keep" and is_pad else dynamic
        is_symmetric = asked.symmetric_transpose or asked.style == "symmetric"
        self._usual = Wanted(asked.style, dynamic, asked.no_ceil, is_symmetric)
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
            names = {self.graph.unique(out.name) for out in node.outputs}
            own = {name for name in names if name in known}
            found.update(own)
            return () if own else node.outputs

        way = downstream(onward(node), lambda use: onward(use.node))
        return None if any(each is None for each in way) else found

    def misinferred(self, tensor: Tensor) -> RefusalError | None:
        """The refusal of a tensor about whose sizes onnx's shape inference is wrong, if it is.

        The runtime allocates what is inferred, and from its basic level on folds each Shape to it,
        unless something between states the right size, such as `output_shape`, SAME or a Slice.
        """
        if tensor not in self.hidden.missized(self.graph):
            return None
        said = "onnx's shape inference is wrong about a size, which so far does no harm"
        return RefusalError(Reason.SIZE_MISINFERRED, said, tensor=tensor.name)

    def unpadded(self, op: WindowOp, choice: Choice) -> RefusalError | None:
        """Why no new `Pad` may be before an operator, if the runtime would do harm."""
        graph, analysis, hidden = self.graph, self.analysis, self.hidden
        is_half = analysis.dtype(op.data) == TensorProto.FLOAT16
        if is_half and (hazard := hidden.in_halves(graph)):
            said = f"beside a Pad, {RUNTIME} would compute in 32 bits and {hazard.does}"
            return RefusalError(Reason.KERNEL_CRASHES, said, operator=graph.label(hazard.node))
        claims = graph.claims("value_info") if choice.padding is None else ()
        for tensor in lies(claims, analysis):
            if not hidden.keeps(graph, tensor):
                continue
            said = f"{RUNTIME} would compute the amounts from a wrong declared shape that stays"
            return RefusalError(Reason.WRONG_DECLARATION, said, tensor=tensor.name)
        # Each may share its buffer with a new `Pad` that is inferred to be as large; no output may.
        inner = (each for each in hidden.missized(graph) if not graph.is_output(each))
        return next(filter(None, map(self.misinferred, inner)), None)

    def options(self, refusal: RefusalError) -> tuple[str, ...]:
        """The options of a refusal that the user may still pass.

        Left out are those that were given, but for ranges, that contradict one that was, that
        `--strict` forbids or may forbid, and those that are tried for each padding (`wants`).
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
            is_shape = option == "--shape"  # one size may still help where a range fails
            named = given.named if is_shape else given.named - given.given.keys()
            shaped = given.shaped if is_shape else ()
            return not any(label in named or tensor in shaped for label, tensor in axes)

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

    def unreadable(self) -> Iterator[tuple[Node, UnreadError]]:
        """The nodes that cannot be read, in file order, and why.

        They are operators with a window, `Pad`s, and all that contradict their schema.
        """
        yield from self._reads().get(UnreadError, ())

    def each(self, kind: type[_Read]) -> Iterator[_Read]:
        """The readable nodes of a kind; the graph may be edited during the iteration."""
        journal = self.graph.model.journal
        count = journal.count
        for read in self._reads().get(kind, ()):
            now, reading = read, read.node.reading
            if journal.count != count and not (reading and reading[1] is read and read.node.alive):
                now = self.read(read.node)
            if isinstance(now, kind):
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
                    is_wrong = isinstance(read, UnreadError)
                    found[type(read)].append((node, read) if is_wrong else read)
            self._listed = version, found
        return self._listed[1]

    def read(self, node: Node) -> WindowOp | PadOp | TransposedOp | UnreadError | None:
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
            return UnreadError(why) if why else None
        if row.scatters:
            return self._tried(read_transposed, node)
        return self._tried(read_window, node)

    def pad(self, node: Node) -> PadOp | UnreadError:
        """Reads a `Pad` node, or says why it cannot be read."""
        return self._tried(read_pad, node)

    def _tried(
        self, reads: Callable[[Graph, Analysis, Node], _Read], node: Node
    ) -> _Read | UnreadError:
        try:
            return reads(self.graph, self.analysis, node)
        except UnreadError as error:
            return error

    def settle(self) -> None:
        """Begins a round of passes, in which unknown answers are worked out anew."""
        journal = self.graph.model.journal
        if journal.count != journal.settled:
            journal.count = journal.settled = journal.count + 1


class Match(Struct, frozen=True):
    """A finding of a pass, and the plan to rewrite it.

    Attributes:
        finding: The finding, for the user.
        node: The node whose outputs must stay the same.
        plan: The data that `rewrite` needs; None for a refusal.
        about: The node that the finding names; None where it is in no graph that is rewritten.
        decides: Whether the plan rests on the engine that is trusted where two disagree.
    """

    finding: Finding
    node: Node
    plan: Any = None
    about: Node | None = None
    decides: bool = False


class Pass:
    """Base class of passes: one idea, one code.

    A subclass's docstring is the catalogue's page on its code. `find` reads and decides, and goes
    on after each match is settled, when older plans may be stale; `rewrite` carries a plan out.

    Attributes:
        code: The code of its findings.
        severity: The severity of what it finds, if it can be rewritten or is only reported.
        why: Why what it writes means the same, for its findings.
        last: Whether its turn comes only when no other pass finds anything more to do, as for what
            protects a `Pad` from the optimiser.
        rewrites: Whether it ever rewrites; a pass that only reports runs once, at the end.
        scopes: Whether it also looks into bodies and functions that are closed to rewrites, to
            report what stays there; no other pass does.
        behind: Whether it takes padding downstream of its operator, such as a crop, so that proofs
            read the steps from there up to the operator, too.
        rest: Whether it reports what is left at the end: padding of its kind about which no pass
            that rewrites has a finding.
    """

    code: ClassVar[str]
    severity: ClassVar[Severity] = Severity.WARNING
    why: ClassVar[str] = ""
    last: ClassVar[bool] = False
    rewrites: ClassVar[bool] = True
    scopes: ClassVar[bool] = False
    behind: ClassVar[bool] = False
    rest: ClassVar[bool] = False

    def find(self, context: Context) -> Iterator[Match]:
        """Yields every finding about a graph, refusals included, in file order."""
        raise NotImplementedError

    def rewrite(self, match: Match, context: Context) -> tuple[Tensor, ...] | None:
        """Carries out the plan of a match.

        Returns:
            The tensors that replace the node's outputs (of a window operator or a `Pad`, only the
            first one), or None where they stay. What reads the old ones then reads these, where the
            pass is a user's.
        """
        raise NotImplementedError

    def found(
        self,
        context: Context,
        node: Node,
        message: str,
        plan: Any,
        *,
        becomes: str = "",
        why: str = "",
        severity: Severity | None = None,
        keeps: Node | None = None,
        decides: bool = False,
        **evidence: object,
    ) -> Match:
        """A match to rewrite.

        Args:
            context: The graph.
            node: The node that the finding names.
            message: How the padding is written.
            plan: The data that `rewrite` needs.
            becomes: How it is written then; the message has both, as `FROM -> TO: why`.
            why: Why that means the same; by default the pass's.
            severity: The severity; by default the pass's.
            keeps: The node whose output must stay, if it is another one.
            decides: Whether the plan rests on the engine that is trusted.
            evidence: Facts for the report.
        """
        if becomes:
            message += f" -> {': '.join(filter(None, (becomes, why or self.why)))}"
        finding = Finding(
            self.code,
            severity or self.severity,
            context.label(node),
            node.op,
            message,
            evidence=evidence,
            location=context.graph.location(node),
        )
        return Match(finding, keeps or node, plan, node, decides)

    def refused(
        self,
        context: Context,
        node: Node,
        message: str,
        reason: RefusalError,
        *,
        asked: str = "",
        **evidence: object,
    ) -> Match:
        """A match that stays as it is, with the reason; its facts join the evidence.

        `asked` is the option that asks for this padding as it is, if one does. Otherwise the
        reason names the options that would change it.
        """
        facts: dict[str, object] = {**reason.facts, **evidence}
        facts.pop("options", None)
        asked = asked or str(facts.pop("asked", ""))
        text = str(reason)
        if asked:
            asked = asked if context.wants is None else "--target"
            text, facts["asked"] = f"this is what {asked} asks for; {text}", asked
        elif options := context.options(reason):
            text, facts["options"] = advised(text, options), options
        match = self.found(context, node, message, None, severity=Severity.INFO)
        finding = replace(
            match.finding, reason=text, evidence=facts, reason_code=reason.code, brief=reason.brief
        )
        return replace(match, finding=finding)

    def reported(
        self,
        context: Context,
        node: Node,
        message: str,
        reason: str,
        *,
        severity: Severity | None = None,
        **evidence: object,
    ) -> Match:
        """A match that only reports, by default with the pass's severity; `reason` says why."""
        why = RefusalError(Reason.OWN_RULE, reason, **evidence)
        match = self.refused(context, node, message, why)
        return replace(match, finding=replace(match.finding, severity=severity or self.severity))


class Choice(Struct, frozen=True):
    """How a site is to be padded, as the proof allows, and in words.

    The padding is None where a `Pad` is to compute it, `pad` the one that it takes in, `decided`
    the disagreement that the trusted engine decides, `rest` what a new Slice crops behind it.
    """

    padding: Padding | None
    becomes: str
    facts: Mapping[str, Any] = MappingProxyType({})
    pad: PadOp | None = None
    why: str = ""
    decided: Mapping[str, Any] | None = None
    severity: Severity | None = None
    rest: Pairs = ()


class SitePass(Pass):
    """Base class of passes that give operators of a kind another `Padding`; others are a `Pass`."""

    kind: ClassVar[type[Any]] = WindowOp

    def applies(self, context: Context, op: Any) -> bool:
        """Whether an operator may be one to rewrite, as it is and as it is wanted."""
        return True

    def choose(self, context: Context, op: Any) -> Choice | None:
        """How an operator is to be padded, or a RefusalError; None where another pass says that."""
        raise NotImplementedError

    def told(self, context: Context, op: Any) -> tuple[Node, str, dict[str, Any]]:
        """The node that the finding names, how it is padded in words, and facts about it."""
        if isinstance(op, TransposedOp):
            return op.node, amounts_of(op).text, {}
        pads = f"pads {pads_text(op.pads)}"
        said = pads if op.auto_pad == "NOTSET" else f"auto_pad={op.auto_pad}"
        if op.auto_pad.startswith("SAME"):
            said += f", strides {tuple([window.stride for window in op.windows])}"
        return op.node, "ceil_mode, " * op.ceil_mode + said, {}

    def find(self, context: Context) -> Iterator[Match]:
        """Every operator that the pass applies to, again once it is rewritten."""
        for op in context.each(self.kind):
            # Another Pad may be upstream of the one that was folded.
            while self.applies(context, op) and (match := self._match(context, op)):
                version = context.graph.version
                yield match
                now = op if context.graph.version == version else context.read(op.node)
                if now is op or not isinstance(now, self.kind):
                    break
                op = now

    def _match(self, context: Context, op: Any) -> Match | None:
        try:
            choice = self.choose(context, op)
            if choice and _resizes(op, choice.padding) and (wrong := context.misinferred(op.data)):
                raise wrong
            if choice and _adds_pad(op, choice) and (wrong := context.unpadded(op, choice)):
                raise wrong
        except RefusalError as refusal:
            node, message, facts = self.told(context, op)
            if isinstance(op, TransposedOp) and not op.is_explicit:
                facts["auto_pad"] = op.auto_pad
            return self.refused(context, node, message, refusal, **facts)
        return None if choice is None else self._found(context, op, choice)

    def _found(self, context: Context, op: Any, choice: Choice) -> Match:
        node, message, facts = self.told(context, op)
        facts, whys, decided = {**choice.facts, **facts}, [choice.why or self.why], choice.decided
        slides = isinstance(op, WindowOp) and op.auto_pad != "NOTSET"
        repair = context.sites.why_not_run(op) if slides else ""
        if repair:
            whys.append(f"a repair, since {RUNTIME} does not run {repair}")
            facts["repair"] = repair
        if slides and context.trust is not None:
            disagreement = context.sites.disagreement(op)
            decided = disagreement.facts if disagreement else None
        if decided is not None:
            said = decided.get("disagreement", "")
            whys.append(f"by --trust {context.trust}{': ' * bool(said)}{said}")
            facts = {**decided, **facts, "trusts": context.trust}
        return self.found(
            context,
            node,
            message,
            (op, choice),
            becomes=choice.becomes,
            why="; ".join(filter(None, whys)),
            severity=Severity.ERROR if repair else choice.severity,
            keeps=op.node,
            decides=decided is not None,
            **facts,
        )

    def rewrite(self, match: Match, context: Context) -> None:
        """Writes the padding, computed in a `Pad` where none was chosen."""
        op, choice = match.plan
        if choice.padding is None:
            write_computed(context.graph, context.analysis, op)
        else:
            write(context.graph, context.analysis, op, choice.padding, choice.pad)


def _resizes(op: WindowOp | TransposedOp, becomes: Padding | None) -> bool:
    """Whether the output's size is counted otherwise then: another where that of data is wrong."""
    if isinstance(op, TransposedOp):
        return op.output_shape is not None
    was, strides = (op.auto_pad[:4] == "SAME", op.ceil_mode), {each.stride for each in op.windows}
    return strides != {1} and becomes is not None and was != (becomes.is_same, becomes.ceil)


def _adds_pad(op: WindowOp | TransposedOp, choice: Choice) -> bool:
    """Whether a `Pad` is newly written, or one of other amounts."""
    if isinstance(op, TransposedOp) or choice.padding is None:
        return choice.padding is None
    outside, pad = choice.padding.outside, choice.pad
    return bool(outside) and (pad is None or not has_amounts(op, pad, outside))


class PadBefore(SitePass):
    """Base class of those that are about a `Pad` in front of an operator."""

    def applies(self, context: Context, op: WindowOp) -> bool:
        """Every operator that reads what a `Pad` gives, perhaps through Identity."""
        above = op.data.producer
        return above is not None and above.op in {"Pad", "Identity"}

    def told(self, context: Context, op: WindowOp) -> tuple[Node, str, dict[str, Any]]:
        """The `Pad`, its amounts, and the operator."""
        pad, label = context.sites.pad_before(op), context.graph.label(op.node)
        assert pad is not None
        known, how = pad.over(op.rank), "computed " * (pad.constant_amounts is None)
        amounts = "" if known is None else f" {op.operator.layout.text(known)}"
        said = f"{how}Pad{amounts} before {op.node.op} {label!r}"
        return pad.node, said, {"before": context.label(op.node)}
