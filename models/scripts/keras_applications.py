"""keras.applications' own builders and a causal WaveNet, cut in width and exported by tf2onnx.

Environment: that of keras_tf2onnx.py.
Run: python keras_applications.py [name ...]
"""

import keras
import record
from keras import layers
from keras.src.applications import mobilenet, nasnet, resnet
from keras_tf2onnx import export, noise
from tf2onnx.optimizer import _get_optimizers

WITHOUT_TRANSPOSES = {k: v for k, v in _get_optimizers().items() if k != "optimize_transpose"}


def resnet_keras():
    """ResNet's stem, whose pool follows a ReLU, and bottlenecks, on any size and batch."""

    def stack(x):
        x = resnet.stack_residual_blocks_v1(x, 4, 2, stride1=1, name="conv2")
        return resnet.stack_residual_blocks_v1(x, 6, 1, name="conv3")

    return resnet.ResNet(
        stack, False, True, include_top=False, weights=None, input_shape=(None, None, 3)
    )


def resnetv2_keras():
    """ResNetV2: its first pool follows no ReLU, its blocks pad before strided convolutions."""

    def stack(x):
        x = resnet.stack_residual_blocks_v2(x, 4, 2, name="conv2")
        return resnet.stack_residual_blocks_v2(x, 6, 2, stride1=1, name="conv3")

    return resnet.ResNet(
        stack, True, True, include_top=False, weights=None, input_shape=(None, None, 3)
    )


def mobilenet_v1_keras():
    """MobileNet: four strided depthwise convolutions, each behind a ZeroPadding2D."""
    return mobilenet.MobileNet(
        input_shape=(None, None, 3), alpha=0.1, include_top=False, weights=None
    )


def nasnet_keras():
    """NASNet: correct_pad before strided separable windows, crops in adjust blocks."""
    return nasnet.NASNet(
        input_shape=(96, 117, 3),
        penultimate_filters=192,
        num_blocks=1,
        stem_block_filters=8,
        skip_reduction=False,
        include_top=False,
        weights=None,
        default_size=96,
    )


def causal_keras():
    """WaveNet: causal, dilated, gated; every pair of gates pads alike; any length and batch."""
    inputs = keras.Input((None, 1), name="input")
    x = layers.Conv1D(8, 2, padding="causal", name="stem")(inputs)
    skips = []
    for rate in (1, 2, 4, 8):
        gates = [
            layers.Conv1D(
                8, 2, padding="causal", dilation_rate=rate, activation=gate, name=f"{gate}_{rate}"
            )(x)
            for gate in ("tanh", "sigmoid")
        ]
        y = layers.Multiply(name=f"gate_{rate}")(gates)
        skips.append(layers.Conv1D(8, 1, name=f"skip_{rate}")(y))
        x = layers.Add(name=f"residual_{rate}")([x, skips[-1]])
    x = layers.ReLU(name="relu")(layers.Add(name="skips")(skips))
    x = layers.Conv1D(8, 3, strides=2, padding="causal", activation="relu", name="halved")(x)
    return keras.Model(inputs, layers.Conv1D(4, 1, name="head")(x), name="causal_keras")


# name: network, input shape, opset, options of tf2onnx
MODELS = {
    "resnet_keras": (resnet_keras, (2, 47, 60, 3), 18, {}),
    "resnet_keras_nhwc": (resnet_keras, (2, 47, 60, 3), 13, {"optimizers": WITHOUT_TRANSPOSES}),
    "resnetv2_keras": (resnetv2_keras, (2, 47, 60, 3), 18, {}),
    "mobilenet_v1_keras": (mobilenet_v1_keras, (1, 64, 83, 3), 18, {}),
    "mobilenet_v1_keras_nhwc": (
        mobilenet_v1_keras,
        (1, 64, 83, 3),
        18,
        {"optimizers": WITHOUT_TRANSPOSES},
    ),
    "nasnet_keras": (nasnet_keras, (1, 96, 117, 3), 17, {}),
    "causal_keras": (causal_keras, (2, 33, 1), 17, {}),
}

if __name__ == "__main__":
    for name in record.asked(__file__, MODELS):
        build, shape, opset, options = MODELS[name]
        export(name, build(), noise(*shape), opset, **options)
