"""PAD601: which frameworks' conventions a model's padding fits.

It is a report on a whole model, which `check` alone makes, if asked: with `--convention` on each
operator that does not fit it, otherwise in one line on all of them. Nothing is rewritten, since
other padding computes something else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from onnxpad.arithmetic.size import Unknown
from onnxpad.arithmetic.window import pads_text, same_of
from onnxpad.errors import counted
from onnxpad.finding import Finding, Severity
from onnxpad.graph import Node
from onnxpad.reasons import Reason
from onnxpad.rewrite.pass_api import Context

if TYPE_CHECKING:
    from onnxpad.frameworks.conventions.table import Framework
    from onnxpad.frameworks.fitting.case import Fit
    from onnxpad.frameworks.fitting.padded import Left, Padded

_COMPARED = ("tensorflow", "pytorch", "caffe", "onnx-same-lower")
_MEANT = (
    "right if explicit padding was meant, which onnxpad validate MODEL --reference FILE tells; if "
    "not, onnxpad repad MODEL --to {} changes it or says why not"
)
_CAUSAL = "right if causal was meant; onnxpad repad keeps it"
_STAYS = (
    "fix keeps what a model computes; onnxpad repad MODEL --to NAME writes the padding of "
    "a framework"
)


class ReportConvention:
    """Operators that pad as a framework does.

    ## What it does
    Says which convention the padding of each operator, with that of a `Pad` directly in front, fits
    at every size that the data may have: TensorFlow's SAME, with the odd element at the end;
    PyTorch's, the same number at both ends; SAME_LOWER, with the odd element at the begin; causal.

    With `--convention NAME` each operator that does not fit that framework is a warning: it pads,
    rounds or counts otherwise. Explicit padding (`ZeroPadding2D`, `tf.pad`, `F.pad`) looks the same
    and is right as it is. `onnxpad validate MODEL --reference FILE` tells from recorded outputs
    whether it was meant; if not, `onnxpad repad MODEL --to NAME` writes the framework's.
    ## Why it matters
    A 3x3 Conv with stride 2 on 224 pads 0+1 in TensorFlow and 1+1 in PyTorch. A network ported with
    the other padding reads one element further left everywhere, and loses accuracy without any
    error. Pools differ, too: Caffe's round up; PyTorch's and Caffe's averages count padding. A
    mixture may be meant: Keras' ResNet50 pads its stem by numbers.
    ## Example
        y = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)
    stays
    where
        float[1, 1, 8, 8] x
        float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}
    ## When it is exact
    Nothing is changed. Where a size is open, every remainder by the stride is looked at.
    ## References
    TensorFlow, `tf.nn`, "Notes on padding"; torch.nn.Conv2d, "Shape"; torch.nn.AvgPool2d,
    `count_include_pad`; Caffe, src/caffe/layers/pooling_layer.cpp; `onnxpad explain`.
    """

    code: ClassVar[str] = "PAD601"
    severity: ClassVar[Severity] = Severity.INFO  # unless a convention was asked for

    def of(self, contexts: Iterable[Context], convention: str) -> Iterator[Finding]:
        """Yields every finding about a model, with a framework asked for, or without."""
        # Evaluating conventions is for reports that are made: their pages are read without it.
        from onnxpad.frameworks.conventions.table import FRAMEWORKS
        from onnxpad.frameworks.fitting.padded import padded_operators

        return self.find(*padded_operators(contexts), FRAMEWORKS.get(convention))

    def find(
        self, operators: Sequence[Padded], left: Sequence[Left], convention: Framework | None = None
    ) -> Iterator[Finding]:
        """Yields every finding about the window operators of a model, those not understood too."""
        if convention is not None:
            yield from _unfit(operators, left, convention)
        elif padded := [each for each in operators if each.case.is_padded]:
            yield _report(padded, left)


def _report(padded: Sequence[Padded], left: Sequence[Left]) -> Finding:
    groups = Counter(each.short.replace(", ", " and ") for each in padded)
    said = [f"{count} {short}" for short, count in groups.items()]
    verb = "operators fit" if next(iter(groups.values())) > 1 else "operator fits"
    evidence = {
        "operators": [_facts(each) for each in padded],
        "unknown": [
            {"label": context.label(node), "op_type": node.op, "reason": why}
            for context, node, why in left
        ],
    }
    place = padded[0].context, padded[0].site.node
    return _finding(place, ", ".join(said).replace(" ", f" {verb} ", 1), evidence)


def _facts(each: Padded) -> dict[str, object]:
    others = [name for name in _COMPARED if not each.case.follows(name)]
    return {
        "node": each.site.label,
        "op_type": each.site.node.op,
        **each.facts(
            fits=[name for name in _COMPARED if name not in others],
            would_be={name: each.case.fit[name].pads for name in others},
        ),
    }


def _unfit(
    operators: Sequence[Padded], left: Sequence[Left], asked: Framework
) -> Iterator[Finding]:
    untold, causal = list[tuple[Context, Node]](), list[tuple[Context, Node]]()
    for each in operators:
        fit, place = each.case.fit[asked.name], (each.context, each.site.node)
        is_open = any(isinstance(size, Unknown) for size in each.sizes)
        if fit.holds == "absent" or (fit.holds == "sometimes" and is_open):
            untold.append(place)
        elif fit.holds == "always" and each.case.is_causal_apart(asked):
            causal.append(place)
        elif fit.holds != "always" and not each.case.over_pad:
            facts = each.facts(convention=asked.name, would_be=fit.pads, same_at=fit.same_at)
            said, meant = _difference(each, fit, asked.title), _MEANT.format(asked.name)
            meant = "; ".join(filter(None, (meant, asked.caution)))
            code = Reason.FRAMEWORK_CONVENTION
            yield _finding(place, said, facts, meant, Severity.WARNING, code)
    untold += [(context, node) for context, node, _ in left]
    for places, said, reason in (
        (untold, f"not known to fit {asked.title}", _STAYS),
        (causal, f"causal, as Keras pads, where {asked.title}'s SAME pads otherwise", _CAUSAL),
    ):
        if labels := [context.label(node) for context, node in places]:
            told = f"{counted(len(labels), 'operator')} {said} (first: {labels[0]!r})"
            yield _finding(places[0], told, {"operators": labels}, reason)


def _finding(
    place: tuple[Context, Node],
    message: str,
    facts: Mapping[str, object],
    reason: str = _STAYS,
    severity: Severity = Severity.INFO,
    code: Reason = Reason.CONVENTION_TOLD,
) -> Finding:
    context, node = place
    about = context.label(node), node.op, message, reason, facts
    where = context.graph.location(node)
    return Finding(ReportConvention.code, severity, *about, reason_code=code, location=where)


def _difference(each: Padded, fit: Fit, name: str) -> str:
    pads, theirs, verb = each.pads, fit.pads, "crops" if each.site.is_transposed else "pads"
    said = f"{verb} {pads_text(pads)}" if pads else f"pads as {same_of(each.case.padding.odd)}"
    if any(each.case.padding.output_padding):
        said += f", output_padding {list(each.case.padding.output_padding)}"
    if all(isinstance(size, int) for size in each.sizes):
        said += f" on {'x'.join(map(str, each.sizes))}"
    if theirs is None:
        when = "only at some sizes" if fit.holds == "sometimes" else "at no size"
        return f"{said}, which is {name}'s padding {when}"
    if each.site.is_pool and theirs == pads:
        averages = " or counts padding" * (each.case.op == "avgpool")
        return f"{said}, as {name} does, which rounds its output size{averages} otherwise"
    return f"{said}, where {name} {verb} {pads_text(theirs)}"
