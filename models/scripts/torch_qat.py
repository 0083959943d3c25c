"""A quantisation-aware trained network as torch has it: fake quantisers, exported as QDQ.

Environment: Python 3.11, pip install torch==2.13.0 onnx==1.23.2 onnxscript==0.7.2 numpy==2.4.6
Run: python torch_qat.py
"""

import warnings

import numpy as np
import record
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

NAME = "qat_torchscript"


class Quantiser(nn.Module):
    """An activation's fake quantiser with a zero point that is not zero."""

    def __init__(self, scale, zero_point):
        super().__init__()
        self.scale, self.zero_point = scale, zero_point

    def forward(self, x):
        return torch.fake_quantize_per_tensor_affine(x, self.scale, self.zero_point, 0, 255)


class Quantised(nn.Module):
    """Convolutions on quantised data, padded before and behind the quantiser."""

    def __init__(self):
        super().__init__()
        self.entry = Quantiser(0.03, 120)
        self.stem = nn.Conv2d(3, 8, 3, stride=2)
        self.middle = Quantiser(0.02, 0)
        self.depthwise = nn.Conv2d(8, 8, 3, groups=8, padding=1)
        self.exit = Quantiser(0.04, 131)
        self.head = nn.Conv2d(8, 6, 3)

    @staticmethod
    def conv(x, module, **options):
        scales = module.weight.detach().abs().amax((1, 2, 3)) / 127
        weight = torch.fake_quantize_per_channel_affine(
            module.weight, scales, torch.zeros_like(scales, dtype=torch.int32), 0, -128, 127
        )
        return F.conv2d(x, weight, module.bias, module.stride, module.padding, 1, module.groups)

    def forward(self, x):
        x = F.pad(self.entry(x), (0, 1, 0, 1))
        x = self.middle(F.relu(self.conv(x, self.stem)))
        x = F.max_pool2d(x, 3, stride=2, padding=1)
        x = self.conv(x, self.depthwise)
        x = self.exit(F.pad(x, (2, 0, 2, 0)))
        return self.conv(x, self.head)


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    rng = np.random.default_rng(11)
    network = Quantised().eval()
    for name, tensor in network.state_dict().items():
        shape = tuple(tensor.shape)
        tensor.copy_(torch.from_numpy(record.draw(rng, name, shape, int(np.prod(shape[1:])))))
    data = torch.from_numpy(rng.normal(0, 1, (1, 3, 34, 41)).astype(np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network,
            (data,),
            str(record.path(NAME)),
            dynamo=False,
            opset_version=17,
            input_names=["input"],
            output_names=["output"],
        )
    record.save(NAME, {"input": data.numpy(), "output": network(data).numpy()})
