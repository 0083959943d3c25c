"""The base classes of passes: each finds padding, with reasons, and rewrites it.

Those over operators that slide choose a padding, which is proved and only then written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic.window import pads_text
from onnxpad.errors import RUNTIME
from onnxpad.finding import Finding, Severity
from onnxpad.graph import Node, Tensor
from onnxpad.options import Wanted
from onnxpad.padding.crops import amounts_of
from onnxpad.padding.padding import Padding
from onnxpad.padding.write import write
from onnxpad.reasons import Reason, RefusalError, advised
from onnxpad.rewrite.context import Context
from onnxpad.semantics.layers import Pairs
from onnxpad.semantics.operators import PadOp, TransposedOp, WindowOp


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
            first one), or None where they stay.
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
            match.finding,
            reason=text,
            evidence=facts,
            reason_code=reason.code,
            brief=reason.brief,
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
    """How a site is to be padded, as the proof allows.

    Attributes:
        padding: The padding; None where a `Pad` is to compute it.
        becomes: The same in words.
        pad: The `Pad` in front of it of which that is all.
        decided: What is known of the disagreement that the trusted engine decides, if one does.
        rest: What a new Slice crops behind a transposed convolution.
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

    def applies(self, was: Any, wanted: Wanted) -> bool:
        """Whether an operator may be one to rewrite, as it is and as it is wanted."""
        return True

    def choose(self, context: Context, op: Any) -> Choice | None:
        """How an operator is to be padded, or a RefusalError; None where another pass says that."""
        raise NotImplementedError

    def told(self, context: Context, op: Any) -> tuple[Node, str, dict[str, Any]]:
        """The node that the finding names, how it is padded in words, and facts about it."""
        is_auto = op.auto_pad != "NOTSET"
        if isinstance(op, TransposedOp):
            return op.node, amounts_of(op).text, {}
        said = f"auto_pad={op.auto_pad}" if is_auto else f"pads {pads_text(op.pads)}"
        if op.auto_pad.startswith("SAME"):
            said += f", strides {tuple(window.stride for window in op.windows)}"
        return op.node, "ceil_mode, " * op.ceil_mode + said, {}

    def find(self, context: Context) -> Iterator[Match]:
        """Every operator that the pass applies to, again once it is rewritten."""
        graph = context.graph
        for op in context.each(self.kind):
            match = self._match(context, op)
            while match is not None:
                version = graph.version
                yield match
                now = op if graph.version == version else context.read(op.node)
                if now is op or not isinstance(now, self.kind):
                    break
                match = self._match(context, now)  # another Pad may be upstream of the folded one

    def _match(self, context: Context, op: Any) -> Match | None:
        """What there is to say of an operator."""
        if not self.applies(op, context.wanted(op.node)):
            return None
        try:
            choice = self.choose(context, op)
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
        if slides and decided is None and context.trust is not None:
            disagreement = context.sites.disagreement(op)
            decided = None if disagreement is None else disagreement.facts
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
            context.open_sites.write_computed(op)
        else:
            write(context.graph, context.analysis, op, choice.padding, choice.pad)


class PadBefore(SitePass):
    """Base class of those that are about a `Pad` in front of an operator."""

    def told(self, context: Context, op: WindowOp) -> tuple[Node, str, dict[str, Any]]:
        """The `Pad`, its amounts, and the operator."""
        pad, label = context.sites.pad_before(op), context.graph.label(op.node)
        assert pad is not None
        known, how = pad.over(op.rank), "computed " * (pad.constant_amounts is None)
        amounts = "" if known is None else f" {op.operator.layout.text(known)}"
        said = f"{how}Pad{amounts} before {op.node.op} {label!r}"
        return pad.node, said, {"before": context.label(op.node)}
