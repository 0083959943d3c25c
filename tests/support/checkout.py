"""The checkout, and the models in it that exporters wrote."""

import re
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""

MODELS = ROOT / "models"

EXPORTED = sorted(path for path in MODELS.glob("*.onnx") if "." not in path.stem)
"""The models that exporters wrote, without what `onnxpad fix` has left beside them."""

_KINDS = frozenset({
    "aspp_keras", "crops_torchscript", "deconv1d_open_tensorflow", "dynamic_keras",
    "functions_onnxscript", "gaps_keras_open", "inception_qoperator_nhwc", "letterbox_torchscript",
    "loop_tensorflow", "mobilenet_v1_nhwc_qdq", "nasnet_keras", "timm_same_dynamo", "unet_dynamo",
    "windows_torchscript",
})  # fmt: skip
FEW = [path for path in EXPORTED if path.stem in _KINDS]
"""One model of each kind, for tests with several cases for each model."""

QUANTISED = re.compile("_(qdq|qoperator|dynamic_int8)")
"""In the names of the models that onnxruntime quantised after training."""

REFUSED: Final = frozenset({"aspp_tensorflow", "wavenet_torchscript"})
"""The models that onnxruntime does not run as they are: SAME of a dilated window."""
