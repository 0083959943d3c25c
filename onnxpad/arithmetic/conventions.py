"""How each framework pads one axis, each with its source.

Every function returns the pads as the framework states them, and the output size that follows.
Where that size is below 1, no framework runs the operator.

These have no function of their own:

- cuDNN takes one padding for both sides and rounds down, pools included (`torch_conv`), so it has
  no SAME with an odd total. The usual way out, `half_kernel`, reads earlier than TensorFlow
  wherever SAME's total is below twice half the kernel. Source: cuDNN API reference,
  `cudnnGetConvolutionNdForwardOutputDim` and `cudnnGetPoolingNdForwardOutputDim`.
- Metal Performance Shaders centres the windows on the image, with `SizeSame` and
  `AddRemainderToTopLeft` by default. Where SAME pads at all, that is `coreml_same` with
  `top_left_heavy`. Where the extent is below the stride, the first window starts inside the image,
  which no `pads` of an ONNX operator express. Its pools do not round up as Caffe's do. Source:
  Apple, `MPSNNPaddingMethod`.
"""

from dataclasses import dataclass

from onnxpad.arithmetic.size import Extent, ceil_div
from onnxpad.arithmetic.window import (
    Window,
    output_size,
    pool_output_size,
    same_output_size,
    same_pads,
    transposed_output_size,
    transposed_same_pads,
)
from onnxpad.errors import UsageError


@dataclass(frozen=True, slots=True)
class AxisPadding:
    """The padding of a framework on one axis.

    Attributes:
        begin: Elements before the first real one; cropped from the output if transposed.
        end: Elements after the last real one; cropped from the output if transposed. The windows
            need not reach all of them: see `window.end_read`.
        output: Size of the output.
        output_padding: Zeros appended to the output; transposed only.
    """

    begin: Extent
    end: Extent
    output: Extent
    output_padding: int = 0


def tensorflow_same(size: Extent, window: Window) -> AxisPadding:
    """TensorFlow and Keras `same`: ceil(size / stride) outputs, the odd element at the end.

    Source: `GetWindowedOutputSizeVerbose`, tensorflow/core/framework/kernel_shape_util.cc.
    """
    begin, end = same_pads(size, window, odd="end")
    return AxisPadding(begin, end, same_output_size(size, window))


def tensorflow_valid(size: Extent, window: Window) -> AxisPadding:
    """TensorFlow and Keras `valid`: no padding.

    Source: `GetWindowedOutputSizeVerbose`, tensorflow/core/framework/kernel_shape_util.cc.
    """
    return AxisPadding(0, 0, output_size(size, window, 0, 0))


def keras_causal(size: Extent, window: Window) -> AxisPadding:
    """Keras Conv1D `causal`: everything at the begin, so that no output reads a later input.

    Source: `_compute_causal_padding`, keras/src/layers/convolutional/conv1d.py.
    """
    begin = window.extent - 1
    return AxisPadding(begin, 0, output_size(size, window, begin, 0))


def keras_transposed_same(size: Extent, window: Window) -> AxisPadding:
    """TensorFlow conv2d_transpose and Keras Conv*Transpose `same`: size * stride outputs.

    Where the extent is below the stride the missing zeros are at the end.

    Source: `compute_conv_transpose_output_shape`, keras/src/backend/common/backend_utils.py, and
    the gradient of `tensorflow_same` for the pads.
    """
    begin, end = transposed_same_pads(window, odd="end")
    return _transposed(size, window, begin, end, max(window.stride - window.extent, 0))


def keras_transposed_valid(size: Extent, window: Window) -> AxisPadding:
    """Keras Conv*Transpose `valid`: size * stride + max(extent - stride, 0) outputs.

    Source: `compute_conv_transpose_output_shape`, keras/src/backend/common/backend_utils.py.
    """
    return _transposed(size, window, 0, 0, max(window.stride - window.extent, 0))


def torch_conv(size: Extent, window: Window, padding: int) -> AxisPadding:
    """PyTorch Conv*d with an integer `padding`, on both sides; Caffe's convolution is the same.

    Source: torch.nn.Conv1d, "Shape"; Caffe, src/caffe/layers/conv_layer.cpp.
    """
    return AxisPadding(padding, padding, output_size(size, window, padding, padding))


