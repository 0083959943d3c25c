"""PyTorch networks that pad in every way people write, exported by both of torch's exporters.

Environment: Python 3.11, pip install torch==2.13.0 onnx==1.23.2 onnxscript==0.7.2 onnx-ir==1.1.0 \
    numpy==2.4.6
Run: python torch_networks.py [name ...]
"""

import math
import sys
import warnings

import numpy as np
import record
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn


class ZeroPad(nn.Module):
    """Pads of every mode before convolutions and pools, on one size."""

    def __init__(self):
        super().__init__()
        self.zero_pad = nn.ZeroPad2d((0, 1, 0, 1))
        self.stem = nn.Conv2d(3, 8, 3, stride=2, bias=False)
        self.bn = nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, 5, groups=8, padding=1)
        self.reflect = nn.ReflectionPad2d((2, 1, 1, 2))
        self.after_reflect = nn.Conv2d(8, 8, 4)
        self.pointwise = nn.Conv2d(8, 12, 3)
        self.constant_pad = nn.ConstantPad1d((3, 1), 0.0)
        self.conv1d = nn.Conv1d(12, 10, 5)
        self.offset_pad = nn.ConstantPad1d((2, 0), 0.5)
        self.causal = nn.Conv1d(10, 6, 3)

    def forward(self, x):
        x = F.relu6(self.bn(self.stem(self.zero_pad(x))))
        x = self.depthwise(F.pad(x, (2, 1, 0, 1)))
        x = F.max_pool2d(F.pad(x, (0, 1, 1, 1), value=-math.inf), 3, stride=2)
        x = F.pad(x, (-1, 0, 0, -1))
        x = F.relu(self.after_reflect(self.reflect(x)))
        x = F.max_pool2d(F.pad(x, (1, 0, 1, 0)), 2, stride=1)
        x = F.avg_pool2d(F.pad(x, (0, 1, 0, 1)), 2, stride=1)
        x = self.pointwise(F.pad(x, (1, 1, 1, 1), value=0.0))
        series = self.conv1d(self.constant_pad(x.flatten(2)))
        return self.causal(self.offset_pad(series))


