"""The Keras model mobilenet_keras, quantised after training by onnxruntime, in both its formats.

The recorded outputs are what Keras computes in float: they differ by the quantisation error.

Environment: Python 3.11, pip install onnxruntime==1.31.1 onnx==1.23.2 numpy==2.4.6
Run, after keras_tf2onnx.py: python onnxruntime_quantization.py
"""

import numpy as np
import record
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

SOURCE = "mobilenet_keras"


class Noise(CalibrationDataReader):
    """Eight seeded random images."""

    def __init__(self, shape):
        rng = np.random.default_rng(21)
        self.batches = iter([{"input": rng.normal(0, 1, shape).astype("f4")} for _ in range(8)])

    def get_next(self):
        return next(self.batches, None)


if __name__ == "__main__":
    arrays = dict(np.load(record.path(SOURCE).with_suffix(".npz")))
    formats = {"mobilenet_qdq": QuantFormat.QDQ, "mobilenet_qoperator": QuantFormat.QOperator}
    for name, quant_format in formats.items():
        quantize_static(
            str(record.path(SOURCE)),
            str(record.path(name)),
            Noise(arrays["input"].shape),
            quant_format=quant_format,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            per_channel=quant_format is QuantFormat.QDQ,
        )
        record.save(name, arrays)
