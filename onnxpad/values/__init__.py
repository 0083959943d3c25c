"""Shapes and small contents of tensors, at sizes that need not be known.

Imports `size` and `window`.
"""

from onnxpad.values.analysis import LARGEST_SIZE, Analysis
from onnxpad.values.folding import is_constant
from onnxpad.values.naming import OpenAxis, open_axes
from onnxpad.values.shapes import BROADCASTING
from onnxpad.values.value import Shape, Value

__all__ = [
    "BROADCASTING",
    "LARGEST_SIZE",
    "Analysis",
    "OpenAxis",
    "Shape",
    "Value",
    "is_constant",
    "open_axes",
]
