"""TensorFlow's own transposed convolutions, exported by tf2onnx: fixed, open and asked-for sizes.

Environment: that of keras_tf2onnx.py.
Run: python tensorflow_decoders.py [name ...]
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import record
import tensorflow as tf
import tf2onnx


class Network(tf.Module):
    """Seeded weights, made as they are asked for."""

    def __init__(self):
        super().__init__()
        self.rng = np.random.default_rng(11)

    def weight(self, *shape):
        """A transposed kernel: window, outputs, inputs; about two taps an axis meet."""
        return tf.Variable(record.draw(self.rng, "kernel", shape, shape[-1] * 2))

    def bias(self, channels):
        return tf.Variable(record.draw(self.rng, "bias", (channels,), 0))


class Deconv1d(Network):
    """PyTorch's ConvTranspose1d(kernel 7, stride 6, padding 9, output_padding 4).

    VALID, a pad of 4 at the end, and a slice of 9 on both sides: 249 elements become 1481.
    """

    def __init__(self):
        super().__init__()
        self.kernel, self.added = self.weight(7, 3, 4), self.bias(3)
        self.doubled = self.weight(4, 2, 3)

    def __call__(self, x):
        length = x.shape[1] or tf.shape(x)[1]
        y = tf.nn.conv1d_transpose(x, self.kernel, (1, length * 6 + 1, 3), 6, padding="VALID")
        y = tf.pad(tf.nn.bias_add(y, self.added), ((0, 0), (0, 4), (0, 0)))[:, 9:-9]
        y = tf.nn.leaky_relu(y, 0.1)
        length = y.shape[1] or tf.shape(y)[1]
        return tf.nn.conv1d_transpose(y, self.doubled, (1, length * 2, 2), 2, padding="SAME")


class Deconv2d(Network):
    """SAME with kernels shorter than their strides, and sizes that the caller asks for."""

    def __init__(self):
        super().__init__()
        self.short, self.long = self.weight(2, 1, 5, 4), self.weight(3, 4, 4, 5)
        self.added = self.bias(4)

    def __call__(self, x):
        height, width = (x.shape[axis] or tf.shape(x)[axis] for axis in (1, 2))
        y = tf.nn.conv2d_transpose(x, self.short, (1, height * 3, width * 2, 5), (3, 2), "SAME")
        y = tf.nn.conv2d_transpose(tf.nn.relu(y), self.long, (1, 29, 24, 4), 2, "SAME")
        return tf.nn.bias_add(y, self.added)


# name: network, declared shape, input shape
MODELS = {
    "deconv1d_tensorflow": (Deconv1d, (1, 249, 4), (1, 249, 4)),
    "deconv1d_open_tensorflow": (Deconv1d, (1, None, 4), (1, 37, 4)),
    "deconv2d_tensorflow": (Deconv2d, (1, None, None, 4), (1, 5, 6, 4)),
}

if __name__ == "__main__":
    for name in record.asked(__file__, MODELS):
        build, declared, shape = MODELS[name]
        network = build()
        signature = [tf.TensorSpec(declared, tf.float32, name="input")]
        path = str(record.path(name))
        tf2onnx.convert.from_function(tf.function(network), signature, opset=17, output_path=path)
        data = np.random.default_rng(shape).normal(0, 1, shape).astype(np.float32)
        record.save(name, {"input": data, record.outputs(name)[0]: network(data).numpy()})
