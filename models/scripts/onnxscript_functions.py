"""Model-local functions that pad, written in onnxscript; PyTorch computes what is recorded.

Environment: that of torch_networks.py.
Run: python onnxscript_functions.py
"""

import numpy as np
import onnx
import record
import torch
import torch.nn.functional as F  # noqa: N812
from onnxscript import FLOAT, script
from onnxscript import opset20 as op
from onnxscript.values import Opset

NAME = "functions_onnxscript"
LAYERS = Opset("layers", 1)


def weights():
    """The four convolutions' weights, by name."""
    shapes = {
        "stem": (6, 3, 3, 3),
        "block": (6, 6, 3, 3),
        "deep": (6, 1, 5, 5),
        "head": (4, 6, 2, 2),
    }
    rng = np.random.default_rng(5)
    return {k: record.draw(rng, k, s, int(np.prod(s[1:]))) for k, s in shapes.items()}


HELD = {name: onnx.numpy_helper.from_array(w, name) for name, w in weights().items()}
STEM, BLOCK, DEEP, HEAD = HELD["stem"], HELD["block"], HELD["deep"], HELD["head"]


@script(LAYERS)
def halve(x, weight):
    """A convolution of stride 2, padded at the end; called twice, on two sizes."""
    amounts = op.Constant(value_ints=[0, 0, 0, 0, 0, 0, 1, 1])
    return op.Conv(op.Pad(x, amounts), weight, strides=[2, 2])


@script(LAYERS)
def peak(x):
    """The greatest of each neighbourhood of what is positive."""
    amounts = op.Constant(value_ints=[0, 0, 1, 1, 0, 0, 1, 1])
    return op.MaxPool(op.Pad(op.Relu(x), amounts), kernel_shape=[3, 3])


@script(LAYERS)
def residual(x, weight):
    """A function that calls another one."""
    return peak(halve(x, weight))


@script(LAYERS)
def padded(x, weight, amounts, groups: int = 1):
    """Padded by amounts that the caller gives, convolved in groups that the caller gives."""
    return op.Conv(op.Pad(x, amounts), weight, group=groups)


@script(default_opset=op)
def network(x: FLOAT[1, 3, "height", "width"]) -> FLOAT[1, 4, "rows", "columns"]:  # noqa: F821
    x = peak(halve(x, op.Constant(value=STEM)))
    x = op.Tanh(residual(x, op.Constant(value=BLOCK)))
    twos = op.Constant(value_ints=[0, 0, 2, 2, 0, 0, 2, 2])
    x = padded(x, op.Constant(value=DEEP), twos, groups=6)
    ends = op.Constant(value_ints=[0, 0, 0, 0, 0, 0, 1, 1])
    return padded(x, op.Constant(value=HEAD), ends)


def expected(x):
    """The same network in PyTorch."""
    stem, block, deep, head = (torch.from_numpy(w) for w in weights().values())

    def down(x, weight):
        x = F.relu(F.conv2d(F.pad(x, (0, 1, 0, 1)), weight, stride=2))
        return F.max_pool2d(F.pad(x, (1, 1, 1, 1)), 3, 1)

    x = torch.tanh(down(down(x, stem), block))
    x = F.conv2d(F.pad(x, (2, 2, 2, 2)), deep, groups=6)
    return F.conv2d(F.pad(x, (0, 1, 0, 1)), head)


if __name__ == "__main__":
    onnx.save(network.to_model_proto(), record.path(NAME))
    data = np.random.default_rng(6).normal(0, 1, (1, 3, 35, 46)).astype(np.float32)
    output = expected(torch.from_numpy(data)).numpy()
    record.save(NAME, {"x": data, record.outputs(NAME)[0]: output})
