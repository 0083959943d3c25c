"""How each framework pads one axis, each with its source.

Every function returns the pads as the framework states them, and the output size that follows.
Where that size is below 1, no framework runs the operator.

Metal Performance Shaders has no function of its own. It centres the windows on the image, with
`SizeSame` and `AddRemainderToTopLeft` by default. Where SAME pads at all, that is `coreml_same`
with `top_left_heavy`. Where the extent is below the stride, the first window starts inside the
image, which no `pads` of an ONNX operator express. Its pools do not round up as Caffe's do.
Source: Apple, `MPSNNPaddingMethod`.
"""

from collections.abc import Mapping
from dataclasses import replace

from onnxpad.arithmetic.size import (
    Extent,
    always,
    ceil_div,
    equal,
    floor_div,
    less,
    less_equal,
    maximum,
    trunc_div,
)
from onnxpad.arithmetic.window import (
    Side,
    Window,
    output_size,
    pool_output_size,
    same_output_size,
    same_pads,
    transposed_output_size,
    transposed_same_pads,
)
from onnxpad.errors import UsageError
from onnxpad.records import dataclass


@dataclass(frozen=True, slots=True)
class AxisPadding:
    """The padding of a framework on one axis.

    Attributes:
        begin: Elements before the first real one; cropped from the output if transposed.
        end: Elements after the last real one; cropped from the output if transposed. The windows
            need not reach all of them: see `window.end_read`.
        output: Size of the output.
        output_padding: Zeros appended to the output; transposed only.
        undilated: Whether the window slides with dilation 1, whatever dilation was asked for.
    """

    begin: Extent
    end: Extent
    output: Extent
    output_padding: Extent = 0
    undilated: bool = False


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


def keras_pool_same(size: Extent, window: Window) -> AxisPadding:
    """Keras MaxPooling* and AveragePooling* `same`: TensorFlow's, never dilated.

    An average counts no padding, in TensorFlow too.

    Source: keras/src/layers/pooling/base_pooling.py; `tensorflow_same`.

    Raises:
        UsageError: A dilation, which Keras's pools do not have.
    """
    _refuse_dilation("Keras", window)
    return tensorflow_same(size, window)


def tensorflow_transposed_same(size: Extent, window: Window, output: Extent) -> AxisPadding:
    """TensorFlow conv2d_transpose `SAME` with this `output_shape`.

    It is the gradient of `tensorflow_same` on an input of size `output`, so it crops what that
    pads. Where the full output is shorter, the missing zeros are at the end.

    Source: `Conv2DBackpropInput`, tensorflow/core/kernels/conv_grad_shape_utils.cc.

    Raises:
        UsageError: A size that SAME does not reduce to `size`, which TensorFlow refuses.
    """
    if always(equal(same_output_size(output, window), size)) is False:
        raise UsageError(
            f"TensorFlow's SAME with stride {window.stride} does not reduce an output of {output} "
            f"to {size}; give one above {(size - 1) * window.stride} and at most "
            f"{size * window.stride}"
        )
    begin, end = same_pads(output, window, odd="end")
    full = transposed_output_size(size, window, 0, 0)
    return AxisPadding(begin, end, output, maximum(output - full, 0))


def tensorflow_transposed_valid(size: Extent, window: Window, output: Extent) -> AxisPadding:
    """TensorFlow conv2d_transpose `VALID` with this `output_shape`: zeros at the end, no crop.

    Source: `Conv2DBackpropInput`, tensorflow/core/kernels/conv_grad_shape_utils.cc.

    Raises:
        UsageError: A size that VALID does not reduce to `size`, which TensorFlow refuses.
    """
    full = transposed_output_size(size, window, 0, 0)
    if always(equal(output_size(output, window, 0, 0), size)) is False:
        raise UsageError(
            f"TensorFlow's VALID with stride {window.stride} and an extent of {window.extent} does "
            f"not reduce an output of {output} to {size}; give {full} to {full + window.stride - 1}"
        )
    return AxisPadding(0, 0, output, output - full)


