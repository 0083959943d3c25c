"""The convention that each framework follows for one intent: to keep the size, or to pad nothing.

Rows of `named` by framework, operator and intent. A framework that leaves the padding to the user
has the one that is usual with it, as `named` says. Nothing here has a formula of its own.
"""

from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias, get_args

from onnxpad.arithmetic import conventions as formulas
from onnxpad.arithmetic.window import Window
from onnxpad.conventions.named import CONVENTIONS, PYTORCH_PADDING, AbsentError, Convention, Form
from onnxpad.conventions.question import OPS, Answer, Op, Question
from onnxpad.records import dataclass

Intent: TypeAlias = Literal["same", "valid", "causal"]
"""The purpose of padding: `same` keeps the size (divided by the stride; times the stride, if
transposed), `valid` pads nothing, and `causal` lets no output read a later input."""

INTENTS: Final[tuple[Intent, ...]] = get_args(Intent)

UNPADDED: Final = Convention(
    "unpadded",
    "no padding, rounded down; no crop",
    {
        **{
            op: Form(lambda axis: formulas.tensorflow_valid(axis.size, axis.window))
            for op in OPS
            if op != "convtranspose"
        },
        "convtranspose": Form(lambda axis: formulas.torch_transposed(axis.size, axis.window)),
    },
)
"""No padding, where a framework says no more about it."""


@dataclass(frozen=True, slots=True)
class Way:
    """A convention that a framework follows.

    Attributes:
        convention: The convention.
        padding: The padding that a user would give it for a window; None for the usual one.
        to_multiple: Whether a transposed one counts only if it reaches size * stride.
    """

    convention: Convention
    padding: Callable[[Window], int] | None = None
    to_multiple: bool = False

    def answer(self, question: Question) -> Answer:
        """The padding and output for an operator.

        Raises:
            AbsentError: The convention does not exist there.
        """
        given = None if self.padding is None else tuple(map(self.padding, question.windows))
        asked = Question(question.op, question.sizes, question.windows, given)
        found = self.convention.answer(asked)
        wanted = tuple(axis.size * axis.window.stride for axis in found.axes)
        if self.to_multiple and found.output != wanted:
            raise AbsentError("has no output_padding to reach size * stride")
        return found


@dataclass(frozen=True, slots=True)
class Framework:
    """A framework, with the conventions that it follows.

    Attributes:
        name: Its name, such as `pytorch`.
        title: Its name as it writes it, such as `PyTorch`.
        ways: By intent and operator, the conventions; the first that exists for an operator counts.
    """

    name: str
    title: str
    ways: Mapping[Intent, Mapping[Op, tuple[Way, ...]]]

    def answer(self, intent: Intent, question: Question) -> Answer:
        """The padding and output of an operator that is written with an intent.

        Raises:
            AbsentError: The framework has no such operator, or no such padding.
        """
        why = f"{self.title} has no {intent} padding for {question.op}"
        for way in self.ways[intent].get(question.op, ()):
            try:
                return way.answer(question)
            except AbsentError as error:
                why = str(error)
        raise AbsentError(why if self.title in why else f"{self.title}: {why}")


def _nothing(window: Window) -> int:
    return 0


def _least_crop(window: Window) -> int:
    """The `padding` with which PyTorch's users reach size * stride: the least that does.

    It takes an output_padding of at most 1, unless the extent is below the stride.
    """
    return max(window.extent - window.stride + 1, 0) // 2


def _everywhere(name: str) -> dict[Op, tuple[Way, ...]]:
    """One convention for all operators for which it has a form."""
    row = CONVENTIONS[name]
    return {op: (Way(row),) for op in OPS if op in row.forms}


_UNPADDED: Final = {op: (Way(UNPADDED),) for op in OPS}
_TENSORFLOW_VALID: Final = _everywhere("tensorflow-valid")
_CAUSAL: Final = _everywhere("keras-causal")
_CAFFE: Final = CONVENTIONS["caffe"]
_HALF: Final = CONVENTIONS["pytorch-half"]


def _framework(
    name: str,
    title: str,
    same: Mapping[Op, tuple[Way, ...]],
    valid: Mapping[Op, tuple[Way, ...]] = _UNPADDED,
    causal: Mapping[Op, tuple[Way, ...]] | None = None,
) -> Framework:
    return Framework(name, title, {"same": same, "valid": valid, "causal": causal or {}})


_ALL: Final = (
    _framework(
        "tensorflow", "TensorFlow", _everywhere("tensorflow-same"), _TENSORFLOW_VALID, _CAUSAL
    ),
    _framework("keras", "Keras", _everywhere("keras-same"), _TENSORFLOW_VALID, _CAUSAL),
    _framework("tflite", "TensorFlow Lite", _everywhere("tflite")),
    _framework(
        "pytorch",
        "PyTorch",
        {
            "conv": (Way(CONVENTIONS["pytorch-same"]), Way(_HALF)),
            "maxpool": (Way(_HALF),),
            "avgpool": (Way(_HALF),),
            "convtranspose": (Way(CONVENTIONS["pytorch-output-padding"], _least_crop),),
        },
        {op: (Way(PYTORCH_PADDING, _nothing),) for op in OPS},
    ),
    _framework(
        "caffe",
        "Caffe",
        {**_everywhere("caffe"), "convtranspose": (Way(_CAFFE, to_multiple=True),)},
        {op: (Way(_CAFFE, _nothing),) for op in OPS},
    ),
    _framework(
        "cudnn",
        "cuDNN",
        {
            **_everywhere("cudnn"),
            "convtranspose": (Way(CONVENTIONS["cudnn"], to_multiple=True),),
        },
    ),
    _framework("paddle", "PaddlePaddle", _everywhere("paddle-same")),
    _framework("coreml", "CoreML", _everywhere("coreml-same")),
    _framework("coreml-top-left", "CoreML (TOP_LEFT_HEAVY)", _everywhere("coreml-same-top-left")),
    _framework("onnx-same-upper", "ONNX's SAME_UPPER", _everywhere("onnx-same-upper")),
    _framework("onnx-same-lower", "ONNX's SAME_LOWER", _everywhere("onnx-same-lower")),
    Framework("valid", "VALID", dict.fromkeys(INTENTS, _UNPADDED)),
)

FRAMEWORKS: Final[Mapping[str, Framework]] = {each.name: each for each in _ALL}
"""All frameworks by name."""
