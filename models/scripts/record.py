"""What every export script here shares: seeded weights' spread and the files a model leaves.

Needs numpy and onnx only, so that it imports in every exporter's environment.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import onnx

MODELS = Path(__file__).resolve().parents[1]


def path(name: str) -> Path:
    """Where the model of this name goes; the exporters write there themselves."""
    return MODELS / f"{name}.onnx"


def asked(script: str, names: Iterable[str]) -> Iterator[str]:
    """The models that the command line names; without any, all, each in a process of its own.

    tf2onnx numbers names through a process and orders nodes by hash.
    """
    if len(sys.argv) == 1:
        for name in names:
            environment = {**os.environ, "PYTHONHASHSEED": "0"}
            subprocess.run([sys.executable, script, name], check=True, env=environment)
    yield from sys.argv[1:]


def outputs(name: str) -> list[str]:
    """The names of the exported model's outputs, in the exporter's order."""
    return [value.name for value in onnx.load(path(name)).graph.output]


def save(name: str, arrays: Mapping[str, np.ndarray]) -> None:
    """Write the framework's inputs and outputs beside the exported model, and check both."""
    model = onnx.load(path(name))
    # Not full_check: onnx's shape inference contradicts torch's right sizes behind a ceil pool.
    onnx.checker.check_model(path(name))
    initializers = {tensor.name for tensor in model.graph.initializer}
    inputs = [value.name for value in model.graph.input if value.name not in initializers]
    if set(arrays) != {*inputs, *outputs(name)}:
        raise SystemExit(f"{name}: arrays {sorted(arrays)}, model {inputs} -> {outputs(name)}")
    for output in outputs(name):
        spread = float(np.std(arrays[output]))
        if not (np.all(np.isfinite(arrays[output])) and 0.05 < spread < 50):
            raise SystemExit(f"{name}: output {output} says little (std {spread})")
    np.savez(MODELS / f"{name}.npz", **arrays)
    exporter = f"{model.producer_name} {model.producer_version}"
    opset = {entry.domain or "ai.onnx": entry.version for entry in model.opset_import}
    size = path(name).stat().st_size
    print(f"{name}: {size} bytes, {exporter}, IR {model.ir_version}, opsets {opset}")


def draw(rng: np.random.Generator, name: str, shape: tuple[int, ...], fan_in: int) -> np.ndarray:
    """Values for one variable, named as its framework names it, that keep activations near 1."""
    kind = name.rsplit("/")[-1].rsplit(".")[-1]
    if kind in {"moving_variance", "running_var"}:
        values = rng.uniform(0.5, 1.5, shape)
    elif kind == "gamma":
        values = rng.uniform(0.7, 1.3, shape)
    elif kind in {"bias", "beta", "moving_mean", "running_mean"}:
        values = rng.normal(0, 0.4, shape)
    else:
        values = rng.normal(0, (1.6 / max(fan_in, 1)) ** 0.5, shape)
    return values.astype(np.float32)
