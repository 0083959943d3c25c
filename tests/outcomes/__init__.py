"""Whether two trees of onnxpad behave alike, told by facts: `python -m tests.outcomes`."""
