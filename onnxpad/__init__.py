"""Finds, fixes and proves the padding of exported ONNX graphs."""

import importlib
from typing import TYPE_CHECKING

from onnxpad.errors import (
    ModelError,
    OnnxpadError,
    OutputError,
    ProviderError,
    UsageError,
    ValidationError,
)
from onnxpad.finding import Certificate, Change, Finding, Severity

if TYPE_CHECKING:
    from onnxpad.api import CheckResult, FixResult, check, fix
    from onnxpad.validating import ValidationResult, validate

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
    "ValidationResult",
    "check",
    "fix",
    "validate",
]

_VALIDATING = {"ValidationResult", "validate"}


def __getattr__(name: str) -> object:
    """The engine's names, imported when first asked for: `onnxpad --help` does without onnx."""
    if name in __all__:
        module = "onnxpad.validating" if name in _VALIDATING else "onnxpad.api"
        return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
