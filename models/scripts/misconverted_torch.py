"""PyTorch ports of TensorFlow's and Caffe's networks: the right weights, the wrong padding.

Environment: that of torch_networks.py.
Run: python misconverted_torch.py [name ...]
"""

import sys
import warnings

import misconverted
import numpy as np
import record
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn


class StridedConv2d(nn.Module):
    """Half the kernel on both sides, in place of TensorFlow's SAME with a stride."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2, padding=1)

    def forward(self, image):
        return self.conv(image)


class BeginConv1d(nn.Module):
    """The padding at the begin, in place of the end."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 1, 2, stride=2, bias=False)

    def forward(self, series):
        return self.conv(F.pad(series, (1, 0)))


class CaffePools(nn.Module):
    """PyTorch's pools round down unless asked, Caffe's up."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(2, 4, 3, padding=1)
        self.pool1 = nn.MaxPool2d(3, stride=2)
        self.conv2 = nn.Conv2d(4, 5, 3, padding=1)
        self.pool2 = nn.AvgPool2d(3, stride=2, padding=1)

    def forward(self, image):
        return self.pool2(self.conv2(self.pool1(F.relu(self.conv1(image)))))


class DepthwiseNorm(nn.Module):
    """Depthwise convolutions padded by half the kernel, a group norm, and a pool of everything."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.first = nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=8)
        self.norm = nn.GroupNorm(1, 8, eps=1e-3)
        self.expand = nn.Conv2d(8, 12, 1)
        self.second = nn.Conv2d(12, 12, 5, stride=2, padding=2, groups=12)
        self.even = nn.Conv2d(12, 12, 4, padding=2, groups=12)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.logits = nn.Linear(12, 10)

    def forward(self, image):
        x = F.relu(self.norm(self.first(F.relu6(self.stem(image)))))
        x = F.relu(self.even(F.relu(self.second(F.relu(self.expand(x))))))
        x = self.pool(x)
        return self.logits(x.flatten(1))[:, :, None, None]  # the dimensions that the pool keeps


class SeriesConv1d(nn.Module):
    """A series that comes with its channels last."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(6, 8, 5, stride=2, padding=2)
        self.second = nn.Conv1d(8, 10, 5, stride=2, padding=2)
        self.head = nn.Conv1d(10, 4, 5, padding="same")  # stride 1, where PyTorch has SAME

    def forward(self, series):
        x = series.permute(0, 2, 1)
        return self.head(F.relu(self.second(F.relu(self.first(x)))))


class EvenDeconv1d(nn.Module):
    """The right length by the same crop on both sides; padding=9, output_padding=4 is right."""

    def __init__(self):
        super().__init__()
        self.deconv = nn.ConvTranspose1d(4, 3, 7, stride=6, padding=7)

    def forward(self, series):
        return self.deconv(series)


class ShiftedDeconv1d(nn.Module):
    """TensorFlow's own pad and slice, written again, and one element late."""

    def __init__(self):
        super().__init__()
        self.deconv = nn.ConvTranspose1d(4, 3, 7, stride=6)

    def forward(self, series):
        return F.pad(self.deconv(series), (0, 4))[..., 10:-8]


# name: network, dynamo exporter?
MODELS = {
    "strided_conv2d": (StridedConv2d, False),
    "begin_conv1d": (BeginConv1d, False),
    "caffe_pools": (CaffePools, True),
    "depthwise_norm": (DepthwiseNorm, False),
    "series_conv1d": (SeriesConv1d, True),
    "deconv1d_even": (EvenDeconv1d, True),
    "deconv1d_shifted": (ShiftedDeconv1d, False),
}


def export(name, network, dynamo):
    """Export the port with the original's weights, as it reads the original's input."""
    weights = {key: torch.from_numpy(value) for key, value in misconverted.weights(name).items()}
    network.load_state_dict(weights)
    data = misconverted.data(name)
    if name not in {"series_conv1d", "caffe_pools"}:
        data = np.moveaxis(data, -1, 1).copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network.eval(),
            (torch.from_numpy(data),),
            str(record.path(misconverted.path(name))),
            dynamo=dynamo,
            input_names=["input"],
            output_names=["output"],
            **({"external_data": False} if dynamo else {}),
        )


if __name__ == "__main__":
    for name in sys.argv[1:] or MODELS:
        build, dynamo = MODELS[name]
        export(name, build(), dynamo)
