"""A row for each convention: its name, its source, and what it does with each operator.

The formulas are those of `arithmetic.conventions`. Conventions that leave the padding to the user
(PyTorch's `padding`, Caffe's `pad`, cuDNN's) have the padding that is usual with them, unless the
user gives another one: half the window for `pytorch-half`, `caffe` and `cudnn`, none for the pools
that round up. Transposed convolutions reach size * stride, unless the user gives numbers.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from onnxpad.arithmetic import conventions as formulas
from onnxpad.arithmetic.conventions import AxisPadding
from onnxpad.arithmetic.window import (
    Side,
    Window,
    transposed_output_size,
    transposed_pads_for_output,
)
from onnxpad.conventions.question import Answer, Axis, AxisAnswer, Op, Question
from onnxpad.errors import UsageError
from onnxpad.records import dataclass

Formula: TypeAlias = Callable[[Axis], AxisPadding]


class AbsentError(UsageError):
    """A convention that does not exist for a question; the message says why in a few words."""


class Demand(NamedTuple):
    """A condition without which a convention does not exist.

    Attributes:
        holds: Whether it holds for a question.
        words: The condition in a few words.
    """

    holds: Callable[[Question], bool]
    words: str


class Form(NamedTuple):
    """A convention for one operator.

    Attributes:
        formula: What it does on one axis. Raises UsageError where it does not exist.
        demands: The conditions without which it does not exist.
    """

    formula: Formula
    demands: tuple[Demand, ...] = ()


@dataclass(frozen=True, slots=True)
class Convention:
    """A framework's way to pad.

    Attributes:
        name: Its name.
        source: Where it is written down.
        forms: What it does with each operator for which it exists.
        counts: Whether its average pools divide by the padding that they read, too, by default.
    """

    name: str
    source: str
    forms: Mapping[Op, Form]
    counts: bool = False

    def answer(self, question: Question) -> Answer:
        """The padding and output for an operator.

        Raises:
            AbsentError: The convention does not exist there.
        """
        form = self.forms.get(question.op)
        if form is None:
            raise AbsentError(f"not for {question.op}")
        for demand in form.demands:
            if not demand.holds(question):
                raise AbsentError(demand.words)
        axes = tuple(self._on(axis, form) for axis in question.axes)
        return Answer(axes, self.counts and question.op == "avgpool")

    @staticmethod
    def _on(axis: Axis, form: Form) -> AxisAnswer:
        try:
            found = form.formula(axis)
        except AbsentError:
            raise
        except UsageError as error:
            raise AbsentError(str(error).partition(";")[0]) from None
        numbers = found.begin, found.end, found.output, found.output_padding
        begin, end, output, appended = (n for n in numbers if isinstance(n, int))
        if output < 1:
            raise AbsentError(f"no output at size {axis.size}")
        window = axis.window
        if found.undilated:
            window = Window(window.kernel, window.stride)
        return AxisAnswer(axis.size, window, begin, end, output, appended)


# Conditions

_APART: Final = Demand(
    lambda question: not (question.is_strided and question.is_dilated),
    "no stride together with a dilation",
)
_UNDILATED: Final = Demand(lambda question: not question.is_dilated, "no dilation")
_STRIDE_1: Final = Demand(lambda question: not question.is_strided, "stride 1 only")
_ONE_AXIS: Final = Demand(lambda question: len(question.sizes) == 1, "one axis only")


# Formulas


def _plain(formula: Callable[[int, Window], AxisPadding]) -> Formula:
    """A formula that needs no number from the user."""
    return lambda axis: formula(axis.size, axis.window)


def _onnx(odd: Side) -> dict[Op, Form]:
    def transposed(axis: Axis) -> AxisPadding:
        appended = axis.output_padding or 0
        return formulas.onnx_transposed_same(axis.size, axis.window, appended, odd=odd)

    same = Form(lambda axis: formulas.onnx_same(axis.size, axis.window, odd=odd))
    return {"conv": same, "maxpool": same, "avgpool": same, "convtranspose": Form(transposed)}


def _coreml(*, top_left_heavy: bool) -> dict[Op, Form]:
    same = _plain(partial(formulas.coreml_same, top_left_heavy=top_left_heavy))
    return {"conv": Form(same), **_pools(same)}


def _torch_pools(padding: Callable[[Axis], int], *, ceil_mode: bool = False) -> dict[Op, Form]:
    def pool(axis: Axis) -> AxisPadding:
        chosen, most = padding(axis), axis.window.kernel // 2
        if chosen > most:
            raise AbsentError(f"pads at most half the kernel, {most}, not {chosen}")
        return formulas.torch_pool(axis.size, axis.window, chosen, ceil_mode=ceil_mode)

    return {"maxpool": Form(pool), "avgpool": Form(pool, (_UNDILATED,))}


def _torch_transposed(axis: Axis, padding: int, appended: int = 0) -> AxisPadding:
    return formulas.torch_transposed(axis.size, axis.window, padding, appended)


def _torch_output_padding(axis: Axis) -> AxisPadding:
    """The output_padding that a user gave, or the one that reaches size * stride."""
    padding = axis.padding_or(axis.half)
    if axis.output_padding is not None:
        return _torch_transposed(axis, padding, axis.output_padding)
    wanted = axis.size * axis.window.stride
    return formulas.torch_transposed_output(axis.size, axis.window, padding, wanted)


def _keras_output_padding(axis: Axis) -> AxisPadding:
    """The output_padding that a user gave, or the one that reaches size * stride."""
    stride = axis.window.stride
    appended = stride - axis.window.extent % 2
    if axis.output_padding is not None:
        appended = axis.output_padding
    if appended >= stride:
        raise AbsentError(f"output_padding is below the stride, {stride}, not {appended}")
    return formulas.keras_transposed_same(axis.size, axis.window, appended)


def _wanted(axis: Axis) -> int:
    """The output that a transposed convolution is to have, by the numbers that a user gave."""
    if axis.padding is None and axis.output_padding is None:
        return axis.size * axis.window.stride
    padding = axis.padding_or(axis.half)
    found = transposed_output_size(
        axis.size, axis.window, padding, padding, axis.output_padding or 0
    )
    assert isinstance(found, int)
    return found


def _onnx_output_shape(axis: Axis) -> AxisPadding:
    wanted, stride = _wanted(axis), axis.window.stride
    begin, end, appended = transposed_pads_for_output(axis.size, axis.window, wanted, odd="begin")
    assert isinstance(appended, int)
    if appended >= stride:
        raise AbsentError(f"appends less than the stride, {stride}, not {appended}")
    return AxisPadding(begin, end, wanted, appended)


def _tensorflow_crop(axis: Axis) -> AxisPadding:
    """VALID, of which the elements from `padding` on are kept, as many as are wanted."""
    wanted, begin = _wanted(axis), axis.padding_or(axis.half)
    full = transposed_output_size(axis.size, axis.window, 0, 0)
    assert isinstance(full, int)
    left = full - begin - wanted
    return AxisPadding(begin, max(left, 0), wanted, max(-left, 0))


def _tensorflow_transposed(axis: Axis) -> AxisPadding:
    wanted = axis.size * axis.window.stride
    return formulas.tensorflow_transposed_same(axis.size, axis.window, wanted)


def _caffe_pools(usual: Callable[[Axis], int]) -> dict[Op, Form]:
    def pool(axis: Axis) -> AxisPadding:
        pad = axis.padding_or(usual(axis))
        if pad >= axis.window.kernel:
            raise AbsentError(f"pads less than the kernel, {axis.window.kernel}, not {pad}")
        padded = axis.padded or pad > 0
        return formulas.caffe_pool(axis.size, axis.window, pad, padded=padded)

    return _pools(pool)


def _cudnn(axis: Axis) -> AxisPadding:
    return formulas.cudnn(axis.size, axis.window, axis.padding_or(axis.half))


def _paddle_ceil(axis: Axis) -> AxisPadding:
    pad = axis.padding_or(0)
    return formulas.paddle_pool(axis.size, axis.window, pad, pad, ceil_mode=True)


def _pools(formula: Formula) -> dict[Op, Form]:
    """The forms of pools that have no dilation."""
    form = Form(formula, (_UNDILATED,))
    return {"maxpool": form, "avgpool": form}


def _tensorflow(
    formula: Callable[[int, Window], AxisPadding], pools: Demand, transposed: Formula
) -> dict[Op, Form]:
    """The forms for all operators; `tf.nn.conv2d` alone has a stride together with a dilation."""
    pool = Form(_plain(formula), (pools,))
    scatters = Form(transposed, (_APART,))
    return {
        "conv": Form(_plain(formula)),
        "maxpool": pool,
        "avgpool": pool,
        "convtranspose": scatters,
    }


_TENSORFLOW: Final = "TensorFlow, core/framework/kernel_shape_util.cc"
_KERAS_TRANSPOSED: Final = "Keras, src/backend/common/backend_utils.py"
_TORCH: Final = "PyTorch, torch.nn, 'Shape' of each layer"
_TORCH_POOL: Final = "PyTorch, aten/src/ATen/native/Pool.h"
_CAFFE_POOL: Final = "Caffe, src/caffe/layers/pooling_layer.cpp"
_COREML: Final = "CoreML, SamePadding in mlmodel/format/NeuralNetwork.proto"
_TORCH_HALF: Final = _plain(formulas.torch_half)

_ROWS: Final = (
    Convention(
        "tensorflow-same",
        _TENSORFLOW,
        _tensorflow(formulas.tensorflow_same, _UNDILATED, _tensorflow_transposed),
    ),
    Convention(
        "keras-same",
        "Keras, padding='same', which is TensorFlow's",
        {
            "conv": Form(_plain(formulas.tensorflow_same), (_APART,)),
            **_pools(_plain(formulas.keras_pool_same)),
            "convtranspose": Form(_plain(formulas.keras_transposed_same), (_APART,)),
        },
    ),
    Convention(
        "tflite",
        "TensorFlow Lite, lite/kernels/padding.h",
        {
            "conv": Form(_plain(formulas.tflite_same)),
            **_pools(_plain(formulas.tflite_same)),
            "convtranspose": Form(_tensorflow_transposed, (_UNDILATED,)),
        },
    ),
    Convention("onnx-same-upper", "ONNX, auto_pad of each operator", _onnx("end")),
    Convention("onnx-same-lower", "ONNX, auto_pad of each operator", _onnx("begin")),
    Convention("coreml-same", _COREML, _coreml(top_left_heavy=False), counts=True),
    Convention("coreml-same-top-left", _COREML, _coreml(top_left_heavy=True), counts=True),
    Convention(
        "paddle-same",
        "PaddlePaddle, UpdatePaddingAndDilation in phi/kernels/cpu/conv_util.h",
        {
            "conv": Form(_plain(formulas.paddle_same)),
            **_pools(_plain(formulas.paddle_pool_same)),
            "convtranspose": Form(
                lambda axis: formulas.paddle_transposed_same(
                    axis.size, axis.window, axis.output_padding or 0
                )
            ),
        },
    ),
    Convention(
        "pytorch-same",
        "PyTorch, padding='same' in torch/nn/modules/conv.py",
        {"conv": Form(_plain(formulas.torch_same), (_STRIDE_1,))},
    ),
    Convention(
        "pytorch-half",
        "PyTorch, padding = dilation * (kernel - 1) // 2, as torchvision has it",
        {
            "conv": Form(_TORCH_HALF),
            **_torch_pools(lambda axis: axis.half),
            "convtranspose": Form(lambda axis: _torch_transposed(axis, axis.half)),
        },
        counts=True,
    ),
    Convention(
        "caffe",
        "Caffe, src/caffe/layers/conv_layer.cpp, deconv_layer.cpp, pooling_layer.cpp",
        {
            "conv": Form(
                lambda axis: formulas.caffe_conv(axis.size, axis.window, axis.padding_or(axis.half))
            ),
            **_caffe_pools(lambda axis: axis.half),
            "convtranspose": Form(
                lambda axis: formulas.caffe_transposed(
                    axis.size, axis.window, axis.padding_or(axis.half)
                )
            ),
        },
        counts=True,
    ),
    Convention(
        "cudnn",
        "cuDNN API reference, cudnnGetConvolutionNdForwardOutputDim and cudnnGetPoolingNd...",
        {
            "conv": Form(_cudnn),
            **_pools(_cudnn),
            "convtranspose": Form(lambda axis: _torch_transposed(axis, axis.padding_or(axis.half))),
        },
        counts=True,
    ),
    Convention(
        "pytorch-ceil",
        _TORCH_POOL,
        _torch_pools(lambda axis: axis.padding_or(0), ceil_mode=True),
        counts=True,
    ),
    Convention("caffe-ceil", _CAFFE_POOL, _caffe_pools(lambda _: 0), counts=True),
    Convention(
        "paddle-ceil",
        "PaddlePaddle, PoolOutputSize in phi/kernels/funcs/pooling.h",
        _pools(_paddle_ceil),
    ),
    Convention(
        "tensorflow-valid",
        _TENSORFLOW,
        _tensorflow(formulas.tensorflow_valid, _APART, _plain(formulas.keras_transposed_valid)),
    ),
    Convention(
        "keras-causal",
        "Keras, src/layers/convolutional/conv1d.py",
        {"conv": Form(_plain(formulas.keras_causal), (_ONE_AXIS, _APART))},
    ),
    Convention(
        "keras-output-padding",
        _KERAS_TRANSPOSED,
        {"convtranspose": Form(_keras_output_padding, (_APART,))},
    ),
    Convention(
        "pytorch-output-padding",
        _TORCH,
        {"convtranspose": Form(_torch_output_padding)},
    ),
    Convention(
        "onnx-output-shape",
        "ONNX ConvTranspose, output_shape",
        {"convtranspose": Form(_onnx_output_shape)},
    ),
    Convention(
        "tensorflow-crop",
        "VALID, then a slice (tf.slice, Keras Cropping1D to Cropping3D)",
        {"convtranspose": Form(_tensorflow_crop, (_APART,))},
    ),
)

CONVENTIONS: Final[Mapping[str, Convention]] = {row.name: row for row in _ROWS}
"""All conventions by name."""


def _given(axis: Axis) -> int:
    if axis.padding is None:
        raise AbsentError("give a padding")
    return axis.padding


PYTORCH_PADDING: Final = Convention(
    "pytorch-padding",
    _TORCH,
    {
        "conv": Form(lambda axis: formulas.torch_conv(axis.size, axis.window, _given(axis))),
        **_torch_pools(_given),
        "convtranspose": Form(
            lambda axis: _torch_transposed(axis, _given(axis), axis.output_padding or 0)
        ),
    },
    counts=True,
)
"""PyTorch with the padding that a user gives; apart, since it is about nothing without one."""


def conventions_for(question: Question) -> Mapping[str, Convention]:
    """The conventions to compare: those named for the operator, `pytorch-padding` if one is given.

    Those that have no form for the operator are left out; others may still not exist there.
    """
    found = {name: row for name, row in CONVENTIONS.items() if question.op in row.forms}
    if question.padding is not None:
        found[PYTORCH_PADDING.name] = PYTORCH_PADDING
    return found


def source_of(name: str) -> str:
    """Where a convention is written down."""
    return PYTORCH_PADDING.source if name == PYTORCH_PADDING.name else CONVENTIONS[name].source
