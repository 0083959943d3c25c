"""Finds, fixes and proves the padding of exported ONNX graphs."""

from onnxpad.api import CheckResult, FixResult, check, fix
from onnxpad.errors import (
    ModelError,
    OnnxpadError,
    OutputError,
    ProviderError,
    UsageError,
    ValidationError,
)
from onnxpad.finding import Certificate, Change, Finding, Severity

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "Change",
    "CheckResult",
    "Finding",
    "FixResult",
    "ModelError",
    "OnnxpadError",
    "OutputError",
    "ProviderError",
    "Severity",
    "UsageError",
    "ValidationError",
    "check",
    "fix",
]
