"""A network with a while loop of TensorFlow's, exported by tf2onnx: padding in its body.

There is no tf.cond here: tf2onnx folds a pad into a convolution in its branch, and then converts
that convolution no further, which leaves a graph that does not run.

Environment: that of tensorflow_tf2onnx.py.
Run: python tensorflow_control_flow.py
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import record
import tensorflow as tf
import tf2onnx

NAME = "loop_tensorflow"


class Refine(tf.Module):
    """A stem, steps of refinement in a while loop, and a head."""

    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(12)
        shapes = {
            "stem": (3, 3, 3, 6),
            "step": (3, 3, 6, 6),
            "depthwise": (3, 3, 6, 1),
            "head": (2, 2, 6, 4),
        }
        for name, shape in shapes.items():
            fan_in = shape[0] * shape[1] * (1 if name == "depthwise" else shape[2])
            setattr(self, name, tf.Variable(record.draw(rng, name, shape, fan_in), name=name))

    @staticmethod
    def padded(x, begin, end):
        return tf.pad(x, [[0, 0], [begin, end], [begin, end], [0, 0]])

    def __call__(self, x, steps):
        x = tf.nn.relu(tf.nn.conv2d(self.padded(x, 1, 1), self.stem, 2, "VALID"))

        def step(i, x):
            y = tf.nn.conv2d(self.padded(x, 1, 1), self.step, 1, "VALID")
            y = tf.nn.depthwise_conv2d(self.padded(y, 2, 0), self.depthwise, [1] * 4, "VALID")
            y = tf.nn.max_pool2d(self.padded(tf.nn.relu(y), 0, 2), 3, 1, "VALID")
            return i + 1, x + 0.3 * tf.tanh(y)

        _, x = tf.while_loop(lambda i, x: i < steps, step, [tf.constant(0), x])
        return tf.nn.conv2d(self.padded(x, 0, 1), self.head, 1, "VALID")


if __name__ == "__main__":
    signature = [
        tf.TensorSpec((1, None, None, 3), tf.float32, name="image"),
        tf.TensorSpec((), tf.int32, name="steps"),
    ]
    network = Refine()
    tf2onnx.convert.from_function(
        tf.function(network), signature, opset=17, output_path=str(record.path(NAME))
    )
    image = np.random.default_rng(9).normal(0, 1, (1, 29, 36, 3)).astype(np.float32)
    arrays = {"image": image, "steps": np.int32(3)}
    output = network(*map(tf.constant, arrays.values())).numpy()
    record.save(NAME, {**arrays, record.outputs(NAME)[0]: output})
