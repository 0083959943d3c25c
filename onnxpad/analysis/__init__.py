"""Shape inference and constant folding with symbolic sizes."""

from __future__ import annotations

from onnxpad.analysis.analysis import ANY_SIZE, LARGEST_SIZE, Analysis, OpenAxis, open_axes
from onnxpad.analysis.rules.folding import is_constant
from onnxpad.analysis.rules.shape_table import BROADCASTING
from onnxpad.analysis.value import Shape, Value

__all__ = [
    "ANY_SIZE",
    "BROADCASTING",
    "LARGEST_SIZE",
    "Analysis",
    "OpenAxis",
    "Shape",
    "Value",
    "is_constant",
    "open_axes",
]
