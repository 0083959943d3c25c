"""What an onnx_ir model holds and what two of them share, asked of the parts that compare them."""

import importlib
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest

import onnxpad
from onnxpad.api import kinds
from onnxpad.api.kinds import _tensors, serialised, serialised_export, taken
from onnxpad.arguments import InFolder
from onnxpad.errors import ModelError, UsageError
from onnxpad.graph import Graph
from tests.support import parsed

if TYPE_CHECKING:
    import onnx_ir  # noqa: TC004

NESTED = """g (float[2] x, bool c) => (float[2] y) <float[2] w = {1, 2}, float[2] v = {3, 4}>
{
  k = Constant <value = float[2] held {1, 2}> ()
  q = Add (x, w)
  z = If (c) <
    then_branch = t () => (float[2] a) <float[2] inner = {5, 6}>
      { b = Constant <value = float[2] deep {7, 8}> () a = Add (b, inner) },
    else_branch = e () => (float[2] d) { d = Neg (q) }
  >
  y = own.twice <by = [1.0]> (z)
}
<opset_import: ["" : 17], domain: "own">
twice <by> (n) => (u) {
  r = Constant <value_floats: floats = @by> ()
  s = Constant <value = float[2] far {9, 9}> () m = Mul (n, s) u = Mul (m, r)
}"""

TWO = """g (float[2] x) => (float[2] y) <float[2] w = {1, 2}, float[2] v = {1, 2}>
{ q = Add (x, w) y = Add (q, v) }"""


@pytest.fixture(scope="module", autouse=True)
def _onnx_ir() -> None:
    """Imports it only here: it takes sympy, half a second that each collection would pay."""
    globals()["onnx_ir"] = importlib.import_module("onnx_ir")


@pytest.fixture
def nested() -> Any:
    model = onnx_ir.from_proto(parsed(NESTED))
    several = [onnx_ir.Tensor(np.zeros(1, np.float32), name=name) for name in ("one", "two")]
    node = model.graph.node(1)
    attribute = onnx_ir.Attr("many", onnx_ir.AttributeType.TENSORS, several)
    node.attributes["many"] = attribute
    return model


def test_every_tensor_is_found(nested: Any) -> None:
    assert [each.name for each in _tensors(nested)] == [
        "w", "v", "held", "one", "two", "inner", "deep", "far",
    ]  # fmt: skip
    branch = nested.graph.node(2).attributes["then_branch"].as_graph()
    branch.initializers["inner"].const_value = None
    with pytest.raises(ModelError, match="'inner'"):
        onnxpad.check(nested)


def outside(
    location: str, offset: int | None, length: int | None, kind: str = "FLOAT", size: int = 2
) -> Any:
    """A tensor in a file that is never read."""
    dtype = onnx_ir.DataType[kind]
    return onnx_ir.ExternalTensor(
        location, offset, length, dtype, shape=onnx_ir.Shape([size]), name="w", base_dir="/nowhere"
    )


def test_the_innermost_reason_is_told() -> None:
    def export() -> onnx.ModelProto:
        try:
            try:
                raise KeyError("deep")
            except KeyError as error:
                raise ValueError("middle") from error
        except ValueError as error:
            raise TypeError("outer") from error

    with pytest.raises(ModelError):
        serialised_export(export)


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


def test_external_data_is_found_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(8))
    model = onnx_ir.from_proto(parsed(TWO))

    def placed(name: str, folder: Path | str, location: str = "w.bin") -> None:
        tensor = outside(location, 0, 8)
        tensor.base_dir = folder
        model.graph.initializers[name].const_value = tensor

    assert isinstance(serialised(model), bytes)
    placed("w", tmp_path)
    found = serialised(model)
    assert isinstance(found, InFolder)
    assert found.folder == tmp_path
    placed("v", tmp_path / "." / "")
    assert isinstance(serialised(model), InFolder)
    (tmp_path / "d").mkdir()
    placed("v", tmp_path / "d")
    with pytest.raises(ModelError):
        serialised(model)
    model.graph.initializers["v"].const_value = None
    model.graph.initializers["v"].const_value = onnx_ir.Tensor(np.zeros(2, np.float32), name="v")
    placed("w", "", "gone.bin")
    assert isinstance(serialised(model), bytes)  # it may have lost its place
    placed("w", "", str(tmp_path / "w.bin"))
    assert isinstance(serialised(model), InFolder)


def test_weights_in_files_take_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "LIMIT", 17)
    model = onnx_ir.from_proto(parsed(TWO))
    serialised(model)
    monkeypatch.setattr(kinds, "LIMIT", 16)
    with pytest.raises(ModelError):
        serialised(model)
    model.graph.initializers["v"].const_value = outside("gone", 0, 8)
    serialised(model)


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
