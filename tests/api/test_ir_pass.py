"""The pass of onnx_ir: always another model, and in its Sequential and PassManager."""

import subprocess
import sys
from typing import Any

import onnx
import pytest

import onnxpad
from onnxpad.errors import UsageError, ValidationError
from tests.support import assert_graph
from tests.test_testing import BEFORE


@pytest.fixture
def onnx_ir() -> Any:
    """Imported late: it takes sympy, half a second that each collection would pay."""
    import onnx_ir

    return onnx_ir


def test_pass(onnx_ir: Any) -> None:
    from onnxpad import FixPaddingPass

    given = onnx_ir.from_proto(BEFORE)
    fix = FixPaddingPass()
    done = fix(given)
    assert done.modified
    assert done.model is not given
    assert_graph(onnx_ir.to_proto(done.model), onnxpad.fix(BEFORE).model)
    assert [node.op_type for node in given.graph] == ["Pad", "Conv"]
    assert fix.result is not None
    assert [change.code for change in fix.result.changes] == ["PAD201"]


def test_nothing_to_do(onnx_ir: Any) -> None:
    from onnxpad import FixPaddingPass

    given = onnx_ir.from_proto(onnxpad.fix(BEFORE).model)
    done = FixPaddingPass()(given)
    assert not done.modified
    assert done.model is not given


def test_sequence(onnx_ir: Any) -> None:
    from onnx_ir.passes.common import RemoveUnusedNodesPass

    from onnxpad import FixPaddingPass

    fix = FixPaddingPass(style="pad")
    sequence = onnx_ir.passes.Sequential(RemoveUnusedNodesPass(), fix, RemoveUnusedNodesPass())
    done = sequence(onnx_ir.from_proto(BEFORE))
    assert [node.op_type for node in done.model.graph] == ["Pad", "Conv"]
    many = onnx_ir.passes.PassManager([FixPaddingPass()], steps=3)
    assert many(onnx_ir.from_proto(BEFORE)).modified


def test_result_that_computes_something_else(onnx_ir: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from onnxpad import FixPaddingPass
    from onnxpad.api.fix import FixResult

    def refuse(*_: object) -> None:
        raise ValidationError("differs")

    monkeypatch.setattr(FixResult, "_refuse_invalid", refuse)
    with pytest.raises(ValidationError, match="differs"):
        FixPaddingPass()(onnx_ir.from_proto(BEFORE))


def test_without_onnx_ir() -> None:
    code = "import sys; sys.modules['onnx_ir'] = None; from onnxpad import FixPaddingPass"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: FixPaddingPass needs the package onnx_ir: pip install onnx_ir"
    )


def test_weights_are_shared(onnx_ir: Any) -> None:
    from onnxpad import FixPaddingPass

    given = onnx_ir.from_proto(onnx.ModelProto.FromString(BEFORE.SerializeToString()))
    held = given.graph.initializers["w"].const_value
    assert FixPaddingPass()(given).model.graph.initializers["w"].const_value is held


def test_unknown_option_is_told_at_once() -> None:
    from onnxpad import FixPaddingPass

    with pytest.raises(TypeError, match="stlye"):
        FixPaddingPass(stlye="fold")  # type: ignore[call-arg]
    with pytest.raises(UsageError):
        FixPaddingPass(target="opncv")
    with pytest.raises(UsageError, match="PAD8"):
        FixPaddingPass(select="PAD8")
