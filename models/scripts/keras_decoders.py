"""Keras decoders with transposed convolutions, exported by tf2onnx and by Keras itself.

Keras on TensorFlow exports through tf2onnx. On PyTorch it computes a transposed convolution without
padding and crops it, or pads it, and torch's exporter writes that.

Environment: that of keras_tf2onnx.py; for the names that end in `_torch` that of torch_networks.py
    and keras==3.15.1.
Run, once for each name: PYTHONHASHSEED=0 python keras_decoders.py name
"""

import os
import sys

NAME = sys.argv[1]
ON_TORCH = NAME.endswith("_torch")
os.environ["KERAS_BACKEND"] = "torch" if ON_TORCH else "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import keras  # noqa: E402
import numpy as np  # noqa: E402
import record  # noqa: E402
from keras import layers  # noqa: E402


def decoder(shape):
    """An image from few features, by SAME and VALID, odd and even kernels, and UpSampling2D."""
    inputs = keras.Input(shape, batch_size=1, name="input")
    up = layers.Conv2DTranspose
    x = up(8, 3, strides=2, padding="same", activation="relu", name="same_3_2")(inputs)
    x = up(6, 4, strides=2, padding="same", use_bias=False, name="same_4_2")(x)
    x = layers.BatchNormalization(name="bn")(x)
    x = layers.LeakyReLU(name="leaky")(x)
    x = up(6, (5, 2), strides=(3, 2), padding="valid", activation="relu", name="valid_5_3")(x)
    x = layers.UpSampling2D((2, 1), name="upsampling")(x)
    x = layers.Conv2D(6, 3, padding="same", activation="relu", name="smooth")(x)
    x = up(3, (3, 4), padding="same", activation="tanh", name="same_3_1")(x)
    return keras.Model(inputs, x)


def decoder_static():
    """Features of one size, odd and even."""
    return decoder((3, 4, 5))


def decoder_open():
    """Features of any size."""
    return decoder((None, None, 5))


def gaps(shape):
    """Kernels shorter than their strides: Keras fills the gaps and the end with the bias."""
    inputs = keras.Input(shape, batch_size=1, name="input")
    up = layers.Conv2DTranspose
    x = up(6, 2, strides=3, padding="same", name="same_2_3")(inputs)
    x = layers.Conv2D(6, 3, strides=2, padding="same", activation="relu", name="mix")(x)
    x = up(4, (1, 3), strides=(2, 4), padding="valid", name="valid_1_2")(x)
    return keras.Model(inputs, x)


def gaps_static():
    """Features of one size."""
    return gaps((5, 4, 4))


def gaps_open():
    """Features of any size, where tf2onnx fills the end with 0, since it adds the bias before."""
    return gaps((None, None, 4))


def series():
    """Series of any length: Conv1DTranspose, channels last, which tf2onnx exports as 2-D."""
    inputs = keras.Input((None, 4), batch_size=1, name="input")
    up = layers.Conv1DTranspose
    x = up(6, 7, strides=3, padding="same", activation="relu", name="same_7_3")(inputs)
    x = up(6, 4, strides=2, padding="valid", activation="relu", name="valid_4_2")(x)
    x = layers.Cropping1D((1, 2), name="crop")(x)
    x = up(3, 3, strides=2, padding="same", output_padding=1, name="with_output_padding")(x)
    return keras.Model(inputs, x)


def seed(model, number):
    """Replace every variable by seeded values, BatchNorm statistics included."""
    rng = np.random.default_rng(number)
    for variable in model.variables:
        shape = tuple(variable.shape)
        transposed = "same_" in variable.path or "valid_" in variable.path
        # A transposed kernel is (window, outputs, inputs); about two taps an axis meet.
        fan_in = shape[-1] * 4 if transposed else int(np.prod(shape[:-1]))
        variable.assign(record.draw(rng, variable.path, shape, fan_in))


def export(name, model, shape, opset):
    """Convert as users do and record what Keras computes."""
    seed(model, sum(name.encode()))
    data = np.random.default_rng(shape).normal(0, 1, shape).astype(np.float32)
    result = keras.ops.convert_to_numpy(model(data, training=False))
    path = str(record.path(name))
    if ON_TORCH:
        model.export(path, format="onnx", opset_version=opset, verbose=False)
    else:
        import tensorflow as tf
        import tf2onnx

        signature = (tf.TensorSpec(model.inputs[0].shape, tf.float32, name="input"),)
        tf2onnx.convert.from_keras(model, input_signature=signature, opset=opset, output_path=path)
    record.save(name, {"input": data, record.outputs(name)[0]: result})


# name: network, input shape, opset
MODELS = {
    "decoder_keras": (decoder_static, (1, 3, 4, 5), 17),
    "decoder_keras_open": (decoder_open, (1, 3, 4, 5), 18),
    "decoder_keras_torch": (decoder_open, (1, 3, 4, 5), 18),
    "gaps_keras_open": (gaps_open, (1, 5, 4, 4), 17),
    "gaps_keras_torch": (gaps_static, (1, 5, 4, 4), 18),
    "series_keras": (series, (1, 11, 4), 17),
    "series_keras_torch": (series, (1, 11, 4), 20),
}

if __name__ == "__main__":
    build, shape, opset = MODELS[NAME]
    export(NAME, build(), shape, opset)
