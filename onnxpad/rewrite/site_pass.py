"""The passes over operators that slide: a padding is chosen and proved, and only then written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from msgspec import Struct

from onnxpad.arithmetic.notation import pads_text
from onnxpad.finding import Severity
from onnxpad.graph import Node
from onnxpad.messages import RUNTIME, Named
from onnxpad.options import Wanted
from onnxpad.padding.crops import amounts_of
from onnxpad.padding.padding import Padding
from onnxpad.padding.write import write
from onnxpad.reasons import RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Match, Pass
from onnxpad.semantics.amounts import Pairs
from onnxpad.semantics.read_nodes import PadOp, TransposedOp, WindowOp


class Choice(Struct, frozen=True):
    """How a site is to be padded, as the proof allows.

    Attributes:
        padding: The padding; None where a `Pad` is to compute it.
        becomes: The same in words.
        facts: What the report says of it beside.
        pad: The `Pad` in front of it of which that is all.
        why: Why it means the same; by default the pass's.
        decided: What is known of the disagreement that the trusted engine decides, if one does.
        severity: The severity of the finding; by default the pass's.
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
    """Base class of passes that give an operator another `Padding`; others are a `Pass`.

    Attributes:
        kind: What it reads an operator as: a `WindowOp` or a `TransposedOp`.
    """

    kind: ClassVar[type[Any]] = WindowOp

    def applies(self, was: Any, wanted: Wanted) -> bool:
        """Whether an operator may be one to rewrite, as it is and as it is wanted."""
        return True

    def choose(self, context: Context, op: Any) -> Choice | None:
        """How an operator is to be padded; None where another pass says that.

        Raises:
            RefusalError: It stays as it is; the message says why.
        """
        raise NotImplementedError

    def told(self, context: Context, op: Any) -> tuple[Node, str | Named, dict[str, Any]]:
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
        """The match to rewrite, which says whether it is a repair, and who decides."""
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

    def told(self, context: Context, op: WindowOp) -> tuple[Node, str | Named, dict[str, Any]]:
        """The `Pad`, its amounts, and the operator."""
        pad, label = context.sites.pad_before(op), context.graph.label(op.node)
        assert pad is not None
        known, how = pad.over(op.rank), "computed " * (pad.constant_amounts is None)
        amounts = "" if known is None else f" {op.operator.layout.text(known)}"
        said = f"{how}Pad{amounts} before {op.node.op}"
        return pad.node, Named(f"{said} {label!r}", said), {"before": context.label(op.node)}
