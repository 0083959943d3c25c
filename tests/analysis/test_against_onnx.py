"""The analysis against onnx itself: its shape inference, and the cases of its specification.

Here shape inference runs through a model, from its inputs and initializers on, and follows what the
model computes of shapes. `shape_inference_check` asks about each operator by itself, and must find
the same.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import shape_inference

from onnxpad.analysis import Analysis
from onnxpad.analysis.rules.pools_and_convs import WINDOWS
from onnxpad.analysis.shape_inference_check import disagreements
from onnxpad.graph import Graph
from tests.agreement import differences, specification
from tests.support import EXPORTED

pytestmark = pytest.mark.slow

SHIPPED = Path(onnx.__file__).parent / "backend" / "test" / "data"

KNOWN = {("ceil_pool_torch", "features"), ("ceil_pool_torchscript", "features")}
"""Model and tensor. Both are a pool that rounds up: shape inference counts the last window, which
starts behind the data and is dropped."""

UNREACHED = {"ceil_pool_torchscript"}
"""Models of which shape inference does not know enough on its way to what differs."""

OLDER = {
    ("test_averagepool_2d_ceil_last_window_starts_on_pad", "y"),
    ("test_maxpool_2d_ceil_output_size_reduce_by_one", "y"),
}
"""The same in cases of the specification, whose operator set is the newest, under an older one."""


def models() -> Iterator[tuple[str, onnx.ModelProto]]:
    yield from ((name, model) for name, model, _ in specification())
    for path in sorted(SHIPPED.rglob("*.onnx")):
        yield str(path.relative_to(SHIPPED)), onnx.load(path)
    for path in EXPORTED:
        yield path.stem, onnx.load(path, load_external_data=False)


def inferred(model: onnx.ModelProto) -> dict[str, tuple[int | None, ...]]:
    """What shape inference knows of the tensors of a model that declares nothing of them."""
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    del bare.graph.value_info[:]
    for output in bare.graph.output:
        output.type.tensor_type.ClearField("shape")
    graph = shape_inference.infer_shapes(bare, data_prop=True).graph
    return {
        value.name: tuple(
            dim.dim_value if dim.HasField("dim_value") else None
            for dim in value.type.tensor_type.shape.dim
        )
        for value in (*graph.value_info, *graph.output)
        if value.type.tensor_type.HasField("shape")
    }


def test_no_shape_is_against_shape_inference() -> None:
    """Of whole models; what lies behind a disagreement is none of its own."""
    found, compared = set(), 0
    for name, model in models():
        graph, shapes = Graph.from_proto(model), inferred(model)
        analysis = Analysis(graph)
        behind: set[str] = set()
        for node in graph.nodes:
            if any(tensor.name in behind for tensor in node.inputs):
                behind.update(tensor.name for tensor in node.outputs)
                continue
            for tensor in node.outputs:
                derived = analysis.shape(tensor) if tensor.name else None
                sizes = shapes.get(tensor.name)
                if derived is None or sizes is None:
                    continue
                compared += 1
                if len(derived) != len(sizes) or any(
                    isinstance(one, int) and other is not None and one != other
                    for one, other in zip(derived, sizes, strict=True)
                ):
                    found.add((name, tensor.name))
                    behind.add(tensor.name)
    assert found == {place for place in KNOWN if place[0] not in UNREACHED}
    assert compared > 10_000


def differing(name: str, model: onnx.ModelProto) -> Iterator[tuple[str, str]]:
    graph = Graph.from_proto(model)
    for found in disagreements(graph, Analysis(graph)):
        yield name, found.output.name


def test_asked_about_each_operator_it_says_the_same() -> None:
    assert {place for each in models() for place in differing(*each)} == KNOWN


@pytest.mark.parametrize("opset", [1, 7, 10, 13, 18, 21])
def test_what_an_older_operator_set_lacks_is_not_compared(opset: int) -> None:
    """Cases of the newest opset under the name of another: some mean nothing there."""
    found = set()
    for name, case, _ in specification():
        if not any(node.op_type in WINDOWS for node in case.graph.node):
            continue
        model = onnx.ModelProto()
        model.CopyFrom(case)
        (version,) = (item for item in model.opset_import if not item.domain)
        version.version = opset
        found |= set(differing(name, model))
    assert found == (OLDER if opset >= 10 else set())


def test_no_claim_is_against_the_cases_of_the_specification() -> None:
    values = 0
    for name, model, outputs in specification():
        graph = Graph.from_proto(model)
        analysis = Analysis(graph)
        for declared, array in zip(model.graph.output, outputs, strict=False):
            if isinstance(array, np.ndarray):
                tensor = graph.tensor(declared.name)
                claim = analysis.dtype(tensor), analysis.shape(tensor), analysis.value(tensor)
                # Of a function's body the cases do not say which zero it gives.
                assert list(differences(*claim, array, {}, signed=False)) == [], name
                values += claim[2] is not None
    assert values > 500
