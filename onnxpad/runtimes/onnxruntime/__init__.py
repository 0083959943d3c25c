"""onnxruntime: how it is run, and where it computes something else than the specification.

`native` is it as a `runtimes.runtime.Runtime`. `departures` is the table of where operators depart,
and what becomes of SAME. Of its optimiser, `pad_fusion`, `neighbours` and `blocked_pools` know what
it would get wrong in a graph, `ask_optimiser` asks it, and `guard` keeps it from that.
"""
