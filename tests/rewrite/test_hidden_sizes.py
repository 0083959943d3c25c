"""Which `Pad`s and Slices have results whose sizes onnxruntime does not infer."""

import onnxpad
from onnxpad.graph import Graph
from onnxpad.runtimes.onnxruntime.hidden_shapes import hides as hides_sizes
from tests.support import one, parsed
from tests.support.rows import each_row

HELD = "int64[4] p = {0, 1, 0, 1}, int64[1] one = {1}, int64[0] none = {}, float c = {0}"


@each_row(
    ("opset", "node", "hides"),
    [
        (17, "Pad (x, p)", False), (17, "Pad (x, q)", True), (17, "Pad (x, p, c)", False),
        (17, "Pad (x, p, s)", False), (17, "Pad (w, p)", False), (18, "Pad (x, p, , a)", True),
        (11, "Pad (x, q)", True), (10, "Pad <pads = [0, 1, 0, 1]> (x)", False),
        (18, "Pad (x, none, , none)", True), (18, "Pad (x, p, , none)", True),
        (17, "Slice (x, one, one)", False), (17, "Slice (x, a, one)", True),
        (17, "Slice (x, one, a)", True), (17, "Slice (x, one, one, a)", True),
        (17, "Slice (x, one, one, , a)", True), (17, "Slice (x, one, one, , one)", False),
        (10, "Slice (x, a, one)", True), (10, "Slice (x, one, one)", False),
        (9, "Slice <starts = [1], ends = [2]> (x)", False),
        (9, "Slice <starts = [1], ends = [2], axes = [1]> (x)", True),
        (17, "Reshape (x, q)", False), (17, "own.Pad (x, q)", False),
    ],
)  # fmt: skip
def test_sizes_that_are_not_inferred(opset: int, node: str, hides: bool) -> None:
    text = f"g (float[2, 3] x, int64[4] q, int64[1] a, float s, float[?] w) => (y) <{HELD}>"
    graph = Graph.from_proto(parsed(f"{text} {{ y = {node} }}", opset=opset))
    (found,) = graph.nodes
    assert hides_sizes(graph, found) is hides


def test_the_guard_leaves_sizes_hidden_that_do_harm() -> None:
    """Amounts are written for all axes where a Transpose may be moved past, but not these."""
    nodes = """
        c = Reshape (k, m) a = Pad (x, c, , axes) t = Transpose (a) u = Transpose (t)
        z = MaxPool <ceil_mode = 1, kernel_shape = [1], strides = [3]> (u)
        y = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [3]> (x)
    """
    held = "int64[2] k = {1, 0}, int64[1] m = {-1}, int64[1] axes = {2}"
    x, outputs = "float[1, 4, 10] x", "float[] y, float[] z"
    model = one(nodes, inputs=x, outputs=outputs, initializers=held, opset=21)
    result = onnxpad.fix(model, style="pad", validate=False)
    assert [each.code for each in result.changes] == ["PAD101"]
    assert model.graph.node[1] in result.model.graph.node
