"""PyTorch decoders: transposed convolutions, padded and cropped as vocoders and codecs do it.

Environment: that of torch_networks.py.
Run: python torch_decoders.py [name ...]
"""

import math
import sys

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch_networks import INSIDE, ONE, export


class Smooth(nn.Module):
    """BigVGAN's activation: twice as many samples, sin^2, and half as many again.

    A slice takes off what the transposed convolution makes of the copied ends, and its overlap.
    """

    def __init__(self, channels, kernel=12):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1, 1, kernel))
        self.channels, self.kernel = channels, kernel

    def forward(self, x):
        weight = self.weight.expand(self.channels, -1, -1)
        before = self.kernel // 2 - 1
        crop = before * 2 + (self.kernel - 2) // 2
        x = F.pad(x, (before, before), mode="replicate")
        x = 2 * F.conv_transpose1d(x, weight, stride=2, groups=self.channels)
        x = x[..., crop:-crop]
        x = x + torch.sin(x) ** 2
        x = F.pad(x, (before, self.kernel // 2), mode="replicate")
        return F.conv1d(x, weight, stride=2, groups=self.channels)


class HifiGan(nn.Module):
    """HiFi-GAN: transposed convolutions by 8, 5 and 2 with residual blocks, at any length."""

    def __init__(self):
        super().__init__()
        rates, widths = (8, 5, 2), (10, 6, 5, 4)
        self.pre = nn.Conv1d(5, widths[0], 7, padding=3)
        self.up = nn.ModuleList(
            nn.ConvTranspose1d(
                *sizes, 2 * rate, rate, padding=rate // 2 + rate % 2, output_padding=rate % 2
            )
            for rate, *sizes in zip(rates, widths[:-1], widths[1:], strict=True)
        )
        self.blocks = nn.ModuleList(
            nn.Conv1d(width, width, 3, dilation=3, padding=3) for width in widths[1:]
        )
        self.smooth = Smooth(widths[-1])
        self.post = nn.Conv1d(widths[-1], 1, 7, padding=3)

    def forward(self, mel):
        x = self.pre(mel)
        for up, block in zip(self.up, self.blocks, strict=True):
            x = up(F.leaky_relu(x, 0.1))
            x = x + block(F.leaky_relu(x, 0.1))
        return torch.tanh(0.3 * self.post(self.smooth(x)))


def unpad(x, left, right):
    """EnCodec's unpad1d: the end is computed from the length."""
    return x[..., left : x.shape[-1] - right]


class FrameTranspose(nn.ConvTranspose1d):
    """EnCodec's SConvTranspose1d: not padded, then trimmed by what the frames overlap."""

    def __init__(self, inputs, outputs, kernel, stride, causal=True, ratio=1.0):
        super().__init__(inputs, outputs, kernel, stride)
        total = kernel - stride
        right = math.ceil(total * ratio) if causal else total // 2
        self.left, self.right = total - right, right

    def forward(self, x):
        return unpad(super().forward(x), self.left, self.right)


class Trims(nn.Module):
    """The ways in which codecs trim a transposed convolution, at any length."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv1d(4, 8, 3, padding=1)
        self.causal = FrameTranspose(8, 6, 10, 5)
        self.ratio = FrameTranspose(6, 6, 8, 4, ratio=0.4)
        self.sides = FrameTranspose(6, 6, 5, 2, causal=False)
        self.ends = nn.ConvTranspose1d(6, 6, 6, 3)
        self.dac = nn.ConvTranspose1d(6, 4, 6, 3, padding=2, output_padding=1)
        self.normed = nn.ConvTranspose1d(4, 4, 4, 2)
        self.norm = nn.GroupNorm(1, 4)
        self.head = nn.Conv1d(4, 1, 5)

    def forward(self, codes):
        x = F.elu(self.causal(F.elu(self.stem(codes))))
        x = F.elu(self.sides(self.ratio(x)))
        x = F.elu(self.ends(x))[..., :-3]
        x = F.elu(self.dac(x))
        x = unpad(self.norm(self.normed(x)), 0, 2)
        return self.head(F.pad(F.elu(x), (4, 0)))


class Crops(nn.Module):
    """What follows transposed convolutions of one size: crops, added zeros, and both."""

    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(3, 6, 3, stride=2, padding=1)
        self.sized = nn.ConvTranspose2d(6, 6, 3, stride=2, padding=1)
        self.bare = nn.ConvTranspose2d(6, 4, 4, stride=2, bias=False)
        self.bn = nn.BatchNorm2d(4)
        self.grouped = nn.ConvTranspose2d(4, 2, 3, stride=(3, 2), groups=2, dilation=(1, 2))

    def forward(self, image):
        x = self.sized(self.down(image), output_size=image.shape[2:])
        x = F.pad(F.relu(x), (-1, -2, 0, -1))
        x = F.relu(self.bn(F.pad(self.bare(x), (0, 1, -1, 1))))
        x = F.pad(self.grouped(x), (-2, -1, -1, -3))
        return F.pad(x.transpose(2, 3), (0, 0, 1, 2))


ANY = torch.export.Dim.DYNAMIC
SOUND = {"dynamic_axes": {"input": {2: "frames"}}, **ONE}
TRACED = {"dynamic_shapes": ({2: ANY},), **INSIDE, **ONE}

# name: network, input shape, dynamo exporter?, options of torch.onnx.export
MODELS = {
    "hifigan_torchscript": (HifiGan, (1, 5, 9), False, SOUND),
    "hifigan_dynamo": (HifiGan, (1, 5, 9), True, TRACED),
    "trims_torchscript": (Trims, (1, 4, 7), False, SOUND),
    "trims_dynamo": (Trims, (1, 4, 7), True, TRACED),
    "crops_torchscript": (Crops, (1, 3, 9, 12), False, ONE),
    "crops_dynamo": (Crops, (1, 3, 9, 12), True, {**INSIDE, **ONE}),
}

if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    for name in sys.argv[1:] or MODELS:
        build, shape, dynamo, options = MODELS[name]
        export(name, build(), shape, dynamo, **options)
