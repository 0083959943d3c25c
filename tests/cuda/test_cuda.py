"""On a CUDA device: every model of `models/` before and after `fix`, and what really ran there.

One skip where no device is. `pytest -m cuda` runs these alone.
"""

import ctypes
import os
from pathlib import Path

import onnx
import pytest

import onnxpad
from onnxpad.runtimes.onnxruntime.native import CUDA
from onnxpad.runtimes.providers import trouble_with
from tests.support import EXPORTED


def trouble() -> str:
    """Why nothing runs on CUDA here; without a driver, which is a cheap question, none is tried."""
    try:
        ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return "its driver is not installed"
    return trouble_with(CUDA)


if why := trouble():
    pytest.skip(f"no CUDA device: {why}", allow_module_level=True)

pytestmark = pytest.mark.cuda


@pytest.mark.parametrize("path", EXPORTED, ids=lambda path: path.stem)
def test_fixed_models_agree_and_no_more_convolutions_run_on_the_cpu(
    path: Path, tmp_path: Path
) -> None:
    fixed = tmp_path / path.name
    onnxpad.fix(path).save(fixed)
    found = onnxpad.validate(path, fixed, providers=["cuda", "cpu"]).validation
    assert found.ok, found.runs
    left = {"original": 0, "rewritten": 0}
    for place in found.placements:
        assert place.nodes > len(place.elsewhere)
        left[place.model] += sum(name.endswith("(Conv)") for name in place.elsewhere)
    assert left["rewritten"] <= left["original"]


def test_a_wrong_rewrite_differs_on_cuda() -> None:
    path = next(path for path in EXPORTED if path.stem == "mobilenet_keras")
    wrong = onnx.load(path)
    for node in wrong.graph.node:
        for attribute in node.attribute:
            if node.op_type == "Conv" and attribute.name == "pads":
                attribute.ints[:] = [attribute.ints[i] for i in (2, 3, 0, 1)]
    found = onnxpad.validate(path, wrong, providers=["cuda"])
    assert not found.ok
    assert found.validation.divergence is not None
    assert "(Conv)" in found.validation.divergence.producers[0]


def test_auto_uses_cuda_and_says_so() -> None:
    path = EXPORTED[0]
    found = onnxpad.validate(path, path, providers=["auto"])
    assert found.providers == (CUDA, "CPUExecutionProvider")
    assert any("use_tf32=0" in note for note in found.notes)
