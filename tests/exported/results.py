"""The exported models, what their frameworks computed, and what `fix` makes of them: each once."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import onnx

import onnxpad
from tests.support import EXPORTED, FEW, MODELS, QUANTISED, REFUSED, Array, run

NAMES = [path.stem for path in EXPORTED]
FEW_NAMES = {path.stem for path in FEW}

ROUNDING = 1e-6
"""What another order of summation may change, of an output's greatest magnitude."""

WRONG = {"deconv_paddle", "gaps_keras_open"}
"""Models that their exporters got wrong."""

EXACTNESS = dict.fromkeys(WRONG, np.inf) | {name: 0.05 for name in NAMES if QUANTISED.search(name)}
"""How far from its framework an export is; 1e-5 where nothing is said. See models/README.md."""


HIDDEN = {"ceil_pool_torchscript": {"/Pad"}}
"""`Pad`s whose amounts stay computed: they hide a size that shape inference gets wrong."""


@cache
def original(name: str) -> onnx.ModelProto:
    return onnx.load(MODELS / f"{name}.onnx")


@cache
def recorded(name: str) -> tuple[dict[str, Array], list[Array]]:
    """What the framework was fed, and what it computed."""
    with np.load(MODELS / f"{name}.npz") as arrays:
        values = dict(arrays)
    expected = [values.pop(output.name) for output in original(name).graph.output]
    return values, expected


@cache
def fixed(name: str, style: str) -> onnxpad.FixResult:
    """The result by the proofs alone; `pad` is given the file, as by the command."""
    given = MODELS / f"{name}.onnx" if style == "pad" else original(name)
    return onnxpad.fix(given, style=style, validate=False)


@cache
def fixed_model(name: str, style: str) -> onnx.ModelProto:
    """The model that it gives, with what it keeps in a file beside it."""
    model = onnx.ModelProto()
    model.CopyFrom(fixed(name, style).model)
    onnx.load_external_data_for_model(model, str(MODELS))
    return model


@cache
def outputs(name: str, style: str | None = None) -> list[Array] | None:
    """What onnxruntime computes as the graph says; None for an original that it refuses."""
    feeds, _ = recorded(name)
    if style is not None:
        return run(fixed_model(name, style), feeds)
    try:
        return run(original(name), feeds)
    except Exception as error:
        if name in REFUSED and "Dilation not supported for AutoPadType" in str(error):
            return None
        raise


def distance(results: Sequence[Array] | None, expected: Sequence[Array] | None) -> float:
    """The greatest difference of two sets of outputs, of the greatest magnitude expected."""
    assert results is not None
    assert expected is not None
    pairs = list(zip(results, expected, strict=True))
    if any(result.shape != value.shape for result, value in pairs):
        return np.inf
    return max(float(np.abs(result - value).max() / np.abs(value).max()) for result, value in pairs)
