"""PAD601: which frameworks' conventions a model's padding fits.

It is a report on a whole model, which `check` alone makes, if asked: with `--convention` on each
operator that does not fit it, otherwise in one line on all of them. Nothing is rewritten, since
other padding computes something else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from onnxpad.arithmetic.size import Unknown
from onnxpad.arithmetic.window import pads_text, same_of
from onnxpad.finding import Finding, Severity
from onnxpad.graph import Node
from onnxpad.reasons import Reason
from onnxpad.rewrite.pass_api import Context

if TYPE_CHECKING:
    from onnxpad.frameworks.conventions.table import Framework
    from onnxpad.frameworks.fitting.case import Fit, Likeness
    from onnxpad.frameworks.fitting.padded import Left, Padded

_NAMES: Mapping[Likeness, str] = {
    "either": "both TensorFlow's SAME and PyTorch's padding",
    "same": "TensorFlow's SAME",
    "symmetric": "PyTorch's padding",
    "lower": "SAME_LOWER",
    "causal": "causal padding",
    "sometimes": "one of these at some sizes only",
    "explicit": "explicit padding only, such as ZeroPadding2D or F.pad",
    "other": "no framework's padding",
}
_MIXED = frozenset({"same", "symmetric", "lower"})
"""Likenesses of the padding of a network that was written for one framework."""

_KINDS = {
    "up": "pools round up",
    "down": "pools round down",
    "counting": "averages count padding",
    "leaving_out": "averages leave it out",
}
"""What is said of some of the groups of which a model has several."""
_COMPARED = ("tensorflow", "pytorch", "caffe", "onnx-same-lower")
_STAYS = (
    "fix keeps what a model computes; onnxpad repad MODEL --to NAME writes the padding of "
    "a framework"
)


class ReportConvention:
    """Operators that pad as a framework does.

    ## What it does
    Says which convention the padding of each operator fits: TensorFlow's SAME, with the odd element
    at the end; PyTorch's, the same number at both ends; SAME_LOWER, with the odd element at the
    begin; causal, all at the begin. The padding of an operator is its own and that of a `Pad`
    directly in front. A convention fits if it computes the same at every size that the data may
    have, so padding that no window reads makes no difference; PyTorch rounds a pool up where it has
    `ceil_mode`, and `repad` leaves what fits. Told are also a mixture of operators
    that fit TensorFlow's SAME alone with some that fit PyTorch's or SAME_LOWER alone, pools that
    round up beside some that round down (`ceil_mode`), and averages that count their padding
    beside some that do not (`count_include_pad`).

    With `--convention NAME` each operator that does not fit that framework is a warning: the
    framework's own padding is another, or it rounds or counts otherwise. Explicit padding in front
    of an operator that pads nothing (`ZeroPadding2D`, `tf.pad`, `F.pad`) looks the same in the
    model, and is right as it is. Where that was not meant, `onnxpad repad MODEL --to NAME` writes
    the framework's padding, which changes results. Recorded outputs tell: `onnxpad validate MODEL
    --reference FILE`.
    ## Why it matters
    A 3x3 Conv with stride 2 on 224 pads 0+1 in TensorFlow and 1+1 in PyTorch. On 225 both pad 1+1.
    A network ported with the other padding reads one element further left everywhere, and
    loses accuracy without any error. Frameworks pad all operators alike, unless a program says
    otherwise in numbers: a mixture may be meant (Keras' ResNet50 pads its stem by numbers), or a
    port of which only a part was converted. Caffe's pools round up, those of TensorFlow and cuDNN
    down. TensorFlow, Keras and PaddlePaddle leave padding out of an average; PyTorch and Caffe
    count it.
    ## Example
        y = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)
    stays
    where
        float[1, 1, 8, 8] x
        float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}
    ## When it is exact
    Nothing is changed. Where a size is open, every remainder by the stride is looked at. Operators
    with a kernel or a size that is not known are said to be so.
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
        if convention is None:
            return self._report(operators, left)
        return self._unfit(operators, left, convention)

    def _report(self, operators: Sequence[Padded], left: Sequence[Left]) -> Iterator[Finding]:
        """One finding about all operators."""
        padded = [each for each in operators if each.case.is_padded]
        told = [*_mixed(operators)]
        if not padded and not told:
            return
        evidence: dict[str, object] = {
            "operators": [_facts(each) for each in padded],
            "unknown": [
                {"label": context.label(node), "op_type": node.op, "reason": why}
                for context, node, why in left
            ],
        }
        said = [_summary(padded)] if padded else []
        for name, words, groups in told:
            said.append(words)
            evidence[name] = {kind: [e.label for e in some] for kind, some in groups.items()}
        first = padded[0] if padded else min(told[0][2].values(), key=len)[0]
        yield _finding((first.context, first.site.node), "; ".join(said), evidence)

    def _unfit(
        self, operators: Sequence[Padded], left: Sequence[Left], asked: Framework
    ) -> Iterator[Finding]:
        """One finding about each that does not fit the convention asked for."""
        untold: list[tuple[Context, Node]] = []
        for each in operators:
            fit = each.fit(asked.name)
            if each.case.follows(asked.name):
                continue
            if fit.holds == "absent" or (
                fit.holds == "sometimes" and any(isinstance(size, Unknown) for size in each.sizes)
            ):
                untold.append((each.context, each.site.node))
            elif each.case.over_pad:
                continue
            elif fit.rounds:
                ways = ("up", "down") if each.padding.ceil else ("down", "up")
                said = f"rounds its output size {ways[0]}, {asked.title} {ways[1]}"
                yield self._warned(each, asked.name, said)
            elif fit.holds != "always":
                said = f"{_padding(each)}{_where(each)}, {_other(each, fit, asked.title)}"
                facts = {"would_be": fit.pads, "same_at": fit.same_at}
                yield self._warned(each, asked.name, said, **facts)
            if fit.counts is not None:
                said = f"does not count its padding, which {asked.title} does"
                if not fit.counts:
                    said = f"counts its padding, which {asked.title} does not"
                yield self._warned(each, asked.name, said)
        untold += [(context, node) for context, node, _ in left]
        if untold:
            labels = [context.label(node) for context, node in untold]
            some = "1 operator fits" if len(labels) == 1 else f"{len(labels)} operators fit"
            said = f"whether {some} {asked.title} is not known (first: {labels[0]!r})"
            yield _finding(untold[0], said, {"operators": labels})

    def _warned(self, about: Padded, convention: str, message: str, **pads: object) -> Finding:
        """A finding about one operator that does not fit the convention asked for."""
        kept = about.kept_by_repad(convention)
        cure = f"onnxpad repad MODEL --to {convention} changes it"
        if pads and not about.padding.is_same:
            cure = (
                "right if explicit padding was meant, which onnxpad validate MODEL --reference "
                f"FILE tells; if not, {cure}"
            )
        reason = f"fix and repad leave it: {kept}" if kept else cure
        facts = {**about.facts(), "convention": convention, **pads}
        place = about.context, about.site.node
        return _finding(
            place, message, facts, reason, Severity.WARNING, Reason.FRAMEWORK_CONVENTION
        )


def _finding(
    place: tuple[Context, Node],
    message: str,
    facts: Mapping[str, object],
    reason: str = _STAYS,
    severity: Severity = Severity.INFO,
    code: Reason = Reason.CONVENTION_TOLD,
) -> Finding:
    """A finding about an operator, or about the whole model, which names one concerned."""
    context, node = place
    return Finding(
        ReportConvention.code,
        severity,
        context.label(node),
        node.op,
        message,
        reason,
        facts,
        reason_code=code,
        location=context.graph.location(node),
    )


_Told: TypeAlias = "tuple[str, str, Mapping[str, Sequence[Padded]]]"
"""What differs among the operators of a model: its name, words, and operators by kind."""


def _mixed(operators: Sequence[Padded]) -> Iterator[_Told]:
    """Operators of different conventions, and pools and averages of which some are otherwise."""
    found: dict[str, dict[str, list[Padded]]] = {"mixed": {}, "rounding": {}, "averages": {}}
    for each in operators:
        kinds = {}
        if each.case.rounding_matters:
            kinds["rounding"] = "up" if each.padding.ceil else "down"
        if each.case.counting_matters:
            kinds["averages"] = "counting" if each.padding.counted else "leaving_out"
        elif each.case.likeness in _MIXED:
            kinds["mixed"] = _NAMES[each.case.likeness]
        for name, kind in kinds.items():
            found[name].setdefault(kind, []).append(each)
    for name, groups in found.items():
        named = (
            f"{_KINDS.get(kind, kind)}: {len(some)} (first: {some[0].label!r})"
            for kind, some in groups.items()
        )
        if len(groups) > 1:
            yield name, f"{'mixed: ' * (name == 'mixed')}{', '.join(named)}", groups


def _summary(padded: Sequence[Padded]) -> str:
    """How many operators fit which convention, in one line."""
    groups: dict[str, list[Padded]] = {}
    for each in padded:
        groups.setdefault(_convention(each), []).append(each)
    said = [f"{len(some)} {name}{_first(some[0])}" for name, some in groups.items()]
    verb = "operator fits" if said[0].startswith("1 ") else "operators fit"
    return ", ".join([said[0].replace(" ", f" {verb} ", 1), *said[1:]])


def _first(each: Padded) -> str:
    """The name of the first operator of a convention, unless most models follow that."""
    is_usual = each.case.likeness in {"same", "symmetric", "either"}
    return "" if is_usual else f" (first: {each.label!r})"


def _convention(each: Padded) -> str:
    """The name of what the padding of an operator fits."""
    if each.case.fits and each.case.likeness in {"other", "sometimes"}:
        return f"{each.case.titles[0]}'s padding"
    return _NAMES[each.likeness]


def _facts(each: Padded) -> dict[str, object]:
    return {
        "node": each.label,
        "op_type": each.site.node.op,
        **each.facts(),
        "fits": [name for name in _COMPARED if each.case.follows(name)],
        "would_be": {
            name: each.fit(name).pads for name in _COMPARED if not each.case.follows(name)
        },
    }


def _padding(each: Padded) -> str:
    pads = each.pads
    if pads is None:
        return f"pads as {same_of(each.padding.odd)}"
    said = f"{each.verb} {pads_text(pads)}"
    if any(each.padding.output_padding):
        said += f", output_padding {list(each.padding.output_padding)}"
    return said


def _where(each: Padded) -> str:
    known = [size for size in each.sizes if isinstance(size, int)]
    return f" on {'x'.join(map(str, known))}" if len(known) == len(each.sizes) else ""


def _other(each: Padded, fit: Fit, name: str) -> str:
    """The padding of the framework in words."""
    if fit.pads is not None:
        return f"where {name} {each.verb} {pads_text(fit.pads)}"
    if fit.same_at:
        listed = " or ".join(map(str, fit.same_at))
        where = f"sizes that leave {listed} when divided by {each.site.windows[0].stride}"
        return f"which is {name}'s padding only at {where}"
    return f"where what {name} {each.verb} depends on the size"
