"""onnxruntime: how it is run, and where it computes something else than the specification.

`native` runs it, and knows its providers. `departures` says where it reads SAME otherwise, and
which pools it must not run in blocks, `hidden_shapes` which shapes it must not learn, `pad_fusion`
and `neighbours` what its optimiser would get wrong in a graph. `guard` keeps it from that.
"""
