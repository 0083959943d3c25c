"""Keras networks exported by tf2onnx: static, dynamic, dilated, 1-D.

Environment: Python 3.11, pip install tensorflow-cpu==2.21.0 keras==3.15.1 tf2onnx==1.17.0 \
    onnx==1.23.2 numpy==2.4.6 protobuf==7.36.2
Run: python keras_tf2onnx.py [name ...]
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import keras
import numpy as np
import record
import tensorflow as tf
import tf2onnx
from keras import layers


def seed(model, number):
    """Replace every variable by seeded values, BatchNorm statistics included."""
    rng = np.random.default_rng(number)
    for variable in model.variables:
        if "seed" in variable.path:
            continue
        shape = tuple(variable.shape)
        depthwise = "depthwise" in variable.path or "conv_dw" in variable.path
        fan_in = int(np.prod(shape[:2] if depthwise and len(shape) == 4 else shape[:-1]))
        variable.assign(record.draw(rng, variable.path, shape, fan_in))


def export(name, model, data, opset, **options):
    """Convert as a user of tf2onnx does and record what Keras computes."""
    seed(model, sum(name.encode()))
    signature = (tf.TensorSpec(model.inputs[0].shape, tf.float32, name="input"),)
    tf2onnx.convert.from_keras(
        model,
        input_signature=signature,
        opset=opset,
        output_path=str(record.path(name)),
        **options,
    )
    results = model(data, training=False)
    results = results if isinstance(results, list) else [results]
    values = [np.asarray(value) for value in results]
    record.save(name, {"input": data, **dict(zip(record.outputs(name), values, strict=True))})


def noise(*shape):
    """Input data, the same on every run."""
    return np.random.default_rng(shape).normal(0, 1, shape).astype(np.float32)


def correct_pad(tensor, kernel):
    """keras.applications.imagenet_utils.correct_pad: the pads before a strided VALID window."""
    adjust = [1 - int(size) % 2 for size in tensor.shape[1:3]]
    return tuple((kernel // 2 - odd, kernel // 2) for odd in adjust)


def inverted_residual(x, filters, kernel, stride, number, squeeze=False):
    """The block of MobileNetV2 and EfficientNet, padded as keras.applications pads it."""
    shortcut, channels = x, x.shape[-1]
    prefix = f"block_{number}_"
    x = layers.Conv2D(channels * 3, 1, padding="same", use_bias=False, name=prefix + "expand")(x)
    x = layers.BatchNormalization(name=prefix + "expand_bn")(x)
    activation = "swish" if squeeze else "relu6"
    x = layers.Activation(activation, name=prefix + "expand_act")(x)
    if stride == 2:
        x = layers.ZeroPadding2D(correct_pad(x, kernel), name=prefix + "pad")(x)
    x = layers.DepthwiseConv2D(
        kernel,
        strides=stride,
        padding="same" if stride == 1 else "valid",
        use_bias=False,
        name=prefix + "depthwise",
    )(x)
    x = layers.BatchNormalization(name=prefix + "depthwise_bn")(x)
    x = layers.Activation(activation, name=prefix + "depthwise_act")(x)
    if squeeze:
        gate = layers.GlobalAveragePooling2D(keepdims=True, name=prefix + "squeeze")(x)
        gate = layers.Conv2D(4, 1, activation="swish", name=prefix + "reduce")(gate)
        gate = layers.Conv2D(x.shape[-1], 1, activation="sigmoid", name=prefix + "excite")(gate)
        x = layers.Multiply(name=prefix + "scale")([x, gate])
    x = layers.Conv2D(filters, 1, padding="same", use_bias=False, name=prefix + "project")(x)
    x = layers.BatchNormalization(name=prefix + "project_bn")(x)
    if stride == 1 and channels == filters:
        x = layers.Add(name=prefix + "add")([shortcut, x])
    return x


def mobilenet_keras():
    """Strided SAME convolutions and pools, depthwise, ZeroPadding2D before strided windows."""
    inputs = keras.Input((56, 79, 3), batch_size=1, name="input")
    x = layers.ZeroPadding2D(correct_pad(inputs, 3), name="stem_pad")(inputs)
    x = layers.Conv2D(8, 3, strides=2, padding="valid", use_bias=False, name="stem")(x)
    x = layers.BatchNormalization(name="stem_bn")(x)
    x = layers.Activation("swish", name="stem_act")(x)
    x = inverted_residual(x, 8, 3, 1, 1)
    x = inverted_residual(x, 12, 5, 2, 2, squeeze=True)
    x = inverted_residual(x, 12, 5, 1, 3, squeeze=True)
    shortcut = layers.Conv2D(16, 1, strides=2, padding="same", name="xception_shortcut")(x)
    x = layers.SeparableConv2D(16, 3, padding="same", name="xception_separable")(x)
    x = layers.MaxPooling2D(3, strides=2, padding="same", name="xception_pool")(x)
    x = layers.Add(name="xception_add")([x, shortcut])
    x = layers.Conv2D(16, 3, strides=2, padding="same", name="same_strided")(x)
    x = layers.BatchNormalization(name="same_strided_bn")(x)
    x = layers.ReLU(name="same_strided_relu")(x)
    x = layers.DepthwiseConv2D(4, padding="same", name="same_even")(x)
    features = layers.AveragePooling2D(2, strides=1, padding="same", name="same_average")(x)
    x = layers.GlobalAveragePooling2D(name="pool")(features)
    logits = layers.Dense(10, name="logits")(x)
    return keras.Model(inputs, [logits, features], name="mobilenet_keras")


def aspp_keras():
    """DeepLab's atrous pyramid on a size the graph leaves open."""
    inputs = keras.Input((None, None, 3), name="input")
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu", name="stem")(inputs)
    branches = [layers.Conv2D(6, 1, padding="same", activation="relu", name="aspp_0")(x)]
    for rate in (2, 3):
        branch = layers.Conv2D(6, 3, padding="same", dilation_rate=rate, name=f"aspp_{rate}")(x)
        branch = layers.BatchNormalization(name=f"aspp_{rate}_bn")(branch)
        branches.append(layers.ReLU(name=f"aspp_{rate}_relu")(branch))
    x = layers.Concatenate(name="concat")(branches)
    x = layers.Conv2D(4, 3, padding="same", name="head")(x)
    return keras.Model(inputs, x, name="aspp_keras")


