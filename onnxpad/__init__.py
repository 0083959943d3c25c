"""Finds, fixes and proves the padding of exported ONNX graphs."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxpad.api.fix import CheckResult, FixResult, check, fix
    from onnxpad.api.validate import ValidationResult, validate
    from onnxpad.arguments import ModelSource
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
    "ModelSource",
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

_MODULES = {
    "arguments": {"ModelSource"},
    "errors": {"ModelError", "OnnxpadError", "OutputError", "ProviderError", "UsageError"}
    | {"ValidationError"},
    "finding": {"Certificate", "Change", "Finding", "Severity"},
    "api.validate": {"ValidationResult", "validate"},
    "api.fix": {"CheckResult", "FixResult", "check", "fix"},
}


def __getattr__(name: str) -> object:
    """The public names, imported when first asked for: `onnxpad --help` does without onnx."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(importlib.import_module(f"onnxpad.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
