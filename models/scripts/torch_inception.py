"""A PyTorch network of padded branches, exported with every `Pad` as written, to be quantised.

Environment: that of torch_networks.py.
Run: python torch_inception.py
"""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch_networks import INSIDE, ONE, export


class Inception(nn.Module):
    """Branches that share a `Pad` or have their own, joined, reduced and added up."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2)
        self.point = nn.Conv2d(8, 6, 1)
        self.three = nn.Conv2d(8, 6, 3)
        self.three_again = nn.Conv2d(8, 6, 3)
        self.five = nn.Conv2d(8, 4, 5)
        self.depthwise = nn.Conv2d(30, 30, 3, stride=2, groups=30)
        self.project = nn.Conv2d(30, 10, 1)
        self.residual = nn.Conv2d(10, 10, 3)
        self.series = nn.Conv1d(10, 8, 5)

    def forward(self, x):
        x = F.relu(self.stem(F.pad(x, (0, 1, 0, 1))))
        ones = F.pad(x, (1, 1, 1, 1))
        branches = [
            self.point(x),
            self.three(ones),
            self.three_again(ones),
            self.five(F.pad(x, (2, 2, 2, 2))),
            F.max_pool2d(ones, 3, 1),
        ]
        x = F.relu(torch.cat(branches, 1))
        x = self.project(F.relu(self.depthwise(F.pad(x, (0, 1, 0, 1)))))
        y = F.avg_pool2d(F.pad(x, (1, 1, 1, 1)), 3, 1)
        x = y + self.residual(F.pad(F.leaky_relu(x, 0.1), (1, 1, 1, 1)))
        pooled = F.max_pool2d(F.pad(F.relu(x), (0, 1, 0, 1)), 2)
        return self.series(F.pad(pooled.flatten(2), (4, 0)))


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    options = {"opset_version": 18, "optimize": False}
    export("inception_dynamo", Inception(), (1, 3, 38, 51), True, **options, **INSIDE, **ONE)
