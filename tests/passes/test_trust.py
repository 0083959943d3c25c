"""Where onnxruntime and the specification disagree: what both compute, and what `trust` writes."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import onnxpad
from onnxpad.arithmetic.window import Window
from onnxpad.errors import UsageError
from onnxpad.finding import Assumption
from tests.oracles import walk
from tests.support import assert_graph, feeds_of, one, onnxpad_runs, run
from tests.support.manual import pages

UPPER, LOWER = 'auto_pad = "SAME_UPPER"', 'auto_pad = "SAME_LOWER"'


def codes(change: onnxpad.Change) -> list[str]:
    """The codes of the assumptions of a change."""
    taken = change.certificate.assumptions
    return [each.code for each in taken if isinstance(each, Assumption)]


def conv(attributes: str, *, size: int | str = 12, opset: int = 17) -> onnx.ModelProto:
    """A Conv over one axis with a kernel of one element."""
    return one(
        f"y = Conv <{attributes}> (x, w)",
        inputs=f"float[1, 1, {size}] x",
        initializers="float[1, 1, 1] w = {3}",
        opset=opset,
    )


def pool(
    attributes: str,
    *,
    size: int | str = 12,
    op: str = "MaxPool",
    kind: str = "float",
    opset: int = 19,
) -> onnx.ModelProto:
    """A pool over one axis."""
    return one(
        f"y = {op} <{attributes}> (x)",
        inputs=f"{kind}[1, 1, {size}] x",
        outputs=f"{kind}[] y",
        opset=opset,
    )


DISPUTED = [
    pytest.param(
        conv(f"{UPPER}, strides = [4]", size=4),
        "on axis 2 of size 4 onnxruntime pads -1+-2 and gives 1 element, the specification pads "
        "0+0 and gives 1 element",
        conv("strides = [4]", size=4),
        "a = Pad (x, p) y = Conv <strides = [4]> (a, w)",
        id="Conv, kernel below stride",
    ),
    pytest.param(
        conv(f"{LOWER}, strides = [6]", opset=7),
        "on axis 2 of size 12 onnxruntime pads -1+-4 and gives 2 elements, the specification "
        "pads 0+0 and gives 2 elements",
        conv("strides = [6]", opset=7),
        "",
        id="Conv SAME_LOWER, before opset 11",
    ),
    pytest.param(
        pool(f"{UPPER}, kernel_shape = [3], dilations = [2]", size=7),
        "onnxruntime pads 1+1 and gives 5 elements, the specification pads 2+2 and gives 7 "
        "elements",
        pool("pads = [2, 2], kernel_shape = [3], dilations = [2]", size=7),
        "y = MaxPool <pads = [1, 1], kernel_shape = [3], dilations = [2]> (x)",
        id="dilated MaxPool",
    ),
    pytest.param(
        pool(f"{UPPER}, kernel_shape = [2], dilations = [2], strides = [2]", op="LpPool", size=7),
        "onnxruntime pads 0+1 and gives 3 elements, the specification pads 1+1 and gives 4 "
        "elements",
        pool(
            "pads = [1, 1], kernel_shape = [2], dilations = [2], strides = [2]", op="LpPool", size=7
        ),
        "y = LpPool <pads = [0, 1], kernel_shape = [2], dilations = [2], strides = [2]> (x)",
        id="dilated LpPool with a stride",
    ),
    pytest.param(
        pool(f"{UPPER}, kernel_shape = [1], strides = [3]", op="AveragePool", size=9),
        "onnxruntime pads -1+-1 and gives 3 elements, the specification pads 0+0 and gives 3 "
        "elements",
        pool("kernel_shape = [1], strides = [3]", op="AveragePool", size=9),
        "",
        id="AveragePool from opset 19 on",
    ),
    pytest.param(
        pool(f"{UPPER}, kernel_shape = [1], strides = [3]", kind="double", size=9),
        "onnxruntime pads -1+-1",
        pool("kernel_shape = [1], strides = [3]", kind="double", size=9),
        "",
        id="MaxPool of doubles",
    ),
    pytest.param(
        pool(
            f"{UPPER}, kernel_shape = [1], strides = [3]",
            op="com.microsoft.NhwcMaxPool",
            kind="uint8",
        ),
        "",
        None,
        "",
        id="NhwcMaxPool",
    ),
]


@pytest.mark.parametrize(("model", "numbers", "specified", "computed"), DISPUTED)
def test_a_choice_decides(
    model: onnx.ModelProto, numbers: str, specified: onnx.ModelProto | None, computed: str
) -> None:
    if specified is None:  # its channels are last
        model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 12
        model.graph.input[0].type.tensor_type.shape.dim[2].dim_value = 1
        numbers = "on axis 1 of size 12 onnxruntime pads -1+-1"
    result = onnxpad.fix(model)
    assert not result.changed
    (finding,) = result.findings
    assert finding.reason_code == "engines-disagree"
    assert numbers in finding.reason
    assert "--trust" in finding.reason

    for trust in ("spec", "onnxruntime"):
        result = onnxpad.fix(model, trust=trust)
        assert not result.undone
        (change,) = result.changes
        assert f"trusts-{trust}" in codes(change)
        assert change.certificate.facts["trusts"] == trust
        assert not onnxpad.check(result.model, trust=trust).failing()
        assert not onnxpad.check(result.model).failing()
        assert not onnxpad.fix(result.model, trust=trust).changed
        (told,) = onnxpad.check(model, trust=trust).failing()
        assert "disagree" in told.message
        assert told.evidence["trusts"] == trust
        strict = onnxpad.fix(model, trust=trust, strict=True)
        assert not strict.changed
        assert {each.reason_code for each in strict.undone} == {"assumption-refused"}
        assert result.validation is not None
        if trust == "onnxruntime":
            assert result.validation.outcome == "passed"
            for seed in range(2):
                feeds = feeds_of(model, seed)
                np.testing.assert_array_equal(run(model, feeds)[0], run(result.model, feeds)[0])
            if computed:
                found = [node.op_type for node in result.model.graph.node]
                assert found == [node.op_type for node in one(computed).graph.node]
        else:
            assert result.validation.outcome == "nothing compared"
            if specified is not None:
                assert_graph(result.model, specified)


WINDOWS = [
    (1, 4, 1),
    (1, 6, 1),
    (2, 5, 1),
    (2, 7, 1),
    (3, 1, 2),
    (2, 1, 2),
    (3, 2, 2),
    (3, 5, 3),
    (2, 3, 2),
]
"""Kernels, strides and dilations on which the engines disagree at some sizes."""


def lines(windows: Sequence[tuple[int, int, int]]) -> Iterator[Any]:
    """Operators with SAME over lines of a few lengths."""
    for op in ("Conv", "MaxPool", "AveragePool", "LpPool"):
        for kernel, stride, dilation in windows:
            if op == "Conv" and dilation > 1:
                continue
            for auto_pad in (UPPER, LOWER):
                for size in (1, 5, 6, 8):
                    shape = (
                        f"kernel_shape = [{kernel}], strides = [{stride}], dilations = [{dilation}]"
                    )
                    model = pool(
                        f"{auto_pad}, {shape}",
                        op=op,
                        size=size,
                        kind="double" if op == "MaxPool" else "float",
                    )
                    if op == "Conv":
                        model = one(
                            f"y = Conv <{auto_pad}, {shape}> (x, w)",
                            inputs=f"float[1, 1, {size}] x",
                            initializers=f"float[1, 1, {kernel}] w = {{{', '.join('1' * kernel)}}}",
                        )
                    yield op, Window(kernel, stride, dilation), auto_pad == LOWER, size, model


def test_what_onnxruntime_computes_is_what_is_written() -> None:
    compared = 0
    for _, _, _, _, model in lines(WINDOWS):
        result = onnxpad.fix(model, trust="onnxruntime", validate=False)
        assert not result.undone
        if result.changed:
            feeds = feeds_of(model)
            try:
                expected = run(model, feeds)
            except Exception:  # a repair, by the specification
                continue
            np.testing.assert_array_equal(expected[0], run(result.model, feeds)[0])
            compared += any(c.certificate.facts.get("trusts") for c in result.changes)
    assert compared > 50


def test_what_is_specified_is_what_is_written() -> None:
    """A window that walks the line says what the specification means."""
    compared = 0
    for op, window, is_lower, size, model in lines(WINDOWS):
        result = onnxpad.fix(model, trust="spec", validate=False)
        assert not result.undone
        if not result.changed:
            assert {f.reason_code for f in result.findings} == {"pads-not-below-kernel"}
            continue
        count = -(-size // window.stride)
        total = max(0, (count - 1) * window.stride + window.extent - size)
        begin = (total + is_lower) // 2
        feeds = feeds_of(model)
        line = feeds["x"].ravel()
        expected = []
        for read in walk(window, begin, count):
            values = [float(line[place]) for place in read if 0 <= place < size]
            value = {
                "Conv": sum(values),
                "MaxPool": max(values, default=float(np.finfo(np.float64).min)),
                "AveragePool": sum(values) / max(len(values), 1),
                "LpPool": sum(each * each for each in values) ** 0.5,
            }[op]
            expected.append(value)
        found = run(result.model, feeds)[0].ravel()
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        compared += any(c.certificate.facts.get("trusts") for c in result.changes)
    assert compared > 50


def test_the_reference_evaluator_probes_what_it_computes() -> None:
    model = conv(f"{UPPER}, strides = [5]", size=10)
    result = onnxpad.fix(model, trust="spec")
    (change,) = result.changes
    assert codes(change) == ["trusts-spec"]
    feeds = feeds_of(model)
    expected = ReferenceEvaluator(model).run(None, feeds)
    np.testing.assert_array_equal(np.asarray(expected)[0], run(result.model, feeds)[0])
    (change,) = onnxpad.fix(
        pool(f"{UPPER}, kernel_shape = [3], dilations = [2]"), trust="spec"
    ).changes
    assert "not-probed" in codes(change)


def test_the_rest_is_compared_with_the_original_as_specified() -> None:
    """What else changes is validated, although onnxruntime reads the original otherwise."""
    model = one(
        f"a = Conv <{UPPER}, strides = [4]> (x, w) b = Pad (a, p) y = Conv (b, v)",
        inputs="float[1, 1, 12] x",
        initializers="float[1, 1, 1] w = {3}, float[1, 1, 2] v = {1, 2},"
        " int64[6] p = {0, 0, 1, 0, 0, 1}",
    )
    result = onnxpad.fix(model, trust="spec")
    assert [change.code for change in result.changes] == ["PAD101", "PAD201"]
    assert result.validation is not None
    assert result.validation.outcome == "passed"
    assert any("as specified" in note and "<a>" in note for note in result.validation.notes)
    expected = ReferenceEvaluator(model).run(None, feeds_of(model))
    np.testing.assert_array_equal(np.asarray(expected)[0], run(result.model, feeds_of(model))[0])
    # Without a choice, the rest is fixed and what is disputed stays.
    result = onnxpad.fix(model)
    assert [change.code for change in result.changes] == ["PAD201"]
    assert result.ok


@pytest.mark.parametrize("trust", ["spec", "onnxruntime"])
@pytest.mark.parametrize(
    "model",
    [
        conv(f"{UPPER}, strides = [2]"),
        conv("strides = [4]"),
        one(f"y = Conv <{UPPER}, dilations = [2]> (x, w)", inputs="float[1, 1, 9] x",
            initializers="float[1, 1, 3] w = {1, 2, 3}"),
        pool(f"{UPPER}, kernel_shape = [1], strides = [3]", opset=17, op="AveragePool"),
    ],
    ids=["agree", "no SAME", "repair of a Conv", "repair of a pool"],
)  # fmt: skip
def test_a_choice_changes_nothing_where_nothing_is_disputed(
    model: onnx.ModelProto, trust: str
) -> None:
    usual, chosen = onnxpad.fix(model), onnxpad.fix(model, trust=trust)
    assert usual.model.SerializeToString() == chosen.model.SerializeToString()
    assert usual.changes == chosen.changes
    assert usual.findings == chosen.findings


def test_repairs_are_named() -> None:
    """onnxruntime gives no answer, and the specification does."""
    dilated = one(f"y = Conv <{UPPER}, dilations = [2]> (x, w)", inputs="float[1, 1, 9] x",
                  initializers="float[1, 1, 3] w = {1, 2, 3}")  # fmt: skip
    stops = pool(f"{UPPER}, kernel_shape = [1], strides = [3]", size=9)
    beside = conv('auto_pad = "VALID", pads = [0, 0]')
    for model, repair in (
        (dilated, "SAME_UPPER with dilation"),
        (stops, "SAME_UPPER with a kernel below the stride"),
        (beside, "auto_pad beside pads"),
    ):
        (finding,) = onnxpad.check(model, ignore="PAD6").findings
        assert finding.severity == "error"
        assert finding.evidence["repair"] == repair
        (change,) = onnxpad.fix(model).changes
        assert change.repairs
        assert change.certificate.facts["repair"] is True


def test_auto_pad_beside_other_pads() -> None:
    """The specification forbids that; onnxruntime takes the auto_pad of a pool."""
    for auto_pad, resolved in (("SAME_UPPER", [1, 1]), ("VALID", None)):
        model = pool(f'auto_pad = "{auto_pad}", kernel_shape = [3], pads = [2, 2]')
        for trust in (None, "spec"):
            result = onnxpad.fix(model, trust=trust)
            assert not result.changed
            assert [f.reason_code for f in result.findings] == ["auto-pad-and-pads"]
            asks = "--trust onnxruntime decides" in result.findings[0].reason
            assert asks is (trust is None)  # which was given is not asked for
        result = onnxpad.fix(model, trust="onnxruntime")
        assert result.ok
        (change,) = result.changes
        assert "trusts-onnxruntime" in codes(change)
        attributes = {a.name: list(a.ints) for a in result.model.graph.node[0].attribute}
        assert attributes.get("pads") == (resolved or [0, 0])
        feeds = feeds_of(model)
        np.testing.assert_array_equal(run(model, feeds)[0], run(result.model, feeds)[0])
    for stopping in (
        pool(f"{UPPER}, kernel_shape = [2], strides = [3], pads = [1, 0]", size=9),
        pool(f"{UPPER}, kernel_shape = [3], pads = [3, 3]"),
    ):  # a SAME that stops, and pads that no pool may have
        result = onnxpad.fix(stopping, trust="onnxruntime")
        assert not result.undone
        assert not result.changed
    refused = conv('auto_pad = "VALID", pads = [2, 2]')
    for trust in (None, "spec", "onnxruntime"):
        result = onnxpad.fix(refused, trust=trust)
        assert not result.changed
        (finding,) = result.findings
        assert finding.reason_code == "auto-pad-and-pads"
        assert "--trust" not in finding.reason


@pytest.mark.parametrize("op", ["MaxPool", "LpPool"])
@pytest.mark.parametrize("trust", [None, "spec", "onnxruntime"])
def test_pads_beside_a_same_of_an_open_size(op: str, trust: str | None) -> None:
    """Constants cannot be the pads of a SAME that depend on the size."""
    model = pool(f"{UPPER}, kernel_shape = [3], strides = [2], pads = [2, 2]", size="n", op=op)
    result = onnxpad.fix(model, dynamic="pad", trust=trust)
    assert not result.undone
    assert result.changed == (trust == "onnxruntime")
    if result.changed:
        for size in (5, 8):
            feeds = feeds_of(model, size=size)
            np.testing.assert_array_equal(run(model, feeds)[0], run(result.model, feeds)[0])


def test_open_sizes() -> None:
    """The form may differ at some sizes only, and then the sizes decide too."""
    model = conv(f"{UPPER}, strides = [4]", size="n")
    (finding,) = onnxpad.fix(model).findings
    assert finding.reason_code == "engines-disagree"
    # At one more than the multiples of 4 they agree.
    odd = one(
        f'a = Pad <mode = "edge"> (x, p) y = Conv <{UPPER}, strides = [4]> (a, w)',
        inputs="float[1, 1, n] x",
        initializers="float[1, 1, 1] w = {3}, int64[6] p = {0, 0, 0, 0, 0, 1}",
    )
    assert not onnxpad.fix(odd).changed
    agree = onnxpad.fix(odd, dims={"n": "4..64:4"})
    assert agree.ok
    assert not agree.changes[0].certificate.assumptions
    result = onnxpad.fix(model, trust="spec")
    assert_graph(result.model, conv("strides = [4]", size="n"))
    # What onnxruntime reads depends on the size, unless the range leaves one form.
    result = onnxpad.fix(model, trust="onnxruntime")
    assert not result.changed
    assert result.findings[0].reason_code == "size-dependent"
    result = onnxpad.fix(model, trust="onnxruntime", dims={"n": "4..64:4"})
    assert result.ok
    for size in (4, 8, 64):
        feeds = feeds_of(model, size=size)
        np.testing.assert_array_equal(run(model, feeds)[0], run(result.model, feeds)[0])


def test_open_sizes_of_a_dilated_pool() -> None:
    model = pool(f"{UPPER}, kernel_shape = [3], dilations = [2]", size="n")
    result = onnxpad.fix(model, trust="onnxruntime")
    assert not result.changed  # no window of it fits at 2
    result = onnxpad.fix(model, trust="onnxruntime", dims={"n": "3..64"})
    assert result.ok
    attributes = {a.name: list(a.ints) for a in result.model.graph.node[0].attribute}
    assert attributes["pads"] == [1, 1]
    strided = pool(f"{UPPER}, kernel_shape = [3], dilations = [2], strides = [2]", size="n")
    result = onnxpad.fix(strided, trust="spec", dynamic="pad", dims={"n": "2..64"})
    assert not result.undone
    assert [node.op_type for node in result.model.graph.node][-2:] == ["Pad", "MaxPool"]
    for size, expected in ((5, 3), (8, 4)):
        found = run(result.model, feeds_of(strided, size=size))[0]
        assert found.shape[-1] == expected


@pytest.mark.parametrize("style", ["fold", "pad", "symmetric"])
@pytest.mark.parametrize("trust", ["spec", "onnxruntime"])
def test_styles(style: str, trust: str) -> None:
    model = one(
        f"y = MaxPool <{UPPER}, kernel_shape = [3, 1], dilations = [2, 1], strides = [1, 5]> (x)",
        inputs="double[1, 2, 9, 10] x",
        outputs="double[] y",
    )
    result = onnxpad.fix(model, style=style, trust=trust)
    assert not result.undone
    assert result.changed
    assert not onnxpad.check(result.model, style=style, trust=trust).failing()
    found = run(result.model, feeds_of(model))[0]
    if trust == "onnxruntime":
        np.testing.assert_array_equal(run(model, feeds_of(model))[0], found)
    else:
        assert found.shape == (1, 2, 9, 2)


def test_a_clipped_window_is_read_alike_and_filled_otherwise() -> None:
    """onnxruntime makes a window where none fits, and reads nothing past the data."""
    shape = "kernel_shape = [3], strides = [4], dilations = [2]"
    model = pool(f"{UPPER}, {shape}", kind="double", size=4)
    result = onnxpad.fix(model, trust="spec")
    assert not result.undone
    expected = pool(f"pads = [0, 1], {shape}", kind="double", size=4)
    assert_graph(result.model, expected)


def test_indices_keep_what_they_count() -> None:
    """A crop would change them, what is specified would not."""
    model = one(
        f"y, i = MaxPool <{UPPER}, kernel_shape = [1], strides = [5]> (x)",
        inputs="float[1, 1, 10] x",
        outputs="float[] y, int64[] i",
    )
    result = onnxpad.fix(model, trust="onnxruntime")
    assert not result.changed
    assert result.findings[0].reason_code == "indices-read"
    assert onnxpad.fix(model, trust="spec").changed


IN_BODY = """
    <ir_version: 9, opset_import: ["" : 17]>
    g (float[1, 1, 12] x, bool b) => (float[1, 1, 3] y) <float[1, 1, 1] w = {{3}}>
    {{
        y = If (b) <
            then_branch = t () => (float[1, 1, 3] u) {{ u = Conv <{same}, strides = [4]> (x, w) }},
            else_branch = e () => (float[1, 1, 3] v) {{ v = Conv <strides = [4]> (x, w) }}
        >
    }}
