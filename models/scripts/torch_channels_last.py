"""A PyTorch network that pads in another layout than its convolutions', by the dynamo exporter.

Environment: that of torch_networks.py.
Run: python torch_channels_last.py
"""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch_networks import DIMS, INSIDE, ONE, export


class ChannelsLast(nn.Module):
    """A ConvNeXt-like network: normalised, padded and sliced as NHWC, convolved as NCHW."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 8, 2, stride=2)
        self.norm = nn.LayerNorm(8)
        self.depthwise = nn.Conv2d(8, 8, 5, groups=8)
        self.wide = nn.Linear(8, 16)
        self.narrow = nn.Linear(16, 8)
        self.causal = nn.Conv1d(8, 8, 3, dilation=2)
        self.head = nn.Conv2d(8, 4, 3)

    def forward(self, x):
        x = self.patches(x).permute(0, 2, 3, 1)
        y = F.pad(self.norm(x), (0, 0, 2, 2, 2, 2)).permute(0, 3, 1, 2)
        y = self.depthwise(y).permute(0, 2, 3, 1)
        x = x + self.narrow(F.gelu(self.wide(y)))
        rows = F.pad(x.mean(2), (0, 0, 4, 0)).transpose(1, 2)
        x = x + torch.tanh(self.causal(rows)).transpose(1, 2).unsqueeze(2)
        x = F.relu(F.pad(x, (0, 0, 1, 0, 0, 1)).permute(0, 3, 1, 2))
        first, second = F.pad(x, (1, 1, 1, 1)).split(4, dim=1)
        return self.head(torch.cat([second, first], dim=1))


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    options = {"dynamic_shapes": (DIMS,), **INSIDE, **ONE}
    export("channels_last_dynamo", ChannelsLast(), (1, 3, 38, 51), True, **options)
