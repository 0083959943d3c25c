"""onnxruntime in worker processes, so that a crash there does not end this one.

`sessions` is the interface. `runtime` opens and runs sessions in a worker, `worker` answers
requests, `pool` starts and lends workers, and `channel` carries messages. What a worker needs does
not import onnx, so that it starts fast.
"""
