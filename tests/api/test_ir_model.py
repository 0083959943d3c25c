"""Models of onnx_ir, torch's programs of them, and the pass: nothing they hold is lost or changed.

onnx_ir is imported late: it takes sympy, half a second that each collection would pay.
"""

import importlib
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import onnxpad
from onnxpad.api import kinds as ir_model
from onnxpad.api.fix import FixResult
from onnxpad.api.kinds import _tensors, serialised, serialised_export, taken
from onnxpad.arguments import InFolder
from onnxpad.errors import ModelError, UsageError, ValidationError
from onnxpad.graph import Graph
from tests.api.test_kinds import PADDED
from tests.support import assert_graph, parsed

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
    (h,) = (each for each in graph.value_info if each.name == "h")
    assert h == rich.graph.value_info[0]
    assert fixed.functions == in_ir(rich).functions
    opsets = {each.domain: each.version for each in fixed.opset_import}
    assert opsets == {"": 17, "own": 1, "other": 3}
    kept = ("producer_name", "producer_version", "domain", "model_version", "doc_string")
    for name in (*kept, "configuration", "metadata_props"):
        assert getattr(fixed, name) == getattr(rich, name)


def test_the_model_given_is_not_changed(rich: onnx.ModelProto) -> None:
    given = onnx_ir.from_proto(rich)
    given.meta["mark"], given.graph.meta["mark"] = 1, 2
    tensor = onnx_ir.Tensor(np.ones((1, 1, 3, 3), np.float32), name="another name")
    given.graph.initializers["w"].const_value = tensor
    before = onnx_ir.to_proto(given).SerializeToString()
    tensor.name = "another name"
    fixed = onnxpad.fix(given).as_same_kind()
    assert (fixed.meta["mark"], fixed.graph.meta["mark"]) == (1, 2)  # which no file holds
    fixed.graph.node("node_h").attributes.clear()
    fixed.graph.inputs[0].name = "renamed"
    fixed.graph.initializers["w"].const_value = onnx_ir.Tensor(np.zeros(1, np.float32))
    assert onnx_ir.to_proto(given).SerializeToString() == before


def test_a_result_is_of_the_model_as_it_was_and_shares_its_tensors() -> None:
    given = onnx_ir.from_proto(PADDED)
    values = np.ones((1, 1, 3, 3), np.float32)
    lazy = lazily(lambda: onnx_ir.Tensor(values), values.shape)
    given.graph.initializers["w"].const_value = lazy
    result = onnxpad.fix(given, validate=False)
    given.graph.initializers["w"].const_value = onnx_ir.Tensor(np.zeros((1, 1, 3, 3), np.float32))
    assert result.as_same_kind().graph.initializers["w"].const_value is lazy


def lazily(make: Callable[[], Any], shape: tuple[int, ...] = (1, 1, 3, 3)) -> Any:
    """A weight whose values are made when they are asked for."""
    kind = onnx_ir.DataType.FLOAT
    return onnx_ir.LazyTensor(make, dtype=kind, shape=onnx_ir.Shape(shape), name="w")


# External data


@pytest.fixture
def apart(tmp_path: Path) -> Path:
    """A model whose weights lie beside it."""
    path = tmp_path / "source" / "net.onnx"
    path.parent.mkdir()
    weighted = onnx_ir.from_proto(WEIGHTED)
    onnx_ir.save(weighted, path, external_data="w.bin", size_threshold_bytes=100)
    return path


def external(model: "onnx_ir.Model") -> "onnx_ir.ExternalTensor":
    tensor = model.graph.initializers["w"].const_value
    assert isinstance(tensor, onnx_ir.ExternalTensor)
    return tensor


def test_external_data_stays_where_it_is(apart: Path, tmp_path: Path) -> None:
    given = onnx_ir.load(apart)
    result = onnxpad.fix(given)
    assert result.ok
    fixed = result.as_same_kind()
    assert external(fixed) is external(given)
    for original, other in ((given, fixed), (WEIGHTED, fixed), (fixed, WEIGHTED), (apart, fixed)):
        assert onnxpad.validate(original, other).ok
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


