"""The models of onnx's own tests: they come back byte for byte, and the analysis of them is right.

It is held against onnx's shape inference, which runs through a model from its inputs on and follows
what the model computes of shapes, and against what the cases give.
"""

import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, shape_inference

import onnxpad
from onnxpad.facts import Analysis
from onnxpad.graph import Graph
from tests.facts.agreement import differences
from tests.support import EXPORTED

pytestmark = pytest.mark.night  # to import the cases is to compute them

SHIPPED = Path(onnx.__file__).parent / "backend" / "test" / "data"

CEIL = ("ceil_pool_torch", "features")
"""Model and tensor. It is a pool that rounds up: shape inference counts the last window, which
starts behind the data and is dropped."""

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
    assert found == {CEIL}
    assert compared > 10_000


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


def test_come_back_identical() -> None:
    raws = [(name, bytes(case.SerializeToString(deterministic=True))) for name, case, *_ in cases()]
    raws += [(str(path), path.read_bytes()) for path in sorted(SHIPPED.rglob("*.onnx"))]
    for name, raw in raws:
        graph = Graph.from_bytes(raw)
        assert graph.model.to_bytes() == raw, name
        assert not graph.model.changed, name
    assert len(raws) > 1000


def test_fixing_them_stops_nowhere_and_is_done_at_once() -> None:
    """Most have no padding, and nothing that can be wrong with any ends in another error."""
    changed = 0
    for name, case, *_ in cases():
        with suppress(onnxpad.ModelError):
            result = onnxpad.fix(case, validate=False)
            assert not result.undone, name
            assert not onnxpad.fix(result.model, validate=False).changed, name
            changed += result.changed
    assert changed > 20
