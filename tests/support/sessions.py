"""onnxruntime as an oracle: the only place of the tests that opens its sessions."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import onnx

Array = np.ndarray[Any, Any]

_LEVELS: Final = {"off": "DISABLE_ALL", "basic": "ENABLE_BASIC", "full": "ENABLE_ALL"}
LEVELS: Final = tuple(_LEVELS)
"""How far onnxruntime optimises a graph before it runs it, in the words of `onnxpad`."""
CPU: Final = ("CPUExecutionProvider",)

Source: TypeAlias = onnx.ModelProto | bytes | Path


def session(
    model: Source,
    level: str = "off",
    *,
    providers: Sequence[Any] = CPU,
    entries: Mapping[str, str] | None = None,
) -> Any:
    """A session of onnxruntime with one thread, which prints nothing.

    Args:
        model: A model, its bytes, or its file.
        level: One of `LEVELS`.
        providers: As onnxruntime takes them.
        entries: Further entries of the session's configuration.
    """
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, f"ORT_{_LEVELS[level]}")
    for name, value in (entries or {}).items():
        options.add_session_config_entry(name, value)
    given = model.SerializeToString() if isinstance(model, onnx.ModelProto) else model
    return ort.InferenceSession(
        str(given) if isinstance(given, Path) else given, options, providers=list(providers)
    )


def exposed(model: onnx.ModelProto, names: Iterable[str]) -> onnx.ModelProto:
    """The model with these tensors for its outputs, inner ones too."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.output[:]
    copy.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return copy


def run(model: Source | Any, feeds: Mapping[str, Array], level: str = "off") -> list[Array]:
    """What onnxruntime computes on the CPU, with graph optimisation off unless asked for.

    Args:
        model: A model as `session` takes it, or a session, for several runs.
        feeds: Data for the inputs.
        level: One of `LEVELS`.

    Raises:
        Exception: Whatever onnxruntime raises for a model or a size that it does not run.
    """
    import onnxruntime as ort

    quiet = ort.RunOptions()
    quiet.log_severity_level = 4
    opened = model if isinstance(model, ort.InferenceSession) else session(model, level)
    return list(opened.run(None, dict(feeds), quiet))


def ran(model: Source | Any, feeds: Mapping[str, Array], level: str = "off") -> list[Array] | str:
    """What `run` gives, or in onnxruntime's words why there is nothing."""
    try:
        return run(model, feeds, level)
    except Exception as error:  # onnxruntime's own errors share no narrower base class
        return str(error)


def feeds_of(proto: onnx.ModelProto, seed: int = 0, size: int = 9) -> dict[str, Array]:
    """Small integers, negative ones among them, for every input; open dimensions get `size`.

    Truth values are all true, or all false where the seed is odd.
    """
    random = np.random.default_rng(seed)
    held = {i.name for i in proto.graph.initializer}
    feeds = {}
    for value in proto.graph.input:
        if value.name in held:
            continue
        tensor = value.type.tensor_type
        shape = [d.dim_value if d.HasField("dim_value") else size for d in tensor.shape.dim]
        kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        low = 0 if np.dtype(kind).kind == "u" else -8
        drawn = random.integers(low, 9, shape).astype(kind)
        feeds[value.name] = np.full(shape, seed % 2 == 0) if np.dtype(kind).kind == "b" else drawn
    return feeds


def negative(model: onnx.ModelProto, size: int = 3) -> dict[str, Array]:
    """Fractions below zero for every input; open dimensions get `size`."""
    random = np.random.default_rng(0)
    feeds = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        shape = [dim.dim_value or size for dim in tensor.shape.dim]
        kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        feeds[value.name] = (-random.random(shape) - 0.5).astype(kind)
    return feeds