def test_external_data_in_the_working_directory_or_of_no_folder(
    apart: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = onnx_ir.from_proto(onnx.load(apart, load_external_data=False))
    result = onnxpad.fix(given)
    assert result.validation is not None
    assert not external(result.as_same_kind()).base_dir
    monkeypatch.chdir(apart.parent)
    result = onnxpad.fix(onnx_ir.load(apart.name))
    assert result.ok
    assert external(result.as_same_kind()).numpy().shape == (8, 1, 3, 3)


def test_external_data_that_is_gone_or_scattered(apart: Path, tmp_path: Path) -> None:
    onnx_ir.save(onnx_ir.load(apart), apart, external_data="all.bin", size_threshold_bytes=0)
    scattered, gone = onnx_ir.load(apart), onnx_ir.load(apart)
    external(scattered).base_dir = tmp_path
    (apart.parent / "all.bin").unlink()
    for given in (scattered, gone):
        with pytest.raises(ModelError):
            onnxpad.fix(given)


TWO = """g (float[2] x) => (float[2] y) <float[2] w = {1, 2}, float[2] v = {1, 2}>
{ q = Add (x, w) y = Add (q, v) }"""


def outside(location: str, folder: Path | str) -> Any:
    """A tensor in a file that is never read."""
    dtype, shape = onnx_ir.DataType.FLOAT, onnx_ir.Shape([2])
    return onnx_ir.ExternalTensor(location, 0, 8, dtype, shape=shape, name="w", base_dir=folder)


def test_external_data_is_found_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(8))
    (tmp_path / "d").mkdir()
    model = onnx_ir.from_proto(parsed(TWO))

    def placed(name: str, folder: Path | str, location: str = "w.bin") -> None:
        model.graph.initializers[name].const_value = outside(location, folder)

    assert isinstance(serialised(model), bytes)
    placed("w", tmp_path)
    found = serialised(model)
    assert isinstance(found, InFolder)
    assert found.folder == tmp_path
    placed("v", tmp_path / "." / "")
    assert isinstance(serialised(model), InFolder)
    placed("v", tmp_path / "d")
    with pytest.raises(ModelError):
        serialised(model)
    model.graph.initializers["v"].const_value = onnx_ir.Tensor(np.zeros(2, np.float32), name="v")
    placed("w", "", "gone.bin")
    assert isinstance(serialised(model), bytes)  # it may have lost its place
    placed("w", "", str(tmp_path / "w.bin"))
    assert isinstance(serialised(model), InFolder)


def test_a_model_over_two_gibibytes_is_refused_but_weights_in_files_take_no_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is read: whoever tries is told at once, and how it works."""

    def never() -> Any:
        raise AssertionError

    given = onnx_ir.from_proto(PADDED)
    given.graph.initializers["w"].const_value = lazily(never, (1 << 20, 600))
    with pytest.raises(ModelError):
        onnxpad.check(given)
    model = onnx_ir.from_proto(parsed(TWO))
    monkeypatch.setattr(ir_model, "LIMIT", 17)
    serialised(model)
    monkeypatch.setattr(ir_model, "LIMIT", 16)
    with pytest.raises(ModelError):
        serialised(model)
    model.graph.initializers["v"].const_value = outside("gone", "/nowhere")
    serialised(model)


def test_a_model_that_onnx_ir_cannot_write() -> None:
    def broken() -> Any:
        raise OSError("the disk is gone")

    for weight in (lazily(broken), None):
        given = onnx_ir.from_proto(PADDED)
        given.graph.initializers["w"].const_value = weight
        with pytest.raises(ModelError):
            onnxpad.fix(given)


NESTED = """g (float[2] x, bool c) => (float[2] y) <float[2] w = {1, 2}>
{
  k = Constant <value = float[2] held {1, 2}> ()
  z = If (c) <
    then_branch = t () => (float[2] a) <float[2] inner = {5, 6}>
      { b = Constant <value = float[2] deep {7, 8}> () a = Add (b, inner) },
    else_branch = e () => (float[2] d) { d = Neg (w) }
  >
  y = own.twice <by = [1.0]> (z)
}
<opset_import: ["" : 17], domain: "own">
twice <by> (n) => (u) {
  r = Constant <value: tensor = @by> ()
  s = Constant <value = float[2] far {9, 9}> () m = Mul (n, s) u = Mul (m, r)
}"""


def test_every_tensor_is_found() -> None:
    model = onnx_ir.from_proto(parsed(NESTED))
    several = [onnx_ir.Tensor(np.zeros(1, np.float32), name=name) for name in ("one", "two")]
    many = onnx_ir.Attr("many", onnx_ir.AttributeType.TENSORS, several)
    model.graph.node(1).attributes["many"] = many
    names = ["w", "held", "one", "two", "inner", "deep", "far"]
    assert sorted(str(each.name) for each in _tensors(model)) == sorted(names)
    branch = model.graph.node(1).attributes["then_branch"].as_graph()
    branch.initializers["inner"].const_value = None
    with pytest.raises(ModelError, match="'inner'"):
        onnxpad.check(model)


def test_what_a_signal_handler_raises_is_no_failure_to_serialise() -> None:
    def limit(*_: object) -> None:
        raise TimeoutError("a limit")

    def export() -> onnx.ModelProto:
        try:
            signal.raise_signal(signal.SIGUSR1)
        except TimeoutError as error:
            raise ValueError("wrapped") from error
        raise AssertionError

    before = signal.signal(signal.SIGUSR1, limit)
    try:
        with pytest.raises(TimeoutError, match="a limit"):
            serialised_export(export)
    finally:
        signal.signal(signal.SIGUSR1, before)


# Programs of torch


class Program:
    """What is used of torch's `ONNXProgram`."""

    def __init__(self, model: Any, exported_program: Any) -> None:
        self.model, self.exported_program = model, exported_program


