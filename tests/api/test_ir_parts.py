"""What an onnx_ir model holds and what two of them share, asked of the parts that compare them."""

import importlib
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest

from onnxpad.api import ir_model
from onnxpad.api.ir_model import (
    _keep,
    _names_kept,
    _producers,
    _tensors,
    program,
    serialised,
    serialised_export,
    serialised_program,
    weights,
)
from onnxpad.arguments import InFolder
from onnxpad.errors import ModelError, UsageError
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
    nested.graph.initializers["v"].const_value = None
    branch = nested.graph.node(2).attributes["then_branch"].as_graph()
    branch.initializers["inner"].const_value = None
    assert [each.name for each in _tensors(nested)] == ["w", "held", "one", "two", "deep", "far"]
    assert weights(nested) == {"w": nested.graph.initializers["w"].const_value, "v": None}
    with pytest.raises(ModelError) as caught:
        serialised(nested)
    assert "'v'" in str(caught.value)


def test_tensors_have_their_names_afterwards() -> None:
    tensors = [SimpleNamespace(name="a"), SimpleNamespace(name="b")]

    def fail() -> None:
        with _names_kept(tensors):
            tensors[0].name = "other"
            raise KeyError

    with pytest.raises(KeyError):
        fail()

    class Fixed:
        """A tensor whose name cannot be set."""

        name = property(lambda self: "c")

    with _names_kept([*tensors, Fixed()]):
        tensors[1].name = "other"
    assert [each.name for each in tensors] == ["a", "b"]


def outside(
    location: str, offset: int | None, length: int | None, kind: str = "FLOAT", size: int = 2
) -> Any:
    """A tensor in a file that is never read."""
    dtype = onnx_ir.DataType[kind]
    return onnx_ir.ExternalTensor(
        location, offset, length, dtype, shape=onnx_ir.Shape([size]), name="w", base_dir="/nowhere"
    )


def test_what_two_graphs_share() -> None:
    text = """g (float[2] x, bool c) => (float[2] y) <float[2] w = {1, 2}, float[2] v = {3, 4},
        float[2] only = {0, 0}>
    {
      [first] q = Add (x, w)
      [second] p = Mul (q, OTHER)
      [third] z = If (c) <
        then_branch = t () => (float[2] a) <float[2] inner = {5, 6}> { a = Add (p, inner) },
        else_branch = e () => (float[2] d) { d = Neg (q) } >
      [last] y = Sub (z, only)
    }"""
    before = onnx_ir.from_proto(parsed(text.replace("OTHER", "v"))).graph
    proto = parsed(
        text.replace("OTHER", "w").replace("p = Mul", "p = Div").replace("{3, 4}", "{3, 5}")
    )
    proto.graph.node.insert(0, onnx.helper.make_node("Abs", ["x"], ["fresh"]))
    now = onnx_ir.from_proto(proto).graph
    for number, node in enumerate(before):
        node.meta["node"] = number
        node.version = 10 + number
    before.inputs[0].meta["value"] = "x"
    before.node("first").outputs[0].meta["value"] = "q"
    before.initializers["w"].meta["value"] = "w"
    before.meta["graph"] = True
    _keep(before, now)
    assert dict(now.meta) == {"graph": True}
    assert {node.outputs[0].name: (dict(node.meta), node.version) for node in now} == {
        "fresh": ({}, None), "q": ({"node": 0}, 10), "p": ({}, None), "z": ({"node": 2}, 12),
        "y": ({"node": 3}, 13),
    }  # fmt: skip
    assert now.inputs[0].meta["value"] == "x"
    assert now.node("first").outputs[0].meta["value"] == "q"
    assert now.initializers["w"].meta["value"] == "w"
    assert list(_producers(now)) == ["fresh", "q", "p", "z", "y"]


def test_nodes_are_known_by_their_first_named_output() -> None:
    text = "g (float[2] x) => (float[2] y) { , m = Dropout (x) y = Neg (x) }"
    model = onnx_ir.from_proto(parsed(text))
    assert [*_producers(model.graph)] == ["m", "y"]
    nameless = onnx_ir.from_proto(parsed(text.replace(", m =", "a =")))
    nameless.graph.node(0).outputs[0].name = None
    assert [*_producers(nameless.graph)] == ["y"]


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
        serialised_export(export, "program")


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
            serialised_export(export, "program")
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
        serialised(model, "program", "save()")
    model.graph.initializers["v"].const_value = None
    model.graph.initializers["v"].const_value = onnx_ir.Tensor(np.zeros(2, np.float32), name="v")
    placed("w", "", "gone.bin")
    assert isinstance(serialised(model), bytes)  # it may have lost its place
    placed("w", "", str(tmp_path / "w.bin"))
    assert isinstance(serialised(model), InFolder)


def test_weights_in_files_take_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ir_model, "LIMIT", 17)
    model = onnx_ir.from_proto(parsed(TWO))
    serialised(model)
    monkeypatch.setattr(ir_model, "LIMIT", 16)
    with pytest.raises(ModelError):
        serialised(model)
    model.graph.initializers["v"].const_value = outside("gone", 0, 8)
    serialised(model)


class Program:
    """What is used of torch's `ONNXProgram`."""

    def __init__(self, model: Any, exported_program: Any) -> None:
        self.model, self.exported_program = model, exported_program


def test_a_program_keeps_what_it_was_exported_from(monkeypatch: pytest.MonkeyPatch) -> None:
    model = onnx_ir.from_proto(parsed("g (float[2] x) => (float[2] y) { y = Neg (x) }"))
    monkeypatch.setattr(ir_model, "rebuilt", lambda now, before, known: (now, before, known))
    given = Program(model, "exported")
    now: Any = "now"
    found = program(now, given, {"w": 1})
    assert (found.model, found.exported_program) == (("now", model, {"w": 1}), "exported")
    assert not hasattr(found, "_capture_strategy")
    given._capture_strategy = "strict"  # type: ignore[attr-defined]
    assert program(now, given, {})._capture_strategy == "strict"
    assert serialised_program(given) == serialised(model)
    with pytest.raises(UsageError):
        serialised_program(Program("old", None))