class CeilPool(nn.Module):
    """Pools that round up, with and without counting their padding."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.pool = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.fire = nn.Conv2d(8, 8, 3, padding=1)
        self.counted = nn.AvgPool2d(3, stride=2, padding=1, ceil_mode=True)
        self.uncounted = nn.AvgPool2d(
            3, stride=2, padding=1, ceil_mode=True, count_include_pad=False
        )
        self.inception = nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False)
        self.mix = nn.Conv2d(16, 10, 3, padding=1)
        self.last = nn.MaxPool2d(2, stride=2, padding=1, ceil_mode=True)

    def forward(self, x):
        x = self.fire(self.pool(self.stem(x)))
        x = self.inception(x)
        x = torch.cat([self.counted(x), self.uncounted(x)], 1)
        padded = F.max_pool2d(F.pad(F.relu(x), (1, 1, 1, 1)), 2, stride=2, ceil_mode=True)
        average = F.avg_pool2d(F.pad(x, (0, 1, 0, 1)), 3, stride=2, ceil_mode=True)
        features = self.last(self.mix(padded))
        return features, average


def same_pad(size, kernel, stride, dilation):
    """timm.layers.get_same_padding: total padding, from a traced size or a plain one."""
    if isinstance(size, torch.Tensor):
        total = (torch.ceil(size / stride) - 1) * stride + (kernel - 1) * dilation + 1 - size
        return torch.clamp(total, min=0)
    return max((math.ceil(size / stride) - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)


def pad_same(x, kernel, stride, dilation=(1, 1), value=0.0):
    """timm.layers.pad_same."""
    height, width = x.size()[-2:]
    pad_h = same_pad(height, kernel[0], stride[0], dilation[0])
    pad_w = same_pad(width, kernel[1], stride[1], dilation[1])
    pads = (pad_w // 2, pad_w - pad_w // 2, pad_h // 2, pad_h - pad_h // 2)
    return F.pad(x, pads, value=value)


class Conv2dSame(nn.Conv2d):
    """timm.layers.Conv2dSame: TensorFlow's SAME, its pads computed from the input's size."""

    def forward(self, x):
        x = pad_same(x, self.kernel_size, self.stride, self.dilation)
        return F.conv2d(x, self.weight, self.bias, self.stride, (0, 0), self.dilation, self.groups)


class MaxPool2dSame(nn.MaxPool2d):
    """timm.layers.MaxPool2dSame."""

    def __init__(self, kernel_size, stride):
        super().__init__((kernel_size, kernel_size), (stride, stride))

    def forward(self, x):
        x = pad_same(x, self.kernel_size, self.stride, value=-math.inf)
        return F.max_pool2d(x, self.kernel_size, self.stride)


class TimmSame(nn.Module):
    """The strided part of tf_efficientnet and of ResNetV2 in timm."""

    def __init__(self):
        super().__init__()
        self.stem = Conv2dSame(3, 8, 3, stride=2, bias=False)
        self.bn = nn.BatchNorm2d(8)
        self.pool = MaxPool2dSame(3, 2)
        self.expand = nn.Conv2d(8, 16, 1)
        self.depthwise = Conv2dSame(16, 16, 5, stride=2, groups=16)
        self.atrous = Conv2dSame(16, 12, 3, dilation=2)
        self.head = nn.Conv2d(12, 6, 3, padding=1)

    def forward(self, x):
        x = self.pool(F.silu(self.bn(self.stem(x))))
        x = F.silu(self.depthwise(F.silu(self.expand(x))))
        return self.head(F.relu(self.atrous(x)))


class WaveNet(nn.Module):
    """Gated dilated convolutions with torch's own padding='same' and padding='valid'."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv1d(4, 8, 4, padding="same")
        self.gates = nn.ModuleList(
            nn.Conv1d(8, 16, 3, padding="same", dilation=dilation) for dilation in (1, 2, 4, 8)
        )
        self.skips = nn.ModuleList(nn.Conv1d(8, 8, 1) for _ in self.gates)
        self.head = nn.Conv1d(8, 4, 2, padding="valid")

    def forward(self, x):
        x = self.stem(x)
        total = torch.zeros_like(x)
        for gate, skip in zip(self.gates, self.skips, strict=True):
            values, weights = gate(x).chunk(2, dim=1)
            y = skip(torch.tanh(values) * torch.sigmoid(weights))
            x, total = x + y, total + y
        return self.head(F.relu(total))


class Vocoder(nn.Module):
    """A vocoder's upsampling: strided transposed convolutions and dilated residual blocks."""

    def __init__(self):
        super().__init__()
        self.pre = nn.Conv1d(5, 16, 7, padding=3)
        self.up_1 = nn.ConvTranspose1d(16, 8, 7, stride=6, padding=9, output_padding=4)
        self.up_2 = nn.ConvTranspose1d(8, 6, 4, stride=2, padding=1)
        self.res_1 = nn.Conv1d(6, 6, 3, dilation=3, padding=3)
        self.reflect = nn.ReflectionPad1d((1, 0))
        self.post = nn.Conv1d(6, 1, 7, padding=3)

    def forward(self, mel):
        x = self.up_1(F.leaky_relu(self.pre(mel), 0.1))
        x = self.up_2(F.leaky_relu(x, 0.1))
        x = x + self.res_1(F.leaky_relu(x, 0.1))
        return torch.tanh(0.3 * self.post(self.reflect(F.leaky_relu(x))))


