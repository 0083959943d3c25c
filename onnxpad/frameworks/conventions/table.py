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
from onnxpad.frameworks.conventions.question import OPS, Answer, Op, PaddingRule, Question
from onnxpad.options import check_choice


class AbsentError(UsageError):
    """A convention that does not exist for a question; the message says why in a few words."""


class Convention(Struct, frozen=True):
    """A framework's way to pad, with where it is written down.

    It has a rule for each operator for which it exists. Where it `counts`, average pools divide by
    the padding that they read, too, by default.
    """

    name: str
    source: str
    rules: Mapping[Op, PaddingRule]
    counts: bool = False

    def asked(self, question: Question) -> Answer | str:
        """The padding and output for an operator that it has, or why it refuses the question."""
        rule = self.rules[question.op]
        if why := rule.unmet(question):
            return why
        found = self.unchecked(question)
        return next(filter(None, map(rule.refusal, question.axes, found.axes)), "") or found

    def unchecked(self, question: Question) -> Answer:
        """The padding and output for an operator that it has, whether it refuses them or not."""
        op, rule = question.op, self.rules[question.op]
        axes = tuple(rule.padding(each, transposed=op == "convtranspose") for each in question.axes)
        return Answer(axes, self.counts and op == "avgpool")


def _for(
    conv: PaddingRule | None = None,
    pool: PaddingRule | None = None,
    transposed: PaddingRule | None = None,
    average: PaddingRule | None = None,
) -> Mapping[Op, PaddingRule]:
    """Rules by operator; averages have that of pools, unless they have their own."""
    given = zip(OPS, (conv, pool, average or pool, transposed), strict=True)
    return {op: rule for op, rule in given if rule is not None}


# TensorFlow's, `GetWindowedOutputSizeVerbose` in core/framework/kernel_shape_util.cc: ceil(size /
# stride) outputs, the odd element at the end. Keras's averages and TensorFlow's count no padding.
_SAME = PaddingRule("same")
_SAME_UNDILATED = PaddingRule("same", demands=("no dilation",))
_LOWER = PaddingRule("same", odd="begin")
_LOWER_UNDILATED = replace(_LOWER, demands=("no dilation",))
_NONE = PaddingRule("none")
_HALF = PaddingRule("number", usual="half")
_NUMBER = PaddingRule("number", takes=True)
_HALF_OR_NUMBER = PaddingRule("number", usual="half", takes=True)
_GIVEN = PaddingRule("number", takes=True, demands=("the padding is not given",))

# The gradient of SAME on an input of size * stride, so it crops what that pads. Where the full
# output is shorter, the missing zeros are at the end: `Conv2DBackpropInput` in
# core/kernels/conv_grad_shape_utils.cc.
_APART = ("no stride together with a dilation",)
_CROP_SAME = PaddingRule("same", appends_missing=True, demands=_APART)
_CROP = replace(_HALF_OR_NUMBER, appends_given=True, appends_below="the stride or the dilation")
_TORCH_TRANSPOSED = replace(_CROP, appends_missing=True, exact=True)
_GIVEN_POOL = replace(_GIVEN, most="half the kernel")
_CROP_GIVEN = replace(_CROP, demands=_GIVEN.demands)
_TORCH_POOL = PaddingRule("number", takes=True, most="half the kernel")
_UNDILATED = replace(_HALF_OR_NUMBER, demands=("no dilation",))
_CEIL = replace(_UNDILATED, usual="none", rounding="up if padded", most="the kernel less 1")
_CAFFE = replace(_HALF_OR_NUMBER, rounding="toward 0")
_ASKED = PaddingRule("same", usual="half", takes=True, output="asked", appends_missing=True)


def _averaging(rule: PaddingRule) -> PaddingRule:
    """A rule of PyTorch, whose averages have no dilation."""
    return replace(rule, demands=(*rule.demands, "no dilation"))


_TENSORFLOW = "TensorFlow, core/framework/kernel_shape_util.cc"
_TORCH = "PyTorch, torch.nn, 'Shape' of each layer"
_COREML = "CoreML, SamePadding in mlmodel/format/NeuralNetwork.proto"
_ONNX = "ONNX, auto_pad of each operator"

