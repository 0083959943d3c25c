"""A diff of graphs, applied to the nodes before, gives the nodes after; and what a line holds."""

import re
from typing import Any

import numpy as np
import onnx
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper, numpy_helper

import onnxpad
from onnxpad.report.diff import node_text, unified_diff
from tests.strategies import examples
from tests.support import one
from tests.support.rows import each_row

NAMES = ("a.onnx", "b.onnx")


def shown(graph: onnx.GraphProto) -> list[str]:
    """Every node as the diff has it: as lines that were all added."""
    lines = unified_diff(onnx.GraphProto(), graph, NAMES).splitlines()
    return [line[1:] for line in lines[3:]]


def applied(before: list[str], diff: str) -> list[str]:
    """What `patch` makes of the lines, which must be what the diff says they are."""
    lines, after, at = diff.splitlines(), list[str](), 0
    assert not diff or lines[:2] == ["--- a.onnx", "+++ b.onnx"]
    for line in lines[2:]:
        if heading := re.fullmatch(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@", line):
            begin, begun = int(heading[1]) - 1, int(heading[3]) - 1
            begin, begun = begin + (heading[2] == ",0"), begun + (heading[4] == ",0")
            after += before[at:begin]
            at = begin
            assert len(after) == begun, line
        elif line[0] == "-":
            assert before[at] == line[1:]
            at += 1
        else:
            assert line[0] == "+"
            after.append(line[1:])
    return after + before[at:]


def relu(name: str, alpha: float = 0.5) -> onnx.NodeProto:
    return helper.make_node("LeakyRelu", ["x"], [name] if name else [], alpha=alpha)


def graph(nodes: list[onnx.NodeProto], **constants: object) -> onnx.GraphProto:
    held = [numpy_helper.from_array(np.array(value), name) for name, value in constants.items()]
    return onnx.GraphProto(node=nodes, initializer=held)


@examples(0.8)
@given(st.data())
def test_any_two_graphs(data: st.DataObject) -> None:
    """Nodes removed, added, changed and moved, some without a name."""
    names = st.lists(st.sampled_from("abcdefgh"), unique=True).map(tuple)
    alpha = st.sampled_from([0.5, 1.5, float("nan")])

    def side() -> onnx.GraphProto:
        nodes = [relu(name, alpha=data.draw(alpha)) for name in data.draw(names)]
        return graph(nodes + [relu("")] * data.draw(st.integers(0, 2)))

    before, after = side(), side()
    diff = unified_diff(before, after, NAMES)
    assert applied(shown(before), diff) == shown(after)
    assert bool(diff) == (shown(before) != shown(after))


def test_a_changed_node_stands_with_what_went_before_it_and_nothing_else() -> None:
    body = "a = Relu (x) b = Pad (a, pads) c = Conv (b, w) d = Relu (c) y = Conv (d, w)"
    pads = "int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}"
    weights = "float[2, 2, 3, 3] w = {" + ", ".join(["1"] * 36) + "}"
    model = one(body, initializers=f"{weights}, {pads}")
    result = onnxpad.fix(model, validate=False)
    assert result.diff(NAMES) == (
        "--- a.onnx\n"
        "+++ b.onnx\n"
        "@@ -3,2 +3 @@\n"
        "-b = Pad (a, pads = [0, 0, 1, 1, 0, 0, 1, 1])\n"
        "-c = Conv (b, w)\n"
        "+c = Conv <pads = [1, 1, 1, 1]> (a, w)\n"
    )


def test_a_constant_with_another_value_changes_what_reads_it() -> None:
    pad = helper.make_node("Pad", ["x", "pads", "value"], ["y"], "pad")
    before, after = (graph([pad], pads=pads, value=np.float32(0.1)) for pads in ([0, 1], [0, 2]))
    lines = unified_diff(before, after, NAMES).splitlines()
    assert lines[3:] == [
        "-pad: y = Pad (x, pads = [0, 1], value = 0.1)",
        "+pad: y = Pad (x, pads = [0, 2], value = 0.1)",
    ]


@each_row(
    ("attributes", "text"),
    [
        ({"pads": [0, 1], "auto_pad": "NOTSET"}, '<auto_pad = "NOTSET", pads = [0, 1]>'),
        ({"alpha": 0.1, "many": list(range(17))}, "<alpha = 0.1, many = ["),
        ({"many": list(range(17))}, "15, ... 17 in all]>"),
        ({"many": list(range(16))}, ", 15]>"),
        ({"value": numpy_helper.from_array(np.arange(16))}, ", 15]>"),
        ({"floats": [0.1, float("nan")]}, "<floats = [0.1, nan]>"),
        (
            {"value": numpy_helper.from_array(np.ones((2, 3), np.float32))},
            "<value = a TensorProto>",
        ),
        ({"value": numpy_helper.from_array(np.array([3, 4]))}, "= [3, 4]>"),
        ({"value": onnx.TensorProto(data_type=99, dims=[4])}, "= a TensorProto>"),
        ({"body": graph([relu("a"), relu("b")])}, "<body = a GraphProto>"),
    ],
)
def test_attributes(attributes: dict[str, Any], text: str) -> None:
    node = helper.make_node("Op", ["x", "", "z"], ["y"], domain="own", **attributes)
    line = node_text(node)
    assert text in line
    assert line.startswith("y = own.Op <")
    assert line.endswith("> (x, , z)")


def test_inputs_and_a_constant_without_a_value() -> None:
    info = helper.make_tensor_value_info
    inputs = [
        info("a", onnx.TensorProto.FLOAT, [1, "height", None]),
        info("b", onnx.TensorProto.INT64, []),
        info("c", onnx.TensorProto.FLOAT16, None),
        onnx.ValueInfoProto(name="d"),
        helper.make_tensor_sequence_value_info("e", onnx.TensorProto.FLOAT, None),
        helper.make_tensor_value_info("f", 99, []),
        info("weight", onnx.TensorProto.FLOAT, [3]),
    ]
    held = graph([helper.make_node("Constant", [], ["k"])], weight=np.zeros(3, np.float32))
    held.input.extend(inputs)
    assert shown(held) == [
        "input a[FLOAT, 1xheightx?]",
        "input b[INT64, scalar]",
        "input c[FLOAT16]",
        "input d[]",
        "input e[Unknown type sequence_type]",
        "input f[?]",
        "k = Constant ()",
    ]


def test_names_cannot_forge_lines() -> None:
    before = graph([helper.make_node("Relu", ["x"], ["y"], "a\n+b = Relu ()\x1b[2J")])
    diff = unified_diff(before, onnx.GraphProto(), ("m\nn", "o"))
    assert len(diff.splitlines()) == 4
    assert "\x1b" not in diff


def test_many_nodes_and_long_weights() -> None:
    """What is quadratic in the nodes, or renders weights, would be noticed here."""
    weight = onnx.TensorProto(name="w", data_type=1, dims=[10_000_000], raw_data=b"")
    nodes = [relu(f"n{i}", alpha=float(i)) for i in range(3_000)]
    other = [relu(f"n{i}", alpha=float(i) + (i % 2)) for i in range(3_000) if i % 5]
    before, after = graph(nodes), graph(other)
    before.initializer.append(weight)
    diff = unified_diff(before, after, NAMES)
    assert applied(shown(before), diff) == shown(after)


def test_bodies_and_functions_have_hunks_of_their_own() -> None:
    held = (
        "float[1, 1, 3, 3] w = {1, 1, 1, 1, 1, 1, 1, 1, 1}, int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}"
    )
    model = onnx.parser.parse_model(f"""
        <ir_version: 9, opset_import: ["" : 17, "f" : 1]>
        g (float[1, 1, 8, 8] x, bool on) => (float[a, b, c, d] y) <{held}> {{
            k = f.go (x)
            [if] y = If (on) <
                then_branch = t () => (float[a, b, c, d] z) {{ q = Pad (k, p) z = Conv (q, w) }},
                else_branch = e () => (float[a, b, c, d] z) {{ z = Identity (k) }}
            >
        }}
        <domain: "f", opset_import: ["" : 17]> go (x) => (c) {{
            c = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [3, 3]> (x)
        }}
    """)
    result = onnxpad.fix(model, validate=False)
    diff = result.diff(NAMES)
    assert diff.splitlines()[2:] == [
        "@@ -1,2 +1 @@ If 'if' > then_branch",
        "-q = Pad (k, p = [0, 0, 1, 1, 0, 0, 1, 1])",
        "-z = Conv (q, w)",
        "+z = Conv <pads = [1, 1, 1, 1]> (k, w)",
        "@@ -1 +1 @@ f::go",
        '-c = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [3, 3]> (x)',
        "+c = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x)",
    ]


def test_a_node_of_which_only_a_body_changed_has_no_line() -> None:
    branch = "b () => (float[] u) {{ u = {} (x) }}"
    text = "y = If (c) <then_branch = {}, else_branch = {}> z = Neg (y)"
    before, after, other = (
        one(text.format(branch.format(op), branch.format("Exp")), inputs="float[2] x, bool c").graph
        for op in ("Abs", "Sin", "Abs")
    )
    lines = unified_diff(before, after, NAMES).splitlines()[2:]
    assert [line for line in lines if line[0] in "+-"] == ["-u = Abs (x)", "+u = Sin (x)"]
    assert unified_diff(before, other, NAMES) == ""
