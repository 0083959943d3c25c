"""The frameworks whose padding the operators of a model have."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from onnxpad.arithmetic.notation import told
from onnxpad.finding import Finding
from onnxpad.fitting.model_report import ModelPadding, ModelReport
from onnxpad.reasons import Reason
from onnxpad.rewrite.rule import Example

if TYPE_CHECKING:
    from onnxpad.fitting.case import Fit, Likeness
    from onnxpad.fitting.padded import Padded

_SAME, _SYMMETRIC = "TensorFlow's SAME", "PyTorch's symmetric padding"
_FURTHER: "Final[dict[Likeness, str]]" = {
    "lower": "SAME_LOWER",
    "causal": "causal padding",
    "sometimes": "one of these at some sizes only",
    "other": "no framework's padding",
}
_COMPARED: Final = ("tensorflow", "pytorch", "caffe", "onnx-same-lower")


class ReportConvention(ModelReport):
    """Operators that pad as a framework does.

    ## What it does
    Says which convention the padding of each operator fits: TensorFlow's SAME, with the odd element
    at the end; PyTorch's, the same number at both ends; SAME_LOWER, with the odd element at the
    begin; causal, all at the begin. The padding of an operator is its own and that of a `Pad`
    directly in front. A convention fits if it computes the same at every size that the data may
    have, so padding that no window reads makes no difference.

    With `--convention NAME` each operator that does not fit that framework is a warning. `onnxpad
    repad MODEL --to NAME` writes the framework's padding, which changes results.

    ## Why it matters
    A 3x3 Conv with stride 2 on 224 pads 0+1 in TensorFlow and 1+1 in PyTorch. On 225 both pad 1+1.
    A network ported with the other padding reads one element further left everywhere, and
    loses accuracy without any error.

    ## When it is exact
    Nothing is changed. Where a size is open, every remainder by the stride is looked at. Operators
    with a kernel or a size that is not known are said to be so.

    ## References
    TensorFlow, `tf.nn`, "Notes on padding"; torch.nn.Conv2d, "Shape"; `onnxpad explain`.
    """

    code = "PAD601"
    info_reason = Reason.CONVENTION_TOLD
    examples = (
        Example(
            given="float[1, 1, 8, 8] x\nfloat[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}",
            before="y = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)",
        ),
    )

    def report(self, model: ModelPadding) -> Iterator[Finding]:
        """One finding about all operators."""
        padded = [each for each in model.operators if each.case.is_padded]
        if padded:
            yield self.told(
                padded[0],
                _summary(padded),
                operators=[_facts(each) for each in padded],
                unknown=[each._asdict() for each in model.left],
            )

    def unfit(self, model: ModelPadding) -> Iterator[Finding]:
        """One finding about each that does not fit the convention asked for."""
        from onnxpad.fitting.case import title

        name = title(model.convention)
        untold = []
        for each in model.operators:
            fit = each.fit(model.convention)
            if fit.holds == "absent" or (fit.holds == "sometimes" and not each.is_known):
                untold.append(each)
            elif fit.holds != "always" and not fit.rounds and not each.averages_a_pad:
                yield self.warned(
                    each,
                    model.convention,
                    f"{_padding(each)}{_where(each)}, {_other(each, fit, name)}",
                    would_be=fit.pads,
                    same_at=fit.same_at,
                )
        unknown = [(each.label, each.op_type) for each in untold]
        unknown += [(left.label, left.op_type) for left in model.left]
        if unknown:
            labels = [label for label, _ in unknown]
            count = f"{len(labels)} operator{'' if len(labels) == 1 else 's'}"
            yield self.told_of(
                *unknown[0],
                f"whether {count} fit{'s' if len(labels) == 1 else ''} {name} is not known "
                f"(first: {labels[0]!r})",
                operators=labels,
            )


def _summary(padded: "Sequence[Padded]") -> str:
    """How many operators fit which convention, in one line."""
    from onnxpad.fitting.case import title

    groups: dict[Likeness, list[Padded]] = {}
    for each in padded:
        groups.setdefault(each.case.likeness, []).append(each)
    same, symmetric, either = (
        len(groups.get(kind, ())) for kind in ("same", "symmetric", "either")
    )
    parts = []
    if same and symmetric:
        parts += [(same, _SAME), (symmetric, _SYMMETRIC)]
        parts += [(either, "both")] if either else []
    elif same or symmetric:
        one, other = (_SAME, _SYMMETRIC) if same else (_SYMMETRIC, _SAME)
        too = f", {either} of them {other} too" if either else ""
        parts.append((same + symmetric + either, one + too))
    elif either:
        parts.append((either, f"both {_SAME} and {_SYMMETRIC}"))
    for kind, words in _FURTHER.items():
        named: dict[str, list[Padded]] = {}
        for each in groups.get(kind, ()):
            is_other = each.case.fits and kind in {"other", "sometimes"}
            said = f"{title(each.case.fits[0])}'s padding" if is_other else words
            named.setdefault(said, []).append(each)
        parts += [(len(some), f"{said} (first: {some[0].label!r})") for said, some in named.items()]
    (count, first), *rest = parts
    head = f"{count} operator{' fits' if count == 1 else 's fit'} {first}"
    return ", ".join([head, *(f"{number} {words}" for number, words in rest)])


def _facts(each: "Padded") -> dict[str, object]:
    fits = {name: each.fit(name) for name in _COMPARED}
    return {
        "node": each.label,
        "op_type": each.op_type,
        **each.facts(),
        "fits": [name for name, fit in fits.items() if fit.holds == "always"],
        "would_be": {name: fit.pads for name, fit in fits.items() if fit.holds != "always"},
    }


def _padding(each: "Padded") -> str:
    pads = each.pads
    if pads is None:
        return f"pads as {each.auto_pad}"
    said = f"{'crops' if each.is_transposed else 'pads'} {told(pads)}"
    if any(each.choice.appended):
        said += f", output_padding {list(each.choice.appended)}"
    return said


def _where(each: "Padded") -> str:
    known = [size for size in each.sizes if isinstance(size, int)]
    return f" on {'x'.join(map(str, known))}" if len(known) == len(each.sizes) else ""


def _other(each: "Padded", fit: "Fit", name: str) -> str:
    """The padding of the framework in words."""
    verb = "crops" if each.is_transposed else "pads"
    if fit.pads is not None:
        return f"where {name} {verb} {told(fit.pads)}"
    if fit.same_at:
        stride = each.windows[0].stride
        return f"which is {name}'s padding only {_sizes(fit.same_at, stride)}"
    return f"where what {name} {verb} depends on the size"


def _sizes(remainders: Sequence[int], stride: int) -> str:
    if stride == 2:
        return f"at {'odd' if remainders[0] else 'even'} sizes"
    listed = " or ".join(map(str, remainders))
    return f"at sizes that leave {listed} when divided by {stride}"
