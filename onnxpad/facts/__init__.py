"""Shape inference and constant folding with symbolic sizes."""

from __future__ import annotations

from onnxpad.facts.engine import LARGEST_SIZE, OPEN_SIZES, Analysis, OpenAxis, open_axes
from onnxpad.facts.shape_rules import Shape, Value, is_constant

__all__ = [
    "LARGEST_SIZE",
    "OPEN_SIZES",
    "Analysis",
    "OpenAxis",
    "Shape",
    "Value",
    "is_constant",
    "open_axes",
]
