"""Models of this folder, quantised after training by onnxruntime: QDQ, QOperator and dynamically.

The recorded outputs are what the framework computes in float: they differ by the quantisation
error.

Environment: Python 3.11, pip install onnxruntime==1.31.1 onnx==1.23.2 numpy==2.4.6
Run, after keras_tf2onnx.py, keras_applications.py and torch_inception.py:
    python onnxruntime_quantization.py [name ...]
"""

import sys

import numpy as np
import record
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_dynamic,
    quantize_static,
)


class Noise(CalibrationDataReader):
    """Eight seeded random images."""

    def __init__(self, shape):
        rng = np.random.default_rng(21)
        self.batches = iter([{"input": rng.normal(0, 1, shape).astype("f4")} for _ in range(8)])

    def get_next(self):
        return next(self.batches, None)


QDQ, QOPERATOR = QuantFormat.QDQ, QuantFormat.QOperator
UINT8, INT8 = QuantType.QUInt8, QuantType.QInt8

# name: source, format, type of activations, a scale for each channel of the weights?
STATIC = {
    "mobilenet_qdq": ("mobilenet_keras", QDQ, UINT8, True),
    "mobilenet_qoperator": ("mobilenet_keras", QOPERATOR, UINT8, False),
    "mobilenet_v1_nhwc_qdq": ("mobilenet_v1_keras_nhwc", QDQ, UINT8, True),
    "inception_qdq_int8": ("inception_dynamo", QDQ, INT8, True),
    "inception_qdq_uint8": ("inception_dynamo", QDQ, UINT8, False),
    "inception_qoperator": ("inception_dynamo", QOPERATOR, UINT8, True),
    "inception_qoperator_int8": ("inception_dynamo", QOPERATOR, INT8, False),
}
# name: source
DYNAMIC = {"inception_dynamic_int8": "inception_dynamo"}

if __name__ == "__main__":
    for name in sys.argv[1:] or [*STATIC, *DYNAMIC]:
        if name in DYNAMIC:
            source = DYNAMIC[name]
            arrays = dict(np.load(record.path(source).with_suffix(".npz")))
            quantize_dynamic(record.path(source), record.path(name), weight_type=UINT8)
        else:
            source, quant_format, activations, per_channel = STATIC[name]
            arrays = dict(np.load(record.path(source).with_suffix(".npz")))
            quantize_static(
                str(record.path(source)),
                str(record.path(name)),
                Noise(arrays["input"].shape),
                quant_format=quant_format,
                activation_type=activations,
                weight_type=INT8,
                per_channel=per_channel,
            )
        record.save(name, arrays)
