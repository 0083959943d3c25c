"""onnxruntime in a process of its own: what crashes there takes nobody with it.

`runtime` opens and runs sessions, `worker` does so when it is asked, `pool` starts workers and asks
them, over what `channel` carries. Nothing here imports onnx, so that a worker starts fast.
"""
