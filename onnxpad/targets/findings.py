"""PAD703 to PAD706: padding that a target does not take, or of which that is not known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from onnxpad.errors import and_list
from onnxpad.facts import open_axes
from onnxpad.finding import Finding, Severity
from onnxpad.reasons import BY_SIZE, BY_TRUST, Reason, RefusalError, advised
from onnxpad.rewrite.pass_api import Context
from onnxpad.semantics.operators import PadOp, WindowOp
from onnxpad.targets.choose import Fate, answers_to, asked_of, grade, targets_of
from onnxpad.targets.form import Form, Placed, forms_of
from onnxpad.targets.target import TAKEN, VERDICTS, Cell, Target


class TargetReport:
    """What is reported of one verdict, and how severe that is where `fix` mends it."""

    def __init__(self, code: str, does: str, severity: Severity, target: str) -> None:
        """Takes what a target does, and the name of one that does so."""
        self.code, self.does, self.severity = code, does, severity
        self.__doc__ = _PAGE.format(does=does, target=target)


_PAGE = """Padding where a target {does}.

## What it does
With `--target`, tells each such padding with what says so. `fix` writes a form known to be taken.
For the rest try other sizes (`--dim`), your own pass (`onnxpad docs passes`), or another model that
you compare by `onnxpad validate` and `prove`.
## Why it matters
An importer stops, goes on with other numbers, or copies data to another provider and back.
## Example
    y = Pad <mode = "wrap"> (x, pads)
stays with `--target {target}`
where
    float[1, 2, 9, 8] x
    int64[8] pads = {{0, 0, 1, 1, 0, 0, 1, 1}}
