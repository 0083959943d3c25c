"""A network in TensorFlow's own operators, exported by tf2onnx: atrous convolutions on any size.

tf.nn.conv2d with dilations is one Conv2D operator (Keras goes through SpaceToBatchND instead), so
tf2onnx, not knowing the size, writes auto_pad=SAME_UPPER beside dilations.

Environment: Python 3.11, pip install tensorflow-cpu==2.21.0 keras==3.15.1 tf2onnx==1.17.0 \
    onnx==1.23.2 numpy==2.4.6 protobuf==7.36.2
Run: python tensorflow_tf2onnx.py
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import record
import tensorflow as tf
import tf2onnx

NAME = "aspp_tensorflow"


class Aspp(tf.Module):
    """DeepLab's atrous pyramid: a strided stem, four rates, a projection."""

    def __init__(self):
        super().__init__()
        self.rng = np.random.default_rng(7)
        self.stem = self.convolution("stem", 3, 3, 8)
        self.branches = [self.convolution(f"rate_{rate}", 3, 8, 6) for rate in (2, 3, 5)]
        self.even = self.convolution("even", 4, 8, 6)
        self.head = self.convolution("head", 1, 24, 4)

    def convolution(self, name, kernel, channels, filters):
        shape = (kernel, kernel, channels, filters)
        weight = record.draw(self.rng, "kernel", shape, kernel * kernel * channels)
        bias = record.draw(self.rng, "bias", (filters,), 0)
        return tf.Variable(weight, name=name), tf.Variable(bias, name=f"{name}_bias")

    def conv(self, x, variables, stride=1, rate=1):
        weight, bias = variables
        y = tf.nn.conv2d(x, weight, strides=stride, padding="SAME", dilations=rate)
        return tf.nn.relu(tf.nn.bias_add(y, bias))

    def __call__(self, x):
        x = self.conv(x, self.stem, stride=2)
        parts = [self.conv(x, w, rate=r) for w, r in zip(self.branches, (2, 3, 5), strict=True)]
        parts.append(self.conv(x, self.even, rate=(1, 3)))
        return self.conv(tf.concat(parts, axis=-1), self.head)


if __name__ == "__main__":
    network = Aspp()
    signature = [tf.TensorSpec((1, None, None, 3), tf.float32, name="image")]
    tf2onnx.convert.from_function(
        tf.function(network), signature, opset=13, output_path=str(record.path(NAME))
    )
    data = np.random.default_rng(8).normal(0, 1, (1, 27, 34, 3)).astype(np.float32)
    record.save(NAME, {"image": data, record.outputs(NAME)[0]: network(data).numpy()})
