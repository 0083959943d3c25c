"""onnxruntime: how it is run, and where it computes something else than the specification.

`native` is it as a `runtimes.runtime.Runtime`. `departures` says where it reads SAME otherwise, and
which operators its optimiser treats apart. `blocked_pools` and `hidden_shapes` know which shapes it
must not learn, `pad_fusion` and `neighbours` what its optimiser would get wrong in a graph.
`guard` keeps it from that.
"""
