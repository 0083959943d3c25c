"""All padding of the main graph is rewritten or named, in every style, with what keeps it."""

import random
import re
from collections.abc import Sequence

import onnx
import pytest

import onnxpad
from onnxpad.finding import Severity
from onnxpad.report import FileReport
from onnxpad.report.documents.check_document import findings_text
from onnxpad.report.layout import Screen
from tests.random_models.draw import draw_model
from tests.support import PADS, STYLES, W, one, silent
from tests.support.rows import each_row, one_in

GIVEN = f"{W}, {PADS}"
DYNAMIC = ("keep", "pad", "auto-pad")

SEEDS = (
    7, 8, 12, 15, 20, 22, 26, 28, 29, 30, 32, 33, 36, 37, 40, 46, 53, 60, 66, 68, 73, 75, 76, 79,
    87, 93, 100, 101, 104, 105, 108, 112, 114, 122, 132, 133, 137, 140,
)  # fmt: skip
"""Random models, of 150, that reach together what all of them reach."""


def found(model: onnx.ModelProto, code: str, style: str = "fold") -> list[onnxpad.Finding]:
    """The findings of a code that `fix` and a check of its result agree on."""
    result = onnxpad.fix(model, style=style, validate=False)
    assert onnxpad.check(result.model, style=style, ignore="PAD6").findings == result.findings
    assert not onnxpad.check(result.model, style=style).failing()
    assert not list(silent(result.model, result.findings, style))
    return [finding for finding in result.findings if finding.code == code]


def kinds(findings: Sequence[onnxpad.Finding]) -> list[tuple[str, str, str]]:
    """What is said of which node, without the words."""
    return [(finding.code, finding.node, finding.reason_code) for finding in findings]


LEFT = [
    (
        "[p1] a = Pad (x, p) [r1] y = Relu (a)",
        "no-window", ["Relu 'r1' reads it, which has no window"],
    ),
    (
        ("[p1] a = Pad (x, p) [r1] b = Sigmoid (a) [t1] c = Transpose <perm = [0, 1, 3, 2]> (b)"
         " [m1] y = MaxPool <kernel_shape = [3, 3]> (c)"),
        "steps-between", ["Sigmoid 'r1' and Transpose 't1' stand between it and MaxPool 'm1'"],
    ),
    (
        "[p1] a = Pad (x, p) [g1] y = GlobalAveragePool (a)",
        "no-window", ["GlobalAveragePool 'g1' reads it: it reduces all elements"],
    ),
    ("[p1] y = Pad (x, p)", "graph-output", ["an output"]),
    ("[p1] a = Pad (x, p) y = Relu (x)", "unused", ["nothing"]),
    (
        "[p1] a = Pad (w, p) [c1] y = Conv (x, a)",
        "read-as-operand", ["Conv 'c1' reads it as its weight"],
    ),
    (
        "[p1] a = Pad (x, p) [s1] y = Shape (a)",
        "no-window", ["Shape 's1' reads it: it reads the size"],
    ),
    (
        '[p1] a = Pad <mode = "reflect"> (x, p) [a1] b = Abs (a) [c1] y = Conv (b, w)',
        "copies-data", [],
    ),
    (
        "[p1] a = Pad (x, p) [c1] y = Conv (a, w) [r1] z = Relu (a)",
        "no-window", ["Relu 'r1'"],
    ),
    (
        '[p1] a = Pad (x, p) [c1] y = Conv <auto_pad = "SAME"> (a, w)',
        "reader-unreadable", ["Conv 'c1'", "auto_pad='SAME'"],
    ),
    (
        ("[p1] a = Pad (x, p) [i1] y = If (ok) <then_branch = some () => (float[] y)"
         " { y = Relu (a) }, else_branch = none () => (float[] y) { y = Neg (x) }>"),
        "read-in-body", ["a body of If 'i1' reads it"],
    ),
]  # fmt: skip


@each_row(("body", "code", "reasons"), LEFT, at_once=4)
@pytest.mark.parametrize("style", STYLES)
def test_a_pad_that_is_left_is_named_with_what_stands_in_between(
    body: str, code: str, reasons: Sequence[str], style: str
) -> None:
    outputs = "float[] y, float[] z" if " z = " in body else "float[] y"
    model = one(
        body,
        outputs=outputs.replace("float[] y", "int64[] y") if "Shape" in body else outputs,
        initializers=f"{GIVEN}, float s = {{0.5}}, float[1] bias = {{1}}, bool ok = {{1}},"
        " int64[2] three = {1, 1}, int64[8] n = {0, 0, -1, 0, 0, 0, 0, -1},"
        " float[2, 1, 2, 2] v = {1, 2, 3, 4, 5, 6, 7, 8}",
    )
    findings = found(model, "PAD206", style)
    assert [finding.node for finding in findings][:1] == ["p1"]
    assert (findings[0].reason_code, findings[0].severity) == (code, Severity.INFO)
    for name in re.findall(r"'\w+'", " ".join(reasons)):
        assert name in findings[0].reason
    evidence = findings[0].evidence
    assert {"mode", "amounts", "readers", "steps", "window", "summary"} <= set(evidence)
    assert not [name for name in ("r1", "c1", "m1") if name in str(evidence["summary"])]


