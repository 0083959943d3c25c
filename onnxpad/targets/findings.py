"""PAD703 to PAD706: padding that a target does not take, or of which that is not known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from inspect import cleandoc
from typing import ClassVar

from onnxpad.facts import open_axes
from onnxpad.finding import Finding, Severity
from onnxpad.reasons import BY_SIZE, BY_TRUST, Reason, advised
from onnxpad.rewrite.pass_api import Context
from onnxpad.rewrite.run import AtLast, Run
from onnxpad.semantics.operators import PadOp, WindowOp, is_pad
from onnxpad.targets.choose import Choice, Reply, answers_to, choose, grade
from onnxpad.targets.form import Placed, forms_of
from onnxpad.targets.target import Cell

_WORDS = {
    "wrong": "computes something else",
    "rejected": "does not run it",
    "fallback": "leaves it to another provider",
    "unknown": "is not known to take it",
}
_STAYS = "no writing that can be made is known to be taken better"
_BY_NONE = "no padding mends it"


class TargetReport:
    """Base class of these reports: one verdict, one code.

    A subclass's docstring is the catalogue's page on its code, as for a `Pass`.

    Attributes:
        code: The code of its findings.
        severity: Their severity where `fix --target` mends what they tell.
        stays: Their severity where nothing does.
    """

    code: ClassVar[str]
    severity: ClassVar[Severity] = Severity.ERROR
    stays: ClassVar[Severity] = Severity.ERROR

    def __init_subclass__(cls) -> None:
        """Ends the page with what holds for all of them."""
        cls.__doc__ = f"{cleandoc(cls.__doc__ or '')}\n{_END}"


_END = """## When it is exact
Nothing is rewritten by this rule: those that write the padding say when that is exact.
## References
`onnxpad targets NAME` lists all that is known of a target, with its sources."""


class ReportWrong(TargetReport):
    """Padding of which a target computes something else, without an error.

    ## What it does
    With `--target`, each padding in a form that gave other results there than the specification and
    onnxruntime, with what says so: models that were run, or a source that was read. `fix` writes it
    in a form that is known to be computed rightly, if there is one.
    ## Why it matters
    Nothing stops: the network runs, and its accuracy is lost.
    ## Example
        y = MaxPool <dilations = [2, 2], kernel_shape = [2, 2], pads = [1, 1, 1, 1]> (x)
    stays with `--target opencv@4`
    where
        float[1, 2, 9, 8] x
    """

    code = "PAD703"


class ReportRejected(TargetReport):
    """Padding that a target does not run.

    ## What it does
    With `--target`, each padding in a form at which the target's importer or kernel stopped. `fix`
    writes it in a form that is known to be computed rightly, if there is one.
    ## Why it matters
    An importer stops at the first form that it does not know, often without naming the node.
    ## Example
        y = Pad <mode = "wrap"> (x, pads)
    stays with `--target tract`
    where
        float[1, 2, 8, 8] x
        int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}
    """

    code = "PAD704"


class ReportFallback(TargetReport):
    """Padding that a target hands over to another provider.

    ## What it does
    With `--target`, each padding in a form that runs rightly, but not where it should. It is a
    warning where `fix --target` writes a form that stays.
    ## Why it matters
    Data is copied there and back, which costs more than most operators.
    ## Example
        y = Pad <mode = "reflect"> (x, pads)
    stays with `--target coreml`
    where
        float[1, 2, 8, 8] x
        int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}
    """

    code = "PAD705"
    severity = Severity.WARNING
    stays = Severity.INFO


class ReportUnknown(TargetReport):
    """Padding of which it is not known whether a target takes it.

    ## What it does
    With `--target`, each padding in a form that was neither run there nor found in its source, and
    that no other form is known to be better than.
    ## Why it matters
    What nobody has run is no promise.
    ## Example
        y = LpPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x)
    stays with `--target openvino`
    where
        float[1, 2, 8, 8] x
    """

    code = "PAD706"
    severity = Severity.INFO
    stays = Severity.INFO


TARGET_REPORTS = (ReportWrong, ReportRejected, ReportFallback, ReportUnknown)
_BY_VERDICT = dict(zip(("wrong", "rejected", "fallback", "unknown"), TARGET_REPORTS, strict=True))


def writing(run: Run) -> AtLast:
    """Has a run write each padding as its targets need it.

    Returns:
        What finds the padding that they do not take in the graphs that it leaves.

    Raises:
        UsageError: As `choose`.
        ModelError: As `choose`.
    """
    return partial(findings_after, choose(run))


def findings_before(choice: Choice) -> Iterator[Finding]:
    """Padding of the original that targets do not take; fixable where the choice mends it."""
    for site in choice.sites:
        for reply, (_, best) in zip(site.answers, site.best, strict=True):
            mends = grade(best) < grade(reply[1])
            yield from _findings(site.placed, reply, choice, mends=mends)


def findings_after(choice: Choice, contexts: Iterable[Context]) -> Iterator[Finding]:
    """Padding that targets do not take of the graphs of a model as they are now."""
    for placed in forms_of(contexts, bare=True):
        for reply in answers_to(placed.form, choice.targets):
            yield from _findings(placed, reply, choice, mends=False)


def _findings(placed: Placed, reply: Reply, choice: Choice, *, mends: bool) -> Iterator[Finding]:
    (target, cell), (context, node, form, *_) = reply, placed
    if cell.verdict == "right":
        return
    report, does = _BY_VERDICT[cell.verdict], _told(reply)
    facts = {**_said(reply), "models": [*cell.forms], "form": form.said}
    message, reason, options = f"{form.text}; {does}", "", [*_mending(placed, cell)]
    if not mends:
        message, reason = form.text, f"{does}; {_BY_NONE if cell.limit else _STAYS}"
    if not mends and not cell.limit:
        options += _deciding(placed)
        if cell.verdict == "rejected" and (style := choice.untried(placed)):
            options.append(f"--style {style}")
        # Nothing was tried for what may be right.
        if cell.verdict != "unknown" and (blocked := choice.blocked(placed, target)):
            other, against = blocked
            taken = "another writing" if other.text == form.text else other.text
            reason = f"{does}; it takes {taken}, but {_told(against)}"
            facts["blocked_by"] = _said(against)
    if options:
        facts["options"] = options
    yield Finding(
        report.code,
        report.severity if mends else report.stays,
        context.label(node),
        str(node.op),
        message,
        advised(reason, options) if reason else "",
        facts,
        reason_code=Reason.TARGET if reason else "",
        location=context.graph.location(node),
    )


def _said(reply: Reply) -> dict[str, object]:
    target, cell = reply
    return {
        "target": target.full_name,
        "verdict": cell.verdict,
        "measured": cell.measured,
        "source": cell.source,
    }


def _mending(placed: Placed, cell: Cell) -> Iterator[str]:
    """The option that mends it; sizes only where they may decide, not where amounts are data."""
    context, form = placed.context, placed.form
    option = cell.advice or "--shape" * (form.is_open and not cell.limit)
    if option.partition(" ")[0] in BY_SIZE:
        nodes = [each for each in (placed.node, *placed.nodes) if is_pad(context.graph, each)]
        pads = [pad for each in nodes if isinstance(pad := context.pad(each), PadOp)]
        unknown = [
            pad
            for pad in pads
            if pad.constant_amounts is None
            and context.sites.wording.amounts(pad).code == Reason.AMOUNTS_UNKNOWN
        ]
        inputs = context.graph.model.main.inputs
        is_open = any(open_axes(inputs)) or any(shape is None for _, shape in inputs.values())
        option *= is_open and not unknown
    if option:
        yield option


def _deciding(placed: Placed) -> list[str]:
    """The options that decide what a padding means, where engines disagree on that."""
    context, op = placed.context, placed.context.read(placed.node)
    refusal = context.sites.disagreement(op) if isinstance(op, WindowOp) else None
    found = () if refusal is None else context.options(refusal)
    return [option for option in found if option in BY_TRUST]


def _told(reply: Reply) -> str:
    """The fate of a form at a target, in which version, and how that is known."""
    target, cell = reply
    title = f"{target.name} {cell.version or target.version}".rstrip()
    note = f": {cell.note}" * bool(cell.note)
    return f"{title} {_WORDS[cell.verdict]}{note} [{cell.known_by}]"
