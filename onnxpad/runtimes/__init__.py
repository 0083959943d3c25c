"""Runtimes of models, in worker processes, so that a crash there does not end this one.

`sessions` is the interface: it asks `pool` for a `worker`, which answers with what `runtime` names.
What a worker needs does not import onnx, so that it starts fast. What is known of onnxruntime, how
it is called and what it makes of a graph, is in a package of its name: the one to write anew for
another runtime.
"""
