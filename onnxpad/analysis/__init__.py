"""Shape inference and constant folding with symbolic sizes."""

from __future__ import annotations

from onnxpad.analysis.analysis import LARGEST_SIZE, OPEN_SIZES, Analysis, OpenAxis, open_axes
from onnxpad.analysis.rules.shape_table import BROADCASTING
from onnxpad.analysis.value import Shape, Value, is_constant

__all__ = [
    "BROADCASTING",
    "LARGEST_SIZE",
    "OPEN_SIZES",
    "Analysis",
    "OpenAxis",
    "Shape",
    "Value",
    "is_constant",
    "open_axes",
]
