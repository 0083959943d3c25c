"""How onnxruntime's own graph optimiser treats padding."""
