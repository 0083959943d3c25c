"""Edits that decide whether a `Pad` is folded, beside the lines of `predictions.txt`."""

import pytest

import onnxpad
from onnxpad.graph import Graph
from onnxpad.rewrite.pass_api import Context
from onnxpad.runtimes.onnxruntime.guard import _is_touched
from onnxpad.runtimes.onnxruntime.pad_fusion import Exposed
from onnxpad.semantics.rows import UnreadError
from tests.support import BORDER, one, parsed


@pytest.mark.parametrize(("length", "touched"), [(8, False), (600, True)])
def test_what_is_too_far_to_see_may_have_been_edited(length: int, touched: bool) -> None:
    chain = " ".join(f"n{i + 1} = Neg (n{i})" for i in range(length))
    nodes = f"n0 = Neg (p) {chain} a = Pad (x, n{length}) y = MaxPool <kernel_shape = [3, 3]> (a)"
    context = Context(Graph.from_proto(one(nodes, initializers=BORDER)))
    found = {node.outputs[0].name: node for node in context.graph.nodes}
    pad = context.pad(found["a"])
    assert not isinstance(pad, UnreadError)
    assert _is_touched(context, Exposed(pad, found["y"], (), "")) is touched


TWICE = """
<ir_version: 10, opset_import: ["" : 17, "local" : 1]>
g (float[1, 2, 9, 8] x) => (float[1, 2, 9, 8] y) { y = local.padded (x) }
<domain: "local", opset_import: ["" : 17]>
padded (x) => (y) {
    p = Constant <value = int64[8] {0, 0, 1, 1, 0, 0, 1, 1}> ()
    r = Relu (x)
    a = Pad (r, p)
    y = MaxPool <kernel_shape = [3, 3]> (a)
}
<domain: "local", opset_import: ["" : 17]>
padded (x) => (y) { y = Neg (x) }
"""


def test_a_function_that_is_there_twice_ends_no_command() -> None:
    """onnx refuses to inline it, and onnxruntime to run it."""
    model = parsed(TWICE)
    assert [each.code for each in onnxpad.check(model).findings] == ["PAD201"]
    validation = onnxpad.fix(model).validation
    assert validation is not None
    assert validation.outcome == onnxpad.validate(model, model).outcome != "passed"
