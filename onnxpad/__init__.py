"""Finds, fixes and proves the padding of exported ONNX graphs."""

__version__ = "0.1.0"
