"""Operators that users declare: read, analysed, rewritten, proved and probed by the declaration."""

from pathlib import Path
from typing import Any

import onnx
import pytest

import onnxpad
from onnxpad.facts import Analysis
from onnxpad.finding import Assumption, Change
from onnxpad.graph import Graph
from tests.support import BORDER, W
from tests.support.rows import each_row

LOW = "float low = {-inf}"
ZERO_POINT = "uint8 z = {9}, uint8 nine = {9}, uint8[3, 2, 3, 3] u = {" + ", ".join("1" * 54) + "}"
DECLARED = (Assumption.DECLARED,)


def acme(
    body: str,
    inputs: str = "float[1, 2, 9, 8] x",
    given: str = "",
    *,
    outputs: str = "float[] y",
    version: int = 1,
    functions: str = "",
) -> onnx.ModelProto:
    """A model with operators of com.acme; `w` and `p` are a weight and amounts."""
    held = ", ".join(filter(None, (W, BORDER, given)))
    proto = onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 17, "com.acme" : {version}]>'
        f"g ({inputs}) => ({outputs}) <{held}> {{ {body} }} {functions}"
    )
    for output in proto.graph.output:
        output.type.tensor_type.ClearField("shape")
    return proto


def wrapped(name: str, op: str, inputs: str, *attributes: str) -> str:
    """A function that calls an operator of ONNX with its own attributes."""
    referred = ", ".join(f"{each} = @{each.split(':')[0]}" for each in attributes)
    names = ", ".join(each.split(":")[0] for each in attributes)
    return (
        f'<domain: "com.acme", opset_import: ["" : 17]>'
        f"{name} <{names}> ({inputs}) => (y) {{ y = {op} <{referred}> ({inputs}) }}"
    )


SLIDING = ("auto_pad: string", "kernel_shape: ints", "pads: ints", "strides: ints")
CONV = wrapped("Own", "Conv", "x, w", *SLIDING, "dilations: ints", "group: int")
MAXIMUM = wrapped("Own", "MaxPool", "x", *SLIDING, "ceil_mode: int", "dilations: ints")
AVERAGE = wrapped("Own", "AveragePool", "x", *SLIDING, "ceil_mode: int", "count_include_pad: int")


def own(like: str = "Conv", **given: Any) -> onnxpad.Row:
    return onnxpad.Row(domain="com.acme", op_type="Own", like=like, **given)  # type: ignore[arg-type]


