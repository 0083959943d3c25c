"""What is asked of the optimiser, and its answer in terms of the graph, without running it."""

import onnx

from onnxpad.runtimes.onnxruntime.ask_optimiser import _left, _named
from tests.support import PADS, parsed


def test_each_pad_gets_a_name_of_its_own() -> None:
    model = parsed(
        f"g (float[1, 2, 9, 8] x) => (float[1, 2, 12, 11] y, float[1, 2, 12, 11] z) <{PADS}> "
        "{ [same] a = Pad (x, p) r = Relu (a) [same] y = Pad (x, p) s = mine.Pad (r) "
        "z = Neg (s) }"
    )
    names = _named(model)
    assert names == {"onnxpad asks about Pad 0": "a", "onnxpad asks about Pad 2": "y"}
    assert [node.name for node in model.graph.node if node.domain == ""] == [
        "onnxpad asks about Pad 0", "", "onnxpad asks about Pad 2", "",
    ]  # fmt: skip
    assert _left(model.SerializeToString(), names) == {*names}
    assert _left(model.SerializeToString(), {"onnxpad asks about Pad 2": "y", "another": "x"}) == {
        "onnxpad asks about Pad 2"
    }
    model.graph.node[0].domain = "ai.onnx"
    assert _named(model) == names
    assert _named(onnx.ModelProto()) == {}
