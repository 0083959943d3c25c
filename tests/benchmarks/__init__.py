"""What onnxpad costs beside its peers; run by hand as `python -m tests.benchmarks`."""