def keras_transposed_same(
    size: Extent, window: Window, output_padding: int | None = None
) -> AxisPadding:
    """Keras Conv*Transpose `same`: size * stride outputs.

    With an `output_padding`, (size - 1) * stride + extent % 2 + output_padding outputs. The pads
    are those of `tensorflow_transposed_same` for that output.

    Source: `compute_conv_transpose_output_shape`, keras/src/backend/common/backend_utils.py.

    Raises:
        UsageError: An output_padding that Keras or TensorFlow refuses.
    """
    if output_padding is None:
        return tensorflow_transposed_same(size, window, size * window.stride)
    _refuse_output_padding("Keras", output_padding, {"stride": window.stride})
    output = (size - 1) * window.stride + window.extent % 2 + output_padding
    return tensorflow_transposed_same(size, window, output)


def keras_transposed_valid(
    size: Extent, window: Window, output_padding: int | None = None
) -> AxisPadding:
    """Keras Conv*Transpose `valid`: size * stride + max(extent - stride, 0) outputs.

    With an `output_padding`, that many after the full output, which ends with the last element.

    Source: `compute_conv_transpose_output_shape`, keras/src/backend/common/backend_utils.py.

    Raises:
        UsageError: An output_padding that Keras refuses.
    """
    if output_padding is None:
        return _transposed(size, window, 0, 0, max(window.stride - window.extent, 0))
    _refuse_output_padding("Keras", output_padding, {"stride": window.stride})
    return _transposed(size, window, 0, 0, output_padding)


def tflite_same(size: Extent, window: Window) -> AxisPadding:
    """TensorFlow Lite `SAME`: TensorFlow's formula, dilation included.

    Source: `ComputeOutSize` and `ComputePaddingWithOffset`, tensorflow/lite/kernels/padding.h.
    """
    output = same_output_size(size, window)
    total = maximum((output - 1) * window.stride + window.extent - size, 0)
    return AxisPadding(floor_div(total, 2), ceil_div(total, 2), output)


def tflite_valid(size: Extent, window: Window) -> AxisPadding:
    """TensorFlow Lite `VALID`: no padding.

    Source: `ComputeOutSize`, tensorflow/lite/kernels/padding.h.
    """
    return AxisPadding(0, 0, floor_div(size + window.stride - window.extent, window.stride))


def onnx_same(size: Extent, window: Window, *, odd: Side) -> AxisPadding:
    """SAME_UPPER (`odd="end"`) and SAME_LOWER (`odd="begin"`) of ONNX's Conv and pools.

    As the specification says, dilation included. Runtimes differ where the extent is below the
    stride, and in pools with a dilation.

    Source: ONNX Conv, MaxPool and AveragePool, "auto_pad".
    """
    begin, end = same_pads(size, window, odd=odd)
    return AxisPadding(begin, end, same_output_size(size, window))


def onnx_transposed_same(
    size: Extent, window: Window, output_padding: int = 0, *, odd: Side
) -> AxisPadding:
    """SAME_UPPER (`odd="end"`) and SAME_LOWER (`odd="begin"`) of ONNX's ConvTranspose.

    Size * stride outputs, output_padding included. Where the full output is shorter than that, the
    specification's total is negative; onnxruntime crops nothing and stays short.

    Source: ONNX ConvTranspose, "auto_pad" and `total_padding[i]`.
    """
    begin, end = transposed_same_pads(window, output_padding, odd=odd)
    return _transposed(size, window, begin, end, output_padding)


def torch_conv(size: Extent, window: Window, padding: int) -> AxisPadding:
    """PyTorch Conv*d with an integer `padding`, on both sides.

    Source: torch.nn.Conv1d, "Shape".
    """
    return AxisPadding(padding, padding, output_size(size, window, padding, padding))


