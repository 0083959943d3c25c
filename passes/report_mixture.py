"""Padding of different conventions in one model."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from onnxpad.finding import Finding
from onnxpad.fitting.model_report import ModelPadding, ModelReport
from onnxpad.rewrite.rule import Example

if TYPE_CHECKING:
    from onnxpad.fitting.case import Likeness
    from onnxpad.fitting.padded import Padded

_NAMES: "Final[dict[Likeness, str]]" = {
    "same": "TensorFlow's SAME",
    "symmetric": "PyTorch's symmetric padding",
    "lower": "SAME_LOWER",
}


class ReportMixture(ModelReport):
    """Operators that pad as different frameworks do.

    ## What it does
    Reports a model in which no single convention fits all padding: one operator fits TensorFlow's
    SAME alone, and another one PyTorch's symmetric padding or SAME_LOWER alone. Causal padding, and
    numbers that are no framework's, do not count.

    ## Why it matters
    Frameworks pad all operators alike, unless a program says otherwise in numbers. A mixture may be
    what its author wanted (Keras' ResNet50 pads its stem by numbers, as the original network did).
    It may also be a port of which only a part was converted. `onnxpad match` finds the padding that
    reproduces recorded outputs; `onnxpad repad MODEL --to NAME` writes one convention everywhere.

    ## When it is exact
    Nothing is changed. See PAD601 for what fits a convention.

    ## References
    `onnxpad rule PAD601`.
    """

    code = "PAD602"
    examples = (
        Example(
            given="float[1, 1, 8, 8] x\nfloat[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}",
            before="a = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)\n"
            "y = Conv <pads = [0, 0, 1, 1], strides = [2, 2]> (a, w)",
        ),
    )

    def report(self, model: ModelPadding) -> Iterator[Finding]:
        """One finding, if there are operators of different conventions."""
        groups: dict[str, list[Padded]] = {}
        for each in model.operators:
            if each.case.likeness in _NAMES:
                groups.setdefault(_NAMES[each.case.likeness], []).append(each)
        if len(groups) < 2:
            return
        fewest = min(groups.values(), key=len)
        said = " and ".join(
            f"{name} (first: {members[0].label!r})" for name, members in groups.items()
        )
        yield self.told(
            fewest[0],
            f"mixed: {said}",
            conventions={name: [each.label for each in found] for name, found in groups.items()},
        )
