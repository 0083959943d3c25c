"""Running models to check a rewrite: one change exactly, or the whole model.

May import `onnxpad.engine`, `onnxpad.errors` and `onnxpad.verdict`.
"""

from onnxpad.validation.compare import Tolerance
from onnxpad.validation.probe import ProbeResult, probe
from onnxpad.validation.providers import chosen
from onnxpad.validation.sessions import optimised, warm
from onnxpad.validation.whole import validate_models

__all__ = ["ProbeResult", "Tolerance", "chosen", "optimised", "probe", "validate_models", "warm"]