_ROWS = (
    # `tf.nn.conv2d` alone has a stride together with a dilation.
    Convention("tensorflow-same", _TENSORFLOW, _for(_SAME, _SAME_UNDILATED, _CROP_SAME)),
    # `compute_conv_transpose_output_shape` has size * stride outputs, too.
    Convention(
        "keras-same",
        "Keras, padding='same', which is TensorFlow's",
        _for(replace(_SAME, demands=_APART), _SAME_UNDILATED, _CROP_SAME),
    ),
    # `ComputeOutSize` and `ComputePaddingWithOffset`: TensorFlow's formula, dilation included.
    Convention(
        "tflite",
        "TensorFlow Lite, lite/kernels/padding.h",
        _for(_SAME, _SAME_UNDILATED, replace(_CROP_SAME, demands=("no dilation",))),
    ),
    # As specified, dilation included: size * stride outputs of transposed ones, or less where the
    # full output is shorter. Runtimes differ where the extent is below the stride, and in pools
    # with a dilation. onnxruntime crops nothing of a full output that is too short.
    Convention("onnx-same-upper", _ONNX, _for(_SAME, _SAME, replace(_SAME, appends_given=True))),
    Convention("onnx-same-lower", _ONNX, _for(_LOWER, _LOWER, replace(_LOWER, appends_given=True))),
    Convention("coreml-same", _COREML, _for(_SAME, _SAME_UNDILATED), counts=True),
    Convention("coreml-same-top-left", _COREML, _for(_LOWER, _LOWER_UNDILATED), counts=True),
    # It sets the dilation to 1, whatever was asked. Transposed it crops what its SAME pads on an
    # input of that size, so that it has size * stride outputs only by chance.
    Convention(
        "paddle-same",
        "PaddlePaddle, UpdatePaddingAndDilation in phi/kernels/cpu/conv_util.h",
        _for(
            PaddingRule("same", undilated=True),
            _SAME_UNDILATED,
            PaddingRule("input", undilated=True, appends_given=True, appends_below="the stride"),
        ),
    ),
    # `_pooling_same_mode_padding_lr` in aten/src/ATen/native/Pool.h: the odd element at the end.
    Convention(
        "pytorch-same",
        "PyTorch, padding='same' in torch/nn/modules/conv.py",
        _for(replace(_SAME, demands=("stride 1 only",))),
    ),
    # The SAME of PyTorch's users. An odd extent gives SAME's output size, an even one an output
    # less where the size is one above a multiple of the stride.
    Convention(
        "pytorch-half",
        "PyTorch, padding = dilation * (kernel - 1) // 2, as torchvision has it",
        _for(_HALF, half := replace(_HALF, most="half the kernel"), _HALF, _averaging(half)),
        counts=True,
    ),
    # `ConvolutionLayer::compute_output_shape` computes a window that is longer than the padded line
    # by less than a stride once, clipped. `PoolingLayer::Reshape` drops a last window that starts
    # in the end padding, but only in a layer that pads at all, as CoreML's `includeLastPixel`.
    Convention(
        "caffe",
        "Caffe, src/caffe/layers/conv_layer.cpp, deconv_layer.cpp, pooling_layer.cpp",
        _for(_CAFFE, replace(_CEIL, usual="half"), _HALF_OR_NUMBER),
        counts=True,
    ),
    Convention(
        "cudnn",
        "cuDNN API reference, cudnnGetConvolutionNdForwardOutputDim and cudnnGetPoolingNd...",
        _for(_HALF_OR_NUMBER, _UNDILATED, _HALF_OR_NUMBER),
        counts=True,
    ),
    # `pooling_output_shape_pad_lr` drops a last window that would start in the end padding. An
    # average that counts its padding counts no element beyond it.
    Convention(
        "pytorch-ceil",
        "PyTorch, aten/src/ATen/native/Pool.h",
        _for(pool=(up := replace(_TORCH_POOL, rounding="up")), average=_averaging(up)),
        counts=True,
    ),
    Convention("caffe-ceil", "Caffe, src/caffe/layers/pooling_layer.cpp", _for(pool=_CEIL), True),
    # A last window that starts in the end padding is kept, unlike PyTorch's.
    Convention(
        "paddle-ceil",
        "PaddlePaddle, PoolOutputSize in phi/kernels/funcs/pooling.h",
        _for(pool=replace(_NUMBER, rounding="up, kept", demands=("no dilation",))),
    ),
    # Keras's transposed appends, too: size * stride + max(extent - stride, 0) outputs.
    Convention(
        "tensorflow-valid",
        _TENSORFLOW,
        _for(_NONE, apart := replace(_NONE, demands=_APART), replace(apart, appends_missing=True)),
    ),
    # `_compute_causal_padding`: no output reads a later input.
    Convention(
        "keras-causal",
        "Keras, src/layers/convolutional/conv1d.py",
        _for(PaddingRule("causal", demands=("one axis only", *_APART))),
    ),
    # `compute_conv_transpose_output_shape`; the crop is SAME's on an input of that length.
    Convention(
        "keras-output-padding",
        "Keras, src/backend/common/backend_utils.py",
        _for(transposed=replace(_CROP_SAME, output="parity", appends_below="the stride")),
    ),
    # `_ConvTransposeNd._output_padding`: the one given, or the one that reaches size * stride.
    Convention("pytorch-output-padding", _TORCH, _for(transposed=_TORCH_TRANSPOSED)),
    Convention(
        "onnx-output-shape",
        "ONNX ConvTranspose, output_shape",
        _for(transposed=replace(_ASKED, odd="begin", appends_below="the stride")),
    ),
    # VALID, of which the elements from `padding` on are kept, as many as are wanted.
    Convention(
        "tensorflow-crop",
        "VALID, then a slice (tf.slice, Keras Cropping1D to Cropping3D)",
        _for(transposed=replace(_ASKED, amounts="begin", demands=_APART)),
    ),
    Convention(
        "pytorch-padding",
        _TORCH,
        _for(_GIVEN, _GIVEN_POOL, _CROP_GIVEN, _averaging(_GIVEN_POOL)),
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
        caution: Why its padding for an intent may not be the one meant; empty if there is no doubt.
    """

    name: str
    title: str
    same: tuple[Convention, ...]
    valid: tuple[Convention, ...] = _UNPADDED
    causal: tuple[Convention, ...] = ()
    by_number: tuple[Convention, ...] = ()
    by_ceil: tuple[Convention, ...] = ()
    caution: str = ""

    @property
    def by_intent(self) -> Mapping[Intent, tuple[Convention, ...]]:
        """The conventions for each intent."""
        return {"same": self.same, "valid": self.valid, "causal": self.causal}

    def follows(self, intent: Intent, op: Op) -> bool:
        """Whether it has a convention for an intent and an operator."""
        return any(op in row.rules for row in self.by_intent[intent])

    def asked(self, intent: Intent, question: Question) -> Answer | str:
        """The padding and output of an operator that is written with an intent, or why not."""
        found: Answer | str = f"no {intent} padding for {question.op}"
        # Whoever means no padding gives 0 where a number may be given, and otherwise none.
        number = (0,) * len(question.sizes) if intent == "valid" else None
        asked = Question(question.op, question.sizes, question.windows, number)
        for row in self.by_intent[intent]:
            if question.op in row.rules and isinstance(found := row.asked(asked), Answer):
                return found
        return f"not in {self.title}: {found}"

    def answer(self, intent: Intent, question: Question) -> Answer:
        """The padding and output of an operator that is written with an intent.

        Raises:
            AbsentError: The framework has no such operator, or no such padding.
        """
        if isinstance(found := self.asked(intent, question), str):
            raise AbsentError(found)
        return found


def _rows(*names: str) -> tuple[Convention, ...]:
    return tuple(CONVENTIONS[name] for name in names)


def _with(name: str, transposed: PaddingRule) -> Convention:
    row = CONVENTIONS[name]
    return replace(row, rules={**row.rules, "convtranspose": transposed})


_REACHING = replace(_HALF_OR_NUMBER, exact=True)
_VALID = _rows("tensorflow-valid")
# A convolution whose window is longer than 1 along one axis alone is one over a line.
_LINE = _for(PaddingRule("causal", demands=("one long axis only", *_APART)))
_CAUSAL = (replace(CONVENTIONS["keras-causal"], rules=_LINE),)

_FRAMEWORKS = (
    Framework("tensorflow", "TensorFlow", _rows("tensorflow-same"), _VALID, _CAUSAL),
    Framework("keras", "Keras", _rows("keras-same"), _VALID, _CAUSAL),
    Framework("tflite", "TensorFlow Lite", _rows("tflite")),
    Framework(
        "pytorch",
        "PyTorch",
        (*_rows("pytorch-same"), _with("pytorch-half", replace(_TORCH_TRANSPOSED, usual="least"))),
        _rows("pytorch-padding"),
        by_number=_rows("pytorch-padding"),
        by_ceil=_rows("pytorch-ceil"),
    ),
    Framework(
        "caffe",
        "Caffe",
        (_with("caffe", _REACHING),),
        _rows("caffe"),
        by_number=_rows("caffe"),
        caution="Caffe's users give the pads: half the kernel is a guess, and its pools often have "
        "none (caffe-ceil in onnxpad explain)",
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


def framework_named(name: str, what: str = "framework") -> Framework:
    """The framework of a name, or of what one imports it as; UsageError if there is none."""
    name = {"tf": "tensorflow", "torch": "pytorch"}.get(name, name)
    check_choice(what, name, tuple(FRAMEWORKS))
    return FRAMEWORKS[name]
