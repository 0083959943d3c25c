"""The runtime that is deployed, as padding and rewriting ask it.

Another runtime has all of these, and stands here in onnxruntime's place: nothing else names the one
of which it is asked where it departs from the specification, and what its optimiser does to a graph
(`protection`: how a graph is protected from that; `worker.DEPLOYED`: how a model runs).
"""

from __future__ import annotations

from onnxpad.runtimes.onnxruntime.departures import (
    CHANGED,
    BlockedPools,
    disagreement,
    folding_versions,
    misreads_same,
    runtime_pads,
    why_not_run,
)
from onnxpad.runtimes.onnxruntime.pad_fusion import Exposed, Fusion, misdeclared

__all__ = [
    "CHANGED",
    "BlockedPools",
    "Exposed",
    "Fusion",
    "disagreement",
    "folding_versions",
    "misdeclared",
    "misreads_same",
    "runtime_pads",
    "why_not_run",
]
