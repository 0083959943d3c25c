"""onnx's reference evaluator as a judge, of the operators that it computes rightly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx

from onnxpad.file.proto_walk import DEFAULT_DOMAINS, is_external
from onnxpad.runtimes.runtime import EngineError
from onnxpad.runtimes.sessions import Answer, Array
from onnxpad.runtimes.sessions import answers as asked
from onnxpad.validation.compare import tensors

_EXACT = frozenset({
    "Add", "Cast", "Concat", "Constant", "ConstantOfShape", "Conv", "ConvInteger", "Gather",
    "Identity", "Mul", "Pad", "Relu", "Reshape", "Shape", "Slice", "Squeeze", "Sub", "Transpose",
    "Unsqueeze",
})  # fmt: skip
"""Operators that the reference evaluator computes as specified. Pools are missing, since most of
its padded ones are wrong; ConvTranspose, since it crashes or clamps; QLinearConv, since it rounds
differently."""

_ROUNDED = _EXACT | {"Clip", "Div", "LeakyRelu", "Sigmoid", "Tanh"}
"""Operators that it computes rightly except for rounding."""

_MOST_WORK = 1 << 25  # elements fed times nodes: it takes a second for about so many

_SAME_IS_RIGHT = tuple(map(int, onnx.__version__.split(".")[:2])) >= (1, 23)
"""Before, some of its SAME convolutions have other pads, or another size, than specified."""


def answers(
    model: onnx.ModelProto,
    names: Sequence[str],
    fed: Sequence[Mapping[str, Array]],
    trusted: frozenset[str] = _EXACT,
) -> list[Answer] | EngineError:
    """The outputs named, or an error, of a model for each set of inputs, by the evaluator."""
    for node in model.graph.node:
        texts = {each.name: each.s for each in node.attribute}
        is_odd = texts.get("mode", b"constant") != b"constant"
        is_odd |= texts.get("auto_pad", b"").startswith(b"SAME") and not _SAME_IS_RIGHT
        if is_odd or node.domain not in DEFAULT_DOMAINS or node.op_type not in trusted:
            return EngineError(f"the reference evaluator is not trusted with this {node.op_type}")
    return asked(model, names, fed, by_onnx=True)


def evaluated(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """The tensors that a small model gives, but for rounding; empty if it is not evaluated."""
    work = sum(data.size for data in feeds.values()) * len(model.graph.node)
    if work > _MOST_WORK or any(map(is_external, model.graph.initializer)):
        return {}
    found = answers(model, [each.name for each in model.graph.output], [feeds], _ROUNDED)
    if isinstance(found, EngineError) or isinstance(found[0], EngineError):
        return {}
    return tensors(found[0])
