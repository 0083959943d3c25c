"""Scripted PyTorch networks: control flow that stays in the graph, with padding inside its bodies.

Environment: that of torch_networks.py.
Run: python torch_scripted.py [name ...]
"""

import sys
import warnings

import numpy as np
import record
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch_networks import SIZES, seed


class Branches(nn.Module):
    """Pads before, in and behind the branches of Ifs, one of them inside a branch of another."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 6, 3, stride=2)
        self.near = nn.Conv2d(6, 6, 3)
        self.far = nn.Conv2d(6, 6, 3, dilation=2)
        self.depthwise = nn.Conv2d(6, 6, 3, groups=6)
        self.last = nn.Conv2d(6, 6, 4)
        self.head = nn.Conv2d(6, 4, 2)

    def forward(self, x, wide: Tensor):
        x = F.relu(self.stem(F.pad(x, (0, 1, 0, 1))))
        padded = F.pad(x, (1, 1, 1, 1))
        if bool(wide > 0):
            y = self.far(F.pad(x, (2, 2, 2, 2)))
            if bool(wide > 1):
                y = self.depthwise(F.pad(F.relu(y), (2, 0, 1, 1)))
            else:
                y = F.max_pool2d(F.pad(F.relu(y), (1, 1, 1, 1)), 3, stride=1)
        else:
            y = self.near(padded)
        if bool(wide > 2):
            y = y + F.max_pool2d(padded, 3, stride=1)
        else:
            y = torch.tanh(self.last(F.pad(y, (2, 1, 1, 2)))) + self.near(padded)
        return self.head(F.pad(y, (0, 1, 0, 1)))


class Steps(nn.Module):
    """A Loop of padded residual steps, as a diffusion sampler has it, and a While that halves."""

    def __init__(self):
        super().__init__()
        self.step = nn.Conv2d(5, 5, 3)
        self.mix = nn.Conv2d(5, 5, 3, groups=5)
        self.halve = nn.Conv2d(5, 5, 3, stride=2)

    def forward(self, x, steps: Tensor):
        for i in range(int(steps)):
            y = torch.tanh(self.step(F.pad(x, (1, 1, 1, 1))))
            if i % 2 == 0:
                y = self.mix(F.pad(y, (2, 0, 2, 0)))
            x = x + 0.5 * y
        while x.size(2) > 12:
            x = self.halve(F.pad(x, (0, 1, 0, 1)))
        return x


# name: network, inputs other than numbers, options of torch.onnx.export
MODELS = {
    "branches_torchscript": (
        Branches,
        (1, 3, 37, 42),
        2,
        {"input_names": ["input", "wide"], "dynamic_axes": {"input": SIZES}},
    ),
    "steps_torchscript": (
        Steps,
        (1, 5, 41, 30),
        3,
        {"input_names": ["input", "steps"], "dynamic_axes": {"input": SIZES}},
    ),
}

if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    for name in sys.argv[1:] or MODELS:
        build, shape, number, options = MODELS[name]
        network = build().eval()
        seed(network, sum(name.encode()))
        data = torch.from_numpy(np.random.default_rng(shape).normal(0, 1, shape).astype("f4"))
        inputs = data, torch.tensor(number)
        scripted = torch.jit.script(network)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                scripted,
                inputs,
                str(record.path(name)),
                dynamo=False,
                output_names=["output"],
                **options,
            )
        arrays = dict(zip(options["input_names"], (value.numpy() for value in inputs), strict=True))
        record.save(name, {**arrays, "output": scripted(*inputs).numpy()})
