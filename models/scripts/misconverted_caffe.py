"""What Caffe's pools compute, where `misconverted_torch.py` rounds down.

OpenCV reads Caffe's own files, and rounds up as Caffe does. They are written here byte by byte,
since no package has Caffe's messages: caffe.proto, NetParameter, LayerParameter, BlobProto.

Environment: Python 3.11, pip install opencv-python-headless==4.10.0.84 onnx==1.23.2
Run after misconverted_torch.py: python misconverted_caffe.py
"""

import cv2
import misconverted
import numpy as np

NETWORK = """
input: "image" input_shape { dim: 1 dim: 2 dim: 12 dim: 14 }
layer { name: "conv1" type: "Convolution" bottom: "image" top: "conv1"
  convolution_param { num_output: 4 kernel_size: 3 pad: 1 } }
layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "relu1" }
layer { name: "pool1" type: "Pooling" bottom: "relu1" top: "pool1"
  pooling_param { pool: MAX kernel_size: 3 stride: 2 } }
layer { name: "conv2" type: "Convolution" bottom: "pool1" top: "conv2"
  convolution_param { num_output: 5 kernel_size: 3 pad: 1 } }
layer { name: "pool2" type: "Pooling" bottom: "conv2" top: "pool2"
  pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 } }
"""


def varint(number: int) -> bytes:
    """An integer in protobuf's base 128."""
    high = number >> 7
    return bytes([number & 127 | 128 * bool(high)]) + (varint(high) if high else b"")


def field(number: int, content: bytes) -> bytes:
    """A protobuf field of bytes."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def blob(array: np.ndarray) -> bytes:
    """A BlobProto: its shape and its data."""
    dims = b"".join(varint(size) for size in array.shape)
    return field(7, field(1, dims)) + field(5, array.astype("<f4").tobytes())


def layer(name: str, weights: dict[str, np.ndarray]) -> bytes:
    """A LayerParameter in a NetParameter: name, type and weights."""
    blobs = [field(7, blob(weights[f"{name}.{kind}"])) for kind in ("weight", "bias")]
    return field(100, field(1, name.encode()) + field(2, b"Convolution") + b"".join(blobs))


if __name__ == "__main__":
    weights = misconverted.weights("caffe_pools")
    layers = b"".join(layer(name, weights) for name in ("conv1", "conv2"))
    files = [np.frombuffer(each, np.uint8) for each in (NETWORK.encode(), layers)]
    network = cv2.dnn.readNetFromCaffe(*files)
    network.setInput(misconverted.data("caffe_pools"))
    misconverted.save("caffe_pools", network.forward())
