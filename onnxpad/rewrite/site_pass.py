"""The passes over window operators: a padding is chosen and proved, and only then written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from onnxpad.arithmetic.notation import pads_text
from onnxpad.finding import Severity
from onnxpad.graph import Node
from onnxpad.messages import RUNTIME, Named
from onnxpad.options import Wanted
from onnxpad.padding.padding import Padding
from onnxpad.padding.write import write
from onnxpad.reasons import RefusalError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Match, Pass
from onnxpad.semantics.read_nodes import PadOp, WindowOp


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
    """

    padding: Padding | None
    becomes: str
    facts: Mapping[str, Any] = MappingProxyType({})
    pad: PadOp | None = None
    why: str = ""
    decided: Mapping[str, Any] | None = None
    severity: Severity | None = None


class SitePass(Pass):
    """Base class of passes that give a window operator another `Padding`; others are a `Pass`."""

    def applies(self, was: WindowOp, wanted: Wanted) -> bool:
        """Whether an operator may be one to rewrite, as it is and as it is wanted."""
        return True

    def choose(self, context: Context, op: WindowOp) -> Choice | None:
        """How an operator is to be padded; None where another pass says that.

        Raises:
            RefusalError: It stays as it is; the message says why.
        """
        raise NotImplementedError

    def told(self, context: Context, op: WindowOp) -> tuple[Node, str | Named, dict[str, Any]]:
        """The node that the finding names, how it is padded in words, and facts about it."""
        said = (
            f"auto_pad={op.auto_pad}" if op.auto_pad != "NOTSET" else f"pads {pads_text(op.pads)}"
        )
        if op.auto_pad.startswith("SAME"):
            said += f", strides {tuple(window.stride for window in op.windows)}"
        return op.node, "ceil_mode, " * op.ceil_mode + said, {}

    def find(self, context: Context) -> Iterator[Match]:
        """Every operator that the pass applies to, again once it is rewritten."""
        graph = context.graph
        for op in context.windows():
            if not self.applies(op, context.wanted(op.node)):
                continue
            match = self._match(context, op)
            while match is not None:
                version = graph.version
                yield match
                now = op if graph.version == version else context.window(op.node)
                if now is op or not isinstance(now, WindowOp):
                    break
                # Another Pad may be upstream of the folded one.
                applies = self.applies(now, context.wanted(now.node))
                match = self._match(context, now) if applies else None

    def _match(self, context: Context, op: WindowOp) -> Match | None:
        """What there is to say of an operator."""
        try:
            choice = self.choose(context, op)
        except RefusalError as refusal:
            node, message, facts = self.told(context, op)
            return self.refused(context, node, message, refusal, **facts)
        return None if choice is None else self._found(context, op, choice)

    def _found(self, context: Context, op: WindowOp, choice: Choice) -> Match:
        """The match to rewrite, which says whether it is a repair, and who decides."""
        node, message, facts = self.told(context, op)
        facts, whys, decided = {**choice.facts, **facts}, [choice.why or self.why], choice.decided
        repair = "" if op.auto_pad == "NOTSET" else context.sites.why_not_run(op)
        if repair:
            whys.append(f"a repair, since {RUNTIME} does not run {repair}")
            facts["repair"] = repair
        if decided is None and context.trust is not None:
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
            (op, choice.padding, choice.pad),
            becomes=choice.becomes,
            why="; ".join(filter(None, whys)),
            severity=Severity.ERROR if repair else choice.severity,
            keeps=op.node,
            decides=decided is not None,
            **facts,
        )

    def rewrite(self, match: Match, context: Context) -> None:
        """Writes the padding, computed in a `Pad` where none was chosen."""
        op, padding, pad = match.plan
        if padding is None:
            context.open_sites.write_computed(op)
        else:
            write(context.graph, context.analysis, op, padding, pad)


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
