"""onnxruntime's execution providers as rows, and the plugins that are installed.

A plugin is a package `onnxruntime-ep-NAME`, whose module knows the path of a library. It is found
by its metadata, and imported and loaded only where a model is to run on it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

_NO_OPTIONS: Mapping[str, str] = {}
_PREFIX = "onnxruntime-ep-"


class Provider(Struct, frozen=True):
    """An execution provider.

    Attributes:
        name: The name by which people ask for it.
        own: The name that onnxruntime has for it.
        options: What makes its results exact in float32, and repeatable.
        session: Options of a session that runs on it.
        environment: Variables that its libraries read when they are loaded.
    """

    name: str
    own: str
    options: Mapping[str, str] = _NO_OPTIONS
    session: Mapping[str, str] = _NO_OPTIONS
    environment: Mapping[str, str] = _NO_OPTIONS


CPU = "CPUExecutionProvider"
CUDA = "CUDAExecutionProvider"

_EXACT_CUDA = {"use_tf32": "0", "cudnn_conv_algo_search": "DEFAULT"}
_NO_TF32 = {"NVIDIA_TF32_OVERRIDE": "0"}
_PRECISION = '{"INFERENCE_PRECISION_HINT": "f32"}'
_DEVICES = {"load_config": f'{{"CPU": {_PRECISION}, "GPU": {_PRECISION}}}'}

# TF32 keeps 10 of the 23 bits; a search may choose another algorithm at each start. OpenVINO takes
# bfloat16, with 7 bits, where a CPU has instructions for it, and float16 on a GPU.
_ROWS = (
    Provider("cpu", CPU, session={"session.intra_op.allow_spinning": "0"}),
    Provider("cuda", CUDA, _EXACT_CUDA),
    Provider(
        "tensorrt", "TensorrtExecutionProvider", {"trt_fp16_enable": "0"}, environment=_NO_TF32
    ),
    Provider("tensorrt-rtx", "NvTensorRTRTXExecutionProvider", environment=_NO_TF32),
    Provider("openvino", "OpenVINOExecutionProvider", _DEVICES),
    Provider("webgpu", "WebGpuExecutionProvider"),
)
PROVIDERS = {each.own: each for each in _ROWS}
"""The providers known, by onnxruntime's names; of others the options are their own."""


def row_of(provider: str) -> Provider:
    """The row of a provider by onnxruntime's name."""
    return PROVIDERS.get(provider) or Provider(provider, provider)


def plugins() -> dict[str, str]:
    """The modules of the installed plugins, by the name to ask for; none is imported."""
    from importlib.metadata import distributions

    found = {}
    for each in distributions():
        name = (each.name or "").lower().replace("_", "-")
        module = name.replace("-", "_")
        if name.startswith(_PREFIX) and any(
            file.parts[0] == module for file in each.files or () if file.suffix == ".py"
        ):
            found[re.sub(r"^nv-|-cu\d+$", "", name.removeprefix(_PREFIX))] = module
    return found
