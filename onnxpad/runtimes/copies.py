"""Copies of models to run: with seeds, and with the bodies that users declared for operators.

onnxruntime seeds an operator without one by the index of its node, which a rewrite shifts, or from
the clock. With a seed each operator draws the same numbers in each fresh session, and others in the
second run of one.
"""

from __future__ import annotations

from collections.abc import Iterator

import onnx
from onnx import helper

from onnxpad.arguments import InFolder
from onnxpad.declared import Key, functions_of, has_bodies
from onnxpad.file.proto_walk import DEFAULT_DOMAINS, default_opset, normal_domain, walked
from onnxpad.runtimes.sessions import Source, folder_of, read_proto

_DROPOUT = "", "Dropout"
_DRAWING = frozenset[Key]({
    _DROPOUT, ("", "Bernoulli"), ("", "Multinomial"), ("", "RandomNormal"),
    ("", "RandomNormalLike"), ("", "RandomUniform"), ("", "RandomUniformLike"),
})  # fmt: skip
"""The operators of ONNX that draw numbers; the seed of a Dropout is an integer."""

_IR_VERSION = 8  # the first with functions
_TRAINING = 2  # the input of Dropout that says whether it draws
_SEED = 9_999_991
"""The seed of all: a rewrite may change names. A float holds it exactly; small ones draw alike."""


def draws(model: onnx.ModelProto) -> bool:
    """Whether a node draws numbers, in the graph, a body, or a function."""
    return any(True for whole in (model.graph, *model.functions) for _ in _drawing(whole))


def seeded(source: Source) -> Source:
    """A copy of a model with a seed for each operator that draws and has none.

    Its external data stay where they are.
    """
    copy, folder = onnx.ModelProto(), folder_of(source)
    copy.CopyFrom(read_proto(source))
    for node in (node for whole in (copy.graph, *copy.functions) for node in _drawing(whole)):
        given = [each for each in node.attribute if each.name == "seed"]
        if all(each.ref_attr_name for each in given):  # which a call may set, or not
            for each in given:
                node.attribute.remove(each)
            seed = _SEED if _key(node) == _DROPOUT else float(_SEED)
            node.attribute.append(helper.make_attribute("seed", seed))
    return copy if folder is None else InFolder(copy.SerializeToString(), folder)


def with_bodies(source: Source) -> Source:
    """A model with the declared bodies of its operators as functions; as given if it needs none.

    A model in memory comes without the folder of its external data, which whoever runs it must
    know.
    """
    if not has_bodies():
        return source
    proto = read_proto(source)
    nodes = [node for whole in (proto.graph, *proto.functions) for node in walked(whole.node)]
    used = {(node.domain, node.op_type) for node in nodes}
    used -= {(each.domain, each.name) for each in proto.functions}
    added = functions_of(used, default_opset(proto.opset_import))
    if not added:
        return source
    model = onnx.ModelProto()
    model.CopyFrom(proto)
    model.ir_version = max(model.ir_version, _IR_VERSION)
    model.functions.extend(added)
    imported = {*DEFAULT_DOMAINS, *(each.domain for each in model.opset_import)}
    wanted = {each.domain: each for function in added for each in function.opset_import}
    model.opset_import.extend(each for domain, each in wanted.items() if domain not in imported)
    return model


def _key(node: onnx.NodeProto) -> Key:
    return normal_domain(node.domain), node.op_type


def _drawing(whole: onnx.GraphProto | onnx.FunctionProto) -> Iterator[onnx.NodeProto]:
    """The nodes that may draw, all but a Dropout that a constant beside it keeps from training."""
    held = list(getattr(whole, "initializer", ()))
    inputs = {getattr(each, "name", each) for each in whole.input}
    still = {each.name for each in held if _is_false(each)} - inputs
    for node in whole.node:
        if node.op_type == "Constant" and any(_is_false(each.t) for each in node.attribute):
            still.update(node.output)
    for node in walked(whole.node):
        trains = node.input[_TRAINING] if len(node.input) > _TRAINING else ""
        is_still = not trains or trains in still
        if _key(node) in _DRAWING and not (is_still and _key(node) == _DROPOUT):
            yield node


def _is_false(tensor: onnx.TensorProto) -> bool:
    elements = tensor.raw_data or tensor.int32_data
    return bool(elements) and not any(elements)
