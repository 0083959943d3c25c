"""`fix` as a pass of the package onnx_ir, for its `Sequential` and `PassManager`."""

from __future__ import annotations

from typing import Unpack

try:
    import onnx_ir
    from onnx_ir.passes import FunctionalPass, PassResult
except ImportError:
    raise ImportError("FixPaddingPass needs the package onnx_ir: pip install onnx_ir") from None

from onnxpad.api.fix import FixResult, fix
from onnxpad.options import OptionKeywords, Options
from onnxpad.rewrite.registry import with_codes
from onnxpad.targets.choose import targets_of


class FixPaddingPass(FunctionalPass):
    """Writes padding as `onnxpad.fix` does; the result is another model that shares the weights.

    Attributes:
        result: What `fix` found and did at the last call; None before.
    """

    def __init__(self, *, validate: bool = True, **options: Unpack[OptionKeywords]) -> None:
        """A pass with the options of `onnxpad.fix`; raises now, not after a long export.

        Raises:
            UsageError: As for `onnxpad.fix`.
            TypeError: There is no such option.
        """
        if with_codes(Options.of(options)).is_for_targets:
            targets_of(Options.of(options))
        self.result: FixResult | None = None
        self._validate = validate
        self._options = options

    def call(self, model: onnx_ir.Model) -> PassResult:
        """The rewritten model, and whether anything was rewritten.

        Raises:
            ValidationError: The rewritten model does not compute what the original computes.
            UsageError: As for `onnxpad.fix`.
            ModelError: The model cannot be serialised, or the specification forbids it.
        """
        self.result = fix(model, validate=self._validate, **self._options)
        return PassResult(self.result.as_same_kind(), self.result.changed)
