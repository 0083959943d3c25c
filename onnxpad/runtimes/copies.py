"""Copies of models to run: with seeds, and with the bodies that users declared for operators.

onnxruntime seeds an operator without one by the index of its node, which a rewrite shifts, or from
the clock. With a seed each operator draws the same numbers in each fresh session, and others in the
second run of one.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping, Sequence

import onnx
from onnx import AttributeProto, helper

from onnxpad.arguments import InFolder
from onnxpad.declared import Key, functions_of, has_bodies
from onnxpad.file.proto_walk import DEFAULT_DOMAINS, bodies, default_opset, normal_domain, walked
from onnxpad.runtimes.sessions import Source, folder_of, read_proto

_Scope = onnx.GraphProto | onnx.FunctionProto

_DROPOUT = "", "Dropout"
_STANDARD: Mapping[Key, int] = {
    ("", op): AttributeProto.FLOAT
    for op in (
        *("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike"),
        *("RandomUniform", "RandomUniformLike"),
    )
} | {_DROPOUT: AttributeProto.INT}
"""The operators of ONNX that draw, with the type of their `seed`."""

_IR_VERSION = 8  # the first with functions
_TRAINING = 2  # the input of Dropout that says whether it draws
_SEEDS = 1 << 23
"""Seeds lie from here to twice as much: a float holds them exactly, and small ones draw alike."""
_ANY_SEED = 9_999_991


def drawn(model: onnx.ModelProto) -> set[str]:
    """The tensors of the main graph whose node draws numbers, itself or in a body or function."""
    drawing: Collection[Key] = _STANDARD
    known = 0
    while known < (known := len(drawing)):
        calls = {(each.domain, each.name) for each in model.functions if _draws(each, drawing)}
        drawing = {*_STANDARD, *calls}
    return {name for _, top in _draws(model.graph, drawing) for name in top.output if name}


def seeded(sources: Sequence[Source]) -> list[Source]:
    """The models with a seed for each operator that draws and has none, the same in all of them.

    Operators are matched by the name of their output. Where not all models have a name, and in
    functions, whose names a rewrite may change, all operators have one seed.
    """
    models = [read_proto(source) for source in sources]
    outputs = [
        {node.output[0] for node, _ in _draws(model.graph, _STANDARD) if node.output}
        for model in models
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
    table = _table(copy)
    for whole in (copy.graph, *copy.functions):
        names = named if whole is copy.graph else ()
        for node, _ in _draws(whole, table):
            output = next(iter(node.output), "")
            seed = zlib.crc32(output.encode()) % _SEEDS + _SEEDS if output in names else _ANY_SEED
            present = {attribute.name for attribute in node.attribute}
            for attribute, kind in table[_key(node)].items():
                if attribute not in present:
                    value = seed if kind == AttributeProto.INT else float(seed)
                    node.attribute.append(helper.make_attribute(attribute, value))
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
    known = {(each.domain, each.name) for each in proto.functions}
    used = {
        (node.domain, node.op_type)
        for whole in (proto.graph, *proto.functions)
        for node in walked(whole.node)
    }
    added = functions_of(used - known, opset) if opset else []
    if not added:
        return source
    model = onnx.ModelProto()
    model.CopyFrom(proto)
    model.ir_version = max(model.ir_version, _IR_VERSION)
    model.functions.extend(added)
    imported = {each.domain for each in model.opset_import}
    for function in added:
        for each in function.opset_import:
            if each.domain not in {*imported, *DEFAULT_DOMAINS}:
                imported.add(each.domain)
                model.opset_import.append(each)
    return model


def _key(node: onnx.NodeProto) -> Key:
    return normal_domain(node.domain), node.op_type


def _table(model: onnx.ModelProto) -> dict[Key, dict[str, int]]:
    """By operator its attributes that are seeds; also of functions that hand a seed on to one."""
    table = {key: {"seed": kind} for key, kind in _STANDARD.items()}
    known = 0
    while known < (known := sum(map(len, table.values()))):
        for function in model.functions:
            for node, _ in _draws(function, table):
                for item in node.attribute:
                    kind = table[_key(node)].get(item.name)
                    if kind is not None and item.ref_attr_name in function.attribute:
                        key = function.domain, function.name
                        table.setdefault(key, {})[item.ref_attr_name] = kind
    return table


def _draws(whole: _Scope, drawing: Collection[Key]) -> list[tuple[onnx.NodeProto, onnx.NodeProto]]:
    """The nodes of some operators that may draw, each with the node whose bodies hold it."""
    found = [(node, top) for top in whole.node for node in walked([top]) if _key(node) in drawing]
    if not any(_key(node) == _DROPOUT for node, _ in found):
        return found
    false = _false(whole)

    def draws(node: onnx.NodeProto) -> bool:
        mode = node.input[_TRAINING] if len(node.input) > _TRAINING else ""
        return _key(node) != _DROPOUT or (mode != "" and mode not in false)

    return [(node, top) for node, top in found if draws(node)]


def _false(whole: _Scope) -> set[str]:
    """The names that are constants of the value false wherever they are defined."""
    false: set[str] = set()
    others: set[str] = set()

    def note(name: str, constant: onnx.TensorProto | None) -> None:
        elements = b"" if constant is None else constant.raw_data or constant.int32_data
        (others if any(elements) or not elements else false).add(name)

    graphs = [whole]
    for node in walked(whole.node):
        graphs += bodies(node)
        held = next((each.t for each in node.attribute if each.name == "value"), None)
        for name in node.output:
            note(name, held if node.op_type == "Constant" else None)
    for graph in graphs:
        others.update(each if isinstance(each, str) else each.name for each in graph.input)
        for tensor in () if isinstance(graph, onnx.FunctionProto) else graph.initializer:
            note(tensor.name, tensor)
    return false - others
