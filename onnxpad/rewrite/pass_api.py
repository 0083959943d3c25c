"""The base class of passes: each finds padding, with reasons, and rewrites it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.facts import Facts
from onnxpad.finding import Finding, Severity
from onnxpad.graph import Node, Tensor
from onnxpad.messages import Named
from onnxpad.reasons import Reason, RefusalError, advised
from onnxpad.rewrite.context import Context


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
        message: str | Named,
        plan: Any,
        *,
        becomes: str = "",
        why: str | Named = "",
        severity: Severity | None = None,
        keeps: Node | None = None,
        decides: bool = False,
        **evidence: object,
    ) -> Match:
        """A match to rewrite.

        Args:
            context: The graph.
            node: The node that the finding names.
            message: How the padding is written; with the same without names where it begins with
                the operator or has names.
            plan: The data that `rewrite` needs.
            becomes: How it is written then; the message has both, as `FROM -> TO: why`.
            why: Why that means the same; by default the pass's.
            severity: The severity; by default the pass's.
            keeps: The node whose output must stay, if it is another one.
            decides: Whether the plan rests on the engine that is trusted.
            evidence: Facts for the report.
        """
        ends = [
            f" -> {becomes}{f': {each}' if each else ''}" if becomes else ""
            for each in (why if isinstance(why, Named) else [why or self.why] * 2)
        ]
        text, alike = (message, "") if isinstance(message, str) else message
        finding = Finding(
            self.code,
            severity or self.severity,
            context.label(node),
            node.op,
            text + ends[0],
            evidence=Facts(evidence),
            location=context.graph.location(node),
            alike=alike and alike + ends[1],
        )
        return Match(finding, keeps or node, plan, node, decides)

    def refused(
        self,
        context: Context,
        node: Node,
        message: str | Named,
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
        text, general = str(reason), reason.general
        if asked:
            asked = asked if context.wants is None else "--target"
            text, facts["asked"] = f"this is what {asked} asks for; {text}", asked
        elif options := context.options(reason):
            text, facts["options"] = advised(text, options), options
            general = advised(general, options)
        match = self.found(context, node, message, None, severity=Severity.INFO)
        finding = replace(
            match.finding,
            reason=text,
            evidence=Facts(facts),
            reason_code=reason.code,
            brief=reason.brief,
            general=general,
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
