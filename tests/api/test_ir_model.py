"""Models of onnx_ir, and torch's programs of them: nothing that they hold is lost or changed."""

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import onnxpad
from onnxpad.errors import ModelError, UsageError
from tests.api.test_kinds import PADDED
from tests.support import parsed

if TYPE_CHECKING:
    import onnx_ir  # noqa: TC004

BODIES = """g (float[1, 1, 9, 9] x, bool c) => (float[1, 1, 5, 5] y)
<float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}, int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}>
{
  q = Pad (x, p)
  h = Conv <strides = [2, 2]> (q, w)
  z = If (c) <
    then_branch = t () => (float[1, 1, 5, 5] a) { b = Pad (h, p) a = Conv (b, w) },
    else_branch = e () => (float[1, 1, 5, 5] d) { d = Relu (h) }
  >
  y = own.twice (z)
}
<opset_import: ["" : 17], domain: "own">
twice (v) => (u) { two = Constant <value_float = 2.0> () u = Mul (v, two) }"""


WEIGHTED = parsed(
    "g (float[1, 1, 9, 9] x) => (float[1, 8, 5, 5] y) "
    "<int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}> { q = Pad (x, p) y = Conv <strides = [2, 2]> (q, w) }",
    ir=10,
)
WEIGHTED.graph.initializer.append(
    numpy_helper.from_array(np.arange(72, dtype=np.float32).reshape(8, 1, 3, 3), "w")
)


@pytest.fixture(scope="module", autouse=True)
def _onnx_ir() -> None:
    """Imports it only here: it takes sympy, half a second that each collection would pay."""
    globals()["onnx_ir"] = importlib.import_module("onnx_ir")


def noted(entries: Any, key: str, value: str) -> None:
    entries.add(key=key, value=value)


@pytest.fixture
def rich() -> onnx.ModelProto:
    """A model with a bit of everything that an onnx_ir.Model holds."""
    model = parsed(BODIES, ir=11)
    model.opset_import.extend([helper.make_opsetid("own", 1), helper.make_opsetid("other", 3)])
    model.producer_name, model.producer_version = "maker", "1.2"
    model.domain, model.model_version, model.doc_string = "org.net", 5, "a net"
    graph = model.graph
    graph.doc_string = "a graph"
    for place, entries in (("model", model), ("graph", graph), ("function", model.functions[0])):
        noted(entries.metadata_props, "of", place)
    for node in (*graph.node, *graph.node[2].attribute[0].g.node, *model.functions[0].node):
        node.name = f"node_{node.output[0]}"
        node.doc_string = f"makes {node.output[0]}"
        noted(node.metadata_props, "of", node.output[0])
    for value in (*graph.input, *graph.output):
        noted(value.metadata_props, "of", value.name)
    inner = helper.make_tensor_value_info("h", onnx.TensorProto.FLOAT, [1, 1, 5, 5])
    inner.doc_string = "hidden"
    inner.type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    noted(inner.metadata_props, "of", "h")
    graph.value_info.append(inner)
    annotation = graph.quantization_annotation.add(tensor_name="h")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="w")
    model.configuration.add(name="two", num_devices=2, device=["a", "b"])
    part = graph.node[1].device_configurations.add(configuration_id="two", pipeline_stage=1)
    part.sharding_spec.add(tensor_name="h", device=[0, 1])
    return model


