"""What the mis-converted models share with their originals: weights and inputs, from seeds alone.

Needs numpy and onnx only, so that it imports beside each framework. `misconverted_torch.py` exports
the ports; then `misconverted_tensorflow.py` and `misconverted_caffe.py` record what the originals
compute.
"""

import numpy as np
import record

# name: the original's input shape, and the port's parameters in PyTorch's layout
NETWORKS = {
    "strided_conv2d": ((1, 10, 10, 3), {"conv.weight": (8, 3, 3, 3), "conv.bias": (8,)}),
    "begin_conv1d": ((1, 4, 1), {}),
    "caffe_pools": (
        (1, 2, 12, 14),
        {
            "conv1.weight": (4, 2, 3, 3),
            "conv1.bias": (4,),
            "conv2.weight": (5, 4, 3, 3),
            "conv2.bias": (5,),
        },
    ),
    "depthwise_norm": (
        (1, 32, 40, 3),
        {
            "stem.weight": (8, 3, 3, 3),
            "stem.bias": (8,),
            "first.weight": (8, 1, 3, 3),
            "first.bias": (8,),
            "norm.weight": (8,),
            "norm.bias": (8,),
            "expand.weight": (12, 8, 1, 1),
            "expand.bias": (12,),
            "second.weight": (12, 1, 5, 5),
            "second.bias": (12,),
            "even.weight": (12, 1, 4, 4),
            "even.bias": (12,),
            "logits.weight": (10, 12),
            "logits.bias": (10,),
        },
    ),
    "series_conv1d": (
        (1, 52, 6),
        {
            "first.weight": (8, 6, 5),
            "first.bias": (8,),
            "second.weight": (10, 8, 5),
            "second.bias": (10,),
            "head.weight": (4, 10, 5),
            "head.bias": (4,),
        },
    ),
    "deconv1d_even": ((1, 249, 4), {"deconv.weight": (4, 3, 7), "deconv.bias": (3,)}),
    "deconv1d_shifted": ((1, 249, 4), {"deconv.weight": (4, 3, 7), "deconv.bias": (3,)}),
}


def path(name: str) -> str:
    """The name under which `record` keeps a mis-converted model."""
    return f"misconverted/{name}"


def weights(name: str) -> dict[str, np.ndarray]:
    """The parameters by their names in the port, in PyTorch's layout."""
    if name == "begin_conv1d":
        return {"conv.weight": np.array([[[0, 1]]], np.float32)}
    rng = np.random.default_rng(sum(name.encode()))
    drawn = {}
    for parameter, shape in NETWORKS[name][1].items():
        # A transposed kernel has its inputs first, and one tap of it meets another one.
        fan_in = shape[0] if "deconv" in parameter else int(np.prod(shape[1:]))
        kind = "gamma" if parameter == "norm.weight" else parameter
        drawn[parameter] = record.draw(rng, kind, shape, fan_in)
    return drawn


def data(name: str) -> np.ndarray:
    """The input in the original's layout."""
    shape = NETWORKS[name][0]
    if name == "begin_conv1d":
        return np.arange(1, 5, dtype=np.float32).reshape(shape)
    return np.random.default_rng(shape).normal(0, 1, shape).astype(np.float32)


def save(name: str, output: np.ndarray) -> None:
    """Record what the original computes, in its own layout, under the names of the port."""
    found = record.outputs(path(name))
    record.save(path(name), {"input": data(name), **dict(zip(found, [output], strict=True))})
