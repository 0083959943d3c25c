"""What onnxruntime's own optimiser does with padding."""
