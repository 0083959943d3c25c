"""Chooses execution providers by name, and tries whether they run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx.parser

from onnxpad.errors import ModelError, ProviderError, UsageError, meant
from onnxpad.runtimes import pool
from onnxpad.runtimes.onnxruntime import native
from onnxpad.runtimes.onnxruntime.native import CPU, CUDA
from onnxpad.runtimes.sessions import open_session
from onnxpad.runtimes.worker import Runtime

AUTO = "auto"
_CHOICES = "choose cpu, cuda, auto, or one that `onnxpad doctor` lists"
_SECONDS = 120.0
"""Seconds in which a provider has to run one node: a driver may hang."""

_ONE_NODE = """
<ir_version: 7, opset_import: ["" : 13]>
one_node (float[2] x) => (float[2] y) { y = Relu (x) }
"""


def chosen(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The providers that `names` ask for, each once, and notes on the choice.

    A name is `auto` (CUDA where it runs, and the CPU), that of an installed plugin, or the
    runtime's own, also without `ExecutionProvider`.

    Raises:
        UsageError: A name is unknown, or there is none.
        ProviderError: A provider asked for by name does not run here.
    """
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise UsageError(f"providers takes names, as ['cpu'], not {names!r}")
    if not names:
        raise UsageError(f"no provider given; {_CHOICES}")
    known = pool.ask(Runtime.about, native.named_providers)
    found: dict[str, None] = {}
    notes: list[str] = []
    for name in names:
        if name.lower() == AUTO:
            trouble = trouble_with(CUDA)
            found.update(dict.fromkeys((CPU,) if trouble else (CUDA, CPU)))
            runs = f"CPU only; {trouble}" if trouble else "CUDA and CPU"
            notes.append(f"provider auto: {runs}")
            continue
        provider = known.get(name.lower())
        if provider is None:
            named = meant(name, (AUTO, *known, *known.values()))
            raise UsageError(f"unknown provider {name!r}; {_CHOICES}{named}")
        if provider not in found and (trouble := trouble_with(provider)):
            raise ProviderError(trouble)
        found[provider] = None
    return tuple(found), tuple(dict.fromkeys(notes))


def trouble_with(provider: str) -> str:
    """Why `provider` cannot run a model of one node, in one line; empty if it runs one.

    The runtime's list of available providers is no answer: it names all that were compiled in, even
    if there is no device.
    """
    model = onnx.parser.parse_model(_ONE_NODE)
    data = np.array([-1, 1], np.float32)
    try:
        with pool.limited(_SECONDS), open_session(model, provider=provider) as session:
            answer = session.run({"x": data})["y"]
            elsewhere = {*session.ran_on().values()} - {provider}
    except ProviderError as error:
        return str(error)
    except ModelError as error:
        return f"{provider} does not start on this machine: {error}"
    if elsewhere:
        return f"{provider} starts on this machine, but leaves a Relu to {', '.join(elsewhere)}"
    right = np.array_equal(np.asarray(answer), np.maximum(data, 0))
    return "" if right else f"{provider} computes Relu wrong on this machine"