def torch_half(size: Extent, window: Window) -> AxisPadding:
    """PyTorch Conv*d and pools with `padding=dilation * (kernel - 1) // 2`, its users' SAME.

    An odd extent gives SAME's output size. An even one gives one output less where the size is one
    above a multiple of the stride.

    Source: `ConvNormActivation`, torchvision/ops/misc.py, for odd kernels.
    """
    return torch_conv(size, window, (window.extent - 1) // 2)


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
    With `ceil_mode` a last window that would start in the end padding is dropped. An average with
    `count_include_pad` counts `padding` elements after the data, not what a window reads beyond.

    Source: `pooling_output_shape_pad_lr`, aten/src/ATen/native/Pool.h.

    Raises:
        UsageError: Padding above half the kernel, dilated or not, which PyTorch refuses.
    """
    if padding > window.kernel // 2:
        raise UsageError(
            f"PyTorch's pools pad at most half the kernel: {window.kernel // 2} for a kernel of "
            f"{window.kernel}, not {padding}; pad in an operator of its own"
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
    _refuse_output_padding(
        "PyTorch", output_padding, {"stride": window.stride, "dilation": window.dilation}
    )
    return _transposed(size, window, padding, padding, output_padding)


def torch_transposed_output(
    size: Extent, window: Window, padding: int, output: Extent
) -> AxisPadding:
    """PyTorch ConvTranspose*d called with an `output_size`: the output_padding that reaches it.

    Source: `_ConvTransposeNd._output_padding`, torch/nn/modules/conv.py.

    Raises:
        UsageError: A size that PyTorch refuses.
    """
    least = transposed_output_size(size, window, padding, padding)
    if always(less(output, least)) or always(less_equal(least + window.stride, output)):
        raise UsageError(
            f"PyTorch's ConvTranspose reaches {least} to {least + window.stride - 1} here, "
            f"not {output}; change its padding"
        )
    return AxisPadding(padding, padding, output, output - least)


def cudnn(size: Extent, window: Window, padding: int) -> AxisPadding:
    """One padding for both sides, rounded down: cuDNN's convolutions and pools.

    So it has no SAME with an odd total. The usual way out, `half_kernel`, reads earlier than
    TensorFlow wherever SAME's total is below twice half the kernel.

    Source: cuDNN API reference, `cudnnGetConvolutionNdForwardOutputDim` and
    `cudnnGetPoolingNdForwardOutputDim`.
    """
    return AxisPadding(padding, padding, output_size(size, window, padding, padding))


def caffe_conv(size: Extent, window: Window, pad: int) -> AxisPadding:
    """Caffe's convolution: rounded toward 0.

    So a window that is longer than the padded line by less than a stride is computed once, clipped.

    Source: `ConvolutionLayer::compute_output_shape`, src/caffe/layers/conv_layer.cpp.
    """
    return AxisPadding(pad, pad, pool_output_size(size, window, pad, pad, ceil_mode=False))


def caffe_transposed(size: Extent, window: Window, pad: int) -> AxisPadding:
    """Caffe's deconvolution: `pad` crops both sides, nothing is appended.

    Source: `DeconvolutionLayer::compute_output_shape`, src/caffe/layers/deconv_layer.cpp.
    """
    return _transposed(size, window, pad, pad, 0)


def caffe_pool(size: Extent, window: Window, pad: int, *, padded: bool) -> AxisPadding:
    """Caffe's pooling, which rounds up; CoreML's `includeLastPixel` is the same.

    A last window that starts in the end padding is dropped, but only in a layer that pads at all:
    `padded` says whether any of its axes does.

    Source: `PoolingLayer::Reshape`, src/caffe/layers/pooling_layer.cpp; CoreML,
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


def paddle_same(size: Extent, window: Window) -> AxisPadding:
    """PaddlePaddle Conv*D `SAME`: TensorFlow's with dilation 1, which it sets whatever was asked.

    Source: `UpdatePaddingAndDilation`, paddle/phi/kernels/cpu/conv_util.h.
    """
    undilated = Window(window.kernel, window.stride)
    return replace(tensorflow_same(size, undilated), undilated=True)


def paddle_conv(size: Extent, window: Window, begin: int, end: int) -> AxisPadding:
    """PaddlePaddle Conv*D with pads as numbers: rounded toward 0, as Caffe's.

    Source: `ConvOutSize`, paddle/phi/kernels/cpu/conv_util.h.
    """
    return AxisPadding(begin, end, pool_output_size(size, window, begin, end, ceil_mode=False))


def paddle_pool(
    size: Extent, window: Window, begin: int = 0, end: int = 0, *, ceil_mode: bool = False
) -> AxisPadding:
    """PaddlePaddle MaxPool*D and AvgPool*D with pads as numbers.

    With `ceil_mode` a last window that starts in the end padding is kept, unlike PyTorch's. An
    average with `exclusive=False` counts `begin` elements after the data too, whatever `end` is.

    Source: `PoolOutputSize`, paddle/phi/kernels/funcs/pooling.h.

    Raises:
        UsageError: A dilation, which PaddlePaddle's pools do not have.
    """
    _refuse_dilation("PaddlePaddle", window)
    return AxisPadding(begin, end, _paddle_pool_output(size, window, begin + end, ceil_mode))


def paddle_pool_same(size: Extent, window: Window, *, ceil_mode: bool = False) -> AxisPadding:
    """PaddlePaddle MaxPool*D and AvgPool*D `SAME`: TensorFlow's.

    With `ceil_mode` there may be one output more where the kernel is below the stride.

    Source: `UpdatePadding` and `PoolOutputSize`, paddle/phi/kernels/funcs/pooling.h.

    Raises:
        UsageError: A dilation, which PaddlePaddle's pools do not have.
    """
    _refuse_dilation("PaddlePaddle", window)
    begin, end = same_pads(size, window, odd="end")
    return AxisPadding(begin, end, _paddle_pool_output(size, window, begin + end, ceil_mode))


def paddle_transposed(
    size: Extent, window: Window, begin: int, end: int, output_padding: int = 0
) -> AxisPadding:
    """PaddlePaddle Conv*DTranspose with pads as numbers; with `output_size`, as PyTorch's.

    Source: `ConvTransposeInferMeta`, paddle/phi/infermeta/binary.cc.

    Raises:
        UsageError: An output_padding that PaddlePaddle refuses.
    """
    _refuse_output_padding("PaddlePaddle", output_padding, {"stride": window.stride})
    return _transposed(size, window, begin, end, output_padding)


def paddle_transposed_same(size: Extent, window: Window, output_padding: int = 0) -> AxisPadding:
    """PaddlePaddle Conv*DTranspose `SAME`: crops what `paddle_same` pads on an input of `size`.

    So its output has size * stride elements only by chance, unlike TensorFlow's.

    Source: `UpdatePaddingAndDilation`, paddle/phi/kernels/cpu/conv_util.h, which
    `ConvTransposeInferMeta`, paddle/phi/infermeta/binary.cc, calls with the input's size.

    Raises:
        UsageError: An output_padding that PaddlePaddle refuses.
    """
    _refuse_output_padding("PaddlePaddle", output_padding, {"stride": window.stride})
    undilated = Window(window.kernel, window.stride)
    begin, end = same_pads(size, undilated, odd="end")
    return replace(_transposed(size, undilated, begin, end, output_padding), undilated=True)


def half_kernel(size: Extent, window: Window) -> AxisPadding:
    """Half the kernel on both sides: `padding=k//2`, Darknet's.

    With dilation, half the extent. An odd extent gives SAME's output size, as `torch_half`. An even
    one gives one more where the stride divides the size.

    Source: Darknet, `parse_convolutional` (`pad=1`), src/parser.c; common in PyTorch.
    """
    return torch_conv(size, window, window.extent // 2)


def _transposed(
    size: Extent, window: Window, begin: Extent, end: Extent, output_padding: int
) -> AxisPadding:
    """A transposed window's padding with the output size that follows from it."""
    output = transposed_output_size(size, window, begin, end, output_padding)
    return AxisPadding(begin, end, output, output_padding)


def _paddle_pool_output(size: Extent, window: Window, pads: Extent, ceil_mode: bool) -> Extent:
    """Output size of PaddlePaddle's pools, rounded toward 0 as C does."""
    span = size + pads - window.extent
    return trunc_div(span + window.stride - 1 if ceil_mode else span, window.stride) + 1


def _refuse_dilation(framework: str, window: Window) -> None:
    """Refuses a dilated pool of a framework without dilated pools."""
    if window.dilation != 1:
        raise UsageError(f"{framework}'s pools have no dilation, not {window.dilation}; use 1")


def _refuse_output_padding(framework: str, output_padding: int, limits: Mapping[str, int]) -> None:
    """Refuses an output_padding that is not below one of a framework's limits."""
    if output_padding >= max(limits.values()):
        words = " or ".join(f"the {name} {limit}" for name, limit in limits.items())
        raise UsageError(
            f"{framework}'s output_padding is below {words}, not {output_padding}; give one that is"
        )
