"""The conventions of frameworks: a row for each, with its source and its rule for each operator.

Conventions that leave the padding to the user (PyTorch's `padding`, Caffe's `pad`, cuDNN's) have
the padding that is usual with them, unless the user gives another one: half the window for
`pytorch-half`, `caffe` and `cudnn`, none for the pools that round up. Transposed convolutions reach
size * stride, unless the user gives numbers.

A framework is a row of rows: the conventions that it follows for an intent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.errors import UsageError
from onnxpad.frameworks.conventions.question import OPS, Answer, Axis, AxisAnswer, Op, Question
from onnxpad.frameworks.conventions.rules import Demand, Limit, PaddingRule


class AbsentError(UsageError):
    """A convention that does not exist for a question; the message says why in a few words."""


class Convention(Struct, frozen=True):
    """A framework's way to pad.

    Attributes:
        name: Its name.
        source: Where it is written down.
        rules: What it does with each operator for which it exists.
        counts: Whether its average pools divide by the padding that they read, too, by default.
    """

    name: str
    source: str
    rules: Mapping[Op, PaddingRule]
    counts: bool = False

    def answer(self, question: Question) -> Answer:
        """The padding and output for an operator.

        Raises:
            AbsentError: The convention does not exist there.
        """
        rule = self.rules.get(question.op)
        if rule is None:
            raise AbsentError(f"not for {question.op}")
        for demand in rule.demands:
            if words := demand(question):
                raise AbsentError(words)
        axes = tuple(_on(axis, rule, question.op) for axis in question.axes)
        return Answer(axes, self.counts and question.op == "avgpool")


def _on(axis: Axis, rule: PaddingRule, op: Op) -> AxisAnswer:
    found = rule.padding(axis, transposed=op == "convtranspose")
    for limit in rule.limits:
        if words := limit(axis, found):
            raise AbsentError(words)
    if found.output < 1:
        raise AbsentError(f"no output at size {axis.size}")
    return found


# Conditions


def _apart(question: Question) -> str:
    both = question.is_strided and question.is_dilated
    return "no stride together with a dilation" if both else ""


def _undilated(question: Question) -> str:
    return "no dilation" if question.is_dilated else ""


def _stride_1(question: Question) -> str:
    return "stride 1 only" if question.is_strided else ""


def _one_axis(question: Question) -> str:
    return "" if len(question.sizes) == 1 else "one axis only"


def _a_line(question: Question) -> str:
    long = [window for window in question.windows if window.extent > 1]
    return "" if len(long) <= 1 else "one axis only"


def _given(question: Question) -> str:
    return "the padding is not given" if question.padding is None else ""


def _to_half_the_kernel(axis: Axis, found: AxisAnswer) -> str:
    most = axis.window.kernel // 2
    return f"pads at most half the kernel, {most}, not {found.begin}" if found.begin > most else ""


def _below_kernel(axis: Axis, found: AxisAnswer) -> str:
    kernel = axis.window.kernel
    return (
        f"pads less than the kernel, {kernel}, not {found.begin}" if found.begin >= kernel else ""
    )


def _torch_appends(axis: Axis, found: AxisAnswer) -> str:
    stride, dilation, given = axis.window.stride, axis.window.dilation, axis.output_padding or 0
    if given < max(stride, dilation):
        return ""
    return f"output_padding is below the stride {stride} or the dilation {dilation}, not {given}"


def _torch_reaches(axis: Axis, found: AxisAnswer) -> str:
    """PyTorch's `output_size` is one that an output_padding below the stride reaches."""
    stride = axis.window.stride
    wanted, least = axis.size * stride, found.output - found.output_padding
    if axis.output_padding is not None or least <= wanted < least + stride:
        return ""
    return f"reaches {least} to {least + stride - 1} here, not {wanted}"


def _paddle_appends(axis: Axis, found: AxisAnswer) -> str:
    stride, appended = axis.window.stride, found.output_padding
    return (
        "" if appended < stride else f"output_padding is below the stride {stride}, not {appended}"
    )


