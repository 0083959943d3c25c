"""Copies of models to run: with seeds, and with the bodies that users declared for operators.

onnxruntime seeds an operator without one by the index of its node, which a rewrite shifts, or from
the clock. With a seed each operator draws the same numbers in each fresh session, and others in the
second run of one.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Collection, Sequence

import onnx
from onnx import helper

from onnxpad.arguments import InFolder
from onnxpad.declared import Key, functions_of, has_bodies
from onnxpad.file.proto_walk import DEFAULT_DOMAINS, bodies, default_opset, normal_domain, walked
from onnxpad.runtimes.sessions import Source, folder_of, read_proto

_DROPOUT = "", "Dropout"
_DRAWING = frozenset[Key]({
    _DROPOUT, ("", "Bernoulli"), ("", "Multinomial"), ("", "RandomNormal"),
    ("", "RandomNormalLike"), ("", "RandomUniform"), ("", "RandomUniformLike"),
})  # fmt: skip
"""The operators of ONNX that draw numbers; the seed of a Dropout is an integer."""

_IR_VERSION = 8  # the first with functions
_TRAINING = 2  # the input of Dropout that says whether it draws
_SEEDS = 1 << 23
"""Seeds lie from here to twice as much: a float holds them exactly, and small ones draw alike."""
_ANY_SEED = 9_999_991


def drawn(model: onnx.ModelProto) -> set[str]:
    """The tensors of the main graph whose node draws numbers, itself or in a body or function."""
    drawing: Collection[Key] = _DRAWING
    known = 0
    while known < (known := len(drawing)):
        calls = {(each.domain, each.name) for each in model.functions if _draws(each, drawing)}
        drawing = {*_DRAWING, *calls}
    return {name for _, top in _draws(model.graph, drawing) for name in top.output if name}


def seeded(sources: Sequence[Source]) -> list[Source]:
    """The models with a seed for each operator that draws and has none, the same in all of them.

    Operators are matched by the name of their output. Where not all models have a name, and in
    functions, whose names a rewrite may change, all operators have one seed.
    """
    models = [read_proto(source) for source in sources]
    outputs = [
        {node.output[0] for node, _ in _draws(model.graph) if node.output} for model in models
    ]
    shared = set.intersection(*outputs)
    found: list[Source] = []
    for source, model in zip(sources, models, strict=True):
        copy, folder = with_seeds(model, shared), folder_of(source)
        found.append(copy if folder is None else InFolder(copy.SerializeToString(), folder))
    return found


def with_seeds(model: onnx.ModelProto, named: Collection[str] = ()) -> onnx.ModelProto:
    """A copy of a model with seeds; those of the outputs named differ from each other."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for whole in (copy.graph, *copy.functions):
        names = named if whole is copy.graph else ()
        for node, _ in _draws(whole):
            output = next(iter(node.output), "")
            seed = zlib.crc32(output.encode()) % _SEEDS + _SEEDS if output in names else _ANY_SEED
            given = [each for each in node.attribute if each.name == "seed"]
            if any(not each.ref_attr_name for each in given):
                continue
            for each in given:  # which a call may set, or not
                node.attribute.remove(each)
            value = seed if _key(node) == _DROPOUT else float(seed)
            node.attribute.append(helper.make_attribute("seed", value))
    return copy


def with_bodies(source: Source) -> Source:
    """A model with the declared bodies of its operators as functions; as given if it needs none.

    A model in memory comes without the folder of its external data, which whoever runs it must
    know.
    """
    if not has_bodies():
        return source
    proto = read_proto(source)
    opset = default_opset(proto.opset_import)
    nodes = [node for whole in (proto.graph, *proto.functions) for node in walked(whole.node)]
    used = {(node.domain, node.op_type) for node in nodes}
    used -= {(each.domain, each.name) for each in proto.functions}
    added = functions_of(used, opset) if opset else []
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


def _draws(
    whole: onnx.GraphProto | onnx.FunctionProto, drawing: Collection[Key] | None = None
) -> list[tuple[onnx.NodeProto, onnx.NodeProto]]:
    """The nodes of some operators that may draw, each with the node whose bodies hold it."""
    drawing = _DRAWING if drawing is None else drawing
    found = [(node, top) for top in whole.node for node in walked([top]) if _key(node) in drawing]
    trained = {
        node.input[_TRAINING] if len(node.input) > _TRAINING else ""
        for node, _ in found
        if _key(node) == _DROPOUT
    }
    still = {"", *_false(whole)} if trained else set()
    return [
        (node, top)
        for node, top in found
        if _key(node) != _DROPOUT or not still.issuperset(node.input[_TRAINING:] or [""])
    ]


def _false(whole: onnx.GraphProto | onnx.FunctionProto) -> set[str]:
    """The names that are constants of the value false, and are defined once."""
    found = defaultdict[str, list[onnx.TensorProto | None]](list)
    for graph in (whole, *(body for node in walked(whole.node) for body in bodies(node))):
        for each in graph.input:  # of a function a name
            found[each if isinstance(each, str) else each.name].append(None)
        for held in () if isinstance(graph, onnx.FunctionProto) else graph.initializer:
            found[held.name].append(held)
        for node in graph.node:
            given = [each.t for each in node.attribute if each.name == "value"]
            for name in node.output:
                found[name].append(given[0] if node.op_type == "Constant" and given else None)
    elements = {
        name: value.raw_data or value.int32_data
        for name, (value, *others) in found.items()
        if value is not None and not others
    }
    return {name for name, some in elements.items() if some and not any(some)}
