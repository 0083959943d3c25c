"""PAD703 to PAD706: padding that a target does not take, or of which that is not known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import ClassVar

from msgspec.structs import asdict

from onnxpad.facts import open_axes
from onnxpad.finding import Finding, Severity
from onnxpad.reasons import BY_SIZE, BY_TRUST, Reason, advised
from onnxpad.rewrite.pass_api import Context
from onnxpad.rewrite.run import AtLast, Run
from onnxpad.semantics.operators import PadOp, WindowOp, is_pad
from onnxpad.targets.choose import Choice, Reply, answers_to, choose, grade
from onnxpad.targets.form import Placed, forms_of

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


class ReportWrong(TargetReport):
    """Padding of which a target computes something else, without an error.

    ## What it does
    With `--target`, each padding in a form that gave other results there than the specification and
    onnxruntime. `fix --target` writes it otherwise where a form is known that the target computes
    rightly. The finding names the version, and the models that were run or the source that was
    read.
    ## Why it matters
    Nothing stops: the network runs, and its accuracy is lost.
    ## Example
        y = MaxPool <dilations = [2, 2], kernel_shape = [2, 2], pads = [1, 1, 1, 1]> (x)
    stays with `--target opencv@4`
    where
        float[1, 2, 9, 8] x
    ## When it is exact
    Nothing is rewritten by this rule: those that write the padding say when that is exact.
    ## References
    `onnxpad targets NAME` lists all that is known of a target, with its sources.
    """

    code = "PAD703"


class ReportRejected(TargetReport):
    """Padding that a target does not run.

    ## What it does
    With `--target`, each padding in a form at which the target's importer or kernel stopped.
    `fix --target` writes it otherwise where a form is known that the target computes rightly.
    ## Why it matters
    An importer stops at the first form that it does not know, often without naming the node.
    ## Example
        y = Pad <mode = "wrap"> (x, pads)
    stays with `--target tract`
    where
        float[1, 2, 8, 8] x
        int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}
    ## When it is exact
    Nothing is rewritten by this rule: those that write the padding say when that is exact.
    ## References
    `onnxpad targets NAME` lists all that is known of a target, with its sources.
    """

    code = "PAD704"


class ReportFallback(TargetReport):
    """Padding that a target hands over to another provider.

    ## What it does
    With `--target`, each padding in a form that runs rightly, but not where it should: data is
    copied there and back. It is a warning where `fix --target` writes a form that stays.
    ## Why it matters
    Each change of provider costs more than most operators.
    ## Example
        y = Pad <mode = "reflect"> (x, pads)
    stays with `--target coreml`
    where
        float[1, 2, 8, 8] x
        int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}
    ## When it is exact
    Nothing is rewritten by this rule: those that write the padding say when that is exact.
    ## References
    `onnxpad targets NAME` lists all that is known of a target, with its sources.
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
    ## When it is exact
    Nothing is rewritten by this rule: those that write the padding say when that is exact.
    ## References
    `onnxpad targets NAME` lists all that is known of a target, with its sources.
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
        for answer, best in zip(site.answers, site.best, strict=True):
            mends = grade(best.cell) < grade(answer.cell)
            yield from _findings(site.placed, answer, choice, mends=mends)


def findings_after(choice: Choice, contexts: Iterable[Context]) -> Iterator[Finding]:
    """Padding that targets do not take of the graphs of a model as they are now."""
    for placed in forms_of(contexts, bare=True):
        for answer in answers_to(placed.form, choice.targets):
            yield from _findings(placed, answer, choice, mends=False)


def _findings(placed: Placed, answer: Reply, choice: Choice, *, mends: bool) -> Iterator[Finding]:
    (target, cell), (context, node, form, *_) = answer, placed
    if cell.verdict == "right":
        return
    report = _BY_VERDICT[cell.verdict]
    does = _told(answer)
    message = f"{form.text}; {does}" if mends else form.text
    is_known = cell.verdict != "unknown"  # nothing is tried for what may be right
    known = ((key, target) for key in placed.keys if is_known)
    blocked = next((choice.blocked[each] for each in known if each in choice.blocked), None)
    stays = _STAYS
    if blocked is not None:
        taken = "another writing" if blocked[0].text == form.text else blocked[0].text
        stays = f"it takes {taken}, but {_told(blocked[1])}"
    reason = "" if mends else f"{does}; {_BY_NONE if cell.limit else stays}"
    depends = "open" in {form.pads, form.outer} and not cell.limit
    option = cell.advice or ("--shape" if depends else "")
    is_vain = option.partition(" ")[0] in BY_SIZE and not _are_decided_by_sizes(placed)
    options = [option] if option and not is_vain else []
    if not mends and not cell.limit:
        options += _deciding(placed)
    if cell.verdict == "rejected" and not mends and not cell.limit:
        styles = (choice.untried[key] for key in placed.keys if key in choice.untried)
        options += [f"--style {each}" for each in styles][:1]
    if reason:
        reason = advised(reason, options)
    usual = asdict(type(form)(form.op))
    told = {name: value for name, value in asdict(form).items() if value != usual[name]}
    facts = {**_said(answer), "models": [*cell.forms], "form": told}
    if options:
        facts["options"] = options
    if blocked is not None and not mends and not cell.limit:
        facts["blocked_by"] = _said(blocked[1])
    yield Finding(
        report.code,
        report.severity if mends else report.stays,
        context.label(node),
        str(node.op),
        message,
        reason,
        facts,
        reason_code=Reason.TARGET if reason else "",
        location=context.graph.location(node),
    )


def _said(reply: Reply) -> dict[str, object]:
    (target, cell) = reply
    return {
        "target": target.full_name,
        "verdict": cell.verdict,
        "measured": cell.measured,
        "source": cell.source,
    }


def _are_decided_by_sizes(placed: Placed) -> bool:
    """Whether sizes that a person gives may decide a padding: not where amounts are data."""
    context, node, _, nodes, _ = placed
    pads = [context.pad(each) for each in (node, *nodes) if is_pad(context.graph, each)]
    computed = [pad for pad in pads if isinstance(pad, PadOp) and pad.constant_amounts is None]
    amounts = context.sites.wording.amounts
    inputs = context.graph.model.main.inputs
    is_open = any(open_axes(inputs)) or any(shape is None for _, shape in inputs.values())
    return is_open and all(amounts(pad).code != Reason.AMOUNTS_UNKNOWN for pad in computed)


def _deciding(placed: Placed) -> list[str]:
    """The options that decide what a padding means, where engines disagree on that."""
    context = placed.context
    op, refusal = context.read(placed.node), None
    if isinstance(op, WindowOp):
        refusal = context.sites.disagreement(op)
    found = () if refusal is None else context.options(refusal)
    return [option for option in found if option in BY_TRUST]


def _told(reply: Reply) -> str:
    """The fate of a form at a target, in which version, and how that is known."""
    target, cell = reply
    title = f"{target.name} {cell.version or target.version}".rstrip()
    note = f": {cell.note}" if cell.note else ""
    return f"{title} {_WORDS[cell.verdict]}{note} [{cell.known_by}]"
