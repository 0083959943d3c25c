"""What onnxpad stands on, and what of it works on this machine."""
