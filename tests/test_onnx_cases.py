"""The models of onnx's own tests: they come back byte for byte, and the analysis of them is right.

It is held against onnx's shape inference and against what the cases give. Here shape inference runs
through a model, from its inputs and initializers on, and follows what the model computes of shapes.
`inference` asks about each operator by itself, and must find the same.
"""

import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, shape_inference

from onnxpad.facts import Analysis
from onnxpad.graph import Graph
from onnxpad.runtimes.onnxruntime.hidden_shapes import disagreements
from onnxpad.semantics.window import TRANSPOSED, WINDOWS
from tests.facts.agreement import differences
from tests.support import EXPORTED

pytestmark = pytest.mark.night  # to import the cases is to compute them

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


BIG: Final = (1, 3, 32, 32, 32)
SMALL: Final = (1, 3, 9, 9, 9)
"""The input of three cases, of which onnx computes each window in Python: a second for each."""


@cache
def cases() -> tuple[tuple[str, onnx.ModelProto, tuple[Any, ...], tuple[Any, ...]], ...]:
    """The cases of the specification, each with its model, what goes in and what comes out.

    Their import is what computes them. It is spared the text of their documentation, which it would
    read from its own source, and the size of the biggest.
    """
    randn = np.random.randn
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case import base

        patch.setattr(base, "process_snippet", lambda *_: ("", ""), raising=False)
        patch.setattr(
            np.random, "randn", lambda *of: randn(*((1, 3, 9, 9, 9) if of == BIG else of))
        )
        from onnx.backend.test.case.node import collect_testcases

        found = collect_testcases(None)
    return tuple(
        (case.name, model, tuple(inputs), tuple(outputs))
        for case in found
        for inputs, outputs in [(case.data_sets or [((), ())])[0]]
        if (model := case.model) is not None
    )


class Known(NamedTuple):
    """A model, what is known of it, and what it gives where a case says so."""

    name: str
    model: onnx.ModelProto
    graph: Graph
    analysis: Analysis
    outputs: tuple[Any, ...] = ()


def known(name: str, model: onnx.ModelProto, outputs: tuple[Any, ...] = ()) -> Known:
    graph = Graph.from_proto(model)
    return Known(name, model, graph, Analysis(graph), outputs)


@cache
def specification() -> tuple[Known, ...]:
    """The cases with constants for inputs, so that contents are known."""
    found = []
    for name, case, inputs, outputs in cases():
        constants = {
            declared.name: numpy_helper.from_array(array, declared.name)
            for declared, array in zip(case.graph.input, inputs, strict=False)
            if isinstance(array, np.ndarray) and array.dtype != np.object_
        }
        model = onnx.ModelProto()
        model.CopyFrom(case)
        del model.graph.input[:]
        model.graph.input.extend(i for i in case.graph.input if i.name not in constants)
        model.graph.initializer.extend(constants.values())
        found.append(known(name, model, outputs))
    return tuple(found)


@cache
def models() -> tuple[Known, ...]:
    """The cases, the other models that come with onnx, and the exported ones."""
    shipped = sorted(SHIPPED.rglob("*.onnx"))
    return (
        *specification(),
        *(known(str(path.relative_to(SHIPPED)), onnx.load(path)) for path in shipped),
        *(known(path.stem, onnx.load(path, load_external_data=False)) for path in EXPORTED),
    )


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
    for name, model, graph, analysis, _ in models():
        shapes = inferred(model)
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


def differing(each: Known) -> Iterator[tuple[str, str]]:
    for found in disagreements(each.graph, each.analysis):
        yield each.name, found.outputs[0].name


def test_asked_about_each_operator_it_says_the_same() -> None:
    assert {place for each in models() for place in differing(each)} == KNOWN


@pytest.mark.parametrize("opset", [1, 7, 10, 13, 18, 21])
def test_what_an_older_operator_set_lacks_is_not_compared(opset: int) -> None:
    """Cases of the newest opset under the name of another: some mean nothing there."""
    found = set()
    for case in specification():
        if not any(("", node.op_type) in {*WINDOWS, *TRANSPOSED} for node in case.model.graph.node):
            continue
        model = onnx.ModelProto()
        model.CopyFrom(case.model)
        (version,) = (item for item in model.opset_import if not item.domain)
        version.version = opset
        found |= set(differing(known(case.name, model)))
    assert found == (OLDER if opset >= 10 else set())


def test_no_claim_is_against_the_cases_of_the_specification() -> None:
    values = 0
    for name, model, graph, analysis, outputs in specification():
        for declared, array in zip(model.graph.output, outputs, strict=False):
            if isinstance(array, np.ndarray):
                tensor = graph.tensor(declared.name)
                claim = analysis.dtype(tensor), analysis.shape(tensor), analysis.value(tensor)
                # Of a function's body the cases do not say which zero it gives.
                assert list(differences(*claim, array, {}, signed=False)) == [], name
                values += claim[2] is not None
    assert values > 350


@cache
def raws() -> tuple[tuple[str, bytes], ...]:
    """The cases and the models that come with onnx, serialised."""
    return (
        *((name, serialised(case)) for name, case, *_ in cases()),
        *((str(path), path.read_bytes()) for path in sorted(SHIPPED.rglob("*.onnx"))),
    )


def serialised(model: onnx.ModelProto) -> bytes:
    return bytes(model.SerializeToString(deterministic=True))


def test_come_back_identical() -> None:
    for name, raw in raws():
        graph = Graph.from_bytes(raw)
        assert graph.model.to_bytes() == raw, name
        assert not graph.model.changed, name
    assert len(raws()) > 1000


def test_survive_edits() -> None:
    edits = 0
    for name, raw in raws():
        model = onnx.ModelProto.FromString(raw)
        graph = Graph.from_proto(model)
        first = next(graph.nodes, None)
        if first is None:
            continue
        mark = graph.mark()
        graph.set_attribute(first, "edited", [1, 2])
        graph.add_initializer(np.zeros(3), "w")
        index = next((i for i, tensor in enumerate(first.inputs) if tensor.name), None)
        if index is not None:
            source = first.inputs[index]
            copy = graph.insert("Identity", [source], {}, before=first, name="copy")
            graph.set_input(first, index, copy)
        edited = graph.model.to_proto()
        before = serialised(model)
        assert serialised(edited) != before, name

        if index is not None:
            assert edited.graph.node.pop(0).op_type == "Identity", name
            edited.graph.node[0].input[index] = source.name
        assert edited.graph.node[0].attribute.pop().name == "edited", name
        edited.graph.initializer.pop()
        if model.ir_version < 4:
            edited.graph.input.pop()
        assert serialised(edited) == before, name
        graph.rollback(mark)
        assert graph.model.to_bytes() == raw, name
        edits += 1
    assert edits > 1000
