"""PyTorch networks that pad to whole windows, frames and strides, exported with open sizes.

Environment: that of torch_networks.py.
Run: python torch_computed.py [name ...]
"""

import sys

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch_networks import DIMS, EITHER, INSIDE, ONE, export


class Attention(nn.Module):
    """Attention inside windows, as Swin does: pad to whole windows, shift, and undo both."""

    def __init__(self, channels, window, shift):
        super().__init__()
        self.window, self.shift = window, shift
        self.mix = nn.Linear(channels, 3 * channels)
        self.out = nn.Linear(channels, channels)

    def forward(self, x):
        batch, height, width, channels = x.shape
        w = self.window
        y = F.pad(x, (0, 0, 0, (w - width % w) % w, 0, (w - height % w) % w))
        _, rows, columns, _ = y.shape
        y = torch.roll(y, (-self.shift, -self.shift), dims=(1, 2))
        y = y.view(batch, rows // w, w, columns // w, w, channels).permute(0, 1, 3, 2, 4, 5)
        query, key, value = self.mix(y.reshape(-1, w * w, channels)).chunk(3, dim=-1)
        weights = torch.softmax(query @ key.transpose(-2, -1) * channels**-0.5, dim=-1)
        y = self.out(weights @ value).view(batch, rows // w, columns // w, w, w, channels)
        y = y.permute(0, 1, 3, 2, 4, 5).reshape(batch, rows, columns, channels)
        y = torch.roll(y, (self.shift, self.shift), dims=(1, 2))
        return x + y[:, :height, :width]


class Windows(nn.Module):
    """Patches of an image padded to whole ones, attention in windows, merging in fours."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 8, 4, stride=4)
        self.first = Attention(8, 4, 2)
        self.merge = nn.Linear(32, 12)
        self.last = Attention(12, 4, 2)

    def forward(self, image):
        height, width = image.shape[2:]
        image = F.pad(image, (0, (4 - width % 4) % 4, 0, (4 - height % 4) % 4))
        x = self.patches(image).permute(0, 2, 3, 1)
        x = self.first(x)
        x = F.pad(x, (0, 0, 0, x.shape[2] % 2, 0, x.shape[1] % 2))
        quarters = [x[:, i::2, j::2] for i in (0, 1) for j in (0, 1)]
        return self.last(self.merge(torch.cat(quarters, dim=-1)))


class FrameConv(nn.Conv1d):
    """EnCodec's SConv1d: causal, and padded so that the last frame is a whole one."""

    def forward(self, x):
        (kernel,), (stride,), (dilation,) = self.kernel_size, self.stride, self.dilation
        span = (kernel - 1) * dilation + 1
        before = span - stride
        length = torch.as_tensor(x.shape[-1])
        frames = torch.ceil((length - span + before) / stride + 1).long() - 1
        return super().forward(F.pad(x, (before, frames * stride + span - before - length)))


class Codec(nn.Module):
    """The strides of EnCodec, down and up again, on sound of any length."""

    def __init__(self):
        super().__init__()
        strides = (2, 4, 5)
        self.stem = FrameConv(1, 6, 7)
        self.down = nn.ModuleList(FrameConv(6, 6, 2 * s, stride=s) for s in strides)
        self.dilated = FrameConv(6, 6, 3, dilation=2)
        self.up = nn.ModuleList(nn.ConvTranspose1d(6, 6, 2 * s, stride=s) for s in strides[::-1])
        self.between = nn.ModuleList(FrameConv(6, 6, 3) for _ in strides)
        self.head = FrameConv(6, 1, 7)

    def forward(self, sound):
        x = self.stem(sound)
        for down in self.down:
            x = down(F.elu(x))
        x = x + self.dilated(F.elu(x))
        for up, between in zip(self.up, self.between, strict=True):
            x = up(F.elu(x))[..., : -up.stride[0]]
            x = x + between(F.elu(x))
        return self.head(F.elu(x))


class Detector(nn.Module):
    """Images padded to a multiple of 32 as detectors batch them, then YOLO's stem and pyramid."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 6, 6, stride=2, padding=2)
        self.valid = nn.Conv2d(6, 6, 3)
        self.tiny = nn.Sequential(nn.ZeroPad2d((0, 1, 0, 1)), nn.MaxPool2d(2, 1))
        self.down = nn.Conv2d(6, 8, 3, stride=2, padding=1)
        self.pyramid = nn.ModuleList(nn.MaxPool2d(k, 1, k // 2) for k in (3, 5))
        self.fuse = nn.Conv2d(24, 6, 1)
        self.head = nn.Conv2d(12, 5, 3, padding=1)

    def forward(self, image):
        sizes = torch.as_tensor(image.shape[2]), torch.as_tensor(image.shape[3])
        bottom, right = (torch.ceil(size / 32).long() * 32 - size for size in sizes)
        stem = F.silu(self.stem(F.pad(image, (0, right, 0, bottom))))
        x = F.relu(self.down(self.tiny(F.relu(self.valid(stem)))))
        x = self.fuse(torch.cat([x, *(pool(x) for pool in self.pyramid)], dim=1))
        return self.head(torch.cat([F.interpolate(x, size=stem.shape[2:]), stem], dim=1))


class Letterbox(nn.Module):
    """An image padded to a square of whole cells at the end, as some detectors have it."""

    def __init__(self):
        super().__init__()
        self.cells = nn.Conv2d(3, 8, 4, stride=4)
        self.mix = nn.Conv2d(8, 8, 3, padding=1)
        self.head = nn.Conv2d(8, 4, 3, stride=2)

    def forward(self, image):
        height, width = (torch.as_tensor(size) for size in image.shape[2:])
        side = torch.maximum(height, width)
        side = (side + 3) // 4 * 4
        x = self.cells(F.pad(image, (0, side - width, 0, side - height)))
        x = F.relu(x + self.mix(x))
        rows, columns = (torch.as_tensor(size) for size in x.shape[2:])
        more = torch.clamp(columns - rows, min=0)
        return self.head(F.pad(x, (1, 1, 1, 1 + more)))


SOUND = {"dynamic_axes": {"input": {2: "length"}}, **ONE}

# name: network, input shape, dynamo exporter?, options of torch.onnx.export
MODELS = {
    "windows_torchscript": (Windows, (1, 3, 41, 70), False, EITHER),
    "windows_dynamo": (
        Windows,
        (1, 3, 41, 70),
        True,
        {"dynamic_shapes": (DIMS,), **INSIDE, **ONE},
    ),
    "codec_torchscript": (Codec, (1, 1, 333), False, SOUND),
    "detector_torchscript": (Detector, (1, 3, 45, 70), False, EITHER),
    "letterbox_torchscript": (Letterbox, (1, 3, 45, 62), False, EITHER),
}

if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    for name in sys.argv[1:] or MODELS:
        build, shape, dynamo, options = MODELS[name]
        export(name, build(), shape, dynamo, **options)