## When it is exact
The rules that write the padding say so; this one rewrites nothing.
## References
`onnxpad targets NAME` lists all that is known of a target, with its sources."""

WRONG = TargetReport("PAD703", "computes something else", Severity.ERROR, "ncnn")
REJECTED = TargetReport("PAD704", "does not run it", Severity.ERROR, "tract")
FALLBACK = TargetReport("PAD705", "leaves it to another provider", Severity.WARNING, "coreml")
UNKNOWN = TargetReport("PAD706", "is not known to take it", Severity.INFO, "rknn")
_BETTER = "writing is known to be taken better"
REPORTS = dict(zip(VERDICTS, (WRONG, REJECTED, FALLBACK, UNKNOWN), strict=False))  # all but right


def findings_before(
    targets: tuple[Target, ...], fates: Iterable[Fate], filed: Iterable[Context] = ()
) -> Iterator[Finding]:
    """Padding that targets do not take, also as `filed`, without sizes given; fixable if mended."""
    known = {key: each.form for each in forms_of(filed) for key in each.keys}
    for placed, written, tried in fates:
        was = placed._replace(form=next((known[k] for k in placed.keys if k in known), placed.form))
        given = (answers_to(each, targets) for each in (was.form, placed.form, written))
        for target, before, came, now in zip(targets, *given, strict=True):
            each, cell = (was, before) if came.verdict == "right" else (placed, came)
            if cell.verdict != "right":
                mends = grade(now) < grade(cell)
                sized = mends and written == placed.form and placed.form != each.form
                yield _finding(each, target, cell, tried, mends=mends, sized=sized)


def findings_after(
    targets: tuple[Target, ...], fates: Iterable[Fate], contexts: Iterable[Context]
) -> Iterator[Finding]:
    """Padding that targets do not take of the graphs of a model as they are now."""
    known = {key: tried for placed, _, tried in fates for key in placed.keys}
    left = [(e, next((known[k] for k in e.keys if k in known), ())) for e in forms_of(contexts)]
    return findings_before(targets, [(each, each.form, tried) for each, tried in left])


def _finding(
    placed: Placed, target: Target, cell: Cell, tried: Iterable[Form], *, mends: bool, sized: bool
) -> Finding:
    report, context, node, form = REPORTS[cell.verdict], placed.context, placed.node, placed.form
    written = "no padding" if form.pads_nothing else form.text.removeprefix(f"{form.op}: ")
    facts = dict[str, Any](target=target.full_name, verdict=cell.verdict, measured=cell.measured)
    facts |= {"source": cell.source, "models": [*cell.like, *cell.forms], "form": form.said}
    user, helps, why = context.user_options, _helps(placed, target, cell, mends=mends), ""
    given = [*asked_of(user), *["strict"] * user.strict, *["select"] * (not user.rewrites(""))]
    given += [*["ignore"] * bool(user.ignore), *["other target"] * (len(targets_of(user)) > 1)]
    better = "other writing is known" if {*tried} == {form} else _BETTER
    better += f" with the given {and_list(given)}" * bool(given)
    writing = "padding mends it" if cell.limit else better
    others = [(each, other) for each in tried if (other := target.cell(each)) is not cell]
    if others and not mends:
        facts["tried"] = [f"{e.text}: {c.verdict}, {c.why(e)}" for e, c in others]
        rows = [(*each, _helps(placed._replace(form=each[0]), target, each[1])) for each in others]
        near, other, may_help = min(rows, key=lambda row: (grade(row[1]), "options" not in row[2]))
        if grade(TAKEN) < grade(other) <= grade(cell) and not other.limit:
            why = other.why(near)
            writing += f"; the nearest is {near.text} ({why})"
            helps = helps if "options" in helps else may_help
    writing += "; inline functions first (onnx.inliner)" * helps.pop("inline", False)
    cells = cell, *[each for each in target.beside(cell, form) if each.why(form) != why]
    does = ", and ".join(dict.fromkeys(_said(target, each, form) for each in cells))
    does = (
        f"{target.full_name} {report.does}: {does}" + "; declaring the sizes given mends it" * sized
    )
    return Finding(
        report.code,
        report.severity if mends or report is not FALLBACK else Severity.INFO,
        context.label(node),
        str(node.op),
        f"{written}; {does}" if mends else written,
        "" if mends else advised(f"{does}; no {writing}", helps.get("options", ())),
        facts | helps | ({"declares": True} if sized else {}),
        reason_code="" if mends else Reason.TARGET,
        location=context.graph.location(node),
    )


def _said(target: Target, cell: Cell, form: Form) -> str:
    is_old = cell.known_by == "read" and cell.version not in {"", target.version}
    known = cell.known_by + f" in {cell.version}" * is_old + f": {cell.source}" * bool(cell.source)
    return f"{cell.why(form)} [{known}]"


def _helps(placed: Placed, target: Target, cell: Cell, *, mends: bool = False) -> dict[str, Any]:
    """Options that may mend it, if any: sizes, beside the axes, and whom to trust."""
    context, node, facts, found = placed.context, placed.node, dict[str, Any](), list[str]()
    op, *around = map(context.read, (node, *placed.nodes))
    words = context.sites.wording
    is_open = placed.form.is_open or (placed.form.ceil == "open" and "ceil" in cell.when)
    is_open |= any(False in cell.when.get(name, ()) for name in ("sized", "batched", "batch"))
    option = cell.advice or "--shape" * (is_open and not cell.limit)
    if option.partition(" ")[0] not in BY_SIZE:
        found += [option] * bool(option)
    else:
        pads = [e for e in (op, *around) if isinstance(e, PadOp) and e.constant_amounts is None]
        inputs = context.graph.model.main.inputs
        is_fed = any(open_axes(inputs)) or any(shape is None for _, shape in inputs.values())
        facts["inline"] = is_open and not (is_fed or context.outer or context.graph.is_main)
        if is_fed and Reason.AMOUNTS_UNKNOWN not in {words.amounts(pad).code for pad in pads}:
            shape = context.analysis.shape(node.inputs[0]) or ()
            asks_for_batch = any({"batch", "batched"} & each.when.keys() for each in target.cells)
            axes = words.places(shape if asks_for_batch else shape[2:]) or words.places()
            given = context.size_domain  # of a range that is given one size may be taken
            fixed = given.named - given.given.keys()
            facts["sizes"] = [each for each in axes if each["name"] not in fixed]
            found += context.options(RefusalError(Reason.TARGET, "", **facts, options=BY_SIZE))
    if isinstance(op, WindowOp) and not (mends or cell.limit):
        refusal = context.sites.disagreement(op)
        trusting = context.options(refusal) if refusal else ()
        found += [each for each in trusting if each in BY_TRUST]
    return facts | ({"options": found} if found else {})