"""
IN_FUNCTION = """
    <ir_version: 9, opset_import: ["" : 17, "f" : 1]>
    g (float[1, 1, 12] x) => (float[1, 1, 3] y) <float[1, 1, 1] w = {{3}}>
    {{ y = f.stem (x, w) }}
    <domain: "f", opset_import: ["" : 17]>
    stem (a, k) => (c) {{ c = Conv <{same}, strides = [4]> (a, k) }}
"""


@pytest.mark.parametrize("text", [IN_BODY, IN_FUNCTION], ids=["body", "function"])
@pytest.mark.parametrize("trust", ["spec", "onnxruntime"])
def test_bodies_and_functions(text: str, trust: str) -> None:
    model = onnx.parser.parse_model(text.format(same=UPPER))
    assert "engines-disagree" in {f.reason_code for f in onnxpad.fix(model).findings}
    result = onnxpad.fix(model, trust=trust)
    assert not result.undone
    (change,) = result.changes
    assert f"trusts-{trust}" in codes(change)
    feeds = feeds_of(model)
    feeds |= {"b": np.array(True)} if "b" in feeds else {}
    begin = {"spec": 0, "onnxruntime": 1}[trust]
    np.testing.assert_array_equal(run(result.model, feeds)[0], 3 * feeds["x"][:, :, begin::4])


def test_the_manual_quotes_the_finding_and_its_numbers() -> None:
    text = " ".join(pages()["engines"].replace("\n>", "\n").split())
    (finding,) = onnxpad.check(conv(f"{UPPER}, strides = [4]", size=4), ignore="PAD6").findings
    assert finding.reason in text
    lp = pool(f"{UPPER}, kernel_shape = [1], strides = [3]", op="LpPool", size=9)
    dilated = pool(f"{UPPER}, kernel_shape = [3], dilations = [2]", size=7)
    for model, row in (
        (lp, "kernel 1, stride 3, size 9 | crops: pads {} | pads {} |"),
        (dilated, "kernel 3, dilation 2, size 7 | pads {}, {} elements | pads {}, {} elements |"),
    ):
        facts = onnxpad.check(model, ignore="PAD6").findings[0].evidence
        ours, theirs = facts["onnxruntime"], facts["specification"]
        assert isinstance(ours, dict)
        assert isinstance(theirs, dict)
        pads = ["{}+{}".format(*each["pads"]) for each in (ours, theirs)]
        told = [pads[0], ours["windows"], pads[1], theirs["windows"]]
        assert row.format(*(told if "elements" in row else told[::2])) in text


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(conv(f"{UPPER}, strides = [4]", size=4), path)
    refused = onnxpad_runs("fix", path, "--trust", "ort")
    assert refused.exit_code == 2
    assert "'spec', 'onnxruntime'" in refused.stderr
    assert not (tmp_path / "m.fixed.onnx").exists()
    assert onnxpad_runs("check", path).exit_code == 0
    assert onnxpad_runs("check", path, "--trust", "onnxruntime").exit_code == 1
    assert onnxpad_runs("check", path, "--trust", "nothing").exit_code == 0
    told = onnxpad_runs("fix", path, "--trust", "spec")
    assert told.exit_code == 5
    assert "not validated: onnxruntime computes something else" in " ".join(told.stdout.split())
    assert "the specification, where onnxruntime computes something else" in told.stdout
    report = json.loads(onnxpad_runs("fix", path, "--trust", "spec", "--format", "json").stdout)
    assert report["trust"] == "spec"
    assert report["exit_code"] == 5
    (change,) = report["changes"]
    assert change["certificate"]["assumption_codes"] == ["trusts-spec"]
    assert change["certificate"]["facts"]["trusts"] == "spec"
    report = json.loads(onnxpad_runs("check", path, "--format", "json").stdout)
    assert report["trust"] is None
    (finding,) = report["files"][0]["findings"]
    assert finding["evidence"]["onnxruntime"] == {"pads": [-1, -2], "windows": 1}
    # Of what onnxruntime reads otherwise, validate finds the difference.
    compared = onnxpad_runs("validate", path, tmp_path / "m.fixed.onnx")
    assert compared.exit_code == 3
    assert "'y'" in " ".join(compared.stdout.split())
    assert onnxpad_runs("fix", tmp_path / "m.fixed.onnx", "--trust", "spec").exit_code == 0


def test_what_was_decided_is_decided_once() -> None:
    model = conv(f"{UPPER}, strides = [4]", size=4)
    first = onnxpad.fix(model, trust="spec")
    again = onnxpad.fix(first.model, trust="spec")
    assert again.model.SerializeToString() == first.model.SerializeToString()


def test_another_choice_is_an_error() -> None:
    model = conv(f"{UPPER}, strides = [4]")
    for call in (onnxpad.fix, onnxpad.check):
        with pytest.raises(UsageError):
            call(model, trust="ort")