def wavenet_keras():
    """Dilated 1-D convolutions, SAME and causal, gated and added up as in WaveNet."""
    inputs = keras.Input((None, 4), name="input")
    x = layers.Conv1D(8, 3, padding="same", name="stem")(inputs)
    skips = []
    for rate in (1, 2, 4):
        padding = "causal" if rate == 2 else "same"
        both = [
            layers.Conv1D(
                8, 3, padding=padding, dilation_rate=rate, activation=gate, name=f"{gate}_{rate}"
            )(x)
            for gate in ("tanh", "sigmoid")
        ]
        y = layers.Multiply(name=f"gate_{rate}")(both)
        skips.append(layers.Conv1D(8, 1, name=f"skip_{rate}")(y))
        x = layers.Add(name=f"residual_{rate}")([x, skips[-1]])
    x = layers.Add(name="skips")(skips)
    x = layers.Conv1D(4, 1, name="head")(layers.ReLU(name="relu")(x))
    return keras.Model(inputs, x, name="wavenet_keras")


def conv1d_keras():
    """Channels-last Conv1D, kernel 5, SAME with stride 2, for series of one length."""
    inputs = keras.Input((38, 6), name="input")
    x = layers.Conv1D(12, 5, strides=2, padding="same", activation="relu", name="conv_1")(inputs)
    x = layers.BatchNormalization(name="bn_1")(x)
    x = layers.Conv1D(16, 5, strides=2, padding="same", activation="relu", name="conv_2")(x)
    x = layers.Conv1D(16, 3, padding="same", dilation_rate=2, name="conv_dilated")(x)
    x = layers.MaxPooling1D(3, strides=2, padding="same", name="pool")(x)
    x = layers.ZeroPadding1D((2, 1), name="pad")(x)
    x = layers.Conv1D(8, 4, name="conv_3")(x)
    return keras.Model(inputs, x, name="conv1d_keras")


