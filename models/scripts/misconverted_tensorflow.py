"""What TensorFlow computes, where `misconverted_torch.py` pads otherwise.

Environment: that of keras_tf2onnx.py. Run after misconverted_torch.py.
Run: python misconverted_tensorflow.py [name ...]
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import keras
import misconverted
import numpy as np
import tensorflow as tf
from keras import layers


def kernel(weights, name, depthwise=False):
    """A layer's variables in Keras's order: windows first, a depthwise kernel's channels third."""
    weight = np.moveaxis(weights[f"{name}.weight"], (0, 1), (-2, -1) if depthwise else (-1, -2))
    return [weight] + [weights[key] for key in (f"{name}.bias",) if key in weights]


def strided_conv2d(x, weights):
    conv = layers.Conv2D(8, 3, strides=2, padding="same")
    conv.build(x.shape)
    conv.set_weights(kernel(weights, "conv"))
    return conv(x)


def begin_conv1d(x, weights):
    return tf.nn.conv1d(x, kernel(weights, "conv")[0], stride=2, padding="SAME")


def depthwise_norm(x, weights):
    """A layer norm over height, width and channels, with one scale a channel."""
    inputs = keras.Input(batch_shape=x.shape)
    y = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu6", name="stem")(inputs)
    y = layers.DepthwiseConv2D(3, strides=2, padding="same", name="first")(y)
    shape = y.shape[1:]
    y = layers.LayerNormalization(axis=(1, 2, 3), epsilon=1e-3, name="norm")(y)
    y = layers.Conv2D(12, 1, activation="relu", name="expand")(layers.ReLU()(y))
    for name, window, stride in (("second", 5, 2), ("even", 4, 1)):
        y = layers.DepthwiseConv2D(
            window, strides=stride, padding="same", activation="relu", name=name
        )(y)
    y = layers.Dense(10, name="logits")(layers.GlobalAveragePooling2D()(y))
    model = keras.Model(inputs, y)
    for layer in model.layers:
        if layer.name == "norm":
            both = [weights["norm.weight"], weights["norm.bias"]]
            layer.set_weights([np.broadcast_to(each, shape) for each in both])
        elif layer.weights:
            layer.set_weights(
                kernel(weights, layer.name, "depthwise" in type(layer).__name__.lower())
            )
    return model(x)


def series_conv1d(x, weights):
    for name, filters, stride in (("first", 8, 2), ("second", 10, 2), ("head", 4, 1)):
        activation = None if name == "head" else "relu"
        conv = layers.Conv1D(filters, 5, strides=stride, padding="same", activation=activation)
        conv.build(x.shape)
        conv.set_weights(kernel(weights, name))
        x = conv(x)
    return x


def deconv1d(x, weights):
    """VALID, a pad of 4 at the end, and a slice of 9 on both sides: 249 elements become 1481."""
    weight = np.transpose(weights["deconv.weight"], (2, 1, 0))
    y = tf.nn.conv1d_transpose(x, weight, (1, 1495, 3), 6, padding="VALID")
    y = tf.nn.bias_add(y, weights["deconv.bias"])
    return tf.pad(y, ((0, 0), (0, 4), (0, 0)))[:, 9:-9]


MODELS = {
    "strided_conv2d": strided_conv2d,
    "begin_conv1d": begin_conv1d,
    "depthwise_norm": depthwise_norm,
    "series_conv1d": series_conv1d,
    "deconv1d_even": deconv1d,
    "deconv1d_shifted": deconv1d,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or MODELS:
        compute = MODELS[name]
        misconverted.save(
            name, np.asarray(compute(misconverted.data(name), misconverted.weights(name)))
        )