def torch_same(size: Extent, window: Window) -> AxisPadding:
    """PyTorch Conv*d with `padding="same"`: stride 1 only, the odd element at the end.

    Source: `_pooling_same_mode_padding_lr`, aten/src/ATen/native/Pool.h; torch/nn/modules/conv.py.

    Raises:
        UsageError: A stride other than 1, which PyTorch refuses.
    """
    if window.stride != 1:
        raise UsageError(
            f"PyTorch's padding='same' admits stride 1 only, not {window.stride}; "
            "give the pads as numbers, or compare with TensorFlow's same"
        )
    return tensorflow_same(size, window)


def torch_pool(
    size: Extent, window: Window, padding: int = 0, *, ceil_mode: bool = False
) -> AxisPadding:
    """PyTorch MaxPool*d and AvgPool*d.

    Rounds down where onnxruntime truncates: a window longer than the padded line has no output.
    With `ceil_mode` a last window that would start in the end padding is dropped.

    Source: `pooling_output_shape_pad_lr`, aten/src/ATen/native/Pool.h.

    Raises:
        UsageError: Padding above half the extent, which PyTorch refuses (2.13 already above half
            the undilated kernel).
    """
    if padding > window.extent // 2:
        raise UsageError(
            f"PyTorch's pools pad at most half the window: {window.extent // 2} for an extent of "
            f"{window.extent}, not {padding}; pad in an operator of its own"
        )
    if ceil_mode:
        output = pool_output_size(size, window, padding, padding, ceil_mode=True)
    else:
        output = output_size(size, window, padding, padding)
    return AxisPadding(padding, padding, output)


def torch_transposed(
    size: Extent, window: Window, padding: int = 0, output_padding: int = 0
) -> AxisPadding:
    """PyTorch ConvTranspose*d: `padding` crops both sides, `output_padding` appends at the end.

    Source: torch.nn.ConvTranspose1d, "Shape".

    Raises:
        UsageError: An output_padding that PyTorch refuses.
    """
    if output_padding >= max(window.stride, window.dilation):
        raise UsageError(
            f"PyTorch's output_padding is below the stride {window.stride} or the dilation "
            f"{window.dilation}, not {output_padding}; give one that is"
        )
    return _transposed(size, window, padding, padding, output_padding)


def caffe_pool(size: Extent, window: Window, pad: int, *, padded: bool) -> AxisPadding:
    """Caffe's pooling, which rounds up; CoreML's `includeLastPixel` is the same.

    A last window that starts in the end padding is dropped, but only in a layer that pads at all:
    `padded` says whether any of its axes does.

    Source: `PoolingLayer::LayerSetUp`, src/caffe/layers/pooling_layer.cpp; CoreML,
    `PoolingLayerParams`, mlmodel/format/NeuralNetwork.proto.
    """
    if padded:
        return AxisPadding(pad, pad, pool_output_size(size, window, pad, pad, ceil_mode=True))
    return AxisPadding(0, 0, ceil_div(size - window.extent, window.stride) + 1)


def coreml_same(size: Extent, window: Window, *, top_left_heavy: bool = False) -> AxisPadding:
    """CoreML's same padding: TensorFlow's, or with the odd element at the begin.

    Source: `SamePadding.asymmetryMode`, mlmodel/format/NeuralNetwork.proto.
    """
    begin, end = same_pads(size, window, odd="begin" if top_left_heavy else "end")
    return AxisPadding(begin, end, same_output_size(size, window))


def half_kernel(size: Extent, window: Window) -> AxisPadding:
    """Half the kernel on both sides: `padding=k//2`, the usual imitation of SAME.

    With dilation, half the extent. An odd extent gives SAME's output size. An even one gives one
    more where the stride divides the size.

    Source: Darknet, `parse_convolutional` (`pad=1`), src/parser.c; common in PyTorch.
    """
    return torch_conv(size, window, window.extent // 2)


def _transposed(
    size: Extent, window: Window, begin: int, end: int, output_padding: int
) -> AxisPadding:
    """A transposed window's padding with the output size that follows from it."""
    output = transposed_output_size(size, window, begin, end, output_padding)
    return AxisPadding(begin, end, output, output_padding)
