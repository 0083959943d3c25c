"""Runtimes of models, in worker processes, so that a crash there does not end this one.

`runtime` says what a runtime must offer. `sessions` is the interface to the one that is deployed:
`worker` answers requests, `pool` starts and lends workers, and `channel` carries messages. What a
worker needs does not import onnx, so that it starts fast. What is known of one runtime alone is in
a package of its name; `deployed` and `protection` name what is asked of it.
"""
