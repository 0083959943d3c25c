"""Each padding is written with as little rewriting as its targets need."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.errors import ModelError, UsageError
from onnxpad.options import OptionKeywords
from tests.support import MODELS, assert_same, attributes, one, parsed
from tests.support.manual import blocks
from tests.support.rows import each_row, one_in

X: Final = "float[1, 2, 8, 8] x"
OPEN: Final = "float[n, 2, h, w] x"
W: Final = "float[2, 2, 3, 3] w = {" + ", ".join(str(i % 5 - 2) for i in range(36)) + "}"
P: Final = "int64[8] p = {0, 0, 0, 0, 0, 0, 1, 1}"
UPPER: Final = 'auto_pad = "SAME_UPPER"'
LOWER: Final = 'auto_pad = "SAME_LOWER"'
S2: Final = "strides = [2, 2]"
CONV: Final = "y = Conv (x, w)"
ZERO: Final = "v = Constant <value_float = 0.0> ()\n"
AXES: Final = "a = Constant <value_ints = [0, 1, 2, 3]> ()\n"
K3: Final = "kernel_shape = [3, 3]"
KEPT: Final = {
    "auto_pad", "pads", "ceil_mode", "output_padding", "kernel_shape", "count_include_pad",
}  # fmt: skip
REST: Final = '[[cell]]\nwhen = {}\nverdict = "right"\nsource = "its manual"\n'
UNKNOWN: Final = '[[cell]]\nwhen = {}\nverdict = "unknown"\n'


@pytest.fixture
def target(tmp_path: Path) -> Any:
    """Writes a target that computes all but some forms, and returns its path."""

    def written(*cells: str, rest: str = REST, **keys: Any) -> str:
        path = tmp_path / f"npu{len(list(tmp_path.iterdir()))}.toml"
        head = f'title = "Npu"\nversion = "1"\n{"".join(f"{k} = {v}" for k, v in keys.items())}\n'
        tables = [f"[[cell]]\nwhen = {{ {when} }}\n{says}\n" for when, says in map(_cell, cells)]
        path.write_text("\n".join([head, *tables, rest]), encoding="utf-8")
        return str(path)

    return written


def _cell(text: str) -> tuple[str, str]:
    when, _, verdict = text.partition(" -> ")
    return when, f'verdict = "{verdict}"\nsource = "its manual"'


def model(text: str, inputs: str = X, **more: Any) -> onnx.ModelProto:
    crop = (
        "float[2, 1, 1] b = {1, 2}, int64[2] s = {1, 0}, int64[2] e = {-2, 17}, int64[2] t = {2, 3}"
    )
    given = {", w)": W, ", p": P, ", t)": crop}
    weights = ", ".join(
        each for name, each in given.items() if name in text or (name == ", p" and "(p)" in text)
    )
    return one(text, inputs=inputs, initializers=weights, **more)


def codes(result: Any) -> list[str]:
    return [each.code for each in result.findings if each.code >= "PAD702" and each.code < "PAD9"]


def nodes(proto: onnx.ModelProto) -> list[str]:
    """The operators of a model with the attributes of their padding."""
    told = []
    for node in proto.graph.node:
        said = {name: each for name, each in attributes(node).items() if name in KEPT}
        text = ", ".join(
            f"{name}={str(each).replace(' ', '')}" for name, each in sorted(said.items())
        )
        told.append(re.sub(r"[' b]*(SAME\w+|VALID)'?", r"\1", f"{node.op_type}({text})"))
    return told


BOTH: Final = f"a = Conv <{UPPER}, {S2}> (x, w) y = Conv <{LOWER}, {S2}> (a, w)"
COUNTED: Final = f"y = AveragePool <count_include_pad = 1, {K3}, PADS> (x)"


@each_row(
    ("text", "inputs", "cells", "expected"),
    [
        # One side of SAME is wrong: it alone is written out.
        (BOTH, X, ['auto_pad = "SAME_UPPER" -> wrong'],
         "Conv(pads=[0,0,1,1]) Conv(auto_pad=SAME_LOWER)"),
        (BOTH, X, ['auto_pad = "SAME_LOWER" -> wrong'],
         "Conv(auto_pad=SAME_UPPER) Conv(pads=[1,1,0,0])"),
        # Only known sizes, or only unknown ones.
        (f"y = Conv <{UPPER}> (x, w)", OPEN, ['auto_pad = "SAME_UPPER", sized = false -> rejected'],
         "Conv(pads=[1,1,1,1])"),
        (f"y = Conv <{UPPER}> (x, w)", X, ['auto_pad = "SAME_UPPER", sized = true -> rejected'],
         "Conv(pads=[1,1,1,1])"),
        # No unequal pads in the operator; more at the begin is wrong, more at the end is right.
        (f"a = Conv <pads = [0, 0, 1, 1]> (x, w) y = MaxPool <{K3}, pads = [0, 0, 1, 1]> (a)", X,
         ['op = "Conv", pads = ["end", "begin", "mixed"] -> wrong'],
         "Pad() Conv(pads=[0,0,0,0]) MaxPool(kernel_shape=[3,3],pads=[0,0,1,1])"),
        ("a = Conv <pads = [1, 1, 0, 0]> (x, w) y = Conv <pads = [0, 0, 1, 1]> (a, w)", X,
         ['op = "Conv", pads = "begin" -> wrong'],
         "Pad() Conv(pads=[0,0,0,0]) Conv(pads=[0,0,1,1])"),
        # What is taken stays; onnxruntime's optimiser folds this Pad wrongly, but for its guard.
        (f"z = Pad (x, p) a = Conv (z, w) y = Conv <{UPPER}, {S2}> (a, w)", X, [],
         "Pad() Conv() Conv(auto_pad=SAME_UPPER)"),
        (f"z = Pad (x, p) y = MaxPool <{K3}> (z)", X, [], "Pad() MaxPool(kernel_shape=[3,3])"),
        # Amounts that are always the same become constants; a Pad that is not taken is folded.
        ("q = Add (p, p) z = Pad (x, q) y = Conv (z, w)", X, ['pad = "computed" -> rejected'],
         "Pad() Conv()"),
        ("q = Sub (p, p) z = Pad (x, q) y = Neg (z)", X, ['pad = "computed" -> rejected'], "Neg()"),
        ("z = Pad (x, p) y = Conv (z, w)", X, ['pad = "constant" -> rejected'],
         "Conv(pads=[0,0,1,1])"),
        # They stay computed where constants are not taken; a Pad that is shared stays for others.
        ("q = Identity (p) z = Pad (x, q) y = Neg (z)", X, ['pad = "constant" -> rejected'],
         "Identity() Pad() Neg()"),
        (f"z = Pad (x, p) a = Conv (z, w) b = MaxPool <{K3}> (z) y = Add (a, b)", X,
         ['op = "Conv", pad = "constant" -> rejected'],
         "Pad() Conv(pads=[0,0,1,1]) MaxPool(kernel_shape=[3,3]) Add()"),
        # What is written anew has initializers for what Constant nodes gave.
        (f"q = Identity (p) {ZERO} z = Pad (x, q, v) y = Relu (z)", X,
         ['pad = ["computed", "constant-node"] -> rejected'], "Pad() Relu()"),
        # ceil_mode becomes end pads where the sizes are known, and only where it is not taken.
        ((f"a = MaxPool <ceil_mode = 1, {K3}, {S2}> (x) "
         f"y = MaxPool <ceil_mode = 1, kernel_shape = [2, 2], {S2}> (a)"), X,
         ['op = "MaxPool", ceil = ["over", "dropped"] -> rejected'],
         "MaxPool(kernel_shape=[3,3],pads=[0,0,1,1]) MaxPool(ceil_mode=1,kernel_shape=[2,2])"),
        # Counted pools only without own padding.
        (COUNTED.replace("PADS", "pads = [1, 1, 1, 1]"), X, ["counted = true -> wrong"],
         "Pad() AveragePool(count_include_pad=1,kernel_shape=[3,3],pads=[0,0,0,0])"),
        # A transposed convolution with equal pads only; with a crop behind its bias.
        (f"y = ConvTranspose <pads = [1, 1, 0, 0], {S2}> (x, w)", X,
         ['op = "ConvTranspose", pads = ["begin", "end"] -> rejected'],
         "ConvTranspose(output_padding=[1,1],pads=[1,1,1,1])"),
        ((f'a = ConvTranspose <auto_pad = "VALID", {S2}> (x, w) c = Add (a, b) '
         "y = Slice (c, s, e, t)"), X,
         ['auto_pad = "VALID" -> rejected', 'pads = ["begin", "end"] -> rejected'],
         "ConvTranspose() Add() Slice()"),
        # A Pad downstream of one, which is written as what the amounts are, or folded.
        (f"q = Add (p, p) z = ConvTranspose <{S2}> (x, w) y = Pad (z, q)", X,
         ['pad = "computed" -> rejected'], "ConvTranspose() Pad()"),
        (f"z = ConvTranspose <{S2}> (x, w) y = Pad (z, p)", X, ['op = "Pad" -> rejected'],
         "ConvTranspose(output_padding=[1,1])"),
        # No more than some amount on a side, of an operator and of a Pad.
        ("a = Conv <pads = [0, 0, 2, 2]> (x, w) y = Conv <pads = [1, 1, 1, 1]> (a, w)", X,
         ['op = "Conv", amount = { min = 2 } -> wrong'],
         "Pad() Conv(pads=[0,0,0,0]) Conv(pads=[1,1,1,1])"),
        ("z = Pad (x, p) y = Conv (z, w)", X, ['op = "Pad", amount = 1 -> rejected'],
         "Conv(pads=[0,0,1,1])"),
        ("z = Pad (x, p) y = Conv (z, w)", X, ['op = "Conv", amount = { min = 1 } -> rejected'],
         "Pad() Conv()"),
        # What depends on the size.
        (f"y = MaxPool <{UPPER}, {K3}> (x)", OPEN, ['auto_pad = "SAME_UPPER" -> fallback'],
         "MaxPool(kernel_shape=[3,3],pads=[1,1,1,1])"),
    ],
    at_once=4,
)  # fmt: skip
def test_what_is_written(
    text: str, inputs: str, cells: list[str], expected: str, target: Any
) -> None:
    before = model(text, inputs)
    result = onnxpad.fix(before, target=target(*cells))
    assert " ".join(nodes(result.model)).replace(", ", ",") == expected
    assert result.ok
    assert not codes(result)
    assert not onnxpad.fix(result.model, target=target(*cells)).changed
    assert not onnxpad.check(result.model, target=target(*cells)).findings
    assert result.changed == bool(onnxpad.check(before, target=target(*cells)).findings)
    assert_same(before, result.model)


@each_row(
    ("spell", "text", "opset", "cell", "expected"),
    [
        ("kernel_shape", CONV, 17, "kernel_shape = false", "Conv(kernel_shape=[3,3])"),
        ("write_pads", CONV, 17, "silent = true", "Conv(pads=[0,0,0,0])"),
        ("no_count_include_pad", COUNTED.replace(", PADS", ""), 17, "count_include_pad = true",
         "AveragePool(kernel_shape=[3,3])"),
        ("no_output_padding",
         f"y = ConvTranspose <output_padding = [1, 0], pads = [1, 0, 1, 2], {S2}> (x, w)",
         17, "output_padding = true", "ConvTranspose(pads=[1,0,0,2])"),
        ("value", "y = Pad (x, p)", 17, 'fill = "absent"', "Pad 3"),
        ("no_value", f"{ZERO}y = Pad (x, p, v)", 17, 'fill = "zero"', "Pad 2"),
        ("no_value", f'{ZERO}y = Pad <mode = "reflect"> (x, p, v)', 17,
         'fill = ["zero", "other"]', "Pad 2"),
        ("initializers", f"{ZERO}y = Pad (x, p, v)", 17, 'pad = "constant-node"', "Pad 3"),
        ("typed_amounts", "y = Pad (x, p)", 17, "raw = true", "Pad typed"),
        ("no_axes", f'{AXES}y = Pad (x, p, "", a)', 18, "axes = true", "Pad 2"),
    ],
)  # fmt: skip
def test_what_is_spelled(
    spell: str, text: str, opset: int, cell: str, expected: str, target: Any
) -> None:
    before = model(text, opset=opset)
    for each in before.graph.initializer:
        if each.name == "p" and expected == "Pad typed":
            each.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(each), "p"))
    result = onnxpad.fix(before, target=target(f"{cell} -> rejected", spell=[spell]))
    npu = target(f"{cell} -> rejected")  # tried by itself, listed or not
    assert onnxpad.fix(before, target=npu).model == result.model
    last = result.model.graph.node[-1]
    if last.op_type != "Pad":
        assert nodes(result.model) == [expected]
    elif expected == "Pad typed":
        (amounts,) = (each for each in result.model.graph.initializer if each.name in last.input)
        assert list(amounts.int64_data) == [0, 0, 0, 0, 0, 0, 1, 1]
    else:
        assert f"Pad {len(list(filter(None, last.input)))}" == expected
    assert [change.code for change in result.changes] == ["PAD702"]
    assert result.ok
    assert not onnxpad.check(result.model, target=npu).findings


@pytest.mark.parametrize(
    "text",
    [
        f'y = Conv <auto_pad = "VALID", {K3}, pads = [1, 1, 1, 1]> (x, w)',
        f'y = MaxPool <auto_pad = "VALID", {K3}, pads = [1, 1, 1, 1]> (x)',
        f"y = ConvTranspose <{UPPER}, {K3}, {S2}, pads = [0, 0, 0, 0]> (x, w)",
    ],
)
def test_auto_pad_and_pads_that_disagree_are_told_whatever_a_target_takes(
    text: str, target: Any
) -> None:
    for call in (onnxpad.check, onnxpad.fix):
        (found,) = call(model(text), target=target()).findings
        assert found.reason_code == "auto-pad-and-pads"


@pytest.mark.parametrize("attributes", ["pads = [1, 1, 1, 0], ", ""])
def test_output_padding_that_is_not_cropped_again_stays(attributes: str, target: Any) -> None:
    text = f"y = ConvTranspose <output_padding = [1, 1], {attributes}{S2}> (x, w)"
    npu = target("output_padding = true -> wrong", spell=["no_output_padding"])
    result = onnxpad.fix(model(text), target=npu)
    assert not result.changed
    assert codes(result) == ["PAD703"]


@each_row(
    ("verdict", "mended", "stays"),
    [
        ("wrong", ("PAD703", "error"), ("PAD703", "error")),
        ("rejected", ("PAD704", "error"), ("PAD704", "error")),
        ("fallback", ("PAD705", "warning"), ("PAD705", "info")),
        ("unknown", ("PAD706", "info"), ("PAD706", "info")),
    ],
)
def test_severities(
    verdict: str, mended: tuple[str, str], stays: tuple[str, str], target: Any
) -> None:
    before = model(f"y = Conv <{UPPER}, {S2}> (x, w)")
    found = onnxpad.check(before, target=target(f'auto_pad = "SAME_UPPER" -> {verdict}')).findings
    told = [(each.code, each.severity, each.fixable) for each in found if each.code != "PAD101"]
    assert told == [(*mended, True)]
    (left,) = onnxpad.check(before, target=target(f'op = "Conv" -> {verdict}')).findings
    assert (left.code, left.severity) == stays


@each_row(
    ("text", "inputs", "name", "code", "advised"),
    [
        ("y = Pad (x, q)", f"{X}, int64[8] q", "tract", "PAD704", False),
        ("z = Pad (x, q) y = Conv (z, w)", f"{OPEN}, int64[8] q", "tvm", "PAD704", False),
        (f"z = Compress <axis = 3> (x, q) y = MaxPool <{UPPER}, {K3}, {S2}> (z)",
         f"{X}, bool[8] q", "tvm", "PAD704", False),
        (f"y = MaxPool <{UPPER}, {K3}, {S2}> (x)", OPEN, "tvm", "PAD704", True),
        (f"y = MaxPool <{UPPER}, {K3}, {S2}> (x)", "float[] x", "qnn", "PAD705", True),
    ],
)  # fmt: skip
def test_sizes_are_asked_for_only_where_they_decide(
    text: str, inputs: str, name: str, code: str, advised: bool
) -> None:
    result = onnxpad.fix(model(text, inputs), target=name)
    (found,) = (each for each in result.findings if each.code == code)
    assert ("Pass --shape" in found.reason) is advised
    assert ("options" in found.evidence) is advised


def test_what_a_padding_means_is_asked_for_where_engines_disagree(target: Any) -> None:
    npu = target('auto_pad = "SAME_UPPER" -> wrong')
    before = model(f"y = MaxPool <{UPPER}, dilations = [2, 2], {K3}> (x)")
    (found,) = onnxpad.fix(before, target=npu).findings
    trusts = ["spec", "onnxruntime"]
    assert found.evidence["options"] == [f"--trust {each}" for each in trusts]
    for each in trusts:
        result = onnxpad.fix(before, target=npu, trust=each)
        assert result.changed
        assert not result.findings


@each_row(
    ("cells", "rest", "options", "changed", "told", "code"),
    [
        # Other numbers are worse than a form of which nothing is known; a rejection is not.
        (['auto_pad = "SAME_UPPER" -> wrong'], UNKNOWN, {}, True, ["PAD706"], 0),
        (['auto_pad = "SAME_UPPER" -> rejected'], UNKNOWN, {}, False, ["PAD704"], 1),
        (['auto_pad = "SAME_UPPER" -> rejected'], UNKNOWN, {"style": "fold"}, True, ["PAD706"], 0),
        (['auto_pad = "NOTSET" -> right'], "", {}, True, [], 0),
        # What no writing mends stays; what has a limit is tried, and nothing becomes so.
        (['op = "Conv" -> wrong'], REST, {}, False, ["PAD703"], 1),
        (['auto_pad = "SAME_UPPER" -> rejected"\nlimit = true\n#'], REST, {}, True, [], 0),
        (['auto_pad = "SAME_UPPER" -> wrong', 'op = "Conv" -> rejected"\nlimit = true\n#'], REST,
         {}, False, ["PAD703"], 1),
        (['auto_pad = "SAME_UPPER" -> rejected', 'pads = "end" -> wrong"\nlimit = true\n#'], REST,
         {"ignore": "PAD2"}, True, [], 0),
    ],
)  # fmt: skip
def test_what_is_better_than_what(
    cells: list[str],
    rest: str,
    options: Any,
    changed: bool,
    told: list[str],
    code: int,
    target: Any,
) -> None:
    before = model(f"y = Conv <{UPPER}, {S2}> (x, w)")
    npu = target(*cells, rest=rest)
    result = onnxpad.fix(before, target=npu, **options)
    assert (result.changed, codes(result), result.exit_code) == (changed, told, code)
    assert result.ok is not bool(code)
    if not changed:
        found = [each for each in onnxpad.check(before, target=npu).findings if each.code > "PAD7"]
        assert [(each.code, each.fixable) for each in found] == [(told[0], False)]
        assert found[0].evidence["source"] == "its manual"


@pytest.mark.parametrize("amounts", one_in(2, [("computed",), ("constant",)]))
def test_a_value_is_written_where_one_target_wants_one_and_another_none(amounts: str) -> None:
    computed = "r = Concat <axis = 0> (b, e)" * (amounts == "computed")
    given = "int64[4] b = {0, 0, 1, 1}, int64[4] e = {0, 0, 0, 1}"
    given += ", int64[8] r = {0, 0, 1, 1, 0, 0, 0, 1}" * (amounts == "constant")
    before = one(
        f'{computed} q = Pad (x, r) y = Conv <auto_pad = "SAME_LOWER", strides = [9, 3]> (q, w)',
        inputs="float[n, 3, d, 8] x, float[3, 3, 3, 3] w",
        initializers=given,
    )
    for targets in (["candle", "coreml-mlprogram"], ["coreml-mlprogram", "candle"]):
        result = onnxpad.fix(before, target=targets, dynamic="pad", validate=False)
        again = onnxpad.fix(result.model, target=targets, dynamic="pad", validate=False)
        assert not again.changes
        pads = [node for node in result.model.graph.node if node.op_type == "Pad"]
        assert {len(pad.input) for pad in pads} == {3}


@each_row(
    ("when", "is_about"),
    [
        ('op = "Pad"', True),
        ('op = "Pad", rank = { min = 4 }', True),
        ('op = "Pad", rank = 2', False),
        ('op = "Pad", producer = "me", fill = ["zero", "absent"]', True),
    ],
)
def test_a_pad_is_a_pad_wherever_it_stands(when: str, is_about: bool, target: Any) -> None:
    texts = (f"y = Conv <{UPPER}, {S2}> (x, w)", "z = Pad (x, p) y = Conv (z, w)", "y = Pad (x, p)")
    uneven = 'op = "Conv", pads = ["end", "begin", "mixed"] -> rejected'
    written = []
    for text in texts:
        before = model(text)
        before.producer_name = "me"
        npu = [target(f"{when} -> rejected", *each) for each in ((uneven,), ())]
        result = onnxpad.fix(before, target=npu[text != texts[0]], validate=False)
        written.append(nodes(result.model)[0][:3])
        findings = onnxpad.check(before, target=npu[1]).findings
        assert bool(findings) == (is_about and text != texts[0])
    assert written == (["Con", "Con", "Pad"] if is_about else ["Pad"] * 3)


def test_cells_about_an_operator_and_its_pad_are_heeded_both(target: Any) -> None:
    text = "z = Pad (x, p) y = Conv (z, w)"
    pad = 'op = "Pad" -> right'
    for cells in ((pad, 'op = "Conv" -> wrong'), ('op = "Conv", pad = "constant" -> wrong', pad)):
        assert codes(onnxpad.check(model(text), target=target(*cells))) == ["PAD703"]
    fused = target('op = "Conv", pad = "constant" -> right', 'op = "Pad" -> rejected')
    assert not onnxpad.check(model(text), target=fused).findings


def test_a_pad_of_a_type_that_a_target_cannot_pad_is_folded() -> None:
    before = model(f"z = Pad (x, p) y = MaxPool <{K3}> (z)", "uint8[1, 2, 8, 8] x")
    (pool,) = onnxpad.fix(before, target="tensorrt").model.graph.node
    assert pool.op_type == "MaxPool"


def test_several_targets_take_the_result(target: Any) -> None:
    before = model("z = Pad (x, p)\ny = Conv (z, w)")
    no_pad, no_sides = target('pad = "constant" -> rejected'), target('pads = "end" -> wrong')
    assert nodes(onnxpad.fix(before, target=no_pad).model) == ["Conv(pads=[0,0,1,1])"]
    assert nodes(onnxpad.fix(before, target=no_sides).model) == ["Pad()", "Conv()"]
    both = onnxpad.fix(before, target=[no_pad, no_sides])
    assert not both.changed
    assert codes(both) == ["PAD704"]


def test_options_narrow_like_another_target(target: Any) -> None:
    before = model(f"y = Conv <{UPPER}, {S2}> (x, w)")
    npu = target('auto_pad = "SAME_UPPER" -> wrong')
    assert nodes(onnxpad.fix(before, target=npu).model) == ["Conv(pads=[0,0,1,1])"]
    padded = onnxpad.fix(before, target=npu, style="pad")
    assert nodes(padded.model) == ["Pad()", "Conv()"]
    asked = [each.options.style_asked for each in (padded, onnxpad.fix(before, target=npu))]
    assert asked == ["pad", "keep"]
    taken = model("z = Pad (x, p)\ny = Conv (z, w)")
    assert not onnxpad.fix(taken, target=target()).changed
    folded = onnxpad.fix(taken, target=target(), style="fold")
    assert nodes(folded.model) == ["Conv(pads=[0,0,1,1])"]
    pooled = model(f"z = Pad (x, p)\na = Conv (z, w)\ny = MaxPool <ceil_mode = 1, {K3}, {S2}> (a)")
    both = onnxpad.fix(before, target=npu, style="symmetric", dynamic="pad")  # no way has both
    assert nodes(both.model) == nodes(onnxpad.fix(before, target=npu, style="symmetric").model)
    assert both.changed
    down = onnxpad.fix(pooled, target=target(), no_ceil=True)
    assert nodes(down.model) == ["Pad()", "Conv()", "MaxPool(kernel_shape=[3,3])"]


def test_onnxruntime_is_always_meant_unless_only_the_target_is(target: Any) -> None:
    before = model(f"y = Conv <dilations = [2, 2], {UPPER}> (x, w)")
    assert nodes(onnxpad.fix(before, target=target()).model) == ["Conv(pads=[2,2,2,2])"]
    alone = onnxpad.fix(before, target=target(), target_only=True)
    assert not alone.changed
    for given, said in (
        ({"target_only": True}, "target_only needs"),
        ({"target": [""]}, "is empty"),
    ):
        with pytest.raises(UsageError, match=said):
            onnxpad.fix(before, **given)


def test_a_pad_is_protected_from_onnxruntime_unless_that_need_not_run_it(target: Any) -> None:
    before = model(f"z = Pad (x, p)\ny = MaxPool <{K3}> (z)")
    assert [each.code for each in onnxpad.fix(before, target=target()).changes] == ["PAD701"]
    alone = {"target": target('fill = "empty" -> rejected'), "target_only": True}
    assert not onnxpad.fix(before, **alone).changed
    assert not onnxpad.check(before, **alone).findings


def test_a_convolution_that_takes_a_crop_past_a_step_is_followed(target: Any) -> None:
    before = model(
        f"a = ConvTranspose <{S2}> (x, w) b = Transpose <perm = [0, 1, 3, 2]> (a) y = Pad (b, p)"
    )
    before.graph.initializer[1].CopyFrom(
        onnx.numpy_helper.from_array(np.array([0, 0, -1, 0, 0, 0, -2, -2]), "p")
    )
    npu = target("cropped = true -> wrong", 'pads = ["end", "mixed", "begin"] -> rejected')
    result = onnxpad.fix(before, target=npu)
    assert codes(result) == ["PAD703"]
    assert not result.changed
    assert not onnxpad.fix(result.model, target=npu).changed
    assert [each.fixable for each in onnxpad.check(before, target=npu).findings] == [False]


def test_a_convolution_that_is_made_symmetric_stays_so_behind_its_crops(target: Any) -> None:
    text = f"a = ConvTranspose <{S2}, pads = [3, 3, 3, 0]> (x, w)\ny = Slice (a, s, e, t)"
    npu = target('op = "ConvTranspose", pads = ["begin", "end", "mixed"] -> rejected')
    result = onnxpad.fix(model(text), target=npu)
    assert [change.code for change in result.changes] == ["PAD404"]
    assert nodes(result.model) == ["ConvTranspose(pads=[3,0,3,0])", "Slice()", "Slice()"]
    assert [each.asked for each in result.findings] == ["--target"]
    assert not onnxpad.fix(result.model, target=npu).changed


def test_a_pad_that_goes_into_one_that_stays_is_not_gone(target: Any) -> None:
    text = "a = Pad (x, p) b = Pad (a, p) y = Relu (b)"
    npu = target('op = "Pad" -> fallback')
    found = onnxpad.check(model(text), target=npu).findings
    told = {(each.code, each.fixable) for each in found if each.code >= "PAD7"}
    assert told == {("PAD705", False)}
    assert not onnxpad.fix(model(text), target=npu).changed


BAD: Final = "b = MaxPool (x) c = Pad (b, p)"
IN: Final = {
    "a branch": f"c = If (d) <then_branch = t () => (float[?, ?, ?, ?] c) {{ {BAD} }},"
    " else_branch = e () => (float[?, ?, ?, ?] g) { g = Relu (x) }>",
    "a loop": "c = Loop (n, d, x) <body = l (int64 k, bool r, float[1, 2, 8, 8] s) =>"
    f" (bool o, float[?, ?, ?, ?] c) {{ o = Identity (r) {BAD} }}>",
    "a branch that pads a scalar": "c = If (d) <then_branch = t () => (float[?, ?, ?, ?] c)"
    f" <float v = {{1}}> {{ c = MaxPool <{K3}, {UPPER}> (v) }},"
    " else_branch = e () => (float[?, ?, ?, ?] g) { g = Relu (x) }>",
    "a function": "c = local.f (x, p)",
}


@each_row("place", [*IN, "no pads", "the main graph"])
def test_what_is_malformed_is_told_as_without_a_target(place: str, target: Any) -> None:
    body = {"no pads": "b = Relu (x) [f] c = Pad (b, x)"}.get(place, IN.get(place, BAD))
    before = parsed(
        f"g ({X}, bool d, int64 n) => (float[?, ?, ?, ?] c, float[?, ?, ?, ?] y) <{W}, {P}>"
        f"{{ {body} y = Conv <{UPPER}, {S2}> (x, w) }}"
    )
    if place == "a function":
        function = parsed(f"g ({X}) => (float[?, ?, ?, ?] c) <{P}> {{ {BAD} }}").graph
        before.opset_import.add(domain="local", version=1)
        opsets = before.opset_import[:1]
        made = onnx.helper.make_function("local", "f", ["x", "p"], ["c"], function.node, opsets)
        before.functions.append(made)
    npu = target('auto_pad = "SAME_UPPER" -> wrong')

    def told(call: Any, **options: Any) -> Any:
        try:
            return [each for each in call(before, **options).findings if each.code >= "PAD9"]
        except ModelError as error:
            return str(error)

    for call in (partial(onnxpad.fix, validate=False), onnxpad.check):
        assert told(call)
        assert told(call, target=npu) == told(call)
    if place not in {*IN, "a function"}:
        assert onnxpad.show(before, target=npu).warnings == onnxpad.show(before).warnings


def test_two_files_of_one_name_are_two_targets(target: Any, tmp_path: Path) -> None:
    paths = [tmp_path / "a" / "npu.toml", tmp_path / "b" / "npu.toml"]
    cells = ['auto_pad = "SAME_UPPER" -> wrong', 'auto_pad = "SAME_LOWER" -> wrong']
    for path, cell in zip(paths, cells, strict=True):
        path.parent.mkdir()
        path.write_text(Path(target(cell)).read_text("utf-8"), encoding="utf-8")
    text = f"a = Conv <{UPPER}, {S2}> (x, w)\ny = Conv <{LOWER}, {S2}> (a, w)"
    result = onnxpad.fix(model(text), target=[str(each) for each in paths])
    assert nodes(result.model) == ["Conv(pads=[0,0,1,1])", "Conv(pads=[1,1,0,0])"]


def test_findings_about_shapes_name_the_option_that_mends_them(target: Any) -> None:
    before = model(f"y = Conv <{UPPER}, {S2}> (x, w)", OPEN)
    npu = target('pads = "open" -> rejected', 'pad = "computed" -> rejected')
    (found,) = onnxpad.check(before, target=npu).findings
    assert (found.code, found.evidence["options"]) == ("PAD704", ["--shape", "--dim"])
    (site,) = onnxpad.show(before, target=npu).sites
    assert site.advice == (f"onnxpad fix MODEL --target {npu} --dim h=224 --dim w=224",)
    gains = onnxpad.fix(before, target=npu, validate=False).next
    assert gains is not None
    assert (gains.option, gains.taken) == ("--dim h=224 --dim w=224", 1)
    assert gains.gain.endswith("other sizes too")
    assert not onnxpad.fix(before, target=npu, validate=False, **gains.keywords).findings
    mended = onnxpad.fix(before, target=npu, shapes={"x": (1, 2, 8, 8)})
    assert nodes(mended.model) == ["Conv(auto_pad=SAME_UPPER)"]
    assert not codes(mended)
    # As its file has it, whatever sizes are given; and all sizes are named at once.
    npu = target("sized = false -> rejected", "batched = false -> rejected")
    for sizes, is_mended in (({"h": 8, "w": 8}, False), ({"n": 1, "h": 8, "w": 8}, True)):
        (found,) = onnxpad.check(before, target=npu, dims=sizes).findings
        assert (found.code, found.fixable) == ("PAD704", is_mended)
        assert ("declares" in found.evidence) is is_mended
    several = target("batch = { min = 2 } -> rejected")
    for n, told in ((2, ["PAD704"]), (1, [])):
        assert codes(onnxpad.fix(before, target=several, dims={"n": n})) == told
    more: dict[str, Any] = {"n": 1, "h": "33..64"}  # of a range it is one size
    for given, option in (({}, "n=1 --dim h=224 --dim w=224"), (more, "h=33 --dim w=224")):
        gains = onnxpad.fix(before, target=npu, validate=False, dims=given).next
        assert getattr(gains, "option", "") == f"--dim {option}"


def test_a_pool_that_rounds_up_at_open_sizes_names_the_options(target: Any) -> None:
    before = model(f"y = MaxPool <ceil_mode = 1, {K3}, {S2}> (x)", OPEN)
    npu = target('ceil = ["over", "open"] -> rejected')
    result = onnxpad.fix(before, target=npu)
    assert result.findings[0].evidence["options"] == ["--shape", "--dim"]
    assert result.next is not None
    assert result.next.option == "--dim h=224 --dim w=224"
    result = onnxpad.fix(before, target=npu, dims={"h": "32..1024"})
    assert result.next is not None
    assert result.next.option == "--dim w=224"
    # Where it is not known with which sizes amounts grow, all open ones are named.
    result = onnxpad.fix(MODELS / "letterbox_torchscript.onnx", target="tract", validate=False)
    assert getattr(result.next, "option", "") == "--dim height=224 --dim width=224"


@each_row(
    ("text", "cell", "code"),
    [
        (f"y = Conv <{UPPER}, {S2}> (x, w)", "amount = { min = 2 }", ""),  # never more than 1
        (f"y = Conv <{UPPER}, {S2}> (x, w)", "amount = 1", "PAD706"),
        (f"y = Conv <{UPPER}, {S2}> (x, w)", "amount = { max = 1 }", "PAD704"),
        ("q = Shape (x) r = Concat <axis = 0> (q, q) y = Pad (x, r)", "amount = 9", "PAD706"),
    ],
)
def test_an_amount_that_sizes_decide_is_not_known_to_be_taken(
    text: str, cell: str, code: str, target: Any
) -> None:
    found = onnxpad.check(model(text, OPEN), target=target(f"{cell} -> rejected")).findings
    assert [each.code for each in found if each.code > "PAD7"] == [code] * bool(code)


def test_what_the_nearest_writing_lacks_is_told(target: Any) -> None:
    pools = 'op = "AveragePool", pads = ["end", "begin"] -> rejected'
    npu = target('auto_pad = "SAME_UPPER" -> rejected', pools, "batched = false -> rejected")
    for text, inputs, asks in (
        (f"y = AveragePool <{K3}, {S2}, {UPPER}> (x)", X, False),
        (f"y = Conv <{S2}, {UPPER}> (x, w)", "float[n, 2, 8, 8] x", True),
    ):
        result = onnxpad.fix(model(text, inputs), target=npu, validate=False)
        (found,) = result.findings
        named = "batched false" if asks else "op AveragePool, pads end"
        assert found.reason.count(named) == 1
        assert named in str(found.evidence["tried"])
        assert ("options" in found.evidence) is asks
        assert (result.next is not None) is asks
        if result.next is not None:
            assert result.next.option == "--dim n=1"
            assert not onnxpad.fix(model(text, inputs), target=npu, dims={"n": 1}).findings


def test_each_reason_is_told(target: Any) -> None:
    npu = target('pads = "equal" -> rejected', "dilated = true -> rejected", "stride = 2 -> wrong")
    before = model(f"y = Conv <dilations = [2, 2], pads = [1, 1, 1, 1], {S2}> (x, w)")
    (found,) = onnxpad.check(before, target=npu, style="fold").findings
    assert all(
        each in f"{found.message} {found.reason}" for each in ("pads equal [", "dilated true [")
    )


def test_the_restrictions_in_the_manual_are_met(tmp_path: Path) -> None:
    (block,) = blocks("toml", page="targets")
    npu = str(tmp_path / "npu.toml")
    Path(npu).write_text(block.text, encoding="utf-8")
    text = f"""
        a = Conv <{UPPER}, {S2}> (x, w) b = MaxPool <{UPPER}, {S2}, {K3}> (a)
        c = ConvTranspose <output_padding = [1, 1], pads = [1, 1, 1, 1], {S2}> (b, w)
        d = MaxPool <ceil_mode = 1, {K3}, {S2}> (c) y = Conv <pads = [8, 8, 8, 8]> (d, w)
    """
    before = model(text, "float[1, 2, 32, 32] x")
    assert len({each.node for each in onnxpad.check(before, target=npu).findings}) == 5
    result = onnxpad.fix(before, target=npu)
    assert result.ok
    assert not codes(result)
    assert_same(before, result.model)


def test_the_source_of_a_cell_with_a_note_is_told(target: Any) -> None:
    before, npu = model("y = Pad (x, p)"), target('op = "Pad" -> rejected"\nnote = "none"\n#')
    (found,) = onnxpad.check(before, target=npu, strict=True).findings
    assert "none [read: its manual]" in found.reason
    assert "with the given strict" in found.reason


def test_sizes_that_calls_of_a_function_have_ask_for_inlining(target: Any) -> None:
    before = parsed(
        f"""<ir_version: 9, opset_import: ["" : 17, "a" : 1]>
        g ({X}, float[1, 2, 6, 6] z) => (float[1, 2, ?, ?] y, float[1, 2, ?, ?] u)
        {{ y = a.pool (x) u = a.pool (z) }}
        <domain: "a", opset_import: ["" : 17]> pool (x) => (y) {{ y = MaxPool <{K3}> (x) }}"""
    )
    npu = target("sized = false -> rejected")
    (found,) = onnxpad.check(before, target=npu).findings
    assert "onnx.inliner" in found.reason
    assert not onnxpad.check(onnx.inliner.inline_local_functions(before), target=npu).findings


def test_the_next_option_is_one_with_which_targets_take_more(target: Any) -> None:
    before = model(f"z = Pad (x, p)\na = Conv <{UPPER}, {S2}> (z, w)\ny = Relu (a)", OPEN)
    assert onnxpad.fix(before, validate=False, target=target()).next is None
    refused = target('pads = "open" -> rejected', 'pads = ["end", "mixed"] -> rejected')
    assert onnxpad.fix(before, validate=False, target=refused).next is None


def test_select_and_ignore_hold_for_spellings(target: Any) -> None:
    before = model(f"y = ConvTranspose <{S2}> (x, w)")
    npu = target("silent = true -> rejected", spell=["write_pads"])
    assert [each.code for each in onnxpad.fix(before, target=npu).changes] == ["PAD702"]
    for select, ignore in ((["PAD1", "PAD704"], []), ([], ["PAD702"])):
        chosen: OptionKeywords = {"target": npu, "select": select, "ignore": ignore}
        assert not onnxpad.fix(before, **chosen).changes
        (found,) = onnxpad.check(before, **chosen).findings
        assert (found.code, bool(found.reason)) == ("PAD704", True)


def test_codes_of_targets_alone_select_what_is_told_and_not_what_is_rewritten(target: Any) -> None:
    before = model(f"y = Conv <{UPPER}, {S2}> (x, w)")
    chosen: OptionKeywords = {"target": target('auto_pad = "SAME_UPPER" -> wrong')}
    chosen["select"] = ["PAD703", "PAD704"]
    (found,) = onnxpad.check(before, **chosen).findings
    assert (found.code, found.fixable) == ("PAD703", True)
    result = onnxpad.fix(before, **chosen)
    assert nodes(result.model) == ["Conv(pads=[0,0,1,1])"]
    assert not result.warnings
    idle = onnxpad.fix(before, select=["PAD703"])
    assert not idle.changed
    assert idle.warnings


EMPTY: Final = 'fill = "empty" -> rejected'
NO_VALID: Final = 'auto_pad = "VALID" -> rejected'
WRITES: Final = ('fill = ["absent", "empty"] -> rejected', ["value"])
NEITHER: Final = ["no_empty_fill", "no_valid"]
LACKS: Final = ('fill = ["empty", "zero"] -> rejected', ["no_value"])


@pytest.mark.parametrize(
    ("cells", "spell", "fill", "written", "told"),
    [
        ([EMPTY], NEITHER[:1], "", ["p", "VALID"], ""),
        ([EMPTY, NO_VALID], NEITHER, "", ["p", ""], "PAD701"),
        ([EMPTY, NO_VALID], NEITHER, ', ""', ["p", "empty", ""], "PAD702 PAD704"),
        ([WRITES[0]], WRITES[1], ', ""', ["p", "z_value", "VALID"], ""),
        ([WRITES[0], NO_VALID], [*WRITES[1], NEITHER[1]], "", ["p", "z_value", ""], "PAD701"),
        ([LACKS[0], NO_VALID], [*LACKS[1], NEITHER[1]], "", ["p", ""], "PAD701"),
    ],
)
def test_a_pad_is_protected_as_spellings_allow(
    target: Any, cells: list[str], spell: list[str], fill: str, written: list[str], told: str
) -> None:
    before = model(f"z = Pad (x, p{fill}) y = MaxPool <{K3}> (z)")
    asked: list[OptionKeywords] = [{}, {"style": "pad"}]
    for options in asked:
        options["target"] = target(*cells)
        alone = onnxpad.fix(before, **options).model
        options["target"] = target(*cells, spell=spell)
        result = onnxpad.fix(before, **options)
        assert alone == result.model
        pad, pool = result.model.graph.node
        assert result.ok is ("PAD704" not in told)
        assert [each or "empty" for each in pad.input[1:]] == written[:-1]
        assert attributes(pool).get("auto_pad", b"").decode() == written[-1]
        assert not onnxpad.fix(result.model, **options).changes
        assert [each.code for each in result.findings if not each.asked] == told.split()


class DropZeroPads(onnxpad.Pass):
    """`pads` of zeros, which mean what their absence means."""

    code = "ACME001"

    def find(self, context: onnxpad.Context) -> Iterator[Any]:
        for op in context.windows():
            if op.pads_written and not any(map(any, op.pads)):
                yield self.found(context, op.node, "pads of zeros", op.node)

    def rewrite(self, match: Any, context: onnxpad.Context) -> None:
        context.graph.set_attributes(match.plan, {"pads": None})


class SplitWidePads(onnxpad.Pass):
    """Pads above 1, of which the rest goes into a `Pad`."""

    code = "ACME002"

    def find(self, context: onnxpad.Context) -> Iterator[Any]:
        for op in context.windows():
            if max(map(max, op.pads)) > 1:
                yield self.found(context, op.node, "wide pads", op)

    def rewrite(self, match: Any, context: onnxpad.Context) -> None:
        graph, (ends, op) = context.graph, (np.array(match.plan.pads).T, match.plan)
        rest = np.pad(ends - ends.clip(max=1), ((0, 0), (2, 0))).reshape(-1)
        given = [op.data, graph.add_initializer(rest, "rest")]
        graph.set_input(op.node, 0, graph.insert("Pad", given, {}, before=op.node, name="before"))
        graph.set_attributes(op.node, {"pads": ends.clip(max=1).reshape(-1).tolist()})


def test_pads_that_a_pass_of_a_user_splits_are_not_folded_again(target: Any) -> None:
    before = model("y = Conv <pads = [2, 2, 2, 2]> (x, w)")
    npu = target('op = "Conv", amount = { min = 2 } -> rejected')
    with onnxpad.registered(SplitWidePads):
        result = onnxpad.fix(before, target=npu)
        assert nodes(result.model) == ["Pad()", "Conv(pads=[1,1,1,1])"]
        assert not result.undone
        assert not result.untaken
        assert not onnxpad.fix(result.model, target=npu).changed


def test_passes_of_users_run_beside_targets(target: Any) -> None:
    before = model(f"a = Conv <pads = [0, 0, 0, 0]> (x, w) y = Conv <{UPPER}> (a, w)")
    npu = target('auto_pad = "SAME_UPPER" -> wrong')
    with onnxpad.registered(DropZeroPads):
        result = onnxpad.fix(before, target=npu)
        assert nodes(result.model) == ["Conv()", "Conv(pads=[1,1,1,1])"]
        assert not onnxpad.fix(result.model, target=npu).changes
        # One that undoes what a target needs: told, and no endless turn.
        npu = target("silent = true -> rejected", spell=["write_pads"])
        result = onnxpad.fix(before, target=npu)
        assert nodes(result.model)[0] == "Conv()"
        assert "PAD704" in codes(result)
