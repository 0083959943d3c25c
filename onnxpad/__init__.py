"""Finds, fixes and proves the padding of exported ONNX graphs."""

from __future__ import annotations

import importlib
import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxpad.api.check import CheckResult as CheckResult
    from onnxpad.api.check import check as check
    from onnxpad.api.explain import Explanation as Explanation
    from onnxpad.api.explain import explain as explain
    from onnxpad.api.extensions import register as register
    from onnxpad.api.extensions import registered as registered
    from onnxpad.api.extensions import unregister as unregister
    from onnxpad.api.fix import FixResult as FixResult
    from onnxpad.api.fix import fix as fix
    from onnxpad.api.ir_pass import FixPaddingPass as FixPaddingPass
    from onnxpad.api.match import MatchResult as MatchResult
    from onnxpad.api.match import match as match
    from onnxpad.api.prove import ProveResult as ProveResult
    from onnxpad.api.prove import prove as prove
    from onnxpad.api.repad import RepadResult as RepadResult
    from onnxpad.api.repad import repad as repad
    from onnxpad.api.show import show as show
    from onnxpad.api.validate import validate as validate
    from onnxpad.arguments import ModelSource as ModelSource
    from onnxpad.declared import Row as Row
    from onnxpad.errors import MismatchError as MismatchError
    from onnxpad.errors import ModelError as ModelError
    from onnxpad.errors import OnnxpadError as OnnxpadError
    from onnxpad.errors import OutputError as OutputError
    from onnxpad.errors import ProviderError as ProviderError
    from onnxpad.errors import UsageError as UsageError
    from onnxpad.errors import ValidationError as ValidationError
    from onnxpad.finding import Certificate as Certificate
    from onnxpad.finding import Change as Change
    from onnxpad.finding import Finding as Finding
    from onnxpad.finding import Severity as Severity
    from onnxpad.folders.serving import check_all as check_all
    from onnxpad.folders.serving import fix_all as fix_all
    from onnxpad.folders.serving import validate_all as validate_all
    from onnxpad.report import FileOutcome as FileOutcome
    from onnxpad.report import ShowResult as ShowResult
    from onnxpad.report import ValidationResult as ValidationResult
    from onnxpad.rewrite.pass_api import Context as Context
    from onnxpad.rewrite.pass_api import Match as Match
    from onnxpad.rewrite.pass_api import Pass as Pass

__version__ = "0.1.0"
_MODULES = {
    "arguments": {"ModelSource"},
    "errors": {"MismatchError", "ModelError", "OnnxpadError", "OutputError", "ProviderError"}
    | {"UsageError", "ValidationError"},
    "declared": {"Row"},
    "finding": {"Certificate", "Change", "Finding", "Severity"},
    "rewrite.pass_api": {"Context", "Match", "Pass"},
    "api.explain": {"Explanation", "explain"},
    "api.extensions": {"register", "registered", "unregister"},
    "api.match": {"MatchResult", "match"},
    "api.prove": {"ProveResult", "prove"},
    "api.repad": {"RepadResult", "repad"},
    "api.show": {"show"},
    "api.validate": {"validate"},
    "api.check": {"CheckResult", "check"},
    "api.fix": {"FixResult", "fix"},
    "api.ir_pass": {"FixPaddingPass"},
    "folders.serving": {"check_all", "fix_all", "validate_all"},
    "report": {"FileOutcome", "ShowResult", "ValidationResult"},
}
__all__ = sorted(set[str]().union(*_MODULES.values()) - {"FixPaddingPass"})  # needs onnx_ir

_CALLS = {"check", "fix", "match", "prove", "repad", "show", "validate"}
_LATER = (
    "numpy.random",
    "onnxpad.inventory",
    "onnxpad.probe.cut",
    "onnxpad.runtimes.providers",
    "onnxpad.validation.whole",
)
"""Modules that these calls import when they need them, with all that those import."""
_REPADDED = ("Difference", "Matching", "Rewritten", "Unchanged")
_NAMED = {
    "PaddingSite": "inventory",
    "Validation": "validation.result",
    "Decision": "proving.pairs",
}
_NAMED |= dict.fromkeys(_REPADDED, "frameworks.repadding.results")
"""What annotations of `onnxpad.report` name that commands do not import: `help` asks for it."""

# A process that another thread forks in the midst of an import never gets the import's lock.
_importing = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_importing.acquire,
        after_in_parent=_importing.release,
        after_in_child=_importing.release,
    )


def __getattr__(name: str) -> object:
    """The public names, imported when first asked for: `onnxpad --help` does without onnx."""
    for module, names in _MODULES.items():
        if name in names:
            with _importing:
                for later in _LATER if name in _CALLS else ():
                    importlib.import_module(later)
                for kind, of in _NAMED.items() if name in _CALLS or "Result" in name else ():
                    named = getattr(importlib.import_module(f"onnxpad.{of}"), kind)
                    setattr(importlib.import_module("onnxpad.report"), kind, named)
                return getattr(importlib.import_module(f"onnxpad.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "FixPaddingPass"})