class UNet(nn.Module):
    """A U-Net that pads what it upsampled to the size of the skip connection."""

    def __init__(self):
        super().__init__()
        self.down_1 = nn.Conv2d(3, 6, 3, padding=1)
        self.down_2 = nn.Conv2d(6, 8, 3, padding=1)
        self.bottom = nn.Conv2d(8, 12, 3, padding=1)
        self.up_1 = nn.ConvTranspose2d(12, 8, 2, stride=2)
        self.merge_1 = nn.Conv2d(16, 8, 3, padding=1)
        self.up_2 = nn.ConvTranspose2d(8, 6, 2, stride=2)
        self.merge_2 = nn.Conv2d(12, 4, 3)

    @staticmethod
    def join(x, skip):
        height = skip.size()[2] - x.size()[2]
        width = skip.size()[3] - x.size()[3]
        x = F.pad(x, [width // 2, width - width // 2, height // 2, height - height // 2])
        return torch.cat([skip, x], dim=1)

    def forward(self, image):
        first = F.relu(self.down_1(image))
        second = F.relu(self.down_2(F.max_pool2d(first, 2)))
        x = F.relu(self.bottom(F.max_pool2d(second, 2)))
        x = F.relu(self.merge_1(self.join(self.up_1(x), second)))
        return self.merge_2(self.join(self.up_2(x), first))


def seed(network, number):
    """Replace every parameter and BatchNorm statistic by seeded values."""
    rng = np.random.default_rng(number)
    norms = {name for name, module in network.named_modules() if isinstance(module, nn.BatchNorm2d)}
    for name, tensor in network.state_dict().items():
        if not tensor.is_floating_point():
            continue
        owner, _, kind = name.rpartition(".")
        kind = "gamma" if owner in norms and kind == "weight" else kind
        transposed = isinstance(
            network.get_submodule(owner), nn.ConvTranspose1d | nn.ConvTranspose2d
        )
        shape = tuple(tensor.shape)
        # A transposed weight is (inputs, outputs, window); about window / stride taps meet.
        fan_in = shape[0] * 2 if transposed else int(np.prod(shape[1:]))
        tensor.copy_(torch.from_numpy(record.draw(rng, kind, shape, fan_in)))


def export(name, network, shape, dynamo, **options):
    """Export as the defaults have it, and record what torch computes."""
    network = network.eval()
    seed(network, sum(type(network).__name__.encode()))  # the same values for every exporter
    data = torch.from_numpy(np.random.default_rng(shape).normal(0, 1, shape).astype(np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network,
            (data,),
            str(record.path(name)),
            dynamo=dynamo,
            input_names=["input"],
            **options,
        )
    outputs = network(data)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    values = [value.numpy() for value in outputs]
    record.save(
        name, {"input": data.numpy(), **dict(zip(record.outputs(name), values, strict=True))}
    )


ONE = {"output_names": ["output"]}
TWO = {"output_names": ["features", "average"]}
SIZES = {2: "height", 3: "width"}
DIMS = {2: torch.export.Dim.DYNAMIC, 3: torch.export.Dim.DYNAMIC}
INSIDE = {"external_data": False}  # the default of the dynamo exporter is a file of its own
EITHER = {"dynamic_axes": {"input": SIZES}, **ONE}

# name: network, input shape, dynamo exporter?, options of torch.onnx.export
MODELS = {
    "zeropad_torchscript": (ZeroPad, (1, 3, 30, 37), False, ONE),
    "zeropad_unfolded": (
        ZeroPad,
        (1, 3, 30, 37),
        False,
        {"do_constant_folding": False, "opset_version": 13, **ONE},
    ),
    "zeropad_opset10": (ZeroPad, (1, 3, 30, 37), False, {"opset_version": 10, **ONE}),
    "zeropad_dynamo": (ZeroPad, (1, 3, 30, 37), True, {**INSIDE, **ONE}),
    "ceil_pool_torch": (CeilPool, (1, 3, 43, 54), True, {**INSIDE, **TWO}),
    "ceil_pool_torchscript": (CeilPool, (1, 3, 43, 54), False, {"opset_version": 13, **TWO}),
    "timm_same_torchscript": (TimmSame, (1, 3, 45, 58), False, EITHER),
    "timm_same_dynamo": (
        TimmSame,
        (1, 3, 45, 58),
        True,
        {"dynamic_shapes": (DIMS,), **INSIDE, **ONE},
    ),
    "wavenet_torchscript": (
        WaveNet,
        (1, 4, 40),
        False,
        {"dynamic_axes": {"input": {2: "frames"}}, **ONE},
    ),
    "vocoder_torch": (
        Vocoder,
        (1, 5, 49),
        False,
        {"dynamic_axes": {"input": {2: "frames"}}, **ONE},
    ),
    "unet_torchscript": (UNet, (1, 3, 22, 27), False, EITHER),
    "unet_dynamo": (UNet, (1, 3, 22, 27), True, {"dynamic_shapes": (DIMS,), **ONE}),
}

if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    for name in sys.argv[1:] or MODELS:
        build, shape, dynamo, options = MODELS[name]
        export(name, build(), shape, dynamo, **options)