def dynamic_keras():
    """Strided SAME windows of every kind on a size the graph leaves open."""
    inputs = keras.Input((None, None, 3), name="input")
    x = layers.Conv2D(8, 3, strides=2, padding="same", name="conv_strided")(inputs)
    x = layers.BatchNormalization(name="bn")(x)
    x = layers.ReLU(name="relu")(x)
    x = layers.DepthwiseConv2D(3, padding="same", dilation_rate=2, name="atrous_depthwise")(x)
    x = layers.DepthwiseConv2D(5, strides=2, padding="same", name="depthwise_strided")(x)
    skip = layers.MaxPooling2D(3, strides=1, padding="same", name="max_pool")(x)
    x = layers.AveragePooling2D(3, strides=2, padding="same", name="average_pool")(skip)
    x = layers.ZeroPadding2D(((1, 0), (2, 1)), name="pad")(x)
    x = layers.Conv2D(8, 2, padding="valid", activation="relu", name="conv_valid")(x)
    x = layers.Conv2DTranspose(6, 3, strides=2, padding="same", name="deconv")(x)
    return keras.Model(inputs, x, name="dynamic_keras")


def unet_keras():
    """A U-Net that halves by strided convolutions and pools, on a size the graph leaves open."""
    inputs = keras.Input((None, None, 3), name="input")
    first = layers.Conv2D(6, 3, padding="same", activation="relu", name="first")(inputs)
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu", name="halved")(first)
    second = layers.SeparableConv2D(8, 5, padding="same", name="second")(x)
    x = layers.MaxPooling2D(3, strides=2, padding="same", name="quartered")(second)
    x = layers.Conv2D(10, 3, padding="same", activation="relu", name="bottom")(x)
    x = layers.Conv2DTranspose(8, 3, strides=2, padding="same", name="doubled")(x)
    x = layers.Concatenate(name="join_second")([x, second])
    x = layers.Conv2D(8, 4, padding="same", activation="relu", name="merged")(x)
    x = layers.Conv2DTranspose(6, 2, strides=2, padding="same", name="quadrupled")(x)
    x = layers.Concatenate(name="join_first")([x, first])
    x = layers.Conv2D(4, 3, padding="same", name="head")(x)
    return keras.Model(inputs, x, name="unet_keras")


def fpn_keras():
    """A feature pyramid, joined: it runs only where halves of halves, doubled, are halves again."""
    inputs = keras.Input((None, None, 3), name="input")
    x = layers.Conv2D(6, 3, strides=2, padding="same", activation="relu", name="c1")(inputs)
    second = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu", name="c2")(x)
    third = layers.Conv2D(8, 5, strides=2, padding="same", activation="relu", name="c3")(second)
    second = layers.Conv2D(6, 1, name="lateral_2")(second)
    third = layers.Conv2D(6, 1, name="lateral_3")(third)
    second = layers.Concatenate(name="join_2")([second, layers.UpSampling2D(name="up_3")(third)])
    x = layers.Concatenate(name="join_1")([x, layers.UpSampling2D(name="up_2")(second)])
    x = layers.Conv2D(4, 3, padding="same", name="head")(x)
    return keras.Model(inputs, x, name="fpn_keras")


# name: network, input shape, opset
MODELS = {
    "mobilenet_keras": (mobilenet_keras, (1, 56, 79, 3), 15),
    "aspp_keras": (aspp_keras, (1, 21, 30, 3), 13),
    "wavenet_keras": (wavenet_keras, (1, 24, 4), 17),
    "conv1d_keras": (conv1d_keras, (2, 38, 6), 17),
    "dynamic_keras": (dynamic_keras, (1, 39, 52, 3), 18),
    "unet_keras": (unet_keras, (1, 28, 36, 3), 17),
    "fpn_keras": (fpn_keras, (1, 31, 40, 3), 17),
}

if __name__ == "__main__":
    for name in record.asked(__file__, MODELS):
        build, shape, opset = MODELS[name]
        export(name, build(), noise(*shape), opset)
