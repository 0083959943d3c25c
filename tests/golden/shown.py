"""Results of `show` made by hand, with what stands together in no small model."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from onnxpad.finding import Finding, Severity
from onnxpad.inventory.padding_site import AxisPadding, OuterPad, PaddingSite, PathNode
from onnxpad.page.pages import show_page
from onnxpad.reasons import Reason
from onnxpad.report import ShowReport
from onnxpad.report.documents.show_document import show_text
from onnxpad.report.layout import Screen
from onnxpad.report.show_json import show_json
from onnxpad.report.text import marked

_FOLDS: Final = Finding(
    "PAD201", Severity.WARNING, "pad", "Pad", "Pad before 'conv' can be folded into its pads",
    sizes="h >= 3",
)  # fmt: skip
_STAYS: Final = Finding(
    "PAD501", Severity.INFO, "conv", "Conv", "SAME_UPPER on 'conv'", "the pads depend on h",
    {"options": ["--style pad", "--dynamic pad", "--dim"], "sizes": [{"name": "h"}]},
    reason_code=Reason.SIZE_DEPENDENT,
)  # fmt: skip
_AXES: Final = (
    AxisPadding(2, "H", 1, 1, 9, "9", ranges=("1", "1")),
    AxisPadding(3, "W", 1, 1, 8, "8", ranges=("1", "1")),
)  # fmt: skip
_ZERO: Final = tuple(replace(axis, begin=0, end=0, ranges=("0", "0")) for axis in _AXES)
_OPEN: Final = (
    AxisPadding(2, "H", None, 1, None, "h", "h mod 2 and 1", ("0..1", "1")),
    AxisPadding(3, "W", None, 1, None, "w", "w mod 2 and 1", ("0..1", "1")),
)
_PAD: Final = OuterPad("pad", "constant", 0.0, (0, 0, 1, 1) * 2, None, "H 1+1", "initializer 'p'")
_CONV: Final = PaddingSite(
    "conv", "Conv", "", "", "window", "pads", "H 1+1, W 1+1", (1, 1, 1, 1), "H 1+1, W 1+1",
    (1, 1, 1, 1), _AXES, (3, 3), (2, 1), (1, 1), tensor="x", origin="its own attribute",
    conventions=("pytorch",), convention="PyTorch",
)  # fmt: skip
_BEHIND: Final = replace(
    _CONV, node="behind", written="Pad upstream + pads", findings=(_FOLDS, _STAYS),
    path=(PathNode("pad", "Pad"), PathNode("relu", "Relu")), dilation=(1, 2),
    scope="then_branch of 'if'",
    outer=(
        replace(_PAD, mode="reflect", axes=(2, 3), steps=(PathNode("relu", "Relu"),)),
        replace(_PAD, value=None, pads=None, amounts="not known"),
        replace(_PAD, mode="", value=None),
    ),
)  # fmt: skip
_SAME: Final = replace(
    _CONV, node="same", written="auto_pad=SAME_UPPER", amounts="H 0..1+1, W 0..1+1", pads=None,
    own="H 0..1+1", own_pads=None, axes=_OPEN, auto_pad="SAME_UPPER", findings=(_STAYS,),
    conventions=(), convention="at some sizes",
)  # fmt: skip
_TWIN: Final = replace(_CONV, node="twin")
_BARE: Final = replace(
    _CONV, node="bare", written="", amounts="none", pads=(0, 0, 0, 0), axes=_ZERO, conventions=(),
    convention="",
)  # fmt: skip
_POOL: Final = replace(
    _CONV, node="pool", op_type="AveragePool", domain="vendor", ceil_mode=True,
    count_include_pad=True, kernel=(None, 3), conventions=(), convention="none",
    findings=(_FOLDS,),
)  # fmt: skip
_TIGHT: Final = replace(
    _CONV, node="tight", kernel=(11, 11), stride=(), dilation=(), conventions=(), convention=""
)
_UP: Final = replace(
    _CONV, node="up", op_type="ConvTranspose", kind="transposed", output_padding=(1, 0),
    downstream=(PathNode("cut", "Slice"),), output_shape=(17, 8),
)  # fmt: skip
_ALONE: Final = PaddingSite(
    "alone", "Pad", "", "", "pad", "computed Pad", axes=_AXES, tensor="x", readers=("Relu 'r'",),
    outer=(replace(_PAD, value="?", formula="the size of 'x'"),), origin="computed",
)  # fmt: skip
_ODD: Final = PaddingSite(
    "odd\x1b", "Im2Col", "", "", "other", "pads=[1]", problem="is not covered", tensor="x"
)
_BROKEN: Final = PaddingSite("broken", "Conv", "", "", "malformed", "?", problem="pads are odd")
_ALL: Final = (_CONV, _BEHIND, _SAME, _BARE, _POOL, _UP, _ALONE, _ODD, _BROKEN, _TIGHT, _TWIN)
_RESULT: Final = ShowReport(
    _ALL, len(_ALL), (), ("3 Convs fit PyTorch",), (replace(_STAYS, node="other"), _FOLDS),
    ("h is 32 by the metadata",), ("sizes are not known",), True, "-m.onnx",
)  # fmt: skip
_MANY: Final = tuple(replace(_CONV, node=f"layer{each}") for each in range(60))

SHOWN: Final = {
    "all": _RESULT,
    "each": replace(_RESULT, asked=("*",)),
    "unchecked": replace(_RESULT, asked=("a",), is_checked=False, sites=(_CONV, _BROKEN, _ALONE)),
    "whole": replace(_RESULT, asked=("s",), sites=(_SAME, _POOL, _CONV, _BARE, _ALONE), model=""),
    "one": ShowReport((_SAME,), 1, (), (), (), (), (), True, "m.onnx"),
    "fixable": ShowReport((_POOL, _BARE), 2, (), (), (), (), (), True, "m.onnx"),
    "alike": ShowReport((*_MANY, _BARE), 61, (), (), (), (), (), True, "m.onnx"),
    "forms": ShowReport(
        (*(replace(_CONV, amounts=f"H {each}+1") for each in range(15)), _SAME), 16,
        (), (), (), (), (), True, "m.onnx",
    ),
    "names": ShowReport(
        tuple(
            replace(_CONV, node=f"{'n' * (long - bool(each))}{each}", amounts=f"H {long}+{count}")
            for count in (1, 2, 3) for long in (20, 31, 60) for each in range(count)
        ), 18, (), (), (), (), (), True, "m.onnx",
    ),
    "nothing": ShowReport((), 0, (), (), (), (), (), True, ""),
}  # fmt: skip


def show_forms(name: str) -> Iterator[tuple[str, str]]:
    """A result as text, wide and narrow and coloured; one with all also as JSON and as a page."""
    result = SHOWN[name]
    yield ".txt", show_text(result)
    yield ".txt", show_text(result, Screen(48, marked, is_terminal=True))
    if name == "all":
        yield ".html", show_page(result)
        yield ".json", show_json(result, "page.html")