def in_ir(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model as onnx_ir writes it."""
    return onnx_ir.to_proto(onnx_ir.from_proto(model))


def test_nothing_is_lost(rich: onnx.ModelProto) -> None:
    onnx.checker.check_model(rich)
    given = onnx_ir.from_proto(rich)
    result = onnxpad.fix(given)
    assert result.ok
    assert len(result.changes) == 2
    fixed = onnx_ir.to_proto(result.as_same_kind())
    assert fixed == in_ir(onnxpad.fix(onnx_ir.to_proto(given)).model)
    graph = fixed.graph
    assert [node.name for node in graph.node] == ["node_h", "node_z", "node_y"]
    conv = graph.node[0]
    assert conv.doc_string == "makes h"
    assert [(entry.key, entry.value) for entry in conv.metadata_props] == [("of", "h")]
    assert conv.device_configurations == rich.graph.node[1].device_configurations
    assert list(graph.quantization_annotation) == list(rich.graph.quantization_annotation)
    assert fixed.configuration == rich.configuration
    (h,) = (each for each in graph.value_info if each.name == "h")
    assert h == rich.graph.value_info[0]
    assert fixed.functions == in_ir(rich).functions
    assert {each.domain: each.version for each in fixed.opset_import} == {
        "": 17,
        "own": 1,
        "other": 3,
    }
    for name in ("producer_name", "producer_version", "domain", "model_version", "doc_string"):
        assert getattr(fixed, name) == getattr(rich, name)
    assert fixed.metadata_props == rich.metadata_props


def test_what_no_file_holds_is_kept_of_the_model_and_its_graph(rich: onnx.ModelProto) -> None:
    given = onnx_ir.from_proto(rich)
    given.meta["mark"], given.graph.meta["mark"] = 1, 2
    fixed = onnxpad.fix(given, validate=False).as_same_kind()
    assert (fixed.meta["mark"], fixed.graph.meta["mark"]) == (1, 2)


def test_the_model_given_is_not_changed(rich: onnx.ModelProto) -> None:
    given = onnx_ir.from_proto(rich)
    tensor = onnx_ir.Tensor(np.ones((1, 1, 3, 3), np.float32), name="another name")
    given.graph.initializers["w"].const_value = tensor
    before = onnx_ir.to_proto(given).SerializeToString()
    tensor.name = "another name"
    fixed = onnxpad.fix(given).as_same_kind()
    fixed.graph.node("node_h").attributes.clear()
    fixed.graph.inputs[0].name = "renamed"
    fixed.graph.initializers["w"].const_value = onnx_ir.Tensor(np.zeros(1, np.float32))
    assert onnx_ir.to_proto(given).SerializeToString() == before


def test_weights_are_shared_as_the_tensors_that_they_are() -> None:
    given = onnx_ir.from_proto(PADDED)
    values = np.ones((1, 1, 3, 3), np.float32)
    lazy = onnx_ir.LazyTensor(
        lambda: onnx_ir.Tensor(values),
        dtype=onnx_ir.DataType.FLOAT,
        shape=onnx_ir.Shape(values.shape),
        name="w",
    )
    given.graph.initializers["w"].const_value = lazy
    fixed = onnxpad.fix(given).as_same_kind()
    assert fixed.graph.initializers["w"].const_value is lazy


def test_a_result_is_of_the_model_as_it_was() -> None:
    given = onnx_ir.from_proto(PADDED)
    weight = given.graph.initializers["w"].const_value
    result = onnxpad.fix(given, validate=False)
    given.graph.initializers["w"].const_value = onnx_ir.Tensor(np.zeros((1, 1, 3, 3), np.float32))
    assert result.as_same_kind().graph.initializers["w"].const_value is weight


# External data


@pytest.fixture
def apart(tmp_path: Path) -> Path:
    """A model whose weights lie beside it."""
    path = tmp_path / "source" / "net.onnx"
    path.parent.mkdir()
    weighted = onnx_ir.from_proto(WEIGHTED)
    onnx_ir.save(weighted, path, external_data="w.bin", size_threshold_bytes=100)
    return path


def external(model: "onnx_ir.Model", name: str = "w") -> "onnx_ir.ExternalTensor":
    tensor = model.graph.initializers[name].const_value
    assert isinstance(tensor, onnx_ir.ExternalTensor)
    return tensor


def test_external_data_stays_where_it_is(apart: Path, tmp_path: Path) -> None:
    given = onnx_ir.load(apart)
    result = onnxpad.fix(given)
    assert result.validation is not None
    assert result.validation.ok
    fixed = result.as_same_kind()
    assert external(fixed) is external(given)
    assert onnxpad.validate(given, fixed).ok
    assert onnxpad.validate(WEIGHTED, fixed).ok
    assert onnxpad.validate(fixed, WEIGHTED).ok
    assert onnxpad.validate(apart, fixed).ok
    target = tmp_path / "target" / "net.onnx"
    target.parent.mkdir()
    assert result.save(target) == (target.parent / "w.bin",)
    assert onnxpad.validate(apart, target).ok
    assert result.save(apart.parent / "fixed.onnx") == ()
    result.save(tmp_path / "inside.onnx", external_data="inline")
    assert onnxpad.validate(apart, tmp_path / "inside.onnx").ok


def test_amounts_that_are_moved_into_the_model_are_not_shared(apart: Path) -> None:
    """onnxruntime cannot read those of a `Pad` in another file."""
    onnx_ir.save(onnx_ir.load(apart), apart, external_data="all.bin", size_threshold_bytes=0)
    given = onnx_ir.load(apart)
    result = onnxpad.fix(given, style="pad")
    fixed = result.as_same_kind()
    assert result.changes
    (pads,) = (node.inputs[1] for node in fixed.graph if node.op_type == "Pad")
    assert not isinstance(pads.const_value, onnx_ir.ExternalTensor)
    assert pads.const_value.numpy().tolist() == [0, 0, 1, 1, 0, 0, 1, 1]
    assert external(fixed) is external(given)


def test_external_data_in_the_working_directory(
    apart: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(apart.parent)
    result = onnxpad.fix(onnx_ir.load(apart.name))
    assert result.ok
    assert external(result.as_same_kind()).numpy().shape == (8, 1, 3, 3)


def test_external_data_of_a_model_without_a_folder(apart: Path) -> None:
    given = onnx_ir.from_proto(onnx.load(apart, load_external_data=False))
    result = onnxpad.fix(given)
    assert result.validation is not None
    assert not external(result.as_same_kind()).base_dir


def test_external_data_that_is_gone_or_scattered(apart: Path, tmp_path: Path) -> None:
    onnx_ir.save(onnx_ir.load(apart), apart, external_data="all.bin", size_threshold_bytes=0)
    given = onnx_ir.load(apart)
    external(given).base_dir = tmp_path
    with pytest.raises(ModelError):
        onnxpad.fix(given)
    given = onnx_ir.load(apart)
    (apart.parent / "all.bin").unlink()
    with pytest.raises(ModelError):
        onnxpad.fix(given)


# Refusals


def test_over_two_gibibytes() -> None:
    """Nothing is read: whoever tries is told at once, and how it works."""

    def never() -> "onnx_ir.TensorProtocol":
        raise AssertionError

    given = onnx_ir.from_proto(PADDED)
    shape = onnx_ir.Shape([1 << 20, 600])
    huge = onnx_ir.LazyTensor(never, dtype=onnx_ir.DataType.FLOAT, shape=shape, name="w")
    given.graph.initializers["w"].const_value = huge
    with pytest.raises(ModelError):
        onnxpad.check(given)


def test_a_model_that_onnx_ir_cannot_write() -> None:
    given = onnx_ir.from_proto(PADDED)

    def broken() -> "onnx_ir.TensorProtocol":
        raise OSError("the disk is gone")

    shape = onnx_ir.Shape([1, 1, 3, 3])
    given.graph.initializers["w"].const_value = onnx_ir.LazyTensor(
        broken, dtype=onnx_ir.DataType.FLOAT, shape=shape, name="w"
    )
    with pytest.raises(ModelError):
        onnxpad.fix(given)


def test_an_initializer_without_values() -> None:
    given = onnx_ir.from_proto(PADDED)
    given.graph.initializers["w"].const_value = None
    with pytest.raises(ModelError):
        onnxpad.fix(given)


# Programs of torch


@pytest.mark.torch
@pytest.mark.filterwarnings("default")  # of torch itself
def test_a_program_of_torch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")

    class Padded(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.conv = torch.nn.Conv2d(1, 2, 3, stride=2)

        def forward(self, x: Any) -> Any:
            return self.conv(torch.nn.functional.pad(x, (0, 1, 0, 1)))

    x = torch.randn(1, 1, 8, 8)
    net = Padded().eval()
    program = torch.onnx.export(net, (x,), dynamo=True, optimize=False, verbose=False)
    before = onnx_ir.to_proto(program.model).SerializeToString()
    program(x)
    fixed = onnxpad.fix(program).as_same_kind()
    assert type(fixed) is type(program)
    assert fixed.exported_program is program.exported_program
    assert [node.op_type for node in fixed.model.graph] == ["Conv"]
    assert torch.allclose(fixed(x)[0], net(x), atol=1e-5)
    fixed.save(tmp_path / "net.onnx")
    assert not onnxpad.check(tmp_path / "net.onnx", ignore="PAD6").findings
    assert onnxpad.validate(program, fixed).ok
    fixed.optimize()
    weight = fixed.model.graph.initializers["conv.weight"]
    assert weight.const_value is program.model.graph.initializers["conv.weight"].const_value
    assert onnx_ir.to_proto(program.model).SerializeToString() == before
    program.model = None
    with pytest.raises(UsageError):
        onnxpad.fix(program)
