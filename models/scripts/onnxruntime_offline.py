"""Models of this folder as onnxruntime's own optimiser saves them for later use.

The recorded outputs are those of the source, what its framework computes.

Environment: that of onnxruntime_quantization.py. The second depends on the processor: x86-64.
Run, after onnxruntime_quantization.py: python onnxruntime_offline.py
"""

import numpy as np
import onnxruntime as ort
import record

# name: source, level of optimisation
MODELS = {
    "inception_fused": ("inception_dynamo", ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED),
    "inception_qoperator_nhwc": (
        "inception_qoperator",
        ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
    ),
}

if __name__ == "__main__":
    for name, (source, level) in MODELS.items():
        options = ort.SessionOptions()
        options.graph_optimization_level = level
        options.optimized_model_filepath = str(record.path(name))
        options.log_severity_level = 3
        ort.InferenceSession(record.path(source), options, providers=["CPUExecutionProvider"])
        record.save(name, dict(np.load(record.path(source).with_suffix(".npz"))))
