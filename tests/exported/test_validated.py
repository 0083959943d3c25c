"""What `fix` probes and validates of exported models is what the proofs alone allow.

Their frameworks' outputs, asked for in every style by test_each_style.py, are the stronger oracle:
here are style `fold`, and all styles for one model of each kind, one in thirty in the gate.
"""

import onnx
import pytest

import onnxpad
from tests.exported.results import FEW_NAMES, HIDDEN, NAMES, fixed, fixed_model, original
from tests.support import STYLES
from tests.support.rows import one_in


def unguarded(given: onnx.ModelProto) -> onnx.ModelProto:
    """The model without empty last inputs, which keep onnxruntime from folding a `Pad`.

    Where a probe has run, more of them may be written than the result needs.
    """
    model = onnx.ModelProto()
    model.CopyFrom(given)
    for node in model.graph.node:
        if node.op_type == "Pad" and not node.input[-1]:
            del node.input[-1]
    return model


@pytest.mark.parametrize(
    ("name", "style"),
    one_in(30, ((name, style) for style in STYLES for name in NAMES if name in FEW_NAMES))
    + one_in(30, ((name, STYLES[0]) for name in NAMES if name not in FEW_NAMES)),
)
def test_probes_and_validation_agree_with_the_proofs(name: str, style: str) -> None:
    result = onnxpad.fix(original(name), style=style)
    assert {each.node for each in result.undone} == HIDDEN.get(name, set())
    assert (result.validation is not None) == result.changed == bool(result.changes)
    assert result.validation is None or result.validation.ok
    assert unguarded(result.model) == unguarded(fixed_model(name, style))
    assert result.findings == fixed(name, style).findings
