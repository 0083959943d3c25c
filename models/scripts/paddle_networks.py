"""PaddlePaddle networks exported by Paddle2ONNX, which names paddings by algorithm.

nn.Pad2D is left out on purpose: this Paddle2ONNX writes uninitialised memory as its Pad value.
A dilation with padding="SAME" is left out because Paddle2ONNX refuses it (Paddle itself then
convolves with dilation 1), and output_size because Paddle2ONNX leaves it out.

Environment: Python 3.11, pip install paddlepaddle==3.3.1 paddle2onnx==2.1.0 onnx==1.17.0 \
    numpy==2.4.6 protobuf==7.36.2 setuptools
Run: python paddle_networks.py
"""

import numpy as np
import paddle
import record
from paddle import nn
from paddle.nn import functional


class Same(nn.Layer):
    """Every padding algorithm, and explicit pads of two and of four numbers."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2D(3, 8, 3, stride=2, padding="SAME")
        self.depthwise = nn.Conv2D(8, 8, 5, stride=2, padding="SAME", groups=8)
        self.even = nn.Conv2D(8, 8, 4, padding="SAME")
        self.uneven = nn.Conv2D(8, 8, 3, padding=[1, 2, 0, 1])
        self.valid = nn.Conv2D(8, 6, 2, padding="VALID")

    def forward(self, image):
        x = functional.relu(self.depthwise(self.stem(image)))
        x = functional.max_pool2d(self.even(x), 3, stride=2, padding="SAME")
        x = functional.avg_pool2d(x, 3, stride=1, padding="SAME")
        x = functional.relu(self.uneven(x))
        x = functional.avg_pool2d(x, 3, stride=2, padding=1, ceil_mode=True, exclusive=False)
        return self.valid(x)


class Deconvolution(nn.Layer):
    """A transposed convolution with SAME, of which Paddle and ONNX have different ideas."""

    def __init__(self):
        super().__init__()
        self.down = nn.Conv2D(3, 6, 3, stride=2, padding="SAME")
        self.up = nn.Conv2DTranspose(6, 4, 3, stride=2, padding="SAME")

    def forward(self, image):
        return self.up(functional.relu(self.down(image)))


class Upsampling(nn.Layer):
    """Transposed convolutions with pads of one and four numbers, output padding, and a crop."""

    def __init__(self):
        super().__init__()
        self.up_one = nn.Conv2DTranspose(3, 6, 3, stride=2, padding=1, output_padding=1)
        self.up_four = nn.Conv2DTranspose(6, 5, 4, stride=2, padding=[1, 0, 2, 1])
        self.up_valid = nn.Conv2DTranspose(5, 4, 3, stride=2, padding="VALID")

    def forward(self, image):
        x = functional.relu(self.up_four(functional.relu(self.up_one(image))))
        return self.up_valid(x)[:, :, 1:-2, :-1]


def seed(network, number):
    """Replace every parameter by seeded values."""
    rng = np.random.default_rng(number)
    for name, tensor in network.state_dict().items():
        shape = tuple(tensor.shape)
        fan_in = shape[0] * 4 if name.startswith("up") else int(np.prod(shape[1:]))
        tensor.set_value(record.draw(rng, name, shape, fan_in))


def export(name, network, declared, shape):
    """Export as Paddle's documentation has it, and record what Paddle computes."""
    network.eval()
    seed(network, sum(name.encode()))
    data = np.random.default_rng(shape).normal(0, 1, shape).astype(np.float32)
    expected = network(paddle.to_tensor(data)).numpy()
    spec = paddle.static.InputSpec(declared, "float32", "image")
    target = str(record.path(name).with_suffix(""))
    paddle.onnx.export(network, target, input_spec=[spec], opset_version=13)
    record.save(name, {"image": data, record.outputs(name)[0]: expected})


if __name__ == "__main__":
    export("same_paddle", Same(), [-1, 3, 56, 68], (1, 3, 56, 68))
    export("upsampling_paddle", Upsampling(), [1, 3, 5, 7], (1, 3, 5, 7))
    export("deconv_paddle", Deconvolution(), [1, 3, -1, -1], (1, 3, 9, 14))