def _onnx_appends(axis: Axis, found: AxisAnswer) -> str:
    stride, appended = axis.window.stride, found.output_padding
    return f"appends less than the stride, {stride}, not {appended}" if appended >= stride else ""


def _keras_appends(axis: Axis, found: AxisAnswer) -> str:
    stride = axis.window.stride
    appended = found.output - (axis.size - 1) * stride - axis.window.extent % 2
    if appended >= stride:
        return f"output_padding is below the stride, {stride}, not {appended}"
    if -(-found.output // stride) != axis.size:
        return (
            f"TensorFlow's SAME with stride {stride} does not reduce an output of {found.output} "
            f"to {axis.size}"
        )
    return ""


def _to_multiple(axis: Axis, found: AxisAnswer) -> str:
    reached = found.output == axis.size * axis.window.stride
    return "" if reached else "has no output_padding to reach size * stride"


# Rules


def _windows(rule: PaddingRule, *demands: Demand) -> dict[Op, PaddingRule]:
    """A rule for convolutions and pools, whose pools have further demands."""
    pool = replace(rule, demands=demands)
    return {"conv": rule, "maxpool": pool, "avgpool": pool}


def _pools(rule: PaddingRule, limit: Limit, *demands: Demand) -> dict[Op, PaddingRule]:
    """A rule for pools that have a limit to the padding; demands are those of averages."""
    pool = replace(rule, limits=(limit,))
    return {"maxpool": pool, "avgpool": replace(pool, demands=demands)}


# TensorFlow's, `GetWindowedOutputSizeVerbose` in core/framework/kernel_shape_util.cc: ceil(size /
# stride) outputs, the odd element at the end. Keras's averages and TensorFlow's count no padding.
_SAME = PaddingRule("same")
_LOWER = PaddingRule("same", odd="begin")
_NONE = PaddingRule("none")
_HALF = PaddingRule("number", usual="half")
_NUMBER = PaddingRule("number", takes=True)
_HALF_OR_NUMBER = PaddingRule("number", usual="half", takes=True)

# The gradient of SAME on an input of size * stride, so it crops what that pads. Where the full
# output is shorter, the missing zeros are at the end: `Conv2DBackpropInput` in
# core/kernels/conv_grad_shape_utils.cc.
_CROP_SAME = PaddingRule("same", appends_missing=True)
# Keras appends to its valid, too: size * stride + max(extent - stride, 0) outputs.
_CROP_NONE = PaddingRule("none", appends_missing=True)
_TORCH_TRANSPOSED = PaddingRule(
    "number", usual="half", takes=True, appends_given=True, appends_missing=True,
    limits=(_torch_appends, _torch_reaches),
)  # fmt: skip


def _onnx(rule: PaddingRule) -> dict[Op, PaddingRule]:
    """The specification's: size * stride outputs, or less where the full output is shorter."""
    return {**_windows(rule), "convtranspose": replace(rule, appends_given=True)}


def _demanding(rule: PaddingRule, *demands: Demand) -> PaddingRule:
    return replace(rule, demands=demands)


_TENSORFLOW = "TensorFlow, core/framework/kernel_shape_util.cc"
_TORCH = "PyTorch, torch.nn, 'Shape' of each layer"
_COREML = "CoreML, SamePadding in mlmodel/format/NeuralNetwork.proto"

_ROWS = (
    # `tf.nn.conv2d` alone has a stride together with a dilation.
    Convention(
        "tensorflow-same",
        _TENSORFLOW,
        {**_windows(_SAME, _undilated), "convtranspose": _demanding(_CROP_SAME, _apart)},
    ),
    # `compute_conv_transpose_output_shape` has size * stride outputs, too.
    Convention(
        "keras-same",
        "Keras, padding='same', which is TensorFlow's",
        {
            **_windows(_SAME, _undilated),
            "conv": _demanding(_SAME, _apart),
            "convtranspose": _demanding(_CROP_SAME, _apart),
        },
    ),
    # `ComputeOutSize` and `ComputePaddingWithOffset`: TensorFlow's formula, dilation included.
    Convention(
        "tflite",
        "TensorFlow Lite, lite/kernels/padding.h",
        {**_windows(_SAME, _undilated), "convtranspose": _demanding(_CROP_SAME, _undilated)},
    ),
    # As specified, dilation included. Runtimes differ where the extent is below the stride, and in
    # pools with a dilation. onnxruntime crops nothing of a full output that is too short.
    Convention("onnx-same-upper", "ONNX, auto_pad of each operator", _onnx(_SAME)),
    Convention("onnx-same-lower", "ONNX, auto_pad of each operator", _onnx(_LOWER)),
    # `coreml` and `coreml-top-left` below are the frameworks, as `repad --to` takes them; these are
    # their conventions for SAME, as `explain` lists them.
    Convention("coreml-same", _COREML, _windows(_SAME, _undilated), counts=True),
    Convention("coreml-same-top-left", _COREML, _windows(_LOWER, _undilated), counts=True),
    # It sets the dilation to 1, whatever was asked. Transposed it crops what its SAME pads on an
    # input of that size, so that it has size * stride outputs only by chance.
    Convention(
        "paddle-same",
        "PaddlePaddle, UpdatePaddingAndDilation in phi/kernels/cpu/conv_util.h",
        {
            **_windows(_SAME, _undilated),
            "conv": PaddingRule("same", undilated=True),
            "convtranspose": PaddingRule(
                "input", undilated=True, appends_given=True, limits=(_paddle_appends,)
            ),
        },
    ),
    # `_pooling_same_mode_padding_lr` in aten/src/ATen/native/Pool.h: the odd element at the end.
    Convention(
        "pytorch-same",
        "PyTorch, padding='same' in torch/nn/modules/conv.py",
        {"conv": _demanding(_SAME, _stride_1)},
    ),
    # The SAME of PyTorch's users. An odd extent gives SAME's output size, an even one an output
    # less where the size is one above a multiple of the stride.
    Convention(
        "pytorch-half",
        "PyTorch, padding = dilation * (kernel - 1) // 2, as torchvision has it",
        {"conv": _HALF, **_pools(_HALF, _to_half_the_kernel, _undilated), "convtranspose": _HALF},
        counts=True,
    ),
    # `ConvolutionLayer::compute_output_shape` computes a window that is longer than the padded line
    # by less than a stride once, clipped. `PoolingLayer::Reshape` drops a last window that starts
    # in the end padding, but only in a layer that pads at all, as CoreML's `includeLastPixel`.
    Convention(
        "caffe",
        "Caffe, src/caffe/layers/conv_layer.cpp, deconv_layer.cpp, pooling_layer.cpp",
        {
            **_windows(
                replace(_HALF_OR_NUMBER, rounding="up if padded", limits=(_below_kernel,)),
                _undilated,
            ),
            "conv": replace(_HALF_OR_NUMBER, rounding="toward 0"),
            "convtranspose": _HALF_OR_NUMBER,
        },
        counts=True,
    ),
    # One number for both sides, so no SAME with an odd total.
    Convention(
        "cudnn",
        "cuDNN API reference, cudnnGetConvolutionNdForwardOutputDim and cudnnGetPoolingNd...",
        {**_windows(_HALF_OR_NUMBER, _undilated), "convtranspose": _HALF_OR_NUMBER},
        counts=True,
    ),
    # `pooling_output_shape_pad_lr` drops a last window that would start in the end padding. An
    # average that counts its padding counts no element beyond it.
    Convention(
        "pytorch-ceil",
        "PyTorch, aten/src/ATen/native/Pool.h",
        _pools(replace(_NUMBER, rounding="up"), _to_half_the_kernel, _undilated),
        counts=True,
    ),
    Convention(
        "caffe-ceil",
        "Caffe, src/caffe/layers/pooling_layer.cpp",
        {
            op: replace(
                _NUMBER, rounding="up if padded", limits=(_below_kernel,), demands=(_undilated,)
            )
            for op in ("maxpool", "avgpool")
        },
        counts=True,
    ),
    # A last window that starts in the end padding is kept, unlike PyTorch's.
    Convention(
        "paddle-ceil",
        "PaddlePaddle, PoolOutputSize in phi/kernels/funcs/pooling.h",
        {
            op: replace(_NUMBER, rounding="up, kept", demands=(_undilated,))
            for op in ("maxpool", "avgpool")
        },
    ),
    Convention(
        "tensorflow-valid",
        _TENSORFLOW,
        {**_windows(_NONE, _apart), "convtranspose": _demanding(_CROP_NONE, _apart)},
    ),
    # `_compute_causal_padding`: no output reads a later input.
    Convention(
        "keras-causal",
        "Keras, src/layers/convolutional/conv1d.py",
        {"conv": _demanding(PaddingRule("causal"), _one_axis, _apart)},
    ),
    # `compute_conv_transpose_output_shape`; the crop is SAME's on an input of that length.
    Convention(
        "keras-output-padding",
        "Keras, src/backend/common/backend_utils.py",
        {
            "convtranspose": replace(
                _CROP_SAME, output="parity", demands=(_apart,), limits=(_keras_appends,)
            )
        },
    ),
    # `_ConvTransposeNd._output_padding`: the one given, or the one that reaches size * stride.
    Convention("pytorch-output-padding", _TORCH, {"convtranspose": _TORCH_TRANSPOSED}),
    Convention(
        "onnx-output-shape",
        "ONNX ConvTranspose, output_shape",
        {
            "convtranspose": PaddingRule(
                "same",
                odd="begin",
                usual="half",
                takes=True,
                output="asked",
                appends_missing=True,
                limits=(_onnx_appends,),
            )
        },
    ),
    # VALID, of which the elements from `padding` on are kept, as many as are wanted.
    Convention(
        "tensorflow-crop",
        "VALID, then a slice (tf.slice, Keras Cropping1D to Cropping3D)",
        {
            "convtranspose": PaddingRule(
                "begin",
                usual="half",
                takes=True,
                output="asked",
                appends_missing=True,
                demands=(_apart,),
            )
        },
    ),
    # About nothing without a padding that a user gives.
    Convention(
        "pytorch-padding",
        _TORCH,
        {
            "conv": _demanding(_NUMBER, _given),
            **_pools(_demanding(_NUMBER, _given), _to_half_the_kernel, _given, _undilated),
            "convtranspose": replace(
                _NUMBER, appends_given=True, demands=(_given,), limits=(_torch_appends,)
            ),
        },
        counts=True,
    ),
)

CONVENTIONS: Mapping[str, Convention] = {row.name: row for row in _ROWS}
"""All conventions by name."""


# Frameworks

Intent: TypeAlias = Literal["same", "valid", "causal"]
"""The purpose of padding: `same` keeps the size (divided by the stride; times the stride, if
transposed), `valid` pads nothing, and `causal` lets no output read a later input."""

INTENTS: tuple[Intent, ...] = get_args(Intent)


_UNPADDED = (
    Convention("unpadded", "no padding, rounded down; no crop", dict.fromkeys(OPS, _NONE)),
)
"""No padding, where a framework says no more about it."""


class Framework(Struct, frozen=True):
    """A framework, with the conventions that it follows.

    Attributes:
        name: Its name, such as `pytorch`.
        title: Its name as it writes it, such as `PyTorch`.
        same: The conventions for an intent; the first that exists for an operator counts.
        valid: The same for no padding.
        causal: The same for padding at the begin.
        by_number: The conventions to which a user gives one number for both sides.
        by_ceil: The same for a pool that is asked to round up; if none, those.
    """

    name: str
    title: str
    same: tuple[Convention, ...]
    valid: tuple[Convention, ...] = _UNPADDED
    causal: tuple[Convention, ...] = ()
    by_number: tuple[Convention, ...] = ()
    by_ceil: tuple[Convention, ...] = ()

    @property
    def by_intent(self) -> Mapping[Intent, tuple[Convention, ...]]:
        """The conventions for each intent."""
        return {"same": self.same, "valid": self.valid, "causal": self.causal}

    def follows(self, intent: Intent, op: Op) -> bool:
        """Whether it has a convention for an intent and an operator."""
        return any(op in row.rules for row in self.by_intent[intent])

    def answer(self, intent: Intent, question: Question) -> Answer:
        """The padding and output of an operator that is written with an intent.

        Raises:
            AbsentError: The framework has no such operator, or no such padding.
        """
        absent = ""
        # Whoever means no padding gives 0 where a number may be given, and otherwise none.
        number = (0,) * len(question.sizes) if intent == "valid" else None
        asked = Question(question.op, question.sizes, question.windows, number)
        for row in self.by_intent[intent]:
            if question.op in row.rules:
                try:
                    return row.answer(asked)
                except AbsentError as error:
                    absent = str(error)
        none = f"{self.title} has no {intent} padding for {question.op}"
        raise AbsentError(f"{self.title}: {absent}" if absent else none)


def _rows(*names: str) -> tuple[Convention, ...]:
    return tuple(CONVENTIONS[name] for name in names)


def _with(name: str, transposed: PaddingRule) -> Convention:
    """A convention with another rule for transposed convolutions."""
    row = CONVENTIONS[name]
    return replace(row, rules={**row.rules, "convtranspose": transposed})


_REACHING = replace(_HALF_OR_NUMBER, limits=(_to_multiple,))


_VALID = _rows("tensorflow-valid")
# A convolution whose window is longer than 1 along one axis alone is one over a line.
_CAUSAL = (
    replace(
        CONVENTIONS["keras-causal"],
        rules={"conv": _demanding(PaddingRule("causal"), _a_line, _apart)},
    ),
)

_FRAMEWORKS = (
    Framework("tensorflow", "TensorFlow", _rows("tensorflow-same"), _VALID, _CAUSAL),
    Framework("keras", "Keras", _rows("keras-same"), _VALID, _CAUSAL),
    Framework("tflite", "TensorFlow Lite", _rows("tflite")),
    Framework(
        "pytorch",
        "PyTorch",
        (
            *_rows("pytorch-same"),
            _with("pytorch-half", replace(_TORCH_TRANSPOSED, usual="least")),
        ),
        _rows("pytorch-padding"),
        by_number=_rows("pytorch-padding"),
        by_ceil=_rows("pytorch-ceil"),
    ),
    Framework(
        "caffe", "Caffe", (_with("caffe", _REACHING),), _rows("caffe"), by_number=_rows("caffe")
    ),
    Framework("cudnn", "cuDNN", (_with("cudnn", _REACHING),), by_number=_rows("cudnn")),
    Framework(
        "paddle",
        "PaddlePaddle",
        _rows("paddle-same"),
        by_number=(replace(CONVENTIONS["pytorch-padding"], counts=False),),
        by_ceil=_rows("paddle-ceil"),
    ),
    Framework("coreml", "CoreML", _rows("coreml-same")),
    Framework("coreml-top-left", "CoreML (TOP_LEFT_HEAVY)", _rows("coreml-same-top-left")),
    Framework("onnx-same-upper", "ONNX's SAME_UPPER", _rows("onnx-same-upper")),
    Framework("onnx-same-lower", "ONNX's SAME_LOWER", _rows("onnx-same-lower")),
    Framework("valid", "VALID", _UNPADDED, _UNPADDED, _UNPADDED),
)

FRAMEWORKS: Mapping[str, Framework] = {each.name: each for each in _FRAMEWORKS}
"""All frameworks by name."""