def ops(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def pads_of(model: onnx.ModelProto) -> list[int]:
    found: list[int] = onnx.helper.get_node_attr_value(model.graph.node[-1], "pads")
    return found


def is_probed(change: Change) -> bool:
    return change.probe.startswith("equal on")


POOL = "<kernel_shape = [3, 3], strides = [2, 2]>"
FOLDING = [
    pytest.param(own(body=CONV), "a = Pad (x, p) y = com.acme.Own (a, w)", "", id="conv"),
    pytest.param(
        own("MaxPool", body=MAXIMUM),
        f"a = Pad (x, p, low) y = com.acme.Own {POOL} (a)",
        LOW,
        id="maximum",
    ),
    pytest.param(
        own("AveragePool", body=AVERAGE),
        f"a = Pad (x, p) y = com.acme.Own {POOL} (a)",
        "",
        id="average",
    ),
]


@pytest.mark.parametrize(("row", "body", "given"), FOLDING)
def test_padding_is_folded_proved_and_probed(row: onnxpad.Row, body: str, given: str) -> None:
    with onnxpad.registered(row):
        result = onnxpad.fix(acme(body, given=given), strict=row.like != "MaxPool")
    assert ops(result.model) == ["Own"]
    assert pads_of(result.model) == [1, 1, 1, 1]
    (change,) = result.changes
    assert is_probed(change)
    finite = (Assumption.FINITE_DATA,) if row.like == "MaxPool" else ()
    assert change.certificate.assumptions == (*finite, *DECLARED)
    assert change.certificate.facts["declared"] == ["com.acme.Own"]


@pytest.mark.parametrize(("row", "body", "given"), FOLDING)
def test_own_padding_goes_into_a_pad_and_back(row: onnxpad.Row, body: str, given: str) -> None:
    """Except that of an average, which does not count its own padding."""
    with onnxpad.registered(row):
        folded = onnxpad.fix(acme(body, given=given)).model
        back = onnxpad.fix(folded, style="pad")
    assert ops(back.model) == (["Pad", "Own"])
    assert all(map(is_probed, back.changes))


@pytest.mark.parametrize(("row", "body", "given"), FOLDING)
def test_same_becomes_pads(row: onnxpad.Row, body: str, given: str) -> None:
    operator = body[body.index("com.acme") :].replace("(a", "(x")
    same = 'auto_pad = "SAME_LOWER", strides = [2, 2]'
    operator = operator.replace("strides = [2, 2]", same)
    operator = operator if "auto_pad" in operator else operator.replace("Own", f"Own <{same}>")
    with onnxpad.registered(row):
        result = onnxpad.fix(acme(f"y = {operator}"))
    (change,) = result.changes
    assert change.code == "PAD101"
    assert is_probed(change)
    assert pads_of(result.model) == [1, 1, 1, 0]


@each_row(
    ("row", "body", "given", "code"),
    [
        (own("MaxPool"), f"a = Pad (x, p) y = com.acme.Own {POOL} (a)", "", "fill-wins"),
        (
            own("MaxPool", fill="zero"),
            f"a = Pad (x, p, low) y = com.acme.Own {POOL} (a)",
            LOW,
            "fill-differs",
        ),
        (
            own("AveragePool"),
            "a = Pad (x, p) y = com.acme.Own <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (a)",
            "",
            "own-padding-uncounted",
        ),
        (own(), "a = Pad (x, p, low) y = com.acme.Own (a, w)", LOW, "fill-differs"),
        (own(), "a = Pad (x, p) y, mask = com.acme.Own (a, w)", "", None),
        (own(limit=lambda pads, attributes: "no"), "a = Pad (x, p) y = com.acme.Own (a, w)", "",
         "declared-limit"),
        (own(limit=lambda pads, attributes: 1 / 0), "a = Pad (x, p) y = com.acme.Own (a, w)", "",
         "declared-limit"),
        (own(limit=lambda pads, attributes: "no"),
         'y = com.acme.Own <auto_pad = "SAME_UPPER"> (x, w)', "", "declared-limit"),
    ], at_once=8)  # fmt: skip
def test_padding_stays(row: onnxpad.Row, body: str, given: str, code: str | None) -> None:
    with onnxpad.registered(row):
        result = onnxpad.fix(acme(body, given=given))
    assert not result.changed
    assert code is None or code in {each.reason_code for each in result.findings}


@pytest.mark.parametrize(
    ("row", "operator"),
    [
        (own("MaxPool", fill="zero"), f"com.acme.Own {POOL} (a)"),
        (own("AveragePool", fill="zero"), f"com.acme.Own {POOL} (a)"),
        (own(), "com.acme.Own (a, w)"),
    ],
    ids=["maximum", "average", "conv"],
)
def test_a_fill_of_zeros_is_told_from_minus_zeros(row: onnxpad.Row, operator: str) -> None:
    body = f"a = Pad (x, p, c) y = {operator}"
    with onnxpad.registered(row):
        assert ops(onnxpad.fix(acme(body, given="float c = {0.0}")).model) == ["Own"]
        result = onnxpad.fix(acme(body, given="float c = {-0.0}"))
        assert not result.changed
        assert [each.reason_code for each in result.findings] == ["fill-differs"]
        # Nor is a zero whose sign is not certain handed to it, as it is to a Conv.
        either = "a = Pad (x, p, c) b = Mul (a, both) "
        minus = "float c = {0.0}, float[1, 2, 1, 1] both = {1.0, -1.0}"
        own_of_either = f"{either} y = {operator.replace('(a', '(b')}"
        assert not onnxpad.fix(acme(own_of_either, given=minus)).changed
        assert onnxpad.fix(acme(f"{either} y = Conv (b, w)", given=minus)).changed


def test_a_zero_point_is_the_fill() -> None:
    row = own(weight=1, zero_point=2)
    body = "a = Pad (x, p, nine) y = com.acme.Own (a, u, z)"
    with onnxpad.registered(row):
        model = acme(body, "uint8[1, 2, 9, 8] x", ZERO_POINT, outputs="uint8[] y")
        assert ops(onnxpad.fix(model).model) == ["Own"]
        other = acme(body, "uint8[1, 2, 9, 8] x", ZERO_POINT.replace("nine = {9}", "nine = {0}"))
        assert not onnxpad.fix(other).changed


def test_channels_last() -> None:
    amounts = "int64[8] q = {0, 1, 2, 0, 0, 0, 1, 0}"
    with onnxpad.registered(own(channels_last=True)):
        model = acme("a = Pad (x, q) y = com.acme.Own (a, w)", "float[1, 9, 8, 2] x", amounts)
        assert pads_of(onnxpad.fix(model).model) == [1, 2, 0, 1]


def test_a_declaration_is_of_versions_of_the_domain() -> None:
    body = "a = Pad (x, p) y = com.acme.Own (a, w)"
    with onnxpad.registered(own(versions={2, 3})):
        assert onnxpad.fix(acme(body, version=3)).changed
        assert not onnxpad.fix(acme(body, version=1)).changed
    with onnxpad.registered(own()):
        assert onnxpad.fix(acme(body, version=7)).changed


def test_a_function_of_the_model_is_not_what_is_declared() -> None:
    model = acme("a = Pad (x, p) y = com.acme.Own (a, w)", functions=CONV)
    with onnxpad.registered(own("MaxPool")):
        assert not onnxpad.fix(model).changed


def test_without_a_declaration_the_finding_says_how_to_make_one() -> None:
    model = acme('y = com.acme.Own <auto_pad = "SAME_UPPER"> (x, w)')
    (finding,) = onnxpad.check(model, ignore="PAD6").findings
    assert (finding.code, finding.reason_code) == ("PAD103", "custom-operator")


def test_a_limit_is_part_of_the_proof() -> None:
    """A pass of the user's own that does not ask is taken back."""

    class Careless(onnxpad.Pass):
        code = "ACME001"

        def find(self, context: onnxpad.Context) -> Any:
            for op in context.windows():
                pad = context.sites.pad_before(op)
                if pad is not None:
                    yield self.found(context, op.node, "a Pad", (op, pad))

        def rewrite(self, match: onnxpad.Match, context: onnxpad.Context) -> None:
            op, pad = match.plan
            context.graph.set_attributes(op.node, {"pads": [1, 1, 1, 1]})
            context.graph.set_input(op.node, 0, pad.data)

    model = acme("a = Pad (x, p) y = com.acme.Own (a, w)")
    with onnxpad.registered(own(limit=lambda pads, attributes: "never"), Careless):
        (undone,) = onnxpad.fix(model).undone
    assert (undone.code, undone.reason_code) == ("ACME001", "not-certified")


def test_the_probe_of_a_body_finds_a_wrong_declaration() -> None:
    with onnxpad.registered(own("AveragePool", body=MAXIMUM)):
        model = acme("a = Pad (x, p) y = com.acme.Own <kernel_shape = [3, 3]> (a)")
        result = onnxpad.fix(model)
    assert not result.changed
    assert [each.reason_code for each in result.undone] == ["probe-differs"]


def test_strict_asks_for_a_probe_where_there_is_a_body() -> None:
    model = acme("a = Pad (x, p) y = com.acme.Own (a, w)")
    with onnxpad.registered(own()):
        (change,) = onnxpad.fix(model, strict=True).changes
        assert change.certificate.assumptions == (*DECLARED, Assumption.NOT_PROBED)
        assert onnxpad.check(model, strict=True, ignore="PAD6").findings[0].fixable
    broken = CONV.replace("y = Conv", "y = com.acme.Unknown").replace(
        '"" : 17', '"" : 17, "com.acme" : 1'
    )
    with onnxpad.registered(own(body=broken)):
        result = onnxpad.fix(model, strict=True)
    assert [each.reason_code for each in result.undone] == ["assumption-refused"]


def test_shapes_behind_it_follow() -> None:
    model = acme("y = com.acme.Own <strides = [2, 2], pads = [1, 1, 1, 1]> (x, w)")
    with onnxpad.registered(own()):
        graph = Graph.read(model)
        analysis = Analysis(graph)
        assert analysis.shape(graph.tensor("y")) == (1, 3, 5, 4)
        assert analysis.dtype(graph.tensor("y")) == onnx.TensorProto.FLOAT


@pytest.mark.parametrize("inside", [False, True])
def test_a_proof_from_sizes_behind_it_rests_on_it_too(inside: bool) -> None:
    """The size that a SAME reads is known by the declaration; of another branch it is told too."""
    conv = 'Conv <auto_pad = "SAME_UPPER", strides = [2, 2]>'
    v = "float[2, 3, 3, 3] v = {" + ", ".join(str(i % 5 - 2) for i in range(54)) + "}"
    y = f"y = {conv} (f, v)"
    if inside:
        y = (
            f"y = If (which) <then_branch = t () => (float[] i) {{ i = {conv} (f, v) }}, "
            "else_branch = e () => (float[] j) { j = Identity (v) }>"
        )
    body = f"f = com.acme.Own <strides = [2, 2]> (x, w) {y} z = {conv} (x, w)"
    inputs = "float[1, 2, 9, 8] x, bool which"
    with onnxpad.registered(own()):
        result = onnxpad.fix(acme(body, inputs, v, outputs="float[] y, float[] z"))
    for change in result.changes:
        assert Assumption.DECLARED in change.certificate.assumptions


def test_the_whole_model_is_validated_with_the_body(tmp_path: Path) -> None:
    model = acme("a = Pad (x, p) y = com.acme.Own (a, w)")
    saved = onnx.ModelProto()
    saved.CopyFrom(model)
    path = tmp_path / "model.onnx"
    onnx.save(saved, path, save_as_external_data=True, location="data", size_threshold=100)
    for source in (model, path):
        with onnxpad.registered(own(body=CONV)):
            result = onnxpad.fix(source)
            assert result.ok
            assert onnxpad.validate(source, result.model).ok
            assert ops(result.model) == ["Own"]
            assert not result.model.functions
        assert not onnxpad.fix(source, validate=True).changed