def foreign(body: str, domain: str, functions: str = "") -> onnx.ModelProto:
    """A model whose nodes may be of another domain, with ConvTranspose's and quantised operands."""
    return onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 17, "{domain}" : 1]>\n'
        f"g (float[1, 2, 9, 8] x, uint8[1, 2, 9, 8] q) => (y)"
        f"<{GIVEN}, float s = {{1}}, uint8 o = {{0}}, uint8[1, 2, 1, 1] k = {{1, 2}},"
        f" float[2, 1, 2, 2] v = {{1, 2, 3, 4, 5, 6, 7, 8}}> {{ {body} }} {functions}"
    )


def test_functions_are_told_of_once() -> None:
    """A call is no `Pad`, whatever its name; but an `auto_pad` is one."""
    functions = (
        '<domain: "mine", opset_import: ["" : 17]> Pad (a, b) => (c) { c = Pad (a, b) }'
        '<domain: "mine", opset_import: ["" : 17]> Same <auto_pad> (a, b) => (c)'
        " { c = Conv <auto_pad: string = @auto_pad> (a, b) }"
        '<domain: "mine", opset_import: ["" : 17]> Plain (a) => (c) { c = Relu (a) }'
    )
    body = (
        "a = mine.Pad (x, p) r = Add (p, p) b = mine.Pad (a, r)"
        ' [n] y = mine.Same <auto_pad = "SAME_UPPER"> (b, w)'
    )
    model = foreign(body, "mine", functions)
    findings = onnxpad.check(model).findings
    inside = [f for f in findings if f.node.startswith("mine::")]
    assert [(f.code, f.node, f.reason_code) for f in inside] == [
        ("PAD205", "mine::Pad > Pad '<c>'", "amounts-unknown"),
        ("PAD901", "mine::Same > Conv '<c>'", "unreadable"),
    ]
    (call,) = [f for f in findings if f.code == "PAD103"]
    assert call.reason_code == "custom-operator"
    assert "function" in call.reason
    assert "PAD206" not in {f.code for f in findings}


def test_all_padding_of_bodies_is_told_of() -> None:
    inner = (
        "i = If (ok) <then_branch = a () => (float[] i) { [q] t = Pad (x, p) i = Conv (t, w) },"
        " else_branch = b () => (float[] i) { i = Identity (x) }>"
    )
    same = (
        '[c] c = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)'
        ' e = Conv <auto_pad = "NOTSET"> (x, w)'
    )
    model = one(
        f"[outer] y = If (ok) <then_branch = c () => (float[] y) {{ {inner} y = Relu (i) }},"
        f" else_branch = d () => (float[] y) {{ {same} v = Pad (x, p)"
        ' y = Pad <mode = "edge"> (v, p) }>',
        initializers=f"{GIVEN}, bool ok = {{1}}",
    )
    findings = onnxpad.check(model, ignore="PAD6").findings
    assert [(f.code, f.node) for f in findings] == [
        ("PAD201", "If 'outer' > then_branch > If '<i>' > then_branch > Pad 'q'"),
        ("PAD101", "If 'outer' > else_branch > Conv 'c'"),
        ("PAD206", "If 'outer' > else_branch > Pad '<v>'"),
        ("PAD206", "If 'outer' > else_branch > Pad '<y>'"),
    ]
    text = findings_text([FileReport("m", findings)], Screen(None))
    assert "If 'outer' > else_branch > Pad '<v>'" in text


def nothing_is_silent(model: onnx.ModelProto, seed: int) -> None:
    """Holds a model in all styles, with the sizes' treatment that a seed says."""
    for style in STYLES:
        dynamic = DYNAMIC[seed % 3]
        result = onnxpad.fix(model, style=style, dynamic=dynamic, validate=False)
        told = [*result.findings, *result.undone]
        assert not list(silent(result.model, told, style))
        if not result.undone:
            again = onnxpad.check(result.model, style=style, dynamic=dynamic, ignore="PAD6")
            assert kinds(again.findings) == kinds(result.findings)


@pytest.mark.parametrize("seed", one_in(5, [(seed,) for seed in SEEDS]))
def test_random_graphs(seed: int) -> None:
    nothing_is_silent(draw_model(random.Random(seed)).model, seed)