def test_a_program_keeps_what_it_was_exported_from() -> None:
    model = onnx_ir.from_proto(parsed(TWO))
    data, same_kind = taken(model, Program(model, "exported"))
    found = same_kind(Graph.from_proto(parsed(TWO)).model)
    assert isinstance(found, Program)
    assert found.exported_program == "exported"
    for name, value in model.graph.initializers.items():
        assert found.model.graph.initializers[name].const_value is value.const_value
    assert data == serialised(model)
    with pytest.raises(UsageError):
        taken(None, Program("old", None))


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


# The pass


def test_the_pass_gives_another_model_and_keeps_its_result() -> None:
    given = onnx_ir.from_proto(PADDED)
    fix = onnxpad.FixPaddingPass()
    done = fix(given)
    assert done.modified
    assert done.model is not given
    assert_graph(onnx_ir.to_proto(done.model), onnxpad.fix(PADDED).model)
    assert [node.op_type for node in given.graph] == ["Pad", "Conv"]
    assert fix.result is not None
    assert [change.code for change in fix.result.changes] == ["PAD201"]
    held = given.graph.initializers["w"].const_value
    assert done.model.graph.initializers["w"].const_value is held
    again = onnxpad.FixPaddingPass()(done.model)
    assert not again.modified
    assert again.model is not done.model


def test_the_pass_stands_in_sequences() -> None:
    unused = importlib.import_module("onnx_ir.passes.common").RemoveUnusedNodesPass
    passes: Any = importlib.import_module("onnx_ir.passes")
    done = passes.Sequential(unused(), onnxpad.FixPaddingPass(style="pad"), unused())(
        onnx_ir.from_proto(PADDED)
    )
    assert [node.op_type for node in done.model.graph] == ["Pad", "Conv"]
    many = passes.PassManager([onnxpad.FixPaddingPass()], steps=3)
    assert many(onnx_ir.from_proto(PADDED)).modified


def test_the_pass_refuses_what_differs_and_bad_options(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ValidationError("differs")

    monkeypatch.setattr(FixResult, "_refuse_invalid", refuse)
    with pytest.raises(ValidationError, match="differs"):
        onnxpad.FixPaddingPass()(onnx_ir.from_proto(PADDED))
    with pytest.raises(TypeError, match="stlye"):
        onnxpad.FixPaddingPass(stlye="fold")  # type: ignore[call-arg]
    wrong: list[dict[str, Any]] = [{"target": "opncv"}, {"select": "PAD8"}]
    for options in wrong:
        with pytest.raises(UsageError):
            onnxpad.FixPaddingPass(**options)


def test_without_onnx_ir_the_pass_says_what_it_needs() -> None:
    code = "import sys; sys.modules['onnx_ir'] = None; from onnxpad import FixPaddingPass"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].startswith("ImportError: FixPaddingPass needs the package")
